"""Samples of one machine: labels, losses and selections, worked on block by block.

The NSMVC loop never touches rows; it asks a store like this one for four operations
(`measure`, `select`, `view_losses`, `sweep`) and gets sums back.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Self

import numpy as np

from manyview._numerics import _assign, _centers
from manyview._rows import PreparedCenters, Rows
from manyview._solvers._bounds import Bounds
from manyview._solvers._table import DistanceTable, sample_blocks
from manyview._typing import BoolArray, FloatArray, IntArray

# Below this share of a view's energy, the loss by subtraction has lost too many
# digits, and a pass over the data is worth its while.
CANCELLATION = 1e-6
# Rows refined together when the sequential sweep meets a doubtful one: what makes one
# doubtful (ties, few samples) mostly holds for its neighbours too.
REFINE_AHEAD = 16
# Blocks that one thread takes at a time.
SPAN_BLOCKS = 16
# What rounding may do to bounds that nothing else loosens.
TANGENT_SLACK = 1.0 + 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class LossSummary:
    """Range and sum of the sample losses of each view, (n_views,) each."""

    lowest: FloatArray
    highest: FloatArray
    total: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepOutcome:
    """Labels moved by a sweep, and the view losses after it."""

    n_moved: int
    view_losses: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class _Step:
    """What stays fixed during a sweep.

    view_losses, exponents : (n_views,), at the start; slack : see `bound_slack`.
    """

    centers: list[PreparedCenters]
    view_losses: FloatArray
    exponents: FloatArray
    slack: float


@dataclass(kw_only=True, slots=True)
class _Moves:
    """Running sums, counts and view losses that moves are booked into."""

    sums: tuple[FloatArray, ...]
    counts: IntArray
    view_losses: FloatArray
    n_moved: int = 0

    @classmethod
    def into(
        cls, sums: tuple[FloatArray, ...], counts: IntArray, view_losses: FloatArray
    ) -> Self:
        """Book straight into these arrays."""
        return cls(sums=sums, counts=counts, view_losses=view_losses)

    @classmethod
    def empty(cls, sums: tuple[FloatArray, ...], counts: IntArray) -> Self:
        """Book changes only, to be added later."""
        return cls(
            sums=tuple(np.zeros_like(total) for total in sums),
            counts=np.zeros_like(counts),
            view_losses=np.zeros(len(sums)),
        )

    def add(self, other: Self) -> None:
        if not other.n_moved:
            return
        for mine, theirs in zip(self.sums, other.sums, strict=True):
            mine += theirs
        self.counts += other.counts
        self.view_losses += other.view_losses
        self.n_moved += other.n_moved

    def outcome(self) -> SweepOutcome:
        losses = np.maximum(self.view_losses, 0.0)
        return SweepOutcome(n_moved=self.n_moved, view_losses=losses)


class LocalSamples:
    """State of one run on in-memory or memory-mapped views.

    labels : (n_samples,); losses, selected, joined_pace : (n_views, n_samples).
    sums : per view (n_clusters, n_features_v), of the selected rows of each cluster;
    counts : (n_views, n_clusters), how many those are.
    """

    def __init__(
        self,
        views: tuple[Rows, ...],
        labels: IntArray,
        n_clusters: int,
        n_threads: int = 1,
    ) -> None:
        shape = (len(views), len(labels))
        self.views = views
        self.labels = labels.astype(np.int32)
        self.losses = np.zeros(shape)
        self.selected: BoolArray = np.zeros(shape, dtype=bool)
        self.joined_pace = np.zeros(shape, dtype=np.int16)
        self.sums = tuple(np.zeros((n_clusters, view.n_features)) for view in views)
        self.counts = np.zeros((len(views), n_clusters), dtype=np.int64)
        self._energy = np.zeros(len(views))
        self._bounds = Bounds(views, len(labels))
        self._blocks = sample_blocks(views)
        self._n_threads = n_threads
        self._tables = [
            DistanceTable(views, self._blocks[0].stop, n_clusters)
            for _ in range(n_threads)
        ]

    @property
    def n_selected(self) -> IntArray:
        """(n_views,), samples taking part in each view."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def scatter(self) -> FloatArray:
        """(n_views,), summed squared distance to the overall mean."""
        return np.array([view.scatter for view in self.views])

    def measure(self, centers: tuple[FloatArray, ...]) -> LossSummary:
        """Losses of all samples around the given centres, by one pass."""
        lowest, highest = np.zeros(len(self.views)), np.zeros(len(self.views))
        for v, view in enumerate(self.views):
            self._measure_view(v, centers[v])
            known = self.losses[v]
            if view.present is not None:
                known = known[view.present]
            if known.size:
                lowest[v], highest[v] = known.min(), known.max()
        total = self.losses.sum(axis=1)
        return LossSummary(lowest=lowest, highest=highest, total=total)

    def select(self, thresholds: FloatArray, pace: int) -> None:
        """Let every sample with ``loss <= threshold`` take part (Algorithm 1).

        Only samples whose selection changes touch the running sums.
        """
        self._bounds.forget()
        for v, view in enumerate(self.views):
            chosen = self.losses[v] <= thresholds[v]
            if view.present is not None:
                chosen &= view.present
            before = self.selected[v]
            self._add(v, np.flatnonzero(chosen & ~before), 1)
            self._add(v, np.flatnonzero(before & ~chosen), -1)
            self.selected[v] = chosen
            self.joined_pace[v, chosen & (self.joined_pace[v] == 0)] = pace
            self._energy[v] = view.sq_norms[chosen].sum()

    def view_losses(self, centers: tuple[FloatArray, ...]) -> FloatArray:
        """phi of Eq. (5), where `centers` are the means of the selected samples."""
        losses = np.empty(len(self.views))
        for v in range(len(self.views)):
            loss = _centers.within_loss(self._energy[v], self.counts[v], centers[v])
            if loss < CANCELLATION * self._energy[v]:
                self._measure_view(v, centers[v])
                loss = float(self.losses[v, self.selected[v]].sum())
            losses[v] = loss
        return losses

    def sweep(
        self,
        centers: tuple[FloatArray, ...],
        view_losses: FloatArray,
        exponents: FloatArray,
        assignment: str,
    ) -> SweepOutcome:
        """One assignment step over all samples."""
        slack = self._bounds.renew(centers, self.labels, view_losses, exponents)
        step = _Step(
            centers=[v.prepare(c) for v, c in zip(self.views, centers, strict=True)],
            view_losses=view_losses,
            exponents=exponents,
            slack=slack,
        )
        if assignment == "sequential":
            return self._sweep_in_turn(step)
        return self._sweep_at_once(step)

    def _sweep_in_turn(self, step: _Step) -> SweepOutcome:
        moves = _Moves.into(self.sums, self.counts, step.view_losses.copy())
        for rows in self._blocks:
            self._assign_in_turn(rows, step, self._tables[0], moves)
        return moves.outcome()

    def _sweep_at_once(self, step: _Step) -> SweepOutcome:
        """Spans of blocks in parallel, their sums added in order.

        The spans, and so the rounding of the sums, do not depend on the threads.
        """
        free: SimpleQueue[DistanceTable] = SimpleQueue()
        for table in self._tables:
            free.put(table)

        def run(blocks: list[slice]) -> _Moves:
            moves, table = _Moves.empty(self.sums, self.counts), free.get()
            for rows in blocks:
                self._assign_at_once(rows, step, table, moves)
            free.put(table)
            return moves

        spans = [
            self._blocks[start : start + SPAN_BLOCKS]
            for start in range(0, len(self._blocks), SPAN_BLOCKS)
        ]
        total = _Moves.into(self.sums, self.counts, step.view_losses.copy())
        with ThreadPoolExecutor(self._n_threads) as pool:
            for moves in pool.map(run, spans) if len(spans) > 1 else map(run, spans):
                total.add(moves)
        return total.outcome()

    def _assign_in_turn(
        self, rows: slice, step: _Step, table: DistanceTable, moves: _Moves
    ) -> None:
        """The sequential sweep over one block."""
        bounds, size = self._bounds, rows.stop - rows.start
        loaded = self._doubtful(rows, step.slack)
        if not loaded.size:
            return
        slots = np.full(size, -1)
        slots[loaded] = np.arange(len(loaded))
        _load(table, rows, loaded, step)
        before, at = self.labels[rows].copy(), 0
        while True:
            at = _assign.sweep_sequential(
                table.distances,
                table.rounding,
                table.exact,
                slots,
                self.selected[:, rows],
                step.exponents,
                bounds.anchor,
                bounds.widest,
                at,
                moves.view_losses,
                self.labels[rows],
                bounds.upper[rows],
                bounds.lower[rows],
            )
            if at < size and slots[at] >= 0:
                last = min(slots[at] + REFINE_AHEAD, len(loaded))
                table.refine(np.arange(slots[at], last))
                continue
            self._move(rows, loaded, before, table, moves)
            if at == size:
                return
            # The slopes drifted past what the bounds allow: look at all that is left.
            loaded = np.arange(at, size)
            slots[at:] = loaded - at
            _load(table, rows, loaded, step)
            before = self.labels[rows].copy()

    def _assign_at_once(
        self, rows: slice, step: _Step, table: DistanceTable, moves: _Moves
    ) -> None:
        """The majorizing step on one block."""
        bounds = self._bounds
        # The tangent is the whole criterion here: it neither drifts nor bends.
        slack = TANGENT_SLACK if np.isfinite(step.slack) else np.inf
        loaded = self._doubtful(rows, slack)
        if not loaded.size:
            return
        _load(table, rows, loaded, step)
        before = self.labels[rows].copy()
        pending = np.ones(len(loaded), dtype=bool)
        while _assign.sweep_majorize(
            table.distances,
            table.rounding,
            table.exact,
            loaded,
            self.selected[:, rows],
            step.view_losses,
            step.exponents,
            bounds.anchor,
            pending,
            moves.view_losses,
            self.labels[rows],
            bounds.upper[rows],
            bounds.lower[rows],
        ):
            table.refine(np.flatnonzero(pending))
        self._move(rows, loaded, before, table, moves)

    def _doubtful(self, rows: slice, slack: float) -> IntArray:
        """Rows of the block whose label the bounds do not settle."""
        found = np.empty(rows.stop - rows.start, dtype=np.intp)
        upper, lower = self._bounds.upper[rows], self._bounds.lower[rows]
        return found[: _assign.doubtful_rows(upper, lower, slack, found)]

    def _move(
        self,
        rows: slice,
        loaded: IntArray,
        before: IntArray,
        table: DistanceTable,
        moves: _Moves,
    ) -> None:
        """Carry the sums of moved samples from their old clusters to the new.

        loaded : the block's rows that have a slot in the table, in slot order.
        """
        after = self.labels[rows]
        slots = np.flatnonzero(after[loaded] != before[loaded])
        if not slots.size:
            return
        moves.n_moved += len(slots)
        for v, view in enumerate(self.views):
            taking_part = slots[self.selected[v, rows][loaded[slots]]]
            for labels, sign in ((before, -1), (after, 1)):
                clusters = labels[loaded[taking_part]]
                view.add(table.blocks[v], taking_part, clusters, sign, moves.sums[v])
                np.add.at(moves.counts[v], clusters, sign)

    def _add(self, v: int, rows: IntArray, sign: int) -> None:
        """Add samples to the running sums of view v (or take them away)."""
        size = self._blocks[0].stop
        for start in range(0, len(rows), size):
            chunk = rows[start : start + size]
            block = self._tables[0].read(v, chunk)
            clusters = self.labels[chunk]
            positions = np.arange(len(chunk))
            self.views[v].add(block, positions, clusters, sign, self.sums[v])
            np.add.at(self.counts[v], clusters, sign)

    def _measure_view(self, v: int, centers: FloatArray) -> None:
        view = self.views[v]
        prepared = view.prepare(centers)
        for rows in self._blocks:
            block = self._tables[0].read(v, rows)
            labels, out = self.labels[rows], self.losses[v, rows]
            view.losses(block, rows, prepared, labels, out)
        if view.present is not None:
            self.losses[v, ~view.present] = 0.0


def _load(table: DistanceTable, rows: slice, wanted: IntArray, step: _Step) -> None:
    whole = len(wanted) == rows.stop - rows.start
    table.load(rows if whole else rows.start + wanted, step.centers)
