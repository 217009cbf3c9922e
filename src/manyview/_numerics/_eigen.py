"""Leading eigenvectors of symmetric affinities.

Affinities are (n_samples, n_samples) matrices, dense or CSR. Where eigenvalues tie, the
vectors follow from the matrix alone, not from rounding: see `top_eigenvectors`.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh, lobpcg

from manyview._typing import FloatArray, IntArray

Affinity: TypeAlias = "FloatArray | sparse.csr_array | Product"
Multiply: TypeAlias = Callable[[FloatArray], FloatArray]

# Below this many samples a dense eigensolver is quicker than Lanczos iterations.
LANCZOS_FROM = 400
# Basis of Lanczos iterations, samples per restart and most restarts. What takes more
# has eigenvalues so close together that a factorised matrix is quicker.
SMALLEST_BASIS = 40
SAMPLES_PER_RESTART = 50
MOST_RESTARTS = 200
# Most samples whose matrix is factorised (200 MB), and most for which ties at the last
# vector are settled by a dense eigensolver.
FACTORISED_UP_TO = 5000
SETTLED_UP_TO = 2000
# Where the matrix is inverted: this far, relatively, above the largest eigenvalue.
SHIFT = 1e-4
# Iterations and relative residual of the solver for graphs too large for that.
BLOCK_ITERATIONS = 200
BLOCK_TOLERANCE = 1e-6
# Eigenvalues that agree to this share of the largest are tied.
TIED = 1e-10
# Vectors computed beyond those asked for, to see ties.
SPARE = 8
# How far, relative to the spectrum, an overlooked eigenvalue must lie above the
# smallest one found, and how well it is looked for.
OVERLOOKED = 1e-9
SEARCH_TOLERANCE = 1e-6
# ARPACK draws new directions when it meets an invariant subspace; SciPy lets us say
# from where since 1.17.
_SEEDABLE = "rng" in inspect.signature(eigsh).parameters


@dataclass(frozen=True, kw_only=True, slots=True)
class Eigenpairs:
    """values : (n_vectors,), descending; vectors : (n_samples, n_vectors).

    converged : False if the vectors are approximate.
    """

    values: FloatArray
    vectors: FloatArray
    converged: bool = True


@dataclass(frozen=True, slots=True)
class Product:
    """``factor factor'`` of a sparse factor (n_samples, n_columns), not formed.

    The product of a graph with its transpose has many times the entries of the graph.
    """

    factor: sparse.csr_array
    _transposed: sparse.csc_array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # Made once: products come by the hundred.
        object.__setattr__(self, "_transposed", self.factor.T)

    @property
    def shape(self) -> tuple[int, int]:
        return self.factor.shape[0], self.factor.shape[0]

    def __matmul__(self, vectors: FloatArray) -> FloatArray:
        return np.asarray(self.factor @ (self._transposed @ vectors))

    def part(self, start: int, end: int) -> Product:
        """The block of samples that share no column with others."""
        rows = self.factor[start:end]
        return Product(rows[:, np.unique(rows.indices)])

    def toarray(self) -> FloatArray:
        return np.asarray((self.factor @ self.factor.T).toarray())

    def pieces(self) -> tuple[int, IntArray]:
        """Samples joined by common columns: how many pieces, and which each is in."""
        n_samples, n_columns = self.factor.shape
        edges = self.factor.tocoo()
        nodes = n_samples + n_columns
        both = sparse.csr_array(
            (edges.data, (edges.row, edges.col + n_samples)), shape=(nodes, nodes)
        )
        _, found = connected_components(both, directed=False)
        kinds, pieces = np.unique(found[:n_samples], return_inverse=True)
        return len(kinds), pieces


@dataclass(frozen=True, kw_only=True, slots=True)
class _Matrix:
    """``diag(scaling) affinity diag(scaling) + coupling coupling'``, not formed."""

    affinity: Affinity
    scaling: FloatArray | None
    coupling: FloatArray | None

    @property
    def n_samples(self) -> int:
        return int(self.affinity.shape[0])

    def multiply(self, vector: FloatArray) -> FloatArray:
        """The product with a vector or, column by column, with a matrix."""
        scaling = self.scaling
        if scaling is not None and vector.ndim == 2:
            scaling = scaling[:, None]
        scaled = vector if scaling is None else scaling * vector
        product = _symmetric_product(self.affinity, scaled)
        if scaling is not None:
            product *= scaling
        if self.coupling is not None:
            product += self.coupling @ (self.coupling.T @ vector)
        return product

    def form(self) -> FloatArray:
        if isinstance(self.affinity, np.ndarray):
            matrix = self.affinity.copy()
        else:
            matrix = np.asarray(self.affinity.toarray(), dtype=np.float64)
        if self.scaling is not None:
            matrix *= self.scaling
            matrix *= self.scaling[:, None]
        if self.coupling is not None:
            matrix += self.coupling @ self.coupling.T
        return matrix


def top_eigenvectors(
    affinity: Affinity,
    n_vectors: int,
    *,
    scaling: FloatArray | None = None,
    coupling: FloatArray | None = None,
) -> Eigenpairs:
    """Eigenpairs of the largest (not the largest absolute) eigenvalues.

    The matrix is ``diag(scaling) affinity diag(scaling) + coupling coupling'``; for
    large n it is never formed. Each vector's largest entry is positive.

    A sparse graph is taken apart into its connected components, and each vector then
    lives on one of them; of tied components the larger one comes first, then the one
    with the first sample. If the last vector is tied with others within a component,
    the directions taken of that eigenspace are those nearest to fixed ones.

    scaling : (n_samples,) or None for ones; coupling : (n_samples, any) or None.
    """
    if not isinstance(affinity, np.ndarray) and coupling is None:
        n_pieces, pieces = _pieces(affinity)
        if n_pieces > 1:
            return _by_component(affinity, scaling, pieces, n_vectors)
    matrix = _Matrix(affinity=affinity, scaling=scaling, coupling=coupling)
    return _connected_eigenpairs(matrix, n_vectors)


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


def descending_eigenpairs(
    matrix: FloatArray, n_vectors: int
) -> tuple[FloatArray, FloatArray]:
    """Values and vectors of a dense matrix."""
    last = len(matrix) - 1
    subset = [last - n_vectors + 1, last]
    try:
        values, vectors = linalg.eigh(matrix, subset_by_index=subset)
    except linalg.LinAlgError:
        # LAPACK's solver for some of the eigenvalues gives up where many are equal.
        values, vectors = linalg.eigh(matrix, driver="evd")
        values, vectors = values[-n_vectors:], vectors[:, -n_vectors:]
    return values[::-1], vectors[:, ::-1]


def _symmetric_product(matrix: Affinity, vector: FloatArray) -> FloatArray:
    if isinstance(matrix, np.ndarray) and vector.ndim == 1:
        # Memory bounds such a product, and this one reads half of the matrix only. The
        # transpose is the same matrix in the memory order BLAS wants.
        return np.asarray(linalg.blas.dsymv(1.0, matrix.T, vector))
    return np.asarray(matrix @ vector)


def _pieces(graph: sparse.csr_array | Product) -> tuple[int, IntArray]:
    if isinstance(graph, Product):
        return graph.pieces()
    n_pieces, pieces = connected_components(graph, directed=False)
    return int(n_pieces), pieces


def _by_component(
    graph: sparse.csr_array | Product,
    scaling: FloatArray | None,
    pieces: IntArray,
    n_vectors: int,
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
        matrix = _Matrix(
            affinity=(
                in_order.part(start, end)
                if isinstance(in_order, Product)
                else in_order[start:end, start:end]
            ),
            scaling=None if scaling is None else scaling[members],
            coupling=None,
        )
        pairs = _connected_eigenpairs(matrix, min(n_vectors, end - start))
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


def _connected_eigenpairs(matrix: _Matrix, n_vectors: int) -> Eigenpairs:
    n_samples = matrix.n_samples
    # Lanczos needs a basis of several times as many vectors as are asked for.
    if n_samples < LANCZOS_FROM or 4 * n_vectors > n_samples:
        return _dense_eigenpairs(matrix.form(), n_vectors)
    try:
        values, vectors, following = _lanczos(matrix.multiply, n_samples, n_vectors)
    except ArpackError:
        if n_samples > FACTORISED_UP_TO:
            return _block_eigenpairs(matrix, n_vectors)
        try:
            values, vectors, following = _inverse_lanczos(matrix, n_vectors)
        except (ArpackError, linalg.LinAlgError):
            return _dense_eigenpairs(matrix.form(), n_vectors)
    tied = _tied(np.append(values, following), n_vectors)[-1]
    if tied and n_samples <= SETTLED_UP_TO:
        return _dense_eigenpairs(matrix.form(), n_vectors)
    return Eigenpairs(values=values, vectors=_fix_signs(vectors))


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


def _lanczos(
    multiply: Multiply, n_samples: int, n_vectors: int
) -> tuple[FloatArray, FloatArray, float]:
    """Lanczos iterations, repeated until no copy of a multiple eigenvalue is missing.

    Started from one vector they see one direction of each eigenspace; further copies
    only come in through rounding, and often not at all. Well separated clusters give
    just such multiple eigenvalues. What is missing is orthogonal to the vector that
    missed it, so every search starts from another one.

    Returns values, vectors, and the eigenvalue that follows.
    """
    starts = np.random.RandomState(0)
    values, vectors = _arpack(multiply, n_samples, n_vectors, starts)
    for _ in range(n_vectors + 1):
        rest = _deflate(multiply, values, vectors)
        highest, _ = _arpack(rest, n_samples, 1, starts, tolerance=SEARCH_TOLERANCE)
        if highest[0] <= values[-1] + OVERLOOKED * np.abs(values).max():
            return values, vectors, float(highest[0])
        _, more = _arpack(rest, n_samples, n_vectors, starts)
        frame, _ = linalg.qr(np.hstack([vectors, more]), mode="economic")
        images = np.column_stack([multiply(column) for column in frame.T])
        projected = frame.T @ images
        values, small = descending_eigenpairs(
            (projected + projected.T) / 2.0, n_vectors
        )
        vectors = frame @ small
    msg = "eigenvalues were still overlooked"
    raise ArpackError(-1, {-1: msg})


def _inverse_lanczos(
    matrix: _Matrix, n_vectors: int
) -> tuple[FloatArray, FloatArray, float]:
    """Lanczos iterations on ``(shift I - matrix)^-1``, for eigenvalues close together.

    Just above the spectrum the inverse spreads its upper end.
    """
    n_samples = matrix.n_samples
    starts = np.random.RandomState(0)
    rough, _ = _arpack(
        matrix.multiply, n_samples, 1, starts, tolerance=SEARCH_TOLERANCE**0.5
    )
    shift = float(rough[0] + SHIFT * abs(rough[0]))
    lower = -matrix.form()
    lower[np.diag_indices(n_samples)] += shift
    factor = linalg.cho_factor(lower, lower=True, overwrite_a=True)

    def solve(vector: FloatArray) -> FloatArray:
        return np.asarray(linalg.cho_solve(factor, vector, check_finite=False))

    values, vectors, following = _lanczos(solve, n_samples, n_vectors)
    # An inverse that is not positive belongs to the far end of the spectrum.
    below = shift - 1.0 / following if following > 0.0 else -np.inf
    return shift - 1.0 / values, vectors, below


def _block_eigenpairs(matrix: _Matrix, n_vectors: int) -> Eigenpairs:
    """As good as a bounded number of block iterations gets."""
    n_samples = matrix.n_samples
    start = np.random.RandomState(0).normal(size=(n_samples, n_vectors + SPARE))
    shape = (n_samples, n_samples)
    operator = LinearOperator(
        shape,
        matvec=matrix.multiply,
        matmat=matrix.multiply,
        dtype=np.dtype(np.float64),
    )
    with warnings.catch_warnings():
        # How far it came is measured below.
        warnings.simplefilter("ignore", UserWarning)
        found: Any = lobpcg(
            operator, start, largest=True, maxiter=BLOCK_ITERATIONS, tol=BLOCK_TOLERANCE
        )
    order = np.argsort(found[0])[::-1][:n_vectors]
    values, vectors = found[0][order], found[1][:, order]
    residuals = np.linalg.norm(matrix.multiply(vectors) - vectors * values, axis=0)
    return Eigenpairs(
        values=values,
        vectors=_fix_signs(vectors),
        converged=bool(residuals.max() <= BLOCK_TOLERANCE * np.abs(values).max()),
    )


def _deflate(multiply: Multiply, values: FloatArray, vectors: FloatArray) -> Multiply:
    """The matrix, with the eigenvalues found so far moved to the low end."""
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
) -> tuple[FloatArray, FloatArray]:
    # Not from ones: they are an eigenvector of any graph with equal degrees.
    start = starts.uniform(-1.0, 1.0, n_samples)
    seed: dict[str, Any] = {"rng": np.random.default_rng(0)} if _SEEDABLE else {}
    shape = (n_samples, n_samples)
    operator = LinearOperator(shape, matvec=multiply, dtype=np.dtype(np.float64))
    values, vectors = eigsh(
        operator,
        k=n_vectors,
        which="LA",
        v0=start,
        ncv=min(n_samples, max(2 * n_vectors + 1, SMALLEST_BASIS)),
        maxiter=min(n_samples // SAMPLES_PER_RESTART, MOST_RESTARTS),
        tol=tolerance,
        **seed,
    )
    order = np.argsort(values)[::-1]
    return values[order], vectors[:, order]


def _fix_signs(vectors: FloatArray) -> FloatArray:
    """Eigenvectors are known up to sign: make each one's largest entry positive."""
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return np.asarray(vectors * np.where(signs == 0.0, 1.0, signs))
