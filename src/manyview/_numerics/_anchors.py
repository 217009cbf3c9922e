"""Anchor graphs: samples described by their nearest anchors.

An anchor graph joins every sample to its nearest anchors, a few samples that stand for
all. With a row of weights per sample that adds up to 1, two samples are similar if they
share anchors, and a spectral embedding of n samples is one of the anchors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from manyview._numerics._eigen import top_eigenvectors
from manyview._numerics._graphs import neighbor_matrix
from manyview._numerics._jit import kernel
from manyview._numerics._operators import SparseGraph
from manyview._typing import FloatArray, IntArray

# Relative residual of eigenvectors: embeddings are kept in single precision.
EMBEDDING_ERROR = 1e-6
# Edges of less weight are none. They would join pieces of a graph so loosely that
# rounding decides how the leading eigenvectors mix them.
SMALLEST_WEIGHT = 1e-6
# Eigenvalues below this are zero: the graph has fewer directions than were asked for.
SMALLEST_EIGENVALUE = 1e-10
# Added to 1 - eigenvalue, which is 0 for all pieces of a graph.
SMALLEST_REST = 1e-3
# Parts of a row of distances in which the smallest ones are looked for.
N_LANES = 64
# Widths of samples whose nearest anchors all equal them, relative to the others'.
SMALLEST_WIDTH = 0.1


@kernel()
def nearest_anchors(
    distances: FloatArray, out_nearest: IntArray, out_distances: FloatArray
) -> None:
    """The nearest anchors of each row, ascending; of equally near ones the first.

    distances : (n_rows, n_anchors); both outputs (n_rows, n_nearest).
    """
    n_rows, n_anchors = distances.shape
    n_nearest = out_nearest.shape[1]
    lanes, minima = np.arange(N_LANES), np.empty(N_LANES)
    candidates = np.empty(n_anchors + 1, dtype=np.int64)
    for i in range(n_rows):
        row, nearest, found = distances[i], out_nearest[i], out_distances[i]
        limit = np.inf
        if n_nearest <= N_LANES <= n_anchors:
            # So many lanes hold an anchor that is as near, and few hold two.
            _lane_minima(row, minima)
            _sort_smallest(minima, lanes, nearest, found)
            limit = found[n_nearest - 1]
        # Without a branch: which anchors are candidates is hard to predict.
        n_candidates = 0
        for a in range(n_anchors):
            candidates[n_candidates] = a
            n_candidates += row[a] <= limit
        _sort_smallest(row, candidates[:n_candidates], nearest, found)


@kernel()
def _lane_minima(row: FloatArray, out_minima: FloatArray) -> None:
    """Smallest entries of the lanes: each has every `N_LANES`-th entry of the row."""
    n_whole = len(row) // N_LANES * N_LANES
    out_minima[:] = row[:N_LANES]
    for start in range(N_LANES, n_whole, N_LANES):
        part = row[start : start + N_LANES]
        for lane in range(N_LANES):
            # Not `min`, which treats NaN in a way that processors lack.
            is_less = part[lane] < out_minima[lane]
            out_minima[lane] = part[lane] if is_less else out_minima[lane]
    for a in range(n_whole, len(row)):
        out_minima[a - n_whole] = min(out_minima[a - n_whole], row[a])


@kernel()
def _sort_smallest(
    values: FloatArray,
    candidates: IntArray,
    out_places: IntArray,
    out_values: FloatArray,
) -> None:
    """The smallest of the candidates, ascending; of equal ones the first."""
    n_wanted, n_found = len(out_places), 0
    for place in candidates:
        value = values[place]
        if n_found < n_wanted:
            rank = n_found
            n_found += 1
        elif value < out_values[n_wanted - 1]:
            rank = n_wanted - 1
        else:
            continue
        while rank > 0 and value < out_values[rank - 1]:
            out_values[rank] = out_values[rank - 1]
            out_places[rank] = out_places[rank - 1]
            rank -= 1
        out_values[rank], out_places[rank] = value, place


@kernel()
def first_equals(distances: FloatArray, out_first: IntArray) -> None:
    """(n_rows,), the first row at distance 0 from each, at the latest itself."""
    for i in range(len(out_first)):
        first = 0
        while first < i and distances[i, first] != 0.0:
            first += 1
        out_first[i] = first


def local_widths(
    distances: FloatArray, n_neighbors: int, smallest: float
) -> FloatArray:
    """(n_rows,), distance to the neighbour after the first `n_neighbors`.

    distances : (n_rows, more than n_neighbors), squared, ascending. A width of zero
    would cut rows that equal all their neighbours off from all that differ from them;
    `smallest` takes its place.
    """
    return np.asarray(np.maximum(np.sqrt(distances[:, n_neighbors]), smallest))


def smallest_width(distances: FloatArray, n_neighbors: int) -> float:
    """A small part of the typical width, for rows with many equals."""
    widths = np.sqrt(distances[:, n_neighbors])
    positive = widths[widths > 0.0]
    return SMALLEST_WIDTH * float(np.median(positive)) if positive.size else 1.0


def self_tuning_weights(
    nearest: IntArray,
    distances: FloatArray,
    widths: FloatArray,
    anchor_widths: FloatArray,
    n_neighbors: int,
) -> sparse.csr_array:
    """Weights ``exp(-d^2 / (width_i width_a))`` of the nearest anchors, rows sum to 1.

    nearest, distances : (n_rows, at least n_neighbors), distances squared; widths :
    (n_rows,); anchor_widths : (n_anchors,). Returns (n_rows, n_anchors).
    """
    nearest, distances = nearest[:, :n_neighbors], distances[:, :n_neighbors]
    exponents = -distances / (widths[:, None] * anchor_widths[nearest])
    # The nearest anchor has weight 1 before the division, so no row underflows.
    weights = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return neighbor_matrix(nearest, weights, len(anchor_widths), SMALLEST_WEIGHT)


def spectral_maps(
    graphs: Sequence[sparse.csr_array],
    n_components: int,
    start: FloatArray | None = None,
) -> tuple[list[FloatArray], list[FloatArray]]:
    """The `spectral_map` and eigenvalues of graphs of growing neighbourhood sizes."""
    maps: list[FloatArray] = []
    spectra: list[FloatArray] = []
    # A graph with more edges takes fewer iterations, and is a start for the next one.
    for graph in reversed(graphs):
        spectral, values, start = spectral_map(graph, n_components, start)
        maps.append(spectral)
        spectra.append(values)
    return maps[::-1], spectra[::-1]


def spectral_map(
    graph: sparse.csr_array, n_components: int, start: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(n_anchors, n_components) that takes rows of weights to the embedding.

    Also its eigenvalues, (n_components,), 0 where there are fewer, and a `start` for a
    graph of the same samples and anchors.

    With columns divided by the roots of their sums, the graph Z has Z Z' as affinity of
    the samples; its eigenvectors follow from the smaller of Z Z' and Z' Z. They are
    weighted as in commute times, see `commute_weights`.
    """
    sums = np.asarray(graph.sum(axis=0), dtype=np.float64)
    scaling = 1.0 / np.sqrt(np.where(sums > 0.0, sums, 1.0))
    normal = sparse.csr_array(graph @ sparse.diags_array(scaling))
    n_rows, n_anchors = normal.shape
    n_found = min(n_components, n_rows, n_anchors)
    narrow = n_rows < n_anchors
    product = SparseGraph.squared(normal if narrow else sparse.csr_array(normal.T))
    pairs = top_eigenvectors(product, n_found, start=start, tolerance=EMBEDDING_ERROR)
    directions, power = (
        (normal.T @ pairs.vectors, 1.0) if narrow else (pairs.vectors, 0.5)
    )
    real = pairs.values > SMALLEST_EIGENVALUE
    divisor = np.where(real, pairs.values, 1.0) ** power
    factors = real / divisor * commute_weights(pairs.values)
    spectral = scaling[:, None] * directions * factors
    missing = (0, n_components - n_found)
    padded = np.pad(spectral, ((0, 0), missing)), np.pad(pairs.values, missing)
    return *padded, pairs.start


def commute_weights(values: FloatArray) -> FloatArray:
    """(n_vectors,), ``1 / sqrt(1 - value)`` relative to the second vector's.

    values : descending eigenvalues in [0, 1], the first of them 1. With these weights
    distances between samples are commute times of a random walk. Where a graph falls
    into fewer clusters than there are vectors, its last vectors, which tell apart what
    belongs together, count little. The first, nearly constant one counts as the second.
    """
    rest = np.maximum(1.0 - values, 0.0) + SMALLEST_REST
    rest[:1] = rest[1:2] if len(rest) > 1 else 1.0
    return np.asarray(np.sqrt(rest[0] / rest))
