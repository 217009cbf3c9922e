"""Kernel matrices and what kernel k-means needs of them.

Points are (n_samples, n_features) arrays, dense float64 or CSR. A kernel is a dense
(n_samples, n_samples) float64 matrix, exactly symmetric; it is filled block by block,
so building one takes little more memory than keeping it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from manyview._numerics._distances import SAME_POINT_EXPANDED
from manyview._typing import FloatArray, IntArray

Points: TypeAlias = "FloatArray | sparse.csr_array"

# Rows of a kernel worked on together.
BLOCK_ROWS = 256


def squared_distances(points: Points) -> FloatArray:
    """Squared Euclidean distances of all pairs, with an exact zero for equal rows."""
    distances, sq_norms = _products(points)
    for rows in _blocks(len(sq_norms)):
        block = distances[rows]
        energy = sq_norms[rows, None] + sq_norms
        block *= -2.0
        block += energy
        # What cancellation leaves between equal rows is rounding, not distance.
        block[block <= SAME_POINT_EXPANDED * energy] = 0.0
    return distances


def median_bandwidth(distances: FloatArray) -> float:
    """Median of all n^2 Euclidean distances, zero diagonal included.

    distances : (n_samples, n_samples), squared. Where more than half of them are zero
    the mean of the positive ones takes over; 1 if there is none.
    """
    n_samples = len(distances)
    pairs = _upper_triangle(distances)
    # Sorted, the n^2 entries are n zeros and then every pair twice.
    n_entries = n_samples * n_samples
    places = np.array([(n_entries - 1) // 2, n_entries // 2])
    ranks = np.maximum(places - n_samples, 0) // 2
    if pairs.size:
        pairs.partition(np.unique(ranks))
        middle = np.where(places >= n_samples, np.sqrt(pairs[ranks]), 0.0)
        median = float(middle.mean())
        if median > 0.0:
            return median
        positive = pairs[pairs > 0.0]
        if positive.size:
            return float(np.sqrt(positive).mean())
    return 1.0


def gaussian_kernel(points: Points) -> FloatArray:
    """``exp(-||x - y||^2 / (2 sigma^2))`` with the median distance as sigma."""
    kernel = squared_distances(points)
    bandwidth = median_bandwidth(kernel)
    for rows in _blocks(len(kernel)):
        block = kernel[rows]
        # A far outlier may be infinitely many bandwidths away; its kernel is 0.
        with np.errstate(over="ignore"):
            block /= -2.0 * bandwidth * bandwidth
        np.exp(block, out=block)
    return kernel


def linear_kernel(points: Points) -> FloatArray:
    """Inner products of all pairs of rows."""
    return _products(points)[0]


def equalise_scatter(kernel: FloatArray) -> None:
    """Divide a kernel, in place, by its mean squared distance of distinct samples.

    The distance is that of feature space, ``K_aa + K_bb - 2 K_ab``. A kernel in which
    all samples coincide stays as it is.
    """
    n_samples = len(kernel)
    trace = float(np.trace(kernel))
    spread = 2.0 * (n_samples * trace - float(kernel.sum()))
    if spread > SAME_POINT_EXPANDED * n_samples * trace:
        kernel *= n_samples * (n_samples - 1) / spread


def cluster_sums(kernel: FloatArray, labels: IntArray, n_clusters: int) -> FloatArray:
    """(n_samples, n_clusters): summed kernel of each sample with each cluster."""
    members = np.zeros((len(labels), n_clusters))
    members[np.arange(len(labels)), labels] = 1.0
    return np.asarray(kernel @ members)


def center_distances(
    kernel: FloatArray, labels: IntArray, n_clusters: int
) -> tuple[FloatArray, float]:
    """Squared feature-space distances to the cluster means, and the scatter.

    Returns the distances, (n_samples, n_clusters), and the sum of those of the samples
    to their own clusters' means. No cluster may be empty.
    """
    sums = cluster_sums(kernel, labels, n_clusters)
    counts = np.bincount(labels, minlength=n_clusters)
    within = np.bincount(
        labels, weights=sums[np.arange(len(labels)), labels], minlength=n_clusters
    )
    diagonal = np.diagonal(kernel)
    distances = diagonal[:, None] - 2.0 * sums / counts + within / counts**2
    scatter = float(diagonal.sum() - (within / counts).sum())
    # Below this the difference of two large sums has no digits left.
    noise = SAME_POINT_EXPANDED * float(diagonal.sum())
    return np.maximum(distances, 0.0), scatter if scatter > noise else 0.0


def _products(points: Points) -> tuple[FloatArray, FloatArray]:
    """Inner products of all pairs of rows, and the squared row lengths."""
    n_samples = points.shape[0]
    products = np.empty((n_samples, n_samples))
    for rows in _blocks(n_samples):
        block, below = points[rows], points[rows.stop :]
        # The block with itself goes apart: such a product is symmetric to the last bit.
        products[rows, rows] = _dense(block @ block.T)
        products[rows, rows.stop :] = _dense(block @ below.T)
        products[rows.stop :, rows] = products[rows, rows.stop :].T
    return products, np.diagonal(products).copy()


def _dense(block: Any) -> FloatArray:
    return block if isinstance(block, np.ndarray) else np.asarray(block.toarray())


def _blocks(n_rows: int) -> Iterator[slice]:
    for start in range(0, n_rows, BLOCK_ROWS):
        yield slice(start, min(start + BLOCK_ROWS, n_rows))


def _upper_triangle(matrix: FloatArray) -> FloatArray:
    """Entries above the diagonal, in a row; no index arrays, which would be larger."""
    n_rows = len(matrix)
    entries = np.empty(n_rows * (n_rows - 1) // 2)
    filled = 0
    for i in range(n_rows - 1):
        width = n_rows - 1 - i
        entries[filled : filled + width] = matrix[i, i + 1 :]
        filled += width
    return entries
