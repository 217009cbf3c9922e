"""Tables as Markdown, LaTeX and CSV. Times stay out: equal runs give equal files."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from manyview.bench._plan import canonical
from manyview.bench._published import METRIC_TITLES, METRICS, PrintedCell
from manyview.bench._summary import summary_sentences
from manyview.bench._tables import Cell, Comparison, ResultRow, ResultTable

TUNED_MARK = "*"
SLIP_MARK = "†"


def table_caption(table: ResultTable) -> str:
    """What the table shows, in one line."""
    number = "" if table.number is None else f"Table {table.number}. "
    return f"{number}Results on {table.title} ({table.protocol} protocol)"


def table_notes(table: ResultTable) -> list[str]:
    """Footnotes: how to read it, what was tuned, what failed, slips in print."""
    notes = [
        f"Mean ± standard deviation in per cent over {table.repeats} runs; bold: best "
        "of the column, or not told from it by a t-test at 5 %."
    ]
    for row in table.rows:
        if row.tuned:
            notes.append(
                f"{TUNED_MARK} {row.label}: tuned with labels, {setting(row)}."
            )
    for row in table.rows:
        if row.n_failed:
            notes.append(f"{row.label}: {row.n_failed} runs failed. {row.error}")
        if row.n_runs + row.n_failed < table.repeats:
            missing = table.repeats - row.n_runs - row.n_failed
            notes.append(f"{row.label}: {missing} runs are not done yet.")
    notes += [f"{SLIP_MARK} {label}: {slip}" for label, slip in table_slips(table)]
    return notes


def table_slips(table: ResultTable) -> list[tuple[str, str]]:
    """Row and remark for every slip of the printed table, each once."""
    found = {
        (row.label, cell.comparison.printed.slip): None
        for row in table.rows
        for cell in row.cells.values()
        if cell.comparison is not None and cell.comparison.printed.slip
    }
    return list(found)


def setting(row: ResultRow) -> str:
    """NSMVC's parameters by the paper's symbols, those of other methods by name."""
    symbols = {"pace_start": "alpha", "n_paces": "T"}
    shown = [name for name in symbols if name in row.params] or list(row.params)
    return ", ".join(f"{symbols.get(k, k)} = {row.params[k]}" for k in shown)


def signed(difference: float) -> str:
    """A difference to the printed digits; one that rounds to zero has no minus."""
    return f"{round(difference, 2) + 0.0:+.2f}"


def to_markdown(table: ResultTable) -> str:
    """The table in Markdown, with its footnotes."""
    compared = is_compared(table)
    heads = ["Method"]
    for metric in METRICS:
        heads.append(METRIC_TITLES[metric])
        if compared:
            heads += ["printed", "difference"]
    lines = [f"### {table_caption(table)}", "", _line(heads)]
    lines.append(_line(["---"] + ["---:"] * (len(heads) - 1)))
    for row in table.rows:
        cells = [row.label + (f" {TUNED_MARK}" if row.tuned else "")]
        for metric in METRICS:
            cells += _markdown_cell(row.cells.get(metric), compared=compared)
        lines.append(_line(cells))
    lines.append("")
    lines += [f"- {note}" for note in table_notes(table)]
    return "\n".join(lines) + "\n"


def is_compared(table: ResultTable) -> bool:
    """Whether any cell stands beside a printed one."""
    return any(c.comparison for row in table.rows for c in row.cells.values())


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _markdown_cell(cell: Cell | None, *, compared: bool) -> list[str]:
    if cell is None:
        return ["failed", "", ""] if compared else ["failed"]
    text = f"{cell.mean:.2f} ± {cell.std:.2f}"
    parts = [f"**{text}**" if cell.bold else text]
    if compared:
        parts += _markdown_printed(cell.comparison)
    return parts


def _markdown_printed(comparison: Comparison | None) -> list[str]:
    if comparison is None:
        return ["", ""]
    printed = comparison.printed
    text = f"{printed.mean:.2f} ± {printed.std:.2f}"
    text = f"**{text}**" if printed.bold else text
    mark = f" {SLIP_MARK}" if printed.slip else ""
    return [text + mark, signed(comparison.difference)]


def to_latex(table: ResultTable) -> str:
    """The table in LaTeX, for the booktabs package."""
    compared = is_compared(table)
    width = 2 if compared else 1
    heads = " & ".join(
        rf"\multicolumn{{{width}}}{{c}}{{{METRIC_TITLES[m]} (\%)}}" for m in METRICS
    )
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{_escape(table_caption(table))}}}",
        rf"  \label{{tab:{table.name}}}",
        rf"  \begin{{tabular}}{{l{'r' * width * len(METRICS)}}}",
        r"    \toprule",
        rf"    Method & {heads} \\",
    ]
    if compared:
        sides = " & ".join(["ours & printed"] * len(METRICS))
        lines.append(rf"    & {sides} \\")
    lines.append(r"    \midrule")
    for row in table.rows:
        cells = [_escape(row.label) + (r"$^\ast$" if row.tuned else "")]
        for metric in METRICS:
            cells += _latex_cell(row.cells.get(metric), compared=compared)
        lines.append("    " + " & ".join(cells) + r" \\")
    lines += [r"    \bottomrule", r"  \end{tabular}", r"\end{table}", ""]
    return "\n".join(lines)


def _latex_cell(cell: Cell | None, *, compared: bool) -> list[str]:
    if cell is None:
        return ["--"] * (2 if compared else 1)
    parts = [_latex_value(cell.mean, cell.std, bold=cell.bold)]
    if compared:
        printed = cell.comparison.printed if cell.comparison else None
        parts.append(_latex_printed(printed))
    return parts


def _latex_printed(printed: PrintedCell | None) -> str:
    if printed is None:
        return ""
    mark = r"$^\dagger$" if printed.slip else ""
    return _latex_value(printed.mean, printed.std, bold=printed.bold) + mark


def _latex_value(mean: float, std: float, *, bold: bool) -> str:
    text = rf"{mean:.2f}$\pm${std:.2f}"
    return rf"\textbf{{{text}}}" if bold else text


def _escape(text: str) -> str:
    for character in "&%#_$":
        text = text.replace(character, f"\\{character}")
    return text


CSV_COLUMNS = (
    "table",
    "dataset",
    "protocol",
    "method",
    "params",
    "tuned_with_labels",
    "metric",
    "mean",
    "std",
    "runs",
    "failed",
    "bold",
    "printed_mean",
    "printed_std",
    "printed_bold",
    "difference",
    "p_value",
    "verdict",
    "slip",
)


def to_csv(table: ResultTable) -> str:
    """The table in long form: one line per method and metric."""
    out = io.StringIO()
    writer = csv.DictWriter(out, CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in table.rows:
        for metric in METRICS:
            writer.writerow(_csv_line(table, row, metric))
    return out.getvalue()


def _csv_line(table: ResultTable, row: ResultRow, metric: str) -> dict[str, object]:
    line: dict[str, object] = {
        "table": table.number,
        "dataset": table.dataset,
        "protocol": table.protocol,
        "method": row.label,
        "params": canonical(row.params),
        "tuned_with_labels": row.tuned,
        "metric": metric,
        "runs": row.n_runs,
        "failed": row.n_failed,
    }
    cell = row.cells.get(metric)
    if cell is None:
        return line
    line |= {"mean": f"{cell.mean:.4f}", "std": f"{cell.std:.4f}", "bold": cell.bold}
    comparison = cell.comparison
    if comparison is not None:
        line |= {
            "printed_mean": comparison.printed.mean,
            "printed_std": comparison.printed.std,
            "printed_bold": comparison.printed.bold,
            "difference": f"{comparison.difference:.4f}",
            "p_value": f"{comparison.p_value:.4g}",
            "verdict": comparison.verdict,
            "slip": comparison.printed.slip,
        }
    return line


def write_table(table: ResultTable, folder: Path) -> list[Path]:
    """Write the table as Markdown, LaTeX and CSV into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for suffix, text in (
        ("md", to_markdown(table)),
        ("tex", to_latex(table)),
        ("csv", to_csv(table)),
    ):
        path = folder / f"{table.name}.{suffix}"
        path.write_text(text, encoding="utf-8", newline="\n")
        written.append(path)
    return written


def write_summary(tables: Sequence[ResultTable], path: Path) -> Path:
    """Write one Markdown file: how we compare in words, then every table."""
    parts = ["# Results beside the printed numbers", ""]
    parts += [f"- {sentence}" for sentence in summary_sentences(tables)]
    parts.append("")
    parts += [to_markdown(table) for table in tables]
    path.write_text("\n".join(parts), encoding="utf-8", newline="\n")
    return path
