"""K-means on whole numbers: what a literal transcription gives, ties included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from manyview._numerics import _lloyd


def literal(points, centers, before):
    """Nearest centres, the first one among equals, in exact integers."""
    points, centers = points.astype(int), centers.astype(int)
    distances = ((points[:, None] - centers) ** 2).sum(axis=2)
    labels = distances.argmin(axis=1)
    sums = np.stack([points[labels == j].sum(axis=0) for j in range(len(centers))])
    counts = np.bincount(labels, minlength=len(centers))
    moved = int((labels != before).sum())
    return labels, sums, counts, moved, int(distances.min(axis=1).sum())


@given(
    seed=st.integers(0, 2**31),
    n_samples=st.integers(1, 60),
    n_clusters=st.integers(1, 7),
    reach=st.sampled_from([2, 2**20]),
)
def test_points_are_assigned_as_by_definition(seed, n_samples, n_clusters, reach):
    rng = np.random.default_rng(seed)
    # A reach of 2 makes most distances equal to others.
    points, centers = (
        rng.integers(-reach, reach + 1, size=(size, 4)).astype(float)
        for size in (n_samples, n_clusters)
    )
    labels = rng.integers(n_clusters, size=n_samples)
    expected = literal(points, centers, labels)
    sums, counts = np.empty((n_clusters, 4)), np.empty(n_clusters)
    moved, loss = _lloyd.assign_points(points, centers, labels, sums, counts)
    for got, wanted in zip((labels, sums, counts), expected[:3], strict=True):
        assert_array_equal(got, wanted)
    assert (moved, loss + (points**2).sum()) == expected[3:]


@pytest.mark.parametrize("n_clusters", [3, 100])
def test_points_are_assigned_piece_by_piece(n_clusters):
    rng = np.random.default_rng(0)
    n_samples = 2 * _lloyd.PIECE_PRODUCTS // n_clusters + 5
    points = rng.integers(-50, 50, size=(n_samples, 2)).astype(float)
    labels = np.full(n_samples, -1)
    sums, counts = np.empty((n_clusters, 2)), np.empty(n_clusters)
    _lloyd.assign_points(points, points[:n_clusters], labels, sums, counts)
    expected = literal(points, points[:n_clusters], labels)
    assert_array_equal(labels, expected[0])
    assert_array_equal(sums, expected[1])
