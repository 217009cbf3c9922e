"""Write made-up views of any length to disk, a portion at a time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from manyview._extras import import_extra
from manyview._files import naming
from manyview.datasets._synthetic import RandomState, Recipe, seed_of
from manyview.exceptions import DatasetError

# Writes rows behind the ones before.
Append: TypeAlias = Callable[[npt.NDArray[Any]], object]


@dataclass(frozen=True, kw_only=True, slots=True)
class ViewFiles:
    """Where ``write_views`` put its views.

    Parameters
    ----------
    views : tuple of Path
        One file (npy) or folder (zarr) per view.
    target : Path
        The true labels, in the same format.
    """

    views: tuple[Path, ...]
    target: Path


def write_views(
    folder: str | os.PathLike[str],
    n_samples: int,
    n_clusters: int = 3,
    n_features: Sequence[int] = (10, 20),
    *,
    separation: float = 6.0,
    corrupt: Sequence[int] = (),
    outliers: float = 0.0,
    missing: float = 0.0,
    random_state: RandomState = None,
    format: Literal["npy", "zarr"] = "npy",
    dtype: npt.DTypeLike = "float64",
    block_size: int = 65536,
) -> ViewFiles:
    """Write made-up views to disk without holding them in memory.

    The rows are those of :func:`make_views` with the same parameters.

    Parameters
    ----------
    folder : path
        Folder to write to; made if needed. Nothing in it is overwritten.
    n_samples : int
        Number of samples.
    n_clusters : int, default=3
        Number of clusters, of equal size up to one sample.
    n_features : sequence of int, default=(10, 20)
        Number of features of each view.
    separation : float, default=6.0
        Mean distance of two centres, in standard deviations of a cluster.
    corrupt : sequence of int, default=()
        Views that hold noise only, of the same variance as the others.
    outliers : float, default=0.0
        Share of samples, drawn anew in each view, that lie ten times as far from their
        centre.
    missing : float, default=0.0
        Share of samples, drawn anew in each view, that the view lacks: rows of NaN.
    random_state : int, RandomState, Generator or None, default=None
        Seed.
    format : {"npy", "zarr"}, default="npy"
        Files to be memory-mapped, or zarr arrays chunked by rows.
    dtype : dtype, default="float64"
        Floating-point type of the views.
    block_size : int, default=65536
        Rows written at a time, and rows per zarr chunk. It has no influence on the
        values.

    Returns
    -------
    files : ViewFiles
        Paths of the views and of the labels.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from manyview.datasets import write_views
    >>> files = write_views(tempfile.mkdtemp(), 1000, random_state=0)
    >>> np.load(files.views[0], mmap_mode="r").shape
    (1000, 10)
    """
    recipe = Recipe(
        n_samples=n_samples,
        n_clusters=n_clusters,
        n_features=tuple(n_features),
        separation=separation,
        corrupt=frozenset(corrupt),
        outliers=outliers,
        missing=missing,
        seed=seed_of(random_state),
    )
    if format not in ("npy", "zarr") or block_size < 1:
        msg = (
            f"format={format!r}, block_size={block_size}: expected 'npy' or 'zarr', "
            "and at least one row."
        )
        raise DatasetError(msg)
    target_folder = Path(folder)
    names = [*recipe.view_names, "target"]
    paths = [target_folder / f"{name}.{format}" for name in names]
    for path in paths:
        if path.exists():
            msg = f"{path} exists already; choose another folder or remove it."
            raise DatasetError(msg)
    target_folder.mkdir(parents=True, exist_ok=True)
    try:
        with naming(target_folder):
            _write_all(recipe, paths, np.dtype(dtype), format, block_size)
    except BaseException:
        # Also on Ctrl-C: half a view would pass for a whole one.
        for path in paths:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        raise
    return ViewFiles(views=tuple(paths[:-1]), target=paths[-1])


def _write_all(
    recipe: Recipe,
    paths: list[Path],
    dtype: np.dtype[Any],
    format: str,
    block_size: int,
) -> None:
    n_samples = recipe.n_samples
    layouts: list[Any] = [((n_samples, d), dtype) for d in recipe.n_features]
    layouts.append(((n_samples,), np.dtype(np.int64)))
    with ExitStack() as stack:
        appends: list[Append] = []
        for path, (shape, kind) in zip(paths, layouts, strict=True):
            if format == "npy":
                stream = stack.enter_context(path.open("wb"))
                appends.append(_start_npy(stream, shape, kind))
            else:
                appends.append(_start_zarr(path, shape, kind, block_size))
        for portion in _portions(recipe, block_size):
            for append, rows in zip(appends, portion, strict=True):
                append(rows)


def _portions(recipe: Recipe, n_rows: int) -> Iterator[list[npt.NDArray[Any]]]:
    """The blocks of `recipe` regrouped to `n_rows` each, views first, then target."""
    waiting: list[npt.NDArray[Any]] | None = None
    for views, target, *_ in recipe.blocks():
        arrays: list[npt.NDArray[Any]] = [*views, target]
        if waiting is not None:
            arrays = [
                np.concatenate(pair) for pair in zip(waiting, arrays, strict=True)
            ]
        while len(arrays[-1]) >= n_rows:
            yield [array[:n_rows] for array in arrays]
            arrays = [array[n_rows:] for array in arrays]
        waiting = arrays
    if waiting is not None and len(waiting[-1]):
        yield waiting


def _start_npy(
    stream: BinaryIO, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Append:
    """Write a header that tells the final shape; rows are to follow."""
    kind = np.lib.format.dtype_to_descr(dtype)
    header = {"shape": shape, "fortran_order": False, "descr": kind}
    np.lib.format.write_array_header_1_0(stream, header)
    return lambda rows: stream.write(np.ascontiguousarray(rows, dtype=dtype).tobytes())


def _start_zarr(
    path: Path, shape: tuple[int, ...], dtype: np.dtype[Any], n_rows: int
) -> Append:
    """Make an array without rows yet, `n_rows` to a chunk."""
    zarr = import_extra("zarr", "io", f"Writing {path}")
    chunks = (min(n_rows, shape[0]), *shape[1:])
    array = zarr.create_array(
        store=str(path), shape=(0, *shape[1:]), chunks=chunks, dtype=dtype
    )
    return lambda rows: array.append(rows)
