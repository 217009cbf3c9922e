"""What the estimators share that compare samples with each other."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from manyview._random import random_source
from manyview._sklearn_compat import Interval, StrOptions
from manyview._typing import IntArray
from manyview._views import ViewSet
from manyview.cluster._base import BaseMultiViewClusterer
from manyview.exceptions import ViewError

# A matrix of all pairs of this many samples takes 200 MB. Every view has one, and it
# grows with the square: 20 GB for ten times the samples.
ALL_PAIRS_UP_TO = 5000
# 200 MB per view for ten times the samples, too.
FEWEST_ANCHORS = 500
ANCHORS_PER_CLUSTER = 2


class PairwiseClusterer(BaseMultiViewClusterer):
    """A clusterer with a graph or a kernel per view, between all samples.

    Kernels may be of all samples with a few of them, the anchors.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseMultiViewClusterer._parameter_constraints,
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
        "n_anchors": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    }

    n_anchors: str | int

    def _check_views(self, X: Any, *, reset: bool) -> ViewSet:
        views = super()._check_views(X, reset=reset)
        for name, present in zip(views.names, views.present, strict=True):
            if not present.all():
                msg = (
                    f"{type(self).__name__} needs every sample in every view, but row "
                    f"{present.argmin()} of view {name!r} is missing (NaN throughout). "
                    "Drop or impute such rows, or use a method that takes them, e.g. "
                    "NSMVC."
                )
                raise ViewError(msg)
        return views

    def _draw_anchors(self, n_samples: int) -> IntArray | None:
        """Samples that all are compared with; None where all pairs are."""
        from manyview._solvers._graph_learning import draw_anchors

        if not isinstance(self.n_anchors, str):
            n_anchors = self.n_anchors
        elif n_samples <= ALL_PAIRS_UP_TO:
            n_anchors = n_samples
        else:
            n_anchors = max(FEWEST_ANCHORS, ANCHORS_PER_CLUSTER * self.n_clusters)
        if n_anchors < self.n_clusters:
            msg = (
                f"n_anchors={n_anchors} is less than n_clusters={self.n_clusters}: so "
                "few anchors cannot tell the clusters apart. Use several per cluster, "
                "or 'auto'."
            )
            raise ViewError(msg)
        self.n_anchors_ = min(n_anchors, n_samples)
        if n_samples <= n_anchors:
            return None
        return draw_anchors(n_samples, n_anchors, random_source(self.random_state))
