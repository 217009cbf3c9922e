"""``manyview datasets``: list, describe and fetch the known data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyview.cli import _options as opt
from manyview.cli import _render
from manyview.exceptions import DatasetError

if TYPE_CHECKING:
    from manyview.datasets import DatasetInfo


def datasets_command(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Describe this one.",
            autocompletion=opt.complete_datasets,
            show_default=False,
        ),
    ] = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Download it now.")] = False,
    as_json: opt.AsJson = False,
    _debug: opt.Debug = False,
) -> None:
    """List the known data sets, describe one, or fetch it.

    [bold]Examples[/bold]

      manyview datasets

      manyview datasets msrcv1

      manyview datasets msrcv1 --fetch
    """
    from manyview.datasets import dataset_info, list_datasets, load_dataset

    if name is None:
        if fetch:
            msg = f"--fetch needs a name: one of {', '.join(list_datasets())}."
            raise DatasetError(msg)
        rows = [_row(dataset_info(known)) for known in list_datasets()]
        if as_json:
            _render.as_json(rows)
        else:
            _render.datasets(rows)
        return
    info = dataset_info(name)
    if fetch:
        load_dataset(name)
    if as_json:
        _render.as_json(_row(info))
    else:
        _render.facts(_facts(info))


def _row(info: DatasetInfo) -> dict[str, Any]:
    return {
        "name": info.name,
        "title": info.title,
        "n_samples": info.n_samples,
        "n_classes": len(info.target_names),
        "views": {view.name: view.n_features for view in info.views},
        "where": _where(info),
        "license": info.license,
        "source": info.source,
    }


def _where(info: DatasetInfo) -> str:
    if info.url is None:
        return "in the package"
    from manyview.datasets import data_folder

    folder = data_folder()
    names = [name for name in (info.file, info.upstream) if name is not None]
    if any((folder / name).is_file() for name in names):
        return "on this machine"
    return f"download, {info.size / 1000:,.0f} kB"


def _facts(info: DatasetInfo) -> list[tuple[str, str]]:
    from manyview.datasets import data_folder

    views = "; ".join(
        f"{view.name}: {view.title}, {view.n_features} features" for view in info.views
    )
    facts = [
        ("name", info.name),
        ("title", info.title),
        ("about", info.description),
        ("samples", f"{info.n_samples:,}"),
        ("classes", str(len(info.target_names))),
        ("views", views),
        ("where", _where(info)),
        ("source", info.source),
        ("cite", info.citation),
        ("licence", info.license),
        ("use", f"manyview cluster {info.name} -k {len(info.target_names)}"),
    ]
    if info.url is not None:
        facts.insert(-1, ("folder", str(data_folder())))
    return facts
