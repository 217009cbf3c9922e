"""Kernel matrices and what kernel k-means needs of them.

Points are (n_samples, n_features) arrays, dense float64 or CSR. A kernel is a dense
(n_samples, n_samples) float64 matrix, exactly symmetric, or of many samples a
`LowRankKernel`, whose memory grows with the number of samples and not with its square.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import linalg, sparse

from manyview._numerics._distances import SAME_POINT_EXPANDED
from manyview._typing import FloatArray, IntArray

Points: TypeAlias = "FloatArray | sparse.csr_array"

Kernel: TypeAlias = "FloatArray | LowRankKernel"

# Rows of a kernel worked on together.
BLOCK_ROWS = 256
# Eigenvalues of the anchors' kernel below this share of the largest are left out: their
# vectors are known to rounding divided by it, and results must not depend on rounding.
SMALLEST_EIGENVALUE = 1e-6


@dataclass(frozen=True, kw_only=True)
class LowRankKernel:
    """``sum_p weight_p F_p F_p'`` of factors (n_samples, rank_p), not formed.

    What solvers ask of a dense kernel has the same names here.
    """

    factors: tuple[FloatArray, ...]
    weights: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.factors[0])

    def __matmul__(self, block: FloatArray) -> FloatArray:
        total = np.zeros((len(self), *block.shape[1:]))
        for weight, factor in zip(self.weights, self.factors, strict=True):
            # Row by row through the factor: twice as fast as through its transpose.
            total += factor @ (weight * (block.T @ factor).T)
        return total

    def __mul__(self, scale: float) -> LowRankKernel:
        weights = tuple(float(scale) * weight for weight in self.weights)
        return LowRankKernel(factors=self.factors, weights=weights)

    def __add__(self, other: LowRankKernel) -> LowRankKernel:
        return LowRankKernel(
            factors=self.factors + other.factors, weights=self.weights + other.weights
        )

    def diagonal(self) -> FloatArray:
        return self._diagonal

    @cached_property
    def _diagonal(self) -> FloatArray:
        total = np.zeros(len(self))
        for weight, factor in zip(self.weights, self.factors, strict=True):
            total += weight * np.einsum("ir,ir->i", factor, factor)
        return total

    @cached_property
    def gram(self) -> FloatArray:
        """(rank, rank), ``F' F`` of a kernel of one factor."""
        (factor,) = self.factors
        return factor.T @ factor

    def take(self, samples: IntArray, axis: Literal[1]) -> FloatArray:
        """(n_samples, n_taken), columns of the kernel."""
        del axis
        total = np.zeros((len(self), len(samples)))
        for weight, factor in zip(self.weights, self.factors, strict=True):
            total += factor @ (weight * factor[samples].T)
        return total


def nystrom_turn(kernel: FloatArray) -> FloatArray:
    """(n_anchors, rank), from similarities to anchors to the factor of a kernel.

    Nystrom's approximation is ``C W^+ C'``, C the similarities to the anchors. W, those
    of the anchors, has to be inverted: with ``W = Q diag(e) Q'`` the factor is
    ``C Q diag(e)^-1/2``. If all samples are anchors the kernel is the dense one.

    C. Williams, M. Seeger. Using the Nystrom Method to Speed Up Kernel Machines.
    NIPS, 2000.
    """
    values, vectors = linalg.eigh(kernel)
    real = values > SMALLEST_EIGENVALUE * max(values[-1], 0.0)
    return np.asarray(vectors[:, real] / np.sqrt(values[real]))


def linear_kernel(points: Points) -> FloatArray:
    """Inner products of all pairs of rows."""
    n_samples = points.shape[0]
    products = np.empty((n_samples, n_samples))
    for rows in _blocks(n_samples):
        block, below = points[rows], points[rows.stop :]
        # The block with itself goes apart: such a product is symmetric to the last bit.
        products[rows, rows] = as_dense(block @ block.T)
        products[rows, rows.stop :] = as_dense(block @ below.T)
        products[rows.stop :, rows] = products[rows, rows.stop :].T
    return products


def squared_distances(points: Points) -> FloatArray:
    """Squared Euclidean distances of all pairs, with an exact zero for equal rows."""
    distances = linear_kernel(points)
    sq_norms = distances.diagonal().copy()
    for rows in _blocks(len(sq_norms)):
        _expand(distances[rows], sq_norms[rows], sq_norms)
    return distances


def _expand(block: FloatArray, sq_norms: FloatArray, other_norms: FloatArray) -> None:
    """From inner products of rows with others to squared distances, in place."""
    energy = sq_norms[:, None] + other_norms
    block *= -2.0
    block += energy
    # What cancellation leaves between equal rows is rounding, not distance.
    block[block <= SAME_POINT_EXPANDED * energy] = 0.0


def median_bandwidth(distances: FloatArray) -> float:
    """Median of all n^2 Euclidean distances, zero diagonal included.

    distances : (n_samples, n_samples), squared. Where more than half of them are zero
    the mean of the positive ones takes over; 1 if there is none.
    """
    places = [(distances.size - 1) // 2, distances.size // 2]
    middle = np.partition(distances, places, axis=None)[places]
    median = float(np.sqrt(middle).mean())
    if median > 0.0:
        return median
    positive = distances[distances > 0.0]
    return float(np.sqrt(positive).mean()) if positive.size else 1.0


def gaussian_kernel(points: Points) -> tuple[FloatArray, float]:
    """``exp(-||x - y||^2 / (2 sigma^2))``, and sigma: the median distance."""
    kernel = squared_distances(points)
    bandwidth = median_bandwidth(kernel)
    _gaussian(kernel, bandwidth)
    return kernel, bandwidth


def similarities(points: Points, others: Points, bandwidth: float | None) -> FloatArray:
    """(n_points, n_others), Gaussian, or inner products if bandwidth is None."""
    block = as_dense(points @ others.T)
    if bandwidth is not None:
        _expand(block, square_lengths(points), square_lengths(others))
        _gaussian(block, bandwidth)
    return block


def _gaussian(block: FloatArray, bandwidth: float) -> None:
    """From squared distances to a Gaussian kernel, in place."""
    # A far outlier may be infinitely many bandwidths away; its kernel is 0.
    with np.errstate(over="ignore"):
        block /= -2.0 * bandwidth * bandwidth
    np.exp(block, out=block)


def row_sums(kernel: Kernel) -> FloatArray:
    return np.asarray(kernel @ np.ones(len(kernel)))


def equalise_scatter(kernel: Kernel) -> Kernel:
    """Divide a kernel by its mean squared distance of distinct samples.

    The distance is that of feature space, ``K_aa + K_bb - 2 K_ab``. A kernel in which
    all samples coincide stays as it is. A dense kernel is overwritten.
    """
    n_samples = len(kernel)
    trace = float(kernel.diagonal().sum())
    spread = 2.0 * (n_samples * trace - float(row_sums(kernel).sum()))
    if spread > SAME_POINT_EXPANDED * n_samples * trace:
        kernel *= n_samples * (n_samples - 1) / spread
    return kernel


def center_distances(
    kernel: Kernel, labels: IntArray, n_clusters: int
) -> tuple[FloatArray, float]:
    """Squared feature-space distances to the cluster means, and the scatter.

    Returns the distances, (n_samples, n_clusters), and the sum of those of the samples
    to their own clusters' means. No cluster may be empty.
    """
    members = np.eye(n_clusters)[labels]
    # Summed kernel of each sample with each cluster, and of the clusters' own members.
    sums = kernel @ members
    counts, within = members.sum(axis=0), (members * sums).sum(axis=0)
    diagonal = kernel.diagonal()
    distances = diagonal[:, None] - 2.0 * sums / counts + within / counts**2
    scatter = float(diagonal.sum() - (within / counts).sum())
    # Below this the difference of two large sums has no digits left.
    noise = SAME_POINT_EXPANDED * float(diagonal.sum())
    return np.maximum(distances, 0.0), scatter if scatter > noise else 0.0


def square_lengths(points: Points) -> FloatArray:
    return np.asarray((points**2).sum(axis=1), dtype=np.float64)


def as_dense(block: Any) -> FloatArray:
    return block if isinstance(block, np.ndarray) else np.asarray(block.toarray())


def _blocks(n_rows: int) -> Iterator[slice]:
    for start in range(0, n_rows, BLOCK_ROWS):
        yield slice(start, min(start + BLOCK_ROWS, n_rows))
