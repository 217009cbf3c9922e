"""Centroid-based co-regularised spectral clustering."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from manyview._numerics._eigen import top_eigenvectors, top_singular_vectors
from manyview._numerics._gram import gaussian_kernel
from manyview._numerics._graphs import inverse_root_degrees, unit_rows
from manyview._results import IterationRecord, OnIteration
from manyview._rows import Rows
from manyview._solvers._memory import check_pair_memory
from manyview._solvers._spectral import (
    SpectralResult,
    cluster_embedding,
    varying_views,
)
from manyview._typing import FloatArray


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
    on_iteration: OnIteration | None = None,
) -> SpectralResult:
    """Draw the views' embeddings together, then cluster the shared one.

    coupling : (n_views,), positive.
    """
    kept = varying_views(views)
    # The kernels, and what finding a bandwidth or dense eigenvectors takes beside.
    check_pair_memory(views[0].n_samples, len(kept) + 1)
    kernels = [gaussian_kernel(views[v].all_points()) for v in kept]
    history = []
    rounds = coreg_rounds(kernels, coupling[kept], n_clusters, n_rounds)
    for iteration, state in enumerate(rounds, start=1):
        record = IterationRecord(
            stage=1, iteration=iteration, objective=state.objective, n_moved=None
        )
        history.append(record)
        if on_iteration is not None:
            on_iteration(record)
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
        history=tuple(history),
        embedding=embedding,
        settled=state.settled,
    )


def coreg_rounds(
    kernels: Sequence[FloatArray],
    coupling: FloatArray,
    n_clusters: int,
    n_rounds: int,
) -> Iterator[Consensus]:
    """The state after each of the rounds."""
    scalings = [inverse_root_degrees(kernel.sum(axis=1)) for kernel in kernels]
    subspaces = [
        top_eigenvectors(kernel, n_clusters, scaling=scaling).vectors
        for kernel, scaling in zip(kernels, scalings, strict=True)
    ]
    roots = np.sqrt(coupling)
    for _ in range(n_rounds):
        stacked = np.hstack(
            [root * s for root, s in zip(roots, subspaces, strict=True)]
        )
        shared = top_singular_vectors(stacked, n_clusters)
        objective, settled = 0.0, True
        for v, (kernel, scaling) in enumerate(zip(kernels, scalings, strict=True)):
            found = top_eigenvectors(
                kernel,
                n_clusters,
                scaling=scaling,
                coupling=roots[v] * shared,
                start=subspaces[v],
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
