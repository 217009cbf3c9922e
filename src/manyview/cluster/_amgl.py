"""AMGL as a scikit-learn clusterer."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from manyview._results import OnIteration
from manyview._sklearn_compat import Interval
from manyview._views import ViewSet
from manyview.cluster._spectral import SpectralClusterer

if TYPE_CHECKING:
    from manyview._solvers._amgl import AMGLResult


class AMGL(SpectralClusterer):
    """Auto-weighted multiple graph learning.

    Builds a sparse neighbour graph per view and finds the spectral embedding of their
    weighted sum, with view weights that follow from the embedding itself.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_neighbors : int, default=5
        Neighbours of each sample in each view's graph; fewer if there are fewer than
        ``n_neighbors + 2`` samples.
    normalize_rows : bool, default=False
        Whether rows of the embedding are set to unit length before k-means. The
        authors' code does not.
    max_iter : int, default=100
        Most rounds.
    tol : float, default=1e-8
        Relative decrease of the objective at which the rounds stop.
    n_init : int, default=10
        Runs of k-means on the embedding; the one with the smallest inertia gives the
        labels. The embedding itself does not depend on chance.
    n_local_trials : int or None, default=None
        Candidates for each seed of k-means++; the one that leaves the least distance
        behind is kept. None takes ``2 + log(n_clusters)``, and 1 is plain k-means++.
    scale : str or None, default="auto"
        Scaling of each view before its graph, as in `NSMVC`. The authors' code
        takes the features as they are, which is None.
    view_sizes : list of int or None, default=None
        Splits one 2-D array into views: features per view, in column order.
    random_state : int, RandomState instance or None, default=None
        Source of the k-means starts on the embedding.
    verbose : int, default=0
        Above 0, every iteration is reported on stderr.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample.
    view_weights_ : ndarray of shape (n_views,)
        Weight of each view's graph, scaled to sum 1; 0 for a constant view.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        The rows that were clustered.
    objective_ : float
        Value of the problem below.
    n_iter_ : int
        Number of rounds.
    history_ : tuple of IterationRecord
        One record per round. The objective never rises.
    scales_ : tuple of ViewScale
        Scaling learned for each view.
    view_names_ : list of str
        Names of the views.
    n_features_in_ : int
        Number of features, over all views.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X was one frame with string column names.

    Notes
    -----
    Minimises ``sum_v sqrt(tr(F' L_v F))`` over F with ``n_clusters`` orthonormal
    columns, where ``L_v`` is the normalised Laplacian of view v's graph. With c
    neighbours at squared distances ``d(1) <= d(2) <= ...``, the edge to neighbour h
    weighs ``(d(c+1) - d(h)) / (c d(c+1) - d(1) - ... - d(c))``; the graph is then
    averaged with its transpose.

    1. Weights ``a_v = 1 / n_views``.
    2. F: eigenvectors of the smallest eigenvalues of ``sum_v a_v L_v``, one connected
       component at a time (Lanczos from 400 samples on). Of tied components the larger
       one comes first, then the one with the first sample.
    3. ``a_v = 1 / (2 sqrt(tr(F' L_v F)))``; go to 2 until, from round 3 on, the
       objective stands still.
    4. k-means on the rows of F.

    Deviations from the paper:

    - A sample is never its own neighbour. The authors' script drops the first in the
      sorted order, which may be a duplicate.
    - Where all c + 1 distances coincide, the c nearest that come first in the data
      share the weight; the script leaves the sample without edges.
    - ``tr(F' L_v F)`` is kept above 1e-12, so a graph that falls apart into clusters
      has a finite weight.
    - A constant view is left out.

    References
    ----------
    F. Nie, J. Li, X. Li. Parameter-Free Auto-Weighted Multiple Graph Learning: A
    Framework for Multiview Clustering and Semi-Supervised Classification. IJCAI, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.cluster import AMGL
    >>> sound = np.array([[0.0, 1.0], [0.1, 1.0], [5.0, 2.0], [5.1, 2.0]])
    >>> light = np.array([[3.0], [3.1], [9.0], [9.2]])
    >>> labels = AMGL(n_clusters=2, random_state=0).fit_predict([sound, light])
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SpectralClusterer._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "normalize_rows": ["boolean"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_neighbors: int = 5,
        normalize_rows: bool = False,
        max_iter: int = 100,
        tol: float = 1e-8,
        n_init: int = 10,
        n_local_trials: int | None = None,
        scale: str | None = "auto",
        view_sizes: Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.normalize_rows = normalize_rows
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.n_local_trials = n_local_trials
        self.scale = scale
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _prepare(self, views: ViewSet) -> Any:
        from manyview._solvers._amgl import view_graphs

        return view_graphs(self._open_for_fit(views), self.n_neighbors)

    def _solve(
        self,
        prepared: Any,
        random_state: np.random.RandomState,
        on_iteration: OnIteration | None,
    ) -> AMGLResult:
        from manyview._solvers._amgl import solve_amgl

        return solve_amgl(
            prepared,
            self.n_clusters,
            random_state,
            max_iter=self.max_iter,
            tol=self.tol,
            normalize_rows=self.normalize_rows,
            n_init=self.n_init,
            n_local_trials=self.n_local_trials,
            on_iteration=on_iteration,
        )

    def _store(self, best: AMGLResult) -> None:
        super()._store(best)
        self.view_weights_ = best.view_weights
        self.objective_ = best.objective
