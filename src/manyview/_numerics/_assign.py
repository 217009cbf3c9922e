"""The two assignment steps: the paper's sequential sweep and the parallel majorizer.

Both work on a block of rows. `distances` is (n_views, n_rows, n_clusters); `rounding`,
(n_views, n_rows), bounds the error of its entries; `exact` marks rows whose distances
were taken by differences. A decision that rounding could turn is never taken on an
inexact row: the kernel hands the row back and the caller refines it first.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from manyview._typing import BoolArray, FloatArray, IntArray


@njit(cache=True, nogil=True)
def linearise(
    view_losses: FloatArray,
    exponents: FloatArray,
    out_slope: FloatArray,
    out_bend: FloatArray,
    out_reach: FloatArray,
) -> None:
    """Tangent of ``phi ** eta`` at the current losses, with its error bound.

    For ``|delta| <= reach`` the exact change lies between ``slope * delta`` and that
    minus ``bend * delta ** 2``. A perfect view (phi = 0, eta < 1) has no tangent: its
    reach is 0, so any change in it is decided by the powers themselves.
    """
    for v in range(exponents.shape[0]):
        eta, phi = exponents[v], view_losses[v]
        if eta >= 1.0:
            out_slope[v], out_bend[v], out_reach[v] = 1.0, 0.0, np.inf
        elif phi <= 0.0:
            out_slope[v], out_bend[v], out_reach[v] = 0.0, 0.0, 0.0
        else:
            slope = eta * phi ** (eta - 1.0)
            out_slope[v] = slope
            out_bend[v] = slope * (1.0 - eta) * (8.0 / 9.0) / phi
            out_reach[v] = phi / 4.0


@njit(cache=True, nogil=True)
def _best_by_powers(
    distances_i: FloatArray,
    selected_i: BoolArray,
    view_losses: FloatArray,
    exponents: FloatArray,
    current: int,
    tolerance: float,
) -> int:
    """Cluster minimising Eq. (17) for one sample; a tie keeps the current label.

    Compares changes of the objective instead of its values: a single sample's share
    of a large sum would drown in rounding.
    """
    n_views, n_clusters = distances_i.shape
    best, best_change = current, -tolerance
    for j in range(n_clusters):
        if j == current:
            continue
        change = 0.0
        for v in range(n_views):
            if not selected_i[v]:
                continue
            own, other = distances_i[v, current], distances_i[v, j]
            # Eq. (16) with w: only a selected sample is inside phi. Rounding can
            # leave the difference below zero, and a fractional power of that is NaN.
            theta = max(view_losses[v] - own, 0.0)
            before, after = theta + own, theta + other
            eta = exponents[v]
            if before > 0.0 and after > 0.0:
                step = np.log1p((other - own) / before)
                change += before**eta * np.expm1(eta * step)
            else:
                change += after**eta - before**eta
        if change < best_change:
            best, best_change = j, change
    return best


@njit(cache=True, nogil=True)
def _is_clear(
    linear: FloatArray,
    bound: FloatArray,
    best: int,
    current: int,
    noise: float,
) -> bool:
    """Whether `best` beats every rival even if all errors conspire."""
    top = linear[best] + (0.0 if best == current else noise)
    for j in range(linear.shape[0]):
        if j == best:
            continue
        lowest = linear[j] - bound[j] - (0.0 if j == current else noise)
        if not lowest > top:
            return False
    return True


@njit(cache=True, nogil=True)
def sweep_sequential(
    distances: FloatArray,
    rounding: FloatArray,
    exact: BoolArray,
    selected: BoolArray,
    exponents: FloatArray,
    begin: int,
    out_view_losses: FloatArray,
    out_labels: IntArray,
) -> int:
    """Eq. (16)-(17) for the rows from `begin` on, phi refreshed after every move.

    selected : (n_views, n_rows). Updates `out_view_losses` (n_views,) and
    `out_labels` (n_rows,). Returns the first row that must be refined before the
    sweep can go on, or n_rows when done.

    Most rows are decided without a power: the linear change of the best cluster
    stays below the lowest possible change of every rival (see `linearise`).
    """
    n_views, n_rows, n_clusters = distances.shape
    slope, bend = np.empty(n_views), np.empty(n_views)
    reach = np.empty(n_views)
    linear, bound = np.empty(n_clusters), np.empty(n_clusters)
    linearise(out_view_losses, exponents, slope, bend, reach)
    for i in range(begin, n_rows):
        current = out_labels[i]
        linear[:] = 0.0
        bound[:] = 0.0
        noise = 0.0
        takes_part, in_reach = False, True
        for v in range(n_views):
            if not selected[v, i]:
                continue
            takes_part = True
            own = distances[v, i, current]
            widest = 0.0
            for j in range(n_clusters):
                delta = distances[v, i, j] - own
                linear[j] += slope[v] * delta
                bound[j] += bend[v] * delta * delta
                widest = max(widest, abs(delta))
            in_reach = in_reach and widest <= reach[v]
            noise += 2.0 * slope[v] * rounding[v, i]
        if not takes_part:
            continue
        best = current
        for j in range(n_clusters):
            if linear[j] < linear[best]:
                best = j
        if not (in_reach and _is_clear(linear, bound, best, current, noise)):
            if not exact[i]:
                return int(i)
            best = _best_by_powers(
                distances[:, i],
                selected[:, i],
                out_view_losses,
                exponents,
                current,
                noise,
            )
        if best == current:
            continue
        out_labels[i] = best
        for v in range(n_views):
            if selected[v, i]:
                change = distances[v, i, best] - distances[v, i, current]
                out_view_losses[v] = max(out_view_losses[v] + change, 0.0)
        linearise(out_view_losses, exponents, slope, bend, reach)
    return int(n_rows)


@njit(cache=True, nogil=True)
def sweep_majorize(
    distances: FloatArray,
    rounding: FloatArray,
    exact: BoolArray,
    selected: BoolArray,
    view_losses: FloatArray,
    exponents: FloatArray,
    out_pending: BoolArray,
    out_change: FloatArray,
    out_labels: IntArray,
) -> int:
    """Assign pending rows by the tangent of the objective, frozen for the sweep.

    ``phi ** eta`` is concave, so its tangent lies above it: a move that lowers the
    linear score cannot raise the objective. Clears `out_pending` (n_rows,) for every
    row it decides, adds the moves' changes of the view losses to `out_change`
    (n_views,), and returns how many rows are left for refinement.
    """
    n_views, n_rows, n_clusters = distances.shape
    slope, bend = np.empty(n_views), np.empty(n_views)
    reach = np.empty(n_views)
    linearise(view_losses, exponents, slope, bend, reach)
    linear, bound = np.empty(n_clusters), np.zeros(n_clusters)
    n_left = 0
    for i in range(n_rows):
        if not out_pending[i]:
            continue
        current = out_labels[i]
        linear[:] = 0.0
        noise = 0.0
        takes_part, pinned = False, False
        for v in range(n_views):
            if not selected[v, i]:
                continue
            takes_part = True
            own = distances[v, i, current]
            # A perfect view: any distance gained there costs an infinite slope.
            perfect = reach[v] == 0.0
            pinned = pinned or perfect
            for j in range(n_clusters):
                delta = distances[v, i, j] - own
                linear[j] += slope[v] * delta
                if perfect and delta > 0.0:
                    linear[j] = np.inf
            noise += 2.0 * slope[v] * rounding[v, i]
        if not takes_part:
            out_pending[i] = False
            continue
        best = current
        for j in range(n_clusters):
            if linear[j] < linear[best]:
                best = j
        if exact[i]:
            if not linear[best] < -noise:
                best = current
        elif pinned or not _is_clear(linear, bound, best, current, noise):
            n_left += 1
            continue
        out_pending[i] = False
        if best == current:
            continue
        out_labels[i] = best
        for v in range(n_views):
            if selected[v, i]:
                out_change[v] += distances[v, i, best] - distances[v, i, current]
    return n_left
