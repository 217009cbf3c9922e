"""Samples of one machine: labels, losses and selections, worked on block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Self

import numpy as np

from manyview._numerics import _assign, _centers
from manyview._numerics._soft import SAME_LOSS
from manyview._rows import PreparedCenters, Rows
from manyview._solvers._bounds import Bounds
from manyview._solvers._samples import LossSummary, SweepOutcome
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
class _Step:
    """What stays fixed during a sweep.

    view_losses, exponents : (n_views,), at the start; slack : see `bound_slack`.
    """

    centers: list[PreparedCenters]
    view_losses: FloatArray
    exponents: FloatArray
    slack: float


@dataclass(kw_only=True, slots=True)
class Moves:
    """Sums, counts and view losses that moves are booked into.

    sums : per view (n_clusters, n_features_v); counts : (n_views, n_clusters);
    view_losses : (n_views,).
    """

    sums: tuple[FloatArray, ...]
    counts: IntArray
    view_losses: FloatArray
    n_moved: int = 0

    @classmethod
    def into(
        cls, sums: tuple[FloatArray, ...], counts: IntArray, view_losses: FloatArray
    ) -> Moves:
        """Book straight into these arrays."""
        return cls(sums=sums, counts=counts, view_losses=view_losses)

    @classmethod
    def empty(cls, sums: tuple[FloatArray, ...], counts: IntArray) -> Moves:
        """Book changes only, to be added later."""
        return cls(
            sums=tuple(np.zeros_like(total) for total in sums),
            counts=np.zeros_like(counts),
            view_losses=np.zeros(len(sums)),
        )

    def add(self, other: Moves) -> None:
        if not other.n_moved:
            return
        for mine, theirs in zip(self.sums, other.sums, strict=True):
            mine += theirs
        self.counts += other.counts
        self.view_losses += other.view_losses
        self.n_moved += other.n_moved

    def merge(self, other: Moves) -> Moves:
        """Both, as one; neither changes."""
        total = Moves.empty(self.sums, self.counts)
        total.add(self)
        total.add(other)
        return total

    def outcome(self) -> SweepOutcome:
        losses = np.maximum(self.view_losses, 0.0)
        return SweepOutcome(n_moved=self.n_moved, view_losses=losses)


@dataclass(kw_only=True, slots=True)
class SampleState:
    """What a run remembers of its samples, apart from the views.

    labels : (n_samples,); selected, joined_pace : (n_views, n_samples).
    losses : (n_views, n_samples), from `measure` to `select`, else None.
    """

    labels: IntArray
    selected: BoolArray
    joined_pace: IntArray
    bounds: Bounds
    losses: FloatArray | None = None

    @classmethod
    def begin(cls, labels: IntArray, n_views: int) -> Self:
        """Nobody takes part yet."""
        shape = (n_views, len(labels))
        return cls(
            labels=labels.astype(np.int32),
            selected=np.zeros(shape, dtype=bool),
            joined_pace=np.zeros(shape, dtype=np.int16),
            bounds=Bounds(len(labels), n_views),
        )

    @property
    def nbytes(self) -> int:
        bounds = self.bounds.upper.nbytes + self.bounds.lower.nbytes
        losses = 0 if self.losses is None else self.losses.nbytes
        rest = self.labels.nbytes + self.selected.nbytes + self.joined_pace.nbytes
        return bounds + losses + rest

    def copy(self) -> SampleState:
        """The same, to be changed on its own."""
        return SampleState(
            labels=self.labels.copy(),
            selected=self.selected.copy(),
            joined_pace=self.joined_pace.copy(),
            bounds=self.bounds.copy(),
            losses=self.losses,
        )


class LocalSamples:
    """State of one run on in-memory or memory-mapped views (see `Samples`).

    assignment : "sequential" or "majorize"; n_threads speeds up the latter.
    """

    def __init__(
        self,
        views: tuple[Rows, ...],
        state: SampleState,
        n_clusters: int,
        *,
        assignment: str = "majorize",
        n_threads: int = 1,
    ) -> None:
        self.views = views
        self.state = state
        self.sums: tuple[FloatArray, ...] = tuple(
            np.zeros((n_clusters, view.n_features)) for view in views
        )
        self.counts: IntArray = np.zeros((len(views), n_clusters), dtype=np.int64)
        self.energy = np.zeros(len(views))
        self._assignment = assignment
        self._blocks = sample_blocks(views)
        self._n_threads = n_threads
        self._tables = [
            DistanceTable(views, self._blocks[0].stop, n_clusters)
            for _ in range(n_threads)
        ]

    @property
    def labels(self) -> IntArray:
        return self.state.labels

    @property
    def joined_pace(self) -> IntArray:
        return self.state.joined_pace

    @property
    def scatter(self) -> FloatArray:
        return np.array([view.scatter for view in self.views])

    def measure(self, centers: tuple[FloatArray, ...]) -> LossSummary:
        n_views = len(self.views)
        losses = np.empty((n_views, len(self.labels)))
        lowest, highest = np.full(n_views, np.inf), np.full(n_views, -np.inf)
        for v, view in enumerate(self.views):
            for rows, found in self._losses(v, centers[v]):
                losses[v, rows] = found
            known = losses[v] if view.present is None else losses[v][view.present]
            lowest[v] = known.min(initial=np.inf)
            highest[v] = known.max(initial=-np.inf)
        self.state.losses = losses
        return LossSummary(lowest=lowest, highest=highest, total=losses.sum(axis=1))

    def select(self, thresholds: FloatArray, pace: int) -> None:
        # Only samples whose selection changes touch the running sums.
        state = self.state
        losses, state.losses = state.losses, None
        if losses is None:  # Nothing was measured, so nobody is held back.
            losses = np.broadcast_to(0.0, state.selected.shape)
        state.bounds.forget()
        for v, view in enumerate(self.views):
            chosen = losses[v] <= (1.0 + SAME_LOSS) * thresholds[v]
            if view.present is not None:
                chosen &= view.present
            before = state.selected[v]
            self._add(v, np.flatnonzero(chosen & ~before), 1)
            self._add(v, np.flatnonzero(before & ~chosen), -1)
            state.selected[v] = chosen
            state.joined_pace[v, chosen & (state.joined_pace[v] == 0)] = pace
            self.energy[v] = view.sq_norms[chosen].sum()

    def view_losses(self, centers: tuple[FloatArray, ...]) -> FloatArray:
        return losses_around_means(
            self.energy, self.counts, centers, self.loss_of_selected
        )

    def loss_of_selected(self, v: int, centers: FloatArray) -> float:
        """phi of view v by a pass over its rows."""
        selected = self.state.selected[v]
        found = self._losses(v, centers)
        return sum(float(losses[selected[rows]].sum()) for rows, losses in found)

    def sweep(
        self,
        centers: tuple[FloatArray, ...],
        view_losses: FloatArray,
        exponents: FloatArray,
    ) -> SweepOutcome:
        if self._assignment == "sequential":
            step = self._begin_sweep(centers, view_losses, exponents)
            moves = Moves.into(self.sums, self.counts, view_losses.copy())
            for rows in self._blocks:
                self._assign_in_turn(rows, step, self._tables[0], moves)
            return moves.outcome()
        moves = Moves.into(self.sums, self.counts, view_losses.copy())
        moves.add(self.sweep_at_once(centers, view_losses, exponents))
        return moves.outcome()

    def sweep_at_once(
        self,
        centers: tuple[FloatArray, ...],
        view_losses: FloatArray,
        exponents: FloatArray,
    ) -> Moves:
        """The majorizing step: moves labels, and returns what that does to the sums.

        Spans of blocks run in parallel and their sums are added in order. The spans,
        and so the rounding of the sums, do not depend on the threads.
        """
        step = self._begin_sweep(centers, view_losses, exponents)
        free: SimpleQueue[DistanceTable] = SimpleQueue()
        for table in self._tables:
            free.put(table)

        def run(blocks: list[slice]) -> Moves:
            moves, table = Moves.empty(self.sums, self.counts), free.get()
            for rows in blocks:
                self._assign_at_once(rows, step, table, moves)
            free.put(table)
            return moves

        spans = [
            self._blocks[start : start + SPAN_BLOCKS]
            for start in range(0, len(self._blocks), SPAN_BLOCKS)
        ]
        total = Moves.empty(self.sums, self.counts)
        if self._n_threads == 1 or len(spans) == 1:
            for moves in map(run, spans):
                total.add(moves)
            return total
        with ThreadPoolExecutor(self._n_threads) as pool:
            for moves in pool.map(run, spans):
                total.add(moves)
        return total

    def _begin_sweep(
        self,
        centers: tuple[FloatArray, ...],
        view_losses: FloatArray,
        exponents: FloatArray,
    ) -> _Step:
        slack = self.state.bounds.renew(
            self.views, centers, self.labels, view_losses, exponents
        )
        return _Step(
            centers=[v.prepare(c) for v, c in zip(self.views, centers, strict=True)],
            view_losses=view_losses,
            exponents=exponents,
            slack=slack,
        )

    def _assign_in_turn(
        self, rows: slice, step: _Step, table: DistanceTable, moves: Moves
    ) -> None:
        """The sequential sweep over one block."""
        bounds, size = self.state.bounds, rows.stop - rows.start
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
                self.state.selected[:, rows],
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
        self, rows: slice, step: _Step, table: DistanceTable, moves: Moves
    ) -> None:
        """The majorizing step on one block."""
        bounds = self.state.bounds
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
            self.state.selected[:, rows],
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
        upper, lower = self.state.bounds.upper[rows], self.state.bounds.lower[rows]
        return found[: _assign.doubtful_rows(upper, lower, slack, found)]

    def _move(
        self,
        rows: slice,
        loaded: IntArray,
        before: IntArray,
        table: DistanceTable,
        moves: Moves,
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
            taking_part = slots[self.state.selected[v, rows][loaded[slots]]]
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

    def _losses(
        self, v: int, centers: FloatArray
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Block by block, the loss of every sample in view v; 0 where it lacks it."""
        view = self.views[v]
        prepared = view.prepare(centers)
        for rows in self._blocks:
            losses = np.empty(rows.stop - rows.start)
            block = self._tables[0].read(v, rows)
            view.losses(block, rows, prepared, self.labels[rows], losses)
            if view.present is not None:
                losses[~view.present[rows]] = 0.0
            yield rows, losses


def losses_around_means(
    energy: FloatArray,
    counts: IntArray,
    centers: tuple[FloatArray, ...],
    measured: Callable[[int, FloatArray], float],
) -> FloatArray:
    """View losses from sums alone; `measured(v, centers)` where digits cancel."""
    losses = np.empty(len(centers))
    for v, means in enumerate(centers):
        losses[v] = _centers.within_loss(energy[v], counts[v], means)
        if losses[v] < CANCELLATION * energy[v]:
            losses[v] = measured(v, means)
    return losses


def _load(table: DistanceTable, rows: slice, wanted: IntArray, step: _Step) -> None:
    whole = len(wanted) == rows.stop - rows.start
    table.load(rows if whole else rows.start + wanted, step.centers)
