"""Where runs begin: k-means++ on the fused views, the paper's random start, labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from manyview._rows import Rows
from manyview._solvers._table import DistanceTable, sample_blocks
from manyview._typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """Centres per view, in scaled units, and labels."""

    centers: tuple[FloatArray, ...]
    labels: IntArray


def start_random(
    views: tuple[Rows, ...], n_clusters: int, random_state: np.random.RandomState
) -> Start:
    """The paper's start: k distinct samples as centres in all views, labels at random.

    The labels are drawn independently of the centres. A seed that lacks a view starts
    from the view's mean there.
    """
    n_samples = views[0].n_samples
    seeds = random_state.choice(n_samples, n_clusters, replace=False)
    labels = random_state.randint(n_clusters, size=n_samples)
    return Start(centers=_seed_centers(views, seeds), labels=labels)


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
    centers = []
    for v, view in enumerate(views):
        sums = np.zeros((n_clusters, view.n_features))
        members = labels if view.present is None else labels[view.present]
        counts = np.bincount(members, minlength=n_clusters)
        blocks = sample_blocks((view,))
        buffer = view.buffer(blocks[0].stop)
        for rows in blocks:
            # A missing row reads as zeros, so it adds nothing.
            block = view.read(rows, buffer)
            positions = np.arange(rows.stop - rows.start)
            view.add(block, positions, labels[rows], 1.0, sums)
        spare = view.mean if fallback is None else fallback[v]
        means = sums / np.maximum(counts, 1)[:, None]
        centers.append(np.where(counts[:, None] > 0, means, spare))
    return Start(centers=tuple(centers), labels=labels)


def start_kmeans_plusplus(
    views: tuple[Rows, ...], n_clusters: int, random_state: np.random.RandomState
) -> Start:
    """Greedy k-means++ on the sum of the views' squared distances.

    Each step draws ``2 + log(k)`` candidates in proportion to the distance from the
    seeds so far and keeps the one that leaves the least distance behind. Samples and
    seeds that share no view are as far apart as the average pair.
    """
    n_samples = views[0].n_samples
    n_trials = 2 + int(np.log(n_clusters))
    seeds = np.empty(n_clusters, dtype=np.intp)
    seeds[0] = random_state.choice(_complete_samples(views))
    distances = _fused_distances(views, seeds[:1])
    nearest, closest = np.zeros(n_samples, dtype=np.intp), distances[:, 0]
    for step in range(1, n_clusters):
        candidates = _draw(closest, seeds[:step], n_trials, random_state)
        distances = _fused_distances(views, candidates)
        left = np.minimum(closest[:, None], distances)
        winner = int(np.argmin(left.sum(axis=0)))
        seeds[step] = candidates[winner]
        nearest[distances[:, winner] < closest] = step
        closest = left[:, winner]
    fallback = _seed_centers(views, seeds)
    return start_from_labels(views, nearest, n_clusters, fallback)


def _draw(
    closest: FloatArray,
    taken: IntArray,
    n_trials: int,
    random_state: np.random.RandomState,
) -> IntArray:
    """Candidates in proportion to their distance; any untaken sample if all are 0."""
    weights = closest.copy()
    weights[taken] = 0.0
    if not weights.any():
        free = np.setdiff1d(np.arange(len(closest)), taken)
        return np.asarray(random_state.choice(free, 1))
    edges = np.cumsum(weights)
    places = random_state.uniform(size=n_trials) * edges[-1]
    # A place past the last edge is rounding; it belongs to the last heavy sample.
    drawn = np.searchsorted(edges, places, side="right")
    return np.asarray(np.minimum(drawn, np.flatnonzero(weights)[-1]))


def _complete_samples(views: tuple[Rows, ...]) -> IntArray:
    """Samples with the most views: the only sensible first seeds."""
    n_views = np.zeros(views[0].n_samples, dtype=np.int64)
    for view in views:
        n_views += 1 if view.present is None else view.present
    return np.flatnonzero(n_views == n_views.max())


def _seed_centers(views: tuple[Rows, ...], seeds: IntArray) -> tuple[FloatArray, ...]:
    centers = []
    for view in views:
        rows = view.dense_rows(seeds)
        if view.present is not None:
            rows[~view.present[seeds]] = view.mean
        centers.append(rows)
    return tuple(centers)


def _fused_distances(views: tuple[Rows, ...], seeds: IntArray) -> FloatArray:
    """(n_samples, n_seeds): mean over the views both have, times the view count."""
    n_samples = views[0].n_samples
    centers = [view.prepare(view.dense_rows(seeds)) for view in views]
    blocks = sample_blocks(views)
    table = DistanceTable(views, blocks[0].stop, len(seeds))
    fused = np.empty((n_samples, len(seeds)))
    incomplete = any(view.present is not None for view in views)
    for rows in blocks:
        table.load(rows, centers)
        if not incomplete:
            fused[rows] = table.distances.sum(axis=0)
            continue
        shared = np.stack([_both_have(view.present, rows, seeds) for view in views])
        total = np.where(shared, table.distances, 0.0).sum(axis=0)
        n_shared = shared.sum(axis=0)
        average = sum(2 * view.scatter / n_samples for view in views)
        fused[rows] = np.where(
            n_shared > 0, total * len(views) / np.maximum(n_shared, 1), average
        )
    # Rounding leaves a seed a little away from itself.
    fused[seeds, np.arange(len(seeds))] = 0.0
    return fused


def _both_have(present: BoolArray | None, rows: slice, seeds: IntArray) -> BoolArray:
    if present is None:
        return np.ones((rows.stop - rows.start, len(seeds)), dtype=bool)
    return np.asarray(present[rows, None] & present[seeds])
