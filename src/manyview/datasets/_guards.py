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

from manyview._extras import MissingExtraError
from manyview.exceptions import DatasetError, ViewError

# Data up to this size is read however well it was compressed.
HARMLESS_BYTES = 64 * 2**20
# Beyond it: one-hot and word matrices stored as float64 stay below this ratio.
MOST_EXPANSION = 200
# Sparse files say nothing about empty rows and columns: a small one may claim so many.
HARMLESS_SIDE = 2**20
# Real HDF5 files have hundreds.
MOST_ITEMS = 100_000


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


def check_hdf5(path: Path, item: Any) -> int:
    """Refuse an item of an HDF5 file any part of which lies in another file.

    Links, external storage and virtual data sets let the content of other files pass
    for that of this one. Returns the size of all data in memory, as far as it is known
    before reading.
    """
    import h5py

    waiting, seen, n_bytes = [item], set(), 0
    while waiting:
        item = waiting.pop()
        info = h5py.h5o.get_info(item.id)
        if info.addr in seen:
            # Groups may hold each other.
            continue
        seen.add(info.addr)
        if len(seen) > MOST_ITEMS:
            msg = f"{path} has more than {MOST_ITEMS} items, so it was not opened."
            raise DatasetError(msg)
        trouble = ""
        if isinstance(item, h5py.Dataset):
            n_bytes += item.nbytes
            if item.id.get_create_plist().get_external_count():
                trouble = f"{item.name} keeps its data in another file"
            elif item.is_virtual:
                trouble = f"{item.name} is a virtual data set"
        elif isinstance(item, h5py.Group):
            for name in item:
                link = item.get(name, getlink=True)
                if isinstance(link, h5py.HardLink):
                    waiting.append(item[name])
                elif not isinstance(link, h5py.SoftLink):
                    # Soft links stay in the file, so their ends are seen too.
                    trouble = f"{name} is a link to another file"
        if trouble:
            msg = f"{path}: {trouble}, which is not followed. Copy the data into it."
            raise DatasetError(msg)
    return n_bytes
