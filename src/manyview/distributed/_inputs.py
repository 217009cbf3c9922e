"""Views on a cluster: anything lazy and view-like -> `DaskViews`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from scipy import sparse

from manyview._arrays import check_columns, check_shape
from manyview._extras import import_extra
from manyview._names import FeatureNames, NamedView
from manyview._typing import IntArray
from manyview._views import ViewLayout, ViewSet, check_views, line_up
from manyview._zarr import check_zarr
from manyview.distributed._blocks import store
from manyview.exceptions import ViewError


@dataclass(frozen=True, kw_only=True, slots=True)
class DaskViews:
    """Views of the same samples, cut into the same row ranges.

    arrays : by name, with one chunk of columns; None for a view that no sample has.
    lengths : rows of each range. named : whether the names were given.
    feature_names : names of each view's features, or None.
    layout : what the views are held against, if they were fitted before.
    """

    arrays: dict[str, Any]
    lengths: tuple[int, ...]
    named: bool
    feature_names: tuple[FeatureNames, ...]
    layout: ViewLayout | None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.arrays)

    @property
    def n_samples(self) -> int:
        return sum(self.lengths)

    @property
    def n_features(self) -> tuple[int, ...]:
        """Of the views of a fit, which are all there."""
        return tuple(int(array.shape[1]) for array in self.arrays.values())

    @property
    def nbytes(self) -> int:
        """Size of the views of a fit in memory."""
        return sum(int(array.nbytes) for array in self.arrays.values())

    def parts(self, on_disk: bool = False) -> list[Any]:
        """One lazy `ViewSet` per row range, checked and stored when it is computed.

        Reading all views of a range, checking and storing them is one task: chunks
        neither pile up on a worker nor travel between them.
        """
        starts = da.from_array(np.cumsum([0, *self.lengths[:-1]]), chunks=1)
        blocks: list[Any] = [starts, ("rows",)]
        for v, array in enumerate(self.arrays.values()):
            blocks += [array, None if array is None else ("rows", f"columns{v}")]
        parts = da.blockwise(
            _read_part,
            ("rows",),
            *blocks,
            names=self.names,
            layout=self.layout,
            on_disk=on_disk,
            align_arrays=False,
            dtype=object,
            meta=np.empty(0, dtype=object),
        )
        return list(parts.to_delayed().ravel())


def _read_part(
    start: IntArray,
    *blocks: Any,
    names: tuple[str, ...],
    layout: ViewLayout | None,
    on_disk: bool,
) -> ViewSet:
    views = {
        # The chunks of a row range come as a sequence, which holds only one.
        name: None if block is None else next(iter(block))
        for name, block in zip(names, blocks, strict=True)
    }
    return store(check_views(views, layout=layout, first_row=int(start[0])), on_disk)


def is_lazy(X: Any) -> bool:
    """Whether X, or a view in it, is a Dask collection or a path."""
    views = X
    if isinstance(X, Mapping):
        views = list(X.values())
    elif not isinstance(X, (list, tuple)):
        views = [X]
    return any(
        dask.is_dask_collection(view) or isinstance(view, (str, Path)) for view in views
    )


def open_lazy_views(
    X: Any,
    *,
    view_sizes: Sequence[int] | None = None,
    layout: ViewLayout | None = None,
) -> DaskViews:
    """Line up lazy views, or raise `ViewError`; values are not looked at yet.

    With a `layout` the views must be those of `fit`, None for one that no sample has.
    """
    X = _opened(X)
    views = line_up(X, _as_dask, view_sizes, layout)
    arrays = {name: view.array for name, view in views.items()}
    # The largest view is not rechunked, so the least data moves.
    known = [array for array in arrays.values() if array is not None]
    largest = max(known, key=lambda array: array.nbytes)
    lengths = tuple(int(rows) for rows in largest.chunks[0] if rows)
    return DaskViews(
        arrays={
            name: None if array is None else array.rechunk((lengths, -1))
            for name, array in arrays.items()
        },
        lengths=lengths,
        named=isinstance(X, Mapping),
        feature_names=tuple(view.columns for view in views.values()),
        layout=layout,
    )


def compute_rows(X: Any, rows: IntArray) -> dict[str, Any]:
    """Unscaled rows of every view, read into the memory of this machine."""
    arrays = open_lazy_views(X).arrays
    found: dict[str, Any] = dask.compute(
        {name: array[rows] for name, array in arrays.items()}
    )[0]
    return found


def _opened(X: Any) -> Any:
    """The arrays and frames that paths, or those in a collection, lead to."""
    if isinstance(X, (str, Path)):
        return _open_path(Path(X), group=True)
    if isinstance(X, Mapping):
        return dict(zip(X, _opened(list(X.values())), strict=True))
    if isinstance(X, (list, tuple)):
        return [
            _open_path(Path(view)) if isinstance(view, (str, Path)) else view
            for view in X
        ]
    return X


def _open_path(path: Path, *, group: bool = False) -> Any:
    """A view, or with `group` also the matrices of a zarr group by name."""
    if not path.exists():
        msg = f"{path} does not exist. Pass a zarr array, a zarr group or parquet."
        raise ViewError(msg)
    if path.suffix in {".parquet", ".pq"}:
        frames = import_extra("dask.dataframe", "dask", "A parquet source")
        return frames.read_parquet(path)
    stored = _open_zarr(path) if path.is_dir() else None
    if hasattr(stored, "shape"):
        return da.from_zarr(stored)
    if stored is None or not group:
        msg = (
            f"{path} is neither a zarr array nor parquet. Open other formats with "
            "dask.array or dask.dataframe and pass the result."
        )
        raise ViewError(msg)
    members = sorted(stored.arrays())
    views = {name: da.from_zarr(array) for name, array in members if array.ndim == 2}
    if not views:
        msg = f"{path} is a zarr group without 2-D arrays: there is no view in it."
        raise ViewError(msg)
    return views


def _open_zarr(path: Path) -> Any:
    """The zarr array or group in a folder; None if there is none."""
    zarr = import_extra("zarr", "dask", "A zarr source")
    if (path / "zarr.json").is_file() or any(path.glob(".z*")):
        check_zarr(path)
    try:
        return zarr.open(str(path), mode="r")
    except (FileNotFoundError, ValueError):
        return None


def _as_dask(view: Any, name: str) -> Any:
    """One opened view as a dask array of known shape; None stays None."""
    if view is None:
        return None
    if isinstance(view, NamedView):
        view = view.array
    if hasattr(view, "to_dask_array"):
        check_columns(view, name)
        view = view.to_dask_array(lengths=True)
    if not isinstance(view, da.Array):
        # A mask must survive until the parts are checked.
        kept = sparse.issparse(view) or isinstance(view, np.ma.MaskedArray)
        view = da.from_array(view if kept else np.asarray(view), asarray=False)
    check_shape(view, name)
    if view.dtype.kind not in "buif":
        msg = (
            f"View {name!r} has dtype {view.dtype}, not real numbers. "
            "Cast it with .astype(float) first."
        )
        raise ViewError(msg)
    if np.isnan(view.shape[0]):
        view = view.compute_chunk_sizes()
    return view
