"""Sums of rows per cluster: what centres and view losses are computed from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyview._numerics._centers import cluster_means, within_loss
from manyview._numerics._distances import SAME_POINT, SAME_POINT_EXPANDED
from manyview._rows import Rows
from manyview._solvers._table import FEWEST_BLOCKS, sample_blocks
from manyview._threads import available_threads, map_threads
from manyview._typing import FloatArray, IntArray, WeightArray

# Below this share of a view's energy, the loss by subtraction has lost too many
# digits, and a pass over the data is worth its time.
CANCELLATION = 1e-6


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterSums:
    """Weighted sums of the rows of each cluster.

    sums : per view (n_clusters, n_features_v); masses : (n_views, n_clusters), summed
    weights. A selection is a weight of 0 or 1, so masses are then counts.
    """

    sums: tuple[FloatArray, ...]
    masses: FloatArray

    @classmethod
    def zeros(cls, n_features: Iterable[int], n_clusters: int) -> ClusterSums:
        sums = tuple(np.zeros((n_clusters, width)) for width in n_features)
        return cls(sums=sums, masses=np.zeros((len(sums), n_clusters)))

    def zeros_like(self) -> ClusterSums:
        return ClusterSums.zeros(
            [total.shape[1] for total in self.sums], self.masses.shape[1]
        )

    def add(self, other: ClusterSums) -> None:
        """Add other sums to these arrays."""
        for mine, theirs in zip(self.sums, other.sums, strict=True):
            mine += theirs
        np.add(self.masses, other.masses, out=self.masses)

    def merge(self, other: ClusterSums) -> ClusterSums:
        """The sum of both, in new arrays."""
        total = self.zeros_like()
        total.add(self)
        total.add(other)
        return total

    def add_rows(
        self,
        v: int,
        view: Rows,
        block: Any,
        positions: IntArray,
        clusters: IntArray,
        weights: FloatArray,
    ) -> None:
        """Add rows of a block of view v, times their weights, to their clusters.

        clusters, weights : see `Rows.add`.
        """
        out = self.sums[v], self.masses[v]
        view.add(block, positions, clusters, weights, *out)

    def means(
        self, fallback: tuple[FloatArray, ...] | None = None
    ) -> tuple[FloatArray, ...]:
        """Cluster means; for a cluster without mass `fallback`, or the view's mean."""
        centers = []
        for v, (sums, masses) in enumerate(zip(self.sums, self.masses, strict=True)):
            if fallback is None:
                mean = sums.sum(axis=0) / (masses.sum() or 1.0)
                spare = np.tile(mean, (len(sums), 1))
            else:
                spare = fallback[v]
            centers.append(cluster_means(sums, masses, spare))
        return tuple(centers)

    def view_losses(
        self,
        energy: FloatArray,
        centers: tuple[FloatArray, ...],
        measured: Callable[[int, FloatArray], float],
    ) -> FloatArray:
        """(n_views,), losses around `centers`, the means of these sums.

        energy : (n_views,), weighted sum of the squared lengths of the rows. Where
        digits cancel, ``measured(v, centers[v])`` takes the loss by a pass.
        """
        losses = np.empty(len(centers))
        for v, means in enumerate(centers):
            losses[v] = within_loss(energy[v], self.masses[v], means)
            if losses[v] < CANCELLATION * energy[v]:
                found = measured(v, means)
                # Sums keep rounding of the rows that have left them, so centres of
                # equal rows may be a little off. That is no loss.
                losses[v] = found if found > SAME_POINT * energy[v] else 0.0
        return losses


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepOutcome:
    """Number of labels that a sweep moved, and the view losses after it."""

    n_moved: int
    view_losses: FloatArray


@dataclass(kw_only=True, slots=True)
class Moves:
    """How many labels moved, and the sums and view losses (n_views,) that this changed.

    Both are either totals that moves are added to, or changes to be added later.
    """

    clusters: ClusterSums
    view_losses: FloatArray
    n_moved: int = 0

    @classmethod
    def none(cls, clusters: ClusterSums) -> Moves:
        """No move yet, for sums of this shape."""
        zeros = np.zeros(len(clusters.sums))
        return cls(clusters=clusters.zeros_like(), view_losses=zeros)

    def add(self, other: Moves) -> None:
        """Add other moves to these arrays."""
        if not other.n_moved:
            return
        self.clusters.add(other.clusters)
        self.view_losses += other.view_losses
        self.n_moved += other.n_moved

    def merge(self, other: Moves) -> Moves:
        """The moves of both, in new arrays."""
        total = Moves.none(self.clusters)
        total.add(self)
        total.add(other)
        return total

    def outcome(self, before: FloatArray) -> SweepOutcome:
        """What totals that moves were added to have become; `before`, (n_views,)."""
        # Rounding is all that is left of a loss that fell to nothing. An exponent
        # would make something of it.
        left = self.view_losses > SAME_POINT_EXPANDED * before
        losses = np.where(left, self.view_losses, 0.0)
        return SweepOutcome(n_moved=self.n_moved, view_losses=losses)


def cluster_sums(
    views: tuple[Rows, ...],
    labels: IntArray,
    weights: Sequence[WeightArray],
    n_clusters: int,
) -> ClusterSums:
    """Weighted sums of the rows of every cluster, by one pass over each view.

    weights : per view (n_samples,), 0 for samples that lack it.
    """
    widths = [view.n_features for view in views]
    total = ClusterSums.zeros(widths, n_clusters)

    def add_view(v: int) -> None:
        view = views[v]
        buffer = view.buffer()
        for rows in sample_blocks((view,)):
            total.add_rows(
                v,
                view,
                view.read(rows, buffer),
                np.arange(rows.stop - rows.start),
                labels[None, rows],
                weights[v][None, rows].astype(np.float64, copy=False),
            )

    large = len(sample_blocks(views)) >= FEWEST_BLOCKS
    n_threads = available_threads() if large else 1
    map_threads(add_view, range(len(views)), n_threads, widths)
    return total


def member_sums(
    views: tuple[Rows, ...], labels: IntArray, n_clusters: int
) -> ClusterSums:
    """Sums of the rows of every cluster, each sample with weight 1."""
    return cluster_sums(views, labels, [view.present for view in views], n_clusters)
