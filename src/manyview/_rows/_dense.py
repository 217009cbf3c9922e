"""Dense views: a block is an array of scaled rows."""

from __future__ import annotations

import copy
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
    product_error,
    rounded_distances,
)
from manyview._scaling import ViewScale
from manyview._typing import BoolArray, FloatArray, IntArray
from manyview._views import SCAN_ELEMENTS, release_pages, row_blocks

# Bytes of a memory map that may be resident before its pages are freed.
RELEASE_BYTES = 32 << 20
# What the kernel may map around a single row that is read.
FAULT_AROUND_BYTES = 64 << 10


class DenseRows(Rows):
    """A dense array, in memory or memory-mapped.

    n_samples : rows of the whole view, of which the array may be a part.
    """

    # The raw array, or None once a scaled copy takes its place.
    _array: npt.NDArray[Any] | None
    _scaled: FloatArray | None = None

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
        self.dtype = np.dtype(np.float32 if single and large else np.float64)
        self.present = present
        self._array = array
        self._scale = scale
        self._shift = scale.shift.astype(self.dtype)
        self._factor = scale.factor.astype(self.dtype)
        self._relative_error = product_error(self.dtype, self.n_features)
        self._incomplete = not present.all()
        self._bytes_mapped = 0
        if keep_scaled and array.size * self.dtype.itemsize <= _base.KEEP_SCALED_BYTES:
            self._scaled = self.scaled(slice(0, self.n_samples))
            self._array = None
        self._summarise()

    def buffer(self, n_rows: int) -> FloatArray:
        return np.empty((n_rows, self.n_features), dtype=self.dtype)

    def read(self, rows: RowIndex, buffer: FloatArray) -> FloatArray:
        if self._scaled is not None:
            return self._scaled[rows]
        assert self._array is not None
        raw = self._array[rows]
        self._bytes_mapped += _mapped_bytes(raw, rows)
        if self._bytes_mapped > RELEASE_BYTES:
            self.release()
        block = buffer[: len(raw)]
        if self._scale.unit_rows:
            lengths = _row_lengths(raw)
            np.divide(raw, lengths[:, None], out=block, casting="unsafe")
        else:
            np.subtract(raw, self._shift, out=block, casting="unsafe")
        block *= self._factor
        if self._incomplete:
            block[~self.present[rows]] = 0.0
        return block

    def _products(self, block: FloatArray, centers: PreparedCenters) -> FloatArray:
        return block @ centers.columns

    def refine(
        self,
        block: FloatArray,
        rows: RowIndex,
        positions: IntArray,
        centers: PreparedCenters,
        out: FloatArray,
        out_rounding: FloatArray,
    ) -> None:
        kernels.direct_distances(
            block,
            positions,
            self.sq_norms[rows],
            centers.values,
            centers.sq_norms,
            out,
            out_rounding,
        )

    def losses(
        self,
        block: FloatArray,
        rows: RowIndex,
        centers: PreparedCenters,
        labels: IntArray,
        out: FloatArray,
    ) -> None:
        kernels.direct_losses(
            block, self.sq_norms[rows], centers.values, centers.sq_norms, labels, out
        )

    def add(
        self,
        block: FloatArray,
        positions: IntArray,
        clusters: IntArray,
        weights: FloatArray,
        out_sums: FloatArray,
    ) -> None:
        kernels.add_rows(block, positions, clusters, weights, out_sums)

    def scaled(self, rows: RowIndex) -> FloatArray:
        return self.read(rows, self.buffer(n_rows(rows)))

    def points(self, rows: RowIndex) -> FloatArray:
        return self.scaled(rows).astype(np.float64, copy=False)

    def dense_rows(self, rows: IntArray) -> FloatArray:
        return self.scaled(rows).astype(np.float64)

    def distances_to(
        self, block: FloatArray, rows: RowIndex, points: Points
    ) -> FloatArray:
        if isinstance(points, np.ndarray):
            products = block @ points.T.astype(self.dtype, copy=False)
        else:
            products = (points @ block.T).T
        return rounded_distances(products, self.sq_norms[rows], points, self.dtype)

    def release(self) -> None:
        self._bytes_mapped = 0
        if self._array is not None:
            release_pages(self._array)

    @property
    def nbytes(self) -> int:
        held: Any = self._array if self._scaled is None else self._scaled
        on_disk = isinstance(held, np.memmap)
        return self.sq_norms.nbytes + (0 if on_disk else int(held.nbytes))

    def take(self, rows: IntArray) -> DenseRows:
        some = copy.copy(self)
        some._scaled = self.buffer(len(rows))
        for part in row_blocks(len(rows), self.n_features, SCAN_ELEMENTS):
            some._scaled[part] = self.read(rows[part], some._scaled[part])
        some.n_samples = len(rows)
        some.present = self.present[rows]
        some._summarise()
        return some

    def _summarise(self) -> None:
        sq_norms = np.empty(self.n_samples)
        total = np.zeros(self.n_features)
        blocks = list(row_blocks(self.n_samples, self.n_features, SCAN_ELEMENTS))
        buffer = self.buffer(blocks[0].stop)
        for rows in blocks:
            block = self.read(rows, buffer)
            sq_norms[rows] = np.einsum("ij,ij->i", block, block, dtype=np.float64)
            total += block.sum(axis=0, dtype=np.float64)
        self.sq_norms = sq_norms
        self.mean, self.scatter = mean_and_scatter(
            total, float(sq_norms.sum()), int(self.present.sum())
        )


def _mapped_bytes(raw: npt.NDArray[Any], rows: RowIndex) -> int:
    """At most so many bytes of a memory map become resident by reading these rows."""
    if isinstance(rows, slice) or not len(rows):
        return raw.nbytes
    row_bytes = raw.nbytes // len(rows)
    stretch = (int(rows[-1]) - int(rows[0]) + 1) * row_bytes
    return min(abs(stretch), len(rows) * (FAULT_AROUND_BYTES + row_bytes))


def _row_lengths(raw: npt.NDArray[Any]) -> FloatArray:
    """Euclidean length of raw rows, 1 for a zero row; safe for any magnitude."""
    rows = raw.astype(np.float64, copy=False)
    peak = np.abs(rows).max(axis=1)
    peak[peak == 0.0] = 1.0
    ratios = rows / peak[:, None]
    return np.asarray(peak * np.sqrt(np.einsum("ij,ij->i", ratios, ratios)).clip(1.0))
