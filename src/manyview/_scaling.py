"""Scaling of views: learned from the data alone, applied while rows are read.

Every mode but ``None`` ends by dividing the view by its Frobenius norm, because NSMVC
compares squared distances across views (the exponents are ratios of thresholds). Where
the view is centred first (``"range"``, ``"zscore"``, ``"energy"``), its scatter is 1
and its loss is the unexplained share itself. ``"minmax"`` and ``"l2"`` leave the
distance of the mean from zero in the norm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.sparsefuncs import min_max_axis

from manyview._arrays import ViewArray
from manyview._threads import available_threads, map_threads
from manyview._typing import BoolArray, FloatArray
from manyview._views import (
    SCAN_ELEMENTS,
    ViewSet,
    release_pages,
    row_blocks,
)
from manyview.exceptions import ViewError

SCALES = ("auto", "range", "minmax", "zscore", "l2", "energy")

# Beyond this magnitude a squared distance is not a float64 any more.
LARGEST_UNSCALED = 1e150
# A view that varies by less than this has squared distances of 0.
SMALLEST_UNSCALED = 1e-150
# Beyond this magnitude not even the difference of two values is.
LARGEST = 8e307
# A feature whose range is below this is constant for all that arithmetic can tell.
SMALLEST_RANGE = 1e-300
# Factors outside this band would leave the float32 range once multiplied out.
FLOAT32_BAND = (1e-30, 1e30)


@dataclass(frozen=True, kw_only=True, slots=True)
class ViewScale:
    """How raw rows of one view become the rows the solver sees.

    ``z = (x - shift) * factor``, after ``x / ||x||`` where `unit_rows` is set.
    Distances do not depend on `shift`: it centres dense views to keep arithmetic
    accurate, and is zero if the view was sparse in `fit`. Sparse rows that come later
    are never filled by it: their centres move instead (see `SparseRows`).

    mode : the mode in force, after ``"auto"`` was resolved.
    shift, factor : (n_features,), a factor of zero silences a constant feature.
    """

    mode: str | None
    shift: FloatArray
    factor: FloatArray
    unit_rows: bool

    @property
    def fits_float32(self) -> bool:
        used = self.factor[self.factor > 0]
        low, high = FLOAT32_BAND
        return bool(np.all((used > low) & (used < high)))

    def to_user_units(self, centers: FloatArray) -> FloatArray:
        """Centres (n_clusters, n_features) of scaled rows, in the view's own units.

        With `unit_rows` they are means of unit-length rows. A silenced feature takes
        its constant value.
        """
        factor = np.where(self.factor > 0, self.factor, 1.0)
        return np.where(self.factor > 0, centers / factor, 0.0) + self.shift


@dataclass(frozen=True, kw_only=True)
class FeatureRange:
    """What a first pass finds: smallest and largest values, (n_features,), and zeros.

    Ranges and moments of parts of a view merge into those of the whole.
    """

    n_rows: int
    low: FloatArray
    high: FloatArray
    n_zeros: int
    is_sparse: bool

    @cached_property
    def span(self) -> FloatArray:
        # Halved before the difference: high - low alone overflows at +-1.7e308.
        half = np.minimum(self.high / 2 - self.low / 2, np.finfo(np.float64).max / 2)
        return np.asarray(2 * half)

    @cached_property
    def varies(self) -> BoolArray:
        return np.asarray(self.span > SMALLEST_RANGE)

    @cached_property
    def per_span(self) -> FloatArray:
        """One over the span, 0 for a constant feature."""
        return np.where(self.varies, 1.0 / np.where(self.varies, self.span, 1.0), 0.0)

    def merge(self, other: FeatureRange) -> FeatureRange:
        if not (self.n_rows and other.n_rows):
            return self if self.n_rows else other
        return FeatureRange(
            n_rows=self.n_rows + other.n_rows,
            low=np.minimum(self.low, other.low),
            high=np.maximum(self.high, other.high),
            n_zeros=self.n_zeros + other.n_zeros,
            is_sparse=self.is_sparse or other.is_sparse,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Moments:
    """What a second pass finds, free of overflow: offsets are in units of the range.

    mean, m2 : (n_features,), mean of ``(x - low) / span`` and its summed squared
    deviations; n_filled : rows that are not zero throughout, counted for "l2" only.
    """

    n_rows: int
    mean: FloatArray
    m2: FloatArray
    n_filled: int = 0

    def merge(self, other: Moments) -> Moments:
        """Chan's update: moments merge without a second look at the data."""
        n_rows = self.n_rows + other.n_rows
        share = other.n_rows / max(1, n_rows)
        step = other.mean - self.mean
        return Moments(
            n_rows=n_rows,
            mean=self.mean + step * share,
            m2=self.m2 + other.m2 + step**2 * (self.n_rows * share),
            n_filled=self.n_filled + other.n_filled,
        )


def threads_for(views: ViewSet) -> int:
    """Threads for passes over the views, one if they are small."""
    n_elements = sum(array.shape[0] * array.shape[1] for array in views.arrays)
    return available_threads() if n_elements > SCAN_ELEMENTS else 1


def learn_scales(views: ViewSet, mode: str | None) -> tuple[ViewScale, ...]:
    """One `ViewScale` per view for the given mode."""

    def learn(v: int) -> ViewScale:
        array, present = views.arrays[v], views.present[v]
        found = feature_range(array, present)
        view_mode = scale_mode(found, mode)
        moments = feature_moments(array, present, found, view_mode)
        return make_scale(found, moments, view_mode, views.names[v])

    sizes = [array.shape[1] for array in views.arrays]
    return tuple(map_threads(learn, range(len(sizes)), threads_for(views), sizes))


def scale_mode(found: FeatureRange, mode: str | None) -> str | None:
    """The mode in force: what "auto" means for this view.

    Counts, words and links want unit-length rows; other features, their range.
    """
    if mode != "auto":
        return mode
    non_negative = bool(np.all(found.low >= 0))
    mostly_zero = found.n_zeros > 0.5 * found.n_rows * len(found.low)
    return "l2" if non_negative and mostly_zero else "range"


def make_scale(
    found: FeatureRange, moments: Moments, mode: str | None, name: str
) -> ViewScale:
    """The scale of a view from its statistics."""
    _reject_extremes(found, name, mode)
    unit_rows = mode == "l2"
    if unit_rows:
        factor = np.full(len(found.low), 1.0 / np.sqrt(max(1, moments.n_filled)))
    else:
        factor = _factor(found, moments, mode)
    centre = found.low + found.span * moments.mean
    shift = np.zeros_like(centre) if found.is_sparse or unit_rows else centre
    return ViewScale(mode=mode, shift=shift, factor=factor, unit_rows=unit_rows)


def feature_range(array: ViewArray, present: BoolArray) -> FeatureRange:
    """First pass over a view, or a part of it."""
    from manyview._numerics._moments import range_of_rows

    n_columns = array.shape[1]
    low, high = np.full(n_columns, np.inf), np.full(n_columns, -np.inf)
    n_rows, n_zeros = int(present.sum()), 0
    if not n_rows:
        low[:], high[:] = 0.0, 0.0
    elif sparse.issparse(array):
        matrix = _present_rows(array, present)
        low, high = (
            end.astype(np.float64, copy=False) for end in min_max_axis(matrix, 0)
        )
        n_zeros = n_rows * n_columns - int(np.count_nonzero(matrix.data))
    else:
        for rows, has in _blocks(array, present):
            n_zeros += range_of_rows(rows, has, low, high)
    return FeatureRange(
        n_rows=n_rows,
        low=low,
        high=high,
        n_zeros=n_zeros,
        is_sparse=sparse.issparse(array),
    )


def feature_moments(
    array: ViewArray, present: BoolArray, found: FeatureRange, mode: str | None
) -> Moments:
    """Second pass over a view, or a part of it; `found` is of the whole view."""
    from manyview._numerics._moments import moments_of_rows

    mean, m2 = np.zeros(array.shape[1]), np.zeros(array.shape[1])
    if mode == "l2":
        n_filled = _nonzero_rows(array, present)
        return Moments(n_rows=0, mean=mean, m2=m2, n_filled=n_filled)
    if sparse.issparse(array):
        return _sparse_moments(_present_rows(array, present), found)
    n_rows = 0
    for rows, has in _blocks(array, present):
        n_rows = moments_of_rows(rows, has, found.low, found.per_span, n_rows, mean, m2)
    return Moments(n_rows=n_rows, mean=mean, m2=m2)


def _sparse_moments(matrix: sparse.csr_array, found: FeatureRange) -> Moments:
    n_rows, n_columns = matrix.shape
    low, per_span = found.low, found.per_span
    stored = np.bincount(matrix.indices, minlength=n_columns)
    offsets = (matrix.data - low[matrix.indices]) * per_span[matrix.indices]
    zero_offset = -low * per_span
    n_zeros = n_rows - stored
    total = np.bincount(matrix.indices, weights=offsets, minlength=n_columns)
    mean = (total + n_zeros * zero_offset) / max(1, n_rows)
    offsets -= mean[matrix.indices]
    stored_m2 = np.bincount(matrix.indices, weights=offsets**2, minlength=n_columns)
    m2 = np.asarray(stored_m2 + n_zeros * (zero_offset - mean) ** 2, dtype=np.float64)
    return Moments(n_rows=n_rows, mean=mean, m2=m2)


def _factor(found: FeatureRange, moments: Moments, mode: str | None) -> FloatArray:
    """Feature factors of every mode that does not look at row lengths."""
    varies = found.varies
    if mode is None:
        return np.ones_like(found.span)
    span = np.where(varies, found.span, 1.0)
    if mode in ("range", "minmax"):
        offset = moments.n_rows * moments.mean**2 if mode == "minmax" else 0.0
        energy = np.where(varies, moments.m2 + offset, 0.0)
        spread = span
    elif mode == "zscore":
        energy = np.where(varies, float(moments.n_rows), 0.0)
        deviation = np.sqrt(moments.m2 / max(1, moments.n_rows))
        spread = span * np.where(varies, deviation, 1.0)
    else:
        largest = float(np.max(span, where=varies, initial=0.0))
        if largest == 0.0:
            return np.zeros_like(span)
        energy = np.where(varies, moments.m2 * (span / largest) ** 2, 0.0)
        spread = np.full_like(span, largest)
    norm = np.sqrt(energy.sum())
    if norm == 0.0:
        return np.zeros_like(span)
    # Divide twice: the product of a tiny spread and the norm could underflow.
    return np.asarray(np.where(varies, 1.0 / spread / norm, 0.0))


def _reject_extremes(found: FeatureRange, name: str, mode: str | None) -> None:
    ends = np.concatenate([found.low, found.high])
    largest = float(np.max(np.abs(ends), initial=0.0))
    widest = float(np.max(found.span, initial=0.0))
    trouble = ""
    if largest > LARGEST_UNSCALED:
        trouble = f"has values up to {largest:.2g}, whose squares overflow"
    elif 0.0 < widest < SMALLEST_UNSCALED:
        trouble = f"varies by no more than {widest:.2g}, whose square is 0"
    if mode is None and trouble:
        msg = (
            f"View {name!r} {trouble} in double precision, and scale=None leaves it as "
            "it is. Use scale='auto' or rescale it."
        )
        raise ViewError(msg)
    if largest > LARGEST:
        msg = (
            f"View {name!r} has values up to {largest:.2g}, whose differences "
            "overflow. Divide the view by a constant first."
        )
        raise ViewError(msg)


def _present_rows(array: Any, present: BoolArray) -> Any:
    """The rows of samples that have the view; no copy if all have."""
    return array if present.all() else array[present]


def _blocks(
    array: npt.NDArray[Any], present: BoolArray
) -> Iterator[tuple[FloatArray, BoolArray]]:
    """Rows as floating-point numbers, and which of them the samples have."""
    single = array.dtype == np.float32
    for block in row_blocks(array.shape[0], array.shape[1], SCAN_ELEMENTS):
        release_pages(array)
        rows = np.asarray(array[block])
        dtype = np.float32 if single else np.float64
        yield np.ascontiguousarray(rows, dtype=dtype), present[block]


def _nonzero_rows(array: ViewArray, present: BoolArray) -> int:
    if sparse.issparse(array):
        kept = _present_rows(array, present)
        return int(np.count_nonzero(abs(kept).sum(axis=1)))
    return sum(
        int(np.count_nonzero(rows.any(axis=1) & has))
        for rows, has in _blocks(array, present)
    )
