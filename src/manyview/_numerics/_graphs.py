"""Graphs of samples and their normalised affinities: large eigenvalues are wanted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.neighbors import NearestNeighbors

from manyview._numerics._distances import SAME_POINT_EXPANDED
from manyview._numerics._eigen import EMPTY, settle_ties
from manyview._numerics._gram import (
    Kernel,
    LowRankKernel,
    Points,
    as_dense,
    row_sums,
    square_lengths,
)
from manyview._numerics._subspace import Eigenpairs, descending_eigenpairs
from manyview._typing import FloatArray, IntArray

# Degrees of isolated samples, and of filtered affinities that cancel.
SMALLEST_DEGREE = 1e-12
# Features of neighbours compared with their samples' at a time.
COMPARED_ELEMENTS = 1 << 20
# Distances that agree to this relative amount are tied.
TIED = 1e-12


def inverse_root_degrees(row_sums: Any) -> FloatArray:
    """``|q|^-1/2`` of row sums q, which negative entries may make negative."""
    return np.asarray(np.maximum(np.abs(row_sums), SMALLEST_DEGREE) ** -0.5)


def normalise_graph(graph: sparse.csr_array) -> sparse.csr_array:
    """``D^-1/2 W D^-1/2`` of a sparse graph."""
    scaling = sparse.diags_array(inverse_root_degrees(graph.sum(axis=1)))
    return sparse.csr_array(scaling @ graph @ scaling)


def unit_rows(embedding: FloatArray) -> FloatArray:
    """Rows divided by their Euclidean length; a zero row stays zero."""
    lengths = np.linalg.norm(embedding, axis=1, keepdims=True)
    return np.asarray(embedding / np.where(lengths > 0.0, lengths, 1.0))


def normalise_kernel(kernel: Kernel, *, overwrite: bool = False) -> Kernel:
    """``D^-1/2 K D^-1/2`` of a kernel; a dense one may be overwritten by it.

    A low-rank one has a single factor then, of weight 1.
    """
    scaling = inverse_root_degrees(row_sums(kernel))
    if isinstance(kernel, LowRankKernel):
        parts = zip(kernel.weights, kernel.factors, strict=True)
        joined = np.hstack([np.sqrt(weight) * factor for weight, factor in parts])
        joined *= scaling[:, None]
        return LowRankKernel(factors=(joined,), weights=(1.0,))
    normal = np.multiply(kernel, scaling, out=kernel if overwrite else None)
    normal *= scaling[:, None]
    return normal


def filtered_eigenvectors(
    kernel: Kernel, basis: FloatArray, n_vectors: int
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
    symmetric = (product + product.T) / 2.0
    values, vectors = descending_eigenpairs(symmetric, len(symmetric))
    pairs = settle_ties(values, frame @ vectors, n_vectors)
    # Directions that the filter has emptied are arbitrary: zeros take their place.
    filled = pairs.values > EMPTY * pairs.values[0]
    return replace(pairs, vectors=pairs.vectors * filled)


def nearest_others(points: Points, n_neighbors: int) -> tuple[IntArray, FloatArray]:
    """Nearest other samples, ascending, and their squared distances.

    Both (n_samples, n_neighbors). A sample is never its own neighbour, also where
    others equal it. Distances are taken by differences: those of equal rows are 0.
    """
    n_samples = points.shape[0]
    search = NearestNeighbors(n_neighbors=n_neighbors).fit(points)
    neighbors = search.kneighbors(return_distance=False)
    own = np.repeat(np.arange(n_samples), n_neighbors)
    distances = _squared_offsets(points, own, neighbors.ravel())
    distances = distances.reshape(neighbors.shape)
    order = np.argsort(distances, axis=1, kind="stable")
    return (
        np.take_along_axis(neighbors, order, axis=1),
        np.take_along_axis(distances, order, axis=1),
    )


def first_tied(
    points: Points, rows: IntArray, neighbors: IntArray, distances: FloatArray
) -> IntArray:
    """The first samples, in the order of the data, among each row's nearest others.

    neighbors : (len(rows), c), some of the nearest, replaced by as many of the first;
    distances : (len(rows),), squared, to all of them.
    """
    n_wanted = neighbors.shape[1]
    sq_norms = square_lengths(points)
    found = neighbors.copy()
    step = max(1, COMPARED_ELEMENTS // points.shape[0])
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        reach = distances[start : start + step, None]
        energy = sq_norms[block, None] + sq_norms
        near = (
            energy - 2.0 * as_dense(points[block] @ points.T)
            <= reach + SAME_POINT_EXPANDED * energy
        )
        near[np.arange(len(block)), block] = False
        for i, row in enumerate(block):
            # The expanded distance is inexact; a few candidates at a time are looked
            # at closely, as there may be thousands of copies.
            candidates, kept = np.flatnonzero(near[i]), np.empty(0, dtype=np.intp)
            for first in range(0, len(candidates), 2 * n_wanted):
                some = candidates[first : first + 2 * n_wanted]
                exact = _squared_offsets(points, np.full(len(some), row), some)
                kept = np.append(kept, some[exact <= reach[i] * (1.0 + TIED)])
                if len(kept) >= n_wanted:
                    found[start + i] = kept[:n_wanted]
                    break
    return found


def _squared_offsets(points: Points, first: IntArray, second: IntArray) -> FloatArray:
    """Squared distances of pairs of rows, by differences."""
    distances = np.empty(len(first))
    step = max(1, COMPARED_ELEMENTS // points.shape[1])
    for start in range(0, len(first), step):
        pairs = slice(start, start + step)
        offsets = points[second[pairs]] - points[first[pairs]]
        distances[pairs] = np.asarray((offsets**2).sum(axis=1))
    return distances


def neighbor_weights(distances: FloatArray) -> FloatArray:
    """Edge weights to the c nearest others from the squared distances to c + 1.

    distances : (n_samples, c + 1), ascending. Weights (n_samples, c) fall linearly
    with distance, reach 0 at neighbour c + 1 and sum to 1. Where all c + 1 distances
    are tied that is 0/0, and the c neighbours share equally.
    """
    reach, near = distances[:, -1:], distances[:, :-1]
    gaps = reach - near
    # What rounding leaves of a tie would be an edge.
    gaps[gaps <= TIED * reach] = 0.0
    totals = gaps.sum(axis=1, keepdims=True)
    tied = totals == 0.0
    return np.where(tied, 1.0 / near.shape[1], gaps / np.where(tied, 1.0, totals))


def neighbor_graph(points: Points, n_neighbors: int) -> sparse.csr_array:
    """Directed graph of every sample's c nearest others; rows sum to 1.

    With fewer than c + 2 samples all others are neighbours, and the farthest is the
    reach. One sample alone has no edge. Where more than c others are nearest at the
    same distance, the first c in the order of the data are the neighbours.
    """
    n_samples = points.shape[0]
    if n_samples == 1:
        return sparse.csr_array((1, 1), dtype=np.float64)
    n_edges = min(n_neighbors, n_samples - 1)
    neighbors, distances = nearest_others(points, min(n_neighbors + 1, n_samples - 1))
    if distances.shape[1] == n_edges:
        distances = np.hstack([distances, distances[:, -1:]])
    weights = neighbor_weights(distances)
    reach = distances[:, -1]
    (tied,) = np.nonzero(reach - distances[:, 0] <= TIED * reach)
    if neighbors.shape[1] > n_edges and tied.size:
        found = neighbors[tied, :n_edges]
        neighbors[tied, :n_edges] = first_tied(points, tied, found, reach[tied])
    return neighbor_matrix(neighbors[:, :n_edges], weights, n_samples)


def neighbor_matrix(
    nearest: IntArray, weights: FloatArray, n_columns: int, smallest: float = 0.0
) -> sparse.csr_array:
    """(n_rows, n_columns), edges to the nearest; those of faint weight are left out.

    nearest, weights : (n_rows, n_nearest).
    """
    starts = np.arange(0, nearest.size + 1, nearest.shape[1])
    kept = np.where(weights < smallest, 0.0, weights)
    graph = sparse.csr_array(
        (kept.ravel(), nearest.ravel(), starts), shape=(len(nearest), n_columns)
    )
    graph.eliminate_zeros()
    return graph
