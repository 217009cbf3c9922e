"""Counting distinct rows, no further than necessary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

# Rows looked at together.
BLOCK_ROWS = 256


def count_distinct_rows(arrays: Sequence[Any], enough: int) -> int:
    """How many samples differ from each other in some array, up to `enough`.

    arrays : dense or CSR, with one row per sample. Data without duplicates shows
    `enough` distinct rows at once; only data that consists of duplicates is read to
    the end.
    """
    found: set[tuple[bytes, ...]] = set()
    for start in range(0, arrays[0].shape[0], BLOCK_ROWS):
        blocks = (array[start : start + BLOCK_ROWS] for array in arrays)
        found.update(zip(*map(_row_keys, blocks), strict=True))
        if len(found) >= enough:
            return enough
    return len(found)


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
