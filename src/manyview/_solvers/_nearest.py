"""The nearest cluster of every sample, by some score of its distances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from manyview._numerics._assign import first_smallest
from manyview._rows import PreparedCenters, Rows
from manyview._solvers._table import BlockWorkers, DistanceTable
from manyview._threads import Result
from manyview._typing import FloatArray, IntArray

# From rows, distances (n_views, n_rows, n_clusters) and bounds on their errors
# (n_views, n_rows) to scores (n_rows, n_clusters) and bounds on theirs, of the same
# shape or (n_rows, 1).
Score: TypeAlias = Callable[
    [slice, FloatArray, FloatArray], tuple[FloatArray, FloatArray]
]


def fused_scores(
    views: tuple[Rows, ...], centers: tuple[FloatArray, ...], weights: FloatArray
) -> Iterator[tuple[slice, FloatArray]]:
    """Block by block, the weighted mean squared distance of samples to each cluster.

    weights : (n_views,). A view that a sample lacks leaves its weight to the others.
    """
    shares = view_shares(views, weights)

    def fuse(rows: slice, distances: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("vi,vij->ij", shares[:, rows], distances))

    return use_distances(views, centers, fuse)


def use_distances(
    views: tuple[Rows, ...],
    centers: tuple[FloatArray, ...],
    use: Callable[[slice, FloatArray], Result],
) -> Iterator[tuple[slice, Result]]:
    """Block by block, what `use` makes of the squared distances, by threads.

    It is called with the rows of the block and (n_views, n_rows, n_clusters) distances,
    which are overwritten by those of another block.
    """
    # The distances themselves are asked for, not only which one is the smallest.
    prepared = [
        view.prepare(c, view.precision) for view, c in zip(views, centers, strict=True)
    ]

    def work(rows: slice, table: DistanceTable) -> Result:
        table.load(rows, prepared)
        return use(rows, table.distances)

    return BlockWorkers(views, len(centers[0])).run(work)


def nearest_clusters(
    views: tuple[Rows, ...], centers: tuple[FloatArray, ...], weights: FloatArray
) -> IntArray:
    """(n_samples,), the cluster with the smallest weighted sum of squared distances.

    weights : (n_views,). Where a sample has only views of weight 0, all count alike.
    """
    shares = view_shares(views, weights)

    def score(
        rows: slice, distances: FloatArray, rounding: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        scores = np.einsum("vi,vij->ij", shares[:, rows], distances)
        errors = np.einsum("vi,vi->i", shares[:, rows], rounding)
        return scores, errors[:, None]

    return nearest(views, _prepare(views, centers), score)


def nearest_by_distance(
    views: tuple[Rows, ...], centers: tuple[FloatArray, ...], weights: FloatArray
) -> IntArray:
    """`nearest_clusters` by weighted sums of distances that are not squared."""
    shares = view_shares(views, weights)

    def score(
        rows: slice, distances: FloatArray, rounding: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        error = rounding[:, :, None]
        plain = np.sqrt(distances)
        # |sqrt(d + e) - sqrt(d)| is at most e / sqrt(d), and at most sqrt(e).
        least = np.maximum(np.maximum(plain, np.sqrt(error)), np.finfo(np.float64).tiny)
        scores = np.einsum("vi,vij->ij", shares[:, rows], plain)
        return scores, np.einsum("vi,vij->ij", shares[:, rows], error / least)

    return nearest(views, _prepare(views, centers), score)


def nearest(
    views: tuple[Rows, ...], centers: list[PreparedCenters], score: Score
) -> IntArray:
    """(n_samples,), the cluster with the smallest score, the first one among equals.

    What rounding could turn is decided by accurate distances, and scores that differ
    by rounding only are equal: labels depend neither on the block that a sample is in
    nor on the processor.
    """
    labels = np.empty(views[0].n_samples, dtype=np.int32)

    def assign(rows: slice, table: DistanceTable) -> None:
        table.load(rows, centers)
        tied = np.empty(rows.stop - rows.start, dtype=bool)
        scores = score(rows, table.distances, table.rounding)
        first_smallest(*scores, labels[rows], tied)
        doubtful = np.flatnonzero(tied & ~table.exact)
        if doubtful.size:
            table.refine(doubtful)
            scores = score(rows, table.distances, table.rounding)
            first_smallest(*scores, labels[rows], tied)

    for _ in BlockWorkers(views, len(centers[0].values)).run(assign):
        pass
    return labels


def _prepare(
    views: tuple[Rows, ...], centers: tuple[FloatArray, ...]
) -> list[PreparedCenters]:
    return [view.prepare(c) for view, c in zip(views, centers, strict=True)]


def view_shares(views: tuple[Rows, ...], weights: FloatArray) -> FloatArray:
    """(n_views, n_samples), weight of each view for each sample; they add up to 1."""
    has = np.stack([view.present for view in views]).astype(np.float64)
    shares = weights[:, None] * has
    for v, view in enumerate(views):
        if view.shares is not None:
            shares[v] *= view.shares
    # A sample whose only views weigh nothing still has nearest centres in them.
    shares = np.where(shares.sum(axis=0) > 0, shares, has)
    return np.asarray(shares / shares.sum(axis=0))
