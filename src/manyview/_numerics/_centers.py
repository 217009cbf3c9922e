"""Cluster centres from sums of rows."""

from __future__ import annotations

import numpy as np

from manyview._numerics._jit import kernel
from manyview._typing import FloatArray

# Sums over features may be reordered.
REORDER = {"reassoc", "contract"}


@kernel()
def cluster_means(
    sums: FloatArray, masses: FloatArray, previous: FloatArray
) -> FloatArray:
    """Eq. (15): weighted means of the members of each cluster.

    sums, previous : (n_clusters, n_features); masses : (n_clusters,), summed weights.
    Eq. (15) is singular for a cluster without mass; it keeps its previous centre, the
    only choice that can never raise the objective.
    """
    means = np.empty_like(sums)
    for j in range(sums.shape[0]):
        means[j] = sums[j] / masses[j] if masses[j] > 0.0 else previous[j]
    return means


@kernel(fastmath=REORDER)
def within_loss(energy: float, masses: FloatArray, centers: FloatArray) -> float:
    """Weighted loss around the means, without a pass over the data.

    ``sum_i w_i ||x_i||^2 - sum_j m_j ||c_j||^2``, where `energy` is the first sum.
    """
    explained = 0.0
    for j in range(centers.shape[0]):
        square = 0.0
        for f in range(centers.shape[1]):
            square += centers[j, f] * centers[j, f]
        explained += masses[j] * square
    return max(energy - explained, 0.0)


@kernel(fastmath=REORDER)
def squared_moves(
    centers: FloatArray, before: FloatArray, out_squares: FloatArray
) -> None:
    """How far every centre moved, squared, (n_clusters,)."""
    for j in range(centers.shape[0]):
        square = 0.0
        for f in range(centers.shape[1]):
            step = centers[j, f] - before[j, f]
            square += step * step
        out_squares[j] = square
