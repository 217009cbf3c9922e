"""One view of any form as a real 2-D array or CSR matrix."""

from __future__ import annotations

import reprlib
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from manyview._names import NamedView, is_annotated
from manyview.exceptions import ViewError

ViewArray: TypeAlias = "npt.NDArray[Any] | sparse.csr_array"

# What Python and NumPy raise when they cannot make a number of something.
NOT_A_NUMBER = (TypeError, ValueError, OverflowError)
# Tables that are no frames, and how their owners make frames of them.
CONVERSIONS = {
    "polars.LazyFrame": "collect()",
    "pyarrow.Table": "to_pandas()",
    "pyarrow.RecordBatch": "to_pandas()",
}


def as_array(view: Any, name: str) -> ViewArray | None:
    """One view as a real 2-D array or CSR matrix; None stays None."""
    if view is None:
        return None
    if isinstance(view, NamedView):
        return as_array(view.array, name)
    if is_annotated(view):
        view = stored_matrix(view.X)
        if view is None:
            msg = f"View {name!r} is an AnnData without a matrix X. Give it one."
            raise ViewError(msg)
    if sparse.issparse(view):
        return _as_csr(view, name)
    reject_table(view, name)
    if hasattr(view, "columns"):
        array = _from_frame(view, name)
    elif isinstance(view, np.ndarray):
        array = fill_masked(view)
    else:
        try:
            array = np.asarray(view)
        except ValueError as error:
            msg = (
                f"View {name!r} is a {type(view).__name__} that NumPy cannot read as "
                f"one array ({error}). Pass rows of equal length."
            )
            raise ViewError(msg) from error
    check_shape(array, name)
    return _as_real(array, name)


def check_shape(array: Any, name: str) -> None:
    """Refuse what is not 2-D or has no features; arrays may be sparse or lazy."""
    if array.ndim != 2:
        msg = (
            f"View {name!r} has {array.ndim} dimension(s) and shape {array.shape}, "
            "but a view is 2-D: samples in rows, features in columns. "
            "Reshape it, e.g. with array.reshape(n_samples, -1)."
        )
        raise ViewError(msg)
    if array.shape[1] == 0:
        msg = (
            f"View {name!r} has no features (shape {array.shape}). "
            "Leave the view out or give it columns."
        )
        raise ViewError(msg)


def are_counts(values: Any) -> bool:
    """Whether a list holds positive whole numbers, one or more."""
    whole = [
        isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in values
    ]
    return len(whole) > 0 and all(whole) and min(values) >= 1


def check_columns(frame: Any, name: str) -> None:
    """Refuse a pandas, polars or dask frame with columns that are not numeric."""
    for column, dtype in zip(frame.columns, frame.dtypes, strict=True):
        if hasattr(dtype, "is_numeric"):
            numeric = dtype.is_numeric()
        else:
            numeric = getattr(dtype, "kind", "O") in "buif"
        if not numeric and str(dtype).lower() not in {"bool", "boolean"}:
            msg = (
                f"View {name!r}: column {column!r} is not numeric (dtype {dtype}). "
                "Encode or drop it."
            )
            raise ViewError(msg)


def stored_matrix(matrix: Any) -> Any:
    """A matrix of an AnnData as a plain array or sparse matrix in memory, or None."""
    if hasattr(matrix, "to_memory"):
        # Of a file that was opened and not read.
        return matrix.to_memory()
    # A part of an AnnData has arrays of a kind of its own.
    return np.asarray(matrix) if isinstance(matrix, np.ndarray) else matrix


def take_rows(array: ViewArray, rows: npt.NDArray[np.intp]) -> ViewArray:
    """Rows by their numbers; a row of NaN, the mark of a missing sample, for -1."""
    if sparse.issparse(array):
        # Of a sparse row, one stored NaN is enough. It is the last row, number -1.
        entry = (np.array([np.nan], dtype=array.dtype), ([0], [0]))
        mark = sparse.csr_array(entry, shape=(1, array.shape[1]))
        return sparse.csr_array(sparse.vstack([array, mark]))[rows]
    taken = np.asarray(array[rows])
    absent = rows < 0
    if absent.any():
        taken = taken.astype(taken.dtype if taken.dtype.kind == "f" else np.float64)
        taken[absent] = np.nan
    return taken


def reject_table(view: Any, name: str) -> None:
    """Refuse a table that has yet to be computed, or that only Arrow can read."""
    kind = type(view)
    called = f"{kind.__module__.split('.')[0]}.{kind.__name__}"
    if called in CONVERSIONS:
        msg = (
            f"View {name!r} is a {called}, expected an array, a sparse matrix or a "
            f"frame. Pass what its {CONVERSIONS[called]} returns."
        )
        raise ViewError(msg)


def fill_masked(X: Any) -> Any:
    """A masked array with NaN in place of what its mask hides; all else as it is."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if not np.ma.is_masked(X):
        return X.data
    values = X.data.astype(np.result_type(X.dtype, np.float32))
    values[np.ma.getmaskarray(X)] = np.nan
    return values


def _as_real(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    if array.dtype.kind in "buif":
        return array
    if array.dtype.kind == "c":
        msg = (
            f"View {name!r} holds complex numbers. "
            "Pass real features, e.g. real and imaginary part as two columns."
        )
        raise ViewError(msg)
    if array.dtype.kind == "O":
        with suppress(*NOT_A_NUMBER):
            return array.astype(np.float64)
    places = (place for place in np.ndindex(array.shape) if not _is_real(array[place]))
    row, column = next(places, (0, 0))
    cell = array[row, column]
    if isinstance(cell, int):
        msg = (
            f"View {name!r}, row {row}, column {column} holds a whole number beyond "
            "the range of float64. Rescale that column."
        )
    else:
        msg = (
            f"View {name!r} is not numeric: row {row}, column {column} holds "
            f"{reprlib.repr(cell)}. Encode or drop that column."
        )
    raise ViewError(msg)


def _is_real(cell: Any) -> bool:
    try:
        float(cell)
    except NOT_A_NUMBER:
        return False
    return True


def check_sparse(view: Any) -> Any:
    """The matrix, unless its index arrays lead out of it (ValueError).

    Conversions trust the indices: a wrong one reads or writes foreign memory.
    """
    if view.format == "coo":
        return sparse.coo_array(view)
    if hasattr(view, "check_format"):
        view.check_format(full_check=True)
        # scipy does not look at this when the last pointer says "no entries".
        if (view.indptr[1:] < view.indptr[:-1]).any():
            msg = "indptr must be a non-decreasing sequence"
            raise ValueError(msg)
    return view


def _as_csr(view: Any, name: str) -> sparse.csr_array:
    check_shape(view, name)
    if view.dtype.kind not in "buif":
        msg = (
            f"View {name!r} is sparse with dtype {view.dtype}, not real numbers. "
            "Cast it to float first."
        )
        raise ViewError(msg)
    try:
        view = check_sparse(view)
    except ValueError as error:
        msg = f"View {name!r} is not a sound sparse matrix: {error}."
        raise ViewError(msg) from error
    dtype = np.float32 if view.dtype == np.float32 else np.float64
    matrix = sparse.csr_array(view, dtype=dtype)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _from_frame(frame: Any, name: str) -> npt.NDArray[Any]:
    """A pandas or polars frame as one array, float32 kept when all columns are."""
    check_columns(frame, name)
    is_pandas = hasattr(frame, "iloc")
    if is_pandas and any(not isinstance(dtype, np.dtype) for dtype in frame.dtypes):
        return np.asarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(frame.to_numpy())
