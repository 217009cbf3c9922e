"""MSPL against its literal transcription, and its invariants."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from manyview._solvers._kmeans import solve_kmeans
from manyview._solvers._mspl import solve_mspl
from manyview._solvers._start import start_from_labels
from tests import reference_kmeans_family as reference
from tests.solvers.problems import problems
from tests.solvers.test_kmeans import make_problem, random_problem


def solve(problem, *, loss_unit="literal", max_iter=20, **params):
    rows = problem.rows()
    start = start_from_labels(rows, problem.labels, len(problem.centers[0]))
    options = {**problem.parameters, **params}
    return solve_mspl(rows, start, max_iter=max_iter, loss_unit=loss_unit, **options)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("missing", [False, True])
def test_solver_equals_reference(seed, missing):
    problem = random_problem(seed)
    if missing:
        problem.views[0][5:12] = problem.views[1][20:24] = np.nan
        problem.present[0][5:12] = problem.present[1][20:24] = False
    ours = solve(problem, pace_start=0.5, n_paces=4)
    labels, records = reference.mspl(
        problem.scaled_views(), problem.labels, 4, 0.5, 4, 20, problem.present
    )
    assert_array_equal(ours.labels, labels)
    assert [record.stage for record in ours.history] == [pace for pace, _ in records]
    ours_objectives = [record.objective for record in ours.history]
    assert_allclose(ours_objectives, [value for _, value in records], rtol=1e-8)


@pytest.mark.parametrize("loss_unit", ["literal", "median"])
@given(problem=problems())
def test_objective_never_rises_within_a_pace(loss_unit, problem):
    history = solve(problem, loss_unit=loss_unit).history
    # Every sample's share of the objective is of the order of max(1, lambda).
    size = max(abs(record.objective) for record in history) + len(problem.labels)
    for before, after in pairwise(history):
        if before.stage == after.stage:
            assert after.objective <= before.objective + 1e-9 * size


def test_losses_far_below_one_make_it_kmeans():
    # All weights are then 1 up to 1e-12, as with lambda = infinity.
    problem = random_problem(units=(1e-6, 1e-6))
    ours = solve(problem, n_paces=1, max_iter=100)
    rows = problem.rows()
    start = start_from_labels(rows, problem.labels, 4)
    lloyd = solve_kmeans(rows, start, max_iter=100)
    assert_array_equal(ours.labels, lloyd.labels)
    assert_allclose(ours.unexplained, lloyd.unexplained, rtol=1e-9)


def test_median_unit_is_free_of_the_units_of_a_view():
    # The factor is a power of two, so that rounding is the same in both.
    plain = random_problem(units=(1.0, 1.0))
    blown = random_problem(units=(1.0, 1024.0))
    one = solve(plain, loss_unit="median", n_paces=4)
    two = solve(blown, loss_unit="median", n_paces=4)
    assert_array_equal(one.labels, two.labels)
    assert_allclose(one.objective, two.objective)
    literal = solve(blown, n_paces=4)
    assert not np.array_equal(literal.labels, one.labels)


def test_poor_views_weigh_less():
    rng = np.random.default_rng(0)
    truth = np.arange(90) % 3
    good = 6.0 * np.eye(3)[truth] + 0.3 * rng.normal(size=(90, 3))
    noise = 3.0 * rng.normal(size=(90, 3))
    problem = make_problem([good, noise], 3, seed=1)
    weights = solve(problem, pace_start=0.5, n_paces=6).view_weights
    assert weights[0] > weights[1]
    assert_allclose(weights.sum(), 1.0)


def test_one_pace_lets_everybody_join():
    problem = random_problem()
    history = solve(problem, pace_start=0.1, n_paces=1).history
    everybody = solve(problem, pace_start=1.0, n_paces=1).history
    assert history[0].objective == everybody[0].objective


def test_only_the_last_pace_must_settle():
    problem = random_problem(n_samples=200)
    assert not solve(problem, n_paces=1, max_iter=1).converged
    assert solve(problem, n_paces=8, max_iter=6).converged
