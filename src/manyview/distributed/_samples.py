"""Samples on a cluster: where runs begin, and every operation as one graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, TypeAlias

import dask
import dask.array as da
import numpy as np
from sklearn.utils.random import sample_without_replacement

from manyview._solvers._cluster_sums import ClusterSums, Moves, SweepOutcome
from manyview._solvers._local import LocalSamples
from manyview._solvers._nsmvc import LoopState
from manyview._solvers._samples import LossSummary
from manyview._solvers._start import N_DRAFTS, draft_seeds, seeding_rows, seeds_at
from manyview._solvers._state import SampleState
from manyview._typing import FloatArray
from manyview.distributed import _blocks
from manyview.distributed._data import DaskRows, map_parts, merged
from manyview.exceptions import ViewError

# Where a restart stands: its samples, and its loop.
Run: TypeAlias = "tuple[DaskSamples, LoopState]"
RandomState = np.random.RandomState


def begun(parts: Sequence[Any]) -> tuple[list[Any], Any]:
    """Parts that workers begin to compute, by one graph, and their merged report."""
    reports = map_parts(attrgetter("report"), parts)
    *kept, report = dask.persist(*parts, merged(reports))
    return kept, report


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
        return self.data.concatenate(labels, (-1,), np.int32).persist()

    @property
    def joined_pace(self) -> Any:
        """(n_views, n_samples), as a dask array."""
        paces = map_parts(attrgetter("state.joined_pace"), self.parts)
        shape = (len(self.energy), -1)
        return self.data.concatenate(paces, shape, np.int16).persist()

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
        return moves.outcome(view_losses)

    def _run(
        self, operation: Callable[..., Any], *arguments: Any, save: Any = None
    ) -> Any:
        """Run an operation as one graph; new states stay on the workers.

        Nothing here may refer to the parts before it while it runs: workers would keep
        the old states of all parts until it is over, beside the new ones.
        """
        same = [operation, arguments, self.n_clusters, save]
        numbers = range(len(self.parts))
        self.parts, report = begun(
            map_parts(_blocks.operate, self.data.rows, self.parts, numbers, same=same)
        )
        return report.compute()


def start_kmeans_plusplus(
    data: DaskRows,
    n_clusters: int,
    random_state: RandomState,
    *,
    n_drafts: int,
    project: bool,
) -> Run:
    """Seeds from a sample of the rows that fits this machine, as without a cluster."""
    rows = seeding_rows(data.n_samples, n_clusters, random_state)
    some = data.gather(np.arange(data.n_samples) if rows is None else rows)
    n_drafts = n_drafts if rows is None else N_DRAFTS
    seeds = draft_seeds(some, n_clusters, random_state, n_drafts, project=project)
    parts = map_parts(_blocks.begin_at_seeds, data.rows, same=[seeds])
    kept, sums = begun(parts)
    centers = sums.compute().means(seeds.centers(data.means_and_scatter[0]))
    return DaskSamples(data, kept, n_clusters), LoopState(centers=centers)


def start_random(data: DaskRows, n_clusters: int, random_state: RandomState) -> Run:
    """The paper's start. Not the draws of `NSMVC`: those take memory for all rows."""
    rows = sample_without_replacement(
        data.n_samples, n_clusters, random_state=random_state
    )
    some = data.gather(np.sort(rows))
    seeds = seeds_at(some, random_state.permutation(len(rows)))
    first_rows = np.cumsum([0, *data.lengths[:-1]]).tolist()
    same = [int(random_state.randint(2**31 - 1)), n_clusters]
    labels = map_parts(_blocks.random_labels, first_rows, data.lengths, same=same)
    parts = map_parts(_blocks.labelled, labels, same=[len(data.scales)])
    centers = seeds.centers(data.means_and_scatter[0])
    return DaskSamples(data, parts, n_clusters), LoopState(centers=centers)


def start_from_labels(data: DaskRows, labels: Any, n_clusters: int) -> Run:
    """Centres are the means of the given clusters, none of which may be empty."""
    pieces = _cut_labels(labels, data)
    kept, report = begun(map_parts(_blocks.begin, data.rows, pieces, same=[n_clusters]))
    sums = report.compute()
    n_used = np.count_nonzero(sums.masses.sum(axis=0))
    if n_used < n_clusters:
        msg = (
            f"init labels use {n_used} of n_clusters={n_clusters} clusters. "
            "Every cluster needs a first member."
        )
        raise ViewError(msg)
    return DaskSamples(data, kept, n_clusters), LoopState(centers=sums.means())


def labels_digest(labels: Any, data: DaskRows) -> str:
    """What tells starting labels from others."""
    digests = map_parts(_blocks.content_digest, _cut_labels(labels, data))
    return "".join(dask.compute(*digests))


def _cut_labels(labels: Any, data: DaskRows) -> list[Any]:
    """The labels of each part, lazily."""
    if not isinstance(labels, da.Array):
        labels = da.from_array(np.asarray(labels))
    if labels.shape != (data.n_samples,):
        msg = (
            f"init labels have shape {labels.shape}, expected ({data.n_samples},): one "
            "label per sample."
        )
        raise ViewError(msg)
    return list(labels.rechunk((data.lengths,)).to_delayed().ravel())
