"""What a few lines of scikit-learn do, for comparison: all views in one table."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from manyview._typing import FloatArray

N_COMPONENTS = 50
N_NEIGHBORS = 10


class StandardKMeans(ClusterMixin, BaseEstimator):  # type: ignore[misc]  # untyped
    """K-means on the standardised features of all views, ten restarts."""

    def __init__(self, n_clusters: int = 8, *, random_state: int | None = None) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, X: list[Any], y: Any = None) -> Self:  # noqa: ARG002 - the convention
        model = KMeans(self.n_clusters, n_init=10, random_state=self.random_state)
        self.labels_ = model.fit_predict(standardised(X))
        return self


class SpectralPCA(ClusterMixin, BaseEstimator):  # type: ignore[misc]  # untyped
    """Spectral clustering of the 10-neighbour graph of the first 50 components."""

    def __init__(self, n_clusters: int = 8, *, random_state: int | None = None) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, X: list[Any], y: Any = None) -> Self:  # noqa: ARG002 - the convention
        table = standardised(X)
        n_components = min(N_COMPONENTS, *table.shape)
        reduced = PCA(n_components, random_state=self.random_state).fit_transform(table)
        model = SpectralClustering(
            self.n_clusters,
            affinity="nearest_neighbors",
            n_neighbors=min(N_NEIGHBORS, len(table) - 1),
            assign_labels="kmeans",
            random_state=self.random_state,
        )
        self.labels_ = model.fit_predict(reduced)
        return self


def standardised(views: list[Any]) -> FloatArray:
    """All features side by side, each with mean 0 and deviation 1; dense."""
    table = sparse.hstack([sparse.csr_array(view) for view in views]).toarray()
    table = table.astype(np.float64)
    return np.asarray(StandardScaler().fit_transform(table))
