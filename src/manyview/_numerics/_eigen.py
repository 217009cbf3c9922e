"""Leading eigenvectors of symmetric affinities.

Affinities are (n_samples, n_samples) matrices, dense or CSR. Where eigenvalues tie, the
vectors follow from the matrix alone, not from rounding: see `top_eigenvectors`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components

from manyview._numerics._operators import TIED, Affinity, Matrix, Product
from manyview._numerics._subspace import (
    SPARE,
    Found,
    block_width,
    descending_eigenpairs,
    filtered,
    first_block,
    krylov,
)
from manyview._typing import FloatArray, IntArray

# Below this many samples a dense eigensolver is quicker than iterations.
ITERATIVE_FROM = 400
# Relative residual at which vectors are found.
TOLERANCE = 1e-9
# Most samples whose matrix is factorised (200 MB), and most for which ties at the last
# vector are settled by a dense eigensolver.
FACTORISED_UP_TO = 5000
SETTLED_UP_TO = 2000
# Where the matrix is inverted: this far, relatively, above the largest eigenvalue.
SHIFT = 1e-4
# Relative residual that is good enough where a matrix is too large to factorise.
ROUGH_TOLERANCE = 1e-6


@dataclass(frozen=True, kw_only=True, slots=True)
class Eigenpairs:
    """values : (n_vectors,), descending; vectors : (n_samples, n_vectors).

    converged : False if the vectors are approximate.
    """

    values: FloatArray
    vectors: FloatArray
    converged: bool = True


def top_eigenvectors(
    affinity: Affinity,
    n_vectors: int,
    *,
    scaling: FloatArray | None = None,
    coupling: FloatArray | None = None,
    start: FloatArray | None = None,
    tolerance: float = TOLERANCE,
) -> Eigenpairs:
    """Eigenpairs of the largest (not the largest absolute) eigenvalues.

    The matrix is ``diag(scaling) affinity diag(scaling) + coupling coupling'``; for
    large n it is never formed. Each vector's largest entry is positive.

    A sparse graph is taken apart into its connected components, and each vector then
    lives on one of them; of tied components the larger one comes first, then the one
    with the first sample. If the last vector is tied with others within a component,
    the directions taken of that eigenspace are those nearest to fixed ones.

    scaling : (n_samples,) or None for ones; coupling : (n_samples, any) or None;
    start : (n_samples, any), vectors of a similar matrix, which save products.
    """
    if isinstance(affinity, sparse.csr_array) and scaling is not None:
        factors = sparse.diags_array(scaling)
        affinity, scaling = sparse.csr_array(factors @ affinity @ factors), None
    if not isinstance(affinity, np.ndarray) and coupling is None:
        n_pieces, pieces = _pieces(affinity)
        if n_pieces > 1:
            return _by_component(affinity, pieces, n_vectors, tolerance)
    matrix = Matrix(affinity=affinity, scaling=scaling, coupling=coupling)
    return _connected_eigenpairs(matrix, n_vectors, start, tolerance)


def top_singular_vectors(matrix: FloatArray, n_vectors: int) -> FloatArray:
    """Left singular vectors of the largest singular values, (n_samples, n_vectors)."""
    vectors, values, _ = linalg.svd(matrix, full_matrices=False)
    return settle_ties(values, vectors, n_vectors).vectors


def settle_ties(values: FloatArray, vectors: FloatArray, n_vectors: int) -> Eigenpairs:
    """The leading vectors; of a tied space cut in two, what is nearest to fixed ones.

    Solvers return any basis of such a space. Projected on it, fixed directions give the
    same vectors whatever the basis was. values : descending, with those of the whole
    space among them.
    """
    tied = _tied(values, n_vectors)
    kept = vectors[:, :n_vectors]
    if tied[n_vectors:].any():
        first = int(tied.argmax())
        space = vectors[:, tied]
        shape = (len(vectors), n_vectors - first)
        directions = np.random.RandomState(0).normal(size=shape)
        within, _ = linalg.qr(space.T @ directions, mode="economic")
        kept = np.hstack([vectors[:, :first], space @ within])
    return Eigenpairs(values=values[:n_vectors], vectors=_fix_signs(kept))


def _pieces(graph: sparse.csr_array | Product) -> tuple[int, IntArray]:
    if isinstance(graph, Product):
        return graph.pieces()
    n_pieces, pieces = connected_components(graph, directed=False)
    return int(n_pieces), pieces


def _by_component(
    graph: sparse.csr_array | Product,
    pieces: IntArray,
    n_vectors: int,
    tolerance: float,
) -> Eigenpairs:
    """Eigenpairs of a graph in pieces, (n_samples,): each piece by itself."""
    order = np.argsort(pieces, kind="stable")
    sizes = np.bincount(pieces)
    ends = np.cumsum(sizes)
    in_order = (
        Product(graph.factor[order])
        if isinstance(graph, Product)
        else sparse.csr_array(graph[order][:, order])
    )
    found: list[tuple[Eigenpairs, IntArray]] = []
    for start, end in zip(ends - sizes, ends, strict=True):
        members = order[start:end]
        matrix = Matrix(
            affinity=(
                in_order.part(start, end)
                if isinstance(in_order, Product)
                else in_order[start:end, start:end]
            ),
        )
        pairs = _connected_eigenpairs(
            matrix, min(n_vectors, end - start), None, tolerance
        )
        found.append((pairs, members))
    values = np.concatenate([pairs.values for pairs, _ in found])
    counts = [len(pairs.values) for pairs, _ in found]
    owner = np.repeat(np.arange(len(found)), counts)
    column = np.concatenate([np.arange(count) for count in counts])
    chosen = _ranked(values, sizes[owner])[:n_vectors]
    vectors = np.zeros((len(pieces), n_vectors))
    for place, pick in enumerate(chosen):
        pairs, members = found[owner[pick]]
        vectors[members, place] = pairs.vectors[:, column[pick]]
    return Eigenpairs(
        values=values[chosen],
        vectors=vectors,
        converged=all(pairs.converged for pairs, _ in found),
    )


def _ranked(values: FloatArray, sizes: IntArray) -> IntArray:
    """Places by descending value; tied ones by descending size, then as they come."""
    order = np.argsort(-values, kind="stable")
    falls = -np.diff(values[order]) > TIED * np.abs(values).max()
    rank = np.empty(len(values), dtype=np.intp)
    rank[order] = np.concatenate([[0], np.cumsum(falls)])
    return np.lexsort((-sizes, rank))


def _connected_eigenpairs(
    matrix: Matrix, n_vectors: int, start: FloatArray | None, tolerance: float
) -> Eigenpairs:
    n_samples = matrix.n_samples
    if n_samples < ITERATIVE_FROM or 4 * block_width(n_vectors) > n_samples:
        return _dense_eigenpairs(matrix.form(), n_vectors)
    block = first_block(n_samples, n_vectors, start)
    if isinstance(matrix.affinity, np.ndarray) or matrix.coupling is not None:
        found = krylov(matrix.multiply, block, n_vectors, tolerance)
    else:
        lowest = matrix.lower_bound()
        found = filtered(matrix.recur, lowest, block, n_vectors, tolerance)
    if found.residual > tolerance and n_samples <= FACTORISED_UP_TO:
        inverted = _inverted(matrix, found, n_vectors, tolerance)
        if inverted is None or inverted.residual > tolerance:
            return _dense_eigenpairs(matrix.form(), n_vectors)
        found = inverted
    tied = _tied(found.values, n_vectors)[n_vectors]
    if tied and n_samples <= SETTLED_UP_TO:
        return _dense_eigenpairs(matrix.form(), n_vectors)
    return Eigenpairs(
        values=found.values[:n_vectors],
        vectors=_fix_signs(found.vectors[:, :n_vectors]),
        converged=found.residual <= max(tolerance, ROUGH_TOLERANCE),
    )


def _dense_eigenpairs(matrix: FloatArray, n_vectors: int) -> Eigenpairs:
    n_rows = len(matrix)
    n_found = min(n_vectors + SPARE, n_rows)
    values, vectors = descending_eigenpairs(matrix, n_found)
    if n_found < n_rows and _tied(values, n_vectors)[-1]:
        values, vectors = descending_eigenpairs(matrix, n_rows)
    return settle_ties(values, vectors, n_vectors)


def _tied(values: FloatArray, n_vectors: int) -> Any:
    """Which of the values, descending, are equal to the last one asked for."""
    distance = np.abs(values - values[n_vectors - 1])
    return distance <= TIED * np.abs(values).max()


def _inverted(
    matrix: Matrix, rough: Found, n_vectors: int, tolerance: float
) -> Found | None:
    """The same for ``(shift I - matrix)^-1``, where eigenvalues are close together.

    Just above the spectrum the inverse spreads its upper end. None if the shift turns
    out to lie within the spectrum.
    """
    shift = float(rough.values[0] + SHIFT * abs(rough.values[0]))
    lower = -matrix.form()
    lower[np.diag_indices(len(lower))] += shift
    try:
        factor = linalg.cho_factor(lower, lower=True, overwrite_a=True)
    except linalg.LinAlgError:
        return None

    def solve(block: FloatArray) -> FloatArray:
        return np.asarray(linalg.cho_solve(factor, block, check_finite=False))

    found = krylov(solve, rough.vectors, n_vectors, tolerance)
    values = shift - 1.0 / found.values
    return Found(values=values, vectors=found.vectors, residual=found.residual)


def _fix_signs(vectors: FloatArray) -> FloatArray:
    """Eigenvectors are known up to sign: make each one's largest entry positive."""
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return np.asarray(vectors * np.where(signs == 0.0, 1.0, signs))
