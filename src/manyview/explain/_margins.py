"""How clearly samples belong to their clusters, fused and view by view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview._typing import BoolArray, FloatArray, IntArray
from manyview._views import check_views
from manyview.cluster._base import BaseMultiViewClusterer
from manyview.cluster._clustering import Clustering, label_clustering
from manyview.exceptions import ViewError

if TYPE_CHECKING:
    from manyview._rows import Rows


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Explanation:
    """How clearly samples belong to their clusters, and what each view contributes.

    Parameters
    ----------
    view_names : tuple of str
        Names of the views.
    cluster_names : tuple of str
        Names of the clusters.
    labels : ndarray of shape (n_samples,)
        Cluster of each sample; -1 for noise.
    weights : ndarray of shape (n_views,)
        Influence of each view on the result, adding up to 1: the estimator's
        ``view_weights_``, or the same for all views where there are none.
    confidence : ndarray of shape (n_samples,)
        Membership in the own cluster, or in the nearest one for noise: between 0 and
        1, as in the estimator's ``membership_``.
    outlier_score : ndarray of shape (n_samples,)
        How far out a sample lies in its views, in robust standard deviations.
    view_labels : ndarray of shape (n_views, n_samples)
        Cluster that each view on its own would choose; -1 where it lacks the sample.
    agreement : ndarray of shape (n_views,)
        Share of a view's samples for which it would choose the final cluster. Noise
        counts with its nearest cluster, here and below.
    view_agreement : ndarray of shape (n_views, n_views)
        Share of their common samples for which two views choose the same cluster; NaN
        for two views without a common sample.
    disagreement : ndarray of shape (n_samples,)
        Share of the sample's views that would choose another cluster than the final.
    unexplained : ndarray of shape (n_views,)
        Share of each view's scatter left within clusters.
    """

    view_names: tuple[str, ...]
    cluster_names: tuple[str, ...]
    labels: IntArray
    weights: FloatArray
    confidence: FloatArray
    outlier_score: FloatArray
    view_labels: IntArray
    agreement: FloatArray
    view_agreement: FloatArray
    disagreement: FloatArray
    unexplained: FloatArray

    @property
    def cluster_sizes(self) -> IntArray:
        """(n_clusters,), number of samples."""
        return self._per_cluster(None).astype(np.int64)

    @property
    def cluster_confidence(self) -> FloatArray:
        """(n_clusters,), mean confidence; NaN for an empty cluster."""
        with np.errstate(invalid="ignore"):
            return self._per_cluster(self.confidence) / self._per_cluster(None)

    @property
    def n_noise(self) -> int:
        """Samples in no cluster."""
        return int((self.labels < 0).sum())

    def _per_cluster(self, values: FloatArray | None) -> FloatArray:
        # Noise, -1, is counted first and left out.
        n_bins = len(self.cluster_names) + 1
        return np.bincount(self.labels + 1, values, n_bins)[1:].astype(np.float64)


def explain(estimator: Any, X: Any) -> Explanation:
    """Explain a fitted estimator on the samples it was fitted on.

    For NSMVC and GraphNSMVC, distances are those of their `transform`. Any other
    estimator is explained through its labels, see `explain_labels`.

    Parameters
    ----------
    estimator : fitted estimator
        Has ``labels_``.
    X : views in any form that ``fit`` takes
        The samples of the fit.

    Returns
    -------
    explanation : Explanation
        Confidence, agreement and disagreement.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview import NSMVC
    >>> from manyview.explain import explain
    >>> sound = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> light = np.array([[1.0], [1.0], [5.0], [5.0]])
    >>> views = [sound, light]
    >>> model = NSMVC(n_clusters=2, random_state=0).fit(views)
    >>> explain(model, views).agreement.tolist()
    [1.0, 1.0]
    """
    return explain_clustering(clustering_of(estimator, X))


def explain_labels(X: Any, labels: Any) -> Explanation:
    """Explain any labelling of the samples by the means of its clusters.

    Views are scaled by NSMVC's ``"auto"`` rule and weigh the same.

    Parameters
    ----------
    X : views in any form that an estimator takes
        The samples.
    labels : array-like of shape (n_samples,)
        Clusters as whole numbers from 0.

    Returns
    -------
    explanation : Explanation
        Confidence, agreement and disagreement.
    """
    return explain_clustering(label_clustering(check_views(X), labels))


def clustering_of(estimator: Any, X: Any) -> Clustering:
    """The labels of a fitted estimator together with the views of its samples."""
    labels = getattr(estimator, "labels_", None)
    if labels is None:
        msg = f"{type(estimator).__name__} is not fitted: call fit first."
        raise ViewError(msg)
    if isinstance(estimator, BaseMultiViewClusterer):
        return estimator.clustering(X)
    views = check_views(X, view_sizes=getattr(estimator, "view_sizes", None))
    return label_clustering(views, labels)


def explain_clustering(clustering: Clustering) -> Explanation:
    """Confidence, agreement and unexplained shares, from the distances."""
    n_views = clustering.n_views
    rows, centers = clustering.rows[:n_views], clustering.centers[:n_views]
    nearest = [_nearest(view, own) for view, own in zip(rows, centers, strict=True)]
    has = np.array(nearest) >= 0
    view_labels = np.where(has, clustering.groups[nearest], -1)
    right = view_labels == clustering.nearest
    return Explanation(
        view_names=clustering.views.names,
        cluster_names=clustering.names,
        labels=clustering.labels,
        weights=clustering.view_weights,
        confidence=clustering.confidence,
        outlier_score=clustering.outlier_score,
        view_labels=view_labels,
        agreement=right.sum(axis=1) / np.maximum(1, has.sum(axis=1)),
        view_agreement=_view_agreement(view_labels, has),
        # A sample may lack every embedding of a single view; then no view disagrees.
        disagreement=(has & ~right).sum(axis=0) / np.maximum(1, has.sum(axis=0)),
        unexplained=clustering.unexplained,
    )


def _nearest(view: Rows, centers: FloatArray) -> IntArray:
    """(n_samples,), the nearest centre in one view; -1 for samples without the view."""
    from manyview._solvers._nearest import nearest_clusters

    # A sample without its only view has no share to divide by.
    with np.errstate(invalid="ignore"):
        nearest = nearest_clusters((view,), (centers,), np.ones(1))
    nearest[~view.present] = -1
    return nearest


def _view_agreement(view_labels: IntArray, has: BoolArray) -> FloatArray:
    shares = np.full((len(has), len(has)), np.nan)
    for u, v in np.ndindex(shares.shape):
        common = has[u] & has[v]
        if common.any():
            shares[u, v] = (view_labels[u] == view_labels[v])[common].mean()
    return shares
