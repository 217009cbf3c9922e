"""Co-regularised spectral clustering as a scikit-learn clusterer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from manyview._sklearn_compat import Interval
from manyview._typing import FloatArray
from manyview._views import ViewSet
from manyview.cluster._base import RowSet, Solver
from manyview.cluster._pairs import PairwiseClusterer
from manyview.exceptions import ViewError


@dataclass(eq=False, repr=False, kw_only=True)
class CoReg(PairwiseClusterer):
    """Centroid-based co-regularised spectral clustering.

    Draws the spectral embeddings of all views towards a shared one, which is then
    clustered.

    Parameters
    ----------
    n_clusters, n_init, scale, view_sizes, random_state, verbose
        As in `AMGL`.
    coupling : float or array-like of shape (n_views,), default=0.5
        How strongly each view is drawn to the shared embedding (lambda in the paper);
        one value for all views or one per view, all positive.
    n_rounds : int, default=5
        Number of rounds.
    n_local_trials
        As in `ConcatKMeans`.
    n_anchors : int or "auto", default="auto"
        Samples that all others are compared with in every view. If there are no more
        samples than this, all pairs are compared; of more, this many are drawn, and
        similarities follow from those to the drawn ones. ``"auto"`` compares all pairs
        of up to 5,000 samples and draws 500 of more, at least two per cluster.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_clusters)
        The rows that were clustered: the shared eigenvectors, rows of unit length.
    objective_ : float
        Value of the problem below, which is maximised. It never falls over the rounds.
    n_anchors_ : int
        Samples that all were compared with: ``n_samples`` if all pairs were.
    labels_, n_iter_, history_, scales_, view_names_, n_features_in_, feature_names_in_
        As in `NSMVC`.

    Notes
    -----
    Maximises ``sum_v tr(U_v' L_v U_v) + sum_v lambda_v tr(U_v U_v' U* U*')`` over
    matrices with ``n_clusters`` orthonormal columns, where ``L_v`` is the normalised
    Gaussian affinity of view v (bandwidth: median of all distances).

    The rounds alternate between ``U*``, the leading left singular vectors of
    ``[sqrt(lambda_v) U_v]`` side by side, and ``U_v``, the leading eigenvectors of
    ``L_v + lambda_v U* U*'``. k-means on the rows of the last ``U*``, set to unit
    length, gives the labels.

    With anchors the kernel is ``K_v = C_v W_v^+ C_v'`` (Nystrom's method), where
    ``C_v`` are the similarities of all samples to the anchors and ``W_v`` those among
    the anchors. The bandwidth is the median distance of the anchors.

    Deviations from the paper:

    - Rounds and coupling are the defaults of the authors' demo; their README warns
      that results depend on the coupling.
    - Anchors, by default above 5,000 samples, are not in the paper.
    - A constant view is left out.
    - Where more than half of the distances in a view are zero, the bandwidth is the
      mean of the positive ones.

    References
    ----------
    A. Kumar, P. Rai, H. Daume III. Co-regularized Multi-view Spectral Clustering.
    NIPS, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.cluster import CoReg
    >>> sound = np.array([[0.0, 1.0], [0.1, 1.0], [5.0, 2.0], [5.1, 2.0]])
    >>> light = np.array([[3.0], [3.1], [9.0], [9.2]])
    >>> CoReg(n_clusters=2, random_state=0).fit_predict([sound, light]).tolist()
    [0, 0, 1, 1]
    """

    coupling: float | Sequence[float] = 0.5
    n_rounds: int = 5
    n_local_trials: int | None = None
    n_anchors: str | int = "auto"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PairwiseClusterer._parameter_constraints,
        "coupling": [Interval(Real, 0, None, closed="neither"), "array-like"],
    }
    _kept = (*PairwiseClusterer._kept, "embedding", "objective")

    def _solver(self, views: ViewSet, rows: RowSet) -> Solver:
        from manyview._solvers._coreg import solve_coreg

        coupling = _per_view(self.coupling, len(rows))
        anchors = self._draw_anchors(views.n_samples)
        arguments = (rows, self.n_clusters)
        return self._bind(solve_coreg, *arguments, coupling=coupling, anchors=anchors)


def _per_view(coupling: float | Sequence[float], n_views: int) -> FloatArray:
    """(n_views,), the coupling of each view."""
    values = np.asarray(coupling)
    fits = values.shape in ((), (n_views,)) and values.dtype.kind in "iuf"
    if not fits or not (np.isfinite(values) & (values > 0)).all():
        msg = (
            f"coupling={coupling!r} should be one number, or one per view, of which "
            f"there are {n_views}, positive and finite throughout. Leave out a view "
            "that is not to take part."
        )
        raise ViewError(msg)
    return np.full(n_views, values, dtype=np.float64)
