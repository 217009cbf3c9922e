"""``manyview report``: write the report of a result folder again."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from manyview.cli import _options as opt
from manyview.cli import _output, _render
from manyview.cli._cluster import provenance
from manyview.cli._sources import (
    Request,
    as_views,
    load_sources,
    sample_names,
    title_of,
)
from manyview.cli._summary import choice_of
from manyview.exceptions import DatasetError

ResultFolder = Annotated[
    Path,
    typer.Argument(
        help="A folder written by [bold]manyview cluster[/bold] --out.",
        show_default=False,
    ),
]
OutReport = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="File to write; report.html in the folder if not said.",
        rich_help_panel=opt.OUTPUT,
        show_default=False,
    ),
]


def report_command(
    result: ResultFolder,
    out: OutReport = None,
    debug: opt.Debug = False,  # noqa: ARG001 - its callback does the work
) -> None:
    """Write the report of an earlier result anew.

    The data is read again from where it was; the clusters stay what they are.

    [bold]Examples[/bold]

      manyview report demo

      manyview report demo --out elsewhere.html
    """
    from manyview._model_file import load_model
    from manyview.reporting import report
    from manyview.reporting._report import report_labels
    from manyview.reporting._subject import ReportOptions

    summary = _output.read_result(result)
    path = out or result / _output.REPORT
    _output.check_file(path, force=True)
    data = load_sources(_stored_request(summary))
    names, labels = _stored_labels(result / _output.LABELS)
    if names != sample_names(data):
        msg = (
            f"The samples of {result} are not those of the data any more "
            f"({len(names)} then, {data.n_samples} now, or other ids). "
            "Run manyview cluster again."
        )
        raise DatasetError(msg)
    about: dict[str, Any] = {
        "title": title_of(data),
        "sample_ids": names,
        "feature_names": data.feature_names or None,
        "target": data.target,
        "target_names": data.target_names,
        "command": summary["command"],
        "provenance": provenance(data),
        "choice": choice_of(summary),
    }
    model = result / _output.MODEL
    views = as_views(data)
    with _output.named_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if model.is_file():
            report(load_model(model), views, path, **about)
        else:
            options = ReportOptions(**about)
            method = summary["method"]
            report_labels(labels, views, path, method=method, options=options)
    _render.line(f"Written to {path}.")


def _stored_request(summary: dict[str, Any]) -> Request:
    names = Request.__dataclass_fields__
    stored = {n: v for n, v in summary["request"].items() if n in names}
    if stored.get("labels") == "-":
        # Labels that came through a pipe are gone.
        stored["labels"] = None
    stored["sources"] = tuple(stored["sources"])
    if stored.get("variables") is not None:
        stored["variables"] = tuple(stored["variables"])
    return Request(**stored)


def _stored_labels(path: Path) -> tuple[list[str], Any]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        names = [_output.unescape(row["sample"]) for row in rows]
        return names, np.array([int(row["cluster"]) for row in rows])
    except (OSError, KeyError, TypeError, ValueError, csv.Error) as error:
        msg = f"{path} cannot be read ({error!r}). Run manyview cluster again."
        raise DatasetError(msg) from error
