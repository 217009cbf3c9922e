"""The NSMVC loop: paces, and in each of them centre steps and assignment sweeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from manyview._numerics._distances import SAME_POINT
from manyview._numerics._pacing import (
    fused_objective,
    fusion_exponents,
    pace_thresholds,
)
from manyview._results import NSMVCResult, OnIteration, PaceRecord
from manyview._rows import Rows
from manyview._solvers._local import LocalSamples
from manyview._solvers._samples import Samples
from manyview._solvers._start import Start
from manyview._solvers._state import SampleState
from manyview._typing import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True)
class LoopState:
    """State of the loop between two iterations, without the state of the samples.

    centers : per view (n_clusters, n_features_v), in scaled units.
    pace, iteration : current pace, from 1, and its iterations so far.
    thresholds, exponents : (n_views,), of the current pace.
    converged : whether no finished pace was stopped by the iteration limit.
    """

    centers: tuple[FloatArray, ...]
    pace: int = 1
    iteration: int = 0
    thresholds: FloatArray = field(default_factory=lambda: np.empty(0))
    exponents: FloatArray = field(default_factory=lambda: np.empty(0))
    converged: bool = True
    history: tuple[PaceRecord, ...] = ()


def solve_nsmvc(
    views: tuple[Rows, ...],
    start: Start,
    *,
    pace_start: float,
    n_paces: int,
    max_iter: int,
    assignment: str,
    fusion: str = "nonlinear",
    n_threads: int = 1,
    on_iteration: OnIteration | None = None,
) -> NSMVCResult:
    """Algorithm 1 from a given start, on one machine.

    views : scaled row access, one per view. `on_iteration` gets every `PaceRecord`.
    `n_threads` changes no result.
    """
    samples = LocalSamples(
        views,
        SampleState.begin(start.labels, len(views)),
        len(start.centers[0]),
        assignment=assignment,
        n_threads=n_threads,
    )

    def tell(loop: LoopState) -> None:
        if on_iteration is not None:
            on_iteration(loop.history[-1])

    return run_paces(
        samples,
        LoopState(centers=start.centers),
        pace_start=pace_start,
        n_paces=n_paces,
        max_iter=max_iter,
        fusion=fusion,
        on_progress=tell,
    )


def run_paces(
    samples: Samples,
    loop: LoopState,
    *,
    pace_start: float,
    n_paces: int,
    max_iter: int,
    fusion: str = "nonlinear",
    on_progress: Callable[[LoopState], None],
) -> NSMVCResult:
    """Algorithm 1 from any state of the loop to its end.

    fusion : "linear" keeps the exponents at 1. `on_progress` is called with the new
    state after every iteration.
    """
    while loop.pace <= n_paces:
        if loop.iteration == 0:
            loop = _begin_pace(samples, loop, pace_start, n_paces, fusion)
        loop = _iterate(samples, loop, max_iter)
        on_progress(loop)
    last = loop.history[-1]
    # At the last pace every sample is selected, so its losses are those of all. Labels
    # that moved left the rounding of products in them: then a pass takes them anew.
    total = samples.measure(loop.centers).total if last.n_moved else last.view_losses
    return NSMVCResult(
        labels=samples.labels,
        centers=loop.centers,
        objective=last.objective,
        n_iter=len(loop.history),
        converged=loop.converged,
        history=loop.history,
        exponents=loop.exponents,
        thresholds=loop.thresholds,
        view_losses=last.view_losses,
        unexplained=_shares(total, samples.scatter),
        joined_pace=samples.joined_pace,
        scatter=samples.scatter,
    )


def _begin_pace(
    samples: Samples, loop: LoopState, pace_start: float, n_paces: int, fusion: str
) -> LoopState:
    """Thresholds, exponents and selection from the current losses."""
    losses = samples.measure(loop.centers)
    # Samples that lie on their centres may be a rounding away from them. As a threshold
    # that would send the exponents of all other views to zero.
    rounding = SAME_POINT * samples.scatter
    highest = np.where(losses.highest > rounding, losses.highest, 0.0)
    thresholds = pace_thresholds(
        np.minimum(losses.lowest, highest),
        highest,
        pace=loop.pace,
        n_paces=n_paces,
        pace_start=pace_start,
    )
    samples.select(np.maximum(thresholds, rounding), loop.pace)
    linear = fusion == "linear"
    exponents = np.ones_like(thresholds) if linear else fusion_exponents(thresholds)
    return replace(loop, thresholds=thresholds, exponents=exponents)


def _iterate(samples: Samples, loop: LoopState, max_iter: int) -> LoopState:
    """Centres, then labels; on to the next pace once no label moves."""
    centers = samples.clusters.means(loop.centers)
    view_losses = samples.view_losses(centers)
    outcome = samples.sweep(centers, view_losses, loop.exponents)
    record = PaceRecord(
        stage=loop.pace,
        iteration=loop.iteration + 1,
        objective=fused_objective(outcome.view_losses, loop.exponents),
        n_moved=outcome.n_moved,
        view_losses=outcome.view_losses,
        exponents=loop.exponents,
        n_selected=samples.clusters.masses.sum(axis=1).astype(np.int64),
    )
    settled = outcome.n_moved == 0
    over = settled or record.iteration == max_iter
    return LoopState(
        centers=centers,
        pace=loop.pace + over,
        iteration=0 if over else record.iteration,
        thresholds=loop.thresholds,
        exponents=loop.exponents,
        converged=loop.converged and (settled or not over),
        history=(*loop.history, record),
    )


def unexplained_shares(
    views: tuple[Rows, ...], centers: tuple[FloatArray, ...], labels: IntArray
) -> FloatArray:
    """`unexplained` for labelled samples of this machine."""
    state = SampleState.begin(labels, len(views))
    return unexplained(LocalSamples(views, state, len(centers[0])), centers)


def unexplained(samples: Samples, centers: tuple[FloatArray, ...]) -> FloatArray:
    """(n_views,), share of each view's scatter that `centers` leave unexplained."""
    return _shares(samples.measure(centers).total, samples.scatter)


def _shares(losses: FloatArray, scatter: FloatArray) -> FloatArray:
    """Summed losses as shares of the scatter, (n_views,) each.

    1 for a view that does not vary, or that nobody has: nothing is known of it.
    """
    return np.where(scatter > 0, losses / np.where(scatter > 0, scatter, 1.0), 1.0)
