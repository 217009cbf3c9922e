"""What solvers ask of one view, and the arithmetic that dense and sparse rows share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from manyview._arrays import ViewArray
from manyview._numerics import _distances as kernels
from manyview._numerics._gram import Points
from manyview._typing import BoolArray, FloatArray, IntArray

# Views up to this size are scaled once and kept.
KEEP_SCALED_BYTES = 32 << 20
# Views of up to this many values are worked on in double precision, so that their
# labels do not depend on their dtype. Larger ones would take three times their memory.
SMALL_VIEW = 1 << 21
# Below this many samples all distances are taken by differences: a single sample then
# weighs enough in the objective for most decisions to need exact distances anyway.
ALWAYS_DIRECT_BELOW = 256

# Squared lengths below this have no digits to round to.
SMALLEST_SQUARE = 1e-280

RowIndex: TypeAlias = "slice | IntArray"


@dataclass(frozen=True, kw_only=True, slots=True)
class PreparedCenters:
    """Centres of one view, converted once for use with many blocks.

    values : (n_clusters, n_features) float64; sq_norms : (n_clusters,), and the
    largest of these.
    columns : (n_features, n_clusters), in the precision of the view's products.
    """

    values: FloatArray
    sq_norms: FloatArray
    largest: float
    columns: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class PreparedPoints:
    """Points that rows of a view are compared with, converted once for many blocks.

    columns : (n_features, n_points), dense or sparse, in the precision of the products.
    sq_norms : (n_points,); grain : distances are rounded to multiples of it.
    """

    columns: Any
    sq_norms: FloatArray
    grain: float


class Rows(ABC):
    """One view, scaled on reading. A block has the form that its own view reads.

    present : (n_samples,) bool, samples that have the view.
    shares : (n_samples,), factors of the view's weight in fused distances, or None.
    sq_norms : (n_samples,), squared length of every scaled row, 0 where missing.
    mean : (n_features,), mean scaled row.
    scatter : summed squared distance of the scaled rows to their mean.
    precision : in which rows are scaled, and losses and sums taken.
    dtype : precision of the products of rows and centres, which may be lower.
    """

    n_samples: int
    n_features: int
    present: BoolArray
    shares: FloatArray | None = None
    sq_norms: FloatArray
    mean: FloatArray
    scatter: float
    precision: np.dtype[Any]
    dtype: np.dtype[Any]

    @abstractmethod
    def buffer(self) -> Any:
        """Working memory for blocks, of which one at a time may use it."""

    @abstractmethod
    def read(self, rows: RowIndex, buffer: Any) -> Any:
        """A block of rows, for the methods below; missing rows are zero."""

    def prepare(
        self, centers: FloatArray, dtype: np.dtype[Any] | None = None
    ) -> PreparedCenters:
        """Centres (n_clusters, n_features) for use with any block.

        dtype : of the products, `self.dtype` or `self.precision`; default the former.
        """
        columns = np.empty(centers.T.shape, dtype=dtype or self.dtype)
        sq_norms, largest = kernels.turn_centers(centers, columns)
        return PreparedCenters(
            values=centers, sq_norms=sq_norms, largest=largest, columns=columns
        )

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
        if self.n_samples < ALWAYS_DIRECT_BELOW:
            every = np.arange(n_rows(rows))
            self.refine(block, rows, every, centers, out, out_rounding)
            return True
        self._expand(block, rows, centers, out, out_rounding)
        return False

    @abstractmethod
    def _expand(
        self,
        block: Any,
        rows: RowIndex,
        centers: PreparedCenters,
        out: FloatArray,
        out_rounding: FloatArray,
    ) -> None:
        """`distances` from inner products, which may cancel."""

    @abstractmethod
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

    @abstractmethod
    def losses(
        self,
        block: Any,
        rows: RowIndex,
        centers: PreparedCenters,
        labels: IntArray,
        out: FloatArray,
    ) -> None:
        """Squared distance of every row to the centre of its cluster, Eq. (4)."""

    @abstractmethod
    def add(
        self,
        block: Any,
        positions: IntArray,
        clusters: IntArray,
        weights: FloatArray,
        out_sums: FloatArray,
        out_masses: FloatArray,
    ) -> None:
        """Add rows of the block, times their weights, to the sums of their clusters.

        The weights are added to `out_masses` (n_clusters,).

        clusters, weights : (n_times, n_positions), a row may be added to several
        clusters. The weight of a missing row is 0.
        """

    @abstractmethod
    def scaled(self, rows: RowIndex) -> ViewArray:
        """Some scaled rows as an array or CSR matrix, in the precision of the view."""

    @abstractmethod
    def points(self, rows: RowIndex) -> Points:
        """Some scaled rows in double precision: dense or CSR, as the view is."""

    def all_points(self) -> Points:
        """All scaled rows in double precision."""
        return self.points(slice(0, self.n_samples))

    @abstractmethod
    def dense_rows(self, rows: IntArray) -> FloatArray:
        """A few scaled rows as a new float64 array."""

    def prepare_points(self, points: Points) -> PreparedPoints:
        """Points of such a view, for `distances_to`."""
        return prepare_points(points, self.precision)

    @abstractmethod
    def distances_to(
        self, block: Any, rows: RowIndex, points: PreparedPoints
    ) -> FloatArray:
        """Squared distances (n_rows, n_points) of a block to points.

        Rounded, so that distances that differ by rounding only are equal.
        """

    @abstractmethod
    def release(self) -> None:
        """Free the pages of a memory map that were read."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Memory that the view takes up, the input included."""

    @abstractmethod
    def take(self, rows: IntArray) -> Rows:
        """Some samples as a view of their own, with the same scaling."""


def n_rows(rows: RowIndex) -> int:
    """Number of rows that an index selects."""
    return rows.stop - rows.start if isinstance(rows, slice) else len(rows)


def mean_and_scatter(
    total: FloatArray, energy: float, n_present: int
) -> tuple[FloatArray, float]:
    """Mean row, and summed squared distance to it.

    total : (n_features,), summed rows; energy : summed squared lengths of the rows.
    """
    mean = total / max(1, n_present)
    scatter = energy - n_present * float(mean @ mean)
    # What is left of a constant view after cancellation is rounding, not scatter.
    noise = kernels.SAME_POINT_EXPANDED * energy
    return mean, scatter if scatter > noise else 0.0


@cache
def product_error(dtype: np.dtype[Any], n_features: int) -> float:
    """Relative error of a distance expanded into products of this precision.

    Never less than that of a distance by differences, of up to twice the summed squared
    lengths: what is clear before refinement must be clear after it.
    """
    expanded = float(np.finfo(dtype).eps * (8 + np.sqrt(n_features)))
    return max(expanded, 2 * kernels.DIRECT_ERROR)


def prepare_points(points: Points, dtype: np.dtype[Any]) -> PreparedPoints:
    """Points for products of this precision."""
    sq_norms = np.asarray((points**2).sum(axis=1), dtype=np.float64)
    largest = float(sq_norms.max(initial=0.0))
    # Far coarser than the rounding: tied distances must not end up on two sides of a
    # boundary between grains, however they were rounded.
    error = 2.0**12 * product_error(dtype, points.shape[1])
    grain = 0.0
    if largest >= SMALLEST_SQUARE:
        grain = float(2.0 ** np.ceil(np.log2(largest * error)))
    columns = points.T.astype(dtype, copy=False)
    return PreparedPoints(columns=columns, sq_norms=sq_norms, grain=grain)


def distances_between(points: Points, dtype: np.dtype[Any]) -> FloatArray:
    """Squared distances (n_points, n_points), rounded as in `Rows.distances_to`."""
    prepared = prepare_points(points, dtype)
    # A product with itself takes half the time of one with a copy.
    products = prepared.columns.T @ prepared.columns
    return rounded_distances(products, prepared.sq_norms, prepared)


def rounded_distances(
    products: Any, sq_norms: FloatArray, points: PreparedPoints
) -> FloatArray:
    """``|x|^2 + |p|^2 - 2 x p``, to the digits that hold on every processor."""
    if not isinstance(products, np.ndarray):
        products = products.toarray()
    # In place where possible: these are the largest arrays of a graph.
    in_place = products.dtype == np.float64 and products.flags.c_contiguous
    distances = products if in_place else np.empty(products.shape)
    kernels.rounded_distances(
        products, sq_norms, points.sq_norms, points.grain, distances
    )
    return distances
