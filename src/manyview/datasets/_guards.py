"""Keep hostile and damaged files from doing harm.

A few bytes can promise gigabytes: an array header with a huge shape, a zip member of
zeros, an HDF5 data set that was never written, five thousand references to one matrix.
Every reader asks the budget of its call before it allocates.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from manyview._arrays import check_sparse
from manyview._extras import MissingExtraError
from manyview._views import stored_row, suspicious_rows
from manyview.datasets._model import View
from manyview.exceptions import DatasetError, ViewError

# Data up to this size is read however well it was compressed.
HARMLESS_BYTES = 64 * 2**20
# Beyond it: one-hot and word matrices stored as float64 stay below this ratio.
MOST_EXPANSION = 200
# Sparse files say nothing about empty rows and columns: a small one may claim so many.
HARMLESS_SIDE = 2**20


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever a parser throws on a damaged file into one clear error."""
    try:
        yield
    except (DatasetError, PermissionError):
        raise
    except MissingExtraError as error:
        raise DatasetError(str(error)) from error
    except ViewError as error:
        msg = f"{path}: {error}"
        raise DatasetError(msg) from error
    except Exception as error:
        # Parsers meet damaged bytes with anything from struct.error to AttributeError.
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        msg = f"{path} cannot be read as {kind}; it is damaged or cut short ({reason})."
        raise DatasetError(msg) from error


@dataclass(slots=True)
class Budget:
    """What the files of one call may unpack to, all members and views together."""

    stored: int = 0
    unpacked: int = 0

    def open(self, path: Path) -> None:
        """Count the size of a file or folder that is about to be read."""
        files = path.rglob("*") if path.is_dir() else [path]
        self.stored += sum(file.stat().st_size for file in files if file.is_file())

    @property
    def allowed(self) -> int:
        """Bytes that the files counted so far may unpack to."""
        return max(HARMLESS_BYTES, MOST_EXPANSION * self.stored)

    def take(self, origin: object, n_bytes: int) -> None:
        """Count `n_bytes` of memory; refuse what is far more than the files hold."""
        self.unpacked += n_bytes
        if self.unpacked > self.allowed:
            msg = (
                f"{origin} would take {self.unpacked} bytes of memory for "
                f"{self.stored} bytes on disk, more than {MOST_EXPANSION} times its "
                "size, so it was not opened. If you trust it, save it uncompressed or "
                "as a sparse matrix."
            )
            raise DatasetError(msg)

    def take_sparse(self, origin: object, n_rows: int, n_columns: int) -> None:
        """Count rows and columns of a sparse matrix, which may be empty at no cost."""
        for n, what in ((n_rows, "rows"), (n_columns, "columns")):
            if n > max(HARMLESS_SIDE, self.stored):
                msg = (
                    f"{origin} claims {n} {what} in {self.stored} bytes, so it was not "
                    f"opened. Leave out {what} without entries."
                )
                raise DatasetError(msg)
        self.take(origin, 8 * n_rows)


def clean_values(
    values: Any, origin: str, columns: tuple[str, ...] | None, *, holes: bool
) -> View:
    """A matrix of floating-point numbers, finite but for missing rows and `holes`."""
    trouble = ""
    if values.ndim != 2:
        expected = "expected (n_samples, n_features), also for a single feature"
        trouble = f"has shape {values.shape}; {expected}"
    elif 0 in values.shape:
        trouble = f"has shape {values.shape}: there is nothing to cluster"
    elif values.dtype.kind not in "biuf":
        trouble = f"holds {values.dtype} values; expected real numbers"
    if trouble:
        msg = f"{origin} {trouble}."
        raise DatasetError(msg)
    if isinstance(values, np.memmap):
        # Not read yet; the estimator will look at the values.
        return values
    cleaned: View = values
    if not isinstance(values, np.ndarray):
        from scipy.sparse import csr_array

        try:
            cleaned = csr_array(check_sparse(values))
        except ValueError as error:
            msg = f"{origin} is not a sound sparse matrix: {error}."
            raise DatasetError(msg) from error
    if cleaned.dtype not in (np.float32, np.float64):
        cleaned = cleaned.astype(np.float64)
    if isinstance(cleaned, np.ndarray):
        cleaned = np.ascontiguousarray(cleaned)
    else:
        cleaned.sum_duplicates()
    _check_cells(cleaned, origin, columns, holes)
    return cleaned


def _check_cells(
    values: View, origin: str, columns: tuple[str, ...] | None, holes: bool
) -> None:
    """Refuse infinite cells and, unless `holes` are allowed, missing ones.

    A row of NaN is no hole: the sample lacks this view.
    """
    for row in suspicious_rows(values, slice(0, values.shape[0])):
        cells = stored_row(values, row)
        bad = np.isinf(cells) if holes else ~np.isfinite(cells)
        if not bad.any() or np.isnan(cells).all():
            continue
        first = column = int(bad.argmax())
        if not isinstance(values, np.ndarray):
            column = int(values.indices[values.indptr[row] + first])
        name = repr(columns[column]) if columns else str(column + 1)
        trouble = f"is {cells[first]}. Expected a finite number."
        if np.isnan(cells[first]):
            trouble = (
                "is missing while others in its row are not. Fill it in, leave the "
                "whole row empty (NaN) to say that the sample lacks this view, or "
                "read with missing='keep' and impute with manyview.ViewImputer."
            )
        msg = f"{origin}: row {row + 1}, column {name} {trouble}"
        raise DatasetError(msg)
