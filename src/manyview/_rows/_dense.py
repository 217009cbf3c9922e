"""Dense views: rows are scaled piece by piece, when products or losses need them."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from manyview._numerics import _distances as kernels
from manyview._numerics._moments import lengths_of_rows
from manyview._rows import _base
from manyview._rows._base import (
    PreparedCenters,
    PreparedPoints,
    RowIndex,
    Rows,
    mean_and_scatter,
    n_rows,
    product_error,
    rounded_distances,
)
from manyview._scaling import ViewScale
from manyview._typing import BoolArray, FloatArray, IntArray
from manyview._views import SCAN_ELEMENTS, release_pages, row_blocks

# Bytes of a memory map that may be resident before its pages are freed.
RELEASE_BYTES = 32 << 20
# What the kernel may map around a single row that is read: a huge page.
FAULT_AROUND_BYTES = 2 << 20
# Views of fewer values are multiplied in double precision: that is quick enough.
SMALLEST_ROUNDED = 1 << 16
# Larger copies for products are not kept.
KEEP_ROUNDED_BYTES = 64 << 20
# Largest squared lengths for which products of single precision neither overflow nor
# vanish.
FLOAT32_SQUARES = (1e-20, 1e20)


# Values that are scaled before they are used: they stay in the processor's cache.
PIECE_ELEMENTS = 1 << 16
NO_ROWS = np.empty(0, dtype=np.intp)
NOT_ROUNDED = np.empty((0, 0), dtype=np.float32)
# What kernels scale rows by: the raw array, which rows of it, and `present`, lengths,
# shift and factor of the view.
RawRows: TypeAlias = (
    "tuple[FloatArray, IntArray, BoolArray, FloatArray, FloatArray, FloatArray]"
)


@dataclass(frozen=True, slots=True)
class DenseBlock:
    """Some rows of a view, and working memory to scale a few of them in at a time."""

    rows: RowIndex
    buffer: FloatArray


class DenseRows(Rows):
    """A dense array, in memory or memory-mapped.

    Products of large views with centres are taken in single precision, which takes half
    the time. What that leaves in doubt is decided by `refine`, from rows in the
    precision of the view (`precision`), as are losses and sums.

    n_samples : rows of the whole view, of which the array may be a part.
    """

    # The raw array, or its scaled copy.
    _array: npt.NDArray[Any]
    _is_scaled = False
    # A scaled copy in single precision, for products, if it is not too large.
    _rounded: FloatArray | None = None
    # (n_samples,), where the scale gives rows unit length.
    _lengths: FloatArray | None = None

    def __init__(
        self,
        array: npt.NDArray[Any],
        present: BoolArray,
        scale: ViewScale,
        *,
        keep_scaled: bool,
        n_samples: int,
    ) -> None:
        self.n_samples, self.n_features = array.shape
        large = n_samples * self.n_features > _base.SMALL_VIEW
        single = array.dtype in (np.float32, np.float16) and scale.fits_float32
        self.precision = np.dtype(np.float32 if single and large else np.float64)
        self.present = present
        self._array = array
        self._scale = scale
        self._bytes_mapped = 0
        if scale.unit_rows:
            self._lengths = self._row_lengths()
        if keep_scaled and array.size * self.precision.itemsize <= (
            _base.KEEP_SCALED_BYTES
        ):
            self._array = self.scaled(slice(0, self.n_samples))
            self._is_scaled = True
        self.dtype = self.precision
        # For products in single precision, if the lengths of the rows allow them.
        rounded = n_samples * self.n_features > SMALLEST_ROUNDED
        keep_rounded = keep_scaled and 4 * array.size <= KEEP_ROUNDED_BYTES
        if rounded and keep_rounded and self.precision == np.float64:
            self._rounded = np.empty(array.shape, dtype=np.float32)
        self._summarise()
        low, high = FLOAT32_SQUARES
        if rounded and low < self.sq_norms.max(initial=0.0) < high:
            self.dtype = np.dtype(np.float32)
        else:
            self._rounded = None

    def buffer(self) -> FloatArray:
        n_rows = min(self.n_samples, max(1, PIECE_ELEMENTS // self.n_features))
        return np.empty(n_rows * self.n_features, dtype=self.precision)

    def read(self, rows: RowIndex, buffer: FloatArray) -> DenseBlock:
        return DenseBlock(rows, buffer)

    def _expand(
        self,
        block: DenseBlock,
        rows: RowIndex,
        centers: PreparedCenters,
        out: FloatArray,
        out_rounding: FloatArray,
    ) -> None:
        dtype = centers.columns.dtype
        error = product_error(dtype, self.n_features)
        measured = (centers.columns, self.sq_norms[rows], centers.sq_norms, error)
        buffer, kept = self._piece(block, dtype), self._kept(dtype)
        raw = None if kept is not None else self._raw(rows)
        if raw is not None:
            kernels.raw_distances(*raw, *measured, buffer, out, out_rounding)
            return
        if kept is not None and not isinstance(rows, slice):
            values, places = kept, rows
        else:
            values, places = self._scale_rows(rows, dtype), NO_ROWS
        kernels.dense_distances(values, places, *measured, buffer, out, out_rounding)

    def refine(
        self,
        block: DenseBlock,
        rows: RowIndex,
        positions: IntArray,
        centers: PreparedCenters,
        out: FloatArray,
        out_rounding: FloatArray,
    ) -> None:
        kernels.direct_distances(
            self.scaled(_positions(block.rows, positions)),
            positions,
            self.sq_norms[rows],
            centers.values,
            centers.sq_norms,
            out,
            out_rounding,
        )

    def losses(
        self,
        block: DenseBlock,
        rows: RowIndex,
        centers: PreparedCenters,
        labels: IntArray,
        out: FloatArray,
    ) -> None:
        measured = (self.sq_norms[rows], centers.values, centers.sq_norms, labels)
        raw = self._raw(block.rows)
        if raw is None:
            kernels.direct_losses(self.scaled(block.rows), *measured, out)
        else:
            buffer = self._piece(block, self.precision)
            kernels.raw_losses(*raw, *measured, buffer, out)

    def add(
        self,
        block: DenseBlock,
        positions: IntArray,
        clusters: IntArray,
        weights: FloatArray,
        out_sums: FloatArray,
        out_masses: FloatArray,
    ) -> None:
        rows, out = _positions(block.rows, positions), (out_sums, out_masses)
        raw = self._raw(rows)
        if raw is not None:
            buffer = self._piece(block, self.precision)
            kernels.add_raw_rows(*raw, clusters, weights, buffer, *out)
        elif self._is_scaled:
            kernels.add_rows(self._array, rows, clusters, weights, *out)
        else:
            values = self.scaled(rows)
            every = np.arange(len(values))
            kernels.add_rows(values, every, clusters, weights, *out)

    def scaled(self, rows: RowIndex) -> FloatArray:
        return self._scale_rows(rows, self.precision)

    def points(self, rows: RowIndex) -> FloatArray:
        return self.scaled(rows).astype(np.float64, copy=False)

    def dense_rows(self, rows: IntArray) -> FloatArray:
        return self.scaled(rows).astype(np.float64)

    def distances_to(
        self, block: DenseBlock, rows: RowIndex, points: PreparedPoints
    ) -> FloatArray:
        values, columns = self.scaled(block.rows), points.columns
        if isinstance(columns, np.ndarray):
            products = values @ columns
        else:
            products = (columns.T @ values.T).T
        return rounded_distances(products, self.sq_norms[rows], points)

    def release(self) -> None:
        self._bytes_mapped = 0
        if not self._is_scaled:
            release_pages(self._array)

    @property
    def _is_mapped(self) -> bool:
        return isinstance(self._array, np.memmap)

    @property
    def nbytes(self) -> int:
        held = [self.sq_norms, self._rounded, None if self._is_mapped else self._array]
        return sum(array.nbytes for array in held if array is not None)

    def take(self, rows: IntArray) -> DenseRows:
        some = copy.copy(self)
        some._array = np.empty((len(rows), self.n_features), dtype=self.precision)
        # Few rows of a memory map at a time: pages are freed in between.
        step = RELEASE_BYTES // FAULT_AROUND_BYTES if self._is_mapped else len(rows)
        for start in range(0, len(rows), max(1, step)):
            part = slice(start, start + step)
            some._array[part] = self.scaled(rows[part])
        some._is_scaled = True
        some._rounded, some.dtype = None, self.precision
        some.n_samples = len(rows)
        some.present = self.present[rows]
        some.shares = None if self.shares is None else self.shares[rows]
        some._summarise()
        return some

    def _piece(self, block: DenseBlock, dtype: np.dtype[Any]) -> FloatArray:
        """Working memory of a block, as rows that stay in the processor's cache."""
        size = len(block.buffer) // self.n_features
        memory = block.buffer.view(dtype)[: size * self.n_features]
        return memory.reshape(size, self.n_features)

    def _kept(self, dtype: np.dtype[Any]) -> FloatArray | None:
        """All rows, scaled, if they are kept in this precision."""
        if self._is_scaled and self._array.dtype == dtype:
            return self._array
        rounded = self._rounded
        return rounded if rounded is not None and rounded.dtype == dtype else None

    def _scale_rows(self, rows: RowIndex, dtype: np.dtype[Any]) -> FloatArray:
        """(n_rows, n_features), scaled rows; missing ones are zero.

        Where they are kept, a slice of rows is a part of them.
        """
        kept = self._kept(dtype)
        if kept is not None:
            return kept[rows]
        if self._is_scaled:
            return self._array[rows].astype(dtype)
        out = np.empty((n_rows(rows), self.n_features), dtype=dtype)
        raw = self._raw(rows)
        if raw is not None:
            kernels.scale_rows(*raw, out)
            return out
        self._note_read(rows)
        values = np.asarray(self._array[rows]).astype(np.float64)
        if self._lengths is None:
            values -= self._scale.shift
        else:
            values /= self._lengths[rows, None]
        np.multiply(values, self._scale.factor, out=out, casting="same_kind")
        out[~self.present[rows]] = 0.0
        return out

    def _raw(self, rows: RowIndex) -> RawRows | None:
        """Arguments of kernels that scale some rows; None if they cannot read them."""
        if self._is_scaled:
            return None
        array = np.asarray(self._array)
        if not array.flags.c_contiguous or array.dtype not in (np.float32, np.float64):
            return None
        self._note_read(rows)
        if isinstance(rows, slice):
            rows = np.arange(rows.start, rows.stop)
        lengths = np.empty(0) if self._lengths is None else self._lengths
        shift, factor = self._scale.shift, self._scale.factor
        return array, rows, self.present, lengths, shift, factor

    def _note_read(self, rows: RowIndex) -> None:
        """Free the pages of a memory map once many have been read."""
        self._bytes_mapped += _mapped_bytes(self._array, rows)
        if self._bytes_mapped > RELEASE_BYTES:
            self.release()

    def _row_lengths(self) -> FloatArray:
        """(n_samples,), Euclidean length of raw rows, 1 for a zero row.

        Safe for any magnitude.
        """
        lengths = np.ones(self.n_samples)
        for rows in row_blocks(self.n_samples, self.n_features, SCAN_ELEMENTS):
            raw = np.asarray(self._array[rows], dtype=np.float64)
            self.release()
            peak = np.abs(raw).max(axis=1)
            peak[peak == 0.0] = 1.0
            ratios = raw / peak[:, None]
            squares = np.einsum("ij,ij->i", ratios, ratios)
            lengths[rows] = peak * np.sqrt(squares).clip(1.0)
        return lengths

    def _summarise(self) -> None:
        sq_norms = np.empty(self.n_samples)
        total = np.zeros(self.n_features)
        for rows in row_blocks(self.n_samples, self.n_features, PIECE_ELEMENTS):
            values = self.scaled(rows)
            rounded = NOT_ROUNDED if self._rounded is None else self._rounded[rows]
            lengths_of_rows(values, sq_norms[rows], total, rounded)
        self.sq_norms = sq_norms
        self.mean, self.scatter = mean_and_scatter(
            total, float(sq_norms.sum()), int(self.present.sum())
        )


def _positions(rows: RowIndex, positions: IntArray) -> IntArray:
    """Rows of the view at some positions of a block."""
    return rows.start + positions if isinstance(rows, slice) else rows[positions]


def _mapped_bytes(array: npt.NDArray[Any], rows: RowIndex) -> int:
    """At most so many bytes of a memory map become resident by reading these rows."""
    row_bytes = int(array.shape[1]) * array.itemsize
    if isinstance(rows, slice) or not len(rows):
        return n_rows(rows) * row_bytes
    stretch = (int(rows[-1]) - int(rows[0]) + 1) * row_bytes
    return min(abs(stretch), len(rows) * (FAULT_AROUND_BYTES + row_bytes))
