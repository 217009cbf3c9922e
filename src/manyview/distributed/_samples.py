"""Samples on a cluster: every operation of the NSMVC loop as one graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
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


def map_parts(
    operation: Callable[..., Any], *columns: Sequence[Any], same: Sequence[Any] = ()
) -> list[Any]:
    """`operation` on every part, lazily; columns hold one argument per part.

    same : further arguments, for all parts, sent once and not with every task.
    """
    task = dask.delayed(operation)
    sent = [
        value if isinstance(value, int) else dask.delayed(value, traverse=False)
        for value in same
    ]
    return [task(*arguments, *sent) for arguments in zip(*columns, strict=True)]


def run_parts(parts: Sequence[Any]) -> tuple[list[Any], Any]:
    """Parts on their workers, computed by one graph, and their merged report."""
    reports = map_parts(_blocks.report_of, parts)
    *kept, report = dask.persist(*parts, merged(reports))
    return kept, report.compute()


def concatenate(
    pieces: Sequence[Any], shapes: Iterable[tuple[int, ...]], dtype: Any, axis: int = 0
) -> Any:
    """A dask array of what parts gave."""
    arrays = [
        da.from_delayed(piece, shape, dtype)
        for piece, shape in zip(pieces, shapes, strict=True)
    ]
    return da.concatenate(arrays, axis=axis)


def merged(reports: Sequence[Any]) -> Any:
    """Reports merged into one, lazily, by a tree that keeps their order."""
    merge, level = dask.delayed(_blocks.merge_reports), list(reports)
    while True:
        level = [merge(level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
        if len(level) == 1:
            return level[0]


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
        return tuple(mean for mean, _ in self._means_and_scatter)

    @property
    def scatter(self) -> FloatArray:
        """(n_views,), summed squared distance to the mean."""
        return np.array([scatter for _, scatter in self._means_and_scatter])

    @cached_property
    def _means_and_scatter(self) -> list[tuple[FloatArray, float]]:
        """Taken by one pass over the rows, at the first use."""
        totals = merged(map_parts(_blocks.totals_of, self.rows)).compute()
        return [mean_and_scatter(*of_view) for of_view in totals]


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
        labels = map_parts(attrgetter("state.labels"), self.parts)
        shapes = ((n_rows,) for n_rows in self.data.lengths)
        return concatenate(labels, shapes, np.int32).persist()

    @property
    def joined_pace(self) -> Any:
        """(n_views, n_samples), as a dask array."""
        paces = map_parts(attrgetter("state.joined_pace"), self.parts)
        shapes = ((len(self.energy), n_rows) for n_rows in self.data.lengths)
        return concatenate(paces, shapes, np.int16, axis=1).persist()

    @property
    def scatter(self) -> FloatArray:
        return self.data.scatter

    def measure(self, centers: tuple[FloatArray, ...]) -> LossSummary:
        report: LossSummary = self._run(_blocks.measure, same=[centers])
        return report

    def select(self, thresholds: FloatArray, pace: int) -> None:
        same = [thresholds, pace, self.n_clusters]
        change, self.energy = self._run(_blocks.select, same=same)
        self.clusters.add(change)

    def view_losses(self, centers: tuple[FloatArray, ...]) -> FloatArray:
        return self.clusters.view_losses(self.energy, centers, self._loss_of_selected)

    def sweep(
        self,
        centers: tuple[FloatArray, ...],
        view_losses: FloatArray,
        exponents: FloatArray,
    ) -> SweepOutcome:
        paths = [self.snapshot and self.snapshot(i) for i in range(len(self.parts))]
        step = (centers, view_losses, exponents)
        report = self._run(_blocks.sweep, paths, same=[step])
        moves = Moves(clusters=self.clusters, view_losses=view_losses.copy())
        moves.add(report)
        return moves.outcome()

    def _run(
        self,
        operation: Callable[..., Any],
        *columns: Sequence[Any],
        same: Sequence[Any],
    ) -> Any:
        """Run an operation as one graph; new states stay on the workers."""
        parts = map_parts(operation, self.data.rows, self.parts, *columns, same=same)
        self.parts, report = run_parts(parts)
        return report

    def _loss_of_selected(self, v: int, centers: FloatArray) -> float:
        losses = map_parts(
            _blocks.loss_of_selected, self.data.rows, self.parts, same=[v, centers]
        )
        return float(merged(losses).compute())
