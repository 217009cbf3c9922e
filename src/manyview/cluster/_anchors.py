"""Clusterers that compare all pairs of samples, or all samples with a few."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from manyview._random import random_source
from manyview._sklearn_compat import Interval, StrOptions
from manyview._typing import IntArray
from manyview.cluster._base import BaseMultiViewClusterer
from manyview.exceptions import ViewError

# A matrix of all pairs of this many samples takes 200 MB. Every view has one, and it
# grows with the square: 20 GB for ten times the samples.
ALL_PAIRS_UP_TO = 5000
# 200 MB per view for ten times the samples, too.
FEWEST_ANCHORS = 500
ANCHORS_PER_CLUSTER = 2


class KernelClusterer(BaseMultiViewClusterer):
    """Base of the methods with a kernel per view, of all pairs or by anchors."""

    _needs_every_view = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseMultiViewClusterer._parameter_constraints,
        "n_anchors": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    }

    n_anchors: str | int

    def _draw_anchors(self, n_samples: int) -> IntArray | None:
        """Samples that all are compared with; None where all pairs are."""
        from manyview._solvers._graph_views import draw_anchors

        n_anchors = self._wanted_anchors(n_samples)
        self.n_anchors_ = min(n_anchors, n_samples)
        if n_samples <= n_anchors:
            return None
        return draw_anchors(n_samples, n_anchors, random_source(self.random_state))

    def _wanted_anchors(self, n_samples: int) -> int:
        if not isinstance(self.n_anchors, str):
            if self.n_anchors < self.n_clusters:
                msg = (
                    f"n_anchors={self.n_anchors} is less than n_clusters="
                    f"{self.n_clusters}: so few anchors cannot tell the clusters "
                    "apart. Use several per cluster, or 'auto'."
                )
                raise ViewError(msg)
            return self.n_anchors
        if n_samples <= ALL_PAIRS_UP_TO:
            return n_samples
        return max(FEWEST_ANCHORS, ANCHORS_PER_CLUSTER * self.n_clusters)
