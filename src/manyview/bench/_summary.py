"""Where we meet the paper and where we fall short, in numbers and plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from manyview.bench._published import METRIC_TITLES
from manyview.bench._tables import Comparison, ResultTable


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedCell:
    """One cell that has a printed counterpart."""

    table: ResultTable
    label: str
    metric: str
    mean: float
    std: float
    comparison: Comparison

    @property
    def text(self) -> str:
        """The gap in words."""
        printed = self.comparison.printed
        return (
            f"{self.table.title} {METRIC_TITLES[self.metric]}: {self.mean:.2f} against "
            f"{printed.mean:.2f} printed ({self.comparison.difference:+.2f}, "
            f"p = {self.comparison.p_value:.2g})"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class MethodSummary:
    """How a method's cells compare with print.

    above, equal, below : cells by the outcome of the t-test at 5 %.
    meets : cells whose mean is at least the printed one.
    mean_difference : over all cells, in points.
    """

    label: str
    cells: tuple[ComparedCell, ...]
    above: int
    equal: int
    below: int
    meets: int
    mean_difference: float


def summarise(tables: Sequence[ResultTable]) -> list[MethodSummary]:
    """One summary per method of the given tables that print knows, KM(v) as one."""
    groups: dict[str, list[ComparedCell]] = {}
    for table in tables:
        for row in table.rows:
            for metric, cell in row.cells.items():
                if cell.comparison is None:
                    continue
                found = ComparedCell(
                    table=table,
                    label=row.label,
                    metric=metric,
                    mean=cell.mean,
                    std=cell.std,
                    comparison=cell.comparison,
                )
                groups.setdefault(_group(row.label), []).append(found)
    return [_summary(label, cells) for label, cells in groups.items()]


def summary_sentences(tables: Sequence[ResultTable]) -> list[str]:
    """Plain words for the top of the report."""
    sentences = []
    for summary in summarise(tables):
        n_cells = len(summary.cells)
        sentences.append(
            f"{summary.label}: {summary.meets} of {n_cells} cells reach the printed "
            f"mean; by t-test {summary.above} lie above print, {summary.equal} cannot "
            f"be told from it, {summary.below} lie below "
            f"(mean difference {summary.mean_difference:+.1f} points)."
        )
    return sentences


def shortfalls(summary: MethodSummary) -> list[ComparedCell]:
    """Cells below the printed mean, significant ones first."""
    short = [cell for cell in summary.cells if not cell.comparison.meets]
    return sorted(short, key=lambda cell: cell.comparison.p_value)


def _group(label: str) -> str:
    return "KM(v)" if label.startswith("KM(") and label != "KM(All)" else label


def _summary(label: str, cells: Sequence[ComparedCell]) -> MethodSummary:
    verdicts = [cell.comparison.verdict for cell in cells]
    differences = [cell.comparison.difference for cell in cells]
    return MethodSummary(
        label=label,
        cells=tuple(cells),
        above=verdicts.count("above"),
        equal=verdicts.count("equal"),
        below=verdicts.count("below"),
        meets=sum(cell.comparison.meets for cell in cells),
        mean_difference=sum(differences) / len(differences),
    )
