"""Graphs of samples and the eigenvectors of their normalised affinities.

Affinities are symmetric (n_samples, n_samples) matrices, dense or CSR. Spectral
embeddings use the affinity form, so the largest eigenvalues are the wanted ones.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh
from sklearn.neighbors import NearestNeighbors

from manyview._numerics._gram import Points
from manyview._typing import FloatArray, IntArray

Affinity: TypeAlias = "FloatArray | sparse.csr_array"
Eigenpairs: TypeAlias = tuple[FloatArray, FloatArray]
Multiply: TypeAlias = Callable[[FloatArray], FloatArray]

# Below this many samples a dense eigensolver is quicker than Lanczos iterations.
LANCZOS_FROM = 400
# Degrees of isolated samples, and of filtered affinities that cancel.
SMALLEST_DEGREE = 1e-12
# How far, relative to the spectrum, an overlooked eigenvalue must lie above the
# smallest one found, and how well it is looked for.
OVERLOOKED = 1e-9
SEARCH_TOLERANCE = 1e-6
# Features of neighbours compared with their samples' at a time.
COMPARED_ELEMENTS = 1 << 20
# Distances that agree to this relative amount are tied.
TIED = 1e-12
# ARPACK draws new directions when it meets an invariant subspace; SciPy lets us say
# from where since 1.17.
_SEEDABLE = "rng" in inspect.signature(eigsh).parameters


def inverse_root_degrees(row_sums: FloatArray) -> FloatArray:
    """``|q|^-1/2`` of the row sums q of an affinity, (n_samples,).

    The absolute value is for affinities with negative entries, whose rows may have a
    negative sum.
    """
    return np.asarray(np.maximum(np.abs(row_sums), SMALLEST_DEGREE) ** -0.5)


def normalise_graph(graph: sparse.csr_array) -> sparse.csr_array:
    """``D^-1/2 W D^-1/2`` of a sparse graph."""
    scaling = sparse.diags_array(
        inverse_root_degrees(np.asarray(graph.sum(axis=1), dtype=np.float64))
    )
    return sparse.csr_array(scaling @ graph @ scaling)


def unit_rows(embedding: FloatArray) -> FloatArray:
    """Rows divided by their Euclidean length; a zero row stays zero."""
    lengths = np.linalg.norm(embedding, axis=1, keepdims=True)
    return np.asarray(embedding / np.where(lengths > 0.0, lengths, 1.0))


def top_eigenvectors(
    affinity: Affinity,
    n_vectors: int,
    *,
    scaling: FloatArray | None = None,
    coupling: FloatArray | None = None,
) -> Eigenpairs:
    """Eigenpairs of the largest (not the largest absolute) eigenvalues, descending.

    The matrix is ``diag(scaling) affinity diag(scaling) + coupling coupling'``; for
    large n it is never formed. Each vector's largest entry is positive.

    scaling : (n_samples,) or None for ones; coupling : (n_samples, any) or None.
    """
    n_samples = affinity.shape[0]
    # Lanczos needs a basis of several times as many vectors as are asked for.
    if n_samples < LANCZOS_FROM or 4 * n_vectors > n_samples:
        return _dense_eigenpairs(affinity, n_vectors, scaling, coupling)

    def multiply(vector: FloatArray) -> FloatArray:
        scaled = vector if scaling is None else scaling * vector
        product = _symmetric_product(affinity, scaled)
        if scaling is not None:
            product *= scaling
        if coupling is not None:
            product += coupling @ (coupling.T @ vector)
        return product

    try:
        return _lanczos(multiply, n_samples, n_vectors)
    except ArpackError:
        return _dense_eigenpairs(affinity, n_vectors, scaling, coupling)


def top_singular_vectors(matrix: FloatArray, n_vectors: int) -> FloatArray:
    """Left singular vectors of the largest singular values, (n_samples, n_vectors)."""
    vectors = linalg.svd(matrix, full_matrices=False)[0][:, :n_vectors]
    return _fix_signs(vectors)


def filtered_eigenvectors(
    kernel: FloatArray, basis: FloatArray, n_vectors: int
) -> Eigenpairs:
    """Top eigenpairs of a kernel filtered through a subspace, then normalised.

    The filtered affinity is ``S = (K B B' + B B' K) / 2`` with the columns of `basis`,
    (n_samples, n_columns), as B. Its rank is at most ``2 n_columns``: with
    ``Z = [K B, B]`` the eigenvectors lie in the range of Z, so a QR factorisation and
    a small dense eigenproblem find them exactly and S is never formed.
    """
    image = kernel @ basis
    row_sums = image @ basis.sum(axis=0) + basis @ image.sum(axis=0)
    scaling = inverse_root_degrees(row_sums / 2.0)[:, None]
    frame, upper = linalg.qr(np.hstack([image, basis]) * scaling, mode="economic")
    left, right = np.hsplit(upper, 2)
    product = left @ right.T
    values, vectors = _largest_of_small((product + product.T) / 2.0, n_vectors)
    return values, _fix_signs(frame @ vectors)


def nearest_others(points: Points, n_neighbors: int) -> tuple[IntArray, FloatArray]:
    """Nearest other samples, ascending, and their squared distances.

    Both (n_samples, n_neighbors). A sample is never its own neighbour, also where
    others equal it. Distances are taken by differences: those of equal rows are 0.
    """
    n_samples, n_features = points.shape
    search = NearestNeighbors(n_neighbors=n_neighbors).fit(points)
    neighbors = search.kneighbors(return_distance=False)
    distances = np.empty(neighbors.shape)
    step = max(1, COMPARED_ELEMENTS // (n_features * n_neighbors))
    for start in range(0, n_samples, step):
        block = neighbors[start : start + step]
        own = np.repeat(np.arange(start, start + len(block)), n_neighbors)
        offsets = points[block.ravel()] - points[own]
        squares = np.asarray((offsets**2).sum(axis=1))
        distances[start : start + step] = squares.reshape(block.shape)
    order = np.argsort(distances, axis=1, kind="stable")
    return (
        np.take_along_axis(neighbors, order, axis=1),
        np.take_along_axis(distances, order, axis=1),
    )


def neighbor_weights(distances: FloatArray) -> FloatArray:
    """Edge weights to the c nearest others from the squared distances to c + 1.

    distances : (n_samples, c + 1), ascending. Weights (n_samples, c) fall linearly
    with distance, reach 0 at neighbour c + 1 and sum to 1. Where all c + 1 distances
    are tied that is 0/0, and the c neighbours share equally.
    """
    reach, near = distances[:, -1:], distances[:, :-1]
    gaps = reach - near
    totals = gaps.sum(axis=1, keepdims=True)
    tied = totals <= TIED * reach
    return np.where(tied, 1.0 / near.shape[1], gaps / np.where(tied, 1.0, totals))


def neighbor_graph(points: Points, n_neighbors: int) -> sparse.csr_array:
    """Directed graph of every sample's c nearest others; rows sum to 1.

    With fewer than c + 2 samples all others are neighbours, and the farthest is the
    reach. One sample alone has no edge.
    """
    n_samples = points.shape[0]
    if n_samples == 1:
        return sparse.csr_array((1, 1), dtype=np.float64)
    n_edges = min(n_neighbors, n_samples - 1)
    neighbors, distances = nearest_others(points, min(n_neighbors + 1, n_samples - 1))
    if distances.shape[1] == n_edges:
        distances = np.hstack([distances, distances[:, -1:]])
    weights = neighbor_weights(distances)
    starts = np.arange(n_samples + 1) * n_edges
    graph = sparse.csr_array(
        (weights.ravel(), neighbors[:, :n_edges].ravel(), starts),
        shape=(n_samples, n_samples),
    )
    graph.eliminate_zeros()
    return graph


def _symmetric_product(matrix: Affinity, vector: FloatArray) -> FloatArray:
    if isinstance(matrix, np.ndarray):
        # Memory bounds such a product, and this one reads half of the matrix only. The
        # transpose is the same matrix in the memory order BLAS wants.
        return np.asarray(linalg.blas.dsymv(1.0, matrix.T, vector))
    return np.asarray(matrix @ vector)


def _dense_eigenpairs(
    affinity: Affinity,
    n_vectors: int,
    scaling: FloatArray | None,
    coupling: FloatArray | None,
) -> Eigenpairs:
    matrix = affinity.toarray() if sparse.issparse(affinity) else affinity.copy()
    if scaling is not None:
        matrix *= scaling
        matrix *= scaling[:, None]
    if coupling is not None:
        matrix += coupling @ coupling.T
    values, vectors = _largest_of_small(matrix, n_vectors)
    return values, _fix_signs(vectors)


def _largest_of_small(matrix: FloatArray, n_vectors: int) -> Eigenpairs:
    """Dense eigenpairs, descending; overwrites the matrix."""
    last = len(matrix) - 1
    values, vectors = linalg.eigh(
        matrix, subset_by_index=[last - n_vectors + 1, last], overwrite_a=True
    )
    return values[::-1], vectors[:, ::-1]


def _lanczos(multiply: Multiply, n_samples: int, n_vectors: int) -> Eigenpairs:
    """Lanczos iterations, repeated until no copy of a multiple eigenvalue is missing.

    Started from one vector they see one direction of each eigenspace; further copies
    only come in through rounding, and often not at all. Well separated clusters give
    just such multiple eigenvalues. What is missing is orthogonal to the vector that
    missed it, so every search starts from another one.
    """
    starts = np.random.RandomState(0)
    values, vectors = _arpack(multiply, n_samples, n_vectors, starts)
    while True:
        rest = _deflate(multiply, values, vectors)
        highest, _ = _arpack(rest, n_samples, 1, starts, tolerance=SEARCH_TOLERANCE)
        if highest[0] <= values[-1] + OVERLOOKED * np.abs(values).max():
            return values, _fix_signs(vectors)
        _, more = _arpack(rest, n_samples, n_vectors, starts)
        frame, _ = linalg.qr(np.hstack([vectors, more]), mode="economic")
        images = np.column_stack([multiply(column) for column in frame.T])
        projected = frame.T @ images
        values, small = _largest_of_small((projected + projected.T) / 2.0, n_vectors)
        vectors = frame @ small


def _deflate(multiply: Multiply, values: FloatArray, vectors: FloatArray) -> Multiply:
    """The same matrix with the eigenvalues found moved to the low end."""
    lowered = values + np.abs(values).max()

    def multiply_rest(vector: FloatArray) -> FloatArray:
        moved = vectors @ (lowered * (vectors.T @ vector))
        return np.asarray(multiply(vector) - moved)

    return multiply_rest


def _arpack(
    multiply: Multiply,
    n_samples: int,
    n_vectors: int,
    starts: np.random.RandomState,
    *,
    tolerance: float = 0.0,
) -> Eigenpairs:
    # Not from ones: they are an eigenvector of any graph with equal degrees.
    start = starts.uniform(-1.0, 1.0, n_samples)
    seed: dict[str, Any] = {"rng": np.random.default_rng(0)} if _SEEDABLE else {}
    shape = (n_samples, n_samples)
    operator = LinearOperator(shape, matvec=multiply, dtype=np.dtype(np.float64))
    values, vectors = eigsh(
        operator, k=n_vectors, which="LA", v0=start, tol=tolerance, **seed
    )
    order = np.argsort(values)[::-1]
    return values[order], vectors[:, order]


def _fix_signs(vectors: FloatArray) -> FloatArray:
    """Eigenvectors are known up to sign: make each one's largest entry positive."""
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return np.asarray(vectors * np.where(signs == 0.0, 1.0, signs))
