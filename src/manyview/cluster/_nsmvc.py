"""NSMVC as a scikit-learn clusterer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from manyview._numerics._pacing import separation_shares, view_slopes
from manyview._results import NSMVCResult
from manyview._sklearn_compat import Interval, StrOptions, _get_output_config
from manyview._threads import available_threads
from manyview._typing import FloatArray, IntArray
from manyview._views import ViewSet
from manyview.cluster._base import RandomState, RowSet, Solver
from manyview.cluster._centroids import CentroidClusterer
from manyview.cluster._clustering import Clustering, default_names
from manyview.exceptions import ViewError

if TYPE_CHECKING:
    from manyview._solvers._start import Start


@dataclass(eq=False, repr=False, kw_only=True)
class NSMVC(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CentroidClusterer):
    """Non-linear fusion for self-paced multi-view clustering.

    Clusters samples described by several views at once. Every view's loss gets an
    exponent of its own, and samples join from easy to hard.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_init : int, default=10
        Number of restarts. The one that leaves the smallest share of the views'
        scatter unexplained wins; labels play no part in that choice. A start given as
        an array runs once.
    scale : str or None, default="auto"
        How views are made comparable. ``"range"`` divides features by their range and
        centres them; ``"minmax"`` maps features to [0, 1] (the paper's protocol here),
        ``"zscore"`` standardises them, ``"l2"`` gives rows unit length, ``"energy"``
        centres only. ``"auto"`` takes ``"l2"`` for non-negative views that are mostly
        zero (words, counts, links) and ``"range"`` for the rest. Every mode but None
        ends by dividing the view by its Frobenius norm.
    view_sizes : list of int or None, default=None
        Splits one 2-D array into views: features per view, in column order.
    random_state : int, RandomState instance or None, default=None
        Source of the starts.
    verbose : int, default=0
        Above 0, every iteration is reported on stderr.
    pace_start : float in [0, 1], default=0.5
        Where between the smallest and the largest loss the first threshold lies
        (alpha in the paper). With 1 everybody takes part from the first pace on.
    n_paces : int, default=6
        Number of paces until every sample takes part (T in the paper).
    max_iter : int, default=50
        Most iterations within one pace.
    init : str, array of labels or callable, default="k-means++"
        ``"k-means++"`` seeds on the fused, scaled views, of very many samples on a
        random part, and of wide views in their leading directions. The paper's
        "randomly initialise" has two readings: ``"random-labels"`` draws labels, and
        centres are their means; ``"random"`` takes random samples as centres and,
        independently, random labels. A callable gets
        ``(views, n_clusters, random_state)`` and returns labels.
    fusion : {"nonlinear", "linear"}, default="nonlinear"
        ``"linear"`` keeps every exponent at 1, so that the losses of the views are
        added up: what the exponents contribute is the difference.
    assignment : {"sequential", "majorize"}, default="sequential"
        ``"sequential"`` assigns samples one by one, as in the paper. ``"majorize"``
        assigns all at once by a bound on the objective that touches it.
    outlier_threshold : float or None, default=None
        Samples with an ``outlier_score_`` above it get the label -1, noise: they fit
        no cluster. 5 is a cautious choice. None keeps every sample in a cluster.
    n_jobs : int or None, default=None
        Restarts run at the same time. Results do not depend on it.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample; -1 beyond ``outlier_threshold``.
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
        Effective weight of each view, its share in what separates the clusters; they
        add up to 1. It is the slope of the view's loss in the objective times the
        scatter that the clusters explain. A view of noise has the smallest one.
    exponents_ : ndarray of shape (n_views,)
        Exponent of each view at the last pace. It does not tell how much the view
        counts; `view_weights_` does.
    thresholds_ : ndarray of shape (n_views,)
        Largest loss of the last pace per view, in scaled units.
    view_losses_ : ndarray of shape (n_views,)
        Summed loss of each view, in scaled units.
    objective_ : float
        Sum of the view losses, each raised to its exponent.
    unexplained_ : ndarray of shape (n_views,)
        Share of each view's scatter left within clusters; 1 for a constant view.
    joined_pace_ : ndarray of shape (n_views, n_samples)
        Pace at which each sample was first selected; 0 if it lacks the view.
    n_iter_ : int
        Iterations of the chosen restart, over all paces.
    history_ : tuple of IterationRecord
        One record per iteration of the chosen restart; ``stage`` counts the paces.
        Those of NSMVC have the losses, exponents and sample counts of the views, too.
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
    Minimises ``sum_v phi_v ** eta_v``, where ``phi_v`` sums the squared distances of
    the selected samples to their centres in view v and
    ``eta_v = min_u lambda_u / lambda_v``.

    1. Thresholds ``lambda_v`` move from the range of the current losses, samples with
       a loss up to the threshold are selected, exponents follow.
    2. Centres become the means of the selected samples; samples are assigned anew;
       repeat until no label moves.
    3. Go to 1 for the next pace. At the last one every sample takes part.

    Deviations from the paper:

    - A sample counts in ``theta`` (Eq. 16) only where it is selected.
    - Ties, and samples selected in no view, keep their label.
    - A cluster without selected members in a view keeps its centre there.
    - With ``pace_start=1`` all paces run; Algorithm 1 would stop after the first.
    - A view that is fitted perfectly takes exponent 1 and stays out of Eq. (7)'s
      minimum, which would otherwise switch off all other views.
    - Scaling, k-means++ starts and the choice among restarts are additions;
      ``NSMVC(k, init="random-labels", n_init=1, scale="minmax")`` is the paper's
      protocol.

    References
    ----------
    Z. Huang, Y. Ren, X. Pu, L. He. Non-Linear Fusion for Self-Paced Multi-View
    Clustering. ACM Multimedia, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview import NSMVC
    >>> sound = np.array([[0.0, 1.0], [0.1, 1.0], [5.0, 2.0], [5.1, 2.0]])
    >>> light = np.array([[3.0], [3.1], [9.0], [9.2]])
    >>> NSMVC(n_clusters=2, random_state=0).fit_predict([sound, light]).tolist()
    [0, 0, 1, 1]
    """

    pace_start: float = 0.5
    n_paces: int = 6
    max_iter: int = 50
    init: str | Sequence[int] | Callable[..., Any] = "k-means++"
    fusion: str = "nonlinear"
    assignment: str = "sequential"
    outlier_threshold: float | None = None
    n_jobs: int | None = None

    # Seedings of few samples of which a restart takes the best.
    _n_drafts: ClassVar[int] = 1
    # Whether seeds are looked for in the leading directions of wide views.
    _project: ClassVar[bool] = True
    _plain_distances = False
    _kept = (
        *CentroidClusterer._kept,
        *("exponents", "thresholds", "view_losses", "joined_pace"),
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CentroidClusterer._parameter_constraints,
        "init": [
            StrOptions({"k-means++", "random", "random-labels"}),
            "array-like",
            callable,
        ],
        "fusion": [StrOptions({"nonlinear", "linear"})],
        "assignment": [StrOptions({"sequential", "majorize"})],
        "outlier_threshold": [Interval(Real, 0, None, closed="left"), None],
    }

    def transform(self, X: Any) -> Any:
        """Fused distance of samples to each cluster's centre.

        Parameters
        ----------
        X : same forms as in `predict`
            Samples.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Root of the weighted mean, over the views a sample has, of its squared
            distances in scaled units. After ``set_output(transform="pandas")`` a frame
            with the index of the views.
        """
        from manyview._solvers._nearest import fused_scores

        views = self._check_views(X, reset=False)
        rows = self._open_checked(views)
        distances = np.empty((views.n_samples, self._n_features_out))
        for block, scores in fused_scores(rows, self._centers, self._score_weights):
            distances[block] = np.sqrt(scores)
        # scikit-learn makes a frame of it if one is wanted, but sees no index in a
        # list of views.
        wanted = _get_output_config("transform", self)["dense"]
        if views.index is None or wanted != "pandas":
            return distances
        import pandas as pd

        return pd.DataFrame(distances, index=views.index)

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the share of the scatter of X that the clusters leave unexplained.

        Parameters
        ----------
        X : same forms as in `predict`
            Samples.
        y : None
            Ignored.

        Returns
        -------
        score : float
            Between minus the number of views (nothing explained) and 0, on data like
            that of `fit`. Unlike the objective it compares between fits.
        """
        from manyview._solvers._nsmvc import unexplained_shares

        _, rows, labels = self._place(X)
        return -float(unexplained_shares(rows, self._centers, labels).sum())

    @property
    def _n_features_out(self) -> int:
        return self._n_found()

    def _n_restarts(self) -> int:
        drawn = isinstance(self.init, str) or callable(self.init)
        return self.n_init if drawn else 1

    def _loop(self) -> Solver:
        from manyview._solvers._nsmvc import solve_nsmvc

        side_by_side = self._n_restarts() > 1 and effective_n_jobs(self.n_jobs) > 1
        n_threads = 1 if side_by_side else available_threads()
        return self._bind(solve_nsmvc, n_threads=n_threads)

    def _start(self, views: ViewSet, rows: RowSet, random_state: RandomState) -> Start:
        from manyview._solvers import _start

        if isinstance(self.init, str):
            draws: dict[str, _start.DrawStart] = {
                "k-means++": partial(
                    _start.start_kmeans_plusplus,
                    n_drafts=self._n_drafts,
                    project=self._project,
                ),
                "random": _start.start_random,
                "random-labels": _start.start_random_labels,
            }
            return draws[self.init](rows, self.n_clusters, random_state)
        labels: Any = self.init
        if callable(labels):
            labels = labels(list(views.arrays), self.n_clusters, random_state)
        labels = _check_start(labels, views.n_samples, self.n_clusters)
        return _start.start_from_labels(rows, labels, self.n_clusters)

    def _weights(self, best: NSMVCResult) -> tuple[FloatArray, FloatArray]:
        slopes = view_slopes(best.view_losses, best.exponents)
        return separation_shares(slopes, best.scatter, best.unexplained), slopes

    def _measured(
        self,
        views: ViewSet,
        rows: RowSet | None,
        assigned: IntArray,
        membership: FloatArray,
        outlier_score: FloatArray,
        unexplained: FloatArray | None = None,
    ) -> Clustering:
        """Any samples, measured by the centres and weights of the fit."""
        from manyview._solvers._nsmvc import unexplained_shares

        rows = rows or self._open_checked(views)
        if unexplained is None:
            shares = unexplained_shares(rows, self._centers, assigned)
            unexplained = shares[: len(views.names)]
        return Clustering(
            views=views,
            assigned=assigned,
            noise=self._is_noise(outlier_score),
            membership=membership,
            outlier_score=outlier_score,
            names=default_names(self._n_found()),
            groups=np.arange(self._n_found()),
            rows=rows,
            centers=self._centers,
            weights=self._score_weights / self._score_weights.sum(),
            view_weights=self.view_weights_,
            unexplained=unexplained,
        )


def _check_start(init: Any, n_samples: int, n_clusters: int) -> IntArray:
    """Starting labels: one whole number in [0, n_clusters) per sample."""
    labels = np.asarray(init)
    found = np.unique(labels)
    if labels.shape != (n_samples,):
        problem = f"have shape {labels.shape}, expected ({n_samples},): one per sample."
    elif labels.dtype.kind not in "iu":
        problem = (
            f"have dtype {labels.dtype}, expected whole numbers from 0 to "
            f"{n_clusters - 1}. Encode them first, e.g. with numpy.unique."
        )
    elif found[0] < 0 or found[-1] >= n_clusters:
        problem = (
            f"run from {found[0]} to {found[-1]}, expected 0 to {n_clusters - 1} for "
            f"n_clusters={n_clusters}."
        )
    elif len(found) < n_clusters:
        problem = (
            f"use {len(found)} of n_clusters={n_clusters} clusters. Every cluster "
            "needs a first member."
        )
    else:
        # Kernels know the machine's own integers only.
        return labels.astype(np.intp, copy=False)
    msg = f"init labels {problem}"
    raise ViewError(msg)
