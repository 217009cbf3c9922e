"""K-means on few, complete, whole-numbered features."""

from __future__ import annotations

import numpy as np

from manyview._numerics._assign import smallest
from manyview._numerics._jit import kernel
from manyview._typing import FloatArray, IntArray

# Products of points and centres that are held at once.
PIECE_PRODUCTS = 1 << 14


@kernel()
def assign_points(
    points: FloatArray,
    centers: FloatArray,
    out_labels: IntArray,
    out_sums: FloatArray,
    out_counts: FloatArray,
) -> tuple[int, float]:
    """Nearest centre of every point, the first one among equals.

    points : (n_samples, n_features), centers : (n_clusters, n_features), whole numbers.
    Fills labels (n_samples,), and the sums and sizes of the clusters. Returns how many
    labels changed, and the summed squared distances to the centres, less the squared
    lengths of the points.
    """
    n_samples, n_features = points.shape
    n_clusters = centers.shape[0]
    columns = np.ascontiguousarray(-2.0 * centers.T)
    lengths = np.zeros(n_clusters)
    for j in range(n_clusters):
        lengths[j] = np.sum(centers[j] ** 2)
    out_sums[:] = 0.0
    out_counts[:] = 0.0
    n_moved, loss = 0, 0.0
    size = max(1, PIECE_PRODUCTS // n_clusters)
    for start in range(0, n_samples, size):
        piece = points[start : start + size]
        products = np.dot(piece, columns)
        for r in range(piece.shape[0]):
            i, nearest, scores = start + r, 0, products[r]
            for j in range(n_clusters):
                scores[j] += lengths[j]
            # No branch depends on the scores: the processor would guess half of them
            # wrong.
            least = smallest(scores)
            for j in range(n_clusters - 1, -1, -1):
                nearest = j if scores[j] <= least else nearest
            n_moved += nearest != out_labels[i]
            out_labels[i] = nearest
            out_counts[nearest] += 1.0
            loss += least
            for f in range(n_features):
                out_sums[nearest, f] += piece[r, f]
    return n_moved, loss
