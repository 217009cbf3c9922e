"""The result of ``manyview compare`` as tables and as a page."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from manyview.cli import _output

SCORES = {"accuracy": "ACC", "nmi": "NMI", "purity": "Purity", "ari": "ARI"}


def write_comparison(
    folder: Path, content: dict[str, Any], *, command: str, force: bool
) -> list[str]:
    """Write the folder; the names of its files."""

    def write_page(path: Path) -> None:
        path.write_text(comparison_page(content, command), encoding="utf-8")

    writers: _output.Writers = {
        _output.METHODS: partial(_write_methods, content["methods"]),
        _output.AGREEMENT: partial(_write_agreement, content["agreement"]),
        _output.SUMMARY: partial(
            _output.write_json, content={"command": command, **content}
        ),
    }
    if _output.can_report():
        writers[_output.COMPARISON] = write_page
    return _output.write_folder(folder, writers, force=force)


def comparison_page(content: dict[str, Any], command: str) -> str:
    """One self-contained HTML page."""
    import numpy as np

    from manyview.reporting._figures import agreement_figure
    from manyview.reporting._page import render_page

    rows, agreement = content["methods"], content["agreement"]
    names, figures = agreement["methods"], {}
    if len(names) > 1:
        figures["agreement"] = agreement_figure(names, np.array(agreement["ari"]))
    return render_page(
        "comparison.html",
        templates=Path(__file__).parent / "templates",
        figures=figures,
        content=content,
        command=command,
        scored=any(row["scores"] for row in rows),
        method_table=_method_table(rows),
        n_agreeing=len(names),
        failures=[(row["method"], row["error"]) for row in rows if row["error"]],
    )


def _method_table(rows: list[dict[str, Any]]) -> Any:
    from manyview.reporting._page import Column, Table, number

    columns = [
        Column(name="Method"),
        number("Seconds", ".1f"),
        Column(name="Cluster sizes", hint="Smallest and largest cluster"),
    ]
    scored = any(row["scores"] for row in rows)
    if scored:
        columns += [number(name, ".1%") for name in SCORES.values()]
    cells = []
    for row in rows:
        found = row["scores"] or {}
        scores = [found.get(name) for name in SCORES] if scored else []
        cells.append([row["method"], row["seconds"], row["sizes"] or "failed", *scores])
    return Table(caption="All methods", columns=tuple(columns), rows=cells)


def _write_methods(rows: list[dict[str, Any]], path: Path) -> None:
    import pandas as pd

    unscored = dict.fromkeys(SCORES)
    cells = [{**row, **(row["scores"] or unscored)} for row in rows]
    columns = ["method", "seconds", "sizes", *SCORES, "error"]
    table = pd.DataFrame(cells, columns=columns, dtype=object)
    table.to_csv(path, index=False, lineterminator="\n")


def _write_agreement(agreement: dict[str, Any], path: Path) -> None:
    import pandas as pd

    names = agreement["methods"]
    table = pd.DataFrame(agreement["ari"], names, names)
    table.to_csv(path, index_label="method", lineterminator="\n")
