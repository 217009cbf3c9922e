"""Graphs and eigensolvers against dense, literal oracles."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence

from manyview._numerics import _graphs
from manyview._numerics._gram import gaussian_kernel
from tests import reference_graphs as reference


def blobs(n_samples, n_features=4, n_blobs=5, spread=0.3, seed=0):
    rng = np.random.RandomState(seed)
    centers = rng.uniform(-3, 3, (n_blobs, n_features))
    labels = np.arange(n_samples) % n_blobs
    return centers[labels] + spread * rng.normal(size=(n_samples, n_features))


def components(n_samples, n_components):
    """A graph of equal rings: the largest eigenvalue, 1, comes n_components times."""
    ring = n_samples // n_components
    block = sparse.diags_array(
        [np.ones(ring - 1), np.ones(ring - 1), [1.0], [1.0]],
        offsets=[1, -1, ring - 1, 1 - ring],
        shape=(ring, ring),
    )
    return sparse.csr_array(sparse.block_diag([block / 2.0] * n_components))


@pytest.mark.parametrize("n_samples", [30, 450])
def test_top_eigenvectors_match_dense_reference(n_samples):
    kernel = gaussian_kernel(blobs(n_samples))
    scaling = _graphs.inverse_root_degrees(kernel.sum(axis=1))
    pull = 0.6 * np.linalg.qr(np.random.RandomState(1).normal(size=(n_samples, 3)))[0]
    values, vectors = _graphs.top_eigenvectors(
        kernel, 6, scaling=scaling, coupling=pull
    )
    matrix = reference.norm(kernel) + pull @ pull.T
    expected_values, expected = reference.top(matrix, 6)
    assert_allclose(values, expected_values, atol=1e-12)
    assert_allclose(vectors.T @ vectors, np.eye(6), atol=1e-12)
    assert_allclose(
        reference.projector(vectors), reference.projector(expected), atol=1e-8
    )


def test_top_eigenvectors_rank_by_value_not_by_size():
    matrix = np.diag([-5.0, 3.0, 1.0])
    values, vectors = _graphs.top_eigenvectors(matrix, 2)
    assert_allclose(values, [3.0, 1.0])
    assert_allclose(vectors, [[0, 0], [1, 0], [0, 1]], atol=1e-15)
    assert matrix[0, 0] == -5.0  # the input is not overwritten


@pytest.mark.parametrize("n_samples", [60, 600, 1200])
def test_top_eigenvectors_find_every_copy_of_a_multiple_eigenvalue(n_samples):
    graph = components(n_samples, 12)
    values, vectors = _graphs.top_eigenvectors(graph, 10)
    assert_allclose(values, np.ones(10), atol=1e-10)
    assert_allclose(vectors.T @ vectors, np.eye(10), atol=1e-10)
    assert_allclose(graph @ vectors, vectors, atol=1e-9)


@pytest.mark.skipif(not _graphs._SEEDABLE, reason="SciPy < 1.17 cannot seed ARPACK")
def test_lanczos_alone_misses_copies():
    """Why `top_eigenvectors` looks for what it may have overlooked."""
    graph = components(1200, 12)
    starts = np.random.RandomState(0)
    values, _ = _graphs._arpack(lambda x: graph @ x, 1200, 10, starts)
    assert values[-1] < 1.0 - 1e-6


@pytest.mark.skipif(not _graphs._SEEDABLE, reason="SciPy < 1.17 cannot seed ARPACK")
def test_top_eigenvectors_of_a_degenerate_matrix_are_reproducible():
    matrix = np.full((500, 500), 1 / 500)
    first = _graphs.top_eigenvectors(matrix, 4)[1]
    assert_array_equal(first, _graphs.top_eigenvectors(matrix, 4)[1])
    assert_allclose(first.T @ first, np.eye(4), atol=1e-12)


def test_top_eigenvectors_fall_back_to_dense(monkeypatch):
    def fail(*_, **__):
        msg = "no convergence"
        raise ArpackNoConvergence(msg, np.empty(0), np.empty((0, 0)))

    monkeypatch.setattr(_graphs, "eigsh", fail)
    graph = components(600, 3)
    values, vectors = _graphs.top_eigenvectors(graph, 3)
    assert_allclose(values, np.ones(3), atol=1e-12)
    assert_allclose(graph @ vectors, vectors, atol=1e-12)


def test_top_eigenvectors_of_an_empty_graph():
    values, vectors = _graphs.top_eigenvectors(sparse.csr_array((450, 450)), 2)
    assert_array_equal(values, [0.0, 0.0])
    assert_allclose(vectors.T @ vectors, np.eye(2), atol=1e-12)


def test_filtered_eigenvectors_match_the_formed_matrix():
    kernel = gaussian_kernel(blobs(40))
    basis = np.hstack(
        [reference.top(reference.norm(gaussian_kernel(blobs(40, seed=s))), 5)[1]
         for s in (1, 2)]
    )  # fmt: skip
    product = kernel @ basis @ basis.T
    expected_values, expected = reference.top(
        reference.norm((product + product.T) / 2), 5
    )
    values, vectors = _graphs.filtered_eigenvectors(kernel, basis, 5)
    assert_allclose(values, expected_values, rtol=1e-9)
    assert_allclose(
        reference.projector(vectors), reference.projector(expected), atol=1e-8
    )


def test_filtered_eigenvectors_with_more_columns_than_samples():
    kernel = gaussian_kernel(blobs(6, n_blobs=2))
    basis = np.hstack([np.eye(6), np.eye(6)])
    values, vectors = _graphs.filtered_eigenvectors(kernel, basis, 6)
    # sym(K B B') is 2 K here, and normalising takes the factor out.
    assert_allclose(values, reference.top(reference.norm(kernel), 6)[0], atol=1e-12)
    assert_allclose(vectors.T @ vectors, np.eye(6), atol=1e-12)


def test_inverse_root_degrees_take_absolute_values_and_floor_zero():
    assert_allclose(
        _graphs.inverse_root_degrees(np.array([4.0, -4.0, 0.0])), [0.5, 0.5, 1e6]
    )


def test_unit_rows_keep_a_zero_row():
    rows = _graphs.unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    assert_allclose(rows, [[0.6, 0.8], [0.0, 0.0]])


def test_top_singular_vectors_are_eigenvectors_of_the_gram():
    matrix = np.random.RandomState(0).normal(size=(12, 7))
    vectors = _graphs.top_singular_vectors(matrix, 3)
    expected = reference.top(matrix @ matrix.T, 3)[1]
    assert_allclose(
        reference.projector(vectors), reference.projector(expected), atol=1e-10
    )


def test_neighbor_weights_by_hand():
    # c = 2: (4-1, 4-2) / (2*4 - 3); a zero reach and a full tie share equally.
    distances = np.array([[1.0, 2.0, 4.0], [0.0, 0.0, 0.0], [7.0, 7.0, 7.0]])
    expected = [[0.6, 0.4], [0.5, 0.5], [0.5, 0.5]]
    assert_allclose(_graphs.neighbor_weights(distances), expected)


@pytest.mark.parametrize("n_features", [2, 40])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_neighbor_graph_matches_reference(n_features, form):
    points = blobs(60, n_features)
    graph = _graphs.neighbor_graph(form(points), 5)
    assert_allclose(graph.toarray(), reference.amgl_graph(points, 5), atol=1e-9)
    assert_allclose(graph.sum(axis=1), np.ones(60))
    assert np.diff(graph.indptr).max() <= 5


def test_neighbor_graph_does_not_depend_on_the_unit():
    points = blobs(60)
    graph = _graphs.neighbor_graph(points, 5).toarray()
    assert_allclose(
        _graphs.neighbor_graph(points * 37.0, 5).toarray(), graph, atol=1e-9
    )


def test_neighbor_graph_of_duplicates_has_no_loops():
    points = np.repeat(np.array([[0.0, 0.0], [1.0, 5.0]]), 9, axis=0)
    graph = _graphs.neighbor_graph(points, 3).toarray()
    assert_array_equal(np.diagonal(graph), np.zeros(18))
    assert_allclose(graph.sum(axis=1), np.ones(18))
    assert graph[:9, 9:].sum() == 0.0  # copies are nearer than the other group
    assert graph[9:, :9].sum() == 0.0


@pytest.mark.parametrize(
    ("n_samples", "n_edges"), [(1, 0), (2, 1), (3, 1), (4, 2), (7, 5), (9, 5)]
)
def test_neighbor_graph_of_few_samples(n_samples, n_edges):
    points = np.random.RandomState(0).normal(size=(n_samples, 2))
    graph = _graphs.neighbor_graph(points, 5)
    assert_array_equal(np.diff(graph.indptr), np.full(n_samples, n_edges))
    assert_allclose(graph.sum(axis=1), np.full(n_samples, float(n_edges > 0)))


def test_normalise_graph_matches_reference_and_survives_isolated_samples():
    graph = reference.amgl_graph(blobs(20), 3)
    graph = (graph + graph.T) / 2
    graph[0, :] = graph[:, 0] = 0.0
    normalised = _graphs.normalise_graph(sparse.csr_array(graph)).toarray()
    assert_allclose(normalised, reference.norm(graph), atol=1e-13)
    assert_array_equal(normalised[0], np.zeros(20))
