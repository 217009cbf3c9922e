"""The nearest cluster of every sample, by some score of its distances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import TypeAlias

import numpy as np

from manyview._rows import PreparedCenters, Rows
from manyview._solvers._table import (
    FEWEST_BLOCKS,
    DistanceTable,
    loaded_ahead,
    make_tables,
    sample_blocks,
)
from manyview._threads import available_threads, one_blas_thread
from manyview._typing import BoolArray, FloatArray, IntArray

# From rows, distances (n_views, n_rows, n_clusters) and bounds on their errors
# (n_views, n_rows) to scores and bounds on theirs, (n_rows, n_clusters) each.
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
    for rows, distances in distance_blocks(views, centers):
        yield rows, np.einsum("vi,vij->ij", shares[:, rows], distances)


def distance_blocks(
    views: tuple[Rows, ...], centers: tuple[FloatArray, ...]
) -> Iterator[tuple[slice, FloatArray]]:
    """Block by block, squared distances (n_views, n_rows, n_clusters).

    They are overwritten by those of the next block.
    """
    blocks = sample_blocks(views, len(centers[0]))
    n_threads = available_threads() if len(blocks) >= FEWEST_BLOCKS else 1
    tables = make_tables(views, blocks, len(centers[0]), n_threads)
    # The distances themselves are asked for, not only which one is the smallest.
    prepared = [
        view.prepare(c, view.precision) for view, c in zip(views, centers, strict=True)
    ]

    def load(rows: slice, table: DistanceTable) -> None:
        table.load(rows, prepared)

    with one_blas_thread() if n_threads > 1 else nullcontext():
        for rows, table, _ in loaded_ahead(blocks, tables, load):
            yield rows, table.distances


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
        return scores, np.broadcast_to(errors[:, None], scores.shape)

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
    blocks = sample_blocks(views, len(centers[0].values))
    table = DistanceTable(views, blocks[0].stop, len(centers[0].values))
    labels = np.empty(views[0].n_samples, dtype=np.int32)
    for rows in blocks:
        table.load(rows, centers)
        equal = _smallest(*score(rows, table.distances, table.rounding))
        doubtful = np.flatnonzero((equal.sum(axis=1) > 1) & ~table.exact)
        if doubtful.size:
            table.refine(doubtful)
            equal = _smallest(*score(rows, table.distances, table.rounding))
        labels[rows] = equal.argmax(axis=1)
    return labels


def _smallest(scores: FloatArray, errors: FloatArray) -> BoolArray:
    """(n_rows, n_clusters), scores that may be the smallest of their row."""
    highest = (scores + errors).min(axis=1, keepdims=True)
    return np.asarray(scores - errors <= highest)


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
