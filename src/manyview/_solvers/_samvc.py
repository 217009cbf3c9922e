"""SAMVC: self-paced, auto-weighted multi-view k-means."""

from __future__ import annotations

import numpy as np

from manyview._numerics._soft import hard_weights, mixture_weights, rank_threshold
from manyview._numerics._weighted import root_weights
from manyview._results import OnIteration
from manyview._rows import Rows
from manyview._solvers._history import History
from manyview._solvers._start import Start
from manyview._solvers._weighted import CentroidResult, CentroidRun
from manyview._typing import FloatArray

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
    history, converged = History(on_iteration), False
    for pace, fraction in enumerate(np.linspace(pace_start, 1.0, n_paces), start=1):
        thresholds = _thresholds(samples, distances, fraction)
        for iteration in range(1, max_iter + 1):
            if pace == n_paces:
                # Kept above the largest distance: a sample that fell behind the
                # moving centres would otherwise never be assigned again.
                thresholds = ABOVE_LARGEST * distances.max(axis=1)
            paced = np.stack(
                [
                    soften(e, limit)
                    for e, limit in zip(distances, thresholds, strict=True)
                ]
            )
            view_weights = _view_weights(samples, paced, distances)
            n_moved = samples.step(_slopes(samples, paced, distances, view_weights))
            distances = samples.distances()
            history.add(
                stage=pace,
                iteration=iteration,
                objective=_objective(samples, paced, distances),
                n_moved=n_moved,
            )
            converged = n_moved == 0
            if converged:
                break
    view_weights = _view_weights(samples, paced, distances)
    return samples.result(history, view_weights, converged=converged)


def _thresholds(
    samples: CentroidRun, distances: FloatArray, fraction: float
) -> FloatArray:
    """(n_views,), lambda: the distance up to which a share of the samples lies."""
    return np.array(
        [
            rank_threshold(e[part], fraction)
            for e, part in zip(distances, samples.takes_part, strict=True)
        ]
    )


def _view_weights(
    samples: CentroidRun, paced: FloatArray, distances: FloatArray
) -> FloatArray:
    """(n_views,), a_v = 1 / (2 sqrt(sum_i t_vi e_vi))."""
    totals = np.einsum("vi,vi->v", paced, distances)
    return root_weights(samples.safe_totals(totals), samples.informative)


def _slopes(
    samples: CentroidRun,
    paced: FloatArray,
    distances: FloatArray,
    view_weights: FloatArray,
) -> FloatArray:
    """(n_views, n_samples), s_vi = a_v t_vi / (2 e_vi)."""
    return np.asarray(0.5 * view_weights[:, None] * paced / samples.safe(distances))


def _objective(samples: CentroidRun, paced: FloatArray, distances: FloatArray) -> float:
    totals = np.einsum("vi,vi->v", paced, distances)
    return float(np.sqrt(totals[samples.informative]).sum())
