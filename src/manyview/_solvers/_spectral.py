"""What the graph and kernel methods share: useful views and the final k-means."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning

from manyview._results import SolverResult
from manyview._rows import Rows
from manyview._threads import one_thread
from manyview._typing import FloatArray, IntArray

# Lloyd iterations on an embedding, as in the authors' scripts.
KMEANS_ITERATIONS = 100
# Inertias of two runs that differ by less than this share of the whole scatter are the
# same: pieces of a graph that look alike make runs tie, and rounding should not decide.
SAME_INERTIA = 1e-10


@dataclass(frozen=True, kw_only=True, slots=True)
class SpectralResult(SolverResult):
    """A run whose labels come from k-means on an embedding.

    embedding : (n_samples, n_components), the rows that were clustered.
    settled : False if its eigenvectors are approximate.
    """

    embedding: FloatArray
    settled: bool


def varying_views(views: tuple[Rows, ...]) -> list[int]:
    """Views in which samples differ; the first view if there is none.

    A constant view says nothing about clusters, but all its spectral directions are
    arbitrary and would enter the other views' as noise.
    """
    return [v for v, view in enumerate(views) if view.scatter > 0.0] or [0]


def cluster_embedding(
    embedding: FloatArray,
    n_clusters: int,
    n_init: int,
    random_state: np.random.RandomState,
    n_local_trials: int | None = None,
) -> IntArray:
    """(n_samples,), best of `n_init` runs of k-means by inertia, the first of equals.

    n_local_trials : candidates per seed; None for scikit-learn's ``2 + log(k)``.
    Clusters are numbered in the order of their first samples.
    """

    def seeds(rows: FloatArray, n_clusters: int, random_state: Any) -> Any:
        return kmeans_plusplus(
            rows, n_clusters, random_state=random_state, n_local_trials=n_local_trials
        )[0]

    kmeans = KMeans(
        n_clusters,
        init=seeds,
        n_init=1,
        max_iter=KMEANS_ITERATIONS,
        tol=0.0,
        random_state=random_state,
    )
    noise = SAME_INERTIA * float(((embedding - embedding.mean(axis=0)) ** 2).sum())
    lowest = np.inf
    # An embedding is small: threads would wait for each other more than they work, and
    # labels should not depend on their number.
    with one_thread(), warnings.catch_warnings():
        # Fewer distinct rows than clusters: duplicate samples share a label then.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for _ in range(n_init):
            kmeans.fit(embedding)
            if kmeans.inertia_ < lowest - noise:
                labels, lowest = kmeans.labels_, kmeans.inertia_
    # Where seeds tie, rounding decides the order in which k-means numbers them.
    return np.asarray(pd.factorize(labels)[0], dtype=np.int32)
