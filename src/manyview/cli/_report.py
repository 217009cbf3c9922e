"""``manyview report``: write the report of a result folder again."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from manyview._views import check_views
from manyview.cli import _options as opt
from manyview.cli import _output, _render
from manyview.cli._result import report_options
from manyview.cli._sources import Request, as_views, load_sources, sample_names
from manyview.cluster._clustering import label_clustering
from manyview.exceptions import DatasetError
from manyview.model_selection import ClusterCountChoice

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
        help="File to write; report.html in the folder by default.",
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
    from manyview.reporting._report import write_report

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
    options = report_options(
        data, command=summary["command"], choice=_stored_choice(summary)
    )
    model, method, views = None, summary["method"], as_views(data)
    if (result / _output.MODEL).is_file():
        model = load_model(result / _output.MODEL)
        clustering, method = model.clustering(views), type(model).__name__
    else:
        clustering = label_clustering(check_views(views), labels)
    with _output.named_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_report(path, clustering, options, method=method, estimator=model)
    _render.line(f"Written to {path}.")


def _stored_choice(summary: dict[str, Any]) -> ClusterCountChoice | None:
    stored = summary.get("choice")
    if stored is None:
        return None
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in stored.items()
        if name in ClusterCountChoice.__dataclass_fields__
    }
    return ClusterCountChoice(**fields)


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
