"""Views as the solvers see them: scaled rows, read block by block.

The raw arrays are never copied as a whole (small ones excepted, where a scaled copy
is cheaper than scaling again in every iteration). `DenseRows` and `SparseRows` answer
the same questions, so a solver does not know which kind it holds.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from manyview._numerics import _distances as kernels
from manyview._numerics._gram import Points
from manyview._scaling import LARGEST_UNSCALED, ViewScale
from manyview._typing import BoolArray, FloatArray, IntArray
from manyview._views import SCAN_ELEMENTS, ViewSet, release_pages, row_blocks
from manyview.exceptions import ViewError

# Views up to this size are scaled once and kept.
KEEP_SCALED_BYTES = 32 << 20
# Bytes of a memory map that may be resident before its pages are let go.
RELEASE_BYTES = 32 << 20
# What the kernel may map around a single row that is read.
FAULT_AROUND_BYTES = 64 << 10
# Below this many samples all distances are taken by differences: a single sample then
# weighs enough in the objective for most decisions to need exact distances anyway.
ALWAYS_DIRECT_BELOW = 256

# Squared lengths below this have no digits to round to.
SMALLEST_SQUARE = 1e-280

RowIndex: TypeAlias = "slice | IntArray"


@dataclass(frozen=True, kw_only=True, slots=True)
class PreparedCenters:
    """Centres of one view, made ready once for many blocks.

    values : (n_clusters, n_features) float64; sq_norms : (n_clusters,).
    columns : (n_features, n_clusters), in the precision of the view's products.
    """

    values: FloatArray
    sq_norms: FloatArray
    columns: FloatArray


class Rows(Protocol):
    """One view, scaled on reading. What a block is, only the view itself knows.

    present : samples that have the view, None for all.
    sq_norms : (n_samples,), squared length of every scaled row, 0 where missing.
    mean : (n_features,), mean scaled row.
    scatter : summed squared distance of the scaled rows to their mean.
    """

    n_samples: int
    n_features: int
    present: BoolArray | None
    sq_norms: FloatArray
    mean: FloatArray
    scatter: float

    def buffer(self, n_rows: int) -> Any:
        """Working memory for reading blocks of up to `n_rows` rows."""

    def read(self, rows: RowIndex, buffer: Any) -> Any:
        """A block of scaled rows; missing rows are zero."""

    def prepare(self, centers: FloatArray) -> PreparedCenters:
        """Centres (n_clusters, n_features) for use with any block."""

    def distances(
        self,
        block: Any,
        rows: RowIndex,
        centers: PreparedCenters,
        out: FloatArray,
        out_rounding: FloatArray,
    ) -> bool:
        """Squared distances (n_rows, n_clusters) and a bound on each row's error.

        Returns whether they are as exact as `refine` would make them.
        """

    def refine(
        self,
        block: Any,
        rows: RowIndex,
        positions: IntArray,
        centers: PreparedCenters,
        out: FloatArray,
        out_rounding: FloatArray,
    ) -> None:
        """Replace the distances of some rows of the block by accurate ones."""

    def losses(
        self,
        block: Any,
        rows: RowIndex,
        centers: PreparedCenters,
        labels: IntArray,
        out: FloatArray,
    ) -> None:
        """Squared distance of every row to its own centre, Eq. (4)."""

    def add(
        self,
        block: Any,
        positions: IntArray,
        clusters: IntArray,
        sign: float,
        out_sums: FloatArray,
    ) -> None:
        """Add rows of the block to their clusters' sums (or take them away)."""

    def dense_rows(self, rows: IntArray) -> FloatArray:
        """A few scaled rows as a float64 array."""

    def points(self, rows: IntArray) -> Points:
        """Some scaled rows in double precision: dense or CSR, as the view is."""

    def distances_to(self, block: Any, rows: RowIndex, points: Points) -> FloatArray:
        """Squared distances (n_rows, n_points) of a block to points of such a view.

        Rounded, so that distances that rounding alone sets apart are equal.
        """

    def release(self) -> None:
        """Let go of what was read from a memory map."""

    @property
    def nbytes(self) -> int:
        """Memory that the view takes up, the input included."""

    def take(self, rows: IntArray) -> Rows:
        """Some samples as a view of their own, scaled as here."""


class DenseRows:
    """A dense view; a block is an array of scaled rows."""

    # The raw array, or None once a scaled copy takes its place.
    _array: npt.NDArray[Any] | None
    _scaled: FloatArray | None = None

    def __init__(
        self,
        array: npt.NDArray[Any],
        present: BoolArray | None,
        scale: ViewScale,
        *,
        keep_scaled: bool = True,
        n_samples: int | None = None,
    ) -> None:
        self.n_samples, self.n_features = array.shape
        # Judged by the whole view, of which this may be a part: small views are worked
        # on in double precision, so that their labels do not depend on their dtype.
        large = (n_samples or self.n_samples) * self.n_features > KEEP_SCALED_BYTES // 8
        single = array.dtype in (np.float32, np.float16) and scale.fits_float32
        self.dtype = np.dtype(np.float32 if single and large else np.float64)
        self.present = present
        self._array = array
        self._scale = scale
        self._shift = scale.shift.astype(self.dtype)
        self._factor = scale.factor.astype(self.dtype)
        self._bytes_mapped = 0
        if keep_scaled and array.size * self.dtype.itemsize <= KEEP_SCALED_BYTES:
            self._scaled = self.read(slice(0, self.n_samples), self.buffer(len(array)))
            self._array = None
        self.sq_norms, self.mean, self.scatter = self._summarise()
        self._relative_error = _product_error(self.dtype, self.n_features)

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
        if self.present is not None:
            block[~self.present[rows]] = 0.0
        return block

    def prepare(self, centers: FloatArray) -> PreparedCenters:
        return _prepare(centers, self.dtype)

    def distances(
        self,
        block: FloatArray,
        rows: RowIndex,
        centers: PreparedCenters,
        out: FloatArray,
        out_rounding: FloatArray,
    ) -> bool:
        if self.n_samples < ALWAYS_DIRECT_BELOW:
            self.refine(block, rows, np.arange(len(block)), centers, out, out_rounding)
            return True
        kernels.expand_distances(
            block @ centers.columns,
            self.sq_norms[rows],
            centers.sq_norms,
            self._relative_error,
            out,
            out_rounding,
        )
        return False

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
        sign: float,
        out_sums: FloatArray,
    ) -> None:
        kernels.add_rows(block, positions, clusters, sign, out_sums)

    def dense_rows(self, rows: IntArray) -> FloatArray:
        return self.read(rows, self.buffer(len(rows))).astype(np.float64)

    def points(self, rows: IntArray) -> FloatArray:
        return self.dense_rows(rows)

    def distances_to(
        self, block: FloatArray, rows: RowIndex, points: Points
    ) -> FloatArray:
        if isinstance(points, np.ndarray):
            products = block @ points.T.astype(self.dtype, copy=False)
        else:
            products = (points @ block.T).T
        return _rounded_distances(products, self.sq_norms[rows], points, self.dtype)

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
        some.present = None if self.present is None else self.present[rows]
        some.sq_norms, some.mean, some.scatter = some._summarise()
        return some

    def _summarise(self) -> tuple[FloatArray, FloatArray, float]:
        sq_norms = np.empty(self.n_samples)
        total = np.zeros(self.n_features)
        blocks = list(row_blocks(self.n_samples, self.n_features, SCAN_ELEMENTS))
        buffer = self.buffer(blocks[0].stop)
        for rows in blocks:
            block = self.read(rows, buffer)
            sq_norms[rows] = np.einsum("ij,ij->i", block, block, dtype=np.float64)
            total += block.sum(axis=0, dtype=np.float64)
        return sq_norms, *centred(total, float(sq_norms.sum()), n_present(self))


class SparseRows:
    """A sparse view; a block is its row ids, the entries stay where they are.

    Only the stored values are copied (scaled); the pattern is shared with the input.
    The shift of a view that was dense in `fit` would fill the matrix. Distances do not
    change when rows and centres move together, so rows stay where they are, and centres
    are moved by `_offset` to them.
    """

    def __init__(
        self,
        matrix: sparse.csr_array,
        present: BoolArray | None,
        scale: ViewScale,
        *,
        n_samples: int | None = None,
    ) -> None:
        self.n_samples, self.n_features = matrix.shape
        self.present = present
        self._offset = scale.shift * scale.factor
        share = self.n_samples / (n_samples or self.n_samples)
        large = matrix.nnz > share * KEEP_SCALED_BYTES // 8
        dtype = matrix.dtype if large else np.dtype(np.float64)
        data = _scaled_entries(matrix, present, scale).astype(dtype, copy=False)
        # As kernels take them: stored values, their columns, row boundaries.
        self.entries = (data, matrix.indices, matrix.indptr)
        self.sq_norms, self.mean, self.scatter = self._summarise()
        self._relative_error = _product_error(np.dtype(np.float64), self.n_features)

    def buffer(self, n_rows: int) -> None:  # noqa: ARG002 - the interface of Rows
        return None

    def read(self, rows: RowIndex, buffer: None) -> IntArray:  # noqa: ARG002
        if isinstance(rows, slice):
            return np.arange(rows.start, rows.stop)
        return rows

    def prepare(self, centers: FloatArray) -> PreparedCenters:
        return _prepare(centers + self._offset, np.dtype(np.float64))

    def distances(
        self,
        block: IntArray,
        rows: RowIndex,
        centers: PreparedCenters,
        out: FloatArray,
        out_rounding: FloatArray,
    ) -> bool:
        if self.n_samples < ALWAYS_DIRECT_BELOW:
            self.refine(block, rows, np.arange(len(block)), centers, out, out_rounding)
            return True
        products = np.empty((len(block), len(centers.values)))
        kernels.sparse_products(*self.entries, block, centers.columns, products)
        kernels.expand_distances(
            products,
            self.sq_norms[rows],
            centers.sq_norms,
            self._relative_error,
            out,
            out_rounding,
        )
        return False

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
            *self.entries,
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
        kernels.sparse_losses(
            *self.entries,
            block,
            self.sq_norms[rows],
            centers.values,
            centers.sq_norms,
            labels,
            np.inf if self.n_samples < ALWAYS_DIRECT_BELOW else kernels.CANCELLED,
            out,
        )

    def add(
        self,
        block: IntArray,
        positions: IntArray,
        clusters: IntArray,
        sign: float,
        out_sums: FloatArray,
    ) -> None:
        kernels.sparse_add_rows(
            *self.entries,
            block[positions],
            clusters,
            sign,
            out_sums,
        )
        if self._offset.any():
            ids = block[positions]
            here = slice(None) if self.present is None else self.present[ids]
            counts = np.bincount(clusters[here], minlength=len(out_sums))
            out_sums -= sign * counts[:, None] * self._offset

    def release(self) -> None:
        pass

    @property
    def nbytes(self) -> int:
        return self.sq_norms.nbytes + sum(array.nbytes for array in self.entries)

    def dense_rows(self, rows: IntArray) -> FloatArray:
        filled = np.asarray(self.as_csr()[rows].toarray(), dtype=np.float64)
        filled -= self._offset
        if self.present is not None:
            filled[~self.present[rows]] = 0.0
        return filled

    def points(self, rows: IntArray) -> Points:
        if self._offset.any():
            return self.dense_rows(rows)
        return sparse.csr_array(self.as_csr()[rows].astype(np.float64))

    def distances_to(
        self, block: IntArray, rows: RowIndex, points: Points
    ) -> FloatArray:
        if self._offset.any():
            points = np.asarray(points + self._offset)
        products = self.as_csr()[block] @ points.T
        if not isinstance(products, np.ndarray):
            products = products.toarray()
        dtype = np.dtype(np.float64)
        return _rounded_distances(products, self.sq_norms[rows], points, dtype)

    def take(self, rows: IntArray) -> SparseRows:
        some, matrix = copy.copy(self), self.as_csr()[rows]
        some.entries = (matrix.data, matrix.indices, matrix.indptr)
        some.n_samples = len(rows)
        some.present = None if self.present is None else self.present[rows]
        some.sq_norms, some.mean, some.scatter = some._summarise()
        return some

    def as_csr(self) -> sparse.csr_array:
        """The scaled view as one matrix; its arrays are shared."""
        return sparse.csr_array(self.entries, shape=(self.n_samples, self.n_features))

    def _summarise(self) -> tuple[FloatArray, FloatArray, float]:
        data, indices, indptr = self.entries
        sq_norms = _row_sums(data.astype(np.float64) ** 2, indptr)
        total: FloatArray = np.zeros(self.n_features)
        np.add.at(total, indices, data)
        mean, scatter = centred(total, float(sq_norms.sum()), n_present(self))
        return sq_norms, mean - self._offset, scatter


def open_views(
    views: ViewSet,
    scales: tuple[ViewScale, ...],
    *,
    keep_scaled: bool = True,
    n_samples: int | None = None,
) -> tuple[Rows, ...]:
    """Scaled row access to every view; small ones are scaled once, if allowed.

    Where the views are a part of something larger, `n_samples` is the size of that.
    """
    opened: list[Rows] = []
    for v, scale in enumerate(scales):
        array, present = views.arrays[v], views.present[v]
        rows: Rows
        # What overflows is reported with the view's name.
        with np.errstate(over="ignore", invalid="ignore"):
            if sparse.issparse(array):
                rows = SparseRows(array, present, scale, n_samples=n_samples)
            else:
                rows = DenseRows(
                    array, present, scale, keep_scaled=keep_scaled, n_samples=n_samples
                )
        _reject_overflow(rows, views.names[v])
        opened.append(rows)
    return tuple(opened)


def _reject_overflow(rows: Rows, name: str) -> None:
    """Values far beyond those that the scale was learned from have no distances."""
    overflows = ~(rows.sq_norms < LARGEST_UNSCALED**2)
    if overflows.any():
        msg = (
            f"View {name!r}, row {int(overflows.argmax())} has values so far from "
            "those of fit that squared distances overflow. Check its units, or mark "
            "the row as missing with NaN."
        )
        raise ViewError(msg)


def _prepare(centers: FloatArray, dtype: np.dtype[Any]) -> PreparedCenters:
    return PreparedCenters(
        values=centers,
        sq_norms=np.einsum("jf,jf->j", centers, centers),
        columns=np.ascontiguousarray(centers.T, dtype=dtype),
    )


def _product_error(dtype: np.dtype[Any], n_features: int) -> float:
    """Relative error of a distance expanded into products of this precision.

    Never less than that of a distance by differences, of up to twice the summed squared
    lengths: what is clear before refinement must be clear after it.
    """
    expanded = float(np.finfo(dtype).eps * (8 + np.sqrt(n_features)))
    return max(expanded, 2 * kernels.DIRECT_ERROR)


def _rounded_distances(
    products: FloatArray, sq_norms: FloatArray, points: Points, dtype: np.dtype[Any]
) -> FloatArray:
    """``|x|^2 + |p|^2 - 2 x p``, to the digits that hold on every processor."""
    point_norms = np.asarray((points**2).sum(axis=1), dtype=np.float64)
    largest = float(point_norms.max(initial=0.0))
    # Far coarser than the rounding: tied distances must not end up on two sides of a
    # boundary between grains, however they were rounded.
    error = 2.0**12 * _product_error(dtype, points.shape[1])
    grain = 0.0
    if largest >= SMALLEST_SQUARE:
        grain = float(2.0 ** np.ceil(np.log2(largest * error)))
    distances = np.empty(products.shape)
    kernels.rounded_distances(products, sq_norms, point_norms, grain, distances)
    return distances


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


def _scaled_entries(
    matrix: sparse.csr_array, present: BoolArray | None, scale: ViewScale
) -> FloatArray:
    """Stored values after scaling, in double precision."""
    values = matrix.data.astype(np.float64)
    counts = np.diff(matrix.indptr)
    if present is not None:
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


def centred(
    total: FloatArray, energy: float, n_present: int
) -> tuple[FloatArray, float]:
    """Mean row and scatter from the summed rows and the summed squared row lengths."""
    mean = total / max(1, n_present)
    scatter = energy - n_present * float(mean @ mean)
    # What is left of a constant view after cancellation is rounding, not scatter.
    noise = kernels.SAME_POINT_EXPANDED * energy
    return mean, scatter if scatter > noise else 0.0


def n_present(view: Rows) -> int:
    """How many samples have the view."""
    return view.n_samples if view.present is None else int(view.present.sum())
