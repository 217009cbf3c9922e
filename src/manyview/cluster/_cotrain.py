"""Co-trained spectral clustering as a scikit-learn clusterer."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

from manyview._sklearn_compat import Interval, StrOptions
from manyview._views import ViewSet
from manyview.cluster._base import RowSet, Solver
from manyview.cluster._pairs import PairwiseClusterer
from manyview.exceptions import ViewError


@dataclass(eq=False, repr=False, kw_only=True)
class CoTrain(PairwiseClusterer):
    """Co-trained spectral clustering.

    Filters the similarities of each view through the leading eigenvectors of the other
    views, round by round, so that the views come to agree on the clusters.

    Parameters
    ----------
    n_clusters, n_init, scale, view_sizes, random_state, verbose
        As in `AMGL`.
    subspace_ratio : float >= 1, default=1.5
        Eigenvectors a view is filtered through, per other view, as a multiple of
        ``n_clusters``.
    n_rounds : int, default=5
        Number of rounds. It is the stopping rule: the rounds need not converge.
    output : "concat" or int, default="concat"
        Embedding that gives ``labels_``: those of all views side by side, or that of
        one view, by its index.
    n_local_trials, n_anchors
        As in `CoReg`.

    Attributes
    ----------
    view_labels_ : ndarray of shape (n_views, n_samples)
        Clusters found in each view's own embedding. Numbering differs between views.
    embedding_ : ndarray of shape (n_samples, n_components)
        The rows that were clustered: ``n_clusters`` columns per view in use.
    history_ : tuple of IterationRecord
        A record of each round; the objective is NaN, as there is none.
    labels_, n_iter_, n_anchors_, scales_, view_names_, n_features_in_, \
feature_names_in_
        As in `CoReg`.

    Notes
    -----
    There is no global objective. With Gaussian kernels ``K_v`` (bandwidth: median of
    all distances), ``r = ceil(subspace_ratio * n_clusters)``, and ``NORM`` dividing an
    affinity by the roots of its absolute row sums on both sides:

    1. ``U_v``: the r leading eigenvectors of ``NORM(K_v)``.
    2. In every round, for all views from the ``U`` of the round before:
       ``S_v = sym(K_v * sum_{u != v} U_u U_u')`` and ``U_v`` the r leading
       eigenvectors of ``NORM(S_v)``.
    3. k-means on the first ``n_clusters`` columns of the ``U_v``, rows set to unit
       length.

    Deviations from the paper:

    - The authors' script clusters every view after every round and reports the best
      score against the true labels. Here one labelling comes out, without labels; the
      concatenation is the choice when no view is preferred.
    - With one view this is spectral clustering.
    - Bandwidths, anchors and constant views as in `CoReg`; in ``view_labels_`` a
      constant view has a single cluster.

    References
    ----------
    A. Kumar, H. Daume III. A Co-training Approach for Multi-view Spectral Clustering.
    ICML, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.cluster import CoTrain
    >>> sound = np.array([[0.0, 1.0], [0.1, 1.0], [5.0, 2.0], [5.1, 2.0]])
    >>> light = np.array([[3.0], [3.1], [9.0], [9.2]])
    >>> CoTrain(n_clusters=2, random_state=0).fit_predict([sound, light]).tolist()
    [0, 0, 1, 1]
    """

    subspace_ratio: float = 1.5
    n_rounds: int = 5
    output: str | int = "concat"
    n_local_trials: int | None = None
    n_anchors: str | int = "auto"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PairwiseClusterer._parameter_constraints,
        "subspace_ratio": [Interval(Real, 1, None, closed="left")],
        "output": [StrOptions({"concat"}), Interval(Integral, 0, None, closed="left")],
    }
    _kept = (*PairwiseClusterer._kept, "embedding", "view_labels")

    def _solver(self, views: ViewSet, rows: RowSet) -> Solver:
        from manyview._solvers._cotrain import solve_cotrain

        if not isinstance(self.output, str) and self.output >= len(rows):
            msg = (
                f"output={self.output} is not the index of a view: there are "
                f"{len(rows)}, counted from 0. Use a smaller index or 'concat'."
            )
            raise ViewError(msg)
        anchors = self._draw_anchors(views.n_samples)
        return self._bind(solve_cotrain, rows, self.n_clusters, anchors=anchors)
