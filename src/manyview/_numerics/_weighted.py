"""Weighted centroid and assignment kernels, and the closed-form view weights.

`distances` is (n_views, n_rows, n_clusters), `weights` (n_views, n_rows). As in
`_assign`, a decision that rounding could turn is never taken on an inexact row.
"""

from __future__ import annotations

import numpy as np

from manyview._numerics._assign import first_best
from manyview._numerics._jit import kernel
from manyview._typing import BoolArray, FloatArray, IntArray


@kernel()
def assign_weighted(
    distances: FloatArray,
    rounding: FloatArray,
    exact: BoolArray,
    weights: FloatArray,
    out_pending: BoolArray,
    out_labels: IntArray,
) -> int:
    """Give pending rows the cluster with the smallest weighted sum of distances.

    A tie keeps the current label, and so does a row whose weights are all zero.
    Clears `out_pending` (n_rows,) for every row it decides and returns how many are
    left for refinement.
    """
    n_views, n_rows, n_clusters = distances.shape
    change = np.empty(n_clusters)
    n_left = 0
    for i in range(n_rows):
        if not out_pending[i]:
            continue
        current = out_labels[i]
        change[:] = 0.0
        noise = 0.0
        for v in range(n_views):
            weight = weights[v, i]
            if weight == 0.0:
                continue
            own = distances[v, i, current]
            for j in range(n_clusters):
                change[j] += weight * (distances[v, i, j] - own)
            noise += 2.0 * weight * rounding[v, i]
        best = current
        for j in range(n_clusters):
            if change[j] < change[best]:
                best = j
        if not exact[i] and noise > 0.0:
            rival = np.inf
            for j in range(n_clusters):
                if j != best:
                    rival = min(rival, change[j])
            if not rival - change[best] > noise:
                n_left += 1
                continue
        out_pending[i] = False
        out_labels[i] = first_best(change, current, noise)
    return n_left


@kernel()
def add_weighted_rows(
    block: FloatArray,
    clusters: IntArray,
    weights: FloatArray,
    out_sums: FloatArray,
) -> None:
    """Add ``weights[i] * block[i]`` to the sum of cluster ``clusters[i]``."""
    for i in range(block.shape[0]):
        weight, j = weights[i], clusters[i]
        if weight == 0.0:
            continue
        for f in range(block.shape[1]):
            out_sums[j, f] += weight * block[i, f]


@kernel()
def sparse_add_weighted_rows(
    data: FloatArray,
    indices: IntArray,
    indptr: IntArray,
    rows: IntArray,
    clusters: IntArray,
    weights: FloatArray,
    out_sums: FloatArray,
) -> None:
    """The same for sparse rows; `clusters` and `weights` follow `rows`."""
    for r in range(rows.shape[0]):
        weight, j = weights[r], clusters[r]
        for p in range(indptr[rows[r]], indptr[rows[r] + 1]):
            out_sums[j, indices[p]] += weight * data[p]


def weighted_means(
    sums: FloatArray, masses: FloatArray, previous: FloatArray
) -> FloatArray:
    """Weighted sums (n_clusters, n_features) over their masses (n_clusters,).

    A cluster without mass keeps its previous centre, the only choice that can never
    raise an objective.
    """
    filled = masses > 0.0
    divisor = np.where(filled, masses, 1.0)[:, None]
    return np.where(filled[:, None], sums / divisor, previous)


def simplex_weights(
    view_losses: FloatArray, exponent: float, informative: BoolArray
) -> FloatArray:
    """Minimiser of ``sum_v a_v ** g * h_v`` on the simplex, for ``g > 1``.

    view_losses : (n_views,), positive where `informative`. Views that are not get no
    weight; if none is, all get the same.
    """
    if not informative.any():
        return np.full(len(view_losses), 1.0 / len(view_losses))
    # In logarithms: the power 1 / (1 - g) overflows for g close to 1.
    logs = np.log(view_losses, where=informative, out=np.zeros(len(view_losses)))
    logs /= 1.0 - exponent
    top = logs[informative].max()
    raised = np.where(informative, np.exp(np.minimum(logs - top, 0.0)), 0.0)
    return np.asarray(raised / raised.sum())


def root_weights(view_losses: FloatArray, informative: BoolArray) -> FloatArray:
    """Slope of ``sqrt(h_v)`` at the current losses: ``1 / (2 sqrt(h_v))``.

    view_losses : (n_views,), positive where `informative`; the others get no weight.
    """
    positive = np.where(informative, view_losses, 1.0)
    return np.where(informative, 0.5 / np.sqrt(positive), 0.0)
