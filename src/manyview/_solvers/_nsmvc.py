"""The NSMVC loop: paces outside, centre step and assignment sweep inside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from manyview._numerics._centers import masked_means
from manyview._numerics._pacing import (
    fused_objective,
    fusion_exponents,
    pace_thresholds,
)
from manyview._results import NSMVCResult, OnIteration, PaceRecord
from manyview._rows import Rows
from manyview._solvers._local import LocalSamples
from manyview._solvers._start import Start
from manyview._solvers._table import DistanceTable, sample_blocks
from manyview._typing import FloatArray, IntArray


def solve_nsmvc(
    views: tuple[Rows, ...],
    start: Start,
    *,
    pace_start: float,
    n_paces: int,
    max_iter: int,
    assignment: str,
    n_threads: int = 1,
    on_iteration: OnIteration | None = None,
) -> NSMVCResult:
    """Algorithm 1 from a given start.

    views : scaled row access, one per view. `on_iteration` gets every `PaceRecord`.
    `n_threads` speeds up the majorizing step and changes no result.
    """
    centers = start.centers
    n_clusters = len(centers[0])
    samples = LocalSamples(views, start.labels, n_clusters, n_threads)
    history: list[PaceRecord] = []
    converged = True
    for pace in range(1, n_paces + 1):
        losses = samples.measure(centers)
        thresholds = pace_thresholds(
            losses.lowest,
            losses.highest,
            pace=pace,
            n_paces=n_paces,
            pace_start=pace_start,
        )
        exponents = fusion_exponents(thresholds)
        samples.select(thresholds, pace)
        for iteration in range(1, max_iter + 1):
            centers = tuple(
                masked_means(samples.sums[v], samples.counts[v], centers[v])
                for v in range(len(views))
            )
            view_losses = samples.view_losses(centers)
            outcome = samples.sweep(centers, view_losses, exponents, assignment)
            record = PaceRecord(
                stage=pace,
                iteration=iteration,
                objective=fused_objective(outcome.view_losses, exponents),
                n_moved=outcome.n_moved,
                view_losses=outcome.view_losses,
                exponents=exponents,
                n_selected=samples.n_selected,
            )
            history.append(record)
            if on_iteration is not None:
                on_iteration(record)
            if outcome.n_moved == 0:
                break
        else:
            converged = False
    return NSMVCResult(
        labels=samples.labels,
        centers=centers,
        objective=history[-1].objective,
        n_iter=len(history),
        converged=converged,
        history=tuple(history),
        exponents=exponents,
        thresholds=thresholds,
        view_losses=history[-1].view_losses,
        unexplained=_unexplained(samples, centers),
        joined_pace=samples.joined_pace,
    )


def choose_restart(runs: Iterable[NSMVCResult]) -> NSMVCResult:
    """The run that leaves the smallest share of the views' scatter unexplained.

    Objectives of two runs do not compare, because their exponents differ. Runs are
    taken one by one, so a generator keeps no more than two alive.
    """
    return min(runs, key=lambda run: float(run.unexplained.sum()))


def fused_scores(
    views: tuple[Rows, ...], centers: tuple[FloatArray, ...], weights: FloatArray
) -> Iterator[tuple[slice, FloatArray]]:
    """Block by block, the weighted mean squared distance of samples to each cluster.

    weights : (n_views,). A view that a sample lacks leaves its weight to the others.
    """
    blocks = sample_blocks(views)
    table = DistanceTable(views, blocks[0].stop, len(centers[0]))
    prepared = [view.prepare(c) for view, c in zip(views, centers, strict=True)]
    for rows in blocks:
        table.load(rows, prepared)
        has = np.stack(
            [
                np.ones(rows.stop - rows.start) * (1 if mask is None else mask[rows])
                for mask in (view.present for view in views)
            ]
        )
        share = weights[:, None] * has
        # A sample whose only views weigh nothing still has nearest centres in them.
        share = np.where(share.sum(axis=0) > 0, share, has)
        share /= share.sum(axis=0)
        yield rows, np.einsum("vi,vij->ij", share, table.distances)


def nearest_clusters(
    views: tuple[Rows, ...], centers: tuple[FloatArray, ...], weights: FloatArray
) -> IntArray:
    """(n_samples,), the cluster with the smallest fused score."""
    labels = np.empty(views[0].n_samples, dtype=np.int32)
    for rows, scores in fused_scores(views, centers, weights):
        labels[rows] = scores.argmin(axis=1)
    return labels


def unexplained_shares(
    views: tuple[Rows, ...], centers: tuple[FloatArray, ...], labels: IntArray
) -> FloatArray:
    """(n_views,), share of each view's scatter left around the samples' centres."""
    return _unexplained(LocalSamples(views, labels, len(centers[0])), centers)


def _unexplained(samples: LocalSamples, centers: tuple[FloatArray, ...]) -> FloatArray:
    scatter = samples.scatter
    total = samples.measure(centers).total
    return np.where(scatter > 0, total / np.where(scatter > 0, scatter, 1.0), 0.0)
