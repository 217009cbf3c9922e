"""A clustering together with the views it was made of.

Explanations, maps, reports and the command line all work on a `Clustering`, so that the
views are checked and scaled once, by the estimator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview._scaling import learn_scales
from manyview._typing import FloatArray, IntArray
from manyview._views import ViewSet
from manyview.exceptions import ViewError

if TYPE_CHECKING:
    from manyview._rows import Rows


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Clustering:
    """Labels of checked views, and how distances to the clusters are measured.

    views : the checked views.
    labels : (n_samples,), cluster of each sample.
    rows : scaled rows of each space that distances are taken in. The first ones belong
        to the views, in their order; embeddings of all views together may follow.
    centers : (n_clusters, n_columns) per space.
    weights : (n_spaces,), shares of the spaces in the fused squared distance.
    view_weights : (n_views,), influence of each view on the labels; adds up to 1.
    unexplained : (n_views,), share of each view's scatter left within clusters, where
        the estimator knows it.
    """

    views: ViewSet
    labels: IntArray
    rows: tuple[Rows, ...]
    centers: tuple[FloatArray, ...]
    weights: FloatArray
    view_weights: FloatArray
    unexplained: FloatArray | None = None

    @property
    def n_views(self) -> int:
        return len(self.views.names)


def label_clustering(
    views: ViewSet, labels: Any, view_weights: FloatArray | None = None
) -> Clustering:
    """Any labelling of `views`, measured by the cluster means of the scaled views.

    Views are scaled by the ``"auto"`` rule and count the same in the fused distance.
    """
    from manyview._rows import open_views
    from manyview._solvers._cluster_sums import member_sums

    labels = check_labels(labels, views.n_samples)
    rows = open_views(views, learn_scales(views, "auto"))
    n_clusters = int(labels.max()) + 1
    equal = np.full(len(rows), 1.0 / len(rows))
    return Clustering(
        views=views,
        labels=labels,
        rows=rows,
        centers=member_sums(rows, labels.astype(np.int32), n_clusters).means(),
        weights=equal,
        view_weights=equal if view_weights is None else view_weights,
    )


def check_labels(given: Any, n_samples: int) -> IntArray:
    """Labels as an array of whole numbers from 0, one per sample."""
    labels: IntArray = np.asarray(given)
    if labels.shape != (n_samples,):
        msg = (
            f"X has {n_samples} samples, but labels have shape {labels.shape}, "
            f"expected ({n_samples},). Pass the samples that the labels belong to."
        )
        raise ViewError(msg)
    if labels.dtype.kind not in "iu" or labels.min() < 0:
        msg = "labels must be whole numbers from 0, one per sample."
        raise ViewError(msg)
    return labels
