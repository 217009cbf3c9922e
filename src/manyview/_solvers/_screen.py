"""Which centres samples must be compared with when most centres hardly moved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from manyview._numerics import _assign
from manyview._rows import PreparedCenters, Rows
from manyview._solvers._state import Bounds
from manyview._solvers._table import DistanceTable
from manyview._typing import BoolArray, FloatArray, IntArray

# With fewer clusters, products with all centres take no longer than reading the rows.
LEAST_CLUSTERS = 128
# A sample is compared with so many centres, or twice or four times as many and so on.
# Products with fewer of them take no less time.
FEWEST = 8
# Share of the products that must be saved for a screen to pay.
WORTHWHILE = 0.2


@dataclass(frozen=True, kw_only=True, slots=True)
class Screen:
    """The centres by how far they moved, and copies of those that moved furthest.

    One lower bound per sample holds for all other centres and is reduced by the
    furthest move of any. But only centres that moved further than its margin can have
    come closer than the own one, and late in a run these are few. Distances to them
    renew the bound; no further bounds are kept.

    order : (n_clusters,), clusters by descending move; moves : their moves.
    nearby : by number of centres, the first ones of `order`, prepared per view.
    """

    order: IntArray
    moves: FloatArray
    nearby: dict[int, list[PreparedCenters]]

    @classmethod
    def of(
        cls,
        views: tuple[Rows, ...],
        centers: tuple[FloatArray, ...],
        shifts: FloatArray | None,
    ) -> Screen | None:
        """The screen of a sweep; None where it cannot save anything."""
        n_clusters = len(centers[0])
        if shifts is None or n_clusters < LEAST_CLUSTERS:
            return None
        order = np.argsort(-shifts, kind="stable")
        counts = FEWEST * 2 ** np.arange(int(np.log2(n_clusters / FEWEST)))
        nearby = {
            int(count): [
                view.prepare(center[order[:count]])
                for view, center in zip(views, centers, strict=True)
            ]
            for count in counts
        }
        return cls(order=order, moves=shifts[order], nearby=nearby)

    def tighten(
        self,
        bounds: Bounds,
        rows: slice,
        doubtful: IntArray,
        slack: float,
        labels: IntArray,
        selected: BoolArray,
        table: DistanceTable,
    ) -> None:
        """Renew the bounds of doubtful rows of a block where few distances tell enough.

        labels : (n_samples,); selected : (n_views, n_samples).
        """
        # Before the furthest move of any other centre was taken off.
        before = bounds.lower[rows] + bounds.other_shifts[labels[rows]]
        margins = before[doubtful] - slack * bounds.upper[rows][doubtful]
        # Moves descend, so that their negatives can be searched.
        n_needed = np.searchsorted(-self.moves, -margins, side="right")
        n_clusters = len(self.order)
        savings = {
            count: float(np.mean(n_needed <= count)) * (1.0 - count / n_clusters)
            for count in self.nearby
        }
        count = max(savings, key=lambda count: savings[count])
        if savings[count] < WORTHWHILE:
            return
        few = doubtful[n_needed <= count]
        loaded = table.load_some(rows, few, self.nearby[count])
        _assign.tighten_bounds(
            table.distances,
            table.rounding,
            self.order[:count],
            loaded,
            labels[rows],
            selected[:, rows],
            bounds.anchor,
            before[loaded] - self.moves[count],
            bounds.upper[rows],
            bounds.lower[rows],
        )
