"""Names that clusters are given after the fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from manyview._typing import IntArray
from manyview.cluster._clustering import (
    NOISE,
    Clustering,
    check_name,
    default_names,
    name_clusters,
)


class NamedClusters:
    """Names beside the numbers of the clusters."""

    labels_: IntArray
    cluster_names_: list[str]

    def rename_clusters(self, names: Mapping[int, str]) -> Self:
        """Give clusters names, which reports, exports and model files show.

        Clusters of the same name are shown as one. ``labels_`` and `predict` keep the
        numbers of the fit; `named_labels` has the names.

        Parameters
        ----------
        names : mapping of int to str
            Name by cluster number; clusters that are left out keep theirs.

        Returns
        -------
        self : object
            The estimator, with ``cluster_names_``.

        Examples
        --------
        >>> import numpy as np
        >>> from manyview import ConcatKMeans
        >>> views = [np.array([[0.0], [0.1], [5.0], [9.0]])]
        >>> model = ConcatKMeans(n_clusters=3, random_state=0).fit(views)
        >>> first, third, fourth = model.labels_[[0, 2, 3]]
        >>> named = model.rename_clusters({first: "low", third: "high", fourth: "high"})
        >>> named.named_labels().tolist()
        ['low', 'low', 'high', 'high']
        """
        found = list(self._cluster_names())
        for cluster, name in names.items():
            check_name(cluster, name, len(found))
            found[cluster] = name
        self.cluster_names_ = found
        return self

    def named_labels(self, labels: Any = None) -> np.ndarray[Any, Any]:
        """Labels as the names of their clusters.

        Parameters
        ----------
        labels : array-like of int, default=None
            Clusters as from `predict`; None takes ``labels_``.

        Returns
        -------
        names : ndarray of str
            The cluster's name, or "noise" for -1.
        """
        labels = self.labels_ if labels is None else np.asarray(labels)
        # The last one is what -1 points to.
        return np.asarray(np.array([*self._cluster_names(), NOISE])[labels])

    def _cluster_names(self) -> Sequence[str]:
        check_is_fitted(self)
        found = getattr(self, "cluster_names_", None)
        if found is not None:
            return list(found)
        centers = getattr(self, "_centers", None)
        n_found = int(self.labels_.max()) + 1 if centers is None else len(centers[0])
        return default_names(n_found)

    def _named(self, clustering: Clustering) -> Clustering:
        names = getattr(self, "cluster_names_", None)
        return clustering if names is None else name_clusters(clustering, names)
