"""Scaling of views: learned from the data alone, applied while rows are read.

Every mode but ``None`` ends by dividing the view by its Frobenius norm, because NSMVC
compares squared distances across views (the exponents are ratios of thresholds).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.sparsefuncs import min_max_axis

from manyview._typing import BoolArray, FloatArray
from manyview._views import (
    SCAN_ELEMENTS,
    ViewArray,
    ViewSet,
    release_pages,
    row_blocks,
)
from manyview.exceptions import ViewError

SCALES = ("auto", "minmax", "zscore", "l2", "energy")

# Beyond this magnitude a squared distance is not a float64 any more.
LARGEST_UNSCALED = 1e150
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
    accurate, and is zero where it would fill a sparse view.

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


@dataclass(frozen=True, kw_only=True, slots=True)
class _Moments:
    """Per-feature statistics, free of overflow: offsets are in units of the range.

    mean, m2 : mean of ``(x - low) / span`` and its summed squared deviations.
    """

    n_rows: int
    low: FloatArray
    span: FloatArray
    mean: FloatArray
    m2: FloatArray
    zero_share: float

    @property
    def varies(self) -> BoolArray:
        return np.asarray(self.span > SMALLEST_RANGE)


def learn_scales(views: ViewSet, mode: str | None) -> tuple[ViewScale, ...]:
    """One `ViewScale` per view for the given mode."""
    return tuple(
        _learn_scale(array, present, name, mode)
        for array, present, name in zip(
            views.arrays, views.present, views.names, strict=True
        )
    )


def _learn_scale(
    array: ViewArray, present: BoolArray | None, name: str, mode: str | None
) -> ViewScale:
    moments = _moments(array, present)
    if mode == "auto":
        mode = _choose_mode(moments)
    _reject_too_large(moments, name, mode)
    is_sparse = sparse.issparse(array)
    unit_rows = mode == "l2"
    factor = _factor(moments, mode)
    if unit_rows:
        lengths = _nonzero_rows(array, present)
        factor = np.full(array.shape[1], 1.0 / np.sqrt(max(1, lengths)))
    centre = moments.low + moments.span * moments.mean
    shift = np.zeros_like(centre) if is_sparse or unit_rows else centre
    return ViewScale(mode=mode, shift=shift, factor=factor, unit_rows=unit_rows)


def _choose_mode(moments: _Moments) -> str:
    """Counts, words and links want unit-length rows; everything else min-max."""
    non_negative = bool(np.all(moments.low >= 0))
    return "l2" if non_negative and moments.zero_share > 0.5 else "minmax"


def _factor(moments: _Moments, mode: str | None) -> FloatArray:
    """Feature factors of every mode that does not look at row lengths."""
    varies = moments.varies
    if mode is None or mode == "l2":
        return np.ones_like(moments.span)
    span = np.where(varies, moments.span, 1.0)
    if mode == "minmax":
        energy = np.where(varies, moments.m2 + moments.n_rows * moments.mean**2, 0.0)
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


def _reject_too_large(moments: _Moments, name: str, mode: str | None) -> None:
    ends = np.concatenate([moments.low, moments.low + moments.span])
    largest = float(np.max(np.abs(ends), initial=0.0))
    if mode is None and largest > LARGEST_UNSCALED:
        msg = (
            f"View {name!r} has values up to {largest:.2g}, whose squares overflow, "
            "and scale=None forbids shrinking them. Use scale='minmax' or rescale it."
        )
        raise ViewError(msg)
    if largest > LARGEST:
        msg = (
            f"View {name!r} has values up to {largest:.2g}, whose differences "
            "overflow. Divide the view by a constant first."
        )
        raise ViewError(msg)


def _moments(array: ViewArray, present: BoolArray | None) -> _Moments:
    n_rows = array.shape[0] if present is None else int(present.sum())
    if n_rows == 0:
        zeros = np.zeros(array.shape[1])
        return _Moments(
            n_rows=0, low=zeros, span=zeros, mean=zeros, m2=zeros, zero_share=0.0
        )
    if sparse.issparse(array):
        return _sparse_moments(array if present is None else array[present])
    return _dense_moments(array, present, n_rows)


def _present_blocks(array: npt.NDArray[Any], present: BoolArray | None) -> Any:
    for block in row_blocks(array.shape[0], array.shape[1], SCAN_ELEMENTS):
        release_pages(array)
        rows = np.asarray(array[block])
        yield rows if present is None else rows[present[block]]


def _dense_moments(
    array: npt.NDArray[Any], present: BoolArray | None, n_rows: int
) -> _Moments:
    n_columns = array.shape[1]
    low = np.full(n_columns, np.inf)
    high = np.full(n_columns, -np.inf)
    n_zeros = 0
    for rows in _present_blocks(array, present):
        if len(rows):
            low = np.minimum(low, rows.min(axis=0))
            high = np.maximum(high, rows.max(axis=0))
            n_zeros += rows.size - int(np.count_nonzero(rows))
    span = _span(low, high)
    scale = _inverse(span)
    mean = np.zeros(n_columns)
    m2 = np.zeros(n_columns)
    seen = 0
    for rows in _present_blocks(array, present):
        if not len(rows):
            continue
        offsets = (rows.astype(np.float64, copy=False) - low) * scale
        # Chan's update: block moments merge without a second look at the data.
        block_mean = offsets.mean(axis=0)
        offsets -= block_mean
        seen_now = seen + len(rows)
        step = block_mean - mean
        mean += step * (len(rows) / seen_now)
        m2 += np.einsum("ij,ij->j", offsets, offsets)
        m2 += step**2 * (seen * len(rows) / seen_now)
        seen = seen_now
    zero_share = n_zeros / (n_rows * n_columns)
    return _Moments(
        n_rows=n_rows, low=low, span=span, mean=mean, m2=m2, zero_share=zero_share
    )


def _sparse_moments(matrix: sparse.csr_array) -> _Moments:
    n_rows, n_columns = matrix.shape
    low, high = (np.asarray(end, dtype=np.float64) for end in min_max_axis(matrix, 0))
    span = _span(low, high)
    scale = _inverse(span)
    stored = np.bincount(matrix.indices, minlength=n_columns)
    offsets = (matrix.data - low[matrix.indices]) * scale[matrix.indices]
    zero_offset = -low * scale
    n_zeros = n_rows - stored
    total = np.bincount(matrix.indices, weights=offsets, minlength=n_columns)
    mean = (total + n_zeros * zero_offset) / n_rows
    offsets -= mean[matrix.indices]
    stored_m2 = np.bincount(matrix.indices, weights=offsets**2, minlength=n_columns)
    m2 = np.asarray(stored_m2 + n_zeros * (zero_offset - mean) ** 2, dtype=np.float64)
    zero_share = 1.0 - np.count_nonzero(matrix.data) / (n_rows * n_columns)
    return _Moments(
        n_rows=n_rows, low=low, span=span, mean=mean, m2=m2, zero_share=zero_share
    )


def _span(low: FloatArray, high: FloatArray) -> FloatArray:
    # Halved before the difference: high - low alone overflows at +-1.7e308.
    half = np.minimum(high / 2 - low / 2, np.finfo(np.float64).max / 2)
    return np.asarray(2 * half)


def _inverse(span: FloatArray) -> FloatArray:
    usable = span > SMALLEST_RANGE
    return np.where(usable, 1.0 / np.where(usable, span, 1.0), 0.0)


def _nonzero_rows(array: ViewArray, present: BoolArray | None) -> int:
    if sparse.issparse(array):
        kept = array if present is None else array[present]
        return int(np.count_nonzero(abs(kept).sum(axis=1)))
    return sum(
        int(np.count_nonzero(rows.any(axis=1)))
        for rows in _present_blocks(array, present)
    )
