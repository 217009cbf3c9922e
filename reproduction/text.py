"""Tables as Markdown, LaTeX and CSV. Times stay out: equal runs give equal files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from manyview.reporting._page import Table, format_cell, write_page
from reproduction.tables import (
    METRIC_TITLES,
    METRICS,
    lines_of,
    sentences,
    title_of,
    titles,
)

TUNED_MARK = "*"
SLIP_MARK = "†"
RECONSTRUCTION_MARK = "‡"
CSV_COLUMNS = [
    "dataset",
    "protocol",
    "label",
    "params",
    "tuned",
    "metric",
    "mean",
    "std",
    "half_width",
    "runs",
    "failed",
    "reconstructed",
    "bold",
    "printed_mean",
    "printed_std",
    "printed_bold",
    "difference",
    "difference_half_width",
    "p_value",
    "p_holm",
    "verdict",
    "slip",
]


@dataclass(frozen=True, slots=True)
class Markup:
    """How cells are written; bold takes the value."""

    value: str
    bold: str
    slip: str
    failed: str


MARKDOWN = Markup("{:.2f} ± {:.2f}", "**{}**", f" {SLIP_MARK}", "failed")
LATEX = Markup(r"{:.2f}$\pm${:.2f}", r"\textbf{{{}}}", r"$^\dagger$", "--")


def split(cells: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Protocol, data set and cells of every table."""
    for (protocol, dataset), table in cells.groupby(
        ["protocol", "dataset"], sort=False
    ):
        yield str(protocol), str(dataset), table


def rows_of(table: pd.DataFrame) -> list[list[Any]]:
    """The cells of every row, in the order of the metrics."""
    return [lines_of(row) for _, row in table.groupby("label", sort=False)]


def table_name(protocol: str, dataset: str) -> str:
    """File name of the table, without suffix."""
    stem = f"table{titles()[dataset][0]}" if dataset in titles() else dataset
    return stem if protocol == "paper" else f"{stem}-{protocol}"


def table_caption(protocol: str, dataset: str) -> str:
    """What the table shows, in one line."""
    number = f"Table {titles()[dataset][0]}. " if dataset in titles() else ""
    return f"{number}Results on {title_of(dataset)} ({protocol} protocol)"


def table_notes(table: pd.DataFrame) -> list[str]:
    """Footnotes: how to read it, what was tuned, what failed, slips in print."""
    rows = [row[0] for row in rows_of(table)]
    counts = Counter(row.runs + row.failed for row in rows)
    usual = max(counts, key=lambda n: counts[n])
    others = [
        f"{row.label}: {n}" for row in rows if (n := row.runs + row.failed) != usual
    ]
    less = f" ({', '.join(others)})" if others else ""
    notes = [
        f"Mean ± standard deviation in per cent over {usual} runs{less}; bold: best "
        "of the column, or not told from it by a t-test at 5 %."
    ]
    if table["printed_mean"].notna().any():
        notes.append("Differences with their 95 % confidence intervals.")
    notes += [
        f"{RECONSTRUCTION_MARK} {row.label}: a reconstruction; its authors' code is "
        "not public."
        for row in rows
        if row.reconstructed
    ]
    notes += [
        f"{TUNED_MARK} {row.label}: tuned with labels, {setting(row.params)}."
        for row in rows
        if row.tuned
    ]
    notes += [
        f"{row.label}: {row.failed} runs failed. {row.error}"
        for row in rows
        if row.failed
    ]
    slips = table[table["slip"] != ""].drop_duplicates(["label", "slip"])
    return notes + [f"{SLIP_MARK} {c.label}: {c.slip}" for c in lines_of(slips)]


def setting(params: str) -> str:
    """NSMVC's parameters by the paper's symbols, those of other methods by name."""
    values = json.loads(params)
    symbols = {"pace_start": "alpha", "n_paces": "T"}
    shown = [name for name in symbols if name in values] or list(values)
    return ", ".join(f"{symbols.get(k, k)} = {values[k]}" for k in shown)


def marks(row: Any) -> str:
    """What follows a label: tuned with labels, a reconstruction."""
    tuned = f" {TUNED_MARK}" if row.tuned else ""
    return tuned + (f" {RECONSTRUCTION_MARK}" if row.reconstructed else "")


def marked_labels(cells: pd.DataFrame) -> pd.Series[str]:
    """Labels of cells or runs, those of reconstructions with their mark."""
    labels = cells["label"].astype(str)
    return labels.where(~cells["reconstructed"], labels + f" {RECONSTRUCTION_MARK}")


def interval(cell: Any) -> str:
    """Confidence interval of a difference, with a space before it."""
    if pd.isna(cell.difference_half_width):
        return ""
    low = cell.difference - cell.difference_half_width
    high = cell.difference + cell.difference_half_width
    return f" [{low:+.1f}, {high:+.1f}]"


def signed(difference: float) -> str:
    """A difference to the printed digits; one that rounds to zero has no minus."""
    return f"{round(difference, 2) + 0.0:+.2f}"


def to_markdown(protocol: str, dataset: str, table: pd.DataFrame) -> str:
    """The table in Markdown, with its footnotes."""
    width = 3 if table["printed_mean"].notna().any() else 1
    heads = ["Method"]
    for title in METRIC_TITLES.values():
        heads += [title, "printed", "difference"][:width]
    lines = [f"### {table_caption(protocol, dataset)}", "", _line(heads)]
    lines.append(_line(["---"] + ["---:"] * (len(heads) - 1)))
    for row in rows_of(table):
        texts = [row[0].label + marks(row[0])]
        for cell in row:
            texts += _texts(cell, MARKDOWN)[:width]
        lines.append(_line(texts))
    notes = [f"- {note}" for note in table_notes(table)]
    return "\n".join([*lines, "", *notes]) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _texts(cell: Any, markup: Markup) -> list[str]:
    """Ours, printed, difference."""
    if not cell.runs:
        return [markup.failed, "", ""]
    ours = markup.value.format(cell.mean, cell.std)
    ours = markup.bold.format(ours) if cell.bold else ours
    if pd.isna(cell.printed_mean):
        return [ours, "", ""]
    theirs = markup.value.format(cell.printed_mean, cell.printed_std)
    theirs = markup.bold.format(theirs) if cell.printed_bold else theirs
    gap = signed(cell.difference) + interval(cell)
    return [ours, theirs + (markup.slip if cell.slip else ""), gap]


def to_latex(protocol: str, dataset: str, table: pd.DataFrame) -> str:
    """The table in LaTeX, for the booktabs package."""
    width = 2 if table["printed_mean"].notna().any() else 1
    heads = " & ".join(
        rf"\multicolumn{{{width}}}{{c}}{{{title} (\%)}}"
        for title in METRIC_TITLES.values()
    )
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{_escape(table_caption(protocol, dataset))}}}",
        rf"  \label{{tab:{table_name(protocol, dataset)}}}",
        rf"  \begin{{tabular}}{{l{'r' * width * len(METRICS)}}}",
        r"    \toprule",
        rf"    Method & {heads} \\",
    ]
    if width > 1:
        sides = " & ".join(["ours & printed"] * len(METRICS))
        lines.append(rf"    & {sides} \\")
    lines.append(r"    \midrule")
    for row in rows_of(table):
        texts = [_escape(row[0].label)]
        texts[0] += r"$^\ast$" if row[0].tuned else ""
        texts[0] += r"$^\ddagger$" if row[0].reconstructed else ""
        for cell in row:
            texts += _texts(cell, LATEX)[:width]
        lines.append("    " + " & ".join(texts) + r" \\")
    lines += [r"    \bottomrule", r"  \end{tabular}", r"\end{table}", ""]
    return "\n".join(lines)


def _escape(text: str) -> str:
    for character in "&%#_$":
        text = text.replace(character, f"\\{character}")
    return text


def to_csv(dataset: str, table: pd.DataFrame) -> str:
    """The table in long form: one line per method and metric."""
    names = {"label": "method", "tuned": "tuned_with_labels"}
    shown = table[CSV_COLUMNS].rename(columns=names)
    shown.insert(0, "table", str(titles()[dataset][0]) if dataset in titles() else "")
    shown["bold"] = shown["bold"].astype(object)
    for name, digits in (
        ("mean", "f"),
        ("std", "f"),
        ("half_width", "f"),
        ("difference", "f"),
        ("difference_half_width", "f"),
        ("p_value", "g"),
        ("p_holm", "g"),
    ):
        shown[name] = [f"{x:.4{digits}}" for x in shown[name]]
    blank = shown["printed_mean"].isna()
    gaps = ["difference", "difference_half_width", "p_value", "p_holm"]
    shown.loc[blank, gaps] = ""
    shown.loc[shown["runs"] == 0, ["mean", "std", "half_width", "bold", "verdict"]] = ""
    return shown.to_csv(index=False, lineterminator="\n")


def sheet_to_markdown(sheet: Table) -> str:
    """A table of the report in Markdown."""
    lines = [f"### {sheet.caption}", "", _line([c.name.strip() for c in sheet.columns])]
    lines.append(_line(["---:" if c.numeric else "---" for c in sheet.columns]))
    for row in sheet.rows:
        cells = zip(row, sheet.columns, strict=True)
        lines.append(_line([format_cell(value, column) for value, column in cells]))
    return "\n".join(lines) + "\n"


def write_tables(
    cells: pd.DataFrame, folder: Path, sheets: Mapping[str, Table] | None = None
) -> None:
    """Write every table as Markdown, LaTeX and CSV, and all of them as a summary.

    sheets : file name -> further table, in Markdown only.
    """
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    parts = ["# Results beside the printed numbers", ""]
    parts += [f"- {sentence}" for sentence in sentences(cells)]
    parts.append("")
    for name, sheet in (sheets or {}).items():
        markdown = sheet_to_markdown(sheet)
        parts.append(markdown)
        write_page(folder / "tables" / f"{name}.md", markdown)
    for protocol, dataset, table in split(cells):
        path = folder / "tables" / table_name(protocol, dataset)
        markdown = to_markdown(protocol, dataset, table)
        parts.append(markdown)
        write_page(path.with_suffix(".md"), markdown)
        write_page(path.with_suffix(".tex"), to_latex(protocol, dataset, table))
        write_page(path.with_suffix(".csv"), to_csv(dataset, table))
    write_page(folder / "summary.md", "\n".join(parts))
