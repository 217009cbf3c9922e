"""Eigensolvers against dense, literal oracles."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from manyview._numerics import _eigen, _subspace
from manyview._numerics._gram import gaussian_kernel
from manyview._numerics._graphs import normalise_graph, normalise_kernel
from manyview._numerics._operators import SparseGraph
from tests import reference_graphs as reference
from tests.numerics.test_graphs import blobs


def top(matrix, n_vectors, **options):
    if isinstance(matrix, sparse.csr_array):
        matrix = SparseGraph(matrix)
    found = _eigen.top_eigenvectors(matrix, n_vectors, **options)
    assert found.converged
    return found.values, found.vectors


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
    kernel = gaussian_kernel(blobs(n_samples))[0]
    pull = 0.6 * np.linalg.qr(np.random.RandomState(1).normal(size=(n_samples, 3)))[0]
    values, vectors = top(normalise_kernel(kernel), 6, coupling=pull)
    matrix = reference.norm(kernel) + pull @ pull.T
    expected_values, expected = reference.top(matrix, 6)
    assert_allclose(values, expected_values, atol=1e-12)
    assert_allclose(vectors.T @ vectors, np.eye(6), atol=1e-12)
    assert_allclose(
        reference.projector(vectors), reference.projector(expected), atol=1e-8
    )


def test_top_eigenvectors_rank_by_value_not_by_size():
    matrix = np.diag([-5.0, 3.0, 1.0])
    values, vectors = top(matrix, 2)
    assert_allclose(values, [3.0, 1.0])
    assert_allclose(vectors, [[0, 0], [1, 0], [0, 1]], atol=1e-15)
    assert matrix[0, 0] == -5.0  # the input is not overwritten


@pytest.mark.parametrize("n_samples", [60, 600, 1200])
def test_top_eigenvectors_find_every_copy_of_a_multiple_eigenvalue(n_samples):
    graph = components(n_samples, 12)
    values, vectors = top(graph, 10)
    assert_allclose(values, np.ones(10), atol=1e-10)
    assert_allclose(vectors.T @ vectors, np.eye(10), atol=1e-10)
    assert_allclose(graph @ vectors, vectors, atol=1e-9)


def test_top_eigenvectors_of_a_degenerate_matrix_are_reproducible():
    matrix = np.full((500, 500), 1 / 500)
    first = top(matrix, 4)[1]
    assert_array_equal(first, top(matrix, 4)[1])
    assert_allclose(first.T @ first, np.eye(4), atol=1e-12)


@pytest.mark.parametrize("rank", [1, 5, 14])
def test_top_eigenvectors_beyond_the_rank_are_orthogonal(rank):
    factor = np.random.RandomState(0).normal(size=(450, rank))
    values, vectors = top(factor @ factor.T, 8)
    expected_values, _ = reference.top(factor @ factor.T, 8)
    assert_allclose(values, expected_values, atol=1e-10 * expected_values[0])
    assert_allclose(vectors.T @ vectors, np.eye(8), atol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_filtered_vectors_are_those_of_a_dense_solver(seed):
    """Neighbour graphs and their products, in which eigenvalues follow closely."""
    rng = np.random.RandomState(seed)
    points = rng.normal(size=(600, 1 + seed)) + rng.randint(4, size=(600, 1))
    factor = neighbor_graph(points, 3 + seed)
    for affinity, matrix in (
        (SparseGraph.squared(factor), (factor @ factor.T).toarray()),
        (sparse.csr_array(factor + factor.T), (factor + factor.T).toarray()),
    ):
        values, vectors = top(affinity, 7)
        expected_values, _ = reference.top(matrix, 7)
        assert_allclose(values, expected_values, atol=1e-12 * expected_values[0])
        assert_allclose(vectors.T @ vectors, np.eye(7), atol=1e-11)
        misses = matrix @ vectors - vectors * values
        assert np.abs(misses).max() <= 1e-8 * expected_values[0]


@pytest.mark.parametrize("options", [{}, {"tolerance": 1e-30}])
def test_top_eigenvectors_fall_back(monkeypatch, options):
    """To the inverse where products run out, to a dense solver where that fails."""
    monkeypatch.setattr(_subspace, "MOST_PRODUCTS", 0)
    graph = components(600, 1)
    values, vectors = top(graph, 3, **options)
    expected_values, expected = reference.top(graph.toarray(), 3)
    assert_allclose(values, expected_values, atol=1e-12)
    assert_allclose(
        reference.projector(vectors), reference.projector(expected), atol=1e-8
    )


def test_top_eigenvectors_of_an_empty_graph():
    values, vectors = top(sparse.csr_array((450, 450)), 2)
    assert_array_equal(values, [0.0, 0.0])
    assert_allclose(vectors.T @ vectors, np.eye(2), atol=1e-12)


def test_top_singular_vectors_are_eigenvectors_of_the_gram():
    matrix = np.random.RandomState(0).normal(size=(12, 7))
    vectors = _eigen.top_singular_vectors(matrix, 3)
    expected = reference.top(matrix @ matrix.T, 3)[1]
    assert_allclose(
        reference.projector(vectors), reference.projector(expected), atol=1e-10
    )


def weakly_linked(n_samples, n_components, link):
    """Rings of unequal sizes joined by faint edges: eigenvalues crowd below 1."""
    rng = np.random.RandomState(0)
    cuts = np.sort(rng.permutation(np.arange(1, n_samples // 5))[: n_components - 1])
    sizes = 5 * np.diff([0, *cuts, n_samples // 5])
    blocks = [components(size, 1) for size in sizes]
    graph = sparse.block_diag(blocks).tolil()
    ends = np.cumsum(sizes)
    for end in ends[:-1]:
        graph[end - 1, end] = graph[end, end - 1] = link
    # Chords make each ring mix quickly, as neighbour graphs do.
    for start, size in zip(ends - sizes, sizes, strict=True):
        for i, j in rng.randint(size, size=(4 * size, 2)):
            graph[start + i, start + j] += 0.5
            graph[start + j, start + i] += 0.5
    return normalise_graph(sparse.csr_array(graph))


def test_crowded_eigenvalues_take_a_bounded_number_of_products(monkeypatch):
    graph = weakly_linked(1000, 13, 1e-6)
    steps = []
    recur = SparseGraph.recur
    monkeypatch.setattr(
        SparseGraph,
        "recur",
        lambda self, *rest: steps.extend(rest[2]) or recur(self, *rest),
    )
    values, vectors = top(graph, 2)
    assert len(steps) <= 1.5 * _subspace.MOST_PRODUCTS
    expected_values, expected = reference.top(graph.toarray(), 2)
    assert 1e-12 < 1.0 - expected_values[1] < 1e-6
    assert_allclose(values, expected_values, atol=1e-13)
    assert_allclose(
        reference.projector(vectors), reference.projector(expected), atol=1e-6
    )


def test_crowded_eigenvalues_come_from_the_inverse(monkeypatch):
    kernel = gaussian_kernel(blobs(450))[0]
    pull = 0.6 * np.linalg.qr(np.random.RandomState(1).normal(size=(450, 3)))[0]
    krylov, found = _eigen.krylov, []

    def first_in_vain(*given):
        pairs = krylov(*given)
        found.append(pairs if found else replace(pairs, residual=1.0))
        return found[-1]

    monkeypatch.setattr(_eigen, "krylov", first_in_vain)
    monkeypatch.setattr(_eigen, "_dense_eigenpairs", None)
    values, vectors = top(normalise_kernel(kernel), 6, coupling=pull)
    assert len(found) == 2
    expected_values, expected = reference.top(reference.norm(kernel) + pull @ pull.T, 6)
    assert_allclose(values, expected_values, atol=1e-12)
    assert_allclose(
        reference.projector(vectors), reference.projector(expected), atol=1e-8
    )


def test_graphs_too_large_to_factorise_say_how_far_they_came(monkeypatch):
    monkeypatch.setattr(_eigen, "FACTORISED_UP_TO", 500)
    graph = weakly_linked(800, 3, 0.3)
    monkeypatch.setattr(_subspace, "MOST_PRODUCTS", 1)
    found = _eigen.top_eigenvectors(SparseGraph(graph), 3)
    assert not found.converged
    assert np.isfinite(found.vectors).all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_no_eigenvalue_is_below_the_bound(sign):
    rng = np.random.RandomState(0)
    for n_samples in (3, 20, 60, 200):
        matrix = sign * _symmetric(rng.random((n_samples, n_samples)) ** 4)
        matrix[rng.randint(n_samples)] = 0.0
        matrix = _symmetric(matrix)
        bound = SparseGraph(sparse.csr_array(matrix)).lower_bound()
        spectrum = np.linalg.eigvalsh(matrix)
        assert bound <= spectrum[0] + 1e-10
        assert bound >= spectrum[0] - np.abs(spectrum).max()


def test_vectors_of_a_graph_in_pieces_live_on_one_piece_each():
    sizes = [4, 9, 6, 9, 5]
    graph = sparse.csr_array(sparse.block_diag([components(n, 1) for n in sizes]))
    values, vectors = top(graph, 3)
    assert_allclose(values, np.ones(3), atol=1e-14)
    # The larger first, then the one that comes first.
    starts = np.cumsum([0, *sizes])
    for column, piece in zip(vectors.T, (1, 3, 2), strict=True):
        expected = np.zeros(sum(sizes))
        expected[starts[piece] : starts[piece + 1]] = sizes[piece] ** -0.5
        assert_allclose(column, expected, atol=1e-13)


def test_pieces_of_every_size_give_the_spectrum_of_the_whole():
    sizes = [1, 2, 450, 30, 1, 7]
    rng = np.random.RandomState(0)
    blocks = [sparse.csr_array(_symmetric(rng.random((n, n)))) for n in sizes]
    graph = sparse.csr_array(sparse.block_diag(blocks))
    shuffled = rng.permutation(sum(sizes))
    graph = sparse.csr_array(graph[shuffled][:, shuffled])
    values, vectors = top(graph, 8)
    expected_values, expected = reference.top(graph.toarray(), 8)
    assert_allclose(values, expected_values, rtol=1e-12)
    assert_allclose(
        reference.projector(vectors), reference.projector(expected), atol=1e-8
    )


@pytest.mark.parametrize("n_samples", [40, 450])
@pytest.mark.parametrize("n_vectors", [2, 4, 12])
def test_vectors_of_a_tied_space_do_not_depend_on_rounding(n_samples, n_vectors):
    """A cut through a multiple eigenvalue, here of multiplicity 10 or n - 11."""
    rng = np.random.RandomState(0)
    frame = np.linalg.qr(rng.normal(size=(n_samples, n_samples)))[0]
    values = np.zeros(n_samples)
    values[:11] = [2.0, *[1.0] * 10]
    found = []
    for turned in range(2):
        if turned:
            # The same matrix from other bases of its eigenspaces.
            frame[:, 1:11] @= np.linalg.qr(rng.normal(size=(10, 10)))[0]
            frame[:, 11:] @= np.linalg.qr(rng.normal(size=(n_samples - 11,) * 2))[0]
        matrix = (frame * values) @ frame.T
        found.append(top((matrix + matrix.T) / 2, n_vectors)[1])
    assert_allclose(found[0].T @ found[0], np.eye(n_vectors), atol=1e-12)
    assert_allclose(
        reference.projector(found[0]), reference.projector(found[1]), atol=1e-8
    )


def neighbor_graph(points, n_neighbors):
    distances = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :n_neighbors]
    graph = np.zeros_like(distances)
    np.put_along_axis(graph, nearest, 1.0 / n_neighbors, axis=1)
    return sparse.csr_array(graph)


def _symmetric(matrix):
    return (matrix + matrix.T) / 2


@pytest.mark.parametrize("n_neighbors", [1, 3, 4, 7])
def test_recurrences_are_those_of_the_dense_matrix(n_neighbors):
    """Wrong products would not show in the vectors: other ways take over then."""
    rng = np.random.RandomState(0)
    graph = neighbor_graph(rng.normal(size=(30, 2)), n_neighbors)
    coefficients = rng.normal(size=(5, 3))
    symmetric = SparseGraph(sparse.csr_array(graph + graph.T))
    for affinity in (SparseGraph.squared(graph), symmetric):
        block, before = rng.normal(size=(2, 30, 8))
        expected, last = block.copy(), before.copy()
        for factor, own, kept in coefficients:
            product = affinity.toarray() @ expected
            expected, last = factor * product + own * expected + kept * last, expected
        found = affinity.recur(block, before, coefficients)
        assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
