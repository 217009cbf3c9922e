"""Cluster centres from running sums."""

from __future__ import annotations

import numpy as np

from manyview._typing import FloatArray, IntArray


def masked_means(
    sums: FloatArray, counts: IntArray, previous: FloatArray
) -> FloatArray:
    """Eq. (15): means of the selected members of each cluster.

    sums, previous : (n_clusters, n_features); counts : (n_clusters,).
    Eq. (15) is singular for a cluster without selected members; it keeps its previous
    centre, the only choice that can never raise the objective.
    """
    filled = counts > 0
    divisor = np.where(filled, counts, 1)[:, None]
    return np.where(filled[:, None], sums / divisor, previous)


def within_loss(energy: float, counts: IntArray, centers: FloatArray) -> float:
    """Loss around means without a pass over the data.

    ``sum_i ||x_i||^2 - sum_j n_j ||c_j||^2``, where `energy` is the first sum.
    """
    explained = counts @ np.einsum("jf,jf->j", centers, centers)
    return max(energy - float(explained), 0.0)
