"""CAMVC: multi-view k-means with a capped norm."""

from __future__ import annotations

import numpy as np

from manyview._numerics._soft import SAME_LOSS, simplex_weights
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

    def outlier_from(distances: FloatArray) -> float:
        return float(np.quantile(distances, kept_share)) if kept_share < 1.0 else np.inf

    samples = CentroidRun(views, start)
    sample_weights = np.ones(samples.losses.shape)
    caps = None
    history = History(on_iteration)
    for _ in range(max_iter):
        n_moved = samples.step(sample_weights)
        distances = samples.distances()
        if caps is None:
            # Frozen from here on: caps that follow the distances would let the
            # objective rise.
            caps = samples.per_view(distances, outlier_from, np.inf)
        capped = np.minimum(distances, caps).sum(axis=1)
        view_weights = simplex_weights(
            samples.safe_totals(capped), weight_exponent, samples.informative
        )
        slopes = view_weights**weight_exponent
        inside = distances <= (1.0 + SAME_LOSS) * caps
        sample_weights = inside * (0.5 * slopes[:, None] / samples.safe(distances))
        history.add(float(slopes @ capped), n_moved)
        if history.change < tol:
            break
    return samples.result(
        history, view_weights, converged=history.settled(tol), exponent=weight_exponent
    )
