"""``manyview report``: write the report of a result folder again."""

from __future__ import annotations

import csv
import json
from dataclasses import fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyview._extras import import_extra
from manyview.cli import _options as opt
from manyview.cli import _output, _render
from manyview.cli._covariates import (
    Covariates,
    CovariatesOption,
    SurvivalOption,
    read_covariates,
)
from manyview.cli._request import Drop, Encode, Missing, Request
from manyview.cli._sources import as_views, fill_holes, load_sources, sample_names
from manyview.exceptions import DatasetError

if TYPE_CHECKING:
    from manyview._typing import FloatArray
    from manyview.model_selection import ClusterCountChoice


def report_command(
    result: Annotated[
        Path,
        typer.Argument(
            help="A folder written by [bold]manyview cluster[/bold] --out.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        opt.output_option(
            "--out", "-o", help="File to write; report.html in the folder by default."
        ),
    ] = None,
    rename: Annotated[
        list[str] | None,
        opt.output_option(
            "--rename",
            metavar="NUMBER=NAME",
            help="Name of a cluster, such as '0=T cells'; may be repeated. Kept in the "
            "folder's model and labels. Clusters of one name are shown as one.",
        ),
    ] = None,
    covariates: CovariatesOption = None,
    survival: SurvivalOption = None,
    _debug: opt.Debug = False,
) -> None:
    """Write the report of an earlier result anew.

    The data is read again from where it was; the clusters stay what they are.

    [bold]Examples[/bold]

      manyview report demo

      manyview report demo --out elsewhere.html

      manyview report demo --rename "0=T cells" --rename "3=T cells"

      manyview report demo --covariates clinic.csv --survival days,dead
    """
    from manyview._model_file import load_model
    from manyview._views import check_views
    from manyview.cli._result import report_options
    from manyview.cluster._clustering import label_clustering
    from manyview.reporting._report import make_report

    for package in ("jinja2", "plotly"):
        import_extra(package, "report", "A report")
    summary = _stored_summary(result)
    path = out or result / _output.REPORT
    _output.check_file(path, force=True)
    request = _stored_request(summary)
    data, imputer = fill_holes(load_sources(request), request)
    names, labels = _stored_labels(result / _output.LABELS)
    if names != sample_names(data):
        msg = (
            f"The samples of {result} are not those of the data any more "
            f"({len(names)} then, {data.n_samples} now, or other ids). "
            "Run manyview cluster again."
        )
        raise DatasetError(msg)
    options = report_options(
        data,
        command=summary["command"],
        choice=_stored_choice(summary),
        imputer=imputer,
        covariates=_covariates(summary, covariates, survival, names),
        n_samples=len(names),
    )
    model, method, views = None, summary["method"], as_views(data)
    if (result / _output.MODEL).is_file():
        model = load_model(result / _output.MODEL)
        method = type(model).__name__
        if rename:
            model.rename_clusters(parse_names(rename))
        clustering = model.clustering(views)
        if rename:
            _keep_names(result, model, names, clustering.confidence)
    elif rename:
        msg = (
            f"{result} has no {_output.MODEL} to keep names in: {method} cannot be "
            "stored. Rename clusters in Python, by rename_clusters."
        )
        raise DatasetError(msg)
    else:
        clustering = label_clustering(check_views(views), labels)
    with _output.writing(path):
        make_report(clustering, options, method=method, estimator=model).save(path)
    _render.line(f"Written to {path}.")


def parse_names(given: list[str]) -> dict[int, str]:
    """``0=T cells`` as a name by cluster number."""
    found = {}
    for text in given:
        number, equals, name = text.partition("=")
        if not equals or not number.strip().isdecimal() or not name.strip():
            msg = f"{text!r} is not a number and a name, such as '0=T cells'."
            raise typer.BadParameter(msg, param_hint="--rename")
        found[int(number)] = name.strip()
    return found


def _keep_names(
    folder: Path, model: Any, samples: list[str], confidence: FloatArray
) -> None:
    """Model and labels of the folder, with the names."""
    from manyview._model_file import load_imputer, save_model

    path = folder / _output.MODEL
    with _output.writing(path):
        save_model(model, path, imputer=load_imputer(path))
    with _output.new_file(folder / _output.LABELS, force=True) as file:
        _output.write_labels(
            file,
            samples,
            model.labels_,
            confidence,
            cluster_names=model.named_labels().tolist(),
            view_names=model.view_names_,
            joined_pace=getattr(model, "joined_pace_", None),
        )


def _covariates(
    summary: dict[str, Any],
    path: Path | None,
    survival: str | None,
    samples: list[str],
) -> Covariates | None:
    """Known columns that are given now, or that the first report had."""
    known = summary.get("covariates")
    if path is None and isinstance(known, dict):
        path, survival = Path(str(known.get("file"))), known.get("survival")
        if not path.is_file():
            _render.note(f"{path} is not there any more; its columns are left out.")
            return None
        if survival is not None and find_spec("lifelines") is None:
            _render.note("lifelines is not installed; the log-rank test is left out.")
            survival = None
    found = read_covariates(path, survival)
    return found and found.of(samples)


def _stored_summary(folder: Path) -> dict[str, Any]:
    path = folder / _output.SUMMARY
    if not path.is_file():
        msg = (
            f"{folder} is not a result of manyview cluster: it has no {path.name}. "
            "Pass the folder that was given as --out."
        )
        raise DatasetError(msg)
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        msg = f"{path} is damaged ({error}). Run manyview cluster again."
        raise DatasetError(msg) from error
    if not isinstance(summary, dict) or "request" not in summary:
        msg = f"{path} was not written by manyview cluster."
        raise DatasetError(msg)
    wrong = _find_wrong(summary)
    if wrong is not None:
        msg = f"{path} has no sound {wrong!r} any more. Run manyview cluster again."
        raise DatasetError(msg)
    return summary


def _find_wrong(summary: dict[str, Any]) -> str | None:
    """The first entry that the report needs and that is not what was written."""
    request, choice = summary["request"], summary.get("choice")
    if not isinstance(request, dict):
        return "request"
    if not isinstance(choice, dict | None):
        return "choice"
    sources = request.get("sources")
    sound = {
        "command": isinstance(summary.get("command"), str),
        "method": isinstance(summary.get("method"), str),
        "sources": _all_are(sources, str) and bool(sources),
        "variables": _all_are(request.get("variables") or [], str),
        "align": isinstance(request.get("align"), str),
        "labels": isinstance(request.get("labels") or "", str),
        "ids": isinstance(request.get("ids") or "", str),
        "header": request.get("header") in (None, True, False),
        "use_rep": _are_names(request.get("use_rep")),
        "layer": _are_names(request.get("layer")),
        "missing": request.get("missing", "refuse") in list(Missing),
        "encode": request.get("encode") in (None, *Encode),
        "drop": request.get("drop") in (None, *Drop),
    }
    if choice is not None:
        for name in ("candidates", "weakest", "agreement"):
            sound[name] = _all_are(choice.get(name), int, float)
        for name in ("n_clusters", "threshold", "reached"):
            sound[name] = isinstance(choice.get(name), (int, float))
    return next((name for name, is_sound in sound.items() if not is_sound), None)


def _all_are(values: Any, *kinds: type) -> bool:
    return isinstance(values, list) and all(isinstance(v, kinds) for v in values)


def _are_names(value: Any) -> bool:
    """Whether this is a name, a list of names, a dict of either, or nothing."""
    if isinstance(value, dict):
        return all(_are_names(own) for own in value.values())
    return value is None or isinstance(value, str) or _all_are(value, str)


def _stored_choice(summary: dict[str, Any]) -> ClusterCountChoice | None:
    from manyview.model_selection import ClusterCountChoice

    stored = summary.get("choice")
    return stored and _restore(ClusterCountChoice, stored)


def _stored_request(summary: dict[str, Any]) -> Request:
    request: Request = _restore(Request, summary["request"])
    # Labels that came through a pipe are gone.
    return replace(request, labels=None) if request.labels == "-" else request


def _restore(kind: Any, content: dict[str, Any]) -> Any:
    """A dataclass of texts, numbers and tuples from what JSON has made of it."""
    known = {field.name for field in fields(kind)}
    values = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in content.items()
        if name in known
    }
    return kind(**values)


def _stored_labels(path: Path) -> tuple[list[str], Any]:
    import numpy as np

    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        names = [_output.unescape(row["sample"]) for row in rows]
        return names, np.array([int(row["cluster"]) for row in rows])
    except (OSError, KeyError, TypeError, ValueError, csv.Error) as error:
        msg = f"{path} cannot be read ({error!r}). Run manyview cluster again."
        raise DatasetError(msg) from error
