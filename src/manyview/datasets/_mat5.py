"""Parse MATLAB version 5 files: matrices, sparse matrices and cells of them.

``scipy.io.loadmat`` is made for files one trusts: about one in fifty damaged ones
crashes the process (scipy 1.12 and 1.17). Here every length is checked against what is
there before it is used.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from manyview.datasets._guards import Budget
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
        from scipy.sparse import csc_array

        rows, starts, values = (self.numbers(part) for part in parts[:3])
        self.budget.take_sparse(self.path, *shape[:2])
        n_entries = int(starts[-1])
        # MATLAB may reserve room for entries that are not there.
        return csc_array(
            (values[:n_entries], rows[:n_entries], starts), shape=(shape[0], shape[1])
        )


def load_mat5(path: Path, budget: Budget) -> dict[str, Any]:
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
