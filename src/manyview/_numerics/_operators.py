"""Sparse symmetric matrices that eigensolvers multiply by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components

from manyview._numerics._jit import kernel
from manyview._typing import FloatArray, IntArray

# Row starts, columns and weights of a CSR matrix.
Arrays: TypeAlias = tuple[IntArray, IntArray, FloatArray]

# Eigenvalues that agree to this share of the largest are tied.
TIED = 1e-10
# Steps that look for the lower end of the spectrum.
BOUND_STEPS = 10


@dataclass(frozen=True, slots=True)
class SparseGraph:
    """A symmetric matrix, or ``factor factor'`` of a factor (n_samples, n_columns).

    The product of a graph with its transpose has many times the entries of the graph:
    it is not formed.
    """

    factor: sparse.csr_array
    transposed: sparse.csr_array | None = None

    @classmethod
    def squared(cls, factor: sparse.csr_array) -> SparseGraph:
        # Transposed once: products come by the dozen.
        return cls(factor, sparse.csr_array(factor.T))

    def __len__(self) -> int:
        return int(self.factor.shape[0])

    def toarray(self) -> FloatArray:
        if self.transposed is None:
            return np.asarray(self.factor.toarray(), dtype=np.float64)
        return np.asarray((self.factor @ self.transposed).toarray())

    def components(self) -> Sequence[tuple[IntArray, SparseGraph]]:
        """Samples and graph of every connected component."""
        pieces = self._pieces()
        sizes = np.bincount(pieces)
        if len(sizes) == 1:
            return [(np.arange(len(self)), self)]
        # Brought together first: it takes long to pick every piece out of the whole.
        order = np.argsort(pieces, kind="stable")
        rows = self.factor[order]
        if self.transposed is None:
            rows = sparse.csr_array(rows[:, order])
        ends = np.cumsum(sizes)
        found = []
        for start, end in zip(ends - sizes, ends, strict=True):
            own = rows[start:end]
            graph = (
                SparseGraph(own[:, start:end])
                if self.transposed is None
                else SparseGraph.squared(own[:, np.unique(own.indices)])
            )
            found.append((order[start:end], graph))
        return found

    def _pieces(self) -> IntArray:
        """(n_samples,), the number of each sample's connected component."""
        if self.transposed is None:
            return np.asarray(connected_components(self.factor, directed=False)[1])
        # Samples are joined by common columns: both are nodes.
        starts, columns, weights = _arrays(self.factor)
        n_nodes = sum(self.factor.shape)
        both: Any = sparse.csr_array(
            (
                weights,
                columns + len(self),
                np.pad(starts, (0, n_nodes - len(self)), mode="edge"),
            ),
            shape=(n_nodes, n_nodes),
        )
        _, found = connected_components(both, directed=False)
        return np.unique(found[: len(self)], return_inverse=True)[1]

    def recur(
        self, block: FloatArray, before: FloatArray, coefficients: FloatArray
    ) -> FloatArray:
        """Blocks that follow two blocks, each by one row of coefficients; the last one.

        A row (factor, own, kept) takes the last two blocks to ``factor * matrix @ block
        + own * block + kept * before``. Both blocks are overwritten.
        """
        inner = self.transposed
        if inner is None:
            inner = sparse.csr_array((0, 0), dtype=np.float64)
        return _recurrence(
            _arrays(self.factor), _arrays(inner), coefficients, block, before
        )

    def lower_bound(self) -> float:
        """About the smallest eigenvalue, from below, by a few Lanczos steps.

        Where it is not below, iterations take longer.
        """
        if self.transposed is not None:
            return 0.0
        vector = np.random.RandomState(0).uniform(-1.0, 1.0, len(self))
        basis = np.zeros((len(self), BOUND_STEPS))
        diagonal, beside = np.zeros(BOUND_STEPS), np.zeros(BOUND_STEPS)
        length = float(np.linalg.norm(vector))
        n_steps = 0
        # Once the space is complete, what is left is rounding.
        while n_steps < BOUND_STEPS and length > TIED * np.abs(diagonal).max():
            basis[:, n_steps] = vector / length
            vector = self.factor @ basis[:, n_steps]
            diagonal[n_steps] = basis[:, n_steps] @ vector
            for _ in range(2):
                vector -= basis @ (basis.T @ vector)
            length = beside[n_steps] = float(np.linalg.norm(vector))
            n_steps += 1
        lowest = linalg.eigvalsh_tridiagonal(diagonal[:n_steps], beside[: n_steps - 1])
        return float(lowest[0] - length)


def _arrays(graph: sparse.csr_array) -> Arrays:
    return graph.indptr, graph.indices, graph.data


@kernel()
def _recurrence(
    outer: Arrays,
    inner: Arrays,
    coefficients: FloatArray,
    block: FloatArray,
    before: FloatArray,
) -> FloatArray:
    """`SparseGraph.recur`, all steps at once: threads run side by side.

    inner : the transposed factor, without rows where there is none.
    """
    product = np.zeros((len(inner[0]) - 1, block.shape[1]))
    alone = np.array([1.0, 0.0, 0.0])
    for s in range(len(coefficients)):
        source = block
        if len(product):
            _step(inner, block, alone, product, product)
            source = product
        _step(outer, source, coefficients[s], block, before)
        block, before = before, block
    return block


@kernel()
def _step(
    graph: Arrays,
    source: FloatArray,
    coefficients: FloatArray,
    block: FloatArray,
    out_block: FloatArray,
) -> None:
    """``out_block = factor * graph @ source + own * block + kept * out_block``."""
    starts, columns, weights = graph
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
                out_block[i, c] += (w0 * source[j0, c] + w1 * source[j1, c]) + (
                    w2 * source[j2, c] + w3 * source[j3, c]
                )
            place += 4
        while place < end:
            weight, j = factor * weights[place], columns[place]
            for c in range(n_columns):
                out_block[i, c] += weight * source[j, c]
            place += 1
