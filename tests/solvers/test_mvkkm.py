"""Multi-view kernel k-means: steps against formulas, reductions, invariants."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans

from manyview._numerics._gram import equalise_scatter, gaussian_kernel, linear_kernel
from manyview._rows import open_views
from manyview._scaling import learn_scales
from manyview._solvers import _mvkkm
from manyview._solvers._history import History
from manyview._solvers._mvkkm import ViewKernels
from manyview._views import check_views
from tests import reference_graphs as reference


def make_views(n_samples=45, seed=0):
    rng = np.random.RandomState(seed)
    truth = np.arange(n_samples) % 3
    return [
        2 * rng.normal(size=(3, width))[truth] + rng.normal(size=(n_samples, width))
        for width in (3, 5, 2)
    ]


def gaussian(view):
    return gaussian_kernel(view)[0]


def prepare(views, kernel=gaussian):
    kernels = [kernel(view) for view in views]
    for matrix in kernels:
        equalise_scatter(matrix)
    n_views = len(views)
    return ViewKernels(
        kernels=tuple(kernels), kept=tuple(range(n_views)), n_views=n_views
    )


def solve(prepared, labels, n_clusters=3, **options):
    settings = {"power": 1.5, "max_iter": 100, "tol": 1e-4, **options}
    return _mvkkm.solve_mvkkm(prepared, labels, n_clusters, **settings)


def random_labels(n_samples, n_clusters, seed=0):
    labels = np.random.RandomState(seed).randint(n_clusters, size=n_samples)
    labels[:n_clusters] = np.arange(n_clusters)
    return labels


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("power", [1.0, 1.3, 1.5, 2.0, 6.0])
def test_objective_never_rises_and_matches_the_problem(seed, power):
    prepared = prepare(make_views(seed=seed))
    result = solve(prepared, random_labels(45, 4, seed), 4, power=power)
    objectives = np.array([record.objective for record in result.history])
    # Cutting tiny weights may lift it by rounding.
    assert (np.diff(objectives) <= 1e-4 * objectives[0] * (power < 2) + 1e-9).all()
    weights = result.view_weights
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1.0)
    expected = sum(
        w**power * reference.scatter(kernel, result.labels)
        for w, kernel in zip(weights, prepared.kernels, strict=True)
    )
    assert result.objective == pytest.approx(expected, rel=1e-10)
    assert result.converged
    assert (np.bincount(result.labels, minlength=4) > 0).all()


@pytest.mark.parametrize("power", [1.2, 1.5, 3.0])
def test_update_weights_minimise_on_the_simplex(power):
    scatters = np.array([3.0, 1.0, 2.0])
    weights = _mvkkm.update_weights(scatters, power)
    best = (weights**power * scatters).sum()
    for a, b in itertools.product(np.linspace(0, 1, 41), repeat=2):
        if a + b <= 1:
            other = np.array([a, b, max(1 - a - b, 0.0)])
            assert (other**power * scatters).sum() >= best - 1e-4
    assert weights.sum() == pytest.approx(1.0)


def test_update_weights_by_hand():
    # p = 2: in proportion to 1/D.
    assert_allclose(_mvkkm.update_weights(np.array([1.0, 3.0]), 2.0), [0.75, 0.25])
    # p = 1: all on the smallest.
    assert_array_equal(_mvkkm.update_weights(np.array([4.0, 2.0, 3.0]), 1.0), [0, 1, 0])
    # p near 1: no overflow; what falls below 1e-5 is cut.
    assert_array_equal(_mvkkm.update_weights(np.array([1e9, 2.0]), 1.001), [0, 1])
    # Views without scatter share everything.
    assert_array_equal(
        _mvkkm.update_weights(np.array([0.0, 5.0, 0.0]), 1.5), [0.5, 0, 0.5]
    )


def test_large_power_gives_even_weights():
    prepared = prepare(make_views())
    result = solve(prepared, random_labels(45, 3), power=1e4)
    assert_allclose(result.view_weights, np.full(3, 1 / 3), atol=1e-3)


def test_one_view_with_linear_kernel_is_lloyd():
    view = make_views(200)[1]
    labels = random_labels(200, 3)
    means = np.stack([view[labels == j].mean(axis=0) for j in range(3)])
    lloyd = KMeans(3, init=means, n_init=1, tol=0.0, algorithm="lloyd").fit(view)
    result = solve(prepare([view], linear_kernel), labels, tol=0.0)
    assert_array_equal(result.labels, lloyd.labels_)
    # The kernel was divided by the mean squared distance.
    pairs = ((view[:, None] - view) ** 2).sum() / (200 * 199)
    assert result.objective == pytest.approx(lloyd.inertia_ / pairs)
    assert_array_equal(result.view_weights, [1.0])


def test_kernel_kmeans_step_assigns_to_the_nearest_mean():
    kernel = gaussian(make_views()[0])
    labels = random_labels(45, 3)
    distances = np.array(
        [
            [reference.kernel_distance(kernel, labels, i, j) for j in range(3)]
            for i in range(45)
        ]
    )
    history = History(None)
    _mvkkm.kernel_kmeans(kernel, labels, 3, tol=1.0, history=history)
    nearest = distances.argmin(axis=1)
    (step,) = history.records
    assert step.iteration == 1
    assert step.n_moved == (nearest != labels).sum()
    assert step.objective == pytest.approx(reference.scatter(kernel, nearest))


def test_reassign_never_empties_a_cluster():
    # Both members of cluster 1 would rather be in 0; the one that gains less stays.
    distances = np.array([[0.0, 5.0], [1.0, 4.0], [1.0, 2.0]])
    labels = np.array([0, 1, 1])
    assert_array_equal(_mvkkm.reassign(distances, labels, 0.0), [0, 0, 1])


def test_reassign_keeps_ties():
    distances = np.array([[1.0, 1.0], [1.0, 1.0 - 1e-14], [2.0, 1.0]])
    labels = np.array([1, 0, 0])
    assert_array_equal(_mvkkm.reassign(distances, labels, 1e-12), [1, 0, 1])


def test_start_random_assigns_to_the_nearest_seed():
    views = make_views()
    prepared = prepare(views)
    labels = _mvkkm.start_random(prepared, 4, 1.5, np.random.RandomState(3))
    seeds = np.random.RandomState(3).choice(45, 4, replace=False)
    assert_array_equal(labels[seeds], np.arange(4))
    kernel = sum(prepared.kernels)
    for i in range(45):
        to_seeds = [kernel[i, i] + kernel[s, s] - 2 * kernel[i, s] for s in seeds]
        assert labels[i] == np.argmin(to_seeds)


def test_start_random_of_duplicates_has_no_empty_cluster():
    prepared = prepare([np.repeat([[0.0], [1.0]], 4, axis=0)])
    labels = _mvkkm.start_random(prepared, 5, 1.5, np.random.RandomState(0))
    assert (np.bincount(labels, minlength=5) > 0).all()


def test_start_global_tries_every_sample():
    prepared = prepare(make_views(18))
    kernel = sum(k / 3**1.5 for k in prepared.kernels)
    labels = np.zeros(18, dtype=int)
    for n_found in (1, 2):
        outcomes = []
        for seed in range(18):
            if (labels == labels[seed]).sum() > 1:
                trial = labels.copy()
                trial[seed] = n_found
                outcome, _ = _mvkkm.kernel_kmeans(kernel, trial, n_found + 1, tol=1e-4)
                outcomes.append((reference.scatter(kernel, outcome), outcome))
        labels = min(outcomes, key=lambda pair: pair[0])[1]
    start = _mvkkm.start_global(prepared, 3, 1.5, 1e-4, fast=False)
    assert_array_equal(start, labels)


def test_start_global_fast_takes_the_largest_guaranteed_gain():
    # Two groups; the second is farther from the mean, its middle the best new centre.
    points = np.array([[0.0], [1.0], [2.0], [50.0], [51.0], [52.0]])
    kernel = linear_kernel(points)
    labels = np.zeros(6, dtype=int)
    gains = _mvkkm._guaranteed_gains(kernel, labels, 1, np.arange(6))
    own = (points[:, 0] - points.mean()) ** 2
    expected = [
        np.maximum(own - (points[:, 0] - seed) ** 2, 0).sum() for seed in points[:, 0]
    ]
    assert_allclose(gains, expected, rtol=1e-9)
    prepared = ViewKernels(kernels=(kernel,), kept=(0,), n_views=1)
    start = _mvkkm.start_global(prepared, 2, 1.5, 1e-4, fast=True)
    assert_array_equal(start == start[0], [True, True, True, False, False, False])


@pytest.mark.parametrize("fast", [False, True])
def test_start_global_reaches_as_many_clusters_as_samples(fast):
    prepared = prepare([np.array([[0.0], [0.0], [1.0], [5.0]])])
    start = _mvkkm.start_global(prepared, 4, 1.5, 1e-4, fast=fast)
    assert_array_equal(np.sort(start), np.arange(4))


def test_equal_kernels_leave_out_a_constant_view():
    views = [make_views()[0], np.ones((45, 3)), make_views()[2]]
    checked = check_views(views)
    rows = open_views(checked, learn_scales(checked, None))
    prepared = _mvkkm.equal_kernels(rows, "rbf")
    assert prepared.kept == (0, 2)
    expected = reference.gaussian(views[2])
    spread = 2 * (1 - (expected.sum() - 45) / (45 * 44))
    assert_allclose(prepared.kernels[1], expected / spread, rtol=1e-9)
    result = solve(prepared, random_labels(45, 3))
    assert result.view_weights[1] == 0.0
    assert result.view_weights.sum() == pytest.approx(1.0)


def test_round_limit_is_reported():
    result = solve(prepare(make_views()), random_labels(45, 3), max_iter=1)
    assert not result.converged
    assert {record.stage for record in result.history} == {1}
    assert_allclose(result.view_weights, np.full(3, 1 / 3))
