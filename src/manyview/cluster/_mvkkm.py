"""MVKKM as a scikit-learn clusterer."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from manyview._results import OnIteration
from manyview._sklearn_compat import Interval, StrOptions
from manyview._views import ViewSet
from manyview.cluster._base import RandomState, RowSet, Solver
from manyview.cluster._pairs import PairwiseClusterer

if TYPE_CHECKING:
    from manyview._solvers._mvkkm import MVKKMResult


@dataclass(eq=False, repr=False, kw_only=True)
class MVKKM(PairwiseClusterer):
    """Multi-view kernel k-means.

    Kernel k-means on a weighted sum of one kernel per view, with view weights that
    favour views whose clusters are tight.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_init : int, default=10
        Number of random restarts; the one with the smallest objective wins. The global
        starts run once.
    scale : str or None, default="auto"
        Scaling of each view before its kernel, as in `NSMVC`. The authors
        standardise features ("zscore"); None takes them as they are.
    view_sizes, random_state, verbose
        As in `NSMVC`.
    power : float >= 1, default=1.5
        Exponent of the weights (p in the paper). 1 puts all weight on one view; the
        larger, the more even the weights.
    kernel : {"rbf", "linear"}, default="rbf"
        Gaussian kernel with the median distance as bandwidth, or inner products.
    init : {"random", "global", "global-fast"}, default="random"
        ``"random"``: random samples as seeds. ``"global"``: clusters come one by one,
        every sample tried as the next seed, or every anchor; the authors' start, free
        of chance, for a few hundred samples. ``"global-fast"``: the same with only the
        seed of the largest guaranteed gain tried.
    max_iter : int, default=100
        Most rounds of kernel k-means and weight update.
    tol : float, default=1e-4
        Relative change of the objective at which kernel k-means and the rounds stop.
    n_anchors : int or "auto", default="auto"
        Samples that all others are compared with, as in `CoReg`. A linear kernel of no
        more features than anchors loses nothing.

    Attributes
    ----------
    view_weights_ : ndarray of shape (n_views,)
        Weight of each view, sum 1; 0 for a constant view.
    objective_ : float
        Value of the problem below. It never rises over the iterations.
    n_iter_, history_ : int and tuple of IterationRecord
        Iterations of kernel k-means of the chosen restart, and a record of each;
        ``stage`` counts the rounds.
    labels_, n_anchors_, scales_, view_names_, n_features_in_, feature_names_in_
        As in `CoReg`. No cluster is empty.

    Notes
    -----
    Minimises ``sum_v w_v^p D_v(z)`` over labels z and weights w >= 0 that sum to 1,
    where ``D_v(z)`` is the scatter within clusters in the feature space of kernel v.
    Every kernel is first divided by its mean squared feature-space distance, so that
    scatters compare.

    The rounds alternate between kernel k-means on ``sum_v w_v^p K_v`` from the current
    labels and weights in proportion to ``D_v^(-1/(p-1))``, for p = 1 all on the
    smallest ``D_v``. Weights below 1e-5 become 0.

    Deviations from the paper:

    - Random starts are the default, as the global one needs ``n_samples * n_clusters``
      runs of kernel k-means.
    - Anchors, by default above 5,000 samples, are not in the paper.
    - The last member of a cluster stays; the authors' code drops empty clusters.
    - Ties keep the current label.
    - Views that are fitted perfectly share the whole weight; a constant view, which
      any labels fit, takes no part.

    References
    ----------
    G. Tzortzis, A. Likas. Kernel-based Weighted Multi-view Clustering. ICDM, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.cluster import MVKKM
    >>> sound = np.array([[0.0, 1.0], [0.1, 1.0], [5.0, 2.0], [5.1, 2.0]])
    >>> light = np.array([[3.0], [3.1], [9.0], [9.2]])
    >>> MVKKM(n_clusters=2, random_state=0).fit_predict([sound, light]).tolist()
    [0, 0, 1, 1]
    """

    power: float = 1.5
    kernel: str = "rbf"
    init: str = "random"
    max_iter: int = 100
    tol: float = 1e-4
    n_anchors: str | int = "auto"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PairwiseClusterer._parameter_constraints,
        "power": [Interval(Real, 1, None, closed="left")],
        "kernel": [StrOptions({"rbf", "linear"})],
        "init": [StrOptions({"random", "global", "global-fast"})],
    }
    _kept = (*PairwiseClusterer._kept, "view_weights", "objective")

    def _n_restarts(self) -> int:
        return self.n_init if self.init == "random" else 1

    def _solver(self, views: ViewSet, rows: RowSet) -> Solver:
        from manyview._solvers import _mvkkm

        anchors = self._draw_anchors(views.n_samples)
        kernels = _mvkkm.equal_kernels(rows, self.kernel, anchors)
        n_clusters, power = self.n_clusters, self.power
        run = self._bind(_mvkkm.solve_mvkkm, kernels)

        def solve(
            *, random_state: RandomState, on_iteration: OnIteration | None
        ) -> MVKKMResult:
            if self.init == "random":
                start = _mvkkm.start_random(kernels, n_clusters, power, random_state)
            else:
                fast = self.init == "global-fast"
                start = _mvkkm.start_global(
                    kernels, n_clusters, power, self.tol, fast=fast
                )
            return run(start, n_clusters, on_iteration=on_iteration)

        return solve
