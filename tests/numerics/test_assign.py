"""Bounds that let samples skip a sweep hold for every distance that rounding allows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from manyview._numerics import _assign
from manyview._numerics._distances import direct_distances

EXPONENTS = np.array([1.0, 0.6, 0.8])
VIEW_LOSSES = np.array([40.0, 25.0, 60.0])


def slopes():
    slope = np.empty(3)
    _assign.linearise(VIEW_LOSSES, EXPONENTS, slope, np.empty(3), np.empty(3))
    return slope


def sweep(assignment, distances, rounding, selected, labels):
    """Upper and lower bounds, and the labels, after one sweep over all rows."""
    n_rows = len(labels)
    upper, lower = np.zeros(n_rows), np.full(n_rows, -np.inf)
    exact, rows = np.ones(n_rows, dtype=bool), np.arange(n_rows)
    labels = labels.astype(np.int32)
    if assignment == "sequential":
        # Losses so large that a move does not bend the tangent noticeably.
        losses = VIEW_LOSSES.copy()
        wide = np.full(3, 1e-3)
        end = _assign.sweep_sequential(
            *(distances, rounding, exact, rows, selected, EXPONENTS, slopes(), wide),
            *(0, losses, labels, upper, lower),
        )
        assert end == n_rows
    else:
        left = _assign.sweep_majorize(
            *(distances, rounding, exact, rows, selected, VIEW_LOSSES, EXPONENTS),
            *(np.ones(n_rows, dtype=bool), np.zeros(3), labels, upper, lower),
        )
        assert left == 0
    return upper, lower, labels


@pytest.mark.parametrize("assignment", ["sequential", "majorize"])
@given(seed=st.integers(0, 9999))
def test_bounds_hold_whatever_rounding_did(assignment, seed):
    rng = np.random.default_rng(seed)
    distances = rng.uniform(0.5, 1.0, size=(3, 8, 4))
    rounding = rng.uniform(0.0, 0.4, size=(3, 8))
    selected = rng.random((3, 8)) < 0.8
    labels = rng.integers(4, size=8)
    upper, lower, labels = sweep(assignment, distances, rounding, selected, labels)
    weights = slopes()[:, None] * selected
    error = np.einsum("vi,vi->i", weights, rounding)
    fused = np.einsum("vi,vij->ij", weights, distances)
    own = fused[np.arange(8), labels]
    fused[np.arange(8), labels] = np.inf
    other = fused.min(axis=1)
    some = selected.any(axis=0)
    # The true distances may be larger or smaller by the error, and no more.
    assert (upper[some] ** 2 >= (own + error)[some] - 1e-12).all()
    assert (lower[some] ** 2 <= np.maximum(other - error, 0.0)[some] + 1e-12).all()
    # Tight: bounds that say nothing would hold as well.
    np.testing.assert_allclose(upper[some] ** 2, (own + error)[some])
    tight = np.maximum(other - error, 0.0)[some]
    np.testing.assert_allclose(lower[some] ** 2, tight, atol=1e-12)
    # Without a view there is nothing to decide, in any sweep to come.
    assert_array_equal(lower[~some], np.inf)


@given(seed=st.integers(0, 9999))
def test_a_selection_is_a_weight_of_0_or_1(seed):
    rng = np.random.default_rng(seed)
    distances = rng.uniform(0.5, 1.0, size=(3, 20, 4))
    rounding = np.full((3, 20), 1e-12)
    selected = rng.random((3, 20)) < 0.7
    labels = rng.integers(4, size=20)
    for weights in (selected, selected.astype(float)):
        found = sweep("majorize", distances, rounding, weights, labels)
        if weights is selected:
            expected = found
    for ours, theirs in zip(found, expected, strict=True):
        assert_array_equal(ours, theirs)


@given(phi=st.floats(1e-6, 1e6), eta=st.floats(0.05, 0.95), share=st.floats(-1, 1))
def test_the_tangent_bounds_changes_within_its_reach(phi, eta, share):
    slope, bend, reach = np.empty(1), np.empty(1), np.empty(1)
    _assign.linearise(np.array([phi]), np.array([eta]), slope, bend, reach)
    delta = share * reach[0]
    exact = phi**eta * np.expm1(eta * np.log1p(delta / phi))
    highest = slope[0] * delta
    noise = 1e-12 * slope[0] * reach[0]
    assert highest - bend[0] * delta**2 - noise <= exact <= highest + noise


def test_a_row_on_its_centre_has_distance_zero():
    rows = np.array([[0.1, 3.0], [0.1, 4.0]])
    centers = rows[:1] * (1.0 + 2 * np.finfo(float).eps)
    norms, center_norms = (rows**2).sum(axis=1), (centers**2).sum(axis=1)
    out, rounding = np.empty((2, 1)), np.empty(2)
    direct_distances(rows, np.arange(2), norms, centers, center_norms, out, rounding)
    assert out[0, 0] == 0.0
    assert out[1, 0] == pytest.approx(1.0)


def test_a_sample_that_is_most_of_its_views_goes_where_the_objective_says():
    """Eq. (16) takes the sample's own loss out before Eq. (17) puts the new one in."""
    rng = np.random.default_rng(0)
    exponents = np.array([0.3, 1.0])
    selected = np.ones(2, dtype=bool)
    for _ in range(300):
        distances = rng.random((2, 3))
        view_losses = distances[:, 0] + 0.05 * rng.random(2)
        rest = view_losses - distances[:, 0]
        objectives = ((rest[:, None] + distances) ** exponents[:, None]).sum(axis=0)
        found = _assign._best_by_powers(
            distances, selected, view_losses, exponents, 0, 0.0
        )
        assert found == objectives.argmin()


def test_bounds_from_some_centres_allow_for_rounding():
    """Hand-computed: fused distances 2, 8 and 18 with an error of 1."""
    upper, lower = np.array([np.inf]), np.array([-np.inf])
    _assign.tighten_bounds(
        np.array([[[9.0, 1.0, 4.0]]]),
        np.array([[0.5]]),
        np.array([5, 3, 1]),
        np.array([0]),
        np.array([3], dtype=np.int32),
        np.array([[True]]),
        np.array([2.0]),
        np.array([100.0]),
        upper,
        lower,
    )
    assert upper[0] == pytest.approx(np.sqrt(2.0 + 1.0))
    assert lower[0] == pytest.approx(np.sqrt(8.0 - 1.0))


def test_a_perfect_view_is_never_decided_by_rounding():
    """A distance that rounding made larger in a perfect view must not pin a sample."""
    distances = np.array([[[0.5, 0.5 + 1e-16]], [[9.0, 1.0]]])
    rounding = np.array([[1e-15], [1e-15]])
    labels, pending = np.zeros(1, dtype=np.int32), np.ones(1, dtype=bool)

    def sweep_at_once(exact):
        return _assign.sweep_majorize(
            *(distances, rounding, np.array([exact]), np.arange(1), np.ones((2, 1))),
            *(np.array([0.0, 40.0]), np.array([0.5, 0.5]), pending, np.zeros(2)),
            *(labels, np.zeros(1), np.zeros(1)),
        )

    assert sweep_at_once(exact=False) == 1
    assert pending[0]
    assert labels[0] == 0
    # Differences say that both centres are equally far in the perfect view.
    distances[0, 0, 1] = 0.5
    assert sweep_at_once(exact=True) == 0
    assert labels[0] == 1


@given(seed=st.integers(0, 10**6))
def test_a_label_that_the_bounds_call_safe_is_the_best(seed):
    rng = np.random.default_rng(seed)
    losses, exponents = rng.uniform(1.0, 50.0, 3), rng.uniform(0.1, 1.0, 3)
    slope = np.empty(3)
    _assign.linearise(losses, exponents, slope, np.empty(3), np.empty(3))
    anchor = slope * rng.uniform(0.8, 1.25, 3)
    # From samples that hardly count to ones that are most of their view.
    widest = losses * 10.0 ** rng.uniform(-3.0, 1.0, 3)
    slack = _assign.bound_slack(losses, exponents, slope, anchor, widest)
    assert slack >= 1.0
    own = np.minimum(losses, widest) * 10.0 ** rng.uniform(-4.0, 0.0, (200, 3))
    other = widest * rng.random((200, 3))
    safe = np.sqrt(other @ anchor) > slack * np.sqrt(own @ anchor)
    after = ((losses - own + other) ** exponents).sum(axis=1)
    before = (losses**exponents).sum()
    assert (after[safe] >= before * (1.0 - 1e-12)).all()


def test_a_tie_within_the_noise_keeps_the_current_label():
    values = np.array([3.0, 1.0, 1.5, 1.0])
    assert _assign.first_best(values, 2, 0.5) == 2
    assert _assign.first_best(values, 2, 0.4) == 1
    assert _assign.first_best(values, 3, 0.0) == 3
    assert _assign.first_best(values, 0, 0.5) == 1


@given(
    seed=st.integers(0, 10**6),
    n_clusters=st.integers(1, 6),
    one_error=st.booleans(),
)
def test_the_first_score_that_may_be_the_smallest_is_found(seed, n_clusters, one_error):
    rng = np.random.default_rng(seed)
    scores = rng.integers(6, size=(30, n_clusters)).astype(float)
    errors = rng.choice([0.0, 0.5, 2.0], size=(30, 1 if one_error else n_clusters))
    places, tied = np.empty(30, dtype=np.int32), np.empty(30, dtype=bool)
    _assign.first_smallest(scores, errors, places, tied)
    highest = (scores + errors).min(axis=1, keepdims=True)
    possible = scores - errors <= highest
    assert_array_equal(places, possible.argmax(axis=1))
    assert_array_equal(tied, possible.sum(axis=1) > 1)


@pytest.mark.parametrize("dtype", [bool, float])
def test_moves_take_rows_out_of_one_cluster_into_another(dtype):
    rows, before = np.array([1, 2, 4, 5]), np.array([9, 0, 1, 9, 2, 3])
    after = np.array([0, 0, 3, 0, 2, 1])
    weights = np.array([[1, 1, 0, 1, 1, 1], [1, 1, 2, 1, 1, 1]]).astype(dtype)
    slots, clusters, signed = _assign.find_moves(rows, before, after, weights)
    # Rows 2 and 5; rows 0 and 3 have no slot.
    assert_array_equal(slots, [1, 3])
    assert_array_equal(clusters, [[1, 3], [3, 1]])
    expected = weights[:, [2, 5]].astype(float)
    assert_array_equal(signed[:, 0], -expected)
    assert_array_equal(signed[:, 1], expected)
