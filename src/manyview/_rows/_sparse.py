"""Sparse views: a block is an array of row numbers, the entries stay where they are."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from scipy import sparse

from manyview._numerics import _distances as kernels
from manyview._numerics._gram import Points
from manyview._rows import _base
from manyview._rows._base import (
    PreparedCenters,
    PreparedPoints,
    RowIndex,
    Rows,
    mean_and_scatter,
    product_error,
    rounded_distances,
)
from manyview._scaling import ViewScale
from manyview._typing import BoolArray, FloatArray, IntArray


class SparseRows(Rows):
    """A CSR matrix.

    Only the stored values are copied (scaled); the pattern is shared with the input.
    The shift of a view that was dense in `fit` would fill the matrix. Distances do not
    change when rows and centres move together, so rows stay as they are, and centres
    are moved by `_offset` instead.

    n_samples : rows of the whole view, of which the matrix may be a part.
    """

    dtype = precision = np.dtype(np.float64)

    def __init__(
        self,
        matrix: sparse.csr_array,
        present: BoolArray,
        scale: ViewScale,
        *,
        n_samples: int,
    ) -> None:
        self.n_samples, self.n_features = matrix.shape
        self.present = present
        self._offset = scale.shift * scale.factor
        share = self.n_samples / n_samples
        large = matrix.nnz > share * _base.SMALL_VIEW
        dtype = matrix.dtype if large else np.dtype(np.float64)
        data = _scaled_entries(matrix, present, scale).astype(dtype, copy=False)
        # As kernels take them: stored values, their columns, row boundaries.
        self._entries = (data, matrix.indices, matrix.indptr)
        self._summarise()

    def buffer(self) -> None:
        return None

    def read(self, rows: RowIndex, buffer: None) -> IntArray:  # noqa: ARG002 - of Rows
        if isinstance(rows, slice):
            return np.arange(rows.start, rows.stop)
        return rows

    def prepare(
        self, centers: FloatArray, dtype: np.dtype[Any] | None = None
    ) -> PreparedCenters:
        if self._offset.any():
            centers = centers + self._offset
        return super().prepare(centers, dtype)

    def _expand(
        self,
        block: IntArray,
        rows: RowIndex,
        centers: PreparedCenters,
        out: FloatArray,
        out_rounding: FloatArray,
    ) -> None:
        products = np.empty((len(block), len(centers.values)))
        kernels.sparse_products(*self._entries, block, centers.columns, products)
        kernels.expand_distances(
            products,
            self.sq_norms[rows],
            centers.sq_norms,
            product_error(centers.columns.dtype, self.n_features),
            out,
            out_rounding,
        )

    def refine(
        self,
        block: IntArray,
        rows: RowIndex,
        positions: IntArray,
        centers: PreparedCenters,
        out: FloatArray,
        out_rounding: FloatArray,
    ) -> None:
        kernels.sparse_direct_distances(
            *self._entries,
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
        block: IntArray,
        rows: RowIndex,
        centers: PreparedCenters,
        labels: IntArray,
        out: FloatArray,
    ) -> None:
        always_direct = self.n_samples < _base.ALWAYS_DIRECT_BELOW
        kernels.sparse_losses(
            *self._entries,
            block,
            self.sq_norms[rows],
            centers.values,
            centers.sq_norms,
            labels,
            np.inf if always_direct else kernels.CANCELLED,
            out,
        )

    def add(
        self,
        block: IntArray,
        positions: IntArray,
        clusters: IntArray,
        weights: FloatArray,
        out_sums: FloatArray,
        out_masses: FloatArray,
    ) -> None:
        rows = block[positions]
        kernels.sparse_add_rows(*self._entries, rows, clusters, weights, out_sums)
        masses = np.bincount(
            clusters.ravel(), weights=weights.ravel(), minlength=len(out_sums)
        )
        out_masses += masses
        if self._offset.any():
            out_sums -= masses[:, None] * self._offset

    def scaled(self, rows: RowIndex) -> sparse.csr_array:
        return self._as_csr()[rows]

    def points(self, rows: RowIndex) -> Points:
        if self._offset.any():
            return self.dense_rows(self.read(rows, None))
        return self.scaled(rows).astype(np.float64)

    def dense_rows(self, rows: IntArray) -> FloatArray:
        filled = np.asarray(self.scaled(rows).toarray(), dtype=np.float64)
        filled -= self._offset
        filled[~self.present[rows]] = 0.0
        return filled

    def prepare_points(self, points: Points) -> PreparedPoints:
        if self._offset.any():
            points = np.asarray(points + self._offset)
        return super().prepare_points(points)

    def distances_to(
        self, block: IntArray, rows: RowIndex, points: PreparedPoints
    ) -> FloatArray:
        products = self.scaled(block) @ points.columns
        return rounded_distances(products, self.sq_norms[rows], points)

    def release(self) -> None:
        pass

    @property
    def nbytes(self) -> int:
        return self.sq_norms.nbytes + sum(array.nbytes for array in self._entries)

    def take(self, rows: IntArray) -> SparseRows:
        some, matrix = copy.copy(self), self.scaled(rows)
        some._entries = (matrix.data, matrix.indices, matrix.indptr)
        some.n_samples = len(rows)
        some.present = self.present[rows]
        some.shares = None if self.shares is None else self.shares[rows]
        some._summarise()
        return some

    def _as_csr(self) -> sparse.csr_array:
        """The scaled view as one matrix; its arrays are shared."""
        return sparse.csr_array(self._entries, shape=(self.n_samples, self.n_features))

    def _summarise(self) -> None:
        data, indices, indptr = self._entries
        self.sq_norms = _row_sums(data.astype(np.float64) ** 2, indptr)
        total: FloatArray = np.zeros(self.n_features)
        np.add.at(total, indices, data)
        mean, self.scatter = mean_and_scatter(
            total, float(self.sq_norms.sum()), int(self.present.sum())
        )
        self.mean = mean - self._offset


def _scaled_entries(
    matrix: sparse.csr_array, present: BoolArray, scale: ViewScale
) -> FloatArray:
    """Stored values after scaling, in double precision."""
    values = matrix.data.astype(np.float64)
    counts = np.diff(matrix.indptr)
    values[np.repeat(~present, counts)] = 0.0
    if scale.unit_rows:
        peak = np.zeros(len(counts))
        np.maximum.at(peak, np.repeat(np.arange(len(counts)), counts), np.abs(values))
        peak[peak == 0.0] = 1.0
        values /= np.repeat(peak, counts)
        lengths = np.sqrt(_row_sums(values**2, matrix.indptr)).clip(1.0)
        values /= np.repeat(lengths, counts)
    values *= scale.factor[matrix.indices]
    return values


def _row_sums(values: FloatArray, indptr: IntArray) -> FloatArray:
    sums = np.zeros(len(indptr) - 1)
    filled = np.flatnonzero(np.diff(indptr))
    if filled.size:
        sums[filled] = np.add.reduceat(values, indptr[filled])
    return sums
