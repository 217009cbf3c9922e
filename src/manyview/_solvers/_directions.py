"""Clusters in the few directions that samples differ in most: where runs begin.

Most of the distance between two samples with many features is noise. Samples of one
cluster are then hardly nearer to each other than to others, and k-means++ often puts
two seeds into one cluster. Noise spreads over all directions, differences between
clusters over no more than there are clusters: in the leading directions of all views
side by side clusters stand out, and distances cost little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from manyview._numerics._centers import cluster_means
from manyview._numerics._lloyd import assign_points
from manyview._results import SAME_CRITERION
from manyview._rows import Rows
from manyview._solvers._plusplus import draw_apart
from manyview._typing import FloatArray, IntArray

# Directions beyond the number of clusters: the space that is found holds more of the
# leading ones then. With very many clusters, fewer directions tell them apart as well.
SPARE_DIRECTIONS = 6
MOST_DIRECTIONS = 64
# Views with fewer features than so many times the directions are as quick themselves.
WORTHWHILE = 4
# Leading directions of fewer samples are those of their outliers.
FEWEST_SAMPLES = 512
# Every second, third, ... sample tells the directions, at least so many.
LEARNING_SAMPLES = 1000
# Products of the rows that are multiplied at once: up to so many are quick, see
# `SMALL_PRODUCTS` of the distances; and the least number of rows.
PIECE_PRODUCTS = 1_000_000
PIECE_ROWS = 128
# Directions of more features take longer to draw than distances to compute.
MOST_FEATURES = 1 << 16
# Coordinates are whole numbers up to this: squares of their differences add up without
# rounding, so that what is drawn and which of two equal centres is nearer does not
# depend on the processor.
FINEST = 2.0**20
# The best of so many drafts is taken, each after at most so many iterations of k-means.
N_DRAFTS = 2
DRAFT_ITERATIONS = 12


def count_directions(n_clusters: int) -> int:
    return min(n_clusters + SPARE_DIRECTIONS, MOST_DIRECTIONS)


def has_directions(views: tuple[Rows, ...], n_clusters: int) -> bool:
    """Whether to look for clusters in the leading directions of these views."""
    width = sum(view.n_features for view in views)
    is_wide = WORTHWHILE * count_directions(n_clusters) < width <= MOST_FEATURES
    are_many = views[0].n_samples >= FEWEST_SAMPLES
    return is_wide and are_many and all(view.present.all() for view in views)


def leading_directions(
    views: tuple[Rows, ...], n_directions: int, random_state: np.random.RandomState
) -> FloatArray:
    """(n_samples, n_directions), whole numbers: samples in the leading directions.

    With X all views of some samples side by side, centred, the directions span
    ``X' X G`` for a random G: one step of subspace iteration.
    """
    n_samples = views[0].n_samples
    step = max(1, n_samples // LEARNING_SAMPLES)
    ends = np.cumsum([view.n_features for view in views])
    parts = [
        slice(end - view.n_features, end) for view, end in zip(views, ends, strict=True)
    ]
    random = random_state.standard_normal((int(ends[-1]), n_directions))
    found = np.zeros((-(-n_samples // step), n_directions))
    for view, part in zip(views, parts, strict=True):
        for rows in _pieces(view, n_directions, step):
            found[_learning(rows, step)] += view.points(rows)[::step] @ random[part]
    total, seen = found.sum(axis=0), np.zeros_like(random)
    for view, part in zip(views, parts, strict=True):
        for rows in _pieces(view, n_directions, step):
            seen[part] += view.points(rows)[::step].T @ found[_learning(rows, step)]
        seen[part] -= view.mean[:, None] * total
    directions = np.linalg.qr(seen)[0]
    coordinates = np.zeros((n_samples, n_directions))
    for view, part in zip(views, parts, strict=True):
        for rows in _pieces(view, n_directions, 1):
            coordinates[rows] += view.points(rows) @ directions[part]
    coordinates -= coordinates.mean(axis=0)
    furthest = float(np.abs(coordinates).max())
    if furthest > 0.0:
        coordinates *= FINEST / furthest
    return np.rint(coordinates, out=coordinates)


def _pieces(view: Rows, n_directions: int, step: int) -> Iterator[slice]:
    """Rows that are multiplied at once, whole steps of them."""
    size = max(PIECE_ROWS, PIECE_PRODUCTS // (view.n_features * n_directions))
    size = max(1, size // step) * step
    for start in range(0, view.n_samples, size):
        yield slice(start, min(start + size, view.n_samples))


def _learning(rows: slice, step: int) -> slice:
    """Where every `step`-th sample stands among those that tell the directions."""
    return slice(rows.start // step, -(-rows.stop // step))


def cluster_points(
    points: FloatArray,
    n_clusters: int,
    random_state: np.random.RandomState,
    n_trials: int | None = None,
) -> tuple[IntArray, IntArray]:
    """Labels after some iterations of k-means from the best of several seedings.

    points : (n_samples, n_directions), whole numbers. Also returns the samples that the
    clusters began with, (n_clusters,).
    """
    lengths = np.einsum("ij,ij->i", points, points)
    distances_to = _distances_to(points, lengths)
    first, best, least = np.arange(len(points)), None, np.inf
    for _ in range(N_DRAFTS):
        seeds = draw_apart(n_clusters, n_trials, first, distances_to, random_state)
        labels, loss = _settle(points, points[seeds], float(lengths.sum()))
        # Drafts that differ by rounding only are equal, and the first one wins.
        if best is None or loss < (1.0 - SAME_CRITERION) * least:
            best, least = (labels, seeds), loss
    assert best is not None
    return best


def _distances_to(
    points: FloatArray, lengths: FloatArray
) -> Callable[[IntArray], FloatArray]:
    """From rows to their squared distances to all points, (n_rows, n_samples).

    ``|x|^2 - 2 x.y + |y|^2`` is a single product of longer vectors.
    """
    n_samples, n_directions = points.shape
    right = np.empty((n_directions + 2, n_samples))
    right[0], right[1:-1], right[-1] = 1.0, points.T, lengths

    def distances_to(rows: IntArray) -> FloatArray:
        left = np.empty((len(rows), n_directions + 2))
        left[:, 0], left[:, -1] = lengths[rows], 1.0
        np.multiply(points[rows], -2.0, out=left[:, 1:-1])
        return left @ right

    return distances_to


def _settle(
    points: FloatArray, centers: FloatArray, energy: float
) -> tuple[IntArray, float]:
    """Labels after some iterations of k-means, and the summed distances they leave.

    energy : summed squared lengths of the points.
    """
    labels = np.full(len(points), -1)
    sums, counts = np.empty_like(centers), np.empty(len(centers))
    for _ in range(DRAFT_ITERATIONS):
        n_moved, loss = assign_points(points, centers, labels, sums, counts)
        if n_moved == 0:
            break
        centers = np.rint(cluster_means(sums, counts, centers))
    return labels, energy + loss
