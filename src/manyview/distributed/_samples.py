"""Samples on a cluster: every operation of the NSMVC loop as one graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeAlias

import dask
import dask.array as da
import numpy as np

from manyview._rows import mean_and_scatter
from manyview._scaling import ViewScale
from manyview._solvers._cluster_sums import ClusterSums, Moves, SweepOutcome
from manyview._solvers._local import LocalSamples
from manyview._solvers._nsmvc import LoopState
from manyview._solvers._samples import LossSummary
from manyview._solvers._state import SampleState
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
    reports = map_parts(attrgetter("report"), parts)
    *kept, report = dask.persist(*parts, merged(reports))
    return kept, report.compute()


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

    @cached_property
    def means_and_scatter(self) -> tuple[tuple[FloatArray, ...], FloatArray]:
        """Mean scaled row of each view, and (n_views,) summed squared distances to it.

        Taken by one pass over the rows, at the first use.
        """
        totals = merged(map_parts(_blocks.totals_of, self.rows)).compute()
        found = [mean_and_scatter(*of_view) for of_view in totals]
        return tuple(mean for mean, _ in found), np.array([total for _, total in found])

    def concatenate(
        self,
        pieces: Sequence[Any],
        dtype: Any,
        *,
        before: tuple[int, ...] = (),
        after: tuple[int, ...] = (),
    ) -> Any:
        """A dask array of what parts gave; lengths of axes before and after samples."""
        arrays = [
            da.from_delayed(piece, (*before, n_rows, *after), dtype)
            for piece, n_rows in zip(pieces, self.lengths, strict=True)
        ]
        return da.concatenate(arrays, axis=len(before))


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
        # Writes each part, by its number, at the end of the next sweep.
        self.save: Callable[[int, SampleState], None] | None = None

    @property
    def labels(self) -> Any:
        """(n_samples,), as a dask array."""
        labels = map_parts(attrgetter("state.labels"), self.parts)
        return self.data.concatenate(labels, np.int32).persist()

    @property
    def joined_pace(self) -> Any:
        """(n_views, n_samples), as a dask array."""
        paces = map_parts(attrgetter("state.joined_pace"), self.parts)
        n_views = len(self.energy)
        return self.data.concatenate(paces, np.int16, before=(n_views,)).persist()

    @property
    def scatter(self) -> FloatArray:
        return self.data.means_and_scatter[1]

    def measure(self, centers: tuple[FloatArray, ...]) -> LossSummary:
        report: LossSummary = self._run(LocalSamples.measure, centers)
        return report

    def select(self, thresholds: FloatArray, pace: int) -> None:
        change, self.energy = self._run(_blocks.select, thresholds, pace)
        self.clusters.add(change)

    def view_losses(self, centers: tuple[FloatArray, ...]) -> FloatArray:
        def measured(v: int, means: FloatArray) -> float:
            return float(self._run(LocalSamples.loss_of_selected, v, means))

        return self.clusters.view_losses(self.energy, centers, measured)

    def sweep(
        self,
        centers: tuple[FloatArray, ...],
        view_losses: FloatArray,
        exponents: FloatArray,
    ) -> SweepOutcome:
        step = (centers, view_losses, exponents)
        report = self._run(LocalSamples.sweep_at_once, *step, save=self.save)
        moves = Moves(clusters=self.clusters, view_losses=view_losses.copy())
        moves.add(report)
        return moves.outcome()

    def _run(
        self, operation: Callable[..., Any], *arguments: Any, save: Any = None
    ) -> Any:
        """Run an operation as one graph; new states stay on the workers."""
        columns = (self.data.rows, self.parts, range(len(self.parts)))
        same = [operation, arguments, self.n_clusters, save]
        parts = map_parts(_blocks.operate, *columns, same=same)
        self.parts, report = run_parts(parts)
        return report


# Where a restart stands: its samples, and its loop.
Run: TypeAlias = tuple[DaskSamples, LoopState]
