"""Cluster centres from sums of rows."""

from __future__ import annotations

import numpy as np

from manyview._typing import FloatArray


def cluster_means(
    sums: FloatArray, masses: FloatArray, previous: FloatArray
) -> FloatArray:
    """Eq. (15): weighted means of the members of each cluster.

    sums, previous : (n_clusters, n_features); masses : (n_clusters,), summed weights.
    Eq. (15) is singular for a cluster without mass; it keeps its previous centre, the
    only choice that can never raise the objective.
    """
    filled = masses > 0.0
    divisor = np.where(filled, masses, 1.0)[:, None]
    return np.where(filled[:, None], sums / divisor, previous)


def within_loss(energy: float, masses: FloatArray, centers: FloatArray) -> float:
    """Weighted loss around the means, without a pass over the data.

    ``sum_i w_i ||x_i||^2 - sum_j m_j ||c_j||^2``, where `energy` is the first sum.
    """
    explained = masses @ np.einsum("jf,jf->j", centers, centers)
    return max(energy - float(explained), 0.0)
