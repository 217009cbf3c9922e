"""Dense views: rows are scaled piece by piece, when products or losses need them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

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
SMALLEST_ROUNDED = 1 << 20
# Larger copies for products are not kept.
KEEP_ROUNDED_BYTES = 64 << 20
# Largest squared lengths for which products of single precision neither overflow nor
# vanish.
FLOAT32_SQUARES = (1e-20, 1e20)


# Values that are scaled before they are used: they stay in the processor's cache.
PIECE_ELEMENTS = 1 << 16
NO_ROWS = np.empty(0, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class DenseBlock:
    """Some rows of a view, and working memory to scale them in."""

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

    def buffer(self, n_rows: int) -> FloatArray:
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
        sq_norms, kept = self.sq_norms[rows], self._kept(dtype)
        if kept is not None and not isinstance(rows, slice):
            kernels.dense_distances(
                kept,
                rows,
                centers.columns,
                sq_norms,
                centers.sq_norms,
                error,
                self._room(block, self._piece_size(len(rows)), dtype),
                out,
                out_rounding,
            )
            return
        for part, values in self._pieces(block, dtype):
            kernels.dense_distances(
                values,
                NO_ROWS,
                centers.columns,
                sq_norms[part],
                centers.sq_norms,
                error,
                values,
                out[part],
                out_rounding[part],
            )

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
        sq_norms = self.sq_norms[rows]
        for part, values in self._pieces(block, self.precision):
            kernels.direct_losses(
                values,
                sq_norms[part],
                centers.values,
                centers.sq_norms,
                labels[part],
                out[part],
            )

    def add(
        self,
        block: DenseBlock,
        positions: IntArray,
        clusters: IntArray,
        weights: FloatArray,
        out_sums: FloatArray,
    ) -> None:
        rows, kept = _positions(block.rows, positions), self._kept(self.precision)
        if kept is not None:
            kernels.add_rows(kept, rows, clusters, weights, out_sums)
            return
        some = DenseBlock(rows, block.buffer)
        for part, values in self._pieces(some, self.precision):
            every = np.arange(len(values))
            kernels.add_rows(
                values, every, clusters[:, part], weights[:, part], out_sums
            )

    def scaled(self, rows: RowIndex) -> FloatArray:
        return self._values(DenseBlock(rows, self.buffer(n_rows(rows))))

    def points(self, rows: RowIndex) -> FloatArray:
        return self.scaled(rows).astype(np.float64, copy=False)

    def dense_rows(self, rows: IntArray) -> FloatArray:
        return self.scaled(rows).astype(np.float64)

    def distances_to(
        self, block: DenseBlock, rows: RowIndex, points: PreparedPoints
    ) -> FloatArray:
        values, columns = self._values(block), points.columns
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

    def _values(self, block: DenseBlock) -> FloatArray:
        """(n_rows, n_features), all scaled rows of a block; missing rows are zero."""
        return self._scale_rows(block.rows, self._room(block, n_rows(block.rows)))

    def _pieces(
        self, block: DenseBlock, dtype: np.dtype[Any]
    ) -> Iterator[tuple[slice, FloatArray]]:
        """The same, some rows at a time: which of the block, and their values."""
        rows, size = block.rows, n_rows(block.rows)
        kept = self._kept(dtype)
        if kept is not None and isinstance(rows, slice):
            yield slice(0, size), kept[rows]
            return
        step = self._piece_size(size)
        for start in range(0, size, step):
            part = slice(start, min(start + step, size))
            room = self._room(block, part.stop - part.start, dtype)
            if isinstance(rows, slice):
                some = slice(rows.start + part.start, rows.start + part.stop)
                yield part, self._scale_rows(some, room)
            else:
                yield part, self._scale_rows(rows[part], room)

    def _room(
        self, block: DenseBlock, size: int, dtype: np.dtype[Any] | None = None
    ) -> FloatArray:
        """Memory of a block for so many rows."""
        memory = block.buffer.view(dtype or self.precision)
        return memory[: size * self.n_features].reshape(size, self.n_features)

    def _piece_size(self, n_rows: int) -> int:
        return min(n_rows, max(1, PIECE_ELEMENTS // self.n_features))

    def _kept(self, dtype: np.dtype[Any]) -> FloatArray | None:
        """All rows, scaled, if they are kept in this precision."""
        if self._is_scaled and self._array.dtype == dtype:
            return self._array
        rounded = self._rounded
        return rounded if rounded is not None and rounded.dtype == dtype else None

    def _scale_rows(self, rows: RowIndex, out: FloatArray) -> FloatArray:
        """Scaled rows: a part of the scaled copy, or `out`, filled with them."""
        kept = self._kept(out.dtype)
        if kept is not None:
            if isinstance(rows, slice):
                return kept[rows]
            # Modes other than "raise" write without a further copy.
            kept.take(rows, axis=0, out=out, mode="clip")
            return out
        if self._is_scaled:
            return self._array[rows].astype(out.dtype)
        self._bytes_mapped += _mapped_bytes(self._array, rows)
        if self._bytes_mapped > RELEASE_BYTES:
            self.release()
        array = np.asarray(self._array)
        lengths = np.empty(0) if self._lengths is None else self._lengths
        shift, factor = self._scale.shift, self._scale.factor
        if array.flags.c_contiguous and array.dtype in (np.float32, np.float64):
            every = (
                np.arange(*rows.indices(len(array)))
                if isinstance(rows, slice)
                else rows
            )
            kernels.scale_rows(array, every, self.present, lengths, shift, factor, out)
            return out
        raw = array[rows].astype(np.float64)
        raw = raw / lengths[rows, None] if len(lengths) else raw - shift
        np.multiply(raw, factor, out=out, casting="same_kind")
        out[~self.present[rows]] = 0.0
        return out

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
        blocks = list(row_blocks(self.n_samples, self.n_features, PIECE_ELEMENTS))
        buffer = self.buffer(blocks[0].stop)
        for rows in blocks:
            values = self._values(DenseBlock(rows, buffer))
            lengths_of_rows(values, sq_norms[rows], total)
            if self._rounded is not None:
                self._rounded[rows] = values
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
