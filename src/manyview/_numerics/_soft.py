"""Closed-form weights: of samples, given their losses and the pace, and of views.

Losses and distances are (n_views, n_samples), thresholds (n_views, 1), or scalars.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit

from manyview._typing import BoolArray, FloatArray

# A loss that exceeds a threshold by less, relatively, does not exceed it: thresholds
# are losses of samples, and symmetric data has many samples of the same loss.
SAME_LOSS = 1e-9


def logistic_weights(losses: FloatArray, threshold: FloatArray) -> FloatArray:
    """``(1 + exp(-lambda)) / (1 + exp(l - lambda))``: 1 at l = 0, falling to 0.

    The minimiser over t of ``t * l + f(t)``, where with ``A = 1 + exp(-lambda)``
    ``f(t) = (A - t) ln(A - t) + t ln t - lambda * t``. All in (0, 1].
    """
    weights = (1.0 + np.exp(-threshold)) * expit(threshold - losses)
    return np.asarray(np.clip(weights, np.finfo(np.float64).tiny, 1.0))


def logistic_objective(losses: FloatArray, threshold: FloatArray) -> FloatArray:
    """``min_t t * l + f(t)`` of each loss, in closed form.

    Putting the minimiser in leaves ``A * (ln A + ln(expit(l - lambda)))``, free of
    the 0 * ln(0) and of the cancellation in f.
    """
    a = 1.0 + np.exp(-threshold)
    return np.asarray(a * (np.log(a) + log_expit(losses - threshold)))


def mixture_weights(distances: FloatArray, threshold: FloatArray) -> FloatArray:
    """1 up to ``lambda / 3``, 0 from ``lambda`` on, ``lambda / 2e - 1 / 2`` between.

    The mixture scheme ``zeta * (1 / e - 1 / lambda)`` with ``zeta = lambda / 2``.
    """
    easy = distances <= threshold / 3.0
    middle = 0.5 * threshold / np.where(easy, 1.0, distances) - 0.5
    # The threshold is the distance of a sample. What rounding leaves of its weight must
    # be nothing: the least weight gives a sample a say of its own.
    return np.where(easy, 1.0, np.where(middle < SAME_LOSS, 0.0, middle))


def hard_weights(distances: FloatArray, threshold: FloatArray) -> FloatArray:
    """1 up to the threshold, 0 beyond what rounding adds to it.

    The threshold is the distance of a sample, which later iterations take anew.
    """
    return np.where(distances <= (1.0 + SAME_LOSS) * threshold, 1.0, 0.0)


def rank_threshold(values: FloatArray, fraction: float) -> float:
    """The value of rank ``ceil(fraction * n)``, counted from 1."""
    # Rounded first: 0.7 * 10 is a little more than 7, and must not become rank 8.
    rank = int(np.ceil(np.round(fraction * values.size, 9)))
    rank = min(max(rank, 1), values.size)
    return float(np.partition(values, rank - 1)[rank - 1])


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
