"""AMGL against the written-out rounds, and its invariants."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from manyview._numerics._graphs import normalise_graph
from manyview._rows import open_views
from manyview._scaling import learn_scales
from manyview._solvers._amgl import graph_cuts, solve_amgl, view_graphs
from manyview._views import check_views
from tests import reference_graphs as reference


def make_views(n_samples=50, seed=0, spread=1.0):
    rng = np.random.RandomState(seed)
    truth = np.arange(n_samples) % 3
    return [
        3 * rng.normal(size=(3, width))[truth]
        + spread * rng.normal(size=(n_samples, width))
        for width in (3, 5, 2)
    ]


def open_raw(views):
    checked = check_views(views)
    return open_views(checked, learn_scales(checked, None))


def make_graphs(**options):
    return view_graphs(open_raw(make_views(**options)), 5)


def fuse_graphs(graphs, n_clusters, **options):
    settings = {"max_iter": 100, "tol": 1e-8, "normalize_rows": False, "n_init": 3}
    return solve_amgl(
        graphs, n_clusters, np.random.RandomState(0), **{**settings, **options}
    )


def symmetric(graph):
    return (graph + graph.T) / 2


def same_span(ours, theirs):
    assert_allclose(reference.projector(ours), reference.projector(theirs), atol=1e-6)


def test_rounds_match_reference():
    graphs = [symmetric(reference.amgl_graph(view, 5)) for view in make_views()]
    states = reference.amgl(graphs, 3, 6)
    ours = [normalise_graph(sparse.csr_array(graph)) for graph in graphs]
    for n_rounds in (1, 2, 6):
        fused = fuse_graphs(ours, 3, max_iter=n_rounds, tol=0.0)
        vectors, weights, objective = states[n_rounds - 1]
        same_span(fused.embedding, vectors)
        assert_allclose(fused.view_weights, weights / weights.sum(), rtol=1e-6)
        assert fused.history[-1].objective == pytest.approx(objective, rel=1e-9)


def test_view_graph_is_the_normalised_symmetric_graph():
    view = make_views()[1]
    (graph,) = view_graphs(open_raw([view]), 4)
    expected = reference.norm(symmetric(reference.amgl_graph(view, 4)))
    assert_allclose(graph.toarray(), expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_samples", [60, 450])
def test_objective_never_rises(seed, n_samples):
    graphs = make_graphs(n_samples=n_samples, seed=seed)
    fused = fuse_graphs(graphs, 4)
    objectives = np.array([record.objective for record in fused.history])
    assert (np.diff(objectives) <= 1e-9 * objectives[0]).all()
    assert fused.converged
    assert len(objectives) >= 3
    assert (fused.view_weights > 0).all()
    assert fused.view_weights.sum() == pytest.approx(1.0)
    assert_allclose(fused.embedding.T @ fused.embedding, np.eye(4), atol=1e-10)


def test_one_view_is_spectral_clustering_on_its_graph():
    graph = make_graphs()[0]
    fused = fuse_graphs([graph], 3)
    same_span(fused.embedding, reference.top(graph.toarray(), 3)[1])
    assert_array_equal(fused.view_weights, [1.0])


def test_duplicating_all_views_changes_nothing():
    graphs = make_graphs()
    once = fuse_graphs(graphs, 3)
    twice = fuse_graphs(graphs * 2, 3)
    same_span(once.embedding, twice.embedding)
    assert_allclose(twice.view_weights, np.tile(once.view_weights, 2) / 2, rtol=1e-8)


def test_graphs_that_fall_apart_have_finite_weights():
    # Clusters so far apart that no neighbour is in another one: the cut vanishes.
    graph = make_graphs(n_samples=60, spread=1e-3)[0]
    fused = fuse_graphs([graph, graph], 3)
    assert fused.converged
    assert_allclose(fused.view_weights, [0.5, 0.5])
    assert fused.history[-1].objective == pytest.approx(2e-6)  # roots of the floor


def test_graph_cuts_by_hand():
    # One edge between two samples: L = [[1, -1], [-1, 1]].
    graph = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    even = np.array([[1.0], [1.0]]) / np.sqrt(2)
    odd = np.array([[1.0], [-1.0]]) / np.sqrt(2)
    assert graph_cuts([graph], odd)[0] == pytest.approx(2.0)
    assert graph_cuts([graph], even)[0] == pytest.approx(1e-12)  # the floor


def test_rounds_stop_from_the_third_on():
    fused = fuse_graphs(make_graphs(), 3, tol=1.0)
    assert len(fused.history) == 3
    assert fused.converged


def test_iteration_limit_is_reported():
    fused = fuse_graphs(make_graphs(), 3, max_iter=2)
    assert not fused.converged
    assert len(fused.history) == 2


def solve(views, **options):
    return fuse_graphs(view_graphs(open_raw(views), 5), 3, **options)


def test_constant_view_gets_no_weight_and_changes_nothing():
    views = make_views()
    plain = solve(views)
    result = solve([views[0], np.zeros((50, 4)), views[1], views[2]])
    assert_array_equal(result.labels, plain.labels)
    assert_allclose(result.view_weights[[0, 2, 3]], plain.view_weights)
    assert result.view_weights[1] == 0.0


def test_normalized_rows_have_unit_length():
    views = make_views()
    plain, unit = solve(views), solve(views, normalize_rows=True)
    lengths = np.linalg.norm(plain.embedding, axis=1)
    assert lengths.max() < 0.9
    assert_allclose(unit.embedding, plain.embedding / lengths[:, None])


def test_samples_of_one_view_in_another_unit_change_nothing():
    views = make_views()
    result = solve([views[0] * 1000.0, views[1], views[2] * 1e-4])
    assert_array_equal(result.labels, solve(views).labels)
