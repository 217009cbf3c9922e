"""What the NSMVC loop asks of the samples, on one machine or on a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from manyview._solvers._cluster_sums import ClusterSums, SweepOutcome
from manyview._typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class LossSummary:
    """Range and sum of the sample losses of each view, (n_views,) each.

    A view that no sample has keeps the empty range, from inf to -inf.
    """

    lowest: FloatArray
    highest: FloatArray
    total: FloatArray

    def merge(self, other: LossSummary) -> LossSummary:
        return LossSummary(
            lowest=np.minimum(self.lowest, other.lowest),
            highest=np.maximum(self.highest, other.highest),
            total=self.total + other.total,
        )


class Samples(Protocol):
    """Labels, losses and selections of all samples, behind four operations.

    The loop never touches rows: it sends centres, thresholds and exponents, and gets
    sums back. Arrays of samples may be lazy.

    clusters : sums of the selected rows of each cluster.
    labels : (n_samples,); joined_pace : (n_views, n_samples).
    scatter : (n_views,), summed squared distance to the overall mean.
    """

    clusters: ClusterSums

    @property
    def labels(self) -> Any: ...

    @property
    def joined_pace(self) -> Any: ...

    @property
    def scatter(self) -> FloatArray: ...

    def measure(self, centers: tuple[FloatArray, ...]) -> LossSummary:
        """Losses of all samples around the given centres, by a pass over the rows."""

    def select(self, thresholds: FloatArray, pace: int) -> None:
        """Select every sample with ``loss <= threshold`` (Algorithm 1).

        The losses are those of the last `measure`.
        """

    def view_losses(self, centers: tuple[FloatArray, ...]) -> FloatArray:
        """phi of Eq. (5), where `centers` are the means of the selected samples."""

    def sweep(
        self,
        centers: tuple[FloatArray, ...],
        view_losses: FloatArray,
        exponents: FloatArray,
    ) -> SweepOutcome:
        """One assignment step over all samples."""
