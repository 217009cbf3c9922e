"""Open HDF5 files that lead nowhere else.

A file may name other files, whose content would then pass for its own: by links, by
external storage, and as the sources of virtual data sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from manyview.datasets._guards import import_extra, reading
from manyview.exceptions import DatasetError

# Real files have hundreds.
MOST_ITEMS = 100_000


@contextmanager
def open_hdf5(path: Path, kind: str) -> Iterator[Any]:
    """An HDF5 file in which every item was looked at; `kind` is for messages."""
    h5py = import_extra("h5py", "io", path)
    with reading(path, kind), h5py.File(path, "r") as content:
        check_item(path, content)
        yield content


def total_bytes(content: Any) -> int:
    """Size of all data sets in memory, as far as it is known before reading."""
    sizes: list[int] = []
    content.visititems(lambda _, item: sizes.append(getattr(item, "nbytes", 0)))
    return sum(sizes)


def check_item(path: Path, item: Any) -> None:
    """Refuse a data set or group any part of which lies in another file."""
    import h5py

    waiting, seen = [item], set()
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
        if isinstance(item, h5py.Dataset):
            if item.id.get_create_plist().get_external_count():
                _refuse(path, f"{item.name} keeps its data in another file")
            if item.is_virtual:
                _refuse(path, f"{item.name} is a virtual data set")
        elif isinstance(item, h5py.Group):
            for name in item:
                link = item.get(name, getlink=True)
                if isinstance(link, h5py.HardLink):
                    waiting.append(item[name])
                elif not isinstance(link, h5py.SoftLink):
                    # Soft links stay in the file, so their ends are seen too.
                    _refuse(path, f"{name} is a link to another file")


def _refuse(path: Path, trouble: str) -> None:
    msg = f"{path}: {trouble}, which is not followed. Copy the data into one file."
    raise DatasetError(msg)
