"""What the estimators of the k-means family share."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

from manyview._scaling import SCALES
from manyview._sklearn_compat import Interval, StrOptions
from manyview._typing import IntArray
from manyview._view_input import scaled_rows
from manyview._views import ViewSet
from manyview.cluster._base import BaseMultiViewClusterer

if TYPE_CHECKING:
    from manyview._rows import Rows
    from manyview._solvers._weighted import CentroidResult

SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "n_clusters": [Interval(Integral, 1, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "n_init": [Interval(Integral, 1, None, closed="left")],
    "scale": [StrOptions(set(SCALES)), None],
    "view_sizes": ["array-like", None],
    "random_state": ["random_state"],
    "verbose": [Interval(Integral, 0, None, closed="left"), "boolean"],
}
INIT_CONSTRAINT: list[Any] = [StrOptions({"random", "k-means++"})]


class CentroidClusterer(BaseMultiViewClusterer):
    """A clusterer with one centre per cluster and view."""

    # Whether the method's objective adds up plain distances rather than squared ones.
    _plain_distances: ClassVar[bool] = True

    n_init: int
    scale: str | None

    def predict(self, X: Any) -> IntArray:
        """Cluster of new samples: the nearest centres by the fitted view weights.

        Parameters
        ----------
        X : same forms as in `fit`
            New samples. A view may be None, or left out of a dict, if no sample has it.
            Columns with names may come in any order.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each sample.
        """
        views = self._check_views(X, reset=False)
        from manyview._rows import open_views
        from manyview._solvers._nearest import nearest_by_distance, nearest_clusters

        nearest = nearest_by_distance if self._plain_distances else nearest_clusters
        rows = open_views(self._used(views), self.scales_)
        return nearest(rows, self._centers, self._score_weights)

    def _n_restarts(self) -> int:
        return self.n_init

    def _crowds_blas(self) -> bool:
        # Blocks of rows are small: in their products, more than one BLAS thread
        # spends longer waiting for the others than working.
        return True

    def _prepare(self, views: ViewSet) -> tuple[Rows, ...]:
        self.scales_, rows = scaled_rows(self._used(views), self.scale)
        return rows

    def _store(self, best: CentroidResult) -> None:
        self.labels_ = best.labels
        self._centers = best.centers
        self.cluster_centers_ = [
            scale.to_user_units(centers)
            for scale, centers in zip(self.scales_, best.centers, strict=True)
        ]
        self.view_weights_ = best.view_weights
        self._score_weights = best.score_weights
        self.unexplained_ = best.unexplained
        self.objective_ = best.objective
        self.n_iter_ = best.n_iter
        self.history_ = best.history
