"""Views on a cluster: anything lazy and view-like -> `DaskViews`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from scipy import sparse

from manyview._extras import import_extra
from manyview._names import FeatureNames, NamedView, common_index, feature_names
from manyview._typing import IntArray
from manyview._views import (
    ViewLayout,
    ViewSet,
    check_views,
    common_rows,
    match_columns,
    match_layout,
    name_views,
    reject_absent_view,
    view_columns,
)
from manyview._zarr import check_zarr
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
    n_features: tuple[int, ...]
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
    def nbytes(self) -> int:
        """Size of all views in memory."""
        known = [array for array in self.arrays.values() if array is not None]
        return sum(int(array.nbytes) for array in known)

    def parts(self, store: Callable[[ViewSet], ViewSet]) -> list[Any]:
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
            store=store,
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
    store: Callable[[ViewSet], ViewSet],
) -> ViewSet:
    views = {
        # The chunks of a row range come as a sequence, which holds only one.
        name: None if block is None else next(iter(block))
        for name, block in zip(names, blocks, strict=True)
    }
    return store(check_views(views, layout=layout, first_row=int(start[0])))


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
    given = _named(X, view_sizes)
    named = isinstance(given, Mapping)
    views = name_views(given)
    if layout is not None:
        views = match_layout(views, layout, by_name=layout.named and named)
    views = {name: _opened(view) for name, view in views.items()}
    features = tuple(feature_names(view) for view in views.values())
    arrays = {name: _as_dask(view, name) for name, view in views.items()}
    common_rows(list(arrays.values()), list(arrays))
    common_index(views)
    for v, (name, array) in enumerate(arrays.items()):
        if layout is None and array is None:
            reject_absent_view(name)
        if layout is not None and array is not None:
            arrays[name] = match_columns(array, features[v], layout, v)
    known = [array for array in arrays.values() if array is not None]
    # The largest view is not rechunked, so the least data moves.
    largest = max(known, key=lambda array: array.nbytes)
    lengths = tuple(int(rows) for rows in largest.chunks[0] if rows)
    return DaskViews(
        arrays={
            name: None if array is None else array.rechunk((lengths, -1))
            for name, array in arrays.items()
        },
        lengths=lengths,
        n_features=tuple(
            layout.n_features[v] if array is None and layout else array.shape[1]
            for v, array in enumerate(arrays.values())
        ),
        named=named,
        feature_names=features,
        layout=layout,
    )


def compute_rows(X: Any, rows: IntArray) -> dict[str, Any]:
    """Unscaled rows of every view, read into the memory of this machine."""
    views = {
        name: _as_dask(_opened(view), name)[rows]
        for name, view in name_views(_named(X, None)).items()
    }
    found: dict[str, Any] = dask.compute(views)[0]
    return found


def _named(X: Any, view_sizes: Sequence[int] | None) -> Any:
    """A mapping or sequence of views."""
    if isinstance(X, (str, Path)) and _is_zarr_group(Path(X)):
        X = _zarr_arrays(Path(X))
    elif not isinstance(X, (Mapping, list, tuple)):
        X = _opened(X)
        table, names = _as_dask(X, "X"), feature_names(X)
        assert table is not None
        return [
            NamedView(
                array=table[:, part], columns=None if names is None else names[part]
            )
            for part in view_columns(table.shape[1], view_sizes)
        ]
    if view_sizes is not None:
        msg = (
            f"view_sizes={list(view_sizes)!r} splits one table, but X is already "
            f"a {type(X).__name__} of views. Leave view_sizes=None."
        )
        raise ViewError(msg)
    return X


def _opened(view: Any) -> Any:
    """What a path leads to; all else as it is."""
    return _open_path(Path(view)) if isinstance(view, (str, Path)) else view


def _as_dask(view: Any, name: str) -> Any:
    """One opened view as a dask array of known shape; None stays None."""
    if view is None:
        return None
    if isinstance(view, NamedView):
        view = view.array
    if hasattr(view, "to_dask_array"):
        view = _from_frame(view, name)
    if not isinstance(view, da.Array):
        # A mask must survive until the parts are checked.
        kept = sparse.issparse(view) or isinstance(view, np.ma.MaskedArray)
        view = da.from_array(view if kept else np.asarray(view), asarray=False)
    if view.ndim != 2 or view.shape[1] == 0:
        msg = (
            f"View {name!r} has shape {view.shape}, but a view is 2-D: samples in "
            "rows, features in columns."
        )
        raise ViewError(msg)
    if view.dtype.kind not in "buif":
        msg = (
            f"View {name!r} has dtype {view.dtype}, not real numbers. "
            "Cast it with .astype(float) first."
        )
        raise ViewError(msg)
    if np.isnan(view.shape[0]):
        view = view.compute_chunk_sizes()
    return view


def _from_frame(frame: Any, name: str) -> Any:
    for column, dtype in frame.dtypes.items():
        if getattr(dtype, "kind", "O") not in "buif":
            msg = (
                f"View {name!r}: column {column!r} is not numeric (dtype {dtype}). "
                "Encode or drop it."
            )
            raise ViewError(msg)
    return frame.to_dask_array(lengths=True)


def _open_path(path: Path) -> Any:
    if not path.exists():
        msg = f"{path} does not exist. Pass a zarr array, a zarr group or parquet."
        raise ViewError(msg)
    if path.suffix in {".parquet", ".pq"}:
        frames = import_extra("dask.dataframe", "dask", "A parquet source")
        return frames.read_parquet(path)
    if _zarr_kind(path) == "array":
        return da.from_zarr(str(path))
    msg = (
        f"{path} is neither a zarr array nor parquet. Open other formats with "
        "dask.array or dask.dataframe and pass the result."
    )
    raise ViewError(msg)


def _is_zarr_group(path: Path) -> bool:
    return _zarr_kind(path) == "group"


def _zarr_kind(path: Path) -> str | None:
    """What is stored at the path: "array", "group" or None for no zarr at all."""
    if not path.is_dir():
        return None
    zarr = import_extra("zarr", "dask", "A zarr source")
    if (path / "zarr.json").is_file() or any(path.glob(".z*")):
        check_zarr(path)
    try:
        stored = zarr.open(str(path), mode="r")
    except (FileNotFoundError, ValueError):
        return None
    return "group" if isinstance(stored, zarr.Group) else "array"


def _zarr_arrays(path: Path) -> dict[str, Any]:
    """The matrices of a zarr group, by name."""
    zarr = import_extra("zarr", "dask", "A zarr source")
    group = zarr.open_group(str(path), mode="r")
    views = {
        name: da.from_zarr(array)
        for name, array in sorted(group.arrays())
        if array.ndim == 2
    }
    if not views:
        msg = f"{path} is a zarr group without 2-D arrays: there is no view in it."
        raise ViewError(msg)
    return views
