"""Data sets of a comparison: registered, plugged in, or a folder of files."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from manyview.datasets import (
    MultiViewData,
    list_datasets,
    load_dataset,
    read_views,
)
from manyview.exceptions import DatasetError

DATASET_GROUP = "manyview.datasets"


@dataclass(frozen=True, kw_only=True, slots=True)
class DataRef:
    """Where a data set comes from; small enough to send to a worker.

    location : name in the registry or of the entry point, or the folder.
    """

    name: str
    kind: Literal["registered", "plugged", "folder"]
    location: str


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchData:
    """What planning needs to know of a data set.

    checksum : sha256 over views and classes, so that changed data are a new run.
    """

    ref: DataRef
    checksum: str
    n_samples: int
    view_names: tuple[str, ...]
    n_clusters: int

    @property
    def name(self) -> str:
        return self.ref.name


@dataclass(frozen=True, kw_only=True, slots=True)
class Corruption:
    """Replace the rows of a share of the samples, in one view, by noise."""

    view: str
    share: float


def find_dataset(name: str) -> DataRef:
    """The data set called `name`.

    Parameters
    ----------
    name : str
        A registered data set, the name of an entry point in the group
        ``manyview.datasets``, or a folder with one file per view and the classes in a
        file called ``labels``.

    Returns
    -------
    ref : DataRef
        Reference to pass to `load_data`.
    """
    if name in list_datasets():
        return DataRef(name=name, kind="registered", location=name)
    plugged = entry_points(group=DATASET_GROUP)
    if name in plugged.names:
        return DataRef(name=name, kind="plugged", location=name)
    folder = Path(name)
    if folder.is_dir():
        return DataRef(
            name=folder.resolve().name, kind="folder", location=str(folder.resolve())
        )
    known = ", ".join([*list_datasets(), *sorted(plugged.names)])
    msg = f"No data set or folder is called {name!r}. Known data sets: {known}."
    raise DatasetError(msg)


def load_data(ref: DataRef) -> MultiViewData:
    """The data behind a reference; a comparison needs the true classes."""
    if ref.kind == "registered":
        data = load_dataset(ref.location)
    elif ref.kind == "plugged":
        data = entry_points(group=DATASET_GROUP)[ref.location].load()()
    else:
        data = _read_folder(Path(ref.location))
    if data.target is None:
        msg = (
            f"Data set {ref.name!r} has no true classes to score against. Add a file "
            "called labels (.csv, .npy, ...) with one class per sample."
        )
        raise DatasetError(msg)
    return data


def describe_data(ref: DataRef) -> BenchData:
    """Load the data once and note what planning needs."""
    data = load_data(ref)
    return BenchData(
        ref=ref,
        checksum=_checksum(data),
        n_samples=data.n_samples,
        view_names=data.view_names,
        n_clusters=count_classes(data),
    )


def count_classes(data: MultiViewData) -> int:
    """Number of classes that occur: the number of clusters every method is given."""
    return len(np.unique(np.asarray(data.target)))


def corrupt(data: MultiViewData, corruption: Corruption, seed: int) -> MultiViewData:
    """Replace rows of one view by noise that keeps every feature's distribution.

    A random share of the samples gets, feature by feature, the value of a random
    sample: ranges and means stay, what the view knows about those samples goes. A
    larger share contains the smaller one for the same seed.
    """
    if corruption.view not in data.view_names:
        msg = (
            f"Data set {data.name!r} has no view {corruption.view!r}; its views are "
            f"{', '.join(data.view_names)}."
        )
        raise DatasetError(msg)
    position = data.view_names.index(corruption.view)
    rng = np.random.default_rng(seed)
    view = data.views[position]
    values = view.toarray() if sparse.issparse(view) else np.asarray(view)
    order = rng.permutation(data.n_samples)
    drawn = rng.integers(data.n_samples, size=values.shape)
    noise = np.take_along_axis(values, drawn, axis=0)
    hit = order[: round(corruption.share * data.n_samples)]
    noisy = values.copy()
    noisy[hit] = noise[hit]
    views = [*data.views]
    views[position] = noisy
    return replace(data, views=tuple(views))


def _read_folder(folder: Path) -> MultiViewData:
    found = sorted(p for p in folder.iterdir() if p.is_file() and p.name[0] != ".")
    labels = [p for p in found if p.stem == "labels"]
    views = {p.stem: p for p in found if p.stem != "labels"}
    if len(labels) != 1 or not views:
        msg = (
            f"{folder} has {len(views)} view files and {len(labels)} files called "
            "labels; expected at least one and exactly one."
        )
        raise DatasetError(msg)
    data = read_views(views, labels_file=labels[0])
    return replace(data, name=folder.name)


def _checksum(data: MultiViewData) -> str:
    digest = hashlib.sha256()
    for view in data.views:
        parts: list[Any] = [view]
        if sparse.issparse(view):
            rows = sparse.csr_array(view)
            parts = [rows.indptr, rows.indices, rows.data]
        for part in parts:
            array = np.ascontiguousarray(part)
            digest.update(f"{array.shape}{array.dtype.str}".encode())
            digest.update(array.data)
    digest.update(np.ascontiguousarray(data.target, dtype=np.int64).data)
    return digest.hexdigest()
