"""Features that set a cluster apart from all other samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot

from manyview._arrays import ViewArray
from manyview._typing import BoolArray, FloatArray, IntArray
from manyview._views import SCAN_ELEMENTS, ViewSet, check_views, row_blocks
from manyview.cluster._clustering import check_labels


@dataclass(frozen=True, kw_only=True, slots=True)
class FeatureEffect:
    """How one feature sets one cluster apart.

    Parameters
    ----------
    cluster : int
        The cluster.
    view : str
        Name of the view.
    feature : str
        Name of the feature.
    effect : float
        Difference of the two means in pooled standard deviations (Cohen's d); positive
        if the feature is larger inside. Infinite if it is constant on both sides.
    inside, outside : float
        Mean of the feature over the cluster and over all other samples.
    p_value : float
        Of Welch's t-test between inside and outside; NaN for a cluster of one sample.
        It describes: the clusters were made from these features, so that small values
        come about even where there are no groups.
    fdr : float
        The p-value adjusted by Benjamini and Hochberg, over the features of the view.
    """

    cluster: int
    view: str
    feature: str
    effect: float
    inside: float
    outside: float
    p_value: float
    fdr: float


def separating_features(
    X: Any,
    labels: Any,
    *,
    feature_names: Sequence[Sequence[str]] | None = None,
    view_sizes: Sequence[int] | None = None,
    n_features: int = 5,
) -> tuple[FeatureEffect, ...]:
    """The features that separate each cluster most from the rest, over all views.

    Parameters
    ----------
    X : views in any form that an estimator takes
        The samples. Rows of NaN do not count.
    labels : array-like of shape (n_samples,)
        Clusters as whole numbers from 0.
    feature_names : sequence of sequences of str, default=None
        Names per view. None takes the columns of data frames and numbers the others.
    view_sizes : sequence of int, default=None
        Splits one 2-D array into views.
    n_features : int, default=5
        Features to name per cluster.

    Returns
    -------
    effects : tuple of FeatureEffect
        Cluster by cluster, strongest first.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.explain import separating_features
    >>> views = [np.array([[0.0, 3.0], [1.0, 4.0], [8.0, 3.0], [9.0, 4.0]])]
    >>> best = separating_features(views, [0, 0, 1, 1], n_features=1)[0]
    >>> best.feature, round(best.effect, 2), best.inside, best.outside
    ('0', -11.31, 0.5, 8.5)
    """
    views = check_views(X, view_sizes=view_sizes)
    labels = check_labels(labels, views.n_samples)
    return features_of_clusters(views, labels, feature_names, n_features)


def features_of_clusters(
    views: ViewSet,
    labels: IntArray,
    feature_names: Sequence[Sequence[str]] | None = None,
    n_features: int = 5,
) -> tuple[FeatureEffect, ...]:
    """`separating_features` of checked views."""
    n_clusters = int(labels.max()) + 1
    of_views = [
        _effects(array, present, labels, n_clusters)
        for array, present in zip(views.arrays, views.present, strict=True)
    ]
    effect, inside, outside, p_value, fdr = map(np.hstack, zip(*of_views, strict=True))
    names = feature_names or names_of_features(views)
    columns = [
        (view, str(feature))
        for view, features in zip(views.names, names, strict=True)
        for feature in features
    ]
    return tuple(
        FeatureEffect(
            cluster=cluster,
            view=columns[j][0],
            feature=columns[j][1],
            effect=float(effect[cluster, j]),
            inside=float(inside[cluster, j]),
            outside=float(outside[cluster, j]),
            p_value=float(p_value[cluster, j]),
            fdr=float(fdr[cluster, j]),
        )
        for cluster in range(n_clusters)
        for j in np.argsort(-np.abs(effect[cluster]), kind="stable")[:n_features]
        if effect[cluster, j] != 0
    )


def names_of_features(views: ViewSet) -> tuple[tuple[str, ...], ...]:
    """Names of every view's features where it has them, column numbers elsewhere.

    Parameters
    ----------
    views : ViewSet
        Checked views, as a `Clustering` holds them.

    Returns
    -------
    names : tuple of tuple of str
        One name per feature, view by view.
    """
    return tuple(
        names or tuple(str(column) for column in range(width))
        for names, width in zip(views.feature_names, views.n_features, strict=True)
    )


def _effects(
    array: ViewArray, present: BoolArray, labels: IntArray, n_clusters: int
) -> tuple[FloatArray, ...]:
    """(n_clusters, n_features) each: Cohen's d, two means, p-value and its FDR."""
    # Importing it takes a while, and few who import manyview need it.
    from scipy.stats import ttest_ind_from_stats

    counts, sums, squares, origin = _cluster_sums(array, present, labels, n_clusters)
    n_in = counts[:, None]
    n_out = counts.sum() - n_in
    inside = sums / np.maximum(1, n_in)
    outside = (sums.sum(axis=0) - sums) / np.maximum(1, n_out)
    # Sums of squares around the two means.
    within = np.maximum(squares - n_in * inside**2, 0.0)
    without = np.maximum(squares.sum(axis=0) - squares - n_out * outside**2, 0.0)
    pooled = (within + without) / np.maximum(1, counts.sum() - 2)
    difference = inside - outside
    # Differences at the size of rounding are none.
    scale = np.abs(inside) + np.abs(outside)
    difference[np.abs(difference) <= 1e-12 * scale] = 0.0
    difference[((n_in == 0) | (n_out == 0))[:, 0]] = 0.0
    noise = 1e-14 * squares.sum(axis=0) / np.maximum(1, counts.sum())
    constant = pooled <= noise
    spread = np.sqrt(np.where(constant, 1.0, pooled))
    never = np.where(difference == 0, 0.0, np.copysign(np.inf, difference))
    effect = np.where(constant, never, difference / spread)
    with np.errstate(invalid="ignore", divide="ignore"):
        p_values = ttest_ind_from_stats(
            difference,
            np.sqrt(within / np.maximum(1, n_in - 1)),
            n_in,
            0.0,
            np.sqrt(without / np.maximum(1, n_out - 1)),
            n_out,
            equal_var=False,
        ).pvalue
    # Two constants: as different as can be, or the same.
    p_values = np.where(constant, np.where(difference == 0, 1.0, 0.0), p_values)
    p_values[((n_in < 2) | (n_out < 2))[:, 0]] = np.nan
    fdr = np.array([adjust_p_values(of_cluster) for of_cluster in p_values])
    return effect, inside + origin, outside + origin, p_values, fdr


def adjust_p_values(p_values: FloatArray) -> FloatArray:
    """Benjamini and Hochberg's adjusted p-values; NaN stays NaN and is not counted."""
    from scipy.stats import false_discovery_control

    adjusted = np.full(len(p_values), np.nan)
    known = ~np.isnan(p_values)
    if known.any():
        adjusted[known] = false_discovery_control(p_values[known], method="bh")
    return adjusted


def _cluster_sums(
    array: ViewArray, present: BoolArray, labels: IntArray, n_clusters: int
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Counts, sums and sums of squares per cluster, taken from an origin near the data.

    Squares of values far from zero would drown the differences between them.
    """
    n_columns = array.shape[1]
    counts = np.zeros(n_clusters, dtype=np.int64)
    sums, squares = np.zeros((2, n_clusters, n_columns))
    # Zeros are where a sparse view has its mass: zero is a good origin.
    origin = np.zeros(n_columns) if sparse.issparse(array) else None
    for rows in row_blocks(array.shape[0], n_columns, SCAN_ELEMENTS):
        # Noise, -1, is neither inside nor outside.
        keep = present[rows] & (labels[rows] >= 0)
        clusters = labels[rows][keep]
        n_rows = len(clusters)
        if not n_rows:
            continue
        values: Any = array[rows][keep].astype(np.float64, copy=False)
        if origin is None:
            origin = values.mean(axis=0)
        if not sparse.issparse(array):
            values -= origin
        member = sparse.csr_array(
            (np.ones(n_rows), (clusters, np.arange(n_rows))), shape=(n_clusters, n_rows)
        )
        counts += np.bincount(clusters, minlength=n_clusters)
        sums += safe_sparse_dot(member, values, dense_output=True)
        squares += safe_sparse_dot(member, values**2, dense_output=True)
    return counts, sums, squares, np.zeros(n_columns) if origin is None else origin
