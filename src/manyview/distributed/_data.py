"""Rows on the workers: from lazy views in parts to scaled rows and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Any

import dask
import dask.array as da
import distributed
import numpy as np
import psutil
from scipy import sparse

from manyview._rows import Rows, mean_and_scatter, open_views
from manyview._scaling import (
    ViewScale,
    feature_moments,
    feature_range,
    make_scale,
    scale_mode,
)
from manyview._typing import FloatArray, IntArray
from manyview._views import ViewSet
from manyview.distributed import _blocks
from manyview.distributed._inputs import DaskViews
from manyview.exceptions import ViewError

# Reports merged by one task.
FAN_IN = 16
# Views are kept in the workers' memory if they fill no more than this share of it:
# Dask begins to spill at 0.6, and there are libraries, states and copies beside them.
PERSIST_SHARE = 0.3
# A part as it is read, decoded and worked on.
PART_COPIES = 3


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


def merged(reports: Sequence[Any]) -> Any:
    """Reports merged into one, lazily, by a tree that keeps their order."""
    merge, level = dask.delayed(partial(reduce, _blocks.merge)), list(reports)
    while True:
        level = [merge(level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
        if len(level) == 1:
            return level[0]


@dataclass(frozen=True)
class DaskRows:
    """Scaled views on a cluster.

    rows : the views of every part, lazily, or in the workers' memory if they were
    persisted; lengths : rows of every part; contents : digests of the values of every
    part, if requested.
    """

    rows: tuple[Any, ...]
    lengths: tuple[int, ...]
    scales: tuple[ViewScale, ...]
    contents: Sequence[tuple[str, ...]] = ()

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
        self, pieces: Sequence[Any], shape: tuple[int, ...], dtype: Any
    ) -> Any:
        """A dask array of what parts gave; in its shape, -1 stands for the samples."""
        axis = shape.index(-1)
        before, after = shape[:axis], shape[axis + 1 :]
        arrays = [
            da.from_delayed(piece, (*before, n_rows, *after), dtype)
            for piece, n_rows in zip(pieces, self.lengths, strict=True)
        ]
        return da.concatenate(arrays, axis=axis)

    def gather(self, rows: IntArray) -> tuple[Rows, ...]:
        """Some rows, given in ascending order, on this machine."""
        starts = np.cumsum([0, *self.lengths[:-1]])
        pieces = np.split(rows, np.searchsorted(rows, starts[1:]))
        wanted = [piece - start for piece, start in zip(pieces, starts, strict=True)]
        parts = dask.compute(*map_parts(_blocks.pick_scaled, self.rows, wanted))
        arrays, present, scales = [], [], []
        for of_view in zip(*parts, strict=True):
            found, masks = zip(*of_view, strict=True)
            dense = isinstance(found[0], np.ndarray)
            array = np.concatenate(found) if dense else sparse.vstack(found, "csr")
            zero, one = np.zeros(array.shape[1]), np.ones(array.shape[1])
            arrays.append(array)
            present.append(np.concatenate(masks))
            scales.append(ViewScale(mode=None, shift=zero, factor=one, unit_rows=False))
        names = tuple(f"view{v}" for v in range(len(arrays)))
        views = ViewSet(arrays=tuple(arrays), present=tuple(present), names=names)
        return open_views(views, tuple(scales))


def open_parts(
    parts: Sequence[Any],
    names: tuple[str, ...],
    lengths: tuple[int, ...],
    scale: str | None,
    persist: str | None,
    identify: bool = False,
) -> DaskRows:
    """Learn the scales of views in parts, and open the parts through them.

    Views are checked when parts are computed: a bad row raises `ViewError`. With
    `identify` the values are digested as well.
    """
    if persist is not None:
        parts = dask.persist(*parts)
    digests = []
    if identify:
        digests = map_parts(_blocks.per_view, parts, same=[_blocks.content_digest])
    ranges = merged(map_parts(_blocks.per_view, parts, same=[feature_range]))
    found, contents = dask.compute(ranges, digests)
    modes = tuple(scale_mode(view, scale) for view in found)
    same = [feature_moments, found, modes]
    moments = merged(map_parts(_blocks.per_view, parts, same=same)).compute()
    scales = tuple(map(make_scale, found, moments, modes, names))
    same = [scales, persist == "memory", sum(lengths)]
    rows = map_parts(_blocks.open_rows, parts, same=same)
    if persist is not None:
        rows = dask.persist(*rows)
    return DaskRows(rows=tuple(rows), lengths=lengths, scales=scales, contents=contents)


def choose_storage(persist: str | None, nbytes: int) -> str | None:
    """Where workers keep parts that take `nbytes` together: what "auto" means."""
    if persist != "auto":
        return persist
    return "memory" if nbytes <= PERSIST_SHARE * sum(worker_memory()) else "disk"


def worker_memory() -> list[int]:
    """Bytes that each worker may use; without a cluster, what is free here."""
    machine = psutil.virtual_memory()
    try:
        client = distributed.get_client()
    except ValueError:
        return [int(machine.available)]
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return [int(worker["memory_limit"] or machine.total) for worker in workers]


def check_part_size(views: DaskViews) -> None:
    """Too large a part would not fail: Dask pauses its worker for ever."""
    limits, largest = worker_memory(), max(views.lengths)
    part = largest * views.nbytes // views.n_samples
    if limits and part * PART_COPIES > min(limits):
        n_rows = int(largest * min(limits) / (2 * part * PART_COPIES))
        msg = (
            f"Row chunks of up to {largest} rows take {part / 2**20:.0f} MiB and a "
            f"worker needs room for {PART_COPIES} of them, but has "
            f"{min(limits) / 2**20:.0f} MiB. Rechunk to at most {n_rows} rows."
        )
        raise ViewError(msg)
