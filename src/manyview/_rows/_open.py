"""From checked views and their scales to scaled rows."""

from __future__ import annotations

import mmap
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from manyview._arrays import ViewArray
from manyview._rows._base import Rows
from manyview._rows._dense import DenseRows
from manyview._rows._sparse import SparseRows
from manyview._scaling import LARGEST_UNSCALED, ViewScale, threads_for
from manyview._threads import map_threads
from manyview._typing import BoolArray
from manyview._views import SCAN_ELEMENTS, ViewSet, row_blocks
from manyview.exceptions import ViewError

# A dense view with a smaller share of entries that are not zero is read as a sparse
# one: that takes a tenth of the memory, and products pass over the zeros.
SPARSE_BELOW = 0.05
# Smaller views are quick either way. Of larger ones, some rows are looked at first.
SMALLEST_COMPACTED = 1 << 16
SAMPLED_ROWS = 256


def compact_views(views: ViewSet) -> ViewSet:
    """The same views, with dense arrays that are mostly zero as CSR matrices.

    Memory maps stay as they are.
    """
    arrays = tuple(
        _without_zeros(array, present) if _looks_empty(array, present) else array
        for array, present in zip(views.arrays, views.present, strict=True)
    )
    return replace(views, arrays=arrays)


def _looks_empty(array: ViewArray, present: BoolArray) -> bool:
    if sparse.issparse(array) or _is_mapped(array):
        return False
    if present.sum() * array.shape[1] < SMALLEST_COMPACTED:
        return False
    step = max(1, len(array) // SAMPLED_ROWS)
    some = np.asarray(array[::step])
    if not present.all():
        some = some[present[::step]]
    # Counting what a comparison found is five times as quick as counting numbers.
    return bool(np.count_nonzero(some != 0) < SPARSE_BELOW * some.size)


def _is_mapped(array: Any) -> bool:
    while array is not None and not isinstance(array, mmap.mmap):
        array = getattr(array, "base", None)
    return array is not None


def _without_zeros(array: Any, present: BoolArray) -> Any:
    """As a CSR matrix, unless other rows than those looked at are full."""
    dtype = np.float32 if array.dtype == np.float32 else np.float64
    parts: list[Any] = []
    n_stored = 0
    for rows in row_blocks(len(array), array.shape[1], SCAN_ELEMENTS):
        block = np.where(present[rows, None], array[rows], 0)
        parts.append(sparse.csr_array(block, dtype=dtype))
        n_stored += parts[-1].nnz
        if n_stored > 2 * SPARSE_BELOW * array.size:
            return array
    return sparse.csr_array(sparse.vstack(parts))


def open_views(
    views: ViewSet,
    scales: tuple[ViewScale, ...],
    *,
    keep_scaled: bool = True,
    n_samples: int | None = None,
) -> tuple[Rows, ...]:
    """Scaled row access to every view.

    With `keep_scaled`, small views are scaled once and kept. If the views are a part of
    larger ones, `n_samples` is the number of rows of those.
    """
    n_samples = n_samples or views.n_samples

    def open_view(v: int) -> Rows:
        array, present, scale = views.arrays[v], views.present[v], scales[v]
        rows: Rows
        # An overflow is reported below, with the name of the view.
        with np.errstate(over="ignore", invalid="ignore"):
            if sparse.issparse(array):
                rows = SparseRows(array, present, scale, n_samples=n_samples)
            else:
                rows = DenseRows(
                    array, present, scale, keep_scaled=keep_scaled, n_samples=n_samples
                )
        _reject_overflow(rows, views.names[v])
        return rows

    sizes = [array.shape[1] for array in views.arrays]
    return tuple(map_threads(open_view, range(len(scales)), threads_for(views), sizes))


def _reject_overflow(rows: Rows, name: str) -> None:
    """Values far beyond those that the scale was learned from have no distances."""
    overflows = ~(rows.sq_norms < LARGEST_UNSCALED**2)
    if overflows.any():
        msg = (
            f"View {name!r}, row {int(overflows.argmax())} has values so far from "
            "those of fit that squared distances overflow. Check its units, or mark "
            "the row as missing with NaN."
        )
        raise ViewError(msg)
