"""The result of ``manyview compare`` as tables and as a page."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import IO, Any

from manyview.cli import _output

SCORES = {"accuracy": "ACC", "nmi": "NMI", "purity": "Purity", "ari": "ARI"}
SECTIONS = (("methods", "Methods"), ("agreement", "Agreement"), ("command", "Command"))


def write_comparison(
    folder: Path, content: dict[str, Any], *, command: str, page: bool, force: bool
) -> list[str]:
    """Write the folder; the names of its files."""
    with _output.new_folder(folder, force=force) as part:
        with (
            _output.result_file(part, _output.METHODS) as path,
            path.open("w", encoding="utf-8", newline="") as file,
        ):
            _write_methods(file, content)
        with (
            _output.result_file(part, _output.AGREEMENT) as path,
            path.open("w", encoding="utf-8", newline="") as file,
        ):
            _write_agreement(file, content)
        text = json.dumps({"command": command, **content}, indent=2, ensure_ascii=False)
        with _output.result_file(part, _output.SUMMARY) as path:
            path.write_text(text + "\n", encoding="utf-8")
        if page:
            with _output.result_file(part, _output.COMPARISON) as path:
                path.write_text(comparison_page(content, command), encoding="utf-8")
        return sorted(path.name for path in part.iterdir())


def comparison_page(content: dict[str, Any], command: str) -> str:
    """One self-contained HTML page."""
    import numpy as np

    from manyview.reporting._figures import agreement_figure
    from manyview.reporting._page import render_page

    rows, agreement = content["methods"], content["agreement"]
    failures = [(row["method"], row["error"]) for row in rows if row["error"]]
    names, figures = agreement["methods"], {}
    if len(names) > 1:
        figures["agreement"] = agreement_figure(names, np.array(agreement["ari"]))
    sections = [s for s in SECTIONS if s[0] != "agreement" or figures]
    if failures:
        sections.insert(-1, ("failures", "Failed"))
    data = content["data"]
    return render_page(
        "comparison.html",
        templates=Path(__file__).parent / "templates",
        figures=figures,
        title=data["name"],
        summary=f"{len(rows)} methods on {data['n_samples']:,} samples, "
        f"{content['settings']['n_clusters']} clusters, each with its own defaults.",
        sections=sections,
        methods_sentence=_methods_sentence(rows),
        method_table=_method_table(rows),
        agreement_names=names,
        failures=failures,
        command=command,
    )


def _methods_sentence(rows: list[dict[str, Any]]) -> str:
    if any(row["scores"] for row in rows):
        return (
            "Scores hold the clusters against the known classes, which no method has "
            "seen. Click a heading to sort."
        )
    return "There are no known classes, so there are no scores."


def _method_table(rows: list[dict[str, Any]]) -> Any:
    from manyview.reporting._page import Column, Table

    columns = [
        Column(name="Method"),
        Column(name="Seconds", numeric=True, format=".1f"),
        Column(name="Cluster sizes", hint="Smallest and largest cluster"),
    ]
    scored = any(row["scores"] for row in rows)
    if scored:
        columns += [Column(name=n, numeric=True, format=".1%") for n in SCORES.values()]
    cells = []
    for row in rows:
        found = row["scores"] or {}
        scores = [found.get(name) for name in SCORES] if scored else []
        cells.append([row["method"], row["seconds"], row["sizes"] or "failed", *scores])
    return Table(caption="All methods", columns=tuple(columns), rows=cells)


def _write_methods(file: IO[str], content: dict[str, Any]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["method", "seconds", "sizes", *SCORES, "error"])
    for row in content["methods"]:
        found = row["scores"] or {}
        scores = [found.get(name) for name in SCORES]
        writer.writerow(
            [row["method"], row["seconds"], row["sizes"], *scores, row["error"]]
        )


def _write_agreement(file: IO[str], content: dict[str, Any]) -> None:
    agreement = content["agreement"]
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["method", *agreement["methods"]])
    for name, row in zip(agreement["methods"], agreement["ari"], strict=True):
        writer.writerow([name, *row])
