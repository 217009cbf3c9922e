"""SAMVC against its literal transcription, and its invariants."""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from manyview._solvers._samvc import solve_samvc
from manyview._solvers._start import start_from_labels
from manyview._solvers._weighted import CentroidRun
from tests import reference_kmeans_family as reference
from tests.solvers.problems import problems
from tests.solvers.test_kmeans import make_problem, random_problem


def solve(problem, *, pacing="mixture", max_iter=30, **params):
    rows = problem.rows()
    start = start_from_labels(rows, problem.labels, len(problem.centers[0]))
    options = {**problem.parameters, **params}
    return solve_samvc(rows, start, max_iter=max_iter, pacing=pacing, **options)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("missing", [False, True])
def test_solver_equals_reference(seed, missing):
    problem = random_problem(seed)
    if missing:
        problem.views[0][5:12] = problem.views[1][20:24] = np.nan
        problem.present[0][5:12] = problem.present[1][20:24] = False
    ours = solve(problem, pace_start=0.6, n_paces=5)
    labels, weights = reference.samvc(
        problem.scaled_views(), problem.labels, 4, 0.6, 5, 30, problem.present
    )
    assert_array_equal(ours.labels, labels)
    assert_allclose(ours.view_weights, weights, rtol=1e-6)


@given(problem=problems())
def test_rounds_never_raise_the_objective_for_given_weights(problem):
    rows = problem.rows()
    start = start_from_labels(rows, problem.labels, len(problem.centers[0]))
    samples = CentroidRun(rows, start)
    samples.measure()
    distances = samples.distances()
    paced = np.random.default_rng(0).random(distances.shape)
    values = []
    for _ in range(6):
        totals = np.einsum("vi,vi->v", paced, distances)
        values.append(np.sqrt(totals[samples.informative]).sum())
        slopes = 0.5 * samples.root_weights(totals)[:, None] * paced
        samples.step(slopes / samples.safe(distances))
        distances = samples.distances()
    assert np.all(np.diff(values) <= 1e-7 * values[0] + problem.rounding)


@pytest.mark.parametrize("pacing", ["mixture", "hard"])
@given(problem=problems())
def test_view_weights_are_positive_and_results_finite(pacing, problem):
    result = solve(problem, pacing=pacing)
    assert np.all(result.view_weights >= 0)
    assert_allclose(result.view_weights.sum(), 1.0)
    assert all(np.isfinite(record.objective) for record in result.history)
    assert np.isfinite(result.unexplained).all()


def test_hard_pacing_with_one_view_ends_as_l21_kmeans():
    # One cluster, everybody in: the centre goes to the geometric median.
    view = np.array([[0.0], [1.0], [2.0], [100.0], [1.5]])
    problem = make_problem([view], 1, seed=0)
    samples_weight = solve(problem, pacing="hard", n_paces=1, max_iter=1)
    rows = problem.rows()
    start = start_from_labels(rows, problem.labels, 1)
    samples = CentroidRun(rows, start)
    samples.measure()
    first = 1.0 / samples.safe(samples.distances())[0]
    expected = np.sum(first * (view.ravel() - view.mean())) / first.sum()
    assert_allclose(samples_weight.centers[0], [[expected]])


def test_better_fitted_views_weigh_more():
    rng = np.random.default_rng(0)
    truth = np.arange(90) % 3
    good = 6.0 * np.eye(3)[truth] + 0.1 * rng.normal(size=(90, 3))
    noise = 3.0 * rng.normal(size=(90, 3))
    problem = make_problem([good, noise], 3, seed=1)
    weights = solve(problem, pace_start=0.6, n_paces=5).view_weights
    assert weights[0] > 2 * weights[1]


def test_everybody_is_assigned_in_the_end():
    # Far behind the moving centres no sample may keep the label it happened to have.
    rng = np.random.default_rng(3)
    view = np.concatenate([rng.normal(size=(40, 2)), 50 + rng.normal(size=(40, 2))])
    problem = make_problem([view], 2, seed=4)
    result = solve(problem, pace_start=0.6, n_paces=5)
    distances = [
        np.sum((problem.scaled_views()[0] - center) ** 2, axis=1)
        for center in result.centers[0]
    ]
    assert_array_equal(result.labels, np.argmin(distances, axis=0))


def test_paces_are_recorded():
    stages = [record.stage for record in solve(random_problem(), n_paces=5).history]
    assert sorted(set(stages)) == [1, 2, 3, 4, 5]
