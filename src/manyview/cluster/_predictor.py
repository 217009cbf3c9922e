"""What the estimators share that can place new samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from manyview._scaling import ViewScale
from manyview._typing import BoolArray, FloatArray, IntArray
from manyview._views import ViewSet, row_blocks
from manyview.cluster._base import BaseMultiViewClusterer
from manyview.cluster._clustering import Clustering
from manyview.cluster._membership import (
    Measured,
    Spread,
    learn_spread,
    measure,
    outlier_scores,
    soft_membership,
)
from manyview.exceptions import ViewError

if TYPE_CHECKING:
    from manyview._rows import Rows

# Membership of more samples times clusters (32 MiB) is not kept: `predict_proba` gives
# it. The spread is then that of so many samples.
KEPT_ENTRIES = 1 << 22
SPREAD_SAMPLES = 20_000


class PredictingClusterer(BaseMultiViewClusterer):
    """A clusterer whose labels are the nearest centres by a fused distance.

    A subclass defines `_linear_model` and `_measured`.
    """

    # Whether distances are added up rather than squared distances.
    _plain_distances: ClassVar[bool] = False
    # See `learn_spread`.
    _spread_about_mean: ClassVar[bool] = True

    _private_fitted: ClassVar[frozenset[str]] = (
        BaseMultiViewClusterer._private_fitted | {"_spread"}
    )

    # A parameter of some; None keeps every sample in its nearest cluster.
    outlier_threshold: float | None = None
    membership_: FloatArray
    outlier_score_: FloatArray
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
        rows = self._open_checked(self._check_views(X, reset=False))
        labels = self._nearest(rows)
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
        rows = self._open_checked(self._check_views(X, reset=False))
        return self._assess(rows, self._nearest(rows))[0]

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
        rows = self._open_checked(self._check_views(X, reset=False))
        labels = self._nearest(rows)
        self._spread = self._spread_of(self._measure(rows, labels), labels)
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
        views = self._check_views(X, reset=False)
        rows = self._open_checked(views)
        labels = self._nearest(rows)
        return self._named(
            self._measured(views, rows, labels, *self._assess(rows, labels))
        )

    def _crowds_blas(self) -> bool:
        # Blocks of rows are small: in their products, more than one BLAS thread
        # spends longer waiting for the others than working.
        return True

    def _store(self, best: Any) -> None:
        super()._store(best)
        self._centers = best.centers
        self.cluster_centers_ = [
            scale.to_user_units(centers)
            for scale, centers in zip(self._center_scales(), best.centers, strict=True)
        ]
        self.unexplained_ = best.unexplained
        self.objective_ = best.objective

    def _assess_fit(self, prepared: Any) -> None:
        rows, labels = self._rows_of_fit(prepared), self.labels_
        if len(labels) * len(self._centers[0]) > KEPT_ENTRIES:
            self._assess_in_parts(rows, labels)
            return
        measured = self._measure(rows, labels)
        self._spread = self._spread_of(measured, labels)
        found = self._assessed(measured, labels, self._spread)
        self.membership_, self.outlier_score_ = found
        labels[self._is_noise(self.outlier_score_)] = -1

    def _assess_in_parts(self, rows: tuple[Rows, ...], labels: IntArray) -> None:
        """The spread from some of the samples; membership is not kept."""
        places = np.linspace(0, len(labels) - 1, SPREAD_SAMPLES).astype(np.intp)
        some = np.unique(places)
        part = tuple(view.take(some) for view in rows)
        self._spread = self._spread_of(self._measure(part, labels[some]), labels[some])
        if self.outlier_threshold is None:
            return
        for block in row_blocks(len(labels), len(self._centers[0]), KEPT_ENTRIES):
            part = tuple(view.take(np.arange(block.start, block.stop)) for view in rows)
            _, scores = self._assess(part, labels[block])
            labels[block][self._is_noise(scores)] = -1

    def _rows_of_fit(self, prepared: Any) -> tuple[Rows, ...]:
        """The rows in what `_prepare` made."""
        return tuple(prepared)

    def _open_checked(self, views: ViewSet) -> tuple[Rows, ...]:
        """Samples through the scales learned in fit."""
        from manyview._rows import open_views

        return open_views(self._used(views), self.scales_)

    def _linear_model(self) -> tuple[tuple[FloatArray, ...], FloatArray]:
        """Centres, and weights of the spaces in the fused distance."""
        raise NotImplementedError

    def _measured(
        self,
        views: ViewSet,
        rows: tuple[Rows, ...],
        assigned: IntArray,
        membership: FloatArray,
        outlier_score: FloatArray,
    ) -> Clustering:
        """Any samples with their clusters, and how distances are measured."""
        raise NotImplementedError

    def _center_scales(self) -> tuple[ViewScale, ...]:
        """Scales between the solver's units and those of the centres."""
        return self.scales_

    def _nearest(self, rows: tuple[Rows, ...]) -> IntArray:
        from manyview._solvers._nearest import nearest_by_distance, nearest_clusters

        nearest = nearest_by_distance if self._plain_distances else nearest_clusters
        return nearest(rows, *self._linear_model())

    def _measure(self, rows: tuple[Rows, ...], labels: IntArray) -> Measured:
        centers, weights = self._linear_model()
        return measure(rows, centers, weights, labels, plain=self._plain_distances)

    def _spread_of(self, measured: Measured, labels: IntArray) -> Spread:
        return learn_spread(measured, labels, about_mean=self._spread_about_mean)

    def _assess(
        self, rows: tuple[Rows, ...], labels: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Membership and outlier scores of any samples, by the spread of the fit."""
        if not hasattr(self, "_spread"):
            msg = (
                f"This {type(self).__name__} was fitted on a Dask cluster or stored by "
                "an earlier version, and does not know the spread of its samples. Call "
                "learn_spread with samples of the fit first."
            )
            raise ViewError(msg)
        return self._assessed(self._measure(rows, labels), labels, self._spread)

    def _assessed(
        self, measured: Measured, labels: IntArray, spread: Spread
    ) -> tuple[FloatArray, FloatArray]:
        return (
            soft_membership(measured.scores, labels, spread.temperature),
            outlier_scores(measured, labels, spread, len(self.view_names_)),
        )

    def _is_noise(self, outlier_score: FloatArray) -> BoolArray:
        if self.outlier_threshold is None:
            return np.zeros(len(outlier_score), dtype=bool)
        return np.asarray(outlier_score > self.outlier_threshold)
