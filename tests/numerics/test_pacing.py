"""Thresholds and exponents with hand-computed answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from manyview._numerics._centers import cluster_means, within_loss
from manyview._numerics._pacing import (
    fused_objective,
    fusion_exponents,
    pace_thresholds,
    separation_shares,
    view_slopes,
)


def test_thresholds_of_the_papers_example():
    # alpha 0.5, T 6 gives beta 0.1: 0.5, 0.6, ... of the way from min to max.
    low, high = np.array([0.0, 2.0]), np.array([10.0, 4.0])
    for pace, fraction in enumerate((0.5, 0.6, 0.7, 0.8, 0.9, 1.0), start=1):
        got = pace_thresholds(low, high, pace=pace, n_paces=6, pace_start=0.5)
        assert_allclose(got, [10 * fraction, 2 + 2 * fraction])


@given(st.floats(0, 1e300), st.floats(0, 1e300), st.floats(0, 1), st.integers(1, 9))
def test_last_threshold_is_the_maximum_itself(a, b, pace_start, n_paces):
    low, high = np.array([min(a, b)]), np.array([max(a, b)])
    got = pace_thresholds(
        low, high, pace=n_paces, n_paces=n_paces, pace_start=pace_start
    )
    assert_array_equal(got, high)
    every = pace_thresholds(low, high, pace=1, n_paces=3, pace_start=1.0)
    assert_array_equal(every, high)


def test_exponents_by_hand():
    assert_allclose(fusion_exponents(np.array([2.0, 1.0, 4.0])), [0.5, 1.0, 0.25])


def test_perfect_view_stays_out_of_the_minimum():
    assert_allclose(fusion_exponents(np.array([0.0, 1.0, 4.0])), [1.0, 1.0, 0.25])
    assert_allclose(fusion_exponents(np.zeros(3)), np.ones(3))


@given(st.lists(st.floats(0, 1e308), min_size=1, max_size=6))
def test_exponents_stay_in_range(thresholds):
    exponents = fusion_exponents(np.array(thresholds))
    assert np.isfinite(exponents).all()
    assert (exponents > 0).all()
    assert exponents.max() == 1.0


def test_objective_of_zero_loss_is_zero():
    assert fused_objective(np.array([0.0, 4.0]), np.array([0.1, 0.5])) == 2.0


def test_slopes_are_derivatives():
    losses, exponents = np.array([3.0, 0.2]), np.array([0.4, 1.0])
    step = 1e-7
    for v in range(2):
        moved = losses.copy()
        moved[v] += step
        change = fused_objective(moved, exponents) - fused_objective(losses, exponents)
        assert_allclose(view_slopes(losses, exponents)[v], change / step, rtol=1e-5)
    assert np.isfinite(view_slopes(np.array([0.0, 1.0]), np.array([0.3, 1.0]))).all()


def test_means_keep_the_centre_of_an_empty_cluster():
    got = cluster_means(
        np.array([[4.0, 2.0], [0.0, 0.0]]),
        np.array([2, 0]),
        np.array([[9.0, 9.0], [7.0, 8.0]]),
    )
    assert_array_equal(got, [[2.0, 1.0], [7.0, 8.0]])


def test_within_loss_needs_no_pass():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(40, 3)), np.arange(40) % 4
    centers = np.array([rows[labels == j].mean(axis=0) for j in range(4)])
    direct = ((rows - centers[labels]) ** 2).sum()
    got = within_loss((rows**2).sum(), np.bincount(labels), centers)
    assert got == pytest.approx(direct)
    assert within_loss(1.0, np.array([1]), np.array([[1.0 + 1e-12]])) == 0.0


def test_separation_shares_are_what_the_clusters_take_from_the_objective():
    losses, exponents = np.array([0.2, 0.6, 0.5]), np.array([1.0, 0.5, 0.8])
    scatter = np.array([1.0, 2.0, 0.5])
    slopes = view_slopes(losses, exponents)
    drop = slopes * (scatter - losses)
    shares = separation_shares(slopes, scatter, losses / scatter)
    assert_allclose(shares, drop / drop.sum())
    assert shares[2] == 0.0


def test_separation_shares_of_views_that_explain_nothing_are_equal():
    ones = np.ones(3)
    assert_allclose(separation_shares(ones, np.array([1.0, 0, 2]), ones), [0.5, 0, 0.5])
    assert_allclose(separation_shares(ones, np.zeros(3), np.zeros(3)), ones / 3)
