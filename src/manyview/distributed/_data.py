"""From lazy views to scaled rows on the workers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import dask
import distributed
import numpy as np
import psutil
from scipy import sparse

from manyview._rows import Rows, open_views
from manyview._scaling import (
    ViewScale,
    feature_moments,
    feature_range,
    make_scale,
    scale_mode,
)
from manyview._typing import IntArray
from manyview._views import ViewSet
from manyview.distributed import _blocks
from manyview.distributed._inputs import DaskViews
from manyview.distributed._samples import DaskRows, map_parts, merged
from manyview.exceptions import ViewError

# Views are kept in the workers' memory if they fill no more than this share of it:
# Dask begins to spill at 0.6, and there are libraries, states and copies beside them.
PERSIST_SHARE = 0.3
# A part as it is read, decoded and worked on.
PART_COPIES = 3


def open_parts(
    parts: Sequence[Any],
    names: tuple[str, ...],
    lengths: tuple[int, ...],
    scale: str | None,
    persist: str | None,
    *,
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


def gather_rows(data: DaskRows, rows: IntArray) -> tuple[Rows, ...]:
    """Some scaled rows, given in ascending order, on this machine."""
    edges = np.cumsum([0, *data.lengths])
    cuts = pairwise(np.searchsorted(rows, edges))
    wanted = [rows[a:b] - edge for (a, b), edge in zip(cuts, edges, strict=False)]
    parts = dask.compute(*map_parts(_blocks.pick_scaled, data.rows, wanted))
    arrays, present, scales = [], [], []
    for of_view in zip(*parts, strict=True):
        pieces, masks = zip(*of_view, strict=True)
        is_sparse = sparse.issparse(pieces[0])
        array = sparse.vstack(pieces, "csr") if is_sparse else np.concatenate(pieces)
        zero, one = np.zeros(array.shape[1]), np.ones(array.shape[1])
        arrays.append(array)
        present.append(np.concatenate(masks))
        scales.append(ViewScale(mode=None, shift=zero, factor=one, unit_rows=False))
    names = tuple(f"view{v}" for v in range(len(arrays)))
    views = ViewSet(arrays=tuple(arrays), present=tuple(present), names=names)
    return open_views(views, tuple(scales))
