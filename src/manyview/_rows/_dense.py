"""Dense views: rows are scaled block by block, when products or losses need them."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from manyview._numerics import _distances as kernels
from manyview._numerics._gram import Points
from manyview._rows import _base
from manyview._rows._base import (
    PreparedCenters,
    RowIndex,
    Rows,
    mean_and_scatter,
    n_rows,
    rounded_distances,
)
from manyview._scaling import ViewScale
from manyview._typing import BoolArray, FloatArray, IntArray
from manyview._views import SCAN_ELEMENTS, release_pages, row_blocks

# Bytes of a memory map that may be resident before its pages are freed.
RELEASE_BYTES = 32 << 20
# What the kernel may map around a single row that is read.
FAULT_AROUND_BYTES = 64 << 10
# Larger copies for products are not kept.
KEEP_ROUNDED_BYTES = 64 << 20
# Largest squared lengths for which products of single precision neither overflow nor
# vanish.
FLOAT32_SQUARES = (1e-20, 1e20)


@dataclass(slots=True)
class DenseBlock:
    """Some rows of a view, scaled when they are first needed.

    buffer : working memory; values : what it holds, None before.
    """

    rows: RowIndex
    buffer: FloatArray
    values: FloatArray | None = None


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
        # Small views are worked on in double precision, so that their labels do not
        # depend on their dtype.
        large = n_samples * self.n_features > _base.KEEP_SCALED_BYTES // 8
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
        self._summarise()
        self.dtype = self.precision
        low, high = FLOAT32_SQUARES
        if large and low < self.sq_norms.max(initial=0.0) < high:
            self.dtype = np.dtype(np.float32)
        if (
            self.dtype != self.precision
            and keep_scaled
            and (array.size * self.dtype.itemsize <= KEEP_ROUNDED_BYTES)
        ):
            rounded = np.empty(array.shape, dtype=self.dtype)
            self._rounded = self._scale_rows(slice(0, self.n_samples), rounded)

    def buffer(self, n_rows: int) -> FloatArray:
        return np.empty(n_rows * self.n_features, dtype=self.precision)

    def read(self, rows: RowIndex, buffer: FloatArray) -> DenseBlock:
        return DenseBlock(rows, buffer)

    def _products(self, block: DenseBlock, centers: PreparedCenters) -> FloatArray:
        return self._values(block, centers.columns.dtype) @ centers.columns

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
            self._some_values(block, positions),
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
        kernels.direct_losses(
            self._values(block, self.precision),
            self.sq_norms[rows],
            centers.values,
            centers.sq_norms,
            labels,
            out,
        )

    def add(
        self,
        block: DenseBlock,
        positions: IntArray,
        clusters: IntArray,
        weights: FloatArray,
        out_sums: FloatArray,
    ) -> None:
        points = self._some_values(block, positions)
        kernels.add_rows(points, clusters, weights, out_sums)

    def scaled(self, rows: RowIndex) -> FloatArray:
        return self._values(self.read(rows, self.buffer(n_rows(rows))), self.precision)

    def points(self, rows: RowIndex) -> FloatArray:
        return self.scaled(rows).astype(np.float64, copy=False)

    def dense_rows(self, rows: IntArray) -> FloatArray:
        return self.scaled(rows).astype(np.float64)

    def distances_to(
        self, block: DenseBlock, rows: RowIndex, points: Points
    ) -> FloatArray:
        values = self._values(block, self.precision)
        if isinstance(points, np.ndarray):
            products = values @ points.T.astype(self.precision, copy=False)
        else:
            products = (points @ values.T).T
        return rounded_distances(products, self.sq_norms[rows], points, self.precision)

    def release(self) -> None:
        self._bytes_mapped = 0
        if not self._is_scaled:
            release_pages(self._array)

    @property
    def nbytes(self) -> int:
        on_disk = isinstance(self._array, np.memmap)
        held = [self.sq_norms, self._rounded, None if on_disk else self._array]
        return sum(array.nbytes for array in held if array is not None)

    def take(self, rows: IntArray) -> DenseRows:
        some = copy.copy(self)
        some._array = np.empty((len(rows), self.n_features), dtype=self.precision)
        for part in row_blocks(len(rows), self.n_features, SCAN_ELEMENTS):
            some._array[part] = self.scaled(rows[part])
        some._is_scaled = True
        some._rounded = None
        some.n_samples = len(rows)
        some.present = self.present[rows]
        some._summarise()
        return some

    def _values(self, block: DenseBlock, dtype: np.dtype[Any]) -> FloatArray:
        """(n_rows, n_features), scaled rows of a block; missing rows are zero."""
        if block.values is None or block.values.dtype != dtype:
            shape = (n_rows(block.rows), self.n_features)
            out = block.buffer.view(dtype)[: shape[0] * shape[1]].reshape(shape)
            block.values = self._scale_rows(block.rows, out)
        return block.values

    def _some_values(self, block: DenseBlock, positions: IntArray) -> FloatArray:
        """(n_positions, n_features), in the precision of the view."""
        if block.values is not None and block.values.dtype == self.precision:
            return np.asarray(block.values[positions])
        rows = block.rows
        wanted = rows.start + positions if isinstance(rows, slice) else rows[positions]
        return self.scaled(wanted)

    def _scale_rows(self, rows: RowIndex, out: FloatArray) -> FloatArray:
        """Scaled rows: a part of the scaled copy, or `out`, filled with them."""
        if self._rounded is not None and out.dtype == self._rounded.dtype:
            return self._rounded[rows]
        if self._is_scaled:
            return self._array[rows].astype(out.dtype, copy=False)
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
        blocks = list(row_blocks(self.n_samples, self.n_features, SCAN_ELEMENTS))
        buffer = self.buffer(blocks[0].stop)
        for rows in blocks:
            block = self._values(self.read(rows, buffer), self.precision)
            sq_norms[rows] = np.einsum("ij,ij->i", block, block, dtype=np.float64)
            total += block.sum(axis=0, dtype=np.float64)
        self.sq_norms = sq_norms
        self.mean, self.scatter = mean_and_scatter(
            total, float(sq_norms.sum()), int(self.present.sum())
        )


def _mapped_bytes(array: npt.NDArray[Any], rows: RowIndex) -> int:
    """At most so many bytes of a memory map become resident by reading these rows."""
    row_bytes = int(array.shape[1]) * array.itemsize
    if isinstance(rows, slice) or not len(rows):
        return n_rows(rows) * row_bytes
    stretch = (int(rows[-1]) - int(rows[0]) + 1) * row_bytes
    return min(abs(stretch), len(rows) * (FAULT_AROUND_BYTES + row_bytes))
