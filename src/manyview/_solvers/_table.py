"""Distances of some samples to all centres, in all views."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import nullcontext
from math import prod
from typing import Any, TypeVar

import numpy as np

from manyview._rows import PreparedCenters, RowIndex, Rows, n_rows
from manyview._threads import available_threads, one_blas_thread
from manyview._typing import BoolArray, FloatArray, IntArray

# Features of a block, at least and at most, and its distances to centres. Smaller
# blocks are handled by the interpreter as often as by compiled code; in between, there
# are as many as threads can share evenly.
BLOCK_ELEMENTS = (1 << 20, 1 << 22)
N_BLOCKS = 8
BLOCK_DISTANCES = 1 << 22
BLOCK_ROWS = (128, 1 << 14)
# With fewer blocks, a pass is over before threads have started.
FEWEST_BLOCKS = 4
# Picking a row out of a block takes as long as comparing it with so many centres: where
# many rows are wanted, comparing them all is quicker.
PICKING = 5

Loaded = TypeVar("Loaded")


def sample_blocks(views: tuple[Rows, ...], n_clusters: int = 1) -> list[slice]:
    """Row slices whose features, and distances to so many centres, are not too many."""
    n_samples = views[0].n_samples
    width = sum(view.n_features for view in views)
    fewest, most = (elements // width for elements in BLOCK_ELEMENTS)
    even = min(max(-(-n_samples // N_BLOCKS), fewest), most)
    affordable = BLOCK_DISTANCES // (len(views) * n_clusters)
    step = min(max(min(even, affordable), BLOCK_ROWS[0]), BLOCK_ROWS[1])
    return [
        slice(start, min(start + step, n_samples))
        for start in range(0, n_samples, step)
    ]


class DistanceTable:
    """Working memory for a sweep: one slot per loaded sample.

    After `load`: blocks, one per view; distances, (n_views, n_slots, n_clusters);
    rounding, (n_views, n_slots), a bound on their errors; exact, (n_slots,) bool.
    """

    blocks: list[Any]
    distances: FloatArray
    rounding: FloatArray
    exact: BoolArray

    def __init__(self, views: tuple[Rows, ...], n_slots: int, n_clusters: int) -> None:
        self._views = views
        self._buffers = [view.buffer() for view in views]
        self._memory = np.zeros(len(views) * n_slots * n_clusters)
        self._all_rounding = np.zeros((len(views), n_slots))

    def read(self, v: int, rows: RowIndex) -> Any:
        """A block of view v, valid until the next read of that view."""
        return self._views[v].read(rows, self._buffers[v])

    def load(self, rows: RowIndex, centers: list[PreparedCenters]) -> None:
        """Fill the table for some samples, and at most `n_clusters` centres."""
        size = n_rows(rows)
        self._rows, self._centers = rows, centers
        shape = (len(self._views), size, len(centers[0].values))
        self.distances = self._memory[: prod(shape)].reshape(shape)
        self.rounding = self._all_rounding[:, :size]
        self.blocks, all_exact = [], True
        for v, view in enumerate(self._views):
            block = self.read(v, rows)
            exact = view.distances(
                block, rows, centers[v], self.distances[v], self.rounding[v]
            )
            self.blocks.append(block)
            all_exact = all_exact and exact
        self.exact = np.full(size, all_exact)

    def load_some(
        self, rows: slice, wanted: IntArray, centers: list[PreparedCenters]
    ) -> IntArray:
        """Fill the table for some rows of a block, or for all where that is quicker.

        wanted : their places in the block, ascending. Returns the places that have a
        slot, in the order of the slots.
        """
        size, n_clusters = rows.stop - rows.start, len(centers[0].values)
        if len(wanted) * (n_clusters + PICKING) > size * n_clusters:
            self.load(rows, centers)
            return np.arange(size)
        self.load(rows.start + wanted, centers)
        return wanted

    def refine(self, slots: IntArray) -> None:
        """Take the distances of some loaded samples anew, accurately."""
        for v, view in enumerate(self._views):
            view.refine(
                self.blocks[v],
                self._rows,
                slots,
                self._centers[v],
                self.distances[v],
                self.rounding[v],
            )
        self.exact[slots] = True


def make_tables(
    views: tuple[Rows, ...], blocks: list[slice], n_clusters: int, n_threads: int
) -> list[DistanceTable]:
    """A table to work on, and one per thread that loads ahead, if there are several."""
    n_tables = 1 if n_threads == 1 else n_threads + 1
    return [DistanceTable(views, blocks[0].stop, n_clusters) for _ in range(n_tables)]


def loaded_ahead(
    blocks: list[slice],
    tables: list[DistanceTable],
    load: Callable[[slice, DistanceTable], Loaded],
    pool: Executor,
) -> Iterator[tuple[slice, DistanceTable, Loaded]]:
    """Block by block, a table, and what `load` returned after loading it.

    All tables but one are loaded ahead by the threads of `pool`, if there are several.
    """
    if len(tables) == 1:
        for rows in blocks:
            yield rows, tables[0], load(rows, tables[0])
        return
    free = list(tables)
    ahead: deque[tuple[slice, DistanceTable, Future[Loaded]]] = deque()
    for rows in blocks:
        if not free:
            rows_before, table, loaded = ahead.popleft()
            yield rows_before, table, loaded.result()
            free.append(table)
        table = free.pop()
        ahead.append((rows, table, pool.submit(load, rows, table)))
    for rows, table, loaded in ahead:
        yield rows, table, loaded.result()


class BlockWorkers:
    """Threads that work on the blocks of some views, each with a table of its own.

    Few blocks are worked on by the calling thread alone.
    """

    def __init__(self, views: tuple[Rows, ...], n_clusters: int) -> None:
        self._blocks = sample_blocks(views, n_clusters)
        n_threads = available_threads() if len(self._blocks) >= FEWEST_BLOCKS else 1
        self._tables = make_tables(views, self._blocks, n_clusters, n_threads)
        # Its threads start with the first task and end with this object.
        self._pool = ThreadPoolExecutor(n_threads)

    def run(
        self, work: Callable[[slice, DistanceTable], Loaded]
    ) -> Iterator[tuple[slice, Loaded]]:
        """Block by block, what `work` returns for its rows and a table."""
        several = len(self._tables) > 1
        with one_blas_thread() if several else nullcontext():
            found = loaded_ahead(self._blocks, self._tables, work, self._pool)
            for rows, _, result in found:
                yield rows, result
