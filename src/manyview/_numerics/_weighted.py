"""Closed-form view weights of the k-means family."""

from __future__ import annotations

import numpy as np

from manyview._typing import BoolArray, FloatArray


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
