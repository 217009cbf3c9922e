"""Look at HDF5 files before they are read: they must not lead anywhere else.

A file may name other files, whose content would then pass for its own: by links, by
external storage, and as the sources of virtual data sets.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from manyview.exceptions import DatasetError

# Real files have hundreds.
MOST_ITEMS = 100_000


def check_item(path: Path, item: Any) -> int:
    """Refuse a data set or group any part of which lies in another file.

    Returns the size of all its data in memory, as far as it is known before reading.
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
