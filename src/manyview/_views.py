"""The one gate for user input: anything view-like -> `ViewSet`.

Nothing is copied that need not be: arrays keep their dtype and memory order, memmaps
stay on disk, and whoever reads rows casts and scales them block by block.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from manyview._annotated import annotated_views
from manyview._arrays import ViewArray, are_counts, as_array
from manyview._names import (
    FeatureNames,
    NamedView,
    column_order,
    common_index,
    feature_names,
    is_annotated,
    sample_index,
)
from manyview._typing import BoolArray
from manyview.exceptions import ViewError

# Rows looked at together when a view is scanned: large enough for NumPy to be quick,
# small enough that a memmap is never loaded whole.
SCAN_ELEMENTS = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class ViewSet:
    """Checked views of the same samples.

    arrays : one (n_samples, n_features_v) array or CSR matrix per view.
    present : per view the samples that have it, (n_samples,) bool.
    names : one name per view.
    feature_names : names of each view's features, or None; empty if nobody asked.
    index : the samples as a pandas Index, if a view has one.
    named : whether the views came by name.
    """

    arrays: tuple[ViewArray, ...]
    present: tuple[BoolArray, ...]
    names: tuple[str, ...]
    feature_names: tuple[FeatureNames, ...] = ()
    index: Any = None
    named: bool = False

    @property
    def n_samples(self) -> int:
        return int(self.arrays[0].shape[0])

    @property
    def n_features(self) -> tuple[int, ...]:
        return tuple(int(array.shape[1]) for array in self.arrays)


@dataclass(frozen=True, kw_only=True, slots=True)
class ViewLayout:
    """What `fit` saw, for later calls to be held against.

    named : whether the views came by name.
    feature_names : names of each view's features, or None; empty if nobody knows.
    """

    names: tuple[str, ...]
    n_features: tuple[int, ...]
    named: bool
    feature_names: tuple[FeatureNames, ...] = ()


def check_views(
    X: Any,
    *,
    view_sizes: Sequence[int] | None = None,
    layout: ViewLayout | None = None,
    first_row: int = 0,
    holes: bool = False,
) -> ViewSet:
    """Turn any accepted form of input into a `ViewSet`, or raise `ViewError`.

    With a `layout` the views must be those of `fit`, with columns put in the order of
    `fit` where they have names; a view given as None (or a name left out of a dict)
    then counts as missing for every sample. Where X is a part of something larger,
    `first_row` is its place there, for messages. With `holes`, rows may be NaN in
    part. A `ViewSet` was checked before.
    """
    if isinstance(X, ViewSet) and layout is None:
        return X
    lined_up = line_up(X, as_array, view_sizes, layout)
    names, views = tuple(lined_up), tuple(lined_up.values())
    n_samples = next(view.array.shape[0] for view in views if view.array is not None)
    arrays = [view.array for view in views]
    for v, array in enumerate(arrays):
        if array is None and layout is not None:
            # One NaN seen n x d times: a view nobody has, at no cost.
            shape = (n_samples, layout.n_features[v])
            arrays[v] = np.broadcast_to(np.float64(np.nan), shape)
    present = tuple(
        _find_present(array, name, first_row, holes)
        for array, name in zip(arrays, names, strict=True)
    )
    orphans = np.flatnonzero(~np.logical_or.reduce(present))
    if orphans.size:
        msg = (
            f"Sample {first_row + orphans[0]} is missing from every view "
            f"({orphans.size} such sample(s)). Remove these rows from all views."
        )
        raise ViewError(msg)
    features = tuple(view.columns for view in views)
    return ViewSet(
        arrays=tuple(arrays),
        present=present,
        names=names,
        feature_names=features if layout is None else layout.feature_names,
        index=views[0].index,
        named=has_named_views(X),
    )


def line_up(
    X: Any,
    convert: Callable[[Any, str], Any],
    view_sizes: Sequence[int] | None,
    layout: ViewLayout | None,
) -> dict[str, NamedView]:
    """Views of the same samples by name, with the index that they agree on.

    convert : makes an array of a view, given its name. With a `layout`, the views and
    columns are those of fit, in its order; a view that was left out has no array.
    """
    given = _named_views(X, convert, view_sizes)
    if layout is not None:
        by_name = layout.named and has_named_views(X)
        given = _match_layout(given, layout, by_name=by_name)
    arrays = {name: convert(view, name) for name, view in given.items()}
    _check_rows(arrays)
    index = common_index(given)
    lined_up = {}
    for v, (name, view) in enumerate(given.items()):
        array, columns = arrays[name], feature_names(view)
        if array is None and layout is None:
            msg = (
                f"View {name!r} is None, and fit learns from every view. Leave the "
                "view out, or pass an array with a row of NaN for each sample that "
                "lacks it."
            )
            raise ViewError(msg)
        if array is not None and layout is not None:
            array = _match_columns(array, columns, layout, v)
        lined_up[name] = NamedView(array=array, columns=columns, index=index)
    return lined_up


def has_named_views(X: Any) -> bool:
    """Whether the views of X carry names that later calls can be matched by."""
    # A sparse DOK matrix is a dict too, by accident of implementation.
    return (isinstance(X, Mapping) and not sparse.issparse(X)) or is_annotated(X)


def is_single_array(X: Any) -> bool:
    """Whether X is one 2-D table (to be split by `view_sizes`), not several views."""
    if isinstance(X, ViewSet) or has_named_views(X):
        return False
    if isinstance(X, (list, tuple)):
        # A list of rows of plain numbers is a table, as everywhere in scikit-learn.
        return len(X) > 0 and all(_is_row_of_numbers(row) for row in X)
    return True


def row_blocks(n_rows: int, n_columns: int, elements: int) -> Iterator[slice]:
    """Consecutive row slices of about `elements` entries each."""
    step = max(1, elements // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def release_pages(array: ViewArray) -> None:
    """Let go of what a memory map has read: the file keeps it, the process need not."""
    base: Any = array
    while base is not None and not isinstance(base, mmap.mmap):
        base = getattr(base, "base", None)
    if base is not None and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


def _named_views(
    X: Any, convert: Callable[[Any, str], Any], view_sizes: Sequence[int] | None
) -> dict[str, Any]:
    """Views by name, as they are."""
    if is_single_array(X):
        return _split_columns(X, convert(X, "X"), view_sizes)
    if view_sizes is not None:
        msg = (
            f"view_sizes={list(view_sizes)!r} splits one 2-D array, but X is already "
            f"a {type(X).__name__} of views. Leave view_sizes=None."
        )
        raise ViewError(msg)
    if is_annotated(X):
        X = annotated_views(X)
    if isinstance(X, Mapping):
        views = {str(name): view for name, view in X.items()}
        if len(views) < len(X):
            msg = f"View names {list(X)!r} are not distinct as text. Rename them."
            raise ViewError(msg)
    else:
        views = {f"view{v}": view for v, view in enumerate(X)}
    if not views:
        msg = (
            f"X is an empty {type(X).__name__}: there is no view to cluster. "
            "Pass at least one 2-D array."
        )
        raise ViewError(msg)
    return views


def _split_columns(
    X: Any, array: Any, view_sizes: Sequence[int] | None
) -> dict[str, Any]:
    """The views of one table, an array of which was made."""
    names, index = feature_names(X), sample_index(X)
    return {
        f"view{v}": NamedView(
            array=array[:, part],
            columns=None if names is None else names[part],
            index=index,
        )
        for v, part in enumerate(_view_columns(array.shape[1], view_sizes))
    }


def _view_columns(n_columns: int, view_sizes: Sequence[int] | None) -> list[slice]:
    """Columns of each view in one table; without `view_sizes` they are one view."""
    if view_sizes is None:
        return [slice(0, n_columns)]
    sizes = list(view_sizes)
    if not are_counts(sizes):
        msg = (
            f"view_sizes={sizes!r} must be positive whole numbers, one per view, "
            "in column order."
        )
        raise ViewError(msg)
    if sum(sizes) != n_columns:
        msg = (
            f"view_sizes={sizes!r} add up to {sum(sizes)}, but X has {n_columns} "
            "features. Pass one size per view, in column order."
        )
        raise ViewError(msg)
    edges = np.cumsum([0, *sizes])
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


def _match_layout(
    given: dict[str, Any], layout: ViewLayout, *, by_name: bool
) -> dict[str, Any]:
    """The views that fit saw, in its order; None for one that was left out."""
    if by_name:
        unknown = [name for name in given if name not in layout.names]
        if unknown:
            msg = (
                f"View {unknown[0]!r} was not there in fit, which saw "
                f"{list(layout.names)}. Pass views of these names only."
            )
            raise ViewError(msg)
        return {name: given.get(name) for name in layout.names}
    if len(given) != len(layout.names):
        msg = (
            f"X has {len(given)} views, but fit saw {len(layout.names)} "
            f"({', '.join(layout.names)}). Pass None in place of a view you lack."
        )
        raise ViewError(msg)
    return dict(zip(layout.names, given.values(), strict=True))


def _match_columns(array: Any, given: FeatureNames, layout: ViewLayout, v: int) -> Any:
    """The columns of view `v` in the order of fit; by count where names are lacking."""
    name = layout.names[v]
    fitted = layout.feature_names[v] if layout.feature_names else None
    order = column_order(name, given, fitted)
    if array.shape[1] != layout.n_features[v]:
        msg = (
            f"View {name!r} has {array.shape[1]} features, but it had "
            f"{layout.n_features[v]} in fit. Pass the same columns as in fit."
        )
        raise ViewError(msg)
    if order is None:
        return array
    ordered: Any = array[:, order]
    if sparse.issparse(array):
        ordered.sort_indices()
    return ordered


def _is_row_of_numbers(row: Any) -> bool:
    return isinstance(row, (list, tuple)) and not any(
        isinstance(cell, (list, tuple, np.ndarray)) or hasattr(cell, "shape")
        for cell in row
    )


def _check_rows(arrays: Mapping[str, Any]) -> None:
    """All views must have the same number of rows."""
    counts = [
        (name, array.shape[0]) for name, array in arrays.items() if array is not None
    ]
    if not counts:
        msg = f"Every one of the views {list(arrays)} is None. Pass at least one array."
        raise ViewError(msg)
    first_name, n_samples = counts[0]
    for name, count in counts[1:]:
        if count != n_samples:
            msg = (
                f"View {name!r} has {count} rows, but view {first_name!r} has "
                f"{n_samples}. Every view needs one row per sample, in the same "
                "order; mark a sample that lacks a view by a row of NaN."
            )
            raise ViewError(msg)
    if n_samples == 0:
        msg = "The views have no rows (n_samples=0). Pass at least one sample."
        raise ViewError(msg)


def all_present(n_samples: int) -> BoolArray:
    """The mask of a view that every sample has: one True seen n times, at no cost."""
    return np.broadcast_to(np.True_, n_samples)


def _find_present(
    array: ViewArray, name: str, first_row: int, holes: bool
) -> BoolArray:
    """Samples that have the view: those whose row is not all NaN."""
    n_rows, n_columns = array.shape
    if array.dtype.kind != "f":
        return all_present(n_rows)
    missing = []
    for block in row_blocks(n_rows, n_columns, SCAN_ELEMENTS):
        release_pages(array)
        for row in suspicious_rows(array, block):
            values = stored_row(array, row)
            if np.isnan(values).all():
                missing.append(row)
            else:
                _reject_row(values, name, first_row + row, holes)
    if not missing:
        return all_present(n_rows)
    present = np.ones(n_rows, dtype=bool)
    present[missing] = False
    return present


def suspicious_rows(array: ViewArray, block: slice) -> npt.NDArray[np.intp]:
    """Rows whose sum is not finite: all with NaN or inf, and harmless overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse.issparse(array):
            edges = array.indptr[block.start : block.stop + 1]
            data = array.data[edges[0] : edges[-1]]
            if np.isfinite(data.sum()):
                return np.empty(0, dtype=np.intp)
            bad = edges[0] + np.flatnonzero(~np.isfinite(data))
            rows = np.searchsorted(edges, bad, side="right") - 1
            return np.asarray(np.unique(rows) + block.start)
        rows = np.asarray(array[block])
        # One sum for all rows takes half the time of a sum for each, and einsum's half
        # the time of NumPy's pairwise one, which is more exact than is needed here.
        if np.isfinite(np.einsum("ij->", rows)):
            return np.empty(0, dtype=np.intp)
        sums = rows.sum(axis=1)
    return np.asarray(np.flatnonzero(~np.isfinite(sums)) + block.start)


def stored_row(array: ViewArray, row: int) -> npt.NDArray[Any]:
    if sparse.issparse(array):
        return np.asarray(array.data[array.indptr[row] : array.indptr[row + 1]])
    return np.asarray(array[row])


def _reject_row(values: npt.NDArray[Any], name: str, row: int, holes: bool) -> None:
    if np.isinf(values).any():
        msg = (
            f"View {name!r}, row {row} contains infinity. "
            "Replace it by a finite value, or mark the whole row as missing with NaN."
        )
        raise ViewError(msg)
    n_nan = int(np.isnan(values).sum())
    if n_nan and not holes:
        msg = (
            f"View {name!r}, row {row} is NaN in {n_nan} of {values.size} features. "
            "A row of NaN throughout marks a sample that lacks the view; fill a partly "
            "filled row in with manyview.ViewImputer, or set it to NaN throughout."
        )
        raise ViewError(msg)
