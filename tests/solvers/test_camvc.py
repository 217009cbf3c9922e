"""CAMVC against its literal transcription, and its invariants."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from manyview._solvers._camvc import solve_camvc
from manyview._solvers._start import start_from_labels
from tests import reference_kmeans_family as reference
from tests.solvers.problems import problems
from tests.solvers.test_kmeans import make_problem, random_problem


def solve(problem, n_clusters, *, g=2.0, q=0.9, max_iter=100, tol=1e-6):
    rows = problem.rows()
    start = start_from_labels(rows, problem.labels, n_clusters)
    return solve_camvc(
        rows, start, weight_exponent=g, kept_share=q, max_iter=max_iter, tol=tol
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("missing", [False, True])
# The share never falls on a sample, whose distance may round to either side of the cap.
@pytest.mark.parametrize(("g", "q"), [(1.3, 0.537), (2.0, 0.873), (5.0, 1.0)])
def test_solver_equals_reference(seed, missing, g, q):
    problem = random_problem(seed, units=(1.0, 3.0))
    if missing:
        problem.views[0][5:12] = problem.views[1][20:24] = np.nan
        problem.present[0][5:12] = problem.present[1][20:24] = False
    ours = solve(problem, 4, g=g, q=q, max_iter=10, tol=0.0)
    labels, weights, objectives = reference.camvc(
        problem.scaled_views(), problem.labels, 4, g, q, ours.n_iter, problem.present
    )
    assert_array_equal(ours.labels, labels)
    assert_allclose(ours.view_weights, weights, rtol=1e-6)
    ours_objectives = [record.objective for record in ours.history]
    assert_allclose(ours_objectives, objectives, rtol=1e-6)


@given(problem=problems(), q=st.sampled_from([0.5, 0.9, 1.0]))
def test_objective_never_rises(problem, q):
    result = solve(problem, len(problem.centers[0]), q=q, tol=0.0, max_iter=30)
    # Distances below 1e-8 of a view's spread are not told from zero.
    size = sum(np.sqrt(view.scatter * view.n_samples) for view in problem.rows())
    for before, after in pairwise(result.history):
        assert after.objective <= before.objective * (1 + 1e-9) + 1e-8 * size


@given(problem=problems(), g=st.sampled_from([1.0001, 2.0, 50.0]))
def test_view_weights_are_on_the_simplex(problem, g):
    weights = solve(problem, len(problem.centers[0]), g=g).view_weights
    assert np.all(weights >= 0)
    assert_allclose(weights.sum(), 1.0)


def run(views, labels, **params):
    n_clusters = int(labels.max()) + 1
    return solve(make_problem(views, n_clusters, seed=0), n_clusters, **params)


def test_large_exponents_even_the_weights_out():
    rng = np.random.default_rng(1)
    views = [rng.normal(size=(50, 2)), 1000 * rng.normal(size=(50, 2))]
    labels = np.arange(50) % 3
    small = run(views, labels, g=2.0)
    large = run(views, labels, g=1e6)
    assert small.view_weights[0] > 0.99
    assert_allclose(large.view_weights, [0.5, 0.5], atol=1e-4)


@pytest.mark.parametrize(("q", "centre"), [(0.6, 4.0), (1.0, 6.0)])
def test_outliers_beyond_the_cap_do_not_pull_centres(q, centre):
    # Median of 0 ... 8, and of these and four samples at 1000.
    view = np.array([[x] for x in [*range(9), 1000, 1000, 1000, 1000]], dtype=float)
    result = run([view], np.zeros(13, dtype=int), q=q, tol=0.0, max_iter=300)
    assert_allclose(result.centers[0] + view.mean(), [[centre]], atol=1e-2)


def test_without_cap_one_view_is_l21_kmeans():
    # One cluster: the centre goes to the geometric median, not to the mean.
    view = np.array([[0.0], [1.0], [2.0], [100.0], [1.5]])
    result = run([view], np.zeros(5, dtype=int), q=1.0, tol=0.0, max_iter=300)
    median = 1.5 - view.mean()
    assert_allclose(result.centers[0], [[median]], atol=1e-3)
    assert_allclose(result.view_weights, [1.0])


def test_perfect_fit_gives_finite_results():
    view = np.repeat([[0.0], [5.0]], 4, axis=0)
    rng = np.random.default_rng(0)
    result = run([view, rng.normal(size=(8, 2))], np.arange(8) % 2)
    assert np.isfinite(result.view_weights).all()
    assert np.isfinite(result.objective)
