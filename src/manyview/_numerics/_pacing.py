"""Self-pacing: thresholds (lambda), exponents (eta) and the fused objective."""

from __future__ import annotations

import numpy as np

from manyview._typing import FloatArray


def pace_thresholds(
    lowest: FloatArray,
    highest: FloatArray,
    *,
    pace: int,
    n_paces: int,
    pace_start: float,
) -> FloatArray:
    """Eq. (9)-(10): the loss up to which samples join at this pace, per view.

    lowest, highest : (n_views,), range of the sample losses; the threshold of a view
    that no sample has (an empty range) is 0. `pace` counts from 1.
    """
    known = lowest <= highest
    lowest, highest = np.where(known, lowest, 0.0), np.where(known, highest, 0.0)
    if pace >= n_paces or pace_start >= 1.0:
        # Not `low + 1.0 * (high - low)`, which can round below the maximum and then
        # leave the last sample out for ever. Covers n_paces = 1, where Eq. (10) is 0/0.
        return highest
    fraction = pace_start + (pace - 1) * (1.0 - pace_start) / (n_paces - 1)
    return lowest + fraction * (highest - lowest)


def fusion_exponents(thresholds: FloatArray) -> FloatArray:
    """Eq. (7): ``eta_v = min_u lambda_u / lambda_v``, each in (0, 1].

    A threshold of zero means that the view is fitted perfectly (or is constant, or
    no sample has it). It would send every other exponent to zero and freeze the labels,
    so such a view takes exponent 1 and stays out of the minimum.
    """
    positive = thresholds > 0.0
    if not positive.any():
        return np.ones_like(thresholds)
    smallest = thresholds[positive].min()
    ratio = smallest / np.where(positive, thresholds, smallest)
    return np.asarray(np.maximum(ratio, np.finfo(np.float64).tiny))


def fused_objective(view_losses: FloatArray, exponents: FloatArray) -> float:
    """Eq. (2): ``sum_v phi_v ** eta_v``."""
    return float((view_losses**exponents).sum())


def view_slopes(view_losses: FloatArray, exponents: FloatArray) -> FloatArray:
    """Weight of each view in the linear score: ``eta_v * phi_v ** (eta_v - 1)``.

    A perfect view with an exponent below 1 has an infinite slope; it gets the largest
    finite weight that keeps the others visible.
    """
    tiny = np.finfo(np.float64).eps * max(float(view_losses.max(initial=0.0)), 1e-300)
    return np.asarray(exponents * np.maximum(view_losses, tiny) ** (exponents - 1.0))


def separation_shares(
    slopes: FloatArray, scatter: FloatArray, unexplained: FloatArray
) -> FloatArray:
    """(n_views,), share of each view in what separates the clusters; they sum to 1.

    Near a solution the fused objective is a sum of losses weighted by `slopes`. The
    clusters reduce each view's part of it by ``slope * scatter * (1 - unexplained)``.
    If they reduce nothing, all views with scatter share equally.
    """
    explained = scatter * np.clip(1.0 - unexplained, 0.0, 1.0)
    shares = slopes * explained
    if not shares.any():
        shares = (scatter > 0.0).astype(np.float64)
    if not shares.any():
        shares = np.ones_like(scatter)
    return np.asarray(shares / shares.sum())
