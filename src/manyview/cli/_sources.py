"""The data that a command line names."""

from __future__ import annotations

import difflib
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manyview._files import naming
from manyview._names import NamedView
from manyview.cli._options import Align
from manyview.exceptions import DatasetError

if TYPE_CHECKING:
    from manyview.datasets import MultiViewData


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """Which data to read, as plain values that can be stored as JSON."""

    sources: tuple[str, ...]
    labels: str | None = None
    ids: str | None = None
    align: str = "strict"
    variables: tuple[str, ...] | None = None
    header: bool | None = None

    def resolved(self) -> Request:
        """The same request, independent of the current folder."""
        return replace(
            self,
            sources=tuple(_absolute(source) for source in self.sources),
            labels=None if self.labels is None else _absolute(self.labels),
        )


def make_request(
    sources: Sequence[str],
    labels: str | None,
    ids: str | None,
    align: Align,
    variables: str | None,
    header: bool | None,
) -> Request:
    """A request from the values of the command's options."""
    names = None if variables is None else variables.split(",")
    return Request(
        sources=tuple(sources),
        labels=labels,
        ids=ids,
        align=align.value,
        variables=None if names is None else tuple(name.strip() for name in names),
        header=header,
    )


def load_sources(request: Request, *, progress: bool | None = None) -> MultiViewData:
    """Read the data that a request names."""
    from manyview.datasets import list_datasets, load_dataset, read_views

    sources = request.sources
    known = [s for s in sources if s in list_datasets() and not Path(s).exists()]
    if known:
        if len(sources) > 1 or request.labels is not None:
            msg = (
                f"{known[0]} is a known data set with views and classes of its own; it "
                "goes without further files and without --labels."
            )
            raise DatasetError(msg)
        return load_dataset(sources[0], progress=progress)
    paths = [_split_name(source) for source in sources]
    for _, path in paths:
        _check_exists(path)
    options: dict[str, Any] = {
        "ids": request.ids,
        "align": request.align,
        "variables": request.variables,
        "header": request.header,
        "isolate": True,
    }
    chosen = _choose_form(paths)
    if request.labels == "-":
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "stdin.csv"
            with naming(file):
                file.write_text("label\n" + sys.stdin.read(), encoding="utf-8")
            return read_views(chosen, labels_file=file, **options)
    return read_views(chosen, **_label_options(request.labels), **options)


def lazy_sources(request: Request) -> Any:
    """The paths that a request names, for a cluster to open."""
    paths = [_split_name(source) for source in request.sources]
    for _, path in paths:
        if not Path(path).exists():
            msg = f"{path} does not exist. A cluster reads zarr and parquet."
            raise DatasetError(msg)
    if len(paths) == 1 and paths[0][0] is None:
        return paths[0][1]
    # Views are known by their names, so that a model recognises them later.
    return _by_name(paths)


def as_views(data: MultiViewData) -> dict[str, Any]:
    """Views and features by name, the form that lets a model recognise them later."""
    features = data.feature_names or (None,) * data.n_views
    return {
        name: NamedView(array=view, columns=columns)
        for name, view, columns in zip(
            data.view_names, data.views, features, strict=True
        )
    }


def title_of(data: MultiViewData) -> str:
    """A heading: the data set's title, the file's name, or the names of the views."""
    from manyview.datasets import dataset_info, list_datasets

    if data.name in list_datasets() and data.description:
        return dataset_info(data.name).title
    if data.name == "views":
        return " + ".join(data.view_names)
    return data.name


def sample_names(data: MultiViewData) -> list[str]:
    """Sample ids, or positions from 0 where the data has none."""
    if data.sample_ids is None:
        return [str(i) for i in range(data.n_samples)]
    return [str(name) for name in data.sample_ids]


def _choose_form(paths: Sequence[tuple[str | None, str]]) -> Any:
    """One path, a list, or a mapping of names, as `read_views` takes them."""
    if all(name is None for name, _ in paths):
        return paths[0][1] if len(paths) == 1 else [path for _, path in paths]
    return _by_name(paths)


def _by_name(paths: Sequence[tuple[str | None, str]]) -> dict[str, str]:
    named = {name or Path(path).stem: path for name, path in paths}
    if len(named) < len(paths):
        msg = f"Two views have the same name; the names are {sorted(named)}."
        raise DatasetError(msg)
    return named


def _label_options(labels: str | None) -> dict[str, Any]:
    """``--labels`` as options of `read_views`: a file, its column, or a column."""
    if labels is None or Path(labels).is_file():
        return {"labels": None, "labels_file": labels}
    path, colon, column = labels.rpartition(":")
    if colon and Path(path).is_file():
        return {"labels": column, "labels_file": path}
    if Path(labels).suffix.lower() in {".csv", ".tsv", ".txt", ".npy", ".parquet"}:
        msg = f"--labels {labels} looks like a file, but there is none of this name."
        raise DatasetError(msg)
    return {"labels": labels, "labels_file": None}


def _split_name(source: str) -> tuple[str | None, str]:
    if Path(source).exists() or "=" not in source:
        return None, source
    name, _, path = source.partition("=")
    return name, path


def _check_exists(path: str) -> None:
    if Path(path).exists():
        return
    from manyview.datasets import list_datasets

    msg = f"{path} is neither a file nor a known data set."
    close = difflib.get_close_matches(path.lower(), list_datasets(), n=1, cutoff=0.6)
    folder = Path(path).parent
    siblings = [file.name for file in folder.iterdir()] if folder.is_dir() else []
    near = difflib.get_close_matches(Path(path).name, siblings, n=1, cutoff=0.7)
    if close or near:
        msg += f" Did you mean {close[0] if close else folder / near[0]}?"
    else:
        msg += f" Known data sets: {', '.join(list_datasets())}."
    raise DatasetError(msg)


def _absolute(source: str) -> str:
    name, path = _split_name(source)
    if not Path(path).exists():
        return source
    full = str(Path(path).resolve())
    return full if name is None else f"{name}={full}"
