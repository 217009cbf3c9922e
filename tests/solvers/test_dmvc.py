"""DMVC: rounds, layered start, reductions."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from manyview._numerics._factor import product
from manyview._solvers._dmvc import LayeredStart, _merge, solve_dmvc, start_layers
from tests import reference_kmeans_family as reference
from tests.solvers.problems import problems
from tests.solvers.test_kmeans import make_problem, random_problem


def solve(problem, widths=(20, 10), *, max_iter=50, tol=1e-7, seed=0):
    rows = problem.rows()
    n_clusters = len(problem.centers[0])
    source = np.random.RandomState(seed)
    starts = tuple(start_layers(row, (*widths, n_clusters), source) for row in rows)
    return starts, solve_dmvc(rows, starts, max_iter=max_iter, tol=tol)


@pytest.mark.parametrize("widths", [(), (4,), (12,), (20, 10)])
def test_wide_layers_are_auto_weighted_l21_kmeans(widths):
    """Literal rounds with weighted means in place of the factors."""
    problem = random_problem(seed=3)
    starts, ours = solve(problem, widths, max_iter=8, tol=0.0)
    views, present = problem.scaled_views(), problem.present
    floor = reference.floors(views, present)
    weights = np.ones((2, 60))
    labels = starts[0].labels.astype(int)
    centers = [product(start.layers).T for start in starts]
    objectives = []
    for iteration in range(ours.n_iter):
        own = [start.labels if iteration == 0 else labels for start in starts]
        centers = [
            reference.cent([view], own[v], weights[v : v + 1], [centers[v]])[0]
            for v, view in enumerate(views)
        ]
        labels = reference.assign(views, labels, weights, centers)
        e = reference.distances(views, labels, centers, present)
        a = 1 / (2 * np.sqrt(e.sum(axis=1)))
        weights = a[:, None] / (2 * np.maximum(e, floor[:, None]))
        objectives.append(np.sum(np.sqrt(e.sum(axis=1))))
    assert_array_equal(ours.labels, reference.settle(views, a, centers, present))
    assert_allclose([record.objective for record in ours.history], objectives)
    assert_allclose(ours.view_weights, a / a.sum())
    for mine, literal in zip(ours.centers, centers, strict=True):
        assert_allclose(mine, literal, atol=1e-9)


@pytest.mark.parametrize("widths", [(2,), (3, 3), (8, 2)])
def test_narrow_layers_bound_the_rank_of_the_centres(widths):
    rng = np.random.default_rng(0)
    problem = make_problem([rng.normal(size=(80, 7)) for _ in range(2)], 5, seed=0)
    _, result = solve(problem, widths)
    for centers in result.centers:
        values = np.linalg.svd(centers, compute_uv=False)
        assert np.all(values[min(widths) :] < 1e-8 * values[0])


@given(problem=problems(), widths=st.sampled_from([(), (3,), (2,), (20, 10), (6, 6)]))
def test_objective_never_rises_once_labels_are_shared(problem, widths):
    _, result = solve(problem, widths, tol=0.0, max_iter=15)
    objectives = [record.objective for record in result.history]
    assert np.isfinite(objectives).all()
    for before, after in pairwise(objectives):
        # Not a sum of squares but of roots of distances.
        assert after <= before + 1e-6 * objectives[0] + problem.rounding**0.25


def test_start_merges_layer_by_layer():
    problem = random_problem(seed=1)
    (start, _), _ = solve(problem, (20, 10), max_iter=1)
    shapes = [layer.shape for layer in start.layers]
    assert shapes == [(3, 20), (20, 10), (10, 4)]
    assert_array_equal(np.unique(start.labels), np.arange(4))
    # Columns of the later layers are shares of merged clusters.
    for layer in start.layers[1:]:
        assert_allclose(layer.sum(axis=0), 1.0)
        assert np.all(np.count_nonzero(layer, axis=1) == 1)
    # So the product holds the means of the merged clusters.
    view = problem.scaled_views()[0]
    means = [view[start.labels == j].mean(axis=0) for j in range(4)]
    assert_allclose(product(start.layers).T, means, atol=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_start_merges_clusters_into_groups_of_like_size(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 40, size=50).astype(float)
    counts[7] = 0.0
    merged = _merge(counts, 10, np.random.RandomState(seed))
    totals = np.bincount(merged, weights=counts, minlength=10)
    # A row joins the lightest group, so no two groups differ by more than a row.
    assert totals.max() - totals.min() <= counts.max()
    assert len(np.unique(merged[counts > 0])) == 10
    again = _merge(counts, 10, np.random.RandomState(seed + 1))
    assert not np.array_equal(merged, again)


def test_start_is_cut_down_to_the_samples_there_are():
    rng = np.random.default_rng(0)
    problem = make_problem([rng.normal(size=(6, 3))], 2, seed=0)
    (start,), _ = solve(problem, (100, 50))
    assert [layer.shape for layer in start.layers] == [(3, 6), (6, 6), (6, 2)]


def test_start_with_fewer_distinct_rows_than_clusters():
    view = np.repeat([[0.0, 1.0], [5.0, 2.0]], 10, axis=0)
    rng = np.random.default_rng(0)
    problem = make_problem([view, rng.normal(size=(20, 2))], 5, seed=0)
    starts, result = solve(problem, (8, 6))
    assert starts[0].layers[-1].shape[1] == 5
    assert np.isfinite(result.objective)


def test_first_round_fits_each_view_to_its_own_clusters():
    # Clusters of the second view are numbered the other way round, so together they
    # are wrong at first; one round of shared labels is not enough to see it.
    view = np.array([[0.0], [1.0], [10.0], [11.0]])
    problem = make_problem([view, view.copy()], 2, seed=0)
    centred = np.array([[0.5, 10.5]]) - view.mean()
    starts = (
        LayeredStart(labels=np.array([0, 0, 1, 1]), layers=(centred,)),
        LayeredStart(labels=np.array([1, 1, 0, 0]), layers=(centred[:, ::-1],)),
    )
    result = solve_dmvc(problem.rows(), starts, max_iter=1, tol=0.0)
    assert_allclose(result.centers[0].ravel(), centred.ravel())
    assert_allclose(result.centers[1].ravel(), centred.ravel()[::-1])


def test_an_empty_cluster_keeps_its_centre():
    rng = np.random.default_rng(0)
    problem = make_problem([rng.normal(size=(30, 2))], 3, seed=0)
    # Its column shares factors with the others, and would move along with them.
    layers = (rng.normal(size=(2, 4)), rng.normal(size=(4, 3)))
    layers[1][:, 2] *= 1e3
    start = LayeredStart(labels=np.arange(30) % 2, layers=layers)
    result = solve_dmvc(problem.rows(), (start,), max_iter=1, tol=0.0)
    assert not np.any(result.labels == 2)
    assert_allclose(result.centers[0][2], product(layers)[:, 2])


def test_missing_rows_do_not_count_in_the_start():
    problem = random_problem(seed=5)
    problem.views[0][:10] = np.nan
    problem.present[0][:10] = False
    starts, result = solve(problem, (12, 6))
    view = problem.scaled_views()[0]
    known = np.arange(10, 60)
    own = starts[0].labels
    means = [view[known[own[known] == j]].mean(axis=0) for j in range(4)]
    assert_allclose(product(starts[0].layers).T, means, atol=1e-6)
    assert np.isfinite(result.unexplained).all()
