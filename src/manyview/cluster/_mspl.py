"""MSPL as a scikit-learn clusterer."""

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


class MSPL(CentroidClusterer):
    """Multi-view self-paced learning for clustering.

    K-means on all views in which every sample has a soft weight in every view, near 1
    where it fits and falling with its loss. The tolerance grows from pace to pace.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    pace_start : float in [0, 1], default=0.5
        Quantile of the losses that serves as first threshold; the last is always 1.
    n_paces : int, default=6
        Number of paces.
    loss_unit : {"literal", "median"}, default="literal"
        ``"literal"`` uses the losses as they are. ``"median"`` divides them by the
        median of their view at the start of each pace, which makes the method
        independent of the units of a view.
    init : {"random", "k-means++"}, default="random"
        ``"random"`` draws labels uniformly, as published. ``"k-means++"`` seeds on
        the fused, scaled views.
    max_iter : int, default=20
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
        Mean weight of the samples in each view, per unit of its loss, made to add up
        to 1.
    unexplained_ : ndarray of shape (n_views,)
        Share of each view's scatter left within clusters; 1 for a constant view.
    objective_ : float
        Weighted losses plus the self-paced term, at the last pace.
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
    Minimises ``sum_v sum_i t_vi l_vi + f(t_vi; lambda_v)`` with squared distances
    ``l_vi`` and, for ``A = 1 + exp(-lambda)``,
    ``f(t) = (A - t) ln(A - t) + t ln t - lambda t``.

    1. Labels at random, centres their means.
    2. Thresholds ``lambda_v`` are a quantile of the losses of view v.
    3. Weights ``t = (1 + exp(-lambda)) / (1 + exp(l - lambda))``; centres become
       weighted means, samples go to the cluster of least weighted squared distance;
       repeat until no label moves.
    4. Go to 2 with the next quantile; the last one is the largest loss.

    Within a pace the objective never rises; between paces it does not compare.

    Reconstruction: no code of the authors is public. The weights are the smoothed
    scheme the paper describes; the quantiles, the number of paces and the absence of
    a further weight per view are our reading. The logistic has unit slope: losses far
    above 1 make it a hard threshold, and losses far below 1, such as those of scaled
    views, leave all weights near 1, so that ``loss_unit="literal"`` then comes close
    to plain k-means. A constant view gets no weight.

    References
    ----------
    C. Xu, D. Tao, C. Xu. Multi-View Self-Paced Learning for Clustering. IJCAI, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.cluster import MSPL
    >>> sound = np.array([[0.0, 1.0], [0.1, 1.0], [5.0, 2.0], [5.1, 2.0]])
    >>> light = np.array([[3.0], [3.1], [9.0], [9.2]])
    >>> labels = MSPL(n_clusters=2, random_state=0).fit_predict([sound, light])
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CentroidClusterer._parameter_constraints,
        "loss_unit": [StrOptions({"literal", "median"})],
    }
    _plain_distances = False

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        pace_start: float = 0.5,
        n_paces: int = 6,
        loss_unit: str = "literal",
        init: str = "random",
        max_iter: int = 20,
        n_init: int = 10,
        scale: str | None = "auto",
        view_sizes: Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.pace_start = pace_start
        self.n_paces = n_paces
        self.loss_unit = loss_unit
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
        from manyview._solvers._mspl import solve_mspl

        return solve_mspl(
            prepared,
            self._start(prepared, random_state),
            pace_start=self.pace_start,
            n_paces=self.n_paces,
            max_iter=self.max_iter,
            loss_unit=self.loss_unit,
            on_iteration=on_iteration,
        )
