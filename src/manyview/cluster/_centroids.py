"""What the estimators of the k-means family share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from manyview._sklearn_compat import StrOptions
from manyview._typing import FloatArray, IntArray
from manyview._views import ViewSet
from manyview.cluster._clustering import Clustering, check_count, label_clustering
from manyview.cluster._predictor import PredictingClusterer

if TYPE_CHECKING:
    from manyview._rows import Rows
    from manyview._solvers._weighted import CentroidResult

DRAWN_STARTS: list[Any] = [StrOptions({"random", "k-means++"})]


class CentroidClusterer(PredictingClusterer):
    """A clusterer with one centre per cluster and view."""

    _plain_distances: ClassVar[bool] = True

    n_init: int

    def _clustering(self, views: ViewSet, prepared: Any) -> Clustering:
        check_count(self.labels_, views.n_samples)
        found = (
            (self.membership_, self.outlier_score_)
            if hasattr(self, "membership_")
            else self._assess(self._open_checked(views), self.labels_)
        )
        return self._measured(views, (), self.labels_, *found)

    def _measured(
        self,
        views: ViewSet,
        rows: tuple[Rows, ...],
        assigned: IntArray,
        membership: FloatArray,
        outlier_score: FloatArray,
    ) -> Clustering:
        """Explained through cluster means of all views; membership is the method's."""
        n_clusters = len(self._centers[0])
        return replace(
            label_clustering(views, assigned, self.view_weights_, n_clusters),
            membership=membership,
            outlier_score=outlier_score,
        )

    def _linear_model(self) -> tuple[tuple[FloatArray, ...], FloatArray]:
        return self._centers, self._score_weights

    def _n_restarts(self) -> int:
        return self.n_init

    def _store(self, best: CentroidResult) -> None:
        super()._store(best)
        self.view_weights_ = best.view_weights
        self._score_weights = best.score_weights
