"""Samples on a cluster: every operation of the NSMVC loop as one graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np

from manyview._rows import mean_and_scatter
from manyview._scaling import ViewScale
from manyview._solvers._cluster_sums import ClusterSums, Moves, SweepOutcome
from manyview._solvers._samples import LossSummary
from manyview._typing import FloatArray
from manyview.distributed import _blocks

# Reports merged by one task.
FAN_IN = 16


def map_parts(operation: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
    """`operation` on every part, lazily; columns hold one argument per part."""
    task = dask.delayed(operation)
    return [task(*arguments) for arguments in zip(*columns, strict=True)]


def merged_reports(parts: Sequence[Any]) -> Any:
    """The reports of all parts, merged; the parts' states stay on their workers."""
    return merged(map_parts(_blocks.report_of, parts))


def merged(reports: Sequence[Any]) -> Any:
    """Reports merged into one, lazily, by a tree that keeps their order."""
    merge, level = dask.delayed(_blocks.merge_reports), list(reports)
    while True:
        level = [merge(level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
        if len(level) == 1:
            return level[0]


def shared(value: Any, n_parts: int) -> list[Any]:
    """One value for all parts, sent once and not with every task."""
    return [dask.delayed(value, traverse=False)] * n_parts


@dataclass(frozen=True)
class DaskRows:
    """Scaled views on a cluster.

    rows : the views of every part, lazily, or in the workers' memory if they were
    persisted; lengths : rows of every part; contents : digests of the values, if
    requested.
    """

    rows: tuple[Any, ...]
    lengths: tuple[int, ...]
    scales: tuple[ViewScale, ...]
    contents: tuple[str, ...] = ()

    @cached_property
    def totals(self) -> _blocks.ViewTotals:
        """Taken by one pass over the rows, at the first use."""
        found = merged(map_parts(_blocks.totals_of, self.rows)).compute()
        assert isinstance(found, _blocks.ViewTotals)
        return found

    @property
    def n_samples(self) -> int:
        return sum(self.lengths)

    @property
    def starts(self) -> tuple[int, ...]:
        """First row of each part."""
        return tuple(int(row) for row in np.cumsum([0, *self.lengths[:-1]]))

    @property
    def means(self) -> tuple[FloatArray, ...]:
        """Mean scaled row of each view."""
        return tuple(mean for mean, _ in self._means_and_scatter())

    @property
    def scatter(self) -> FloatArray:
        """(n_views,), summed squared distance to the mean."""
        return np.array([scatter for _, scatter in self._means_and_scatter()])

    def _means_and_scatter(self) -> list[tuple[FloatArray, float]]:
        totals = self.totals
        per_view = zip(totals.rows, totals.energy, totals.n_present, strict=True)
        return [
            mean_and_scatter(rows, float(energy), int(n))
            for rows, energy, n in per_view
        ]


class DaskSamples:
    """State of one run on a cluster (see `Samples`).

    Labels, losses and selections stay on the workers; the driver has the sums and the
    energies of all parts.
    """

    def __init__(self, data: DaskRows, parts: Sequence[Any], n_clusters: int) -> None:
        self.data = data
        self.parts = list(parts)
        self.n_clusters = n_clusters
        self.clusters = ClusterSums.zeros(
            [len(scale.factor) for scale in data.scales], n_clusters
        )
        self.energy: FloatArray = np.zeros(len(data.scales))
        # Where the next sweep writes the parts' states, if anywhere.
        self.snapshot: Callable[[int], Path] | None = None

    @property
    def labels(self) -> Any:
        """(n_samples,), as a dask array."""
        return self._gather(_blocks.labels_of, np.int32, ())

    @property
    def joined_pace(self) -> Any:
        """(n_views, n_samples), as a dask array."""
        return self._gather(_blocks.joined_pace_of, np.int16, (len(self.energy),))

    @property
    def scatter(self) -> FloatArray:
        return self.data.scatter

    def measure(self, centers: tuple[FloatArray, ...]) -> LossSummary:
        report = self._run(_blocks.measure, self._shared(centers))
        assert isinstance(report, LossSummary)
        return report

    def select(self, thresholds: FloatArray, pace: int) -> None:
        n_clusters = [self.n_clusters] * len(self.parts)
        paces = [pace] * len(self.parts)
        report = self._run(_blocks.select, self._shared(thresholds), paces, n_clusters)
        self.clusters.add(report.change)
        self.energy = report.energy

    def view_losses(self, centers: tuple[FloatArray, ...]) -> FloatArray:
        return self.clusters.view_losses(self.energy, centers, self._loss_of_selected)

    def sweep(
        self,
        centers: tuple[FloatArray, ...],
        view_losses: FloatArray,
        exponents: FloatArray,
    ) -> SweepOutcome:
        paths = [self.snapshot and self.snapshot(i) for i in range(len(self.parts))]
        step = self._shared((centers, view_losses, exponents))
        report = self._run(_blocks.sweep, step, paths)
        moves = Moves(clusters=self.clusters, view_losses=view_losses.copy())
        moves.add(report)
        return moves.outcome()

    def _run(self, operation: Callable[..., Any], *columns: Sequence[Any]) -> Any:
        """Run an operation as one graph; new states stay on the workers."""
        parts = map_parts(operation, self.data.rows, self.parts, *columns)
        *self.parts, report = dask.persist(*parts, merged_reports(parts))
        return report.compute()

    def _loss_of_selected(self, v: int, centers: FloatArray) -> float:
        losses = map_parts(
            _blocks.loss_of_selected,
            self.data.rows,
            self.parts,
            [v] * len(self.parts),
            self._shared(centers),
        )
        return float(merged(losses).compute())

    def _shared(self, value: Any) -> list[Any]:
        return shared(value, len(self.parts))

    def _gather(
        self, pick: Callable[..., Any], dtype: Any, shape: tuple[int, ...]
    ) -> Any:
        pieces = [
            da.from_delayed(piece, (*shape, n_rows), dtype)
            for piece, n_rows in zip(
                map_parts(pick, self.parts), self.data.lengths, strict=True
            )
        ]
        return da.concatenate(pieces, axis=-1).persist()
