"""Centroid-based co-regularised spectral clustering."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from manyview._numerics._eigen import Affinity, top_eigenvectors, top_singular_vectors
from manyview._numerics._graphs import normalise_kernel, unit_rows
from manyview._numerics._subspace import Eigenpairs
from manyview._results import OnIteration
from manyview._rows import Rows
from manyview._solvers._history import History
from manyview._solvers._kernels import view_kernels
from manyview._solvers._spectral import SpectralResult, cluster_embedding, varying_views
from manyview._typing import FloatArray, IntArray


def solve_coreg(
    views: tuple[Rows, ...],
    n_clusters: int,
    random_state: np.random.RandomState,
    *,
    coupling: FloatArray,
    n_rounds: int,
    n_init: int,
    n_local_trials: int | None = None,
    anchors: IntArray | None = None,
    on_iteration: OnIteration | None = None,
) -> SpectralResult:
    """Draw the views' embeddings together, then cluster the shared one.

    coupling : (n_views,), positive.
    anchors : samples that all are compared with; None compares all pairs.
    """
    kept = varying_views(views)
    # Finding a bandwidth or dense eigenvectors takes one matrix beside the kernels;
    # low-rank ones are kept twice, as they are and normalised.
    n_beside = 1 if anchors is None else len(kept)
    kernels = view_kernels([views[v] for v in kept], "rbf", anchors, n_beside=n_beside)
    affinities = [normalise_kernel(kernel, overwrite=True) for kernel in kernels]
    found = [top_eigenvectors(affinity, n_clusters) for affinity in affinities]
    history = History(on_iteration)
    for _ in range(n_rounds):
        shared, found = coreg_round(affinities, found, coupling[kept])
        history.add(sum(float(pairs.values.sum()) for pairs in found))
    # As in the authors' code: the shared embedding the last views were drawn towards,
    # not one refreshed after them.
    embedding = unit_rows(shared)
    return SpectralResult(
        labels=cluster_embedding(
            embedding, n_clusters, n_init, random_state, n_local_trials
        ),
        **history.fields(converged=True),
        embedding=embedding,
        settled=all(pairs.converged for pairs in found),
    )


def coreg_round(
    affinities: Sequence[Affinity], found: Sequence[Eigenpairs], coupling: FloatArray
) -> tuple[FloatArray, list[Eigenpairs]]:
    """The shared subspace, and those of the views, drawn towards it.

    affinities : normalised kernels; found : of the round before, or their own. The
    eigenvalues add up to the value of the problem, to be maximised.
    """
    roots = np.sqrt(coupling)
    stacked = [root * pairs.vectors for root, pairs in zip(roots, found, strict=True)]
    n_clusters = stacked[0].shape[1]
    shared = top_singular_vectors(np.hstack(stacked), n_clusters)
    return shared, [
        top_eigenvectors(
            affinity, n_clusters, coupling=root * shared, start=pairs.vectors
        )
        for affinity, root, pairs in zip(affinities, roots, found, strict=True)
    ]
