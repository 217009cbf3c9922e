"""The two assignment steps: the paper's sequential sweep and the parallel majorizer.

Both work on a block of rows, of which those in doubt have a slot in a distance table.
`distances` is (n_views, n_slots, n_clusters); `rounding`, (n_views, n_slots), bounds
the error of its entries; `exact` marks slots whose distances were taken by
differences. A decision that rounding could turn is never taken on an inexact slot: the
kernel hands the row back and the caller refines it first.

Bounds keep rows out of the table. With the view slopes g as weights, a sample's score
for a cluster is a squared Euclidean distance in the fused space, so Hamerly's argument
applies: `upper` bounds the distance to the own centre from above, `lower` the distance
to every other centre from below. They hold for the slopes of the sweep's start.
"""

from __future__ import annotations

import numpy as np

from manyview._numerics._distances import SAME_POINT
from manyview._numerics._jit import kernel
from manyview._typing import BoolArray, FloatArray, IntArray, WeightArray


@kernel()
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


@kernel(fastmath={"nnan", "nsz"})
def smallest(values: FloatArray) -> float:
    """The smallest of some values without NaN, infinite if there are none.

    Compilers make one instruction of several comparisons only if they may ignore NaN.
    """
    least = np.inf
    for j in range(values.shape[0]):
        least = values[j] if values[j] < least else least
    return least


@kernel()
def first_best(values: FloatArray, current: int, noise: float) -> int:
    """The smallest value; of those within `noise` the current one, else the first.

    What rounding alone could decide is a tie, and a tie is decided by its place.
    """
    limit = smallest(values) + noise
    if values[current] <= limit:
        return current
    best = 0
    while values[best] > limit:
        best += 1
    return best


@kernel()
def first_smallest(
    scores: FloatArray, errors: FloatArray, out_places: IntArray, out_tied: BoolArray
) -> None:
    """The first score of every row that may be its smallest, given errors of scores.

    scores : (n_rows, n_clusters); errors : the same, or one per row, (n_rows, 1).
    out_tied : (n_rows,), whether other scores of the row may be as small.
    """
    n_rows, n_clusters = scores.shape
    own_errors = errors.shape[1] == n_clusters
    for i in range(n_rows):
        highest = np.inf
        for j in range(n_clusters):
            error = errors[i, j if own_errors else 0]
            highest = min(highest, scores[i, j] + error)
        n_found = 0
        for j in range(n_clusters):
            error = errors[i, j if own_errors else 0]
            if scores[i, j] - error <= highest:
                if n_found == 0:
                    out_places[i] = j
                n_found += 1
        out_tied[i] = n_found > 1


@kernel()
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
    changes = np.zeros(n_clusters)
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
        changes[j] = change
    return first_best(changes, current, tolerance)


@kernel()
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


@kernel()
def bound_slack(
    view_losses: FloatArray,
    exponents: FloatArray,
    slope: FloatArray,
    anchor: FloatArray,
    widest: FloatArray,
) -> float:
    """How many times `upper` must fit into `lower` for a label to be safe.

    anchor : (n_views,), slopes that the bounds refer to; widest : (n_views,), largest
    squared distance possible. Covers the drift of the slopes since then and the
    curvature of the objective. Infinite where the tangent says too little.
    """
    least, most, bend = np.inf, 0.0, 0.0
    for v in range(exponents.shape[0]):
        if slope[v] <= 0.0 or anchor[v] <= 0.0:
            return np.inf
        ratio = slope[v] / anchor[v]
        least, most = min(least, ratio), max(most, ratio)
        if exponents[v] < 1.0:
            if widest[v] > view_losses[v] / 4.0:
                return np.inf
            curvature = (1.0 - exponents[v]) * (8.0 / 9.0) * widest[v] / view_losses[v]
            bend = max(bend, curvature)
    return float(np.sqrt(most / least * (1.0 + bend) / (1.0 - bend)) * (1.0 + 1e-9))


@kernel()
def relax_bounds(
    labels: IntArray,
    shifts: FloatArray,
    grow: float,
    shrink: float,
    out_other_shifts: FloatArray,
    out_upper: FloatArray,
    out_lower: FloatArray,
) -> None:
    """Carry bounds over to moved centres and new slopes.

    shifts : (n_clusters,), how far each centre moved in the fused space;
    out_other_shifts : (n_clusters,), the furthest move of any other centre.
    """
    furthest = np.argmax(shifts)
    out_other_shifts[:] = shifts[furthest]
    out_other_shifts[furthest] = 0.0
    for j in range(shifts.shape[0]):
        if j != furthest:
            out_other_shifts[furthest] = max(out_other_shifts[furthest], shifts[j])
    for i in range(labels.shape[0]):
        out_upper[i] = out_upper[i] * grow + shifts[labels[i]]
        out_lower[i] = out_lower[i] * shrink - out_other_shifts[labels[i]]


@kernel()
def renew_bounds(
    view_losses: FloatArray,
    exponents: FloatArray,
    anchor: FloatArray,
    widest: FloatArray,
    moves: FloatArray,
    labels: IntArray,
    out_slope: FloatArray,
    out_shifts: FloatArray,
    out_other_shifts: FloatArray,
    out_upper: FloatArray,
    out_lower: FloatArray,
) -> tuple[float, bool]:
    """Make bounds hold for a sweep around new centres; returns its slack.

    anchor : (n_views,), the slopes that they hold for; moves : (n_views, n_clusters),
    squared moves of the centres, empty if the bounds hold for none. Also returns
    whether the bounds could be carried over (`relax_bounds`). Else nothing is known.
    """
    n_views, n_clusters = moves.shape
    unused = np.empty(len(exponents))
    linearise(view_losses, exponents, out_slope, unused, unused)
    # A perfect view has no slope.
    holds = n_views > 0 and out_slope.min() > 0.0 and anchor.min() > 0.0
    if holds:
        least, most = np.inf, 0.0
        out_shifts[:] = 0.0
        for v in range(n_views):
            ratio = out_slope[v] / anchor[v]
            least, most = min(least, ratio), max(most, ratio)
            for j in range(n_clusters):
                out_shifts[j] += out_slope[v] * moves[v, j]
        for j in range(n_clusters):
            out_shifts[j] = np.sqrt(out_shifts[j])
        relax_bounds(
            labels,
            out_shifts,
            np.sqrt(most),
            np.sqrt(least),
            out_other_shifts,
            out_upper,
            out_lower,
        )
    else:
        out_lower[:] = -np.inf
    slack = bound_slack(view_losses, exponents, out_slope, out_slope, widest)
    return slack, holds


@kernel()
def doubtful_rows(
    upper: FloatArray, lower: FloatArray, slack: float, out_rows: IntArray
) -> int:
    """Rows whose bounds do not settle the label, into `out_rows`; their number."""
    n_found = 0
    for i in range(upper.shape[0]):
        if not lower[i] > upper[i] * slack:
            out_rows[n_found] = i
            n_found += 1
    return n_found


@kernel()
def tighten_bounds(
    distances: FloatArray,
    rounding: FloatArray,
    clusters: IntArray,
    rows: IntArray,
    labels: IntArray,
    selected: BoolArray,
    anchor: FloatArray,
    rest: FloatArray,
    out_upper: FloatArray,
    out_lower: FloatArray,
) -> None:
    """Bounds of some rows from their distances to some of the centres.

    distances : (n_views, n_slots, n_some), to the centres of `clusters`;
    rows : (n_slots,), the row of each slot; labels, bounds : (n_rows,), selected :
    (n_views, n_rows). rest : (n_slots,), a lower bound on all other distances.
    """
    n_views, n_slots, n_some = distances.shape
    for r in range(n_slots):
        i = rows[r]
        error = 0.0
        for v in range(n_views):
            if selected[v, i]:
                error += anchor[v] * rounding[v, r]
        nearest = np.inf
        for j in range(n_some):
            fused = 0.0
            for v in range(n_views):
                if selected[v, i]:
                    fused += anchor[v] * distances[v, r, j]
            if clusters[j] == labels[i]:
                out_upper[i] = min(out_upper[i], np.sqrt(fused + error))
            else:
                nearest = min(nearest, fused)
        out_lower[i] = min(np.sqrt(max(nearest - error, 0.0)), rest[r])


@kernel()
def _nearest_other(fused: FloatArray, label: int) -> float:
    """The smallest value of another cluster, infinite if there is none."""
    return min(smallest(fused[:label]), smallest(fused[label + 1 :]))


@kernel()
def sweep_sequential(
    distances: FloatArray,
    rounding: FloatArray,
    exact: BoolArray,
    slots: IntArray,
    selected: BoolArray,
    exponents: FloatArray,
    anchor: FloatArray,
    widest: FloatArray,
    begin: int,
    out_view_losses: FloatArray,
    out_labels: IntArray,
    out_upper: FloatArray,
    out_lower: FloatArray,
) -> int:
    """Eq. (16)-(17) for the rows from `begin` on, phi refreshed after every move.

    slots : (n_rows,), place of each row in the table, -1 for none;
    selected : (n_views, n_rows); anchor, widest : see `bound_slack`.
    Updates `out_view_losses` (n_views,), and labels and bounds (n_rows,). Returns the
    first row that must be loaded or refined before the sweep can go on, or n_rows.

    Most rows are decided without a power: the linear change of the best cluster
    stays below the lowest possible change of every rival (see `linearise`).
    """
    n_rows = out_labels.shape[0]
    n_views, _, n_clusters = distances.shape
    slope, bend = np.empty(n_views), np.empty(n_views)
    reach = np.empty(n_views)
    linear, bound = np.empty(n_clusters), np.empty(n_clusters)
    fused = np.empty(n_clusters)
    linearise(out_view_losses, exponents, slope, bend, reach)
    slack = bound_slack(out_view_losses, exponents, slope, anchor, widest)
    for i in range(begin, n_rows):
        if out_lower[i] > out_upper[i] * slack:
            continue
        r = slots[i]
        if r < 0:
            return int(i)
        current = out_labels[i]
        linear[:] = 0.0
        bound[:] = 0.0
        fused[:] = 0.0
        noise, error = 0.0, 0.0
        takes_part, in_reach = False, True
        for v in range(n_views):
            if not selected[v, i]:
                continue
            takes_part = True
            row = distances[v, r]
            own = row[current]
            g, b, a = slope[v], bend[v], anchor[v]
            for j in range(n_clusters):
                delta = row[j] - own
                linear[j] += g * delta
                bound[j] += b * delta * delta
                fused[j] += a * row[j]
            # A finite slack means that no distance at all is out of reach.
            if slack == np.inf:
                furthest = max(own - row.min(), row.max() - own)
                in_reach = in_reach and furthest <= reach[v]
            noise += 2.0 * slope[v] * rounding[v, r]
            error += anchor[v] * rounding[v, r]
        if not takes_part:
            out_upper[i], out_lower[i] = 0.0, np.inf
            continue
        best = first_best(linear, current, 0.0)
        if not (in_reach and _is_clear(linear, bound, best, current, noise)):
            if not exact[r]:
                return int(i)
            best = _best_by_powers(
                distances[:, r],
                selected[:, i],
                out_view_losses,
                exponents,
                current,
                noise,
            )
        out_upper[i] = np.sqrt(fused[best] + error)
        out_lower[i] = np.sqrt(max(_nearest_other(fused, best) - error, 0.0))
        if best == current:
            continue
        out_labels[i] = best
        for v in range(n_views):
            if selected[v, i]:
                change = distances[v, r, best] - distances[v, r, current]
                out_view_losses[v] = max(out_view_losses[v] + change, 0.0)
        linearise(out_view_losses, exponents, slope, bend, reach)
        slack = bound_slack(out_view_losses, exponents, slope, anchor, widest)
    return int(n_rows)


@kernel()
def find_moves(
    rows: IntArray, before: IntArray, after: IntArray, weights: WeightArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Slots whose label changed, and what to add to which cluster for that.

    rows : (n_slots,), the row of each slot; before, after : (n_rows,), labels;
    weights : (n_views, n_rows). Clusters are (2, n_moved), the old and the new one;
    weights, (n_views, 2, n_moved), are negative for the old one.
    """
    slots = np.empty(len(rows), dtype=np.intp)
    n_moved = 0
    for r in range(len(rows)):
        if before[rows[r]] != after[rows[r]]:
            slots[n_moved] = r
            n_moved += 1
    slots = slots[:n_moved]
    clusters = np.empty((2, n_moved), dtype=after.dtype)
    signed = np.empty((len(weights), 2, n_moved))
    for m in range(n_moved):
        i = rows[slots[m]]
        clusters[0, m], clusters[1, m] = before[i], after[i]
        for v in range(len(weights)):
            signed[v, 0, m], signed[v, 1, m] = -weights[v, i], weights[v, i]
    return slots, clusters, signed


@kernel()
def sweep_majorize(
    distances: FloatArray,
    rounding: FloatArray,
    exact: BoolArray,
    rows: IntArray,
    weights: WeightArray,
    view_losses: FloatArray,
    exponents: FloatArray,
    out_pending: BoolArray,
    out_change: FloatArray,
    out_labels: IntArray,
    out_upper: FloatArray,
    out_lower: FloatArray,
) -> int:
    """Assign pending slots by the tangent of the objective, frozen for the sweep.

    ``phi ** eta`` is concave, so its tangent lies above it: a move that lowers the
    linear score cannot raise the objective. Where all exponents are 1, the score is
    the weighted sum of the distances itself.

    rows : (n_slots,), the row of each slot; weights : (n_views, n_rows), bool for a
    selection. A tie keeps the current label, and so does a row without weight.
    Clears `out_pending` (n_slots,) for every slot it decides, adds the moves' changes
    of the view losses to `out_change` (n_views,), renews bounds for the slopes of this
    sweep, and returns how many slots are left for refinement.
    """
    n_views, n_slots, n_clusters = distances.shape
    slope, bend = np.empty(n_views), np.empty(n_views)
    reach = np.empty(n_views)
    linearise(view_losses, exponents, slope, bend, reach)
    linear, n_left = np.empty(n_clusters), 0
    # Centres of equal rows differ by what other rows left in their sums.
    furthest = np.zeros(n_views)
    for v in range(n_views):
        if reach[v] == 0.0:
            furthest[v] = distances[v].max()
    for r in range(n_slots):
        if not out_pending[r]:
            continue
        i = rows[r]
        current = out_labels[i]
        linear[:] = 0.0
        fused, noise = 0.0, 0.0
        takes_part, pinned = False, False
        for v in range(n_views):
            if not weights[v, i]:
                continue
            takes_part = True
            weight = slope[v] * weights[v, i]
            own = distances[v, r, current]
            fused += weight * own
            # A perfect view: any distance gained there, beyond rounding, costs an
            # infinite slope.
            pinned = pinned or reach[v] == 0.0
            row = distances[v, r]
            for j in range(n_clusters):
                linear[j] += weight * (row[j] - own)
            if reach[v] == 0.0:
                limit = own + 2.0 * rounding[v, r] + SAME_POINT * furthest[v]
                for j in range(n_clusters):
                    linear[j] = np.inf if row[j] > limit else linear[j]
            noise += 2.0 * weight * rounding[v, r]
        if not takes_part:
            out_pending[r] = False
            out_upper[i], out_lower[i] = 0.0, np.inf
            continue
        best = first_best(linear, current, noise if exact[r] else 0.0)
        nearest = _nearest_other(linear, best)
        if not exact[r] and (pinned or not nearest - noise > linear[best] + noise):
            n_left += 1
            continue
        out_pending[r] = False
        # `linear` is relative to the fused distance to the current centre.
        error = noise / 2.0
        out_upper[i] = np.sqrt(max(fused + linear[best], 0.0) + error)
        out_lower[i] = np.sqrt(max(fused + nearest - error, 0.0))
        if best == current:
            continue
        out_labels[i] = best
        for v in range(n_views):
            change = distances[v, r, best] - distances[v, r, current]
            out_change[v] += weights[v, i] * change
    return n_left
