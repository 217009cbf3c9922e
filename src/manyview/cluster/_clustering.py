"""A clustering together with the views it was made of.

Explanations, maps, reports and the command line all work on a `Clustering`, so that the
views are checked and scaled once, by the estimator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview._scaling import learn_scales
from manyview._typing import BoolArray, FloatArray, IntArray
from manyview._views import ViewSet
from manyview.cluster._membership import measure
from manyview.exceptions import ViewError

if TYPE_CHECKING:
    from manyview._rows import Rows

# What samples beyond the outlier threshold are called; their label is -1.
NOISE = "noise"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Clustering:
    """Labels of checked views, and how distances to the clusters are measured.

    views : the checked views.
    assigned : (n_samples,), number of each sample's centre.
    noise : (n_samples,), samples that fit no cluster.
    membership : (n_samples, n_clusters), soft membership.
    outlier_score : (n_samples,), how far out a sample lies in its views.
    names : a name per cluster.
    groups : (n_centers,), cluster that each centre belongs to: two centres belong to
        one cluster if they were given the same name.
    rows : scaled rows of each space that distances are taken in. The first ones belong
        to the views, in their order; embeddings of all views together may follow.
    centers : (n_clusters, n_columns) per space.
    weights : (n_spaces,), shares of the spaces in the fused squared distance.
    view_weights : (n_views,), influence of each view on the labels; adds up to 1.
    unexplained : (n_views,), share of each view's scatter left around the centres.
    """

    views: ViewSet
    assigned: IntArray
    noise: BoolArray
    membership: FloatArray
    outlier_score: FloatArray
    names: tuple[str, ...]
    groups: IntArray
    rows: tuple[Rows, ...]
    centers: tuple[FloatArray, ...]
    weights: FloatArray
    view_weights: FloatArray
    unexplained: FloatArray

    @property
    def n_views(self) -> int:
        return len(self.views.names)

    @property
    def nearest(self) -> IntArray:
        """(n_samples,), cluster of each sample, also of noise."""
        return np.asarray(self.groups[self.assigned])

    @property
    def labels(self) -> IntArray:
        """(n_samples,), cluster of each sample; -1 for noise."""
        return np.where(self.noise, -1, self.nearest)

    @property
    def confidence(self) -> FloatArray:
        """(n_samples,), membership in the own cluster."""
        own = np.take_along_axis(self.membership, self.nearest[:, None], axis=1)
        return np.asarray(own[:, 0])


def label_clustering(
    views: ViewSet,
    labels: Any,
    view_weights: FloatArray | None = None,
    n_clusters: int | None = None,
    assessed: tuple[FloatArray, FloatArray] | None = None,
) -> Clustering:
    """Any labelling of `views`, measured by the cluster means of the scaled views.

    Views are scaled by the ``"auto"`` rule and count the same in the fused distance.
    n_clusters : None takes the largest label for the last cluster.
    assessed : membership and outlier scores, if others than those of the means.
    """
    from manyview._rows import open_views
    from manyview._solvers._cluster_sums import member_sums
    from manyview._solvers._nsmvc import unexplained_shares

    labels = check_labels(labels, views.n_samples)
    rows = open_views(views, learn_scales(views, "auto"))
    n_clusters = n_clusters or int(labels.max()) + 1
    equal = np.full(len(rows), 1.0 / len(rows))
    centers = member_sums(rows, labels.astype(np.int32), n_clusters).means()
    if assessed is None:
        measured = measure(rows, centers, equal, labels, plain=False, about_mean=True)
        assessed = measured.assess(measured.spread(), len(rows))
    membership, outlier_score = assessed
    return Clustering(
        views=views,
        assigned=labels,
        noise=np.zeros(len(labels), dtype=bool),
        membership=membership,
        outlier_score=outlier_score,
        names=default_names(n_clusters),
        groups=np.arange(n_clusters),
        rows=rows,
        centers=centers,
        weights=equal,
        view_weights=equal if view_weights is None else view_weights,
        unexplained=unexplained_shares(rows, centers, labels),
    )


def default_names(n_clusters: int) -> tuple[str, ...]:
    """Clusters are called by their numbers until they are given names."""
    return tuple(str(cluster) for cluster in range(n_clusters))


def name_clusters(clustering: Clustering, names: Sequence[str]) -> Clustering:
    """The clustering with a name per cluster; clusters of one name become one."""
    shown = list(dict.fromkeys(names))
    into = np.array([shown.index(name) for name in names])
    membership = np.zeros((len(clustering.assigned), len(shown)))
    for cluster, group in enumerate(into):
        membership[:, group] += clustering.membership[:, cluster]
    return replace(
        clustering,
        membership=membership,
        names=tuple(shown),
        groups=into[clustering.groups],
    )


def check_labels(given: Any, n_samples: int) -> IntArray:
    """Labels as an array of whole numbers from 0, one per sample."""
    labels: IntArray = np.asarray(given)
    check_count(labels, n_samples)
    if labels.dtype.kind not in "iu" or labels.min() < 0:
        msg = "labels must be whole numbers from 0, one per sample."
        raise ViewError(msg)
    return labels


def check_count(labels: IntArray, n_samples: int) -> None:
    """One label per sample."""
    if labels.shape != (n_samples,):
        msg = (
            f"X has {n_samples} samples, but labels have shape {labels.shape}, "
            f"expected ({n_samples},). Pass the samples that the labels belong to."
        )
        raise ViewError(msg)


def check_name(cluster: Any, name: Any, n_clusters: int) -> None:
    """A cluster that exists, and a name that can be shown."""
    is_number = isinstance(cluster, (int, np.integer)) and not isinstance(cluster, bool)
    if not is_number or not 0 <= cluster < n_clusters:
        msg = (
            f"No cluster is numbered {cluster!r}; they run from 0 to {n_clusters - 1}. "
            "Pass names by cluster number."
        )
        raise ViewError(msg)
    if not isinstance(name, str) or not name.strip() or name == NOISE:
        msg = (
            f"{name!r} cannot be the name of cluster {cluster}. Pass a text that is "
            f"neither empty nor {NOISE!r}."
        )
        raise ViewError(msg)
