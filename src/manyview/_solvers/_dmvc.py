"""DMVC: auto-weighted multi-view clustering by deep matrix decomposition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from manyview._numerics._factor import product, refit_layers
from manyview._results import OnIteration
from manyview._rows import Rows
from manyview._solvers._cluster_sums import cluster_sums
from manyview._solvers._history import History
from manyview._solvers._kmeans import solve_kmeans
from manyview._solvers._start import Start, start_kmeans_plusplus
from manyview._solvers._weighted import CentroidResult, CentroidRun
from manyview._typing import FloatArray, IntArray

# Lloyd iterations of the first layer. It only starts the method, and on large data
# the tail of small improvements costs more than all that follows.
START_ITER = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class LayeredStart:
    """Where one view begins.

    labels : (n_samples,), its own clusters, not matched with those of other views.
    layers : Z_1 ... Z_r, of shapes (n_features, p_1), ..., (p_{r-1}, n_clusters).
    """

    labels: IntArray
    layers: tuple[FloatArray, ...]


def solve_dmvc(
    views: tuple[Rows, ...],
    starts: tuple[LayeredStart, ...],
    *,
    max_iter: int,
    tol: float,
    on_iteration: OnIteration | None = None,
) -> CentroidResult:
    """Minimise ``sum_v sqrt(sum_i ||x_vi - Z_v1 ... Z_vr h_i||)`` from given starts.

    In the first round each view's layers are fitted to its own clusters, thereafter
    to the shared ones.
    """
    samples = CentroidRun(views, _joint_start(views, starts))
    layers = [start.layers for start in starts]
    sample_weights = np.ones(samples.losses.shape)
    history = History(on_iteration)
    for iteration in range(max_iter):
        centers = []
        known = np.where(samples.takes_part, sample_weights, 0.0)
        for v, before in enumerate(samples.centers):
            labels = starts[v].labels if iteration == 0 else samples.labels
            sums = cluster_sums((views[v],), labels, (known[v],), samples.n_clusters)
            masses = sums.masses[0]
            layers[v] = refit_layers(layers[v], sums.means((before,))[0], masses)
            fitted = product(layers[v]).T
            centers.append(np.where(masses[:, None] > 0.0, fitted, before))
        samples.centers = tuple(centers)
        n_moved = samples.assign(sample_weights)
        distances = samples.distances()
        totals = distances.sum(axis=1)
        view_weights = samples.root_weights(totals)
        sample_weights = 0.5 * view_weights[:, None] / samples.safe(distances)
        history.add(float(np.sqrt(totals).sum()), n_moved)
        if history.change < tol:
            break
    return samples.result(history, view_weights, converged=history.settled(tol))


def start_layers(
    view: Rows, widths: tuple[int, ...], random_state: np.random.RandomState
) -> LayeredStart:
    """Layer by layer: k-means on the rows, then balanced merges of their clusters.

    widths : clusters per layer; of hidden ones no more than there are samples.
    """
    width = min(widths[0], view.n_samples)
    seeded = start_kmeans_plusplus((view,), width, random_state)
    first = solve_kmeans((view,), seeded, max_iter=START_ITER)
    labels, layers = first.labels, [first.centers[0].T]
    counts: Any = np.bincount(labels, weights=view.present, minlength=width)
    for depth, width in enumerate(widths[1:], start=2):
        wanted = width if depth == len(widths) else min(width, len(counts))
        merged = _merge(counts, wanted, random_state)
        # Least squares for a one-hot indicator: columns are the members' shares.
        merged_counts = np.bincount(merged, weights=counts, minlength=wanted)
        shares = counts / np.maximum(merged_counts, 1.0)[merged]
        layer = np.zeros((len(counts), wanted))
        layer[np.arange(len(counts)), merged] = shares
        layers.append(layer)
        labels, counts = merged[labels], merged_counts
    return LayeredStart(labels=labels.astype(np.int32), layers=tuple(layers))


def _merge(
    counts: FloatArray, width: int, random_state: np.random.RandomState
) -> IntArray:
    """(n_rows,), `width` clusters of one-hot rows that stand for `counts` samples each.

    Distinct one-hot rows are all equally far apart, so k-means has nothing to go by:
    Lloyd's iterations on them let one cluster swallow most of the samples. Rows in
    random order join the cluster with the fewest samples instead.
    """
    merged = np.zeros(len(counts), dtype=np.int32)
    totals = np.zeros(width)
    for row in random_state.permutation(np.flatnonzero(counts)):
        merged[row] = totals.argmin()
        totals[merged[row]] += counts[row]
    return merged


def _joint_start(views: tuple[Rows, ...], starts: tuple[LayeredStart, ...]) -> Start:
    """Layers' own centres, and labels from the first view that a sample has."""
    labels = starts[-1].labels.copy()
    for view, start in zip(views[::-1], starts[::-1], strict=True):
        labels[view.present] = start.labels[view.present]
    return Start(
        centers=tuple(product(start.layers).T for start in starts), labels=labels
    )
