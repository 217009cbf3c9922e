"""What a run remembers of its samples, apart from the views."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from manyview._solvers._bounds import Bounds
from manyview._typing import BoolArray, FloatArray, IntArray, WeightArray


@dataclass(kw_only=True, slots=True)
class SampleState:
    """Labels and weights of samples, and what is known of their distances.

    labels : (n_samples,); joined_pace : (n_views, n_samples).
    weights : (n_views, n_samples), bool while samples are only selected or not.
    losses : (n_views, n_samples), from `measure` to `select`, else None.
    """

    labels: IntArray
    weights: WeightArray
    joined_pace: IntArray
    bounds: Bounds
    losses: FloatArray | None = None

    @classmethod
    def begin(cls, labels: IntArray, n_views: int) -> Self:
        """The state before any sample is selected."""
        shape = (n_views, len(labels))
        return cls(
            labels=labels.astype(np.int32),
            weights=np.zeros(shape, dtype=bool),
            joined_pace=np.zeros(shape, dtype=np.int16),
            bounds=Bounds(len(labels), n_views),
        )

    @property
    def selected(self) -> BoolArray:
        """(n_views, n_samples), samples with a weight."""
        return self.weights.astype(bool, copy=False)

    @property
    def nbytes(self) -> int:
        bounds = self.bounds.upper.nbytes + self.bounds.lower.nbytes
        losses = 0 if self.losses is None else self.losses.nbytes
        rest = self.labels.nbytes + self.weights.nbytes + self.joined_pace.nbytes
        return bounds + losses + rest

    def copy(self) -> SampleState:
        """A copy that can be changed without changing this state."""
        return SampleState(
            labels=self.labels.copy(),
            weights=self.weights.copy(),
            joined_pace=self.joined_pace.copy(),
            bounds=self.bounds.copy(),
            losses=self.losses,
        )
