"""MSPL as a scikit-learn clusterer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from manyview._sklearn_compat import StrOptions
from manyview.cluster._base import Solver
from manyview.cluster._centroids import CentroidClusterer


@dataclass(eq=False, repr=False, kw_only=True)
class MSPL(CentroidClusterer):
    """Multi-view self-paced learning for clustering.

    K-means on all views in which every sample has a soft weight in every view, near 1
    where it fits and falling with its loss. The tolerance grows from pace to pace.

    Parameters
    ----------
    n_clusters, n_init, scale, view_sizes, random_state, verbose
        As in `NSMVC`.
    pace_start : float in [0, 1], default=0.5
        Quantile of the losses that serves as first threshold; the last is always 1.
    n_paces : int, default=6
        Number of paces.
    loss_unit : {"literal", "median"}, default="literal"
        The losses as they are, or divided by the median of their view at the start of
        each pace, which makes the method independent of the units of a view.
    init : {"random", "k-means++"}, default="random"
        Labels drawn uniformly, as published, or seeds on the fused, scaled views.
    max_iter : int, default=20
        Most iterations within one pace.

    Attributes
    ----------
    view_weights_ : ndarray of shape (n_views,)
        Mean weight of the samples in each view, per unit of its loss, made to add up
        to 1.
    objective_ : float
        Weighted losses plus the self-paced term, at the last pace.
    labels_, membership_, outlier_score_, cluster_centers_, unexplained_, n_iter_, \
history_, scales_, view_names_, n_features_in_, feature_names_in_
        As in `NSMVC`.

    Notes
    -----
    Minimises ``sum_v sum_i t_vi l_vi + f(t_vi; lambda_v)`` with squared distances
    ``l_vi`` and, for ``A = 1 + exp(-lambda)``,
    ``f(t) = (A - t) ln(A - t) + t ln t - lambda t``.

    1. Thresholds ``lambda_v`` are a quantile of the losses of view v; at the last pace
       the largest loss.
    2. Weights ``t = (1 + exp(-lambda)) / (1 + exp(l - lambda))``; centres become
       weighted means, samples go to the cluster of least weighted squared distance;
       repeat until no label moves. Go to 1 with the next quantile.

    Within a pace the objective never rises; between paces it does not compare.

    Reconstruction: no code of the authors is public. The quantiles, the number of paces
    and the absence of a further weight per view are our reading. The logistic has unit
    slope: losses far above 1 make it a hard threshold, and losses far below 1, such as
    those of scaled views, bring ``loss_unit="literal"`` close to plain k-means. A
    constant view gets no weight.

    References
    ----------
    C. Xu, D. Tao, C. Xu. Multi-View Self-Paced Learning for Clustering. IJCAI, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.cluster import MSPL
    >>> sound = np.array([[0.0, 1.0], [0.1, 1.0], [5.0, 2.0], [5.1, 2.0]])
    >>> light = np.array([[3.0], [3.1], [9.0], [9.2]])
    >>> MSPL(n_clusters=2, random_state=0).fit_predict([sound, light]).tolist()
    [0, 0, 1, 1]
    """

    pace_start: float = 0.5
    n_paces: int = 6
    loss_unit: str = "literal"
    init: str = "random"
    max_iter: int = 20

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CentroidClusterer._parameter_constraints,
        "loss_unit": [StrOptions({"literal", "median"})],
    }
    _plain_distances = False

    def _loop(self) -> Solver:
        from manyview._solvers._mspl import solve_mspl

        return self._bind(solve_mspl)
