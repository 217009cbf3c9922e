"""Rows that a worker keeps on its local disk."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import numpy.typing as npt
from dask.sizeof import sizeof

from manyview._files import naming


class SpooledArray(np.memmap[Any, Any]):
    """An array in a scratch file that vanishes with it, even if its process is killed.

    Sent to another worker, it goes into a scratch file there.
    """

    def __reduce__(self) -> Any:
        return spooled, (self.view(np.ndarray),)


@sizeof.register(SpooledArray)
def _weight(array: SpooledArray) -> int:
    # It takes up no memory, but Dask moves a part of size 0 between workers.
    return array.nbytes // 16


def spooled(array: npt.NDArray[Any]) -> SpooledArray:
    """A copy of the array on this worker's disk."""
    # The file has no name from the beginning: nothing is left to tidy up.
    folder = _scratch_folder()
    with naming(Path(folder)), tempfile.TemporaryFile(dir=folder) as file:
        # Not tofile, which does not say why it failed.
        file.write(np.ascontiguousarray(array).data)
        file.flush()
        stored = np.memmap(file, dtype=array.dtype, mode="r", shape=array.shape)
    return stored.view(SpooledArray)


def _scratch_folder() -> str:
    try:
        return str(distributed.get_worker().local_directory)
    except ValueError:
        return tempfile.gettempdir()
