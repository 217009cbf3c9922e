"""Self-paced soft weights, against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar

from manyview._numerics._soft import (
    hard_weights,
    logistic_objective,
    logistic_weights,
    mixture_weights,
    rank_threshold,
)
from tests import reference_kmeans_family as reference

THRESHOLDS = [1e-6, 0.3, 1.0, 20.0]


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_logistic_weights_minimise_weighted_loss_plus_term(threshold):
    for loss in (0.01, 0.5, 3.0, 25.0):
        best = minimize_scalar(
            lambda t, loss=loss: t * loss + reference.logistic_term(t, threshold),
            bounds=(0, 1),
            method="bounded",
            options={"xatol": 1e-12},
        )
        weight = logistic_weights(np.array([loss]), threshold)[0]
        assert_allclose(weight, best.x, atol=1e-5)


def test_logistic_weights_by_hand():
    # lambda = ln 3: A = 4/3, and exp(l - lambda) = 1 at l = ln 3.
    weights = logistic_weights(np.array([0.0, np.log(3.0)]), np.log(3.0))
    assert_allclose(weights, [1.0, 2 / 3])


@given(st.floats(0, 1e5), st.lists(st.floats(0, 1e6), min_size=2, max_size=20))
def test_logistic_weights_fall_from_one_and_stay_positive(threshold, losses):
    weights = logistic_weights(np.sort(losses), threshold)
    assert np.all(np.diff(weights) <= 0)
    assert np.all((weights > 0) & (weights <= 1))
    assert logistic_weights(np.zeros(1), threshold)[0] == pytest.approx(1.0)


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_logistic_objective_equals_its_definition(threshold):
    losses = np.array([0.0, 0.2, 1.0, 7.0, 30.0])
    literal = 0.0
    for loss in losses:
        t = reference.logistic_weight(loss, threshold)
        literal += t * loss + reference.logistic_term(t, threshold)
    assert_allclose(logistic_objective(losses, threshold).sum(), literal, rtol=1e-9)


def test_logistic_objective_survives_losses_of_raw_data():
    # Far from zero t is 0 or 1: l - lambda below the threshold, 0 above it.
    value = logistic_objective(np.array([1e4, 3e4]), 2e4)
    assert_allclose(value, [-1e4, 0.0], atol=1e-9)


def test_mixture_weights_by_hand():
    # lambda = 6: 1 up to 2, 3/e - 1/2 between, 0 from 6 on.
    distances = np.array([0.0, 2.0, 3.0, 4.0, 6.0, 9.0])
    assert_allclose(mixture_weights(distances, 6.0), [1, 1, 0.5, 0.25, 0, 0])
    assert_array_equal(mixture_weights(np.array([0.0, 1.0]), 0.0), [1, 0])


@given(st.floats(1e-6, 1e6), st.lists(st.floats(0, 1e7), min_size=2, max_size=20))
def test_mixture_weights_equal_the_published_scheme(threshold, distances):
    weights = mixture_weights(np.sort(distances), threshold)
    literal = [reference.mixture_weight(e, threshold) for e in np.sort(distances)]
    assert_allclose(weights, literal, atol=1e-12)
    assert np.all(np.diff(weights) <= 0)
    assert np.all((weights >= 0) & (weights <= 1))


def test_hard_weights_include_the_threshold():
    assert_array_equal(hard_weights(np.array([1.0, 2.0, 2.1]), 2.0), [1, 1, 0])


@pytest.mark.parametrize(
    ("fraction", "expected"),
    [(0.0, 1), (0.05, 1), (0.6, 6), (0.7, 7), (0.1 + 0.2, 3), (0.71, 8), (1.0, 10)],
)
def test_rank_threshold_counts_from_the_smallest(fraction, expected):
    values = np.array([7.0, 1, 3, 10, 2, 8, 6, 9, 5, 4])
    assert rank_threshold(values, fraction) == expected


@pytest.mark.parametrize("rounding", [-1e-15, 0.0, 1e-15])
def test_rounding_around_the_threshold_weighs_nothing(rounding):
    # The threshold is the distance of a sample; taken anew, it differs by rounding.
    distances = np.array([0.3, 0.7 * (1.0 + rounding), 0.8])
    assert_array_equal(mixture_weights(distances, 0.7)[1:], [0.0, 0.0])
    assert_array_equal(hard_weights(distances, 0.7), [1.0, 1.0, 0.0])
