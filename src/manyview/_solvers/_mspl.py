"""MSPL: multi-view self-paced k-means with smoothed weights."""

from __future__ import annotations

import numpy as np

from manyview._numerics._soft import logistic_objective, logistic_weights
from manyview._results import OnIteration
from manyview._rows import Rows
from manyview._solvers._history import History
from manyview._solvers._nearest import nearest_clusters
from manyview._solvers._start import Start
from manyview._solvers._weighted import CentroidResult, CentroidRun
from manyview._typing import FloatArray


def solve_mspl(
    views: tuple[Rows, ...],
    start: Start,
    *,
    pace_start: float,
    n_paces: int,
    max_iter: int,
    loss_unit: str,
    on_iteration: OnIteration | None = None,
) -> CentroidResult:
    """Minimise ``sum_vi t_vi l_vi + f(t_vi; lambda_v)`` as lambda grows.

    Convergence is asked of the last pace; the ones before only lead up to it.
    """
    samples = CentroidRun(views, start)
    samples.measure()
    history, converged = History(on_iteration), False
    for pace, fraction in enumerate(np.linspace(pace_start, 1.0, n_paces), start=1):
        units = _units(samples, loss_unit)
        # linspace returns pace_start alone for one pace, where everybody should join.
        thresholds = _thresholds(samples, units, 1.0 if pace == n_paces else fraction)
        for iteration in range(1, max_iter + 1):
            n_moved = samples.step(_weights(samples, units, thresholds))
            history.add(
                stage=pace,
                iteration=iteration,
                objective=_objective(samples, units, thresholds),
                n_moved=n_moved,
            )
            converged = n_moved == 0
            if converged:
                break
    weights = _weights(samples, units, thresholds)
    counts = np.maximum(samples.takes_part.sum(axis=1), 1)
    view_weights = np.where(samples.takes_part, weights, 0.0).sum(axis=1) / counts
    return samples.result(
        history, view_weights, converged=converged, nearest=nearest_clusters
    )


def _units(samples: CentroidRun, loss_unit: str) -> FloatArray:
    """(n_views,), what losses are divided by: 1, or the view's median loss.

    More than half of the samples may fit perfectly; the mean then serves, and 1 for a
    view that fits altogether.
    """
    units = np.ones(len(samples.views))
    if loss_unit == "literal":
        return units
    for v in np.flatnonzero(samples.informative):
        known = samples.losses[v, samples.takes_part[v]]
        units[v] = np.median(known) or known.mean() or 1.0
    return units


def _thresholds(samples: CentroidRun, units: FloatArray, fraction: float) -> FloatArray:
    """(n_views,), lambda: a quantile of the losses, in their units."""
    thresholds = np.zeros(len(units))
    for v in np.flatnonzero(samples.informative):
        known = samples.losses[v, samples.takes_part[v]]
        thresholds[v] = np.quantile(known, fraction) / units[v]
    return thresholds


def _weights(
    samples: CentroidRun, units: FloatArray, thresholds: FloatArray
) -> FloatArray:
    """(n_views, n_samples), t_vi per unit of loss."""
    return np.stack(
        [
            logistic_weights(losses / unit, threshold) / unit
            for losses, unit, threshold in zip(
                samples.losses, units, thresholds, strict=True
            )
        ]
    )


def _objective(
    samples: CentroidRun, units: FloatArray, thresholds: FloatArray
) -> float:
    return sum(
        logistic_objective(
            samples.losses[v, samples.takes_part[v]] / units[v], thresholds[v]
        )
        for v in range(len(units))
    )
