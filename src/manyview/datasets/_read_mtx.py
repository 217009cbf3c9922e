"""Read Matrix Market files with samples in rows.

``scipy.io.mmread`` is made for files one trusts: about one in fifty damaged ones
crashes the process (scipy 1.12 and 1.17).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from scipy.sparse import coo_array

from manyview._typing import FloatArray
from manyview.datasets._read_arrays import one_view
from manyview.datasets._source import ReadOptions, Source
from manyview.exceptions import DatasetError

BANNER = re.compile(
    "%%matrixmarket matrix (?:array (?:real|integer) general"
    "|coordinate (real|integer|pattern) (general|symmetric|skew-symmetric))"
)


def read_mtx(path: Path, options: ReadOptions) -> Source:
    """Read a Matrix Market file, samples in rows."""
    with path.open(encoding="utf-8") as stream:
        line = stream.readline()
        banner = BANNER.fullmatch(" ".join(line.lower().split()))
        if banner is None:
            msg = (
                f"{path} starts with {line[:60]!r}; expected '%%MatrixMarket matrix', "
                "then 'coordinate' with one of real, integer, pattern and one of "
                "general, symmetric, skew-symmetric, or 'array real general'."
            )
            raise DatasetError(msg)
        field, symmetry = banner.groups()
        if field is None:
            n_rows, n_columns = _read_sizes(path, stream, 2)
            options.budget.take(path, 8 * n_rows * n_columns)
            body = _read_body(path, stream, n_rows * n_columns, 1)
            values = body.reshape((n_rows, n_columns), order="F")
        else:
            sizes = _read_sizes(path, stream, 3)
            options.budget.take_sparse(path, *sizes[:2])
            values = _read_sparse(path, stream, sizes, field, symmetry)
        return one_view(path, values)


def _read_sizes(path: Path, stream: TextIO, n_sizes: int) -> list[int]:
    line = "%"
    while line and (line.startswith("%") or not line.strip()):
        line = stream.readline()
    sizes = line.split()
    if len(sizes) != n_sizes or not all(size.isdecimal() for size in sizes):
        msg = f"{path} gives its size as {line[:60]!r}; expected {n_sizes} numbers."
        raise DatasetError(msg)
    return [int(size) for size in sizes]


def _read_body(path: Path, stream: TextIO, n_rows: int, n_columns: int) -> FloatArray:
    if n_rows == 0:
        return np.empty((0, n_columns))
    body = np.loadtxt(stream, dtype=np.float64, comments="%", ndmin=2)
    if body.shape != (n_rows, n_columns):
        msg = (
            f"{path} promises {n_rows} entries of {n_columns} numbers, "
            f"has {body.shape[0]} of {body.shape[1]}."
        )
        raise DatasetError(msg)
    return body


def _read_sparse(
    path: Path, stream: TextIO, sizes: list[int], field: str, symmetry: str
) -> Any:
    n_rows, n_columns, n_entries = sizes
    body = _read_body(path, stream, n_entries, 2 if field == "pattern" else 3)
    rows, columns = (body[:, :2] - 1).T
    outside = (rows < 0) | (rows >= n_rows) | (columns < 0) | (columns >= n_columns)
    # Half an index is none.
    outside |= (rows % 1 != 0) | (columns % 1 != 0)
    if outside.any():
        entry = int(outside.argmax())
        msg = (
            f"{path}: entry {entry + 1} lies at row {rows[entry] + 1:g}, column "
            f"{columns[entry] + 1:g} of a {n_rows} x {n_columns} matrix."
        )
        raise DatasetError(msg)
    rows, columns = rows.astype(np.int64), columns.astype(np.int64)
    values = np.ones(n_entries) if field == "pattern" else body[:, 2]
    if symmetry != "general":
        # Only one triangle is written down.
        below = rows != columns
        sign = -1.0 if symmetry == "skew-symmetric" else 1.0
        values = np.concatenate([values, sign * values[below]])
        rows, columns = (
            np.concatenate([rows, columns[below]]),
            np.concatenate([columns, rows[below]]),
        )
    return coo_array((values, (rows, columns)), shape=(n_rows, n_columns))
