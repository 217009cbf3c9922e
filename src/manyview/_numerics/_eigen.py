"""Leading eigenvectors of symmetric affinities of samples.

Where eigenvalues tie, the vectors follow from the matrix alone, not from rounding: see
`top_eigenvectors`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from scipy import linalg

from manyview._numerics._gram import LowRankKernel
from manyview._numerics._operators import TIED, SparseGraph
from manyview._numerics._subspace import (
    SPARE,
    Eigenpairs,
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
# Eigenvalues of a product below this share of the largest are zero.
EMPTY = 1e-12

Affinity: TypeAlias = "FloatArray | SparseGraph | LowRankKernel"


def top_eigenvectors(
    affinity: Affinity,
    n_vectors: int,
    *,
    coupling: FloatArray | None = None,
    start: FloatArray | None = None,
    tolerance: float = TOLERANCE,
) -> Eigenpairs:
    """Eigenpairs of the largest (not the largest absolute) eigenvalues.

    Each vector's largest entry is positive. A sparse graph is taken apart into its
    connected components, and each vector then lives on one of them; of tied components
    the larger one comes first, then the one with the first sample. If the last vector
    is tied with others within a component, the directions taken of that eigenspace are
    those nearest to fixed ones. A low-rank kernel has one factor, of weight 1; vectors
    beyond its rank are zero.

    coupling : (n_samples, any), of a dense or low-rank affinity to which ``coupling
    coupling'`` is added; start : (n_samples, any), vectors of a similar matrix, which
    save products.
    """
    if isinstance(affinity, LowRankKernel):
        return _low_rank_eigenpairs(affinity, coupling, n_vectors)
    if isinstance(affinity, SparseGraph):
        components = affinity.components()
        if len(components) > 1:
            return _by_component(components, n_vectors, tolerance)
    return _connected_eigenpairs(affinity, coupling, n_vectors, start, tolerance)


def top_singular_vectors(matrix: FloatArray, n_vectors: int) -> FloatArray:
    """Left singular vectors of the largest singular values, (n_samples, n_vectors)."""
    vectors, values, _ = linalg.svd(matrix, full_matrices=False)
    return settle_ties(values, vectors, n_vectors).vectors


def settle_ties(values: FloatArray, vectors: FloatArray, n_vectors: int) -> Eigenpairs:
    """The leading vectors; of a tied space cut in two, what is nearest to fixed ones.

    Projected on it, they give the same vectors whatever basis a solver returned.
    values : descending, with those of the whole space among them.
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


def _low_rank_eigenpairs(
    kernel: LowRankKernel, coupling: FloatArray | None, n_vectors: int
) -> Eigenpairs:
    """From the small matrix ``[F C]' [F C]``."""
    (factor,), rank = kernel.factors, len(kernel.gram)
    if coupling is None:
        coupling = np.zeros((len(kernel), 0))
    across = factor.T @ coupling
    gram = np.block([[kernel.gram, across], [across.T, coupling.T @ coupling]])
    values, turn = descending_eigenpairs(gram, len(gram))
    smallest = EMPTY * values[0]
    last = values[min(n_vectors, len(values)) - 1]
    # All that may be tied with the last one.
    n_lifted = int((values >= last - smallest).sum())
    values, turn = values[:n_lifted], turn[:, :n_lifted]
    real = values > smallest
    turn = turn * (real / np.sqrt(np.where(real, values, 1.0)))
    vectors = factor @ turn[:rank] + coupling @ turn[rank:]
    missing = max(n_vectors - n_lifted, 0)
    return settle_ties(
        np.pad(np.where(real, values, 0.0), (0, missing)),
        np.pad(vectors, ((0, 0), (0, missing))),
        n_vectors,
    )


def _by_component(
    components: Sequence[tuple[IntArray, SparseGraph]], n_vectors: int, tolerance: float
) -> Eigenpairs:
    """Eigenpairs of a graph in pieces: each piece by itself."""
    found, candidates = [], []
    for members, graph in components:
        n_found = min(n_vectors, len(members))
        pairs = _connected_eigenpairs(graph, None, n_found, None, tolerance)
        found.append(pairs)
        candidates += [(members, vector) for vector in pairs.vectors.T]
    values = np.concatenate([pairs.values for pairs in found])
    sizes = np.array([len(members) for members, _ in candidates])
    chosen = _ranked(values, sizes)[:n_vectors]
    n_samples = sum(len(members) for members, _ in components)
    vectors = np.zeros((n_samples, n_vectors))
    for place, pick in enumerate(chosen):
        members, vectors[members, place] = candidates[pick]
    residual = max(pairs.residual for pairs in found)
    return Eigenpairs(values=values[chosen], vectors=vectors, residual=residual)


def _ranked(values: FloatArray, sizes: IntArray) -> IntArray:
    """Places by descending value; tied ones by descending size, then as they come."""
    order = np.argsort(-values, kind="stable")
    falls = -np.diff(values[order]) > TIED * np.abs(values).max()
    rank = np.empty(len(values), dtype=np.intp)
    rank[order] = np.concatenate([[0], np.cumsum(falls)])
    return np.lexsort((-sizes, rank))


def _connected_eigenpairs(
    affinity: FloatArray | SparseGraph,
    coupling: FloatArray | None,
    n_vectors: int,
    start: FloatArray | None,
    tolerance: float,
) -> Eigenpairs:
    n_samples = len(affinity)
    if n_samples < ITERATIVE_FROM or 4 * block_width(n_vectors) > n_samples:
        return _dense_eigenpairs(_formed(affinity, coupling), n_vectors)
    block = first_block(n_samples, n_vectors, start)
    if isinstance(affinity, SparseGraph):
        found = filtered(affinity, block, n_vectors, tolerance)
    else:
        matrix = affinity

        def multiply(block: FloatArray) -> FloatArray:
            product = matrix @ block
            if coupling is not None:
                product += coupling @ (coupling.T @ block)
            return product

        found = krylov(multiply, block, n_vectors, tolerance)
    if found.residual > tolerance and n_samples <= FACTORISED_UP_TO:
        found = _inverted(_formed(affinity, coupling), found, n_vectors, tolerance)
        if found.residual > tolerance:
            return _dense_eigenpairs(_formed(affinity, coupling), n_vectors)
    if _tied(found.values, n_vectors)[n_vectors] and n_samples <= SETTLED_UP_TO:
        return _dense_eigenpairs(_formed(affinity, coupling), n_vectors)
    return Eigenpairs(
        values=found.values[:n_vectors],
        vectors=_fix_signs(found.vectors[:, :n_vectors]),
        residual=found.residual,
        beyond=found.vectors[:, n_vectors:],
    )


def _formed(
    affinity: FloatArray | SparseGraph, coupling: FloatArray | None
) -> FloatArray:
    matrix = affinity.toarray() if isinstance(affinity, SparseGraph) else affinity
    return matrix if coupling is None else matrix + coupling @ coupling.T


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
    matrix: FloatArray, rough: Eigenpairs, n_vectors: int, tolerance: float
) -> Eigenpairs:
    """The same for ``(shift I - matrix)^-1``, where eigenvalues are close together.

    Just above the spectrum the inverse spreads its upper end. The rough pairs if the
    shift turns out to lie within the spectrum.
    """
    shift = float(rough.values[0] + SHIFT * abs(rough.values[0]))
    lower = -matrix
    lower[np.diag_indices(len(lower))] += shift
    try:
        factor = linalg.cho_factor(lower, lower=True, overwrite_a=True)
    except linalg.LinAlgError:
        return rough

    def solve(block: FloatArray) -> FloatArray:
        return np.asarray(linalg.cho_solve(factor, block, check_finite=False))

    found = krylov(solve, rough.vectors, n_vectors, tolerance)
    return replace(found, values=shift - 1.0 / found.values)


def _fix_signs(vectors: FloatArray) -> FloatArray:
    """Eigenvectors are known up to sign: make each one's largest entry positive."""
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return np.asarray(vectors * np.where(signs == 0.0, 1.0, signs))
