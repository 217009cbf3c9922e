"""Iterations for the leading eigenvectors of a large symmetric matrix.

Blocks of vectors are filtered by polynomials of sparse matrices, and Krylov spaces are
built of products with dense ones. Both only multiply.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from manyview._numerics._operators import SparseGraph
from manyview._typing import FloatArray

# Vectors computed beyond those asked for, at least: they show ties, and the lower they
# reach in the spectrum, the fewer products are needed. Processors handle blocks of
# vectors by eights.
SPARE = 6
EIGHT = 8
# Products with a block of vectors after which eigenvalues are too close together for
# filters.
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
# Relative residual that is good enough where a matrix is too large to factorise.
ROUGH_TOLERANCE = 1e-6


@dataclass(frozen=True, kw_only=True, slots=True)
class Eigenpairs:
    """values : (n_vectors,), descending; vectors : (n_samples, n_vectors).

    residual : the largest one, relative to the largest value.
    beyond : (n_samples, any), rough vectors of the values that follow, if known.
    """

    values: FloatArray
    vectors: FloatArray
    residual: float = 0.0
    beyond: FloatArray | None = None

    @property
    def start(self) -> FloatArray:
        """A start for the vectors of a similar matrix."""
        if self.beyond is None:
            return self.vectors
        return np.hstack([self.vectors, self.beyond])

    @property
    def converged(self) -> bool:
        """False if the vectors are approximate."""
        return self.residual <= ROUGH_TOLERANCE


def block_width(n_vectors: int) -> int:
    return -(-(n_vectors + SPARE) // EIGHT) * EIGHT


def first_block(n_samples: int, n_vectors: int, start: FloatArray | None) -> FloatArray:
    n_block = block_width(n_vectors)
    block = np.random.RandomState(0).uniform(-1.0, 1.0, size=(n_samples, n_block))
    if start is not None:
        n_known = min(start.shape[1], n_block)
        block[:, :n_known] = start[:, :n_known] * np.sqrt(n_samples)
    return block


def filtered(
    graph: SparseGraph, block: FloatArray, n_vectors: int, tolerance: float
) -> Eigenpairs:
    """Subspace iterations with Chebyshev filters.

    A block of vectors is multiplied by a polynomial of the matrix that is small on the
    part of the spectrum below the block's and grows fast above it. A block sees every
    copy of a multiple eigenvalue, unlike the Krylov space of one vector.

    Y. Zhou, Y. Saad, M. Tiago, J. Chelikowsky. Self-consistent-field calculations using
    Chebyshev-filtered subspace iteration. Journal of Computational Physics, 2006.
    """
    lower_bound, n_products = graph.lower_bound(), 0
    while True:
        block = _orthonormal(block)
        image = graph.recur(block, np.zeros_like(block), np.array([[1.0, 0.0, 0.0]]))
        found, image = _rayleigh_ritz(block, image, n_vectors, block.shape[1])
        if found.residual <= tolerance or n_products >= MOST_PRODUCTS:
            return found
        block, degree = _filter(
            graph,
            found,
            image,
            lower_bound,
            last=n_vectors,
            decay=found.residual / tolerance,
            most=MOST_DEGREE if n_products else FIRST_DEGREE,
        )
        n_products += degree


def krylov(
    multiply: Callable[[FloatArray], FloatArray],
    block: FloatArray,
    n_vectors: int,
    tolerance: float,
) -> Eigenpairs:
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
) -> tuple[Eigenpairs, FloatArray]:
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
    return Eigenpairs(values=values, vectors=vectors, residual=residual), image


def _filter(
    graph: SparseGraph,
    found: Eigenpairs,
    image: FloatArray,
    lower_bound: float,
    *,
    last: int,
    decay: float,
    most: int,
) -> tuple[FloatArray, int]:
    """A Chebyshev polynomial of the matrix times the vectors found, and its degree.

    image : the matrix times the vectors. The polynomial is 1 at the first value, at
    most 1 / T below the block, T growing with the degree, until the vector at `last`
    has gained the factor `decay`.
    """
    heights = found.values - lower_bound
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
    start = (image - center * found.vectors) * (first / half)
    coefficients = np.empty((degree - 1, 3))
    for row in coefficients:
        following = 1.0 / (2.0 / first - ratio)
        factor = 2.0 * following / half
        row[:] = factor, -factor * center, -ratio * following
        ratio = following
    block = graph.recur(start, found.vectors, coefficients)
    return block / np.linalg.norm(block, axis=0), degree


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
