"""MSPL: multi-view self-paced k-means with smoothed weights."""

from __future__ import annotations

from functools import partial

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
    history = History(on_iteration)
    # linspace returns pace_start alone for one pace, where everybody should join.
    fractions = [*np.linspace(pace_start, 1.0, n_paces)[:-1], 1.0]
    units: FloatArray = np.ones((len(views), 1))
    for pace, fraction in enumerate(fractions, start=1):
        if loss_unit == "median":
            units = samples.per_view(samples.losses, _typical, 1.0)
        # lambda_v: a quantile of the losses, in their units.
        reach = partial(np.quantile, q=fraction)
        thresholds = samples.per_view(samples.losses, reach, 0.0) / units
        for _ in range(max_iter):
            weights = logistic_weights(samples.losses / units, thresholds) / units
            n_moved = samples.step(weights)
            shares = logistic_objective(samples.losses / units, thresholds)
            history.add(
                float(shares.sum(where=samples.takes_part)), n_moved, stage=pace
            )
            if n_moved == 0:
                break
    weights = logistic_weights(samples.losses / units, thresholds) / units
    counts = np.maximum(samples.takes_part.sum(axis=1), 1)
    view_weights = weights.sum(axis=1, where=samples.takes_part) / counts
    return samples.result(
        history, view_weights, converged=n_moved == 0, nearest=nearest_clusters
    )


def _typical(losses: FloatArray) -> float:
    """The median loss that losses are divided by.

    More than half of the samples may fit perfectly; the mean then serves, and 1 for a
    view that fits altogether.
    """
    return float(np.median(losses) or losses.mean() or 1.0)
