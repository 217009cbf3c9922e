"""Bounds on fused distances that let settled samples skip a sweep."""

from __future__ import annotations

import copy

import numpy as np

from manyview._numerics import _assign
from manyview._rows import Rows
from manyview._typing import FloatArray, IntArray


class Bounds:
    """Hamerly's two bounds per sample, in the space of the slope-weighted views.

    upper, lower : (n_samples,), on the distance to the own and to the nearest other
    centre. anchor : (n_views,), the slopes they refer to; widest : (n_views,), the
    largest squared distance a sample can have to a centre.
    """

    def __init__(self, n_samples: int, n_views: int) -> None:
        self.upper = np.zeros(n_samples)
        self.lower = np.full(n_samples, -np.inf)
        self.anchor: FloatArray = np.zeros(n_views)
        self.widest: FloatArray = np.zeros(n_views)
        self._longest: list[float] | None = None
        self._centers: tuple[FloatArray, ...] | None = None

    def copy(self) -> Bounds:
        """Bounds that change on their own."""
        twin = copy.copy(self)
        twin.upper, twin.lower = self.upper.copy(), self.lower.copy()
        twin.widest = self.widest.copy()
        return twin

    def forget(self) -> None:
        """Bounds say nothing any more, because other samples take part."""
        self.lower[:] = -np.inf
        self._centers = None

    def renew(
        self,
        views: tuple[Rows, ...],
        centers: tuple[FloatArray, ...],
        labels: IntArray,
        view_losses: FloatArray,
        exponents: FloatArray,
    ) -> float:
        """Make the bounds hold for a sweep around `centers`; returns its slack."""
        slope = np.empty_like(view_losses)
        _assign.linearise(
            view_losses, exponents, slope, np.empty_like(slope), np.empty_like(slope)
        )
        if self._longest is None:
            self._longest = [np.sqrt(view.sq_norms.max(initial=0.0)) for view in views]
        for v, center in enumerate(centers):
            reach = np.sqrt(np.einsum("jf,jf->j", center, center).max())
            self.widest[v] = (self._longest[v] + reach) ** 2
        perfect_view = not (slope > 0).all() or not (self.anchor > 0).all()
        if self._centers is None or perfect_view:
            self.forget()
        else:
            self._relax(centers, labels, slope)
        self._centers, self.anchor = centers, slope
        slack = _assign.bound_slack(view_losses, exponents, slope, slope, self.widest)
        return float(slack)

    def _relax(
        self, centers: tuple[FloatArray, ...], labels: IntArray, slope: FloatArray
    ) -> None:
        assert self._centers is not None
        ratio = slope / self.anchor
        moved = np.zeros(len(centers[0]))
        for v, (new, old) in enumerate(zip(centers, self._centers, strict=True)):
            step = new - old
            moved += slope[v] * np.einsum("jf,jf->j", step, step)
        shifts = np.sqrt(moved)
        order = np.argsort(shifts)
        others = np.full_like(shifts, shifts[order[-1]])
        others[order[-1]] = shifts[order[-2]] if len(order) > 1 else 0.0
        _assign.relax_bounds(
            labels,
            shifts,
            others,
            float(np.sqrt(ratio.max())),
            float(np.sqrt(ratio.min())),
            self.upper,
            self.lower,
        )
