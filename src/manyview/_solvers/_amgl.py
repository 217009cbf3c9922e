"""Auto-weighted multiple graph learning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from manyview._numerics._eigen import top_eigenvectors
from manyview._numerics._graphs import neighbor_graph, normalise_graph, unit_rows
from manyview._numerics._operators import SparseGraph
from manyview._results import IterationRecord, OnIteration
from manyview._rows import Rows
from manyview._solvers._history import History
from manyview._solvers._spectral import (
    SpectralResult,
    cluster_embedding,
    varying_views,
)
from manyview._typing import FloatArray

# A view whose graph falls apart along the clusters has no cut left; its weight would
# be infinite.
SMALLEST_CUT = 1e-12
# The first rounds move from equal weights and may stand still by chance.
FIRST_STOP = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class AMGLResult(SpectralResult):
    """One run of AMGL.

    view_weights : (n_views,), sum 1; 0 for a constant view.
    """

    view_weights: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class FusedEmbedding:
    """vectors : (n_samples, n_clusters), orthonormal; weights : (n_graphs,), sum 1.

    converged : whether the rounds came to an end; settled : whether the eigenvectors
    of the last one did.
    """

    vectors: FloatArray
    weights: FloatArray
    converged: bool
    settled: bool
    history: tuple[IterationRecord, ...]


def solve_amgl(
    views: tuple[Rows, ...],
    n_clusters: int,
    random_state: np.random.RandomState,
    *,
    n_neighbors: int,
    max_iter: int,
    tol: float,
    normalize_rows: bool,
    n_init: int,
    n_local_trials: int | None = None,
    on_iteration: OnIteration | None = None,
) -> AMGLResult:
    """Fuse the views' neighbour graphs, then cluster the eigenvectors."""
    kept = varying_views(views)
    graphs = [view_graph(views[v], n_neighbors) for v in kept]
    fused = fuse_graphs(
        graphs, n_clusters, max_iter=max_iter, tol=tol, on_iteration=on_iteration
    )
    embedding = unit_rows(fused.vectors) if normalize_rows else fused.vectors
    view_weights = np.zeros(len(views))
    view_weights[kept] = fused.weights
    return AMGLResult(
        labels=cluster_embedding(
            embedding, n_clusters, n_init, random_state, n_local_trials
        ),
        objective=fused.history[-1].objective,
        n_iter=len(fused.history),
        # One cluster needs no embedding; its single cut may shrink for ever.
        converged=fused.converged or n_clusters == 1,
        history=fused.history,
        embedding=embedding,
        settled=fused.settled,
        view_weights=view_weights,
    )


def view_graph(view: Rows, n_neighbors: int) -> sparse.csr_array:
    """Normalised affinity of a view's symmetric neighbour graph."""
    graph = neighbor_graph(view.all_points(), n_neighbors)
    return normalise_graph(sparse.csr_array((graph + graph.T) / 2.0))


def fuse_graphs(
    graphs: Sequence[sparse.csr_array],
    n_clusters: int,
    *,
    max_iter: int,
    tol: float,
    on_iteration: OnIteration | None = None,
) -> FusedEmbedding:
    """Alternate eigenvectors of the weighted graphs and weights of the cuts."""
    weights = np.full(len(graphs), 1.0 / len(graphs))
    history = History(on_iteration)
    converged, vectors = False, None
    for iteration in range(1, max_iter + 1):
        # The smallest eigenvalues of sum_v a_v (I - N_v) are the largest of this.
        fused = sparse.csr_array(
            sum(weight * graph for weight, graph in zip(weights, graphs, strict=True))
        )
        found = top_eigenvectors(SparseGraph(fused), n_clusters, start=vectors)
        vectors = found.vectors
        roots = np.sqrt(graph_cuts(graphs, found.vectors))
        # Only ratios of the weights 1 / (2 sqrt(cut)) matter to the eigenvectors.
        weights = 1.0 / roots
        weights /= weights.sum()
        history.add(iteration=iteration, objective=float(roots.sum()))
        if iteration >= FIRST_STOP:
            before = history.records[-2].objective
            if before - history.objective <= tol * before:
                converged = True
                break
    return FusedEmbedding(
        vectors=found.vectors,
        weights=weights,
        converged=converged,
        settled=found.converged,
        history=tuple(history.records),
    )


def graph_cuts(graphs: Sequence[sparse.csr_array], vectors: FloatArray) -> FloatArray:
    """(n_graphs,): ``tr(F' L_v F)`` with ``L_v = I - N_v``, floored."""
    n_columns = vectors.shape[1]
    kept = [float(np.einsum("ij,ij->", vectors, graph @ vectors)) for graph in graphs]
    return np.asarray(np.maximum(n_columns - np.array(kept), SMALLEST_CUT))
