"""Where runs begin: k-means++ on the fused views, random samples, labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np
from sklearn.utils.random import sample_without_replacement

from manyview._results import SAME_CRITERION
from manyview._rows import Rows
from manyview._solvers._cluster_sums import member_sums
from manyview._solvers._directions import (
    cluster_points,
    count_directions,
    has_directions,
    leading_directions,
)
from manyview._solvers._local import LocalSamples
from manyview._solvers._nearest import nearest
from manyview._solvers._plusplus import default_trials, draw_apart
from manyview._solvers._state import SampleState
from manyview._solvers._table import BlockWorkers, DistanceTable
from manyview._typing import BoolArray, FloatArray, IntArray

# Views, number of clusters, source of chance -> start.
DrawStart: TypeAlias = Callable[[tuple[Rows, ...], int, np.random.RandomState], "Start"]

# Seeds are drawn from at most so many samples, or so many per cluster if that is more.
SEEDING_SAMPLES = 1 << 12
SEEDING_SAMPLES_PER_CLUSTER = 20
# Where that leaves samples out, seeding is cheap: the best of so many drafts is taken,
# each after so many iterations of k-means. Of many clusters there are fewer: together
# they take no more than so many distances.
N_DRAFTS = 4
DRAFT_ITERATIONS = 5
DRAFT_DISTANCES = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """Centres per view, in scaled units, and labels."""

    centers: tuple[FloatArray, ...]
    labels: IntArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Seeds:
    """Samples that clusters begin with.

    points : per view (n_clusters, n_features_v), zero where a seed lacks the view;
    present : (n_views, n_clusters) bool, which views each seed has.
    apart : distance of a sample to a seed that it shares no view with.
    """

    points: tuple[FloatArray, ...]
    present: BoolArray
    apart: float

    def centers(self, means: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
        """Their rows, with the view's mean where a seed lacks a view."""
        return tuple(
            np.where(has[:, None], points, mean)
            for points, has, mean in zip(self.points, self.present, means, strict=True)
        )


def start_random(
    views: tuple[Rows, ...], n_clusters: int, random_state: np.random.RandomState
) -> Start:
    """K distinct samples as centres in all views, and unrelated labels at random.

    The labels are drawn independently of the centres. A seed that lacks a view starts
    from the view's mean there.
    """
    n_samples = views[0].n_samples
    rows = random_state.choice(n_samples, n_clusters, replace=False)
    labels = random_state.randint(n_clusters, size=n_samples)
    means = tuple(view.mean for view in views)
    return Start(centers=seeds_at(views, rows).centers(means), labels=labels)


def start_random_labels(
    views: tuple[Rows, ...], n_clusters: int, random_state: np.random.RandomState
) -> Start:
    """Uniform random labels, no cluster empty, and the means they lead to."""
    n_samples = views[0].n_samples
    labels = random_state.randint(n_clusters, size=n_samples)
    firsts = random_state.choice(n_samples, n_clusters, replace=False)
    labels[firsts] = np.arange(n_clusters)
    return start_from_labels(views, labels, n_clusters)


def start_from_labels(
    views: tuple[Rows, ...],
    labels: IntArray,
    n_clusters: int,
    fallback: tuple[FloatArray, ...] | None = None,
) -> Start:
    """Centres are the means of the given clusters.

    Where a cluster has no sample with a view, its centre there comes from `fallback`,
    or is the view's mean.
    """
    centers = member_sums(views, labels, n_clusters).means(fallback)
    return Start(centers=centers, labels=labels)


def start_kmeans_plusplus(
    views: tuple[Rows, ...],
    n_clusters: int,
    random_state: np.random.RandomState,
    n_local_trials: int | None = None,
    *,
    n_drafts: int = 1,
    project: bool = False,
) -> Start:
    """Greedy k-means++ on the sum of the views' squared distances.

    Many samples are seeded from some of them, drawn at random: seeding takes a pass
    per cluster, and more than `SEEDING_SAMPLES` hardly change what it finds. n_drafts :
    seedings of few samples of which the best one is taken. project : whether to look
    for clusters in the leading directions of wide views.
    """
    rows = seeding_rows(views[0].n_samples, n_clusters, random_state)
    some = views if rows is None else tuple(view.take(rows) for view in views)
    n_drafts = n_drafts if rows is None else N_DRAFTS
    seeds = draft_seeds(
        some, n_clusters, random_state, n_drafts, n_local_trials, project=project
    )
    labels = nearest_seeds(views, seeds)
    means = tuple(view.mean for view in views)
    return start_from_labels(views, labels, n_clusters, seeds.centers(means))


def seeding_rows(
    n_samples: int, n_clusters: int, random_state: np.random.RandomState
) -> IntArray | None:
    """Samples to draw seeds from, in ascending order; None for all of them."""
    n_wanted = max(SEEDING_SAMPLES, SEEDING_SAMPLES_PER_CLUSTER * n_clusters)
    if n_samples <= n_wanted:
        return None
    drawn = sample_without_replacement(n_samples, n_wanted, random_state=random_state)
    return np.sort(drawn)


def projected_seeds(
    views: tuple[Rows, ...],
    n_clusters: int,
    random_state: np.random.RandomState,
    n_local_trials: int | None = None,
) -> Seeds:
    """Means of clusters that were found in the leading directions of the views."""
    n_directions = count_directions(n_clusters)
    points = leading_directions(views, n_directions, random_state)
    labels, taken = cluster_points(points, n_clusters, random_state, n_local_trials)
    seeds = seeds_at(views, taken)
    means = member_sums(views, labels, n_clusters).means(seeds.points)
    return replace(seeds, points=means)


def draft_seeds(
    views: tuple[Rows, ...],
    n_clusters: int,
    random_state: np.random.RandomState,
    n_drafts: int,
    n_local_trials: int | None = None,
    *,
    project: bool = False,
) -> Seeds:
    """Centres after some iterations of k-means, from the best of several seedings.

    A single seeding often puts two seeds into one cluster, and k-means does not get
    them out of it. The best draft leaves the smallest fused distances behind. A single
    draft is taken as it is drawn.
    """
    if project and has_directions(views, n_clusters):
        return projected_seeds(views, n_clusters, random_state, n_local_trials)
    if n_drafts == 1:
        return draw_seeds(views, n_clusters, random_state, n_local_trials)
    best, least = None, np.inf
    affordable = DRAFT_DISTANCES // (views[0].n_samples * n_clusters)
    for _ in range(int(np.clip(affordable, 1, n_drafts))):
        seeds = draw_seeds(views, n_clusters, random_state, n_local_trials)
        drafted, loss = _settle(views, seeds)
        # Drafts that differ by rounding only are equal, and the first one wins.
        if best is None or loss < (1.0 - SAME_CRITERION) * least:
            best, least = drafted, loss
    assert best is not None
    return best


def _settle(views: tuple[Rows, ...], seeds: Seeds) -> tuple[Seeds, float]:
    """Seeds after some iterations of k-means, and the summed losses they leave."""
    n_views, n_clusters = seeds.present.shape
    state = SampleState.begin(nearest_seeds(views, seeds), n_views)
    samples = LocalSamples(views, state, n_clusters)
    samples.select(np.full(n_views, np.inf), pace=1)
    centers = seeds.centers(tuple(view.mean for view in views))
    for _ in range(DRAFT_ITERATIONS):
        centers = samples.clusters.means(centers)
        losses = samples.view_losses(centers)
        outcome = samples.sweep(centers, losses, np.ones(n_views))
        if outcome.n_moved == 0:
            break
    drafted = replace(seeds, points=centers, present=np.ones_like(seeds.present))
    return drafted, float(outcome.view_losses.sum())


def draw_seeds(
    views: tuple[Rows, ...],
    n_clusters: int,
    random_state: np.random.RandomState,
    n_local_trials: int | None = None,
) -> Seeds:
    """Greedy k-means++, see `draw_apart`.

    Samples and seeds that share no view are as far apart as the average pair.
    """
    n_trials = n_local_trials or default_trials(n_clusters)
    workers = BlockWorkers(views, n_trials)

    def distances_to(rows: IntArray) -> FloatArray:
        return _distances_between(views, rows, workers)

    first = _complete_samples(views)
    taken = draw_apart(n_clusters, n_trials, first, distances_to, random_state)
    return seeds_at(views, taken)


def seeds_at(views: tuple[Rows, ...], rows: IntArray) -> Seeds:
    """Some samples as seeds."""
    return Seeds(
        points=tuple(view.dense_rows(rows) for view in views),
        present=np.stack([view.present[rows] for view in views]),
        apart=sum(2 * view.scatter / view.n_samples for view in views),
    )


def nearest_seeds(views: tuple[Rows, ...], seeds: Seeds) -> IntArray:
    """(n_samples,), the seed with the smallest fused distance."""
    centers = [view.prepare(p) for view, p in zip(views, seeds.points, strict=True)]
    return nearest(views, centers, partial(_fuse, views, seeds))


def _complete_samples(views: tuple[Rows, ...]) -> IntArray:
    """Samples with the most views: the only sensible first seeds."""
    n_views = np.sum([view.present for view in views], axis=0)
    return np.flatnonzero(n_views == n_views.max())


def _distances_between(
    views: tuple[Rows, ...], rows: IntArray, workers: BlockWorkers
) -> FloatArray:
    """(n_rows, n_samples), fused distances of some samples to all.

    workers : with room for so many clusters.
    """
    distances = np.empty((len(rows), views[0].n_samples))
    seeds = seeds_at(views, rows)
    # Draws follow these distances: what differs by rounding must hardly move them.
    centers = [
        view.prepare(points, view.precision)
        for view, points in zip(views, seeds.points, strict=True)
    ]

    def fill_in(block: slice, table: DistanceTable) -> None:
        table.load(block, centers)
        fused, errors = _fuse(views, seeds, block, table.distances, table.rounding)
        # Rounding leaves a sample a little away from itself and from its duplicates.
        distances[:, block] = np.where(fused > errors, fused, 0.0).T

    for _ in workers.run(fill_in):
        pass
    return distances


def _fuse(
    views: tuple[Rows, ...],
    seeds: Seeds,
    rows: slice,
    distances: FloatArray,
    rounding: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Mean over shared views, times n_views, and its error, see `Score`."""
    present = np.stack([view.present[rows] for view in views])
    if seeds.present.all() and present.all():
        return distances.sum(axis=0), rounding.sum(axis=0)[:, None]
    shared = present[:, :, None] & seeds.present[:, None, :]
    n_shared = shared.sum(axis=0)
    per_view = len(views) / np.maximum(n_shared, 1)
    mean = np.where(shared, distances, 0.0).sum(axis=0) * per_view
    error = np.where(shared, rounding[:, :, None], 0.0).sum(axis=0) * per_view
    return np.where(n_shared > 0, mean, seeds.apart), error
