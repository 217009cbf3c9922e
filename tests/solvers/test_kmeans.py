"""Lloyd's algorithm on views side by side, against scikit-learn's."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans

from manyview._solvers._kmeans import solve_kmeans
from manyview._solvers._start import Start
from tests import reference_kmeans_family as reference
from tests.solvers.problems import Problem, as_sparse, problems


def make_problem(views, n_clusters, seed):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(len(views[0])) % n_clusters)
    seeds = rng.permutation(len(labels))[:n_clusters]
    return Problem(
        views=views,
        present=list(reference.everybody(views)),
        labels=labels,
        centers=[view[seeds] for view in views],
        pace_start=0.5,
        n_paces=2,
    )


def random_problem(seed=0, units=(1.0, 1.0), n_samples=60, n_clusters=4):
    rng = np.random.default_rng(seed)
    truth = np.arange(n_samples) % n_clusters
    views = [
        unit * (2 * rng.normal(size=(n_clusters, 3))[truth])
        + unit * rng.normal(size=(n_samples, 3))
        for unit in units
    ]
    return make_problem(views, n_clusters, seed)


def off_the_samples(start):
    """The start with its centres moved a little.

    A centre on a sample may coincide with that of another cluster. In a view of large
    units this is a tie for all that rounding can tell, whatever smaller views say.
    """
    centers = tuple(1.1 * center for center in start.centers)
    return Start(centers=centers, labels=start.labels)


def lloyd(views, labels, centers, present, max_iter=50):
    """The same by the literal weighted steps, all weights one."""
    weights = np.array(present, dtype=float)
    for _ in range(max_iter):
        centers = reference.cent(views, labels, weights, centers)
        moved = reference.assign(views, labels, weights, centers)
        if np.array_equal(moved, labels):
            break
        labels = moved
    return labels, centers


@given(problem=problems())
def test_solver_equals_literal_steps(problem):
    start = off_the_samples(problem.start())
    result = solve_kmeans(problem.rows(), start, max_iter=50)
    views = problem.scaled_views()
    labels, centers = lloyd(views, start.labels, start.centers, problem.present)
    assert_array_equal(result.labels, labels)
    e = reference.distances(views, labels, centers, problem.present)
    assert_allclose(result.objective, np.sum(e**2), rtol=1e-7, atol=problem.rounding)


def test_solver_equals_scikit_learn_on_the_concatenation():
    rng = np.random.default_rng(5)
    views = [rng.normal(size=(300, 3)), 2 * rng.normal(size=(300, 5))]
    problem = make_problem(views, n_clusters=6, seed=1)
    result = solve_kmeans(problem.rows(), problem.start(), max_iter=300)
    assert result.converged
    table = np.hstack(views)
    means = [table[problem.labels == j].mean(axis=0) for j in range(6)]
    theirs = KMeans(6, init=np.array(means), n_init=1, tol=0, max_iter=300).fit(table)
    assert_array_equal(result.labels, theirs.labels_)
    assert_allclose(result.objective, theirs.inertia_, rtol=1e-9)


@given(problem=problems())
def test_inertia_never_rises(problem):
    history = solve_kmeans(problem.rows(), problem.start(), max_iter=50).history
    for before, after in pairwise(history):
        assert after.objective <= before.objective * (1 + 1e-9) + problem.rounding


def test_limit_is_reported():
    rng = np.random.default_rng(0)
    problem = make_problem([rng.normal(size=(200, 4))], n_clusters=7, seed=0)
    result = solve_kmeans(problem.rows(), problem.start(), max_iter=2)
    assert not result.converged
    assert result.n_iter == len(result.history) == 2


def test_sparse_views_go_the_same_way():
    rng = np.random.default_rng(2)
    views = [
        rng.binomial(1, 0.3, size=(60, 12)).astype(float),
        rng.normal(size=(60, 2)),
    ]
    problem = make_problem(views, n_clusters=4, seed=3)
    dense = solve_kmeans(problem.rows(), problem.start(), max_iter=50)
    rows = problem.rows(views=[as_sparse(views)[0], views[1]])
    start = problem.start()
    sparse_start = Start(
        centers=(problem.centers[0], start.centers[1]), labels=start.labels
    )
    thin = solve_kmeans(rows, sparse_start, max_iter=50)
    assert_array_equal(dense.labels, thin.labels)


def test_unexplained_share_by_hand():
    # Scatter 4 * 25 around the mean, 4 * 1 around the two centres.
    view = np.array([[-6.0], [-4.0], [4.0], [6.0]])
    problem = make_problem([view], n_clusters=2, seed=0)
    result = solve_kmeans(problem.rows(), problem.start(), max_iter=20)
    assert result.unexplained == pytest.approx([4 / 104])
    assert result.objective == pytest.approx(4.0)
