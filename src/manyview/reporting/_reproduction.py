"""The page that holds a reproduction against the paper."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from manyview.bench._protocol import MethodEntry, Protocol
from manyview.bench._published import METRIC_TITLES, METRICS
from manyview.bench._summary import ComparedCell, MethodSummary, shortfalls, summarise
from manyview.bench._table_text import (
    is_compared,
    setting,
    signed,
    table_caption,
    table_notes,
)
from manyview.bench._tables import Cell, ResultRow, ResultTable
from manyview.reporting._page import Column, Table, render_page, write_page


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportFigure:
    """An image file with what it shows."""

    title: str
    caption: str
    path: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Reproduction:
    """Everything the page shows.

    environments : versions and machine of the runs, as JSON, each once.
    fit_seconds : time spent fitting, summed over all runs.
    missing : data set -> why it could not be loaded.
    """

    tables: tuple[ResultTable, ...]
    protocols: tuple[Protocol, ...]
    figures: tuple[ReportFigure, ...]
    n_runs: int
    n_failed: int
    fit_seconds: float
    environments: tuple[str, ...]
    command: str
    missing: dict[str, str] = field(default_factory=dict)


def write_reproduction(content: Reproduction, path: Path) -> Path:
    """Write the page.

    Parameters
    ----------
    content : Reproduction
        Tables, figures and facts about the runs.
    path : Path
        Where to write; the page is one file and opens from disk.

    Returns
    -------
    path : Path
        The written file.
    """
    compared = [table for table in content.tables if is_compared(table)]
    summaries = summarise(compared)
    nsmvc = [s for s in summaries if s.label.startswith("NSMVC")]
    page = render_page(
        "reproduction.html",
        content=content,
        tiles=_tiles(content, summaries),
        words=[_verdict(summary) for summary in nsmvc],
        others=[_verdict(s) for s in summaries if s not in nsmvc],
        default_words=_default_words(content.tables),
        gaps=[_gap_table(summary) for summary in nsmvc],
        method_table=_method_table(summaries),
        groups=[_group(protocol, content.tables) for protocol in content.protocols],
        timings=[
            _timing_table(protocol, content.tables) for protocol in content.protocols
        ],
        settings=[_settings_table(protocol) for protocol in content.protocols],
        environments=[json.loads(text) for text in content.environments],
        plots=[
            {"title": f.title, "caption": f.caption, "source": _data_uri(f.path)}
            for f in content.figures
        ],
    )
    return write_page(path, page)


def _tiles(
    content: Reproduction, summaries: Sequence[MethodSummary]
) -> list[dict[str, str]]:
    tiles = []
    for summary in summaries:
        if summary.label.startswith("NSMVC"):
            tiles.append(
                {
                    "value": f"{summary.meets} / {len(summary.cells)}",
                    "label": f"{summary.label}: cells at or above print",
                    "note": f"{summary.below} significantly below",
                }
            )
    tiles.append(
        {
            "value": f"{content.n_runs:,}",
            "label": "runs",
            "note": f"{content.n_failed} failed",
        }
    )
    tiles.append(
        {
            "value": f"{content.fit_seconds / 3600:.2f} h",
            "label": "spent fitting",
            "note": "summed over one-thread workers",
        }
    )
    return tiles


def _verdict(summary: MethodSummary) -> dict[str, Any]:
    """One method against print, in a sentence, and how it should be marked."""
    n_cells = len(summary.cells)
    tuned = any(
        row.tuned
        for cell in summary.cells
        for row in cell.table.rows
        if row.label == cell.label
    )
    how = " (tuned with labels, as in the paper)" if tuned else ""
    sentence = (
        f"reaches the printed mean in {summary.meets} of {n_cells} cells{how}. By "
        f"t-test {summary.above} cells lie above print, {summary.equal} cannot be told "
        f"from it and {summary.below} lie below; the mean difference is "
        f"{summary.mean_difference:+.1f} points."
    )
    worst = [cell for cell in shortfalls(summary) if cell.comparison.verdict == "below"]
    largest = sorted(worst, key=lambda cell: cell.comparison.difference)[:3]
    return {
        "label": summary.label,
        "sentence": sentence,
        "short": [cell.text for cell in largest],
    }


def _default_words(tables: Sequence[ResultTable]) -> str:
    """How NSMVC does against the others when nobody tunes anything."""
    plain = [table for table in tables if table.protocol == "default"]
    if not plain:
        return ""
    counts = []
    for metric in METRICS:
        best = sum(
            row.cells[metric].bold
            for table in plain
            for row in table.rows
            if row.label == "NSMVC" and metric in row.cells
        )
        counts.append(f"{best} in {METRIC_TITLES[metric]}")
    return (
        f"With every method at its defaults, NSMVC is best or not told from the best "
        f"on this many of {len(plain)} data sets: {', '.join(counts)}."
    )


def _gap_table(summary: MethodSummary) -> Table:
    """All cells of one method beside print, with the t-test."""
    return Table(
        caption=f"{summary.label}, cell by cell",
        columns=(
            Column(name="Data set"),
            Column(name="Score"),
            Column(name="Ours", numeric=True, format=".2f"),
            Column(name="± std", numeric=True, format=".2f"),
            Column(name="Printed", numeric=True, format=".2f"),
            Column(name="± std ", numeric=True, format=".2f"),
            Column(name="Difference", numeric=True, format="+.2f"),
            Column(name="p", numeric=True, format=".3f", hint="Welch's t-test"),
            Column(name="Verdict"),
        ),
        rows=[_gap_row(cell) for cell in summary.cells],
    )


def _gap_row(cell: ComparedCell) -> list[Any]:
    comparison = cell.comparison
    if comparison.verdict == "equal":
        verdict = "meets print" if comparison.meets else "below, within noise"
    else:
        verdict = f"{comparison.verdict} print"
    return [
        cell.table.title,
        METRIC_TITLES[cell.metric],
        cell.mean,
        cell.std,
        comparison.printed.mean,
        comparison.printed.std,
        comparison.difference,
        comparison.p_value,
        verdict,
    ]


def _method_table(summaries: Sequence[MethodSummary]) -> Table:
    return Table(
        caption="Every method against print: number of cells (t-test at 5 %)",
        columns=(
            Column(name="Method"),
            Column(name="Cells", numeric=True),
            Column(name="Above", numeric=True),
            Column(name="Not told apart", numeric=True),
            Column(name="Below", numeric=True),
            Column(name="Mean difference", numeric=True, format="+.1f"),
        ),
        rows=[
            [s.label, len(s.cells), s.above, s.equal, s.below, s.mean_difference]
            for s in summaries
        ],
    )


def _group(protocol: Protocol, tables: Sequence[ResultTable]) -> dict[str, Any]:
    own = [table for table in tables if table.protocol == protocol.name]
    return {
        "name": protocol.name,
        "title": protocol.title,
        "description": protocol.description,
        "tables": [
            {
                "caption": table_caption(table),
                "compared": is_compared(table),
                "notes": table_notes(table),
                "rows": [_row(row) for row in table.rows],
            }
            for table in own
        ],
    }


def _row(row: ResultRow) -> dict[str, Any]:
    return {
        "label": row.label,
        "tuned": row.tuned,
        "setting": setting(row) if row.tuned else "",
        "error": row.error,
        "cells": [_cell(row.cells.get(metric)) for metric in METRICS],
    }


def _cell(cell: Cell | None) -> dict[str, Any] | None:
    if cell is None:
        return None
    shown: dict[str, Any] = {"mean": cell.mean, "std": cell.std, "bold": cell.bold}
    comparison = cell.comparison
    shown["printed"] = comparison.printed if comparison else None
    shown["difference"] = comparison.difference if comparison else None
    shown["difference_text"] = signed(comparison.difference) if comparison else ""
    shown["verdict"] = comparison.verdict if comparison else ""
    return shown


def _timing_table(protocol: Protocol, tables: Sequence[ResultTable]) -> Table:
    """Median seconds per fit and data set, and memory on the first data set."""
    own = [table for table in tables if table.protocol == protocol.name]
    seconds: dict[str, dict[str, float]] = {}
    memory: dict[str, float] = {}
    for table in own:
        for row in table.rows:
            seconds.setdefault(row.label, {})[table.dataset] = row.seconds
            memory.setdefault(row.label, row.peak_mb)
    return Table(
        caption=(
            f"{protocol.title}: median seconds of one fit on one thread, and median "
            f"growth of memory during a fit on {own[0].title if own else 'the data'}"
        ),
        columns=(
            Column(name="Method"),
            *(Column(name=t.title, numeric=True, format=".3f") for t in own),
            Column(name="MB", numeric=True, format=".0f"),
        ),
        rows=[
            [label, *(times.get(t.dataset) for t in own), memory[label]]
            for label, times in seconds.items()
        ],
    )


def _settings_table(protocol: Protocol) -> Table:
    return Table(
        caption=f"{protocol.title}: {protocol.repeats} repeats per data set",
        columns=(
            Column(name="Method"),
            Column(name="Estimator"),
            Column(name="Parameters besides the defaults"),
        ),
        rows=[
            [entry.label, entry.estimator, _parameters(entry)]
            for entry in protocol.methods
        ],
    )


def _parameters(entry: MethodEntry) -> str:
    parts = [f"{name} = {value!r}" for name, value in entry.params.items()]
    parts += [f"{name} in {values}" for name, values in entry.grid.items()]
    if entry.each_view:
        parts.append("each view in turn")
    return ", ".join(parts)


def _data_uri(path: Path) -> str:
    kind = "svg+xml" if path.suffix == ".svg" else "png"
    return f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
