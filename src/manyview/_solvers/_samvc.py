"""SAMVC: self-paced, auto-weighted multi-view k-means."""

from __future__ import annotations

from functools import partial

import numpy as np

from manyview._numerics._soft import hard_weights, mixture_weights, rank_threshold
from manyview._results import OnIteration
from manyview._rows import Rows
from manyview._solvers._history import History
from manyview._solvers._start import Start
from manyview._solvers._weighted import CentroidResult, CentroidRun

# The last threshold lies this much above the largest distance, so that the farthest
# sample takes part a little instead of not at all.
ABOVE_LARGEST = 1.0 + 1e-6


def solve_samvc(
    views: tuple[Rows, ...],
    start: Start,
    *,
    pace_start: float,
    n_paces: int,
    max_iter: int,
    pacing: str,
    on_iteration: OnIteration | None = None,
) -> CentroidResult:
    """Minimise ``sum_v sqrt(sum_i t_vi e_vi)`` while more and more samples count.

    Convergence is asked of the last pace; the ones before only lead up to it.
    """
    soften = {"mixture": mixture_weights, "hard": hard_weights}[pacing]
    samples = CentroidRun(views, start)
    samples.measure()
    distances = samples.distances()
    history = History(on_iteration)
    for pace, fraction in enumerate(np.linspace(pace_start, 1.0, n_paces), start=1):
        # lambda_v: the distance up to which a share of the samples lies.
        reach = partial(rank_threshold, fraction=fraction)
        thresholds = samples.per_view(distances, reach, 0.0)
        for _ in range(max_iter):
            if pace == n_paces:
                # Kept above the largest distance: a sample that fell behind the
                # moving centres would otherwise never be assigned again.
                thresholds = ABOVE_LARGEST * distances.max(axis=1, keepdims=True)
            paced = soften(distances, thresholds)
            totals = np.einsum("vi,vi->v", paced, distances)
            slopes = 0.5 * samples.root_weights(totals)[:, None] * paced
            n_moved = samples.step(slopes / samples.safe(distances))
            distances = samples.distances()
            totals = np.einsum("vi,vi->v", paced, distances)
            history.add(
                float(np.sqrt(totals[samples.informative]).sum()), n_moved, stage=pace
            )
            if n_moved == 0:
                break
    view_weights = samples.root_weights(totals)
    return samples.result(history, view_weights, converged=n_moved == 0)
