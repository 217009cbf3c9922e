"""CAMVC as a scikit-learn clusterer."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

from manyview._sklearn_compat import Interval
from manyview.cluster._base import Solver
from manyview.cluster._centroids import CentroidClusterer


@dataclass(eq=False, repr=False, kw_only=True)
class CAMVC(CentroidClusterer):
    """Multi-view k-means with a capped norm, robust to outliers.

    Plain instead of squared distances, cut off at a cap of each view, and one learned
    weight per view. A sample beyond the cap counts as an outlier in that view and no
    longer pulls its centre.

    Parameters
    ----------
    n_clusters, n_init, scale, view_sizes, random_state, verbose
        As in `NSMVC`.
    weight_exponent : float, default=2.0
        Exponent g of the view weights, above 1. Large values even the weights out.
    kept_share : float in (0, 1], default=0.9
        Share of the samples within the cap of a view, measured once after the first
        iteration. With 1 there is no cap.
    init : {"random", "k-means++"}, default="random"
        Labels drawn uniformly, as published, or seeds on the fused, scaled views.
    max_iter : int, default=100
        Most iterations of one restart.
    tol : float, default=1e-06
        Relative change of the objective at which a restart stops.

    Attributes
    ----------
    view_weights_ : ndarray of shape (n_views,)
        Weight of each view; they add up to 1.
    objective_ : float
        Weighted sum of the capped distances.
    labels_, membership_, outlier_score_, cluster_centers_, unexplained_, n_iter_, \
history_, scales_, view_names_, n_features_in_, feature_names_in_
        As in `NSMVC`.

    Notes
    -----
    Minimises ``sum_v a_v ** g * sum_i min(e_vi, cap_v)``, where ``e_vi`` is the
    distance of sample i to its centre in view v and the weights ``a_v`` are positive
    and add up to 1.

    1. Centres become weighted means, samples go to the cluster of least weighted
       squared distance. After the first iteration the caps are set, and stay.
    2. View weights in closed form from the capped sums; sample weights
       ``a_v ** g / (2 e_vi)`` within the cap and 0 beyond. Go to 1.

    With the caps fixed the objective never rises. `predict` leaves the caps out:
    every new sample has a nearest cluster.

    Reconstruction: no code of the authors is public. The rule for the cap and its
    share of 0.9 are ours. Distances below 1e-8 of a view's spread count as that much;
    a constant view gets no weight; samples that are outliers in all views keep their
    label.

    References
    ----------
    S. Huang, Y. Ren, Z. Xu. Robust multi-view data clustering with multi-view
    capped-norm K-means. Neurocomputing 311, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.cluster import CAMVC
    >>> sound = np.array([[0.0, 1.0], [0.1, 1.0], [5.0, 2.0], [5.1, 2.0]])
    >>> light = np.array([[3.0], [3.1], [9.0], [9.2]])
    >>> CAMVC(n_clusters=2, random_state=0).fit_predict([sound, light]).tolist()
    [1, 1, 0, 0]
    """

    weight_exponent: float = 2.0
    kept_share: float = 0.9
    init: str = "random"
    max_iter: int = 100
    tol: float = 1e-6

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CentroidClusterer._parameter_constraints,
        "weight_exponent": [Interval(Real, 1, None, closed="neither")],
        "kept_share": [Interval(Real, 0, 1, closed="right")],
    }

    def _loop(self) -> Solver:
        from manyview._solvers._camvc import solve_camvc

        return self._bind(solve_camvc)
