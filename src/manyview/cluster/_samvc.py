"""SAMVC as a scikit-learn clusterer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from manyview._results import OnIteration
from manyview._sklearn_compat import StrOptions
from manyview.cluster._centroids import CentroidClusterer

if TYPE_CHECKING:
    from manyview._rows import Rows
    from manyview._solvers._weighted import CentroidResult


class SAMVC(CentroidClusterer):
    """Self-paced and auto-weighted multi-view clustering.

    K-means with plain distances on all views. Samples count more the better they fit,
    with a tolerance that grows from pace to pace, and views are weighted by how well
    they are fitted as a whole, without a parameter.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    pace_start : float in [0, 1], default=0.6
        Share of the samples within the first threshold; within the last are all.
    n_paces : int, default=5
        Number of paces.
    pacing : {"mixture", "hard"}, default="mixture"
        ``"mixture"`` lets the weight of a sample fall from 1 to 0 between a third of
        the threshold and the threshold. ``"hard"`` knows 1 and 0 only.
    init : {"random", "k-means++"}, default="k-means++"
        ``"k-means++"`` seeds on the fused, scaled views. ``"random"`` draws labels
        uniformly, as published; see the Notes for what that does here.
    max_iter : int, default=30
        Most iterations within one pace.
    n_init : int, default=10
        Number of restarts. The one that leaves the smallest share of the views'
        scatter unexplained wins; labels play no part in that choice.
    scale : str or None, default="auto"
        How views are made comparable, as in `NSMVC`.
    view_sizes : list of int or None, default=None
        Splits one 2-D array into views: features per view, in column order.
    random_state : int, RandomState instance or None, default=None
        Source of the starts.
    verbose : int, default=0
        Above 0, every iteration is reported on stderr.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample, by the same score as in `predict`.
    membership_ : ndarray of shape (n_samples, n_clusters)
        Soft membership, largest at the label; see `predict_proba`. Not kept, like
        ``outlier_score_``, for more than 4 million samples times clusters.
    outlier_score_ : ndarray of shape (n_samples,)
        Mean over a sample's views of its distance to the own centre, less that of a
        typical member, in robust standard deviations.
    cluster_centers_ : list of ndarray of shape (n_clusters, n_features_v)
        Centres per view, in the view's own units (with ``"l2"`` scaling, means of
        unit-length rows).
    view_weights_ : ndarray of shape (n_views,)
        Weight of each view, ``1 / (2 sqrt(sum_i t_vi e_vi))``, made to add up to 1.
    unexplained_ : ndarray of shape (n_views,)
        Share of each view's scatter left within clusters; 1 for a constant view.
    objective_ : float
        Summed roots of the views' paced distances, at the last pace.
    n_iter_ : int
        Iterations of the chosen restart, over all paces.
    history_ : tuple of IterationRecord
        One record per iteration of the chosen restart; ``stage`` counts paces.
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
    Lowers ``sum_v sqrt(sum_i t_vi e_vi)``, where ``e_vi`` is the distance of sample i
    to its centre in view v and ``t_vi`` its self-paced weight.

    1. First labels (published: at random), centres their means.
    2. Threshold ``lambda_v``: the distance up to which a share of the samples lies in
       view v; at the last pace always a little above the largest.
    3. ``t = 1`` up to ``lambda / 3``, 0 from ``lambda`` on, ``lambda / 2e - 1 / 2``
       between; view weights ``a_v = 1 / (2 sqrt(sum_i t_vi e_vi))``; with sample
       weights ``a_v t_vi / (2 e_vi)`` centres become weighted means and samples go to
       the cluster of least weighted squared distance; repeat until no label moves.
    4. Go to 2 with the next share.

    From random labels a cluster easily settles on different groups in different
    views: a sample that fits well in one view counts little in the views where it
    does not, so nothing pulls it away. Starting from k-means++ avoids that.

    For given ``t`` an iteration never raises the objective; ``t`` itself is refreshed
    in every iteration, so the values in ``history_`` may rise.

    Reconstruction: no code of the authors is public. Known are the plain distance,
    soft weights per sample and view, and view weights in closed form; the root over
    views, the shape of the soft weights (taken from a related method of the same
    group) and the schedule are our reading. Distances below 1e-8 of a view's spread
    count as that much; a constant view gets no weight.

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
    >>> labels = SAMVC(n_clusters=2, random_state=0).fit_predict([sound, light])
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CentroidClusterer._parameter_constraints,
        "pacing": [StrOptions({"mixture", "hard"})],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        pace_start: float = 0.6,
        n_paces: int = 5,
        pacing: str = "mixture",
        init: str = "k-means++",
        max_iter: int = 30,
        n_init: int = 10,
        scale: str | None = "auto",
        view_sizes: Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.pace_start = pace_start
        self.n_paces = n_paces
        self.pacing = pacing
        self.init = init
        self.max_iter = max_iter
        self.n_init = n_init
        self.scale = scale
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _solve(
        self,
        prepared: tuple[Rows, ...],
        random_state: np.random.RandomState,
        on_iteration: OnIteration | None,
    ) -> CentroidResult:
        from manyview._solvers._samvc import solve_samvc

        return solve_samvc(
            prepared,
            self._start(prepared, random_state),
            pace_start=self.pace_start,
            n_paces=self.n_paces,
            max_iter=self.max_iter,
            pacing=self.pacing,
            on_iteration=on_iteration,
        )
