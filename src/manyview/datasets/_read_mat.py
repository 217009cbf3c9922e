"""Read MATLAB files, old (version 5) and new (7.3, which is HDF5)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from manyview._extras import import_extra
from manyview.datasets._guards import Budget
from manyview.datasets._hdf5 import check_item
from manyview.datasets._mat5 import load_mat5
from manyview.datasets._read_arrays import source_from_variables
from manyview.datasets._source import ReadOptions, Source
from manyview.exceptions import DatasetError


def read_mat(path: Path, options: ReadOptions) -> Source:
    """Read the views of a MATLAB file: the entries of its cell array, or its matrices.

    With one cell array of matrices its entries are the views, else every matrix that
    is not a vector.
    """
    with path.open("rb") as stream:
        is_hdf5 = stream.read(16).startswith((b"MATLAB 7.3", b"\x89HDF"))
    # Matrices by name, cell arrays of matrices as lists; anything else is left out.
    variables = (_load_hdf5 if is_hdf5 else load_mat5)(path, options.budget)
    cells = [name for name, value in variables.items() if isinstance(value, list)]
    if options.only_labels:
        matrices = {name: v for name, v in variables.items() if name not in cells}
        return source_from_variables(path, matrices, options)
    chosen = options.variables
    if chosen is None and len(cells) > 1:
        msg = f"{path} has several cell arrays, {cells}; choose with variables=."
        raise DatasetError(msg)
    chosen = tuple(cells) if chosen is None else chosen
    flat: dict[str, Any] = {}
    views: list[str] = []
    for name, value in variables.items():
        entries = {name: value}
        if name in cells:
            entries = {f"{name}_{i}": entry for i, entry in enumerate(value)}
        flat |= entries
        views += entries if name in chosen else ()
    # Names that the file lacks are left for the message about them.
    views += [name for name in chosen if name not in variables]
    picked = replace(options, variables=tuple(views) or None)
    return source_from_variables(path, flat, picked)


def _load_hdf5(path: Path, budget: Budget) -> dict[str, Any]:
    """What a file of version 7.3 holds."""
    h5py = import_extra("h5py", "io", f"Reading {path}")
    variables: dict[str, Any] = {}
    with h5py.File(path, "r") as content:
        check_item(path, content)
        for name in content:
            if name.startswith("#") or content.get(name, getclass=True) is None:
                continue
            item = content[name]
            if _matlab_class(item) == "cell":
                budget.take(path, item.nbytes)
                entries = (content[pointer] for pointer in item[()].T.ravel(order="F"))
                found: Any = [_hdf5_matrix(path, entry, budget) for entry in entries]
                is_sound = found and all(matrix is not None for matrix in found)
            else:
                found = _hdf5_matrix(path, item, budget)
                is_sound = found is not None
            if is_sound:
                variables[name] = found
    return variables


def _matlab_class(item: Any) -> str:
    name = item.attrs.get("MATLAB_class", b"")
    return name.decode() if isinstance(name, bytes) else str(name)


def _hdf5_matrix(path: Path, item: Any, budget: Budget) -> Any:
    """A dense or sparse matrix with samples in rows again, or None for the rest."""
    # References also reach what no name leads to.
    check_item(path, item)
    if "MATLAB_sparse" in item.attrs:
        from scipy.sparse import csc_array

        n_rows = int(item.attrs["MATLAB_sparse"])
        budget.take_sparse(path, n_rows, item["jc"].size - 1)
        parts = [item[key] for key in ("data", "ir", "jc") if key in item]
        if len(parts) < 3:
            # MATLAB leaves out data and indices of a matrix without entries.
            return csc_array((n_rows, item["jc"].size - 1))
        budget.take(path, sum(part.nbytes for part in parts))
        data, rows, starts = (part[()] for part in parts)
        return csc_array((data, rows, starts), shape=(n_rows, starts.size - 1))
    if getattr(item, "ndim", 0) != 2 or item.dtype.kind not in "biuf":
        return None
    if _matlab_class(item) == "char" or item.attrs.get("MATLAB_empty", 0):
        return None
    budget.take(path, item.nbytes)
    # MATLAB stores columns one after the other, HDF5 rows.
    return item[()].T
