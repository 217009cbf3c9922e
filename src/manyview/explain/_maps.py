"""Two-dimensional maps of samples: principal components per view and fused."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from manyview._random import random_source
from manyview._typing import FloatArray, IntArray
from manyview._views import check_views
from manyview.cluster._clustering import Clustering, label_clustering
from manyview.explain._margins import clustering_of

# Samples of a small cluster that are shown even if a proportional draw would miss them.
FEWEST_PER_CLUSTER = 25
# Scaled values held at once; wide views are mapped with fewer samples.
MOST_VALUES = 20_000_000
# A layout by neighbours needs some.
FEWEST_FOR_UMAP = 30
FEWEST_SAMPLES = 200


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SampleMap:
    """Positions of some samples in the plane.

    Parameters
    ----------
    samples : ndarray of shape (n_shown,)
        Which samples are shown.
    fused : ndarray of shape (n_shown, 2)
        Positions by all views together, weighted as in the fused score.
    views : tuple of ndarray of shape (n_shown, 2)
        Positions by each view; NaN where it lacks the sample.
    axes : tuple of str
        What the two directions of ``fused`` are.
    view_axes : tuple of tuple of str
        The same for each view.
    """

    samples: IntArray
    fused: FloatArray
    views: tuple[FloatArray, ...]
    axes: tuple[str, str]
    view_axes: tuple[tuple[str, str], ...]


def map_samples(
    X: Any,
    labels: Any,
    *,
    estimator: Any = None,
    max_samples: int = 3000,
    random_state: int | np.random.RandomState | None = 0,
) -> SampleMap:
    """Place samples in the plane, per view and by all views together.

    Views are projected on their first two principal axes. All views together are laid
    out by UMAP if umap-learn is installed, else projected as well.

    Parameters
    ----------
    X : views in any form that an estimator takes
        The samples.
    labels : array-like of shape (n_samples,)
        Their clusters, from which samples to show are drawn in proportion.
    estimator : fitted estimator, default=None
        Takes distances and weights from this model, those of its embeddings if it
        clusters embeddings. None scales and weighs the views as `explain_labels` does.
    max_samples : int, default=3000
        Most samples to show.
    random_state : int, RandomState instance or None, default=0
        Draws the samples shown.

    Returns
    -------
    sample_map : SampleMap
        Positions.
    """
    if estimator is None:
        clustering = label_clustering(check_views(X), labels)
    else:
        clustering = clustering_of(estimator, X)
    source = random_source(random_state)
    return map_clustering(clustering, np.asarray(labels), max_samples, source)


def map_clustering(
    clustering: Clustering,
    labels: IntArray,
    max_samples: int,
    random_state: np.random.RandomState,
) -> SampleMap:
    """The maps of a clustering, by the distances it is measured with.

    labels : (n_samples,), by which the samples that are shown are drawn.
    """
    width = sum(space.n_features for space in clustering.rows)
    affordable = max(FEWEST_SAMPLES, MOST_VALUES // width)
    samples = draw_samples(labels, min(max_samples, affordable), random_state)
    weighted, planes, axes = [], [], []
    for rows, weight in zip(clustering.rows, clustering.weights, strict=True):
        values = rows.dense_rows(samples)
        missing = ~rows.present[samples]
        # A sample without the view is placed at its mean, where it changes nothing.
        values[missing] = rows.mean
        plane, names = _principal_plane(values)
        plane[missing] = np.nan
        planes.append(plane)
        axes.append(names)
        weighted.append(values * np.sqrt(weight))
    fused, fused_axes = _neighbour_plane(np.hstack(weighted))
    return SampleMap(
        samples=samples,
        fused=fused,
        views=tuple(planes[: clustering.n_views]),
        axes=fused_axes,
        view_axes=tuple(axes[: clustering.n_views]),
    )


def draw_samples(
    labels: IntArray, n_wanted: int, random_state: np.random.RandomState
) -> IntArray:
    """Samples to show, sorted: at random, with a few of every cluster for certain."""
    n_samples = len(labels)
    if n_samples <= n_wanted:
        return np.arange(n_samples)
    order = random_state.permutation(n_samples)
    n_clusters = int(labels.max()) + 1
    quota = min(FEWEST_PER_CLUSTER, n_wanted // n_clusters)
    certain = np.concatenate(
        [order[labels[order] == cluster][:quota] for cluster in range(n_clusters)]
    )
    rest = order[~np.isin(order, certain)]
    return np.sort(np.concatenate([certain, rest[: n_wanted - len(certain)]]))


def _neighbour_plane(values: FloatArray) -> tuple[FloatArray, tuple[str, str]]:
    """(n, 2), laid out by UMAP, or projected where that is missing or pointless."""
    if len(values) < FEWEST_FOR_UMAP or not has_umap():
        return _principal_plane(values)
    import umap

    with warnings.catch_warnings():
        # It tells of its threads and of scikit-learn's future.
        warnings.simplefilter("ignore")
        layout = umap.UMAP(random_state=0, n_jobs=1).fit_transform(values)
    return np.asarray(layout, dtype=np.float64), ("UMAP 1", "UMAP 2")


def has_umap() -> bool:
    """Whether umap-learn is installed."""
    return find_spec("umap") is not None


def _principal_plane(values: FloatArray) -> tuple[FloatArray, tuple[str, str]]:
    """(n, 2), first two principal components; zeros where there is no second one."""
    from sklearn.decomposition import PCA

    plane, shares = np.zeros((len(values), 2)), np.zeros(2)
    if len(values) >= 2 and np.ptp(values, axis=0).any():
        n_components = min(2, *values.shape)
        pca = PCA(n_components=n_components, random_state=0)
        plane[:, :n_components] = pca.fit_transform(values)
        shares[:n_components] = pca.explained_variance_ratio_
    first, second = (f"principal axis {i + 1} ({s:.0%})" for i, s in enumerate(shares))
    return plane, (first, second)
