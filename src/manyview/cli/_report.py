"""``manyview report``: write the report of a result folder again."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from importlib.util import find_spec
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from manyview._extras import import_extra
from manyview.cli import _options as opt
from manyview.cli import _output, _render, _sources
from manyview.cli._options import Request
from manyview.exceptions import DatasetError


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
    covariates: opt.Covariates = None,
    survival: opt.Survival = None,
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
    from manyview._model_file import load_imputer, load_model, save_model
    from manyview._views import check_views
    from manyview.cli._result import Result
    from manyview.cluster._clustering import label_clustering
    from manyview.model_selection import ClusterCountChoice

    for package in ("jinja2", "plotly"):
        import_extra(package, "report", "A report")
    stored, stored_model = result / _output.SUMMARY, result / _output.MODEL
    summary = _read_summary(stored)
    request, choice = _restore(Request, summary.request, stored), None
    if request.labels == "-":
        # Labels that came through a pipe are gone.
        request = replace(request, labels=None)
    if summary.choice is not None:
        choice = _restore(ClusterCountChoice, summary.choice, stored)
    new_names = parse_names(rename or [])
    if new_names and not stored_model.is_file():
        msg = (
            f"{result} has no {_output.MODEL} to keep names in: {summary.method} "
            "cannot be stored. Rename clusters in Python, by rename_clusters."
        )
        raise DatasetError(msg)
    path = out or result / _output.REPORT
    _output.check_file(path, force=True)
    data, imputer = _sources.load_sources(request)
    samples, labels = _stored_labels(result / _output.LABELS)
    if samples != _sources.sample_names(data):
        msg = (
            f"The samples of {result} are not those of the data any more "
            f"({len(samples)} then, {data.n_samples} now, or other ids). "
            "Run manyview cluster again."
        )
        raise DatasetError(msg)
    views = _sources.as_views(data)
    if stored_model.is_file():
        model = load_model(stored_model)
        if new_names:
            model.rename_clusters(new_names)
        clustering = model.clustering(views)
    else:
        # All that is left of the fit: its labels.
        model = opt.make_estimator(summary.method.removeprefix("Dask"), {})
        known, given = model.get_params(), summary.params or {}
        model.set_params(**{name: given[name] for name in known if name in given})
        model.labels_ = labels
        clustering = label_clustering(check_views(views), labels)
    found = Result(
        command=summary.command,
        model=model,
        data=data,
        clustering=clustering,
        choice=choice,
        imputer=imputer,
        covariates=_covariates(summary.covariates, covariates, survival, samples),
    )
    if new_names:
        with _output.writing(stored_model):
            save_model(model, stored_model, imputer=load_imputer(stored_model))
        with _output.new_file(result / _output.LABELS, force=True) as file:
            found.write_labels(file)
    with _output.writing(path):
        found.page().save(path)
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


def _covariates(
    stored: dict[str, Any] | None,
    path: Path | None,
    survival: str | None,
    samples: list[str],
) -> _sources.Covariates | None:
    """Known columns that are given now, or that the first report had."""
    if path is None and stored is not None:
        path, survival = Path(str(stored.get("file"))), stored.get("survival")
        if not path.is_file():
            _render.note(f"{path} is not there any more; its columns are left out.")
            return None
        if survival is not None and find_spec("lifelines") is None:
            _render.note("lifelines is not installed; the log-rank test is left out.")
            survival = None
    found = _sources.read_covariates(path, survival)
    return found and found.of(samples)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Summary:
    """The entries of summary.json that a report is made of."""

    command: str
    method: str
    request: dict[str, object]
    params: dict[str, object] | None = None
    choice: dict[str, object] | None = None
    covariates: dict[str, object] | None = None


def _read_summary(path: Path) -> _Summary:
    if not path.is_file():
        msg = (
            f"{path.parent} is not a result of manyview cluster: it has no "
            f"{path.name}. Pass the folder that was given as --out."
        )
        raise DatasetError(msg)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        msg = f"{path} is damaged ({error}). Run manyview cluster again."
        raise DatasetError(msg) from error
    if not isinstance(content, dict) or "request" not in content:
        msg = f"{path} was not written by manyview cluster."
        raise DatasetError(msg)
    summary: _Summary = _restore(_Summary, content, path)
    return summary


def _restore(kind: Any, content: dict[str, Any], path: Path) -> Any:
    """A dataclass of plain values from what JSON has made of it."""
    types = get_type_hints(kind)
    values = {}
    for field in fields(kind):
        value = content.get(field.name, field.default)
        if not _is_a(types[field.name], value):
            msg = f"{path} has no sound {field.name!r} any more. "
            msg += "Run manyview cluster again."
            raise DatasetError(msg)
        is_tuple = get_origin(types[field.name]) is tuple
        values[field.name] = tuple(value) if is_tuple else value
    return kind(**values)


def _is_a(kind: Any, value: Any) -> bool:
    """Whether a value that JSON can hold is of the type that an annotation names."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(_is_a(one, value) for one in inner)
    if origin is Literal:
        return value in inner
    if origin in (list, tuple):
        is_row = isinstance(value, (list, tuple))
        return is_row and all(_is_a(inner[0], one) for one in value)
    if origin is dict:
        is_dict = isinstance(value, dict)
        return is_dict and all(_is_a(inner[1], one) for one in value.values())
    return isinstance(value, (int, float) if kind is float else kind)


def _stored_labels(path: Path) -> tuple[list[str], Any]:
    import pandas as pd

    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        labels = table["cluster"].astype(int).to_numpy()
        return [_output.unescape(name) for name in table["sample"]], labels
    except (OSError, KeyError, ValueError) as error:
        msg = f"{path} cannot be read ({error!r}). Run manyview cluster again."
        raise DatasetError(msg) from error
