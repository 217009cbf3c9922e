"""Greedy k-means++: which samples clusters begin with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from manyview._results import SAME_CRITERION
from manyview._typing import FloatArray, IntArray


def draw_apart(
    n_clusters: int,
    n_trials: int | None,
    first: IntArray,
    distances_to: Callable[[IntArray], FloatArray],
    random_state: np.random.RandomState,
) -> IntArray:
    """(n_clusters,), samples far apart from each other.

    The first one is drawn from `first`. Each further step draws `n_trials` candidates
    (None: ``2 + log(k)``) in proportion to the distance from the samples so far and
    keeps the one that leaves the least distance behind. distances_to : from rows to
    their squared distances to all samples, (n_rows, n_samples), in a new array.
    """
    n_trials = n_trials or default_trials(n_clusters)
    taken = np.empty(n_clusters, dtype=np.intp)
    taken[0] = first[random_state.randint(len(first))]
    (closest,) = distances_to(taken[:1])
    for step in range(1, n_clusters):
        candidates = draw(closest, taken[:step], n_trials, random_state)
        distances = distances_to(candidates)
        left = np.minimum(closest, distances, out=distances)
        totals = left.sum(axis=1)
        # Candidates that differ by rounding only are equal, and the first one wins.
        winner = int(np.argmax(totals <= (1.0 + SAME_CRITERION) * totals.min()))
        taken[step] = candidates[winner]
        closest = left[winner]
    return taken


def default_trials(n_clusters: int) -> int:
    return 2 + int(np.log(n_clusters))


def draw(
    closest: FloatArray,
    taken: IntArray,
    n_trials: int,
    random_state: np.random.RandomState,
) -> IntArray:
    """Candidates in proportion to their distance; any untaken sample if all are 0."""
    weights = closest.copy()
    weights[taken] = 0.0
    edges = np.cumsum(weights)
    if not edges[-1] > 0.0:
        free = np.setdiff1d(np.arange(len(closest)), taken)
        return np.asarray(random_state.choice(free, 1))
    places = random_state.uniform(size=n_trials) * edges[-1]
    drawn = np.searchsorted(edges, places, side="right")
    if drawn.max() == len(edges):
        # A place past the last edge is rounding; it belongs to the last heavy sample.
        drawn = np.minimum(drawn, np.flatnonzero(weights)[-1])
    return np.asarray(drawn)
