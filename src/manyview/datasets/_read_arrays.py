"""Read plain arrays: npy, npz (dense and sparse) and zarr."""

from __future__ import annotations

import math
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import load_npz as load_sparse

from manyview._extras import import_extra
from manyview._zarr import check_chunks, check_zarr
from manyview.datasets._guards import Budget
from manyview.datasets._source import (
    ID_NAMES,
    ReadOptions,
    Source,
    SourceView,
    make_source,
)
from manyview.exceptions import DatasetError

# Larger files are mapped into memory, not read.
MAP_BYTES = 64 * 2**20


def read_npy(path: Path, options: ReadOptions) -> Source:
    """Read one view; a big file stays on disk as a read-only memory map."""
    mapped = path.stat().st_size > MAP_BYTES and not options.only_labels
    with path.open("rb") as stream:
        n_bytes = _check_header(stream, path.stat().st_size, str(path))
    if not mapped:
        options.budget.take(path, n_bytes)
    values = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    if not options.only_labels:
        return one_view(path, values)
    named = replace(options, labels=path.stem)
    return source_from_variables(path, {path.stem: values}, named)


def read_npz(path: Path, options: ReadOptions) -> Source:
    """Read every matrix of an npz as a view, or the one sparse matrix it holds."""
    arrays = load_npz(path, str(path), options.budget)
    if options.only_labels or not {"format", "shape"} <= arrays.keys():
        return source_from_variables(path, arrays, options)
    n_rows, n_columns = (int(size) for size in arrays["shape"])
    options.budget.take_sparse(path, n_rows, n_columns)
    return one_view(path, load_sparse(path))


def read_zarr(path: Path, options: ReadOptions) -> Source:
    """Read a zarr array, or every matrix of a zarr group as a view."""
    zarr = import_extra("zarr", "io", f"Reading {path}")
    read = {}
    for name, array in check_zarr(path).items():
        options.budget.take(path, array.n_bytes)
        check_chunks(array)
        stored = zarr.open_array(str(array.path), mode="r", zarr_format=array.format)
        read[name or path.stem] = np.asarray(stored[...])
    return source_from_variables(path, read, options)


def one_view(path: Path, values: Any) -> Source:
    """A file that holds one matrix and no names."""
    return Source(views=(SourceView(name=path.stem, origin=str(path), values=values),))


def source_from_variables(
    path: Path, variables: dict[str, Any], options: ReadOptions
) -> Source:
    """Sort named matrices and vectors into views, labels and sample names."""
    names: tuple[str, ...] = ()
    if options.only_labels:
        variables = {name: v for name, v in variables.items() if _is_vector(v)}
    else:
        names = _view_names(path, variables, options)
    ids_name, labels_name = options.ids, options.labels
    if ids_name is None:
        ids_name = next((name for name in variables if name.lower() in ID_NAMES), None)
    if options.only_labels:
        rest = [name for name in variables if name != ids_name]
        labels_name = _label_name(path, rest, options)
    by_name: dict[str | None, Any] = dict(variables.items())
    views = [
        SourceView(
            name=name, origin=f"{path}, variable {name!r}", values=variables[name]
        )
        for name in names
    ]
    return make_source(
        str(path),
        views,
        options,
        ids=by_name.get(ids_name),
        labels=by_name.get(labels_name),
    )


def _view_names(
    path: Path, variables: dict[str, Any], options: ReadOptions
) -> tuple[str, ...]:
    """The variables that were chosen, or all matrices.

    Vectors are never views: most are ground truth, which must not be clustered.
    """
    names = options.variables
    if names is None:
        names = tuple(
            name
            for name, values in variables.items()
            if values.ndim == 2 and not _is_vector(values) and name != options.labels
        )
    options.check_variables(path, "variable", sorted(variables))
    if not names:
        shapes = {name: values.shape for name, values in variables.items()}
        msg = f"{path} holds no matrix that could be a view, only {shapes}."
        raise DatasetError(msg)
    return names


def _label_name(path: Path, vectors: list[str], options: ReadOptions) -> str:
    """The vector that was chosen, or the only one."""
    wanted = options.labels
    if wanted is None and len(vectors) == 1:
        wanted = vectors[0]
    if wanted not in vectors:
        msg = (
            f"{path} does not say which vector holds the labels; it has "
            f"{sorted(vectors)}. Name one with labels=."
        )
        raise DatasetError(msg)
    return wanted


def _is_vector(values: Any) -> bool:
    """Whether this is a list of numbers; MATLAB writes those as (n, 1) or (1, n)."""
    return values.ndim == 1 or (values.ndim == 2 and 1 in values.shape)


def load_npz(
    file: Path | IO[bytes], name: str, budget: Budget
) -> dict[str, npt.NDArray[Any]]:
    """All arrays of an npz, after a look at every header; `name` is for messages."""
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        budget.take(name, sum(member.file_size for member in members))
        for member in members:
            with archive.open(member) as stream:
                origin = f"{name}, member {member.filename!r}"
                _check_header(stream, member.file_size, origin)
    if not isinstance(file, Path):
        file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        return dict(arrays)


def _check_header(stream: IO[bytes], n_stored: int, origin: str) -> int:
    """Size of the data that an npy header announces, if so much and no code follows."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        msg = f"{origin} has npy version {version}; expected (1, 0) or (2, 0)."
        raise DatasetError(msg)
    if dtype.hasobject:
        msg = (
            f"{origin} holds pickled Python objects, which can run code when read; "
            "save plain numbers or text instead."
        )
        raise DatasetError(msg)
    promised, there = math.prod(shape) * dtype.itemsize, n_stored - stream.tell()
    if promised > there:
        msg = (
            f"{origin} is cut short: its header promises {promised} bytes of data, "
            f"{there} are there."
        )
        raise DatasetError(msg)
    return promised
