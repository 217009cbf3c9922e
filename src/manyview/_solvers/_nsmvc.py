"""The NSMVC loop: paces, and in each of them centre steps and assignment sweeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from manyview._numerics._centers import masked_means
from manyview._numerics._pacing import (
    fused_objective,
    fusion_exponents,
    pace_thresholds,
)
from manyview._results import NSMVCResult, OnIteration, PaceRecord
from manyview._rows import Rows
from manyview._solvers._local import LocalSamples, SampleState
from manyview._solvers._samples import Samples
from manyview._solvers._start import Start
from manyview._typing import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """Where a run stands between two iterations; as small as the centres.

    centers : per view (n_clusters, n_features_v), in scaled units.
    pace, iteration : pace under way, from 1, and its iterations so far.
    thresholds, exponents : (n_views,), of the last pace begun.
    converged : whether every finished pace settled within its limit.
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
    """Algorithm 1 from a given start, on the views of this machine.

    views : scaled row access, one per view. `on_iteration` gets every `PaceRecord`.
    `n_threads` speeds up the majorizing step and changes no result.
    """
    samples = LocalSamples(
        views,
        SampleState.begin(start.labels, len(views)),
        len(start.centers[0]),
        assignment=assignment,
        n_threads=n_threads,
    )

    def tell(at: Progress) -> None:
        if on_iteration is not None:
            on_iteration(at.history[-1])

    return run_paces(
        samples,
        Progress(centers=start.centers),
        pace_start=pace_start,
        n_paces=n_paces,
        max_iter=max_iter,
        fusion=fusion,
        on_progress=tell,
    )


def run_paces(
    samples: Samples,
    at: Progress,
    *,
    pace_start: float,
    n_paces: int,
    max_iter: int,
    fusion: str = "nonlinear",
    on_progress: Callable[[Progress], None],
) -> NSMVCResult:
    """Algorithm 1 from any point of a run to its end, wherever the samples live.

    fusion : "linear" keeps the exponents at 1. `on_progress` is told where the run
    stands after every iteration.
    """
    while at.pace <= n_paces:
        if at.iteration == 0:
            at = _begin_pace(samples, at, pace_start, n_paces, fusion)
        at = _iterate(samples, at, max_iter)
        on_progress(at)
    return NSMVCResult(
        labels=samples.labels,
        centers=at.centers,
        objective=at.history[-1].objective,
        n_iter=len(at.history),
        converged=at.converged,
        history=at.history,
        exponents=at.exponents,
        thresholds=at.thresholds,
        view_losses=at.history[-1].view_losses,
        unexplained=unexplained(samples, at.centers),
        joined_pace=samples.joined_pace,
        scatter=samples.scatter,
    )


def _begin_pace(
    samples: Samples, at: Progress, pace_start: float, n_paces: int, fusion: str
) -> Progress:
    """Thresholds, exponents and selection from the losses as they are now."""
    losses = samples.measure(at.centers)
    thresholds = pace_thresholds(
        losses.lowest,
        losses.highest,
        pace=at.pace,
        n_paces=n_paces,
        pace_start=pace_start,
    )
    samples.select(thresholds, at.pace)
    linear = fusion == "linear"
    exponents = np.ones_like(thresholds) if linear else fusion_exponents(thresholds)
    return replace(at, thresholds=thresholds, exponents=exponents)


def _iterate(samples: Samples, at: Progress, max_iter: int) -> Progress:
    """Centres, then labels; on to the next pace once no label moves."""
    centers = tuple(
        masked_means(samples.sums[v], samples.counts[v], previous)
        for v, previous in enumerate(at.centers)
    )
    view_losses = samples.view_losses(centers)
    outcome = samples.sweep(centers, view_losses, at.exponents)
    record = PaceRecord(
        stage=at.pace,
        iteration=at.iteration + 1,
        objective=fused_objective(outcome.view_losses, at.exponents),
        n_moved=outcome.n_moved,
        view_losses=outcome.view_losses,
        exponents=at.exponents,
        n_selected=np.asarray(samples.counts.sum(axis=1)),
    )
    at = replace(at, centers=centers, history=(*at.history, record))
    if outcome.n_moved == 0:
        return replace(at, pace=at.pace + 1, iteration=0)
    if record.iteration == max_iter:
        return replace(at, pace=at.pace + 1, iteration=0, converged=False)
    return replace(at, iteration=record.iteration)


def unexplained_shares(
    views: tuple[Rows, ...], centers: tuple[FloatArray, ...], labels: IntArray
) -> FloatArray:
    """(n_views,), share of each view's scatter left around the samples' centres.

    1 for a view that does not vary, or that nobody has: nothing is known of it.
    """
    state = SampleState.begin(labels, len(views))
    return unexplained(LocalSamples(views, state, len(centers[0])), centers)


def unexplained(samples: Samples, centers: tuple[FloatArray, ...]) -> FloatArray:
    """The same, of samples wherever they live, by one pass."""
    scatter = samples.scatter
    total = samples.measure(centers).total
    return np.where(scatter > 0, total / np.where(scatter > 0, scatter, 1.0), 1.0)
