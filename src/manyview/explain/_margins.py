"""How clearly samples belong to their clusters, fused and view by view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview._scaling import learn_scales
from manyview._typing import BoolArray, FloatArray, IntArray
from manyview._views import check_views
from manyview.cluster import NSMVC
from manyview.exceptions import ViewError

if TYPE_CHECKING:
    from manyview._rows import Rows


@dataclass(frozen=True, kw_only=True, slots=True)
class Geometry:
    """What distances are measured with.

    rows : scaled row access per view. centers : per view (n_clusters, n_features_v).
    weights : (n_views,), of the views in the fused score; they add up to 1.
    """

    rows: tuple[Rows, ...]
    centers: tuple[FloatArray, ...]
    weights: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Explanation:
    """How clusters, samples and views hang together.

    Parameters
    ----------
    view_names : tuple of str
        Names of the views.
    labels : ndarray of shape (n_samples,)
        Cluster of each sample.
    weights : ndarray of shape (n_views,)
        Share of each view in the fused score.
    confidence : ndarray of shape (n_samples,)
        Relative margin to the second-best cluster, see `relative_margins`.
    view_labels : ndarray of shape (n_views, n_samples)
        Cluster that each view on its own would choose; -1 where it lacks the sample.
    agreement : ndarray of shape (n_views,)
        Share of a view's samples for which it would choose the final cluster.
    view_agreement : ndarray of shape (n_views, n_views)
        Share of their common samples for which two views choose the same cluster; NaN
        for two views without a common sample.
    disagreement : ndarray of shape (n_samples,)
        Share of the sample's views that would choose another cluster than the final.
    unexplained : ndarray of shape (n_views,)
        Share of each view's scatter left within clusters.
    """

    view_names: tuple[str, ...]
    labels: IntArray
    weights: FloatArray
    confidence: FloatArray
    view_labels: IntArray
    agreement: FloatArray
    view_agreement: FloatArray
    disagreement: FloatArray
    unexplained: FloatArray


def explain(estimator: Any, X: Any) -> Explanation:
    """Explain a fitted estimator on the samples it was fitted on.

    For NSMVC, distances are those of its `transform`. Any other estimator is explained
    through its labels, see `explain_labels`.

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
    geometry, names = model_geometry(estimator, X)
    return _explain(geometry, np.asarray(estimator.labels_), names)


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
    labels = np.asarray(labels)
    geometry, names = label_geometry(X, labels)
    return _explain(geometry, labels, names)


def relative_margins(scores: FloatArray, labels: IntArray) -> FloatArray:
    """Confidence of each sample: its relative margin to the best other cluster.

    With the fused squared distance ``s_own`` of a sample to its own cluster's centre
    and ``s_other`` to the nearest other one, the confidence is
    ``1 - s_own / s_other``: 1 at the own centre, 0 half way or beyond.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_clusters)
        Squared distances.
    labels : ndarray of shape (n_samples,)
        Own cluster of each sample.

    Returns
    -------
    confidence : ndarray of shape (n_samples,)
        Between 0 and 1; 1 throughout if there is a single cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.explain import relative_margins
    >>> relative_margins(np.array([[1.0, 4.0, 9.0], [2.0, 2.0, 8.0]]), np.array([0, 1]))
    array([0.75, 0.  ])
    """
    n_samples, n_clusters = scores.shape
    if n_clusters == 1:
        return np.ones(n_samples)
    everyone = np.arange(n_samples)
    own = scores[everyone, labels]
    others = scores.copy()
    others[everyone, labels] = np.inf
    best_other = others.min(axis=1)
    # Both distances zero: the two clusters share their centre, nothing sets them apart.
    apart = best_other > 0
    ratio = np.where(apart, own / np.where(apart, best_other, 1.0), 1.0)
    return np.clip(1.0 - ratio, 0.0, 1.0)


def model_geometry(estimator: Any, X: Any) -> tuple[Geometry, tuple[str, ...]]:
    """Geometry of a fitted estimator on the samples of its fit."""
    labels = getattr(estimator, "labels_", None)
    if labels is None:
        msg = f"{type(estimator).__name__} is not fitted: call fit first."
        raise ViewError(msg)
    if not isinstance(estimator, NSMVC):
        return label_geometry(X, np.asarray(labels), estimator.view_sizes)
    rows = estimator._open(X)
    _check_length(rows[0].n_samples, labels)
    centers, weights = estimator._linear_model()
    names = tuple(estimator.view_names_)
    # Embeddings of all views together come after those of the views themselves.
    own = slice(0, len(names))
    weights = weights[own] / weights[own].sum()
    geometry = Geometry(rows=rows[own], centers=centers[own], weights=weights)
    return geometry, names


def label_geometry(
    X: Any, labels: IntArray, view_sizes: Any = None
) -> tuple[Geometry, tuple[str, ...]]:
    """Geometry of any labelling: cluster means of the scaled views, equal weights."""
    from manyview._rows import open_views
    from manyview._solvers._cluster_sums import member_sums

    views = check_views(X, view_sizes=view_sizes)
    _check_length(views.n_samples, labels)
    if labels.dtype.kind not in "iu" or labels.min() < 0:
        msg = "labels must be whole numbers from 0, one per sample."
        raise ViewError(msg)
    rows = open_views(views, learn_scales(views, "auto"))
    n_clusters = int(labels.max()) + 1
    centers = member_sums(rows, labels.astype(np.int32), n_clusters).means()
    weights = np.full(len(rows), 1.0 / len(rows))
    return Geometry(rows=rows, centers=centers, weights=weights), views.names


def _explain(
    geometry: Geometry, labels: IntArray, names: tuple[str, ...]
) -> Explanation:
    from manyview._solvers._nearest import fused_scores
    from manyview._solvers._nsmvc import unexplained_shares

    rows, centers = geometry.rows, geometry.centers
    n_samples = rows[0].n_samples
    confidence = np.empty(n_samples)
    for block, scores in fused_scores(rows, centers, geometry.weights):
        confidence[block] = relative_margins(scores, labels[block])
    view_labels = np.empty((len(rows), n_samples), dtype=np.int32)
    for v, view in enumerate(rows):
        view_labels[v] = _nearest(view, centers[v])
    has = view_labels >= 0
    right = view_labels == labels
    return Explanation(
        view_names=names,
        labels=labels,
        weights=geometry.weights,
        confidence=confidence,
        view_labels=view_labels,
        agreement=right.sum(axis=1) / np.maximum(1, has.sum(axis=1)),
        view_agreement=_view_agreement(view_labels, has),
        disagreement=(has & ~right).sum(axis=0) / has.sum(axis=0),
        unexplained=unexplained_shares(rows, centers, labels),
    )


def _nearest(view: Rows, centers: FloatArray) -> IntArray:
    """(n_samples,), the nearest centre in one view; -1 for whoever lacks it."""
    from manyview._solvers._table import DistanceTable, sample_blocks

    nearest = np.empty(view.n_samples, dtype=np.int32)
    blocks = sample_blocks((view,))
    table = DistanceTable((view,), blocks[0].stop, len(centers))
    prepared = [view.prepare(centers)]
    for rows in blocks:
        table.load(rows, prepared)
        nearest[rows] = table.distances[0].argmin(axis=1)
    nearest[~view.present] = -1
    return nearest


def _view_agreement(view_labels: IntArray, has: BoolArray) -> FloatArray:
    n_views = len(view_labels)
    shares = np.full((n_views, n_views), np.nan)
    for u in range(n_views):
        for v in range(n_views):
            common = has[u] & has[v]
            if common.any():
                same = view_labels[u, common] == view_labels[v, common]
                shares[u, v] = same.mean()
    return shares


def _check_length(n_samples: int, labels: Any) -> None:
    if np.shape(labels) != (n_samples,):
        msg = (
            f"X has {n_samples} samples, but there are labels of shape "
            f"{np.shape(labels)}. Pass the samples that the labels belong to."
        )
        raise ViewError(msg)
