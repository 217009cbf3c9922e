"""What a run remembers of its samples, apart from the views."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Self

import numpy as np

from manyview._numerics import _assign
from manyview._numerics._centers import squared_moves
from manyview._rows import PreparedCenters, Rows
from manyview._typing import BoolArray, FloatArray, IntArray, WeightArray


class Bounds:
    """Hamerly's two bounds per sample, in the space of the slope-weighted views.

    upper, lower : (n_samples,), on the distance to the own and to the nearest other
    centre. anchor : (n_views,), the slopes they refer to; widest : (n_views,), the
    largest squared distance a sample can have to a centre.
    shifts : (n_clusters,), how far centres moved since the sweep before, or None;
    other_shifts : (n_clusters,), the furthest move of any other centre. `lower` has
    been reduced by it.
    """

    def __init__(self, n_samples: int, n_views: int) -> None:
        self.upper = np.zeros(n_samples)
        self.lower = np.full(n_samples, -np.inf)
        self.anchor: FloatArray = np.zeros(n_views)
        self.widest: FloatArray = np.zeros(n_views)
        self.shifts: FloatArray | None = None
        self.other_shifts: FloatArray = np.empty(0)
        self._longest: FloatArray | None = None
        self._centers: list[FloatArray] | None = None

    def copy(self) -> Bounds:
        """A copy whose bounds can be changed without changing these."""
        twin = copy.copy(self)
        twin.upper, twin.lower = self.upper.copy(), self.lower.copy()
        return twin

    def forget(self, samples: IntArray | None = None) -> None:
        """Discard the bounds, of all samples by default.

        They do not hold for other weights.
        """
        if samples is None:
            self._centers = None
            self.lower.fill(-np.inf)
        else:
            self.lower[samples] = -np.inf

    def renew(
        self,
        views: tuple[Rows, ...],
        centers: list[PreparedCenters],
        labels: IntArray,
        view_losses: FloatArray,
        exponents: FloatArray,
    ) -> float:
        """Make the bounds hold for a sweep around `centers`; returns its slack."""
        if self._longest is None:
            longest = [np.sqrt(view.sq_norms.max(initial=0.0)) for view in views]
            self._longest = np.array(longest)
        values, before = [center.values for center in centers], self._centers
        reach = np.sqrt([center.largest for center in centers])
        self.widest = (self._longest + reach) ** 2
        n_clusters = len(values[0])
        moves = np.empty((0 if before is None else len(values), n_clusters))
        if before is not None:
            for new, old, out in zip(values, before, moves, strict=True):
                squared_moves(new, old, out)
        slope, shifts = np.empty(len(values)), np.zeros(n_clusters)
        self.other_shifts = np.zeros(n_clusters)
        slack, holds = _assign.renew_bounds(
            view_losses,
            exponents,
            self.anchor,
            self.widest,
            moves,
            labels,
            slope,
            shifts,
            self.other_shifts,
            self.upper,
            self.lower,
        )
        self.shifts = shifts if holds else None
        self._centers, self.anchor = values, slope
        return slack

    def slack(self, view_losses: FloatArray, exponents: FloatArray) -> float:
        """How many times `upper` must fit into `lower` at these losses."""
        slope, unused = np.empty((2, len(exponents)))
        _assign.linearise(view_losses, exponents, slope, unused, unused)
        found = _assign.bound_slack(
            view_losses, exponents, slope, self.anchor, self.widest
        )
        return float(found)


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
