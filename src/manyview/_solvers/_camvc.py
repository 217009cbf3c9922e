"""CAMVC: multi-view k-means with a capped norm."""

from __future__ import annotations

import numpy as np

from manyview._numerics._soft import SAME_LOSS
from manyview._numerics._weighted import simplex_weights
from manyview._results import OnIteration
from manyview._rows import Rows
from manyview._solvers._history import History
from manyview._solvers._start import Start
from manyview._solvers._weighted import CentroidResult, CentroidRun
from manyview._typing import FloatArray


def solve_camvc(
    views: tuple[Rows, ...],
    start: Start,
    *,
    weight_exponent: float,
    kept_share: float,
    max_iter: int,
    tol: float,
    on_iteration: OnIteration | None = None,
) -> CentroidResult:
    """Minimise ``sum_v a_v ** g * sum_i min(e_vi, cap_v)`` from a given start."""
    samples = CentroidRun(views, start)
    sample_weights = np.ones(samples.losses.shape)
    caps = np.full(len(views), np.inf)
    history = History(on_iteration)
    for iteration in range(1, max_iter + 1):
        n_moved = samples.step(sample_weights)
        distances = samples.distances()
        if iteration == 1:
            # Frozen from here on: caps that follow the distances would let the
            # objective rise.
            caps = _caps(samples, distances, kept_share)
        capped = np.minimum(distances, caps[:, None]).sum(axis=1)
        view_weights = simplex_weights(
            samples.safe_totals(capped), weight_exponent, samples.informative
        )
        slopes = view_weights**weight_exponent
        inside = distances <= (1.0 + SAME_LOSS) * caps[:, None]
        sample_weights = inside * (0.5 * slopes[:, None] / samples.safe(distances))
        history.add(
            iteration=iteration,
            objective=float(slopes @ capped),
            n_moved=n_moved,
        )
        if history.change < tol:
            break
    return samples.result(
        history,
        view_weights,
        converged=history.settled(tol),
        exponent=weight_exponent,
    )


def _caps(samples: CentroidRun, distances: FloatArray, kept_share: float) -> FloatArray:
    """(n_views,), the distance beyond which a sample is an outlier in a view."""
    caps = np.full(len(distances), np.inf)
    if kept_share < 1.0:
        for v in np.flatnonzero(samples.informative):
            known = distances[v, samples.takes_part[v]]
            caps[v] = np.quantile(known, kept_share)
    return caps
