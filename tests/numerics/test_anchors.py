"""Anchor kernels on cases computed by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from manyview._numerics._anchors import (
    first_equals,
    local_widths,
    nearest_anchors,
    self_tuning_weights,
    smallest_width,
)
from manyview._numerics._diffusion import structure_strength
from tests import reference_graph_views as reference


def find(distances, n_nearest):
    distances = np.asarray(distances, dtype=float)
    nearest = np.empty((len(distances), n_nearest), dtype=np.int32)
    found = np.empty((len(distances), n_nearest))
    nearest_anchors(distances, nearest, found)
    return nearest, found


def test_nearest_anchors_are_ascending():
    nearest, found = find([[3.0, 1.0, 2.0, 0.5], [0.0, 9.0, 4.0, 1.0]], 3)
    assert_array_equal(nearest, [[3, 1, 2], [0, 3, 2]])
    assert_array_equal(found, [[0.5, 1.0, 2.0], [0.0, 1.0, 4.0]])


def test_first_equals_are_the_first_at_distance_zero():
    points = np.array([2.0, 1.0, 2.0, 1.0, 3.0, 2.0])
    first = np.empty(6, dtype=np.intp)
    first_equals((points[:, None] - points) ** 2, first)
    assert_array_equal(first, [0, 1, 0, 1, 4, 0])


def test_of_equally_near_anchors_the_first_wins():
    nearest, _ = find([[1.0, 0.0, 1.0, 0.0, 1.0], [2.0] * 5], 3)
    assert_array_equal(nearest, [[1, 3, 0], [0, 1, 2]])


def test_as_many_nearest_as_anchors():
    nearest, found = find([[5.0, np.inf, 0.0]], 3)
    assert_array_equal(nearest, [[2, 0, 1]])
    assert_array_equal(found, [[0.0, 5.0, np.inf]])


@given(st.data())
def test_nearest_anchors_match_reference(data):
    n_anchors = data.draw(st.integers(1, 20))
    n_nearest = data.draw(st.integers(1, n_anchors))
    row = st.lists(st.integers(0, 4), min_size=n_anchors, max_size=n_anchors)
    distances = data.draw(st.lists(row, min_size=1, max_size=4))
    expected = [reference.nearest(row, n_nearest) for row in distances]
    assert_array_equal(find(distances, n_nearest)[0], expected)


@given(seed=st.integers(0, 10**6))
def test_nearest_of_many_anchors_match_reference(seed):
    rng = np.random.default_rng(seed)
    n_anchors, n_nearest = rng.integers(64, 200), rng.integers(1, 80)
    n_nearest = min(n_anchors, n_nearest)
    distances = rng.integers(rng.choice([3, 1000]), size=(3, n_anchors))
    expected = [reference.nearest(row, n_nearest) for row in distances]
    assert_array_equal(find(distances, n_nearest)[0], expected)


def test_local_widths_are_roots_with_a_floor():
    distances = np.array([[0.0, 1.0, 9.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.01]])
    assert_allclose(local_widths(distances, 2, 0.5), [3.0, 0.5, 0.5])
    assert_allclose(local_widths(distances, 1, 0.5), [1.0, 0.5, 0.5])


def test_smallest_width_is_a_tenth_of_the_positive_median():
    distances = np.array([[0.0, 4.0], [0.0, 16.0], [0.0, 36.0], [0.0, 0.0]])
    assert smallest_width(distances, 1) == pytest.approx(0.4)
    assert smallest_width(np.zeros((3, 2)), 1) == 1.0


def test_self_tuning_weights_by_hand():
    # Two anchors at squared distances 0 and 4, widths 2 and 1: exp(0) and exp(-2).
    weights = self_tuning_weights(
        np.array([[2, 0, 1]]),
        np.array([[0.0, 4.0, 100.0]]),
        np.array([2.0]),
        np.array([1.0, 5.0, 3.0]),
        2,
    ).toarray()
    second = np.exp(-2.0)
    expected = np.array([[second, 0.0, 1.0]]) / (1.0 + second)
    assert_allclose(weights, expected)


def test_self_tuning_weights_of_a_far_sample_do_not_underflow():
    weights = self_tuning_weights(
        np.array([[0, 1]]),
        np.array([[1e9, 1e9 + 1]]),
        np.array([1.0]),
        np.ones(2),
        2,
    ).toarray()
    assert_allclose(weights, [[1.0, np.exp(-1.0)]] / (1.0 + np.exp(-1.0)))


def test_structure_strength_by_hand():
    # With eigenvalues of 1 it is the participation ratio.
    assert structure_strength(np.ones(2), np.array([[1.0, 0.0], [0.0, -1.0]])) == 1.0
    alone = np.array([[3.0], [0.0], [0.0], [0.0]])
    assert structure_strength(np.ones(1), alone) == 0.25
    # Energies 1 and 4: (5 / 2)^2 / (17 / 2). Halved coordinates change only the mean.
    uneven = np.array([[1.0], [2.0]])
    assert structure_strength(np.ones(1), uneven) == pytest.approx(25 / 34)
    assert structure_strength(np.full(1, 0.5), uneven) == pytest.approx(25 / 136)
    assert structure_strength(np.ones(2), np.zeros((3, 2))) == 0.0
    assert structure_strength(np.empty(0), np.empty((3, 0))) == 0.0
