"""Diffusion coordinates: how samples spread over a graph of nearest neighbours."""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components

from manyview._numerics import _anchors
from manyview._numerics._eigen import top_eigenvectors
from manyview._numerics._graphs import (
    inverse_root_degrees,
    neighbor_matrix,
    normalise_graph,
)
from manyview._numerics._operators import TIED, SparseGraph
from manyview._numerics._subspace import Eigenpairs
from manyview._typing import FloatArray, IntArray

# Neighbours of a sample in the graph, and the one whose distance is the local width
# (Zelnik-Manor and Perona, 2004).
DIFFUSION_NEIGHBORS = 20
WIDTH_NEIGHBOR = 7


def neighbor_affinity(nearest: IntArray, distances: FloatArray) -> sparse.csr_array:
    """Self-tuning weights of each sample's nearest others, made symmetric.

    nearest, distances : (n_samples, n_neighbors), distances squared, ascending.
    """
    n_samples, n_neighbors = nearest.shape
    place = min(WIDTH_NEIGHBOR, n_neighbors) - 1
    least = _anchors.smallest_width(distances, place)
    width = _anchors.local_widths(distances, place, least)
    weights = np.exp(-distances / (width[:, None] * width[nearest]))
    graph = neighbor_matrix(nearest, weights, n_samples, _anchors.SMALLEST_WEIGHT)
    return sparse.csr_array((graph + graph.T) / 2.0)


def diffusion_vectors(
    affinity: sparse.csr_array, n_vectors: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Eigenpairs of the normalised affinity without the trivial one, root degrees.

    Also a start for the vectors of similar graphs.
    """
    scaling = inverse_root_degrees(affinity.sum(axis=1))
    pairs = top_eigenvectors(
        SparseGraph(normalise_graph(affinity)),
        min(n_vectors, affinity.shape[0]),
        tolerance=_anchors.EMBEDDING_ERROR,
    )
    _, pieces = connected_components(affinity, directed=False)
    largest = pieces == np.bincount(pieces).argmax()
    vectors = _without_direction(pairs, np.where(largest, 1.0 / scaling, 0.0))
    return np.maximum(pairs.values[1:], 0.0), vectors, scaling, pairs.start


def _without_direction(pairs: Eigenpairs, direction: FloatArray) -> FloatArray:
    """The vectors but for one, of the largest eigenvalue, along `direction`.

    Parts of a graph that hardly anything joins tie with the whole, and a solver returns
    any basis of their eigenspace: which vector comes first says nothing.
    """
    tied = pairs.values >= pairs.values[0] * (1.0 - TIED)
    space = pairs.vectors[:, tied]
    turned, _ = linalg.qr((direction @ space)[:, None])
    return np.hstack([space @ turned[:, 1:], pairs.vectors[:, ~tied]])


def structure_strength(values: FloatArray, vectors: FloatArray) -> float:
    """Mean squared eigenvalue times the participation ratio of the coordinates.

    That is the share of the samples that carry the energy: 1 if all rows are equally
    long, 1 / n if all but one are zero.
    """
    coordinates = values * vectors
    energies = np.einsum("ij,ij->i", coordinates, coordinates)
    total = float((energies**2).mean())
    if total == 0.0:
        return 0.0
    return float((values**2).mean()) * (float(energies.mean()) ** 2 / total)
