"""Views on a cluster: anything lazy and view-like -> `DaskViews`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np

from manyview._arrays import as_array, check_columns, check_shape
from manyview._extras import import_extra
from manyview._names import NamedView
from manyview._typing import IntArray
from manyview._views import ViewLayout, ViewSet, check_views, line_up
from manyview._zarr import check_zarr
from manyview.distributed._blocks import store
from manyview.exceptions import ViewError


@dataclass(frozen=True, kw_only=True, slots=True)
class DaskViews:
    """Views of the same samples, cut into the same row ranges.

    arrays : by name, with one chunk of columns; without views that no sample has.
    lengths : rows of each range. layout : that of fit.
    """

    arrays: dict[str, Any]
    lengths: tuple[int, ...]
    layout: ViewLayout

    @property
    def n_samples(self) -> int:
        return sum(self.lengths)

    @property
    def nbytes(self) -> int:
        return sum(int(array.nbytes) for array in self.arrays.values())

    def parts(self, on_disk: bool = False) -> list[Any]:
        """One lazy `ViewSet` per row range, checked and stored when it is computed.

        Reading all views of a range, checking and storing them is one task: chunks
        neither pile up on a worker nor travel between them.
        """
        starts = da.from_array(np.cumsum([0, *self.lengths[:-1]]), chunks=1)
        blocks: list[Any] = [starts, ("rows",)]
        for v, array in enumerate(self.arrays.values()):
            blocks += [array, ("rows", f"columns{v}")]
        parts = da.blockwise(
            _read_part,
            ("rows",),
            *blocks,
            names=tuple(self.arrays),
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
    layout: ViewLayout,
    on_disk: bool,
) -> ViewSet:
    views: dict[str, Any] = dict.fromkeys(layout.names)
    # The chunks of a row range come as a sequence, which holds only one.
    views |= {name: next(iter(b)) for name, b in zip(names, blocks, strict=True)}
    return store(check_views(views, layout=layout, first_row=int(start[0])), on_disk)


def is_lazy(X: Any) -> bool:
    """Whether X, or a view in it, is a Dask collection or a path."""
    views = X.values() if isinstance(X, Mapping) else X
    if not isinstance(X, (Mapping, list, tuple)):
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
    arrays = {
        name: view.array for name, view in views.items() if view.array is not None
    }
    # The largest view is not rechunked, so the least data moves.
    largest = max(arrays.values(), key=lambda array: array.nbytes)
    lengths = tuple(int(rows) for rows in largest.chunks[0] if rows)
    if layout is None:
        layout = ViewLayout(
            names=tuple(views),
            n_features=tuple(int(array.shape[1]) for array in arrays.values()),
            named=isinstance(X, Mapping),
            feature_names=tuple(view.columns for view in views.values()),
        )
    cut = {name: array.rechunk((lengths, -1)) for name, array in arrays.items()}
    return DaskViews(arrays=cut, lengths=lengths, layout=layout)


def compute_rows(X: Any, rows: IntArray) -> dict[str, Any]:
    """Unscaled rows of every view, read into the memory of this machine."""
    arrays = open_lazy_views(X).arrays
    some = {name: array[rows] for name, array in arrays.items()}
    found: dict[str, Any] = dask.compute(some)[0]
    return found


def _opened(X: Any) -> Any:
    """X with the arrays and frames that its paths lead to."""
    if isinstance(X, Mapping):
        return {name: _open_path(view) for name, view in X.items()}
    if isinstance(X, (list, tuple)):
        return [_open_path(view) for view in X]
    return _open_path(X, group=True)


def _open_path(source: Any, *, group: bool = False) -> Any:
    """The view that a path leads to, or with `group` the matrices of a zarr group.

    What is not a path stays as it is.
    """
    if not isinstance(source, (str, Path)):
        return source
    path = Path(source)
    if not path.exists():
        msg = f"{path} does not exist. Pass a zarr array, a zarr group or parquet."
        raise ViewError(msg)
    if path.suffix in {".parquet", ".pq"}:
        frames = import_extra("dask.dataframe", "dask", "A parquet source")
        return frames.read_parquet(path)
    is_zarr = (path / "zarr.json").is_file() or any(path.glob(".z*"))
    stored = check_zarr(path) if is_zarr else {}
    is_array = "" in stored
    if not is_array and not (is_zarr and group):
        msg = (
            f"{path} is neither a zarr array nor parquet. Open other formats with "
            "dask.array or dask.dataframe and pass the result."
        )
        raise ViewError(msg)
    zarr = import_extra("zarr", "dask", "A zarr source")
    views = {
        name: da.from_zarr(zarr.open(str(array.path), mode="r"))
        for name, array in stored.items()
        if is_array or len(array.shape) == 2
    }
    if not views:
        msg = f"{path} is a zarr group without 2-D arrays: there is no view in it."
        raise ViewError(msg)
    return views[""] if is_array else views


def _as_dask(view: Any, name: str) -> Any:
    """One opened view as a dask array of known shape; None stays None."""
    if isinstance(view, NamedView):
        view = view.array
    if hasattr(view, "to_dask_array"):
        check_columns(view, name)
        view = view.to_dask_array(lengths=True)
    if not isinstance(view, da.Array):
        array = as_array(view, name)
        return None if array is None else da.from_array(array, asarray=False)
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
