"""What the NSMVC loop asks of the samples, wherever they live."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from manyview._typing import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True)
class LossSummary:
    """Range and sum of the sample losses of each view, (n_views,) each.

    A view that nobody has keeps the empty range, from inf to -inf.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepOutcome:
    """Labels moved by a sweep, and the view losses after it."""

    n_moved: int
    view_losses: FloatArray


class Samples(Protocol):
    """Labels, losses and selections of all samples, behind four operations.

    The loop never touches rows: it sends centres, thresholds and exponents, and gets
    sums back. Arrays of samples may be lazy.

    sums : per view (n_clusters, n_features_v), of the selected rows of each cluster;
    counts : (n_views, n_clusters), how many those are.
    labels : (n_samples,); joined_pace : (n_views, n_samples).
    scatter : (n_views,), summed squared distance to the overall mean.
    """

    sums: tuple[FloatArray, ...]
    counts: IntArray

    @property
    def labels(self) -> Any: ...

    @property
    def joined_pace(self) -> Any: ...

    @property
    def scatter(self) -> FloatArray: ...

    def measure(self, centers: tuple[FloatArray, ...]) -> LossSummary:
        """Losses of all samples around the given centres, by one pass."""

    def select(self, thresholds: FloatArray, pace: int) -> None:
        """Let every sample with ``loss <= threshold`` take part (Algorithm 1).

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
