"""K-means on one view and on all views side by side."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from manyview._sklearn_compat import Interval
from manyview._typing import FloatArray
from manyview._views import ViewSet
from manyview.cluster._base import RandomState, RowSet, Solver
from manyview.cluster._centroids import CentroidClusterer
from manyview.exceptions import ViewError

if TYPE_CHECKING:
    from manyview._solvers._start import Start
    from manyview._solvers._weighted import CentroidResult


@dataclass(eq=False, repr=False, kw_only=True)
class ConcatKMeans(CentroidClusterer):
    """K-means on all views side by side.

    The plainest way to use several views: their features are joined into one long
    vector per sample, and Lloyd's algorithm runs on that. The long vectors are never
    stored.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_init : int, default=10
        Number of k-means++ starts. The one with the smallest inertia wins.
    scale : str or None, default="auto"
        How views are made comparable, as in `NSMVC`. None joins the raw features, as
        the paper's comparison does; views in large units then decide alone.
    view_sizes, random_state, verbose
        As in `NSMVC`.
    max_iter : int, default=100
        Most iterations of one restart.
    n_local_trials : int or None, default=None
        Candidates for each seed of k-means++; the one that leaves the least distance
        behind is kept. None takes ``2 + log(n_clusters)``, and 1 is plain k-means++.

    Attributes
    ----------
    view_weights_ : ndarray of shape (n_views,)
        The same for all views, adding up to 1: none is preferred.
    objective_ : float
        Inertia: summed squared distance to the centres, in scaled units.
    labels_, membership_, outlier_score_, cluster_centers_, unexplained_, n_iter_, \
history_, scales_, view_names_, n_features_in_, feature_names_in_
        As in `NSMVC`.

    Notes
    -----
    Minimises ``sum_v sum_i ||x_vi - mu_v,z(i)||^2`` over labels z and centres mu, from
    k-means++ seeds on the summed squared distances. A sample that lacks views is
    compared in the ones it has. Ties keep the current label, a cluster that runs empty
    keeps its centre.

    References
    ----------
    S. Lloyd. Least squares quantization in PCM. IEEE Transactions on Information
    Theory 28, 1982.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.cluster import ConcatKMeans
    >>> sound = np.array([[0.0, 1.0], [0.1, 1.0], [5.0, 2.0], [5.1, 2.0]])
    >>> light = np.array([[3.0], [3.1], [9.0], [9.2]])
    >>> ConcatKMeans(n_clusters=2, random_state=0).fit_predict([sound, light]).tolist()
    [0, 0, 1, 1]
    """

    max_iter: int = 100
    n_local_trials: int | None = None

    _plain_distances = False

    def _loop(self) -> Solver:
        from manyview._solvers._kmeans import solve_kmeans

        return self._bind(solve_kmeans)

    def _start(self, views: ViewSet, rows: RowSet, random_state: RandomState) -> Start:
        from manyview._solvers._start import start_kmeans_plusplus

        n_trials = self.n_local_trials
        return start_kmeans_plusplus(rows, self.n_clusters, random_state, n_trials)


@dataclass(eq=False, repr=False, kw_only=True)
class ViewKMeans(ConcatKMeans):
    """K-means on one chosen view.

    Shows what a view is worth by itself; the other views are checked, but not used.

    Parameters
    ----------
    n_clusters, n_init, scale, view_sizes, random_state, verbose, max_iter, \
n_local_trials
        As in `ConcatKMeans`.
    view : int or str, default=0
        The view to cluster: its position, or its name.

    Attributes
    ----------
    view_ : int
        Position of the view that was clustered.
    view_weights_ : ndarray of shape (n_views,)
        One for the chosen view, zero for the others.
    cluster_centers_, unexplained_, scales_ : list, ndarray and tuple of length 1
        As in `NSMVC`, of the chosen view alone.
    labels_, membership_, outlier_score_, objective_, n_iter_, history_, view_names_, \
n_features_in_, feature_names_in_
        As in `ConcatKMeans`.

    Notes
    -----
    Lloyd's algorithm after k-means++ seeding, as in `ConcatKMeans`, on one view.
    Every sample must have that view.

    References
    ----------
    S. Lloyd. Least squares quantization in PCM. IEEE Transactions on Information
    Theory 28, 1982.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.cluster import ViewKMeans
    >>> views = {
    ...     "noise": np.array([[0.3], [0.1], [0.2], [0.4]]),
    ...     "light": np.array([[3.0], [3.1], [9.0], [9.2]]),
    ... }
    >>> model = ViewKMeans(n_clusters=2, view="light", random_state=0).fit(views)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    """

    view: int | str = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CentroidClusterer._parameter_constraints,
        "view": [Interval(Integral, 0, None, closed="left"), str],
    }

    def _open_for_fit(self, views: ViewSet) -> RowSet:
        names = list(views.names)
        chosen = [v for v, name in enumerate(names) if self.view in (v, name)]
        if not chosen:
            msg = (
                f"view={self.view!r} is none of the {len(names)} views {names}. "
                "Pass a position from 0, or a name."
            )
            raise ViewError(msg)
        self.view_ = chosen[0]
        return super()._open_for_fit(views)

    def _used(self, views: ViewSet) -> ViewSet:
        array, present = views.arrays[self.view_], views.present[self.view_]
        name = views.names[self.view_]
        if not present.all():
            msg = (
                f"ViewKMeans clusters view {name!r} alone, but sample "
                f"{np.flatnonzero(~present)[0]} lacks it. Remove such samples, choose "
                "another view, or use ConcatKMeans."
            )
            raise ViewError(msg)
        return ViewSet(arrays=(array,), present=(present,), names=(name,))

    def _weights(self, best: CentroidResult) -> tuple[FloatArray, FloatArray]:
        chosen = np.arange(len(self.view_names_)) == self.view_
        return chosen.astype(np.float64), best.score_weights
