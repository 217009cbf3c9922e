"""The weighted centroid and assignment steps all of the k-means family rests on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import manyview._rows
from manyview._numerics._soft import simplex_weights
from manyview._scaling import ViewScale, learn_scales
from manyview._solvers._nearest import nearest_by_distance, nearest_clusters
from manyview._solvers._start import Start, start_random_labels
from manyview._solvers._weighted import (
    CentroidRun,
    History,
)
from manyview._views import check_views
from tests import reference_kmeans_family as reference
from tests.solvers.problems import as_sparse, problems


def random_weights(problem, seed):
    """Positive weights, one in five zero, over many orders of magnitude."""
    rng = np.random.default_rng(seed)
    shape = (len(problem.views), len(problem.labels))
    return 10.0 ** rng.uniform(-3, 3, size=shape) * (rng.random(shape) > 0.2)


def assert_step_equals_reference(problem, rows, start, views, seed):
    weights = random_weights(problem, seed)
    given_weights = weights.copy()
    samples = CentroidRun(rows, start)
    n_moved = samples.step(weights)
    assert_array_equal(weights, given_weights)
    # A sample or view that takes no part has no weight.
    known = np.where(samples.takes_part, weights, 0.0)
    centers = reference.cent(views, problem.labels, known, start.centers)
    labels = reference.assign(views, problem.labels, known, centers)
    assert_array_equal(samples.labels, labels)
    assert n_moved == np.count_nonzero(labels != problem.labels)
    e = reference.distances(views, labels, centers, samples.takes_part)
    for v, view in enumerate(views):
        unit = np.abs(view).max()
        atol = 1e-12 * unit
        assert_allclose(samples.centers[v], centers[v], rtol=1e-9, atol=atol)
        # Sparse rows measure by products, which keep half of the digits.
        assert_allclose(samples.distances()[v], e[v], rtol=1e-6, atol=1e-6 * unit)


@given(problem=problems(), seed=st.integers(0, 99))
def test_step_equals_reference(problem, seed):
    start = problem.start()
    views = problem.scaled_views()
    assert_step_equals_reference(problem, problem.rows(), start, views, seed)


@given(problem=problems(max_samples=60), seed=st.integers(0, 99))
def test_step_with_matrix_products_equals_reference(problem, seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manyview._rows._base, "ALWAYS_DIRECT_BELOW", 0)
        start, views = problem.start(), problem.scaled_views()
        assert_step_equals_reference(problem, problem.rows(), start, views, seed)


@given(problem=problems(), seed=st.integers(0, 99))
def test_step_on_sparse_views_equals_reference(problem, seed):
    rows = problem.rows(views=as_sparse(problem.views))
    start = Start(centers=problem.centers, labels=problem.labels)
    # Sparse views are not centred: the reference works in raw units too.
    views = [np.nan_to_num(view) for view in problem.views]
    assert_step_equals_reference(problem, rows, start, views, seed)


def make_samples(problem_views, centers, labels):
    views = check_views(problem_views)
    scales = learn_scales(views, None)
    shifted = tuple(
        np.asarray(center, dtype=float) - scale.shift
        for center, scale in zip(centers, scales, strict=True)
    )
    rows = manyview._rows.open_views(views, scales)
    return CentroidRun(rows, Start(centers=shifted, labels=np.asarray(labels)))


def test_a_tie_keeps_the_current_label():
    # The middle point is as far from either centre; its label decides.
    view = np.array([[-1.0], [0.0], [1.0]])
    for label in (0, 1):
        samples = make_samples([view], [[[-1.0], [1.0]]], [0, label, 1])
        assert samples.assign(np.ones((1, 3))) == 0
        assert_array_equal(samples.labels, [0, label, 1])


def test_a_tie_among_copies_of_centres_keeps_the_label():
    rng = np.random.default_rng(0)
    view = rng.normal(size=(400, 5))
    labels = rng.integers(4, size=400)
    samples = make_samples([view], [np.tile(view.mean(axis=0), (4, 1))], labels)
    assert samples.assign(np.ones((1, 400))) == 0


def test_a_tie_that_rounding_blurs_keeps_the_label():
    # Equal features are as far from a centre as from any permutation of it, but the
    # sums come out different in the last digit.
    rng = np.random.default_rng(0)
    center = rng.normal(size=7)
    centers = np.stack([rng.permutation(center) for _ in range(5)])
    for n_samples in (100, 400):
        view = np.tile(rng.normal(size=(n_samples, 1)), (1, 7))
        samples = make_samples([view], [centers], rng.integers(5, size=n_samples))
        # The views' own shift must not break the symmetry.
        samples.centers = (centers,)
        assert samples.assign(np.ones((1, n_samples))) == 0


def test_no_weight_keeps_label_and_centre():
    view = np.array([[0.0], [9.0], [10.0]])
    samples = make_samples([view], [[[0.0], [10.0]]], [0, 0, 1])
    weights = np.array([[1.0, 0.0, 0.0]])
    assert samples.step(weights) == 0
    assert_allclose(np.diff(samples.centers[0].ravel()), [10.0])


def test_views_weigh_by_their_weights():
    # Sample 1 fits cluster 0 in the first view and cluster 1 in the second.
    views = [np.array([[0.0], [1.0], [10.0]]), np.array([[0.0], [9.0], [10.0]])]
    centers = [[[0.0], [10.0]]] * 2
    for weights, expected in (((3.0, 1.0), 0), ((1.0, 3.0), 1)):
        samples = make_samples(views, centers, [0, 1 - expected, 1])
        samples.assign(np.outer(weights, np.ones(3)))
        assert samples.labels[1] == expected


def test_a_constant_view_takes_no_part():
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(20, 2)), np.full((20, 1), 1e9)]
    samples = make_samples(views, [views[0][:2], views[1][:2]], np.arange(20) % 2)
    assert_array_equal(samples.informative, [True, False])
    assert not samples.takes_part[1].any()
    assert_allclose(samples.root_weights(np.array([4.0, 0.0])), [0.25, 0.0])
    distances = np.vstack([np.arange(20.0), np.full(20, 99.0)])
    assert_allclose(samples.per_view(distances, np.max, 7.0), [[19.0], [7.0]])


def test_floors_follow_the_spread_of_the_view():
    view = np.array([[-3.0], [3.0], [-3.0], [3.0]])
    samples = make_samples([view, 100 * view], [view[:1], view[:1]], np.zeros(4, int))
    assert_allclose(samples.floors, [3e-8, 3e-6])
    # A sum over four samples cannot be told from zero below four times as much.
    assert_allclose(samples.safe_totals(np.zeros(2)), [12e-8, 12e-6])


@given(st.integers(1, 12), st.integers(0, 20), st.integers(0, 99))
def test_random_start_uses_every_cluster(n_clusters, more, seed):
    n_samples = n_clusters + more
    view = np.random.default_rng(seed).normal(size=(n_samples, 2))
    rows = make_samples([view], [view[:1]], np.zeros(n_samples, int)).views
    start = start_random_labels(rows, n_clusters, np.random.RandomState(seed))
    assert_array_equal(np.unique(start.labels), np.arange(n_clusters))
    present = reference.everybody([view])
    centred = [view - view.mean(axis=0)]
    expected = reference.means(centred, start.labels, n_clusters, present)
    assert_allclose(start.centers[0], expected[0], atol=1e-12)


def test_simplex_weights_solve_their_problem():
    losses = np.array([1.0, 2.0, 4.0])
    everybody = np.ones(3, dtype=bool)
    # g = 2: weights in proportion to 1 / h.
    assert_allclose(simplex_weights(losses, 2.0, everybody), [4 / 7, 2 / 7, 1 / 7])
    best = simplex_weights(losses, 1.7, everybody)
    value = np.sum(best**1.7 * losses)
    rng = np.random.default_rng(0)
    for other in rng.dirichlet(np.ones(3), size=200):
        assert value <= np.sum(other**1.7 * losses) + 1e-12


def test_simplex_weights_at_the_ends_of_the_exponent():
    losses, everybody = np.array([1.0, 3.0]), np.ones(2, dtype=bool)
    assert_allclose(simplex_weights(losses, 1.0001, everybody), [1, 0], atol=1e-12)
    assert_allclose(simplex_weights(losses, 1e9, everybody), [0.5, 0.5], atol=1e-6)


def test_uninformative_views_get_no_weight():
    some = np.array([True, False])
    assert_allclose(simplex_weights(np.array([3.0, 0.0]), 2.0, some), [1, 0])
    none = np.array([False, False])
    assert_allclose(simplex_weights(np.zeros(2), 2.0, none), [0.5, 0.5])


def test_nearest_by_distance_adds_plain_distances():
    # The first sample: 0 + 5 < 3 + 3. Squared it would be the other way round.
    views = [np.array([[0.0], [3.0], [1.0]]), np.array([[5.0], [3.0], [1.0]])]
    samples = make_samples(views, [[[0.0], [3.0]], [[0.0], [2.0]]], [0, 1, 1])
    labels = nearest_by_distance(samples.views, samples.centers, np.ones(2))
    assert_array_equal(labels, [0, 1, 0])
    second = nearest_by_distance(samples.views, samples.centers, np.array([1.0, 9.0]))
    assert second[0] == 1


def test_nearest_by_distance_uses_the_views_a_sample_has():
    views = [np.array([[0.0], [np.nan], [4.0]]), np.array([[0.0], [4.0], [4.0]])]
    samples = make_samples(views, [[[0.0], [4.0]]] * 2, [0, 1, 1])
    # The second sample has only the view of weight 0, and goes by it all the same.
    labels = nearest_by_distance(samples.views, samples.centers, np.array([1.0, 0.0]))
    assert_array_equal(labels, [0, 1, 1])


def test_history_tells_change_and_rest():
    heard = []
    history = History(heard.append)
    history.add(4.0, 2)
    assert history.change == np.inf
    assert not history.settled(1e-3)
    history.add(3.0, 1)
    assert history.change == 0.25
    assert history.settled(0.3)
    assert not history.settled(0.25)
    history.add(2.0, 0, stage=2)
    assert history.settled(0.0)
    counted = [(record.stage, record.iteration) for record in history.records]
    assert counted == [(1, 1), (1, 2), (2, 1)]
    assert heard == history.records


def test_nearest_resolves_what_products_cannot():
    # So far from the origin, distances from products are off by more than they differ.
    view = np.full((400, 1), 1e4)
    checked = check_views([view])
    unit = ViewScale(mode=None, shift=np.zeros(1), factor=np.ones(1), unit_rows=False)
    rows = manyview._rows.open_views(checked, (unit,))
    centers = (np.array([[1e4 - 1.0], [1e4 + 1.0 - 1e-8]]),)
    for nearest in (nearest_clusters, nearest_by_distance):
        assert_array_equal(nearest(rows, centers, np.ones(1)), 1)
