"""Multi-view kernel k-means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyview._numerics._distances import SAME_POINT_EXPANDED
from manyview._numerics._gram import Kernel, center_distances, equalise_scatter
from manyview._numerics._soft import simplex_weights
from manyview._results import SAME_CRITERION, OnIteration, SolverResult
from manyview._rows import Rows
from manyview._solvers._history import History
from manyview._solvers._kernels import view_kernels
from manyview._solvers._spectral import varying_views
from manyview._typing import FloatArray, IntArray

# Weights below this are cut, as in the authors' code.
SMALLEST_WEIGHT = 1e-5
# A sample moves only for a gain above this share of the kernel's diagonal: less is
# rounding, and moving to and fro on it would never end.
SMALLEST_GAIN = 1e-12
# Candidates whose gain is estimated together.
CANDIDATES = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class ViewKernels:
    """Kernels of the views in which samples differ, of equal scatter.

    kept : their places among all `n_views`.
    anchors : samples that all are compared with, None for all pairs.
    """

    kernels: tuple[Kernel, ...]
    kept: tuple[int, ...]
    n_views: int
    anchors: IntArray | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class MVKKMResult(SolverResult):
    """One restart of MVKKM.

    view_weights : (n_views,), sum 1; 0 for a constant view.
    """

    view_weights: FloatArray

    @property
    def rounding(self) -> float:
        # Kernels have a mean squared distance of 1, so sums over samples that cancel
        # are about as large as the number of samples.
        return SAME_CRITERION * self.objective + SAME_POINT_EXPANDED * len(self.labels)


def equal_kernels(
    views: tuple[Rows, ...], kernel: str, anchors: IntArray | None = None
) -> ViewKernels:
    """One kernel per varying view, divided by its mean squared distance."""
    kept = varying_views(views)
    # All pairs: the weighted sum of the kernels, and one of them times its weight. A
    # sum of low-rank kernels is not formed.
    n_beside = 2 if anchors is None else 0
    kernels = view_kernels([views[v] for v in kept], kernel, anchors, n_beside=n_beside)
    return ViewKernels(
        kernels=tuple(equalise_scatter(matrix) for matrix in kernels),
        kept=tuple(kept),
        n_views=len(views),
        anchors=anchors,
    )


def solve_mvkkm(
    prepared: ViewKernels,
    labels: IntArray,
    n_clusters: int,
    *,
    power: float,
    max_iter: int,
    tol: float,
    on_iteration: OnIteration | None = None,
) -> MVKKMResult:
    """Alternate kernel k-means on the weighted kernels and weights of the views.

    labels : (n_samples,), where to start; every cluster has a member.
    """
    kernels = prepared.kernels
    weights = np.full(len(kernels), 1.0 / len(kernels))
    history = History(on_iteration)
    objective, converged = np.inf, False
    for stage in range(1, max_iter + 1):
        composite = combine(kernels, weights**power)
        labels, scatter = kernel_kmeans(
            composite, labels, n_clusters, tol=tol, history=history, stage=stage
        )
        before, objective = objective, scatter
        if objective == 0.0 or abs(before - objective) <= tol * before < np.inf:
            converged = True
            break
        view_scatters = [center_distances(k, labels, n_clusters)[1] for k in kernels]
        if stage < max_iter:
            weights = update_weights(np.array(view_scatters), power)
    view_weights = np.zeros(prepared.n_views)
    view_weights[list(prepared.kept)] = weights
    return MVKKMResult(
        labels=labels.astype(np.int32),
        **history.fields(converged=converged),
        view_weights=view_weights,
    )


def combine(kernels: Sequence[Any], factors: FloatArray) -> Any:
    """``sum_v factor_v K_v``, with one matrix of working memory."""
    composite = kernels[0] * factors[0]
    for factor, kernel in zip(factors[1:], kernels[1:], strict=True):
        if factor > 0.0:
            composite += kernel * factor
    return composite


def update_weights(view_scatters: FloatArray, power: float) -> FloatArray:
    """(n_views,), the weights that minimise ``sum_v w_v^p D_v`` on the simplex.

    Views that are fitted perfectly share the whole weight.
    """
    perfect = view_scatters == 0.0
    if perfect.any():
        return np.asarray(perfect / perfect.sum())
    if power == 1.0:
        return np.asarray(np.eye(len(view_scatters))[view_scatters.argmin()])
    weights = simplex_weights(view_scatters, power, ~perfect)
    weights[weights < SMALLEST_WEIGHT] = 0.0
    return np.asarray(weights / weights.sum())


def kernel_kmeans(
    kernel: Kernel,
    labels: IntArray,
    n_clusters: int,
    *,
    tol: float,
    history: History | None = None,
    stage: int = 1,
) -> tuple[IntArray, float]:
    """Batch kernel k-means from the given labels; no cluster ever empties.

    Returns labels and scatter. Iterations are added to `history` as those of `stage`.
    """
    distances, scatter = center_distances(kernel, labels, n_clusters)
    smallest_gain = _smallest_gain(kernel)
    while True:
        moved = reassign(distances, labels, smallest_gain)
        n_moved = int((moved != labels).sum())
        before, labels = scatter, moved
        if n_moved:
            distances, scatter = center_distances(kernel, labels, n_clusters)
        if history is not None:
            history.add(scatter, n_moved, stage=stage)
        if n_moved == 0 or before - scatter <= tol * before:
            return labels, scatter


def reassign(distances: FloatArray, labels: IntArray, smallest_gain: float) -> IntArray:
    """Nearest clusters, (n_samples,); ties stay, and so does a cluster's last member.

    A cluster about to lose all its members keeps the one that gains least by leaving.
    """
    samples = np.arange(len(labels))
    nearest = _first_smallest(distances, smallest_gain)
    gains = distances[samples, labels] - distances[samples, nearest]
    moved = np.where(gains > smallest_gain, nearest, labels)
    counts = np.bincount(moved, minlength=distances.shape[1])
    for cluster in np.flatnonzero(counts == 0):
        members = np.flatnonzero(labels == cluster)
        kept = _first_smallest(gains[None, members], smallest_gain)[0]
        moved[members[kept]] = cluster
    return moved


def _smallest_gain(kernel: Kernel) -> float:
    return SMALLEST_GAIN * float(np.abs(kernel.diagonal()).max())


def _first_smallest(values: FloatArray, rounding: float) -> IntArray:
    """(n_rows,), the first of the values of each row that rounding makes smallest."""
    lowest = values.min(axis=1, keepdims=True)
    return np.asarray((values <= lowest + rounding).argmax(axis=1))


def seed_distances(kernel: Kernel, seeds: IntArray) -> FloatArray:
    """(n_samples, n_seeds), squared feature-space distances to some samples."""
    diagonal = kernel.diagonal()
    similar = kernel.take(seeds, axis=1)
    return np.asarray(diagonal[:, None] - 2.0 * similar + diagonal[seeds])


def start_random(
    prepared: ViewKernels,
    n_clusters: int,
    power: float,
    random_state: np.random.RandomState,
) -> IntArray:
    """Random samples as seeds; every sample joins the nearest seed."""
    kernel = _uniform(prepared, power)
    seeds = random_state.choice(len(kernel), n_clusters, replace=False)
    labels = _first_smallest(seed_distances(kernel, seeds), _smallest_gain(kernel))
    # A seed with an earlier twin would lose its own cluster.
    labels[seeds] = np.arange(n_clusters)
    return labels


def start_global(
    prepared: ViewKernels, n_clusters: int, power: float, tol: float, *, fast: bool
) -> IntArray:
    """Global kernel k-means: clusters come one by one, each from the best seed.

    Every sample, or every anchor, is tried as the seed of the next cluster; with `fast`
    only the one with the largest guaranteed gain.
    """
    kernel = _uniform(prepared, power)
    labels: IntArray = np.zeros(len(kernel), dtype=np.intp)
    tried = np.arange(len(kernel)) if prepared.anchors is None else prepared.anchors
    rounding = SAME_POINT_EXPANDED * float(kernel.diagonal().sum())
    for n_found in range(1, n_clusters):
        counts = np.bincount(labels, minlength=n_found)
        # A sample alone in its cluster cannot leave it.
        candidates = tried[counts[labels[tried]] > 1]
        if fast:
            gains = _guaranteed_gains(kernel, labels, n_found, candidates)
            candidates = candidates[
                _first_smallest(-gains[None], SAME_CRITERION * gains.max())
            ]
        best, lowest = labels, np.inf
        for seed in candidates:
            trial = labels.copy()
            trial[seed] = n_found
            outcome, scatter = kernel_kmeans(kernel, trial, n_found + 1, tol=tol)
            if scatter < lowest - rounding:
                best, lowest = outcome, scatter
        labels = best
    return labels


def _guaranteed_gains(
    kernel: Kernel, labels: IntArray, n_clusters: int, candidates: IntArray
) -> FloatArray:
    """(n_candidates,): scatter saved at least by making each sample a new centre."""
    distances, _ = center_distances(kernel, labels, n_clusters)
    own = distances[np.arange(len(labels)), labels, None]
    gains = np.empty(len(candidates))
    for start in range(0, len(candidates), CANDIDATES):
        rows = slice(start, start + CANDIDATES)
        to_seeds = seed_distances(kernel, candidates[rows])
        gains[rows] = np.maximum(own - to_seeds, 0.0).sum(axis=0)
    return gains


def _uniform(prepared: ViewKernels, power: float) -> Any:
    n_kernels = len(prepared.kernels)
    return combine(prepared.kernels, np.full(n_kernels, (1.0 / n_kernels) ** power))
