"""Auto-weighted multiple graph learning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from manyview._numerics._eigen import top_eigenvectors
from manyview._numerics._graphs import neighbor_graph, normalise_graph, unit_rows
from manyview._numerics._operators import SparseGraph
from manyview._results import OnIteration
from manyview._rows import Rows
from manyview._solvers._history import History
from manyview._solvers._spectral import SpectralResult, cluster_embedding, varying_views
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


def view_graphs(
    views: tuple[Rows, ...], n_neighbors: int
) -> list[sparse.csr_array | None]:
    """Normalised affinities of the views' symmetric neighbour graphs.

    None for a constant view.
    """
    graphs: list[sparse.csr_array | None] = [None] * len(views)
    for v in varying_views(views):
        graph = neighbor_graph(views[v].all_points(), n_neighbors)
        graphs[v] = normalise_graph(sparse.csr_array((graph + graph.T) / 2.0))
    return graphs


def solve_amgl(
    graphs: Sequence[sparse.csr_array | None],
    n_clusters: int,
    random_state: np.random.RandomState,
    *,
    max_iter: int,
    tol: float,
    normalize_rows: bool,
    n_init: int,
    n_local_trials: int | None = None,
    on_iteration: OnIteration | None = None,
) -> AMGLResult:
    """Alternate eigenvectors of the weighted graphs and weights of the cuts.

    graphs : see `view_graphs`. The eigenvectors are clustered in the end.
    """
    known = {v: graph for v, graph in enumerate(graphs) if graph is not None}
    weights = np.zeros(len(graphs))
    weights[list(known)] = 1.0 / len(known)
    history = History(on_iteration)
    converged, vectors = False, None
    for iteration in range(1, max_iter + 1):
        # The smallest eigenvalues of sum_v a_v (I - N_v) are the largest of this.
        fused = sparse.csr_array(sum(weights[v] * known[v] for v in known))
        found = top_eigenvectors(SparseGraph(fused), n_clusters, start=vectors)
        vectors = found.vectors
        roots = np.sqrt(graph_cuts(list(known.values()), vectors))
        # Only ratios of the weights 1 / (2 sqrt(cut)) matter to the eigenvectors.
        weights[list(known)] = 1.0 / roots
        weights /= weights.sum()
        history.add(float(roots.sum()))
        if iteration >= FIRST_STOP:
            before = history.records[-2].objective
            converged = before - history.objective <= tol * before
        if converged:
            break
    embedding = unit_rows(found.vectors) if normalize_rows else found.vectors
    return AMGLResult(
        labels=cluster_embedding(
            embedding, n_clusters, n_init, random_state, n_local_trials
        ),
        # One cluster needs no embedding; its single cut may shrink for ever.
        **history.fields(converged=converged or n_clusters == 1),
        embedding=embedding,
        settled=found.converged,
        view_weights=weights,
    )


def graph_cuts(graphs: Sequence[sparse.csr_array], vectors: FloatArray) -> FloatArray:
    """(n_graphs,): ``tr(F' L_v F)`` with ``L_v = I - N_v``, floored."""
    n_columns = vectors.shape[1]
    kept = [float(np.einsum("ij,ij->", vectors, graph @ vectors)) for graph in graphs]
    return np.asarray(np.maximum(n_columns - np.array(kept), SMALLEST_CUT))
