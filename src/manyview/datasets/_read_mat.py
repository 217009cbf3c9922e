"""Read MATLAB files, old (version 5) and new (7.3, which is HDF5).

``scipy.io.loadmat`` is made for files one trusts: about one in fifty damaged ones
crashes the process (scipy 1.12 and 1.17). Here every length is checked against what is
there before it is used.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from manyview._extras import import_extra
from manyview.datasets._guards import Budget, check_hdf5
from manyview.datasets._read_arrays import source_from_variables
from manyview.datasets._source import ReadOptions, Source
from manyview.exceptions import DatasetError

HEADER_BYTES = 128

# Element types and array classes of the format, by their codes.
NUMBERS = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
}
MATRIX, COMPRESSED = 14, 15
CELL_CLASS, SPARSE_CLASS = 1, 5
NUMERIC_CLASSES = range(6, 16)
COMPLEX_FLAG = 0x0800

Element = tuple[int, memoryview]


def read_mat(path: Path, options: ReadOptions) -> Source:
    """Read the views of a MATLAB file: the entries of its cell array, or its matrices.

    With one cell array of matrices its entries are the views, else every matrix that
    is not a vector.
    """
    with path.open("rb") as stream:
        is_hdf5 = stream.read(16).startswith((b"MATLAB 7.3", b"\x89HDF"))
    # Matrices by name, cell arrays of matrices as lists; anything else is left out.
    variables = (_load_hdf5 if is_hdf5 else _load_mat5)(path, options.budget)
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


# Version 5


def _load_mat5(path: Path, budget: Budget) -> dict[str, Any]:
    """Matrices by name, cell arrays of matrices as lists; the rest is left out."""
    content = memoryview(path.read_bytes())
    mark = bytes(content[126:128])
    if mark not in (b"IM", b"MI"):
        msg = f"{path} is not a MATLAB file of version 5 or 7.3; save it with -v7."
        raise DatasetError(msg)
    reader = _Reader(path, "<" if mark == b"IM" else ">", budget)
    variables = {}
    for kind, data in reader.elements(content[HEADER_BYTES:]):
        if kind == COMPRESSED:
            kind, data = reader.unpack(data)
        if kind != MATRIX:
            continue
        name, value = reader.variable(data)
        if value is not None:
            variables[name] = value
    return variables


@dataclass(frozen=True, slots=True)
class _Reader:
    path: Path
    order: str
    budget: Budget

    def elements(self, data: memoryview) -> Iterator[Element]:
        """Type and content of the elements that follow each other in `data`."""
        at = 0
        while at + 8 <= len(data):
            kind, n_bytes = struct.unpack_from(self.order + "II", data, at)
            start = at + 8
            if kind >> 16:
                # Up to four bytes sit inside the tag itself.
                kind, n_bytes, start = kind & 0xFFFF, kind >> 16, at + 4
            if start + n_bytes > len(data) or (start == at + 4 and n_bytes > 4):
                msg = (
                    f"{self.path} is cut short: an element promises {n_bytes} bytes, "
                    f"{len(data) - start} are there."
                )
                raise DatasetError(msg)
            yield kind, data[start : start + n_bytes]
            # Compressed elements alone are not padded to eight bytes.
            at = start + n_bytes
            if kind != COMPRESSED:
                at = -(-at // 8) * 8

    def numbers(self, element: Element) -> Any:
        kind, data = element
        if kind not in NUMBERS:
            msg = f"{self.path} has data of the unknown type {kind}."
            raise DatasetError(msg)
        return np.frombuffer(data, dtype=np.dtype(self.order + NUMBERS[kind]))

    def unpack(self, packed: memoryview) -> Element:
        """The element inside a compressed one, if its size is sane."""
        inflate = zlib.decompressobj()
        tag = inflate.decompress(bytes(packed), 8)
        kind, n_bytes = struct.unpack(self.order + "II", tag)
        self.budget.take(self.path, n_bytes)
        # One byte more than promised makes zlib arrive at its own checksum.
        data = inflate.decompress(inflate.unconsumed_tail, n_bytes + 1)
        if len(data) < n_bytes:
            msg = f"{self.path} is cut short: {len(data)} of {n_bytes} bytes are there."
            raise DatasetError(msg)
        return kind, memoryview(data)[:n_bytes]

    def variable(self, data: memoryview) -> tuple[str, Any]:
        """Name and value of an array; None for text, structures and the like."""
        parts = self.elements(data)
        flags = int(self.numbers(next(parts))[0])
        shape = tuple(int(d) for d in self.numbers(next(parts)))
        name = bytes(next(parts)[1]).decode("utf-8")
        array_class = flags & 0xFF
        if array_class == CELL_CLASS:
            return name, self._cell(name, shape, list(parts))
        if array_class == SPARSE_CLASS and not flags & COMPLEX_FLAG:
            return name, self._sparse(shape, list(parts))
        if array_class in NUMERIC_CLASSES and not flags & COMPLEX_FLAG:
            values = self.numbers(next(parts))
            # reshape would take -1 for "whatever fits".
            if min(shape) < 0 or math.prod(shape) != values.size:
                msg = f"{self.path}: {name!r} claims shape {shape} for {values.size}."
                raise DatasetError(msg)
            return name, values.reshape(shape, order="F")
        return name, None

    def _cell(self, name: str, shape: tuple[int, ...], parts: list[Element]) -> Any:
        if math.prod(shape) != len(parts):
            msg = f"{self.path}: cell array {name!r} claims {shape}, has {len(parts)}."
            raise DatasetError(msg)
        entries = []
        for kind, data in parts:
            if kind != MATRIX or not len(data):
                return None
            _, value = self.variable(data)
            if value is None or isinstance(value, list):
                return None
            entries.append(value)
        return entries or None

    def _sparse(self, shape: tuple[int, ...], parts: list[Element]) -> Any:
        rows, starts, values = (self.numbers(part) for part in parts[:3])
        self.budget.take_sparse(self.path, *shape[:2])
        n_entries = int(starts[-1])
        # MATLAB may reserve room for entries that are not there.
        return csc_array(
            (values[:n_entries], rows[:n_entries], starts), shape=(shape[0], shape[1])
        )


# Version 7.3


def _load_hdf5(path: Path, budget: Budget) -> dict[str, Any]:
    """What a file of version 7.3 holds."""
    h5py = import_extra("h5py", "io", f"Reading {path}")
    variables: dict[str, Any] = {}
    with h5py.File(path, "r") as content:
        check_hdf5(path, content)
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
    check_hdf5(path, item)
    if "MATLAB_sparse" in item.attrs:
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
