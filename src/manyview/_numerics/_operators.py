"""Symmetric matrices that eigensolvers multiply by, most of them never formed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components

from manyview._numerics._jit import kernel
from manyview._typing import FloatArray, IntArray

Affinity: TypeAlias = "FloatArray | sparse.csr_array | Product"

# Eigenvalues that agree to this share of the largest are tied.
TIED = 1e-10
# Steps that look for the lower end of the spectrum.
BOUND_STEPS = 10


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
class Matrix:
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
    """`Matrix.recur` of a CSR matrix, all steps at once: threads run side by side."""
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
