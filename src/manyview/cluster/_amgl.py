"""AMGL as a scikit-learn clusterer."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

from manyview._sklearn_compat import Interval
from manyview._views import ViewSet
from manyview.cluster._base import RowSet, Solver
from manyview.cluster._pairs import PairwiseClusterer


@dataclass(eq=False, repr=False, kw_only=True)
class AMGL(PairwiseClusterer):
    """Auto-weighted multiple graph learning.

    Builds a sparse neighbour graph per view and finds the spectral embedding of their
    weighted sum, with view weights that follow from the embedding itself.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_init : int, default=10
        Runs of k-means on the embedding; the one with the smallest inertia gives the
        labels. The embedding itself does not depend on chance.
    scale : str or None, default="auto"
        Scaling of each view before its graph, as in `NSMVC`. The authors' code
        takes the features as they are, which is None.
    view_sizes, random_state, verbose
        As in `NSMVC`.
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
    n_local_trials
        As in `ConcatKMeans`.

    Attributes
    ----------
    view_weights_ : ndarray of shape (n_views,)
        Weight of each view's graph, scaled to sum 1; 0 for a constant view.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        The rows that were clustered.
    objective_ : float
        Value of the problem below. It never rises over the rounds.
    labels_, n_iter_, history_, scales_, view_names_, n_features_in_, feature_names_in_
        As in `NSMVC`.

    Notes
    -----
    Minimises ``sum_v sqrt(tr(F' L_v F))`` over F with ``n_clusters`` orthonormal
    columns, where ``L_v`` is the normalised Laplacian of view v's graph. With c
    neighbours at squared distances ``d(1) <= d(2) <= ...``, the edge to neighbour h
    weighs ``(d(c+1) - d(h)) / (c d(c+1) - d(1) - ... - d(c))``; the graph is then
    averaged with its transpose.

    The rounds alternate between F, the eigenvectors of the smallest eigenvalues of
    ``sum_v a_v L_v``, and the weights ``a_v = 1 / (2 sqrt(tr(F' L_v F)))``. k-means on
    the rows of F gives the labels.

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
    >>> AMGL(n_clusters=2, random_state=0).fit_predict([sound, light]).tolist()
    [0, 0, 1, 1]
    """

    n_neighbors: int = 5
    normalize_rows: bool = False
    max_iter: int = 100
    tol: float = 1e-8
    n_local_trials: int | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PairwiseClusterer._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "normalize_rows": ["boolean"],
    }
    _kept = (*PairwiseClusterer._kept, "view_weights", "embedding", "objective")

    def _solver(self, views: ViewSet, rows: RowSet) -> Solver:
        from manyview._solvers._amgl import solve_amgl, view_graphs

        graphs = view_graphs(rows, self.n_neighbors)
        return self._bind(solve_amgl, graphs, self.n_clusters)
