"""Centroid-based co-regularised spectral clustering."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from manyview._numerics._eigen import (
    LowRank,
    top_eigenvectors,
    top_singular_vectors,
)
from manyview._numerics._graphs import normalise_kernel, unit_rows
from manyview._results import OnIteration
from manyview._rows import Rows
from manyview._solvers._history import History
from manyview._solvers._kernels import view_kernels
from manyview._solvers._spectral import (
    SpectralResult,
    cluster_embedding,
    varying_views,
)
from manyview._typing import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Consensus:
    """State after one round.

    shared : (n_samples, n_clusters), orthonormal, what the views were drawn towards.
    subspaces : per view (n_samples, n_clusters), orthonormal.
    objective : value of the problem, to be maximised.
    settled : False if the subspaces are approximate.
    """

    shared: FloatArray
    subspaces: tuple[FloatArray, ...]
    objective: float
    settled: bool


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
    history = History(on_iteration)
    affinities = [normalise_kernel(kernel, overwrite=True) for kernel in kernels]
    rounds = coreg_rounds(affinities, coupling[kept], n_clusters, n_rounds)
    for state in rounds:
        history.add(state.objective)
    # As in the authors' code: the shared embedding the last views were drawn towards,
    # not one refreshed after them.
    embedding = unit_rows(state.shared)
    return SpectralResult(
        labels=cluster_embedding(
            embedding, n_clusters, n_init, random_state, n_local_trials
        ),
        objective=state.objective,
        n_iter=n_rounds,
        converged=True,
        history=tuple(history.records),
        embedding=embedding,
        settled=state.settled,
    )


def coreg_rounds(
    affinities: Sequence[FloatArray | LowRank],
    coupling: FloatArray,
    n_clusters: int,
    n_rounds: int,
) -> Iterator[Consensus]:
    """The state after each of the rounds; affinities : normalised kernels."""
    subspaces = [top_eigenvectors(a, n_clusters).vectors for a in affinities]
    roots = np.sqrt(coupling)
    for _ in range(n_rounds):
        stacked = np.hstack(
            [root * s for root, s in zip(roots, subspaces, strict=True)]
        )
        shared = top_singular_vectors(stacked, n_clusters)
        objective, settled = 0.0, True
        for v, affinity in enumerate(affinities):
            pull = roots[v] * shared
            found = top_eigenvectors(
                affinity, n_clusters, coupling=pull, start=subspaces[v]
            )
            subspaces[v] = found.vectors
            objective += float(found.values.sum())
            settled = settled and found.converged
        yield Consensus(
            shared=shared,
            subspaces=tuple(subspaces),
            objective=objective,
            settled=settled,
        )
