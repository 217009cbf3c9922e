"""Leading eigenvectors of symmetric affinities.

Affinities are (n_samples, n_samples) matrices, dense or CSR. Where eigenvalues tie, the
vectors follow from the matrix alone, not from rounding: see `top_eigenvectors`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components

from manyview._numerics._jit import kernel
from manyview._typing import FloatArray, IntArray

Affinity: TypeAlias = "FloatArray | sparse.csr_array | Product"
# Steps of a recurrence, see `_Matrix.recur`.
Multiply: TypeAlias = Callable[[FloatArray], FloatArray]
Recur: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]

# Below this many samples a dense eigensolver is quicker than iterations.
ITERATIVE_FROM = 400
# Vectors computed beyond those asked for, at least: they show ties, and the lower they
# reach in the spectrum, the fewer products are needed. Processors handle blocks of
# vectors by eights.
SPARE = 6
EIGHT = 8
# Relative residual at which vectors are found, and products with a block of vectors
# after which eigenvalues are too close together for this way.
TOLERANCE = 1e-9
MOST_PRODUCTS = 400
# Blocks of a Krylov space, and how often one is started from the best vectors.
KRYLOV_DEPTH, MOST_RESTARTS = 6, 40
# Products of one filter: few at first, when little is known of the spectrum, and never
# so many that the leading vectors drown the others (in powers of e).
FIRST_DEGREE, MOST_DEGREE = 10, 40
LARGEST_GROWTH = 24.0
# How much a filter favours the last vector asked for, per product, at least.
SMALLEST_GROWTH = 0.05
# Share of the spectrum that is damped, at least.
SMALLEST_CUT = 1e-4
# Most samples whose matrix is factorised (200 MB), and most for which ties at the last
# vector are settled by a dense eigensolver.
FACTORISED_UP_TO = 5000
SETTLED_UP_TO = 2000
# Where the matrix is inverted: this far, relatively, above the largest eigenvalue.
SHIFT = 1e-4
# Relative residual that is good enough where a matrix is too large to factorise.
ROUGH_TOLERANCE = 1e-6
# Eigenvalues that agree to this share of the largest are tied.
TIED = 1e-10
# Steps that look for the lower end of the spectrum.
BOUND_STEPS = 10


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
    transposed: sparse.csr_array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # Made once: products come by the dozen.
        object.__setattr__(self, "transposed", sparse.csr_array(self.factor.T))

    @property
    def shape(self) -> tuple[int, int]:
        return self.factor.shape[0], self.factor.shape[0]

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
    scaling: FloatArray | None = None
    coupling: FloatArray | None = None

    @property
    def n_samples(self) -> int:
        return int(self.affinity.shape[0])

    def recur(
        self, block: FloatArray, before: FloatArray, coefficients: FloatArray
    ) -> FloatArray:
        """Blocks that follow two blocks, each by one row of coefficients; the last one.

        For sparse graphs without coupling.

        A row (factor, own, kept) takes the last two blocks to ``factor * matrix @ block
        + own * block + kept * before``. Both blocks are overwritten.
        """
        graph: Any = self.affinity
        if isinstance(graph, Product):
            outer, inner = _arrays(graph.factor), _arrays(graph.transposed)
            return _product_recurrence(*outer, *inner, coefficients, block, before)
        return _sparse_recurrence(*_arrays(graph), coefficients, block, before)

    def multiply(self, block: FloatArray) -> FloatArray:
        scaling = 1.0 if self.scaling is None else self.scaling[:, None]
        affinity: Any = self.affinity
        product = np.asarray(affinity @ (scaling * block))
        product *= scaling
        if self.coupling is not None:
            product += self.coupling @ (self.coupling.T @ block)
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

    def lower_bound(self) -> float:
        """About the smallest eigenvalue, from below, by a few Lanczos steps.

        Where it is not below, iterations take longer.
        """
        if isinstance(self.affinity, Product) and self.coupling is None:
            return 0.0
        vector: FloatArray = np.random.RandomState(0).uniform(
            -1.0, 1.0, (self.n_samples, 1)
        )
        basis = np.zeros((self.n_samples, BOUND_STEPS))
        diagonal, beside = np.zeros(BOUND_STEPS), np.zeros(BOUND_STEPS)
        length = float(np.linalg.norm(vector))
        n_steps = 0
        # Once the space is complete, what is left is rounding.
        while n_steps < BOUND_STEPS and length > TIED * np.abs(diagonal).max():
            basis[:, n_steps] = vector[:, 0] / length
            vector = self.multiply(basis[:, n_steps, None])
            diagonal[n_steps] = float(basis[:, n_steps] @ vector[:, 0])
            for _ in range(2):
                vector -= basis @ (basis.T @ vector)
            length = beside[n_steps] = float(np.linalg.norm(vector))
            n_steps += 1
        lowest = linalg.eigvalsh_tridiagonal(diagonal[:n_steps], beside[: n_steps - 1])
        return float(lowest[0] - length)


@kernel()
def _sparse_recurrence(
    starts: IntArray,
    columns: IntArray,
    weights: FloatArray,
    coefficients: FloatArray,
    block: FloatArray,
    before: FloatArray,
) -> FloatArray:
    """`_Matrix.recur` of a CSR matrix, all steps at once: threads run side by side."""
    for s in range(len(coefficients)):
        _sparse_step(starts, columns, weights, block, coefficients[s], block, before)
        block, before = before, block
    return block


@kernel()
def _product_recurrence(
    starts: IntArray,
    columns: IntArray,
    weights: FloatArray,
    inner_starts: IntArray,
    inner_columns: IntArray,
    inner_weights: FloatArray,
    coefficients: FloatArray,
    block: FloatArray,
    before: FloatArray,
) -> FloatArray:
    """The same with the product of a CSR matrix and its transpose."""
    inner = np.zeros((len(inner_starts) - 1, block.shape[1]))
    alone = np.array([1.0, 0.0, 0.0])
    for s in range(len(coefficients)):
        _sparse_step(
            inner_starts, inner_columns, inner_weights, block, alone, inner, inner
        )
        _sparse_step(starts, columns, weights, inner, coefficients[s], block, before)
        block, before = before, block
    return block


@kernel()
def _sparse_step(
    starts: IntArray,
    columns: IntArray,
    weights: FloatArray,
    inner: FloatArray,
    coefficients: FloatArray,
    block: FloatArray,
    out_block: FloatArray,
) -> None:
    """``out_block = factor * graph @ inner + own * block + kept * out_block``."""
    factor, own, kept = coefficients
    n_rows, n_columns = out_block.shape
    for i in range(n_rows):
        for c in range(n_columns):
            out_block[i, c] = own * block[i, c] + kept * out_block[i, c]
        place, end = starts[i], starts[i + 1]
        # Four entries at a time: a row of the result is loaded and stored less often.
        while place + 4 <= end:
            w0, j0 = factor * weights[place], columns[place]
            w1, j1 = factor * weights[place + 1], columns[place + 1]
            w2, j2 = factor * weights[place + 2], columns[place + 2]
            w3, j3 = factor * weights[place + 3], columns[place + 3]
            for c in range(n_columns):
                out_block[i, c] += (w0 * inner[j0, c] + w1 * inner[j1, c]) + (
                    w2 * inner[j2, c] + w3 * inner[j3, c]
                )
            place += 4
        while place < end:
            weight, j = factor * weights[place], columns[place]
            for c in range(n_columns):
                out_block[i, c] += weight * inner[j, c]
            place += 1


def _arrays(graph: sparse.csr_array) -> tuple[IntArray, IntArray, FloatArray]:
    return graph.indptr, graph.indices, graph.data


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
    matrix = _Matrix(affinity=affinity, scaling=scaling, coupling=coupling)
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
        matrix = _Matrix(
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
    matrix: _Matrix, n_vectors: int, start: FloatArray | None, tolerance: float
) -> Eigenpairs:
    n_samples = matrix.n_samples
    if n_samples < ITERATIVE_FROM or 4 * _n_block(n_vectors) > n_samples:
        return _dense_eigenpairs(matrix.form(), n_vectors)
    block = _first_block(n_samples, n_vectors, start)
    if isinstance(matrix.affinity, np.ndarray) or matrix.coupling is not None:
        found = _krylov(matrix.multiply, block, n_vectors, tolerance)
    else:
        lowest = matrix.lower_bound()
        found = _filtered(matrix.recur, lowest, block, n_vectors, tolerance)
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


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """Leading values, descending, vectors, and the largest residual.

    The residual is relative to the largest value, and of the pairs asked for and the
    one that follows.
    """

    values: FloatArray
    vectors: FloatArray
    residual: float


def _n_block(n_vectors: int) -> int:
    return -(-(n_vectors + SPARE) // EIGHT) * EIGHT


def _first_block(
    n_samples: int, n_vectors: int, start: FloatArray | None
) -> FloatArray:
    n_block = _n_block(n_vectors)
    block = np.random.RandomState(0).uniform(-1.0, 1.0, size=(n_samples, n_block))
    if start is not None:
        n_known = min(start.shape[1], n_block)
        block[:, :n_known] = start[:, :n_known] * np.sqrt(n_samples)
    return block


def _filtered(
    recur: Recur,
    lower_bound: float,
    block: FloatArray,
    n_vectors: int,
    tolerance: float,
) -> _Found:
    """Subspace iterations with Chebyshev filters.

    A block of vectors is multiplied by a polynomial of the matrix that is small on the
    part of the spectrum below the block's and grows fast above it. A block sees every
    copy of a multiple eigenvalue, unlike the Krylov space of one vector.

    Y. Zhou, Y. Saad, M. Tiago, J. Chelikowsky. Self-consistent-field calculations using
    Chebyshev-filtered subspace iteration. Journal of Computational Physics, 2006.
    """
    n_products = 0
    while True:
        block = _orthonormal(block)
        image = recur(block, np.zeros_like(block), np.array([[1.0, 0.0, 0.0]]))
        found, image = _rayleigh_ritz(block, image, n_vectors, block.shape[1])
        if found.residual <= tolerance or n_products >= MOST_PRODUCTS:
            return found
        block, degree = _filter(
            recur,
            found.vectors,
            image,
            found.values,
            lower_bound,
            last=n_vectors,
            decay=found.residual / tolerance,
            most=MOST_DEGREE if n_products else FIRST_DEGREE,
        )
        n_products += degree


def _krylov(
    multiply: Multiply, block: FloatArray, n_vectors: int, tolerance: float
) -> _Found:
    """Block Lanczos iterations, started again from the best vectors.

    Products with a dense matrix are what takes time. The space of a block, the matrix
    times it, and so on, makes the most of them; all its vectors are kept orthogonal.
    """
    n_block = block.shape[1]
    block = _orthonormal(block)
    image = multiply(block)
    for _ in range(MOST_RESTARTS):
        basis, images = block, image
        for _ in range(KRYLOV_DEPTH - 1):
            # Of a space that is nearly complete rounding is left: twice is enough.
            following = images[:, -n_block:]
            for _ in range(2):
                following = _orthonormal(following - basis @ (basis.T @ following))
            basis = np.hstack([basis, following])
            images = np.hstack([images, multiply(following)])
        found, image = _rayleigh_ritz(basis, images, n_vectors, n_block)
        block = found.vectors
        if found.residual <= tolerance:
            break
    return found


def _orthonormal(block: FloatArray) -> FloatArray:
    frame, _ = linalg.qr(block, mode="economic", check_finite=False)
    return np.ascontiguousarray(frame)


def _rayleigh_ritz(
    basis: FloatArray, images: FloatArray, n_vectors: int, n_kept: int
) -> tuple[_Found, FloatArray]:
    """The best `n_kept` pairs of an orthonormal basis, and the images of the vectors.

    images : the matrix times basis.
    """
    projected = basis.T @ images
    values, turn = descending_eigenpairs((projected + projected.T) / 2.0, n_kept)
    vectors, image = basis @ turn, images @ turn
    checked = slice(n_vectors + 1)
    misses = image[:, checked] - vectors[:, checked] * values[checked]
    largest = float(np.abs(values).max()) or 1.0
    residual = float(np.linalg.norm(misses, axis=0).max()) / largest
    return _Found(values=values, vectors=vectors, residual=residual), image


def _filter(
    recur: Recur,
    block: FloatArray,
    image: FloatArray,
    values: FloatArray,
    lower_bound: float,
    *,
    last: int,
    decay: float,
    most: int,
) -> tuple[FloatArray, int]:
    """A Chebyshev polynomial of the matrix times the block, and its degree.

    block : vectors with the approximate eigenvalues `values`; image : the matrix times
    block. The polynomial is 1 at the first value, at most 1 / T below the block, T
    growing with the degree, until the vector at `last` has gained the factor `decay`.
    """
    heights = values - lower_bound
    # Damped are the eigenvalues from the lower bound up to the block's; where those are
    # close together, fewer, so that the ones asked for grow.
    grows = 2.0 * heights[last] / (1.0 + np.cosh(SMALLEST_GROWTH))
    half = max(min(heights[-1], grows), SMALLEST_CUT * heights[0]) / 2.0
    growth, leading = np.arccosh(np.maximum(heights[[last, 0]] / half - 1.0, 1.0))
    affordable = LARGEST_GROWTH / max(leading, SMALLEST_GROWTH)
    degree = int(min(np.log(decay) / max(growth, SMALLEST_GROWTH), affordable, most))
    degree = max(degree, 2)
    center = lower_bound + half
    # The recurrence T_{m+1} = 2 x T_m - T_{m-1}, divided by T_m of the first value.
    first = ratio = half / (heights[0] - half)
    start = (image - center * block) * (first / half)
    coefficients = np.empty((degree - 1, 3))
    for row in coefficients:
        following = 1.0 / (2.0 / first - ratio)
        factor = 2.0 * following / half
        row[:] = factor, -factor * center, -ratio * following
        ratio = following
    block = recur(start, block, coefficients)
    return block / np.linalg.norm(block, axis=0), degree


def _inverted(
    matrix: _Matrix, rough: _Found, n_vectors: int, tolerance: float
) -> _Found | None:
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

    found = _krylov(solve, rough.vectors, n_vectors, tolerance)
    values = shift - 1.0 / found.values
    return _Found(values=values, vectors=found.vectors, residual=found.residual)


def _fix_signs(vectors: FloatArray) -> FloatArray:
    """Eigenvectors are known up to sign: make each one's largest entry positive."""
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return np.asarray(vectors * np.where(signs == 0.0, 1.0, signs))
