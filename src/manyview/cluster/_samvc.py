"""SAMVC as a scikit-learn clusterer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from manyview._sklearn_compat import StrOptions
from manyview.cluster._base import Solver
from manyview.cluster._centroids import CentroidClusterer


@dataclass(eq=False, repr=False, kw_only=True)
class SAMVC(CentroidClusterer):
    """Self-paced and auto-weighted multi-view clustering.

    K-means with plain distances on all views. Samples count more the better they fit,
    with a tolerance that grows from pace to pace, and views are weighted by how well
    they are fitted as a whole, without a parameter.

    Parameters
    ----------
    n_clusters, n_init, scale, view_sizes, random_state, verbose
        As in `NSMVC`.
    pace_start : float in [0, 1], default=0.6
        Share of the samples within the first threshold; within the last are all.
    n_paces : int, default=5
        Number of paces.
    pacing : {"mixture", "hard"}, default="mixture"
        ``"mixture"`` lets the weight of a sample fall from 1 to 0 between a third of
        the threshold and the threshold. ``"hard"`` knows 1 and 0 only.
    init : {"random", "k-means++"}, default="k-means++"
        Labels drawn uniformly, as published, or seeds on the fused, scaled views. From
        random labels a cluster easily settles on different groups in different views.
    max_iter : int, default=30
        Most iterations within one pace.

    Attributes
    ----------
    view_weights_ : ndarray of shape (n_views,)
        Weight of each view, ``1 / (2 sqrt(sum_i t_vi e_vi))``, made to add up to 1.
    objective_ : float
        Summed roots of the views' paced distances, at the last pace.
    labels_, membership_, outlier_score_, cluster_centers_, unexplained_, n_iter_, \
history_, scales_, view_names_, n_features_in_, feature_names_in_
        As in `NSMVC`.

    Notes
    -----
    Lowers ``sum_v sqrt(sum_i t_vi e_vi)``, where ``e_vi`` is the distance of sample i
    to its centre in view v and ``t_vi`` its self-paced weight.

    That is 1 up to a third of the pace's threshold ``lambda_v``, 0 from the threshold
    on, and ``lambda_v / (2 e_vi) - 1 / 2`` between. With the view weights ``a_v`` and
    sample weights ``a_v t_vi / (2 e_vi)``, centres become weighted means and samples go
    to the cluster of least weighted squared distance. For given ``t`` an iteration
    never raises the objective; ``t`` itself is refreshed in every iteration, so the
    values in ``history_`` may rise.

    Reconstruction: no code of the authors is public. The root over views, the shape of
    the soft weights (taken from a related method of the same group) and the schedule
    are our reading. Distances below 1e-8 of a view's spread count as that much; a
    constant view gets no weight.

    References
    ----------
    Y. Ren, S. Huang, P. Zhao, M. Han, Z. Xu. Self-paced and auto-weighted multi-view
    clustering. Neurocomputing 383, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.cluster import SAMVC
    >>> sound = np.array([[0.0, 1.0], [0.1, 1.0], [5.0, 2.0], [5.1, 2.0]])
    >>> light = np.array([[3.0], [3.1], [9.0], [9.2]])
    >>> SAMVC(n_clusters=2, random_state=0).fit_predict([sound, light]).tolist()
    [0, 0, 1, 1]
    """

    pace_start: float = 0.6
    n_paces: int = 5
    pacing: str = "mixture"
    init: str = "k-means++"
    max_iter: int = 30

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CentroidClusterer._parameter_constraints,
        "pacing": [StrOptions({"mixture", "hard"})],
    }

    def _loop(self) -> Solver:
        from manyview._solvers._samvc import solve_samvc

        return self._bind(solve_samvc)
