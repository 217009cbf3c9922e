"""Co-trained spectral clustering: views filter each other's similarities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manyview._numerics._eigen import top_eigenvectors
from manyview._numerics._gram import Kernel
from manyview._numerics._graphs import (
    filtered_eigenvectors,
    normalise_kernel,
    unit_rows,
)
from manyview._results import OnIteration
from manyview._rows import Rows
from manyview._solvers._history import History
from manyview._solvers._kernels import view_kernels
from manyview._solvers._spectral import SpectralResult, cluster_embedding, varying_views
from manyview._typing import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True)
class CoTrainResult(SpectralResult):
    """One run of co-training.

    view_labels : (n_views, n_samples), labels from each view's own embedding.
    """

    view_labels: IntArray


def solve_cotrain(
    views: tuple[Rows, ...],
    n_clusters: int,
    random_state: np.random.RandomState,
    *,
    subspace_ratio: float,
    n_rounds: int,
    output: str | int,
    n_init: int,
    n_local_trials: int | None = None,
    anchors: IntArray | None = None,
    on_iteration: OnIteration | None = None,
) -> CoTrainResult:
    """Filter the views through each other, then cluster one or all embeddings.

    output : "concat", or the index of the view whose embedding gives the labels.
    anchors : samples that all are compared with; None compares all pairs.
    """
    kept = varying_views(views)
    # Finding a bandwidth or eigenvectors takes one matrix beside the kernels.
    kernels = view_kernels([views[v] for v in kept], "rbf", anchors, n_beside=1)
    n_samples = views[0].n_samples
    # Eigenvectors kept per view, never fewer than clusters.
    n_vectors = min(int(np.ceil(subspace_ratio * n_clusters)), n_samples)
    own = [top_eigenvectors(normalise_kernel(kernel), n_vectors) for kernel in kernels]
    subspaces = [found.vectors for found in own]
    history = History(on_iteration)
    for _ in range(n_rounds):
        subspaces = filter_round(kernels, subspaces)
        history.add(np.nan)
    # Those of a view left out are zero.
    embeddings: list[FloatArray] = [np.zeros((n_samples, n_clusters)) for _ in views]
    for v, subspace in zip(kept, subspaces, strict=True):
        embeddings[v] = unit_rows(subspace[:, :n_clusters])
    joined = np.hstack([embeddings[v] for v in kept])
    joint_labels, *view_labels = (
        cluster_embedding(embedding, n_clusters, n_init, random_state, n_local_trials)
        for embedding in (joined, *embeddings)
    )
    return CoTrainResult(
        labels=joint_labels if isinstance(output, str) else view_labels[output],
        **history.fields(converged=True),
        embedding=joined if isinstance(output, str) else embeddings[output],
        settled=all(found.converged for found in own),
        view_labels=np.stack(view_labels),
    )


def filter_round(
    kernels: Sequence[Kernel], subspaces: list[FloatArray]
) -> list[FloatArray]:
    """One round: each kernel through the other views' subspaces of the round before.

    One view alone has nothing to learn from and keeps its subspace.
    """
    if len(kernels) == 1:
        return subspaces
    n_vectors = subspaces[0].shape[1]
    filtered = []
    for v, kernel in enumerate(kernels):
        others = np.hstack([s for u, s in enumerate(subspaces) if u != v])
        filtered.append(filtered_eigenvectors(kernel, others, n_vectors).vectors)
    return filtered
