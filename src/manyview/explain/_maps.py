"""Two-dimensional maps of samples: principal components per view and fused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from manyview._random import random_source
from manyview._typing import BoolArray, FloatArray, IntArray
from manyview.explain._margins import Geometry, label_geometry, model_geometry

if TYPE_CHECKING:
    from manyview._rows import Rows

# Samples of a small cluster that are shown even if a proportional draw would miss them.
FEWEST_PER_CLUSTER = 25
# Scaled values held at once; wide views are mapped with fewer samples.
MOST_VALUES = 20_000_000
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
    """

    samples: IntArray
    fused: FloatArray
    views: tuple[FloatArray, ...]


def map_samples(
    X: Any,
    labels: Any,
    *,
    estimator: Any = None,
    max_samples: int = 3000,
    random_state: int | np.random.RandomState | None = 0,
) -> SampleMap:
    """Project samples on the first two principal components, per view and fused.

    Parameters
    ----------
    X : views in any form that an estimator takes
        The samples.
    labels : array-like of shape (n_samples,)
        Their clusters, from which samples to show are drawn in proportion.
    estimator : fitted estimator, default=None
        Takes scaling and weights from this model; None scales and weighs the views as
        `explain_labels` does.
    max_samples : int, default=3000
        Show no more than these.
    random_state : int, RandomState instance or None, default=0
        Draws the samples shown.

    Returns
    -------
    sample_map : SampleMap
        Positions.
    """
    labels = np.asarray(labels)
    if estimator is None:
        geometry, _ = label_geometry(X, labels)
    else:
        geometry, _ = model_geometry(estimator, X)
    width = sum(view.n_features for view in geometry.rows)
    affordable = max(FEWEST_SAMPLES, MOST_VALUES // width)
    samples = draw_samples(
        labels, min(max_samples, affordable), random_source(random_state)
    )
    return _project(geometry, samples)


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


def _project(geometry: Geometry, samples: IntArray) -> SampleMap:
    scaled = []
    maps = []
    for view in geometry.rows:
        values = view.dense_rows(samples)
        missing = _missing(view, samples)
        # Whoever lacks the view stands at its mean, where it pulls nowhere.
        values[missing] = view.mean
        position = _principal_plane(values)
        position[missing] = np.nan
        scaled.append(values)
        maps.append(position)
    joint = np.hstack(
        [
            values * np.sqrt(weight)
            for values, weight in zip(scaled, geometry.weights, strict=True)
        ]
    )
    return SampleMap(samples=samples, fused=_principal_plane(joint), views=tuple(maps))


def _missing(view: Rows, samples: IntArray) -> BoolArray:
    return np.asarray(~view.present[samples])


def _principal_plane(values: FloatArray) -> npt.NDArray[np.float64]:
    """(n, 2), first two principal components; zeros where there is no second one."""
    from sklearn.decomposition import PCA

    plane = np.zeros((len(values), 2))
    if len(values) < 2 or not np.ptp(values, axis=0).any():
        return plane
    n_components = min(2, *values.shape)
    pca = PCA(n_components=n_components, random_state=0)
    plane[:, :n_components] = pca.fit_transform(values)
    return plane
