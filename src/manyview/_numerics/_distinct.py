"""Counting distinct rows, no further than necessary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

# Rows looked at together, at first and at most.
BLOCK_ROWS = (32, 1024)


def count_distinct_rows(arrays: Sequence[Any], enough: int) -> int:
    """How many samples differ from each other in some array, up to `enough`.

    arrays : dense or CSR, with one row per sample. Data without duplicates shows
    `enough` distinct rows at once; only data that consists of duplicates is read to
    the end.
    """
    found: set[tuple[bytes, ...]] = set()
    n_samples, start = arrays[0].shape[0], 0
    size, most = BLOCK_ROWS
    while start < n_samples and len(found) < enough:
        blocks = (array[start : start + size] for array in arrays)
        found.update(zip(*map(_row_keys, blocks), strict=True))
        start, size = start + size, min(2 * size, most)
    return min(len(found), enough)


def _row_keys(rows: Any) -> Iterator[bytes]:
    """One key per row, equal for equal rows."""
    if isinstance(rows, sparse.csr_array):
        filled = rows.copy()
        filled.eliminate_zeros()
        for start, stop in zip(filled.indptr[:-1], filled.indptr[1:], strict=True):
            stored = slice(start, stop)
            yield filled.indices[stored].tobytes() + filled.data[stored].tobytes()
        return
    # Adding zero leaves one of the two zeros, which are equal but differ in a bit.
    yield from (row.tobytes() for row in np.asarray(rows) + rows.dtype.type(0))
