"""What the estimators share that have a centre per cluster, and place new samples."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from manyview._results import OnIteration, SolverResult
from manyview._scaling import ViewScale
from manyview._sklearn_compat import StrOptions
from manyview._typing import BoolArray, FloatArray, IntArray
from manyview._views import ViewSet, row_blocks
from manyview.cluster._base import BaseMultiViewClusterer, RandomState, RowSet, Solver
from manyview.cluster._clustering import Clustering, check_count, label_clustering
from manyview.cluster._membership import Measured, Spread, measure
from manyview.exceptions import ViewError

# Membership of more samples times clusters (32 MiB) is not kept: `predict_proba` gives
# it. The spread is then that of so many samples.
KEPT_ENTRIES = 1 << 22
SPREAD_SAMPLES = 20_000


class CentroidClusterer(BaseMultiViewClusterer):
    """A clusterer whose labels are the nearest centres by a fused distance."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseMultiViewClusterer._parameter_constraints,
        "init": [StrOptions({"random", "k-means++"})],
    }
    # Whether distances are added up rather than squared distances.
    _plain_distances: ClassVar[bool] = True
    # See `Measured`.
    _spread_about_mean: ClassVar[bool] = True
    # Blocks of rows are small: in their products, more than one BLAS thread spends
    # longer waiting for the others than working.
    _small_products = True

    _kept = (*BaseMultiViewClusterer._kept, "objective", "unexplained")
    _private_fitted: ClassVar[frozenset[str]] = (
        BaseMultiViewClusterer._private_fitted
        | {"_centers", "_score_weights", "_spread"}
    )

    init: Any
    # A parameter of some; None keeps every sample in its nearest cluster.
    outlier_threshold: float | None = None
    membership_: FloatArray
    outlier_score_: FloatArray
    unexplained_: FloatArray
    scales_: tuple[ViewScale, ...]
    _spread: Spread

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
            Cluster of each sample, or -1 beyond ``outlier_threshold``.
        """
        _, rows, labels = self._place(X)
        if self.outlier_threshold is not None:
            labels[self._is_noise(self._assess(rows, labels)[1])] = -1
        return labels

    def predict_proba(self, X: Any) -> FloatArray:
        """Soft membership of samples in the clusters.

        A softmax of the fused distances, whose temperature is the spread of the
        distances of the fit's samples to their own centres. No labels are involved.

        Parameters
        ----------
        X : same forms as in `predict`
            Samples.

        Returns
        -------
        membership : ndarray of shape (n_samples, n_clusters)
            Rows add up to 1; the largest entry is at the cluster of `predict`, or at
            the nearest cluster of a sample beyond ``outlier_threshold``.
        """
        _, rows, labels = self._place(X)
        return self._assess(rows, labels)[0]

    def learn_spread(self, X: Any) -> Self:
        """Learn from samples how far members lie from their centres.

        `fit` does this by itself. It is for models that were fitted on a Dask cluster,
        or stored by a version without membership.

        Parameters
        ----------
        X : same forms as in `predict`
            Samples of the fit, or many like them.

        Returns
        -------
        self : object
            The estimator, which has `predict_proba` now.
        """
        _, rows, labels = self._place(X)
        self._spread = self._measure(rows, labels).spread()
        return self

    def assign(self, X: Any) -> Clustering:
        """New samples together with the clusters that `predict` gives them.

        Parameters
        ----------
        X : same forms as in `predict`
            New samples.

        Returns
        -------
        clustering : Clustering
            What explanations, maps and reports are made from.
        """
        views, rows, labels = self._place(X)
        found = self._assess(rows, labels)
        return self._named(self._measured(views, rows, labels, *found))

    def _n_restarts(self) -> int:
        return self.n_init

    def _solver(self, views: ViewSet, rows: RowSet) -> Solver:
        loop = self._loop()

        def solve(
            *, random_state: RandomState, on_iteration: OnIteration | None
        ) -> SolverResult:
            start = self._start(views, rows, random_state)
            return loop(rows, start, on_iteration=on_iteration)

        return solve

    def _loop(self) -> Solver:
        """The method's loop, called with rows, their start and `on_iteration`."""
        raise NotImplementedError

    def _start(self, views: ViewSet, rows: RowSet, random_state: RandomState) -> Any:
        """Where a restart begins, by default by the `init` parameter."""
        from manyview._solvers import _start

        drawn = self.init == "random"
        draw = _start.start_random_labels if drawn else _start.start_kmeans_plusplus
        return draw(rows, self.n_clusters, random_state)

    def _store(self, best: Any) -> None:
        super()._store(best)
        self._centers: tuple[FloatArray, ...] = best.centers
        self.cluster_centers_ = [
            scale.to_user_units(centers)
            for scale, centers in zip(self._center_scales(), best.centers, strict=True)
        ]
        self.view_weights_, self._score_weights = self._weights(best)

    def _weights(self, best: Any) -> tuple[FloatArray, FloatArray]:
        """Weights of the views, and of the spaces in the fused distance."""
        return best.view_weights, best.score_weights

    def _assess_fit(self, rows: RowSet) -> None:
        labels = self.labels_
        if len(labels) * self._n_found() > KEPT_ENTRIES:
            self._assess_in_parts(rows, labels)
            return
        measured = self._measure(rows, labels)
        self._spread = measured.spread()
        found = measured.assess(self._spread, len(self.view_names_))
        self.membership_, self.outlier_score_ = found
        labels[self._is_noise(self.outlier_score_)] = -1

    def _assess_in_parts(self, rows: RowSet, labels: IntArray) -> None:
        """The spread from some of the samples; membership is not kept."""
        places = np.linspace(0, len(labels) - 1, SPREAD_SAMPLES).astype(np.intp)
        some = np.unique(places)
        part = tuple(view.take(some) for view in rows)
        self._spread = self._measure(part, labels[some]).spread()
        if self.outlier_threshold is None:
            return
        for block in row_blocks(len(labels), self._n_found(), KEPT_ENTRIES):
            part = tuple(view.take(np.arange(block.start, block.stop)) for view in rows)
            _, scores = self._assess(part, labels[block])
            labels[block][self._is_noise(scores)] = -1

    def _clustering(self, views: ViewSet, rows: RowSet | None = None) -> Clustering:
        check_count(self.labels_, views.n_samples)
        if hasattr(self, "membership_"):
            assigned = self.membership_.argmax(axis=1)
            found = self.membership_, self.outlier_score_
        else:
            rows = rows or self._open_checked(views)
            # Labels of a Dask cluster are a dask array.
            assigned = np.asarray(self.labels_)
            if (assigned < 0).any():
                assigned = self._nearest(rows)
            measured = self._measure(rows, assigned)
            # Of a fit on a Dask cluster: the samples at hand tell their own spread.
            spread = getattr(self, "_spread", None) or measured.spread()
            found = measured.assess(spread, len(self.view_names_))
        return self._measured(views, rows, assigned, *found, self.unexplained_)

    def _measured(
        self,
        views: ViewSet,
        rows: RowSet | None,
        assigned: IntArray,
        membership: FloatArray,
        outlier_score: FloatArray,
        unexplained: FloatArray | None = None,
    ) -> Clustering:
        """Any samples with their clusters, and how distances are measured.

        They are explained through cluster means of all views; membership is the
        method's. unexplained : that of the samples of the fit.
        """
        found = membership, outlier_score
        n_clusters = self._n_found()
        return label_clustering(views, assigned, self.view_weights_, n_clusters, found)

    def _place(self, X: Any) -> tuple[ViewSet, RowSet, IntArray]:
        """Any samples: checked, scaled, and the nearest cluster of each."""
        views = self._check_views(X, reset=False)
        rows = self._open_checked(views)
        return views, rows, self._nearest(rows)

    def _open_checked(self, views: ViewSet) -> RowSet:
        """Samples through the scales learned in fit."""
        from manyview._rows import open_views

        return open_views(self._used(views), self.scales_)

    def _n_found(self) -> int:
        return len(self._centers[0])

    def _center_scales(self) -> tuple[ViewScale, ...]:
        """Scales between the solver's units and those of the centres."""
        return self.scales_

    def _nearest(self, rows: RowSet) -> IntArray:
        from manyview._solvers._nearest import nearest_by_distance, nearest_clusters

        nearest = nearest_by_distance if self._plain_distances else nearest_clusters
        return nearest(rows, self._centers, self._score_weights)

    def _measure(self, rows: RowSet, labels: IntArray) -> Measured:
        return measure(
            rows,
            self._centers,
            self._score_weights,
            labels,
            plain=self._plain_distances,
            about_mean=self._spread_about_mean,
        )

    def _assess(self, rows: RowSet, labels: IntArray) -> tuple[FloatArray, FloatArray]:
        """Membership and outlier scores of any samples, by the spread of the fit."""
        if not hasattr(self, "_spread"):
            msg = (
                f"This {type(self).__name__} was fitted on a Dask cluster or stored by "
                "an earlier version, and does not know the spread of its samples. Call "
                "learn_spread with samples of the fit first."
            )
            raise ViewError(msg)
        return self._measure(rows, labels).assess(self._spread, len(self.view_names_))

    def _is_noise(self, outlier_score: FloatArray) -> BoolArray:
        if self.outlier_threshold is None:
            return np.zeros(len(outlier_score), dtype=bool)
        return np.asarray(outlier_score > self.outlier_threshold)
