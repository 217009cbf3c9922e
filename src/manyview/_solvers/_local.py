"""Samples on one machine: labels, losses and weights, processed block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue

import numpy as np

from manyview._numerics import _assign
from manyview._numerics._selection import select_rows
from manyview._numerics._soft import SAME_LOSS
from manyview._rows import PreparedCenters, Rows
from manyview._solvers._cluster_sums import ClusterSums, Moves, SweepOutcome
from manyview._solvers._samples import LossSummary
from manyview._solvers._screen import Screen
from manyview._solvers._state import SampleState
from manyview._solvers._table import (
    FEWEST_BLOCKS,
    DistanceTable,
    loaded_ahead,
    make_tables,
    sample_blocks,
)
from manyview._threads import Result, map_threads
from manyview._typing import FloatArray, IntArray

# Rows refined together when the sequential sweep meets a doubtful one: what makes one
# doubtful (ties, few samples) mostly holds for its neighbours too.
REFINE_AHEAD = 16
# Spans that a majorizing sweep is cut into: enough for threads to end together. Each
# has sums of its own, which together have at most so many elements.
N_SPANS = 16
SPAN_SUMS = 1 << 25
# What rounding may do to bounds that nothing else loosens.
TANGENT_SLACK = 1.0 + 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class _Step:
    """What stays fixed during a sweep.

    view_losses, exponents : (n_views,), at the start; slack : see `bound_slack`.
    screen : None where all centres may have come closer.
    out_losses : (n_views, n_samples), filled with the losses after the sweep, if given.
    """

    centers: list[PreparedCenters]
    view_losses: FloatArray
    exponents: FloatArray
    slack: float
    screen: Screen | None
    out_losses: FloatArray | None


class LocalSamples:
    """State of one run on in-memory or memory-mapped views (see `Samples`).

    assignment : "sequential" or "majorize". n_threads changes no result. Samples
    take part by selection (`select`) or, with "majorize", by any weights (`weigh`).
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
        self.clusters = ClusterSums.zeros(
            [view.n_features for view in views], n_clusters
        )
        self.energy = np.zeros(len(views))
        self._assignment = assignment
        self._blocks = sample_blocks(views, n_clusters)
        self._n_threads = n_threads if len(self._blocks) >= FEWEST_BLOCKS else 1
        self._tables = make_tables(views, self._blocks, n_clusters, self._n_threads)
        # Its threads start with the first task and end with this object.
        self._pool = ThreadPoolExecutor(self._n_threads)
        self._complete = [bool(view.present.all()) for view in views]
        self._centers: tuple[FloatArray, ...] | None = None
        self._prepared: list[PreparedCenters] = []

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
        prepared = self._prepare(centers)

        def measure_span(blocks: list[slice], table: DistanceTable) -> None:
            for rows in blocks:
                for v in range(n_views):
                    self._losses(v, rows, prepared[v], table, losses[v, rows])

        for _ in self._by_span(measure_span, N_SPANS):
            pass
        lowest = losses.min(axis=1, initial=np.inf)
        highest = losses.max(axis=1, initial=-np.inf)
        for v, view in enumerate(self.views):
            if not self._complete[v]:
                known = losses[v, view.present]
                lowest[v] = known.min(initial=np.inf)
                highest[v] = known.max(initial=-np.inf)
        self.state.losses = losses
        return LossSummary(lowest=lowest, highest=highest, total=losses.sum(axis=1))

    def select(self, thresholds: FloatArray, pace: int) -> None:
        # Only samples whose selection changes touch the running sums.
        state = self.state
        losses, state.losses = state.losses, None
        if losses is None:  # Nothing was measured, so every sample is selected.
            losses = np.zeros(state.weights.shape)

        def select_view(v: int) -> None:
            view, selected = self.views[v], state.weights[v]
            limit, energy = (1.0 + SAME_LOSS) * thresholds[v], 0.0
            for block in self._blocks:
                found, signs, square = select_rows(
                    losses[v, block],
                    limit,
                    view.present[block],
                    view.sq_norms[block],
                    pace,
                    selected[block],
                    state.joined_pace[v, block],
                )
                energy += square
                if not found.size:
                    continue
                rows = block.start + found
                self.clusters.add_rows(
                    v,
                    view,
                    self._tables[0].read(v, rows),
                    np.arange(len(rows)),
                    self.labels[None, rows],
                    signs[None],
                )
                state.bounds.forget(rows)
            self.energy[v] = energy

        self._by_view(select_view)

    def weigh(self, weights: FloatArray) -> None:
        """Let samples take part with weights (n_views, n_samples), 0 where missing.

        `clusters` is not kept up to date then: when all weights change, sums are better
        taken anew (`cluster_sums`).
        """
        self.state.weights = weights
        self.state.bounds.forget()

    def view_losses(self, centers: tuple[FloatArray, ...]) -> FloatArray:
        return self.clusters.view_losses(self.energy, centers, self.loss_of_selected)

    def loss_of_selected(self, v: int, centers: FloatArray) -> float:
        """phi of view v by a pass over its rows."""
        selected, prepared = self.state.selected[v], self.views[v].prepare(centers)
        total = 0.0
        for rows in self._blocks:
            losses = np.empty(rows.stop - rows.start)
            self._losses(v, rows, prepared, self._tables[0], losses)
            total += float(losses[selected[rows]].sum())
        return total

    def sweep(
        self,
        centers: tuple[FloatArray, ...],
        view_losses: FloatArray,
        exponents: FloatArray,
    ) -> SweepOutcome:
        moves = Moves(clusters=self.clusters, view_losses=view_losses.copy())
        if self._assignment == "sequential":
            step = self._begin_sweep(centers, view_losses, exponents)
            for rows, table, loaded in self._loaded_in_order(step):
                self._assign_in_turn(rows, step, table, loaded, moves)
        else:
            moves.add(self.sweep_at_once(centers, view_losses, exponents))
        return moves.outcome(view_losses)

    def sweep_at_once(
        self,
        centers: tuple[FloatArray, ...],
        view_losses: FloatArray,
        exponents: FloatArray,
        out_losses: FloatArray | None = None,
    ) -> Moves:
        """The majorizing step: moves labels and returns the changes of the sums.

        After `weigh`, `out_losses` (n_views, n_samples) may be given to be filled with
        the losses of all samples in the same pass.

        Spans of blocks run in parallel and their sums are added in order. The spans,
        and so the rounding of the sums, do not depend on the threads.
        """
        step = self._begin_sweep(centers, view_losses, exponents, out_losses)

        def run(blocks: list[slice], table: DistanceTable) -> Moves:
            moves = Moves.none(self.clusters)
            for rows in blocks:
                self._assign_at_once(rows, step, table, moves)
            return moves

        width = sum(sums.size for sums in self.clusters.sums)
        total = Moves.none(self.clusters)
        for moves in self._by_span(run, int(np.clip(SPAN_SUMS // width, 1, N_SPANS))):
            total.add(moves)
        return total

    def _begin_sweep(
        self,
        centers: tuple[FloatArray, ...],
        view_losses: FloatArray,
        exponents: FloatArray,
        out_losses: FloatArray | None = None,
    ) -> _Step:
        prepared = self._prepare(centers)
        slack = self.state.bounds.renew(
            self.views, prepared, self.labels, view_losses, exponents
        )
        finite = np.isfinite(slack)
        shifts = self.state.bounds.shifts if finite else None
        screen = Screen.of(self.views, centers, shifts)
        return _Step(
            centers=prepared,
            view_losses=view_losses,
            exponents=exponents,
            slack=slack,
            screen=screen,
            out_losses=out_losses,
        )

    def _loaded_in_order(
        self, step: _Step
    ) -> Iterator[tuple[slice, DistanceTable, IntArray]]:
        """Block by block, a table with the rows in doubt, and these rows.

        Centres, and the bounds of a block that is yet to come, do not change during the
        sweep.
        """

        def load(rows: slice, table: DistanceTable) -> IntArray:
            doubtful = self._doubtful(rows, step, step.slack, table)
            if not doubtful.size:
                return doubtful
            return table.load_some(rows, doubtful, step.centers)

        return loaded_ahead(self._blocks, self._tables, load, self._pool)

    def _assign_in_turn(
        self,
        rows: slice,
        step: _Step,
        table: DistanceTable,
        loaded: IntArray,
        moves: Moves,
    ) -> None:
        """The sequential sweep over one block, of which some rows are loaded."""
        if not loaded.size:
            return
        bounds, size = self.state.bounds, rows.stop - rows.start
        slots = _slots(loaded, size)
        before, row = self.labels[rows].copy(), 0
        while True:
            row = _assign.sweep_sequential(
                table.distances,
                table.rounding,
                table.exact,
                slots,
                self.state.selected[:, rows],
                step.exponents,
                bounds.anchor,
                bounds.widest,
                row,
                moves.view_losses,
                self.labels[rows],
                bounds.upper[rows],
                bounds.lower[rows],
            )
            if row < size and slots[row] >= 0:
                last = min(slots[row] + REFINE_AHEAD, len(loaded))
                table.refine(np.arange(slots[row], last))
                continue
            self._move(rows, loaded, before, table, moves)
            if row == size:
                return
            # The slopes drifted past what the bounds allow. They may do so again: load
            # what twice the drift would leave in doubt.
            drifted = bounds.slack(moves.view_losses, step.exponents)
            limit = max(drifted, drifted + (drifted - step.slack))
            upper, lower = bounds.upper[rows][row:], bounds.lower[rows][row:]
            found = np.empty(size - row, dtype=np.intp)
            n_found = _assign.doubtful_rows(upper, lower, limit, found)
            loaded = table.load_some(rows, row + found[:n_found], step.centers)
            slots = _slots(loaded, size)
            before = self.labels[rows].copy()

    def _assign_at_once(
        self, rows: slice, step: _Step, table: DistanceTable, moves: Moves
    ) -> None:
        """The majorizing step on one block."""
        bounds = self.state.bounds
        # The tangent is the whole criterion here: it neither drifts nor bends.
        slack = TANGENT_SLACK if np.isfinite(step.slack) else np.inf
        doubtful = self._doubtful(rows, step, slack, table)
        if not doubtful.size:
            return
        loaded = table.load_some(rows, doubtful, step.centers)
        before = self.labels[rows].copy()
        pending = np.ones(len(loaded), dtype=bool)
        while _assign.sweep_majorize(
            table.distances,
            table.rounding,
            table.exact,
            loaded,
            self.state.weights[:, rows],
            step.view_losses,
            step.exponents,
            pending,
            moves.view_losses,
            self.labels[rows],
            bounds.upper[rows],
            bounds.lower[rows],
        ):
            table.refine(np.flatnonzero(pending))
        self._move(rows, loaded, before, table, moves)
        if step.out_losses is not None:
            # No bound is known after `weigh`, so the table holds the whole block.
            for v, view in enumerate(self.views):
                out = step.out_losses[v, rows]
                labels = self.labels[rows]
                view.losses(table.blocks[v], rows, step.centers[v], labels, out)

    def _doubtful(
        self, rows: slice, step: _Step, slack: float, table: DistanceTable
    ) -> IntArray:
        """Rows of the block that the bounds do not settle."""
        bounds = self.state.bounds
        upper, lower = bounds.upper[rows], bounds.lower[rows]
        found = np.empty(rows.stop - rows.start, dtype=np.intp)
        doubtful = found[: _assign.doubtful_rows(upper, lower, slack, found)]
        if step.screen is not None and doubtful.size:
            step.screen.tighten(
                bounds, rows, doubtful, slack, self.labels, self.state.selected, table
            )
            doubtful = found[: _assign.doubtful_rows(upper, lower, slack, found)]
        return doubtful

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
        slots, clusters, weights = _assign.find_moves(
            loaded, before, self.labels[rows], self.state.weights[:, rows]
        )
        if not slots.size:
            return
        moves.n_moved += len(slots)
        for v, view in enumerate(self.views):
            block = table.blocks[v]
            moves.clusters.add_rows(v, view, block, slots, clusters, weights[v])

    def _by_view(self, function: Callable[[int], Result]) -> list[Result]:
        """What `function` returns for every view, by threads."""
        sizes = [view.n_features for view in self.views]
        return map_threads(function, range(len(sizes)), self._n_threads, sizes)

    def _by_span(
        self, function: Callable[[list[slice], DistanceTable], Result], n_spans: int
    ) -> Iterator[Result]:
        """What `function` returns for every span of blocks, in order, by threads.

        It gets a table that nobody else works on.
        """
        size = -(-len(self._blocks) // n_spans)
        starts = range(0, len(self._blocks), size)
        spans = [self._blocks[start : start + size] for start in starts]
        if self._n_threads == 1:
            for span in spans:
                yield function(span, self._tables[0])
            return
        free: SimpleQueue[DistanceTable] = SimpleQueue()
        for table in self._tables:
            free.put(table)

        def run(span: list[slice]) -> Result:
            table = free.get()
            try:
                return function(span, table)
            finally:
                free.put(table)

        yield from self._pool.map(run, spans)

    def _prepare(self, centers: tuple[FloatArray, ...]) -> list[PreparedCenters]:
        """Centres for use with any block; a pace begins with those of the last."""
        if centers is not self._centers:
            zipped = zip(self.views, centers, strict=True)
            self._prepared = [view.prepare(c) for view, c in zipped]
            self._centers = centers
        return self._prepared

    def _losses(
        self,
        v: int,
        rows: slice,
        centers: PreparedCenters,
        table: DistanceTable,
        out: FloatArray,
    ) -> None:
        """The loss of every sample of a block in view v; 0 where it lacks it."""
        view = self.views[v]
        view.losses(table.read(v, rows), rows, centers, self.labels[rows], out)
        if not self._complete[v]:
            out[~view.present[rows]] = 0.0


def _slots(loaded: IntArray, size: int) -> IntArray:
    """(size,), the slot of each row of a block, -1 for none."""
    slots = np.full(size, -1)
    slots[loaded] = np.arange(len(loaded))
    return slots
