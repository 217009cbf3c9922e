"""What the estimators of the k-means family share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from manyview._sklearn_compat import StrOptions
from manyview._typing import IntArray
from manyview.cluster._base import BaseMultiViewClusterer

if TYPE_CHECKING:
    from manyview._solvers._weighted import CentroidResult

DRAWN_STARTS: list[Any] = [StrOptions({"random", "k-means++"})]


class CentroidClusterer(BaseMultiViewClusterer):
    """A clusterer with one centre per cluster and view."""

    # Whether the method's objective adds up plain distances rather than squared ones.
    _plain_distances: ClassVar[bool] = True

    n_init: int

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
        from manyview._rows import open_views
        from manyview._solvers._nearest import nearest_by_distance, nearest_clusters

        views = self._check_views(X, reset=False)
        nearest = nearest_by_distance if self._plain_distances else nearest_clusters
        rows = open_views(self._used(views), self.scales_)
        return nearest(rows, self._centers, self._score_weights)

    def _n_restarts(self) -> int:
        return self.n_init

    def _crowds_blas(self) -> bool:
        # Blocks of rows are small: in their products, more than one BLAS thread
        # spends longer waiting for the others than working.
        return True

    def _store(self, best: CentroidResult) -> None:
        super()._store(best)
        self._centers = best.centers
        self.cluster_centers_ = [
            scale.to_user_units(centers)
            for scale, centers in zip(self.scales_, best.centers, strict=True)
        ]
        self.view_weights_ = best.view_weights
        self._score_weights = best.score_weights
        self.unexplained_ = best.unexplained
        self.objective_ = best.objective
