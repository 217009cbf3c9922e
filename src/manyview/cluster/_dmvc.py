"""DMVC as a scikit-learn clusterer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

from manyview._views import ViewSet
from manyview.cluster._base import RandomState, RowSet, Solver
from manyview.cluster._centroids import CentroidClusterer
from manyview.exceptions import ViewError

if TYPE_CHECKING:
    from manyview._solvers._dmvc import LayeredStart


@dataclass(eq=False, repr=False, kw_only=True)
class DMVC(CentroidClusterer):
    """Auto-weighted multi-view clustering via deep matrix decomposition.

    Writes every view as a product of several factors and one membership matrix that
    all views share, with plain distances and one weight per view that needs no
    parameter.

    Parameters
    ----------
    n_clusters, n_init, scale, view_sizes, random_state, verbose
        As in `NSMVC`.
    layers : tuple of int, default=(100, 50)
        Widths of the layers before the last, which has one column per cluster. Layers
        are never wider than there are samples. An empty tuple leaves one factor.
    max_iter : int, default=50
        Most iterations of one restart.
    tol : float, default=1e-07
        Relative change of the objective at which a restart stops.

    Attributes
    ----------
    view_weights_ : ndarray of shape (n_views,)
        Weight of each view, ``1 / (2 sqrt(sum_i e_vi))``, made to add up to 1.
    objective_ : float
        Summed roots of the views' distances.
    labels_, membership_, outlier_score_, cluster_centers_, unexplained_, n_iter_, \
history_, scales_, view_names_, n_features_in_, feature_names_in_
        As in `NSMVC`.

    Notes
    -----
    Minimises ``sum_v sqrt(sum_i e_vi)``, where ``e_vi = ||x_vi - Q_v[:, z(i)]||`` and
    the centres ``Q_v = Z_v1 Z_v2 ... Z_vr`` are a product of factors.

    In turn, each factor is refitted by weighted least squares, the others fixed,
    samples go to the cluster of least weighted squared distance, and view weights
    ``a_v = 1 / (2 sqrt(sum_i e_vi))`` and sample weights ``a_v / (2 e_vi)`` follow. If
    no layer is narrower than the number of clusters, the product can be any matrix,
    and centres are weighted means: depth then shapes the start alone.

    Deviations from the authors' code:

    - Weights follow from the new memberships; the code's are one step old, and its
      objective is therefore not monotone.
    - Of several least-squares solutions for a wide layer the one nearest to its
      present value is taken.
    - The code's k-means start is not public. Here each view starts from k-means on its
      rows, whose clusters are merged at random, balanced by size, layer by layer.
    - At the end every sample goes to the nearest centres by the view weights, as new
      samples do.
    - Distances below 1e-8 of a view's spread count as that much; a constant view gets
      no weight; an empty cluster keeps its centre.

    References
    ----------
    S. Huang, Z. Kang, Z. Xu. Auto-weighted multi-view clustering via deep matrix
    decomposition. Pattern Recognition 97, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.cluster import DMVC
    >>> sound = np.array([[0.0, 1.0], [0.1, 1.0], [5.0, 2.0], [5.1, 2.0]])
    >>> light = np.array([[3.0], [3.1], [9.0], [9.2]])
    >>> DMVC(n_clusters=2, random_state=0).fit_predict([sound, light]).tolist()
    [0, 0, 1, 1]
    """

    layers: Sequence[int] = (100, 50)
    max_iter: int = 50
    tol: float = 1e-7

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CentroidClusterer._parameter_constraints,
        "layers": [list, tuple],
    }

    def _loop(self) -> Solver:
        from manyview._solvers._dmvc import solve_dmvc

        return self._bind(solve_dmvc)

    def _start(
        self, views: ViewSet, rows: RowSet, random_state: RandomState
    ) -> tuple[LayeredStart, ...]:
        from manyview._solvers._dmvc import start_layers

        if not all(isinstance(width, Integral) and width > 0 for width in self.layers):
            msg = (
                f"layers={self.layers!r} must be positive whole numbers: the widths of "
                "the layers before the last."
            )
            raise ViewError(msg)
        widths = (*map(int, self.layers), self.n_clusters)
        return tuple(start_layers(view, widths, random_state) for view in rows)
