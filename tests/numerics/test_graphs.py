"""Neighbour graphs and filtered kernels against dense, literal oracles."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from manyview._numerics import _graphs
from manyview._numerics._eigen import top_eigenvectors
from manyview._numerics._gram import LowRankKernel, gaussian_kernel
from tests import reference_graphs as reference


def blobs(n_samples, n_features=4, n_blobs=5, spread=0.3, seed=0):
    rng = np.random.RandomState(seed)
    centers = rng.uniform(-3, 3, (n_blobs, n_features))
    labels = np.arange(n_samples) % n_blobs
    return centers[labels] + spread * rng.normal(size=(n_samples, n_features))


def test_filtered_eigenvectors_match_the_formed_matrix():
    kernel = gaussian_kernel(blobs(40))[0]
    basis = np.hstack(
        [reference.top(reference.norm(gaussian_kernel(blobs(40, seed=s))[0]), 5)[1]
         for s in (1, 2)]
    )  # fmt: skip
    product = kernel @ basis @ basis.T
    expected_values, expected = reference.top(
        reference.norm((product + product.T) / 2), 5
    )
    found = _graphs.filtered_eigenvectors(kernel, basis, 5)
    values, vectors = found.values, found.vectors
    assert_allclose(values, expected_values, rtol=1e-9)
    assert_allclose(
        reference.projector(vectors), reference.projector(expected), atol=1e-8
    )


def test_filtered_eigenvectors_with_more_columns_than_samples():
    kernel = gaussian_kernel(blobs(6, n_blobs=2))[0]
    basis = np.hstack([np.eye(6), np.eye(6)])
    found = _graphs.filtered_eigenvectors(kernel, basis, 6)
    values, vectors = found.values, found.vectors
    # sym(K B B') is 2 K here, and normalising takes the factor out.
    assert_allclose(values, reference.top(reference.norm(kernel), 6)[0], atol=1e-12)
    assert_allclose(vectors.T @ vectors, np.eye(6), atol=1e-12)


def low_rank_kernel(n_samples=40, rank=8):
    # Positive entries, so that degrees are not small.
    factor = np.random.RandomState(0).uniform(size=(n_samples, rank))
    return LowRankKernel(factors=(factor,), weights=(4.0,)), 4.0 * factor @ factor.T


@pytest.mark.parametrize("n_coupled", [0, 3])
def test_normalised_factor_has_the_eigenvectors_of_the_formed_matrix(n_coupled):
    kernel, formed = low_rank_kernel()
    coupling = np.linalg.qr(np.random.RandomState(1).normal(size=(40, 3)))[0]
    coupling = coupling[:, :n_coupled]
    found = top_eigenvectors(_graphs.normalise_kernel(kernel), 4, coupling=coupling)
    matrix = reference.norm(formed) + coupling @ coupling.T
    values, vectors = reference.top(matrix, 4)
    assert_allclose(found.values, values, rtol=1e-10)
    assert_allclose(
        reference.projector(found.vectors), reference.projector(vectors), atol=1e-9
    )
    dense = top_eigenvectors(_graphs.normalise_kernel(formed), 4, coupling=coupling)
    assert_allclose(found.vectors, dense.vectors, atol=1e-9)


def test_a_kernel_is_overwritten_only_on_demand():
    _, kernel = low_rank_kernel()
    before = kernel.copy()
    normal = _graphs.normalise_kernel(kernel)
    assert_array_equal(kernel, before)
    assert _graphs.normalise_kernel(kernel, overwrite=True) is kernel
    assert_array_equal(kernel, normal)


def test_normalised_factor_beyond_its_rank_has_zeros():
    kernel, _ = low_rank_kernel(rank=3)
    found = top_eigenvectors(_graphs.normalise_kernel(kernel), 5)
    assert_allclose(
        found.vectors.T @ found.vectors, np.diag([1, 1, 1, 0, 0]), atol=1e-9
    )
    assert_allclose(found.values[3:], [0, 0])


def test_normalised_factor_settles_ties_whatever_the_factor():
    # Four groups of equal samples: four eigenvalues of 1, of which two are asked for.
    factor = np.repeat(np.eye(4), 5, axis=0)
    turn = np.linalg.qr(np.random.RandomState(0).normal(size=(4, 4)))[0]
    found = [
        top_eigenvectors(
            _graphs.normalise_kernel(
                LowRankKernel(factors=(factor @ basis,), weights=(1.0,))
            ),
            2,
        )
        for basis in (np.eye(4), turn)
    ]
    assert_allclose(found[0].vectors, found[1].vectors, atol=1e-10)


def test_inverse_root_degrees_take_absolute_values_and_floor_zero():
    assert_allclose(
        _graphs.inverse_root_degrees(np.array([4.0, -4.0, 0.0])), [0.5, 0.5, 1e6]
    )


def test_unit_rows_keep_a_zero_row():
    rows = _graphs.unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    assert_allclose(rows, [[0.6, 0.8], [0.0, 0.0]])


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


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_tied_neighbors_are_the_first_in_the_data(form, offset):
    # Unit vectors: all others are equally near, whatever rounding says. Repeated rows:
    # the copies are nearer than the rest, and there are more of them than neighbours.
    rng = np.random.RandomState(0)
    rows = np.vstack([np.eye(8) / 3.0, np.tile(rng.normal(size=8), (7, 1))])
    shuffled = rng.permutation(15)
    points = rows[shuffled] + offset
    graph = _graphs.neighbor_graph(form(points), 4).toarray()
    for i in range(15):
        alike = np.flatnonzero((shuffled < 8) == (shuffled[i] < 8))
        expected = np.zeros(15)
        expected[alike[alike != i][:4]] = 0.25
        if offset == 0.0 or shuffled[i] >= 8:
            assert_array_equal(graph[i], expected)
    assert_allclose(graph.sum(axis=1), np.ones(15))


def test_neighbors_tied_but_for_rounding_have_no_edge():
    distances = np.array([[0.0, 1.0, 1.0 + 1e-15], [1.0, 1.0, 1.0 + 1e-15]])
    assert_array_equal(_graphs.neighbor_weights(distances), [[1.0, 0.0], [0.5, 0.5]])


def test_filtered_eigenvectors_without_a_direction_left_are_zero():
    kernel = gaussian_kernel(np.repeat([[0.0], [4.0]], 15, axis=0))[0]
    basis = np.linalg.qr(np.random.RandomState(0).normal(size=(30, 4)))[0]
    pairs = _graphs.filtered_eigenvectors(kernel, basis, 6)
    # A kernel of two kinds of rows has rank 2, and so has each of its two products.
    assert_array_equal(pairs.vectors[:, 4:], 0.0)
    assert_allclose(np.linalg.norm(pairs.vectors[:, 0]), 1.0)
