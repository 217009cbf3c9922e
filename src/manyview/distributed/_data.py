"""From lazy views to scaled rows on the workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dask
import distributed
import numpy as np
import psutil

from manyview._rows import Rows, open_views
from manyview._scaling import ViewScale, make_scale, scale_mode
from manyview._typing import IntArray
from manyview.distributed import _blocks
from manyview.distributed._inputs import DaskViews, Store
from manyview.distributed._samples import DaskRows, map_parts, merged
from manyview.exceptions import ViewError

# Views are kept in the workers' memory if they fill no more than this share of it:
# Dask begins to spill at 0.6, and there are libraries, states and copies beside them.
PERSIST_SHARE = 0.3
# A part as it is read, decoded and worked on.
PART_COPIES = 3


def open_data(
    views: DaskViews, scale: str | None, persist: str | None, *, identify: bool = False
) -> DaskRows:
    """Learn the scales and open the views through them.

    Values are checked on the way: a bad row raises `ViewError`. With `identify` the
    values are digested as well.
    """
    _check_part_size(views, worker_memory())
    size = (views.lengths, views.nbytes)
    return open_parts(views.parts, views.names, *size, scale, persist, identify)


def open_parts(
    make_parts: Callable[[Store], Sequence[Any]],
    names: tuple[str, ...],
    lengths: tuple[int, ...],
    nbytes: int,
    scale: str | None,
    persist: str | None,
    identify: bool = False,
) -> DaskRows:
    """The same of parts by a function that is told how they are stored.

    Making and storing a part is one task. nbytes : size of all parts in memory.
    """
    if persist == "auto":
        fits = nbytes <= PERSIST_SHARE * sum(worker_memory())
        persist = "memory" if fits else "disk"
    parts = make_parts(_blocks.spool if persist == "disk" else _blocks.keep)
    if persist is not None:
        parts = dask.persist(*parts)
    scales, contents = _learn_scales(parts, names, scale, identify)
    same = [scales, persist == "memory", sum(lengths)]
    rows = map_parts(_blocks.open_rows, parts, same=same)
    if persist is not None:
        rows = list(dask.persist(*rows))
    return DaskRows(rows=tuple(rows), lengths=lengths, scales=scales, contents=contents)


def worker_memory() -> list[int]:
    """Bytes that each worker may use; without a cluster, what is free here."""
    machine = psutil.virtual_memory()
    try:
        client = distributed.get_client()
    except ValueError:
        return [int(machine.available)]
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return [int(worker["memory_limit"] or machine.total) for worker in workers]


def _check_part_size(views: DaskViews, limits: list[int]) -> None:
    """Too large a part would not fail: Dask pauses its worker for ever."""
    largest = max(views.lengths)
    part = largest * views.nbytes // views.n_samples
    if limits and part * PART_COPIES > min(limits):
        n_rows = int(largest * min(limits) / (2 * part * PART_COPIES))
        msg = (
            f"Row chunks of up to {largest} rows take {part / 2**20:.0f} MiB and a "
            f"worker needs room for {PART_COPIES} of them, but has "
            f"{min(limits) / 2**20:.0f} MiB. Rechunk to at most {n_rows} rows."
        )
        raise ViewError(msg)


def _learn_scales(
    parts: Any, names: tuple[str, ...], mode: str | None, identify: bool
) -> tuple[tuple[ViewScale, ...], tuple[str, ...]]:
    """Scales and, by the same passes, the digests of all parts, joined in order."""
    first = [merged(map_parts(_blocks.ranges_of, parts))]
    if identify:
        first.append(merged(map_parts(_blocks.contents_of, parts)))
    found, *contents = dask.compute(*first)
    modes = tuple(scale_mode(view, mode) for view in found)
    second = map_parts(_blocks.moments_of, parts, same=[found, modes])
    moments = merged(second).compute()
    scales = tuple(map(make_scale, found, moments, modes, names))
    return scales, contents[0] if contents else ()


def gather_rows(data: DaskRows, rows: IntArray) -> tuple[Rows, ...]:
    """Some scaled rows, given in ascending order, on this machine."""
    edges = np.cumsum([0, *data.lengths])
    cuts = np.searchsorted(rows, edges)
    wanted = [rows[cuts[i] : cuts[i + 1]] - edges[i] for i in range(len(data.lengths))]
    pieces = dask.compute(*map_parts(_blocks.pick_scaled, data.rows, wanted))
    joined = _blocks.join_rows([piece for piece in pieces if piece.n_samples])
    unit = [
        ViewScale(mode=None, shift=np.zeros(n), factor=np.ones(n), unit_rows=False)
        for n in joined.n_features
    ]
    return open_views(joined, tuple(unit))
