"""Samples of one part on disk: what a run cannot work out again from its centres."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from manyview._files import UNREADABLE, whole_file
from manyview._solvers._state import SampleState
from manyview.exceptions import CheckpointError

DAMAGED = "{path} is damaged. Remove the checkpoint folder to begin anew."


def write_arrays(path: Path, **arrays: Any) -> None:
    """Write an npz file that is there as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Two workers may write the same part, if Dask runs a task twice: each has a
    # temporary file of its own.
    with whole_file(path) as file:
        np.savez(file, **arrays)


def write_state(path: Path, state: SampleState) -> None:
    """Labels, selection and paces of joining, in few bytes per sample."""
    write_arrays(
        path,
        labels=_narrow(state.labels),
        selected=np.packbits(state.selected, axis=1),
        joined_pace=_narrow(state.joined_pace),
    )


def read_state(path: Path, n_rows: int, n_views: int, n_clusters: int) -> SampleState:
    """A state that goes on as the written one would; its bounds are loose."""
    try:
        # Opened here: NumPy leaves a file that it cannot read open.
        with path.open("rb") as file, np.load(file) as stored:
            labels, joined_pace = stored["labels"], stored["joined_pace"]
            packed = stored["selected"]
    except FileNotFoundError as error:
        msg = (
            f"{path} is gone, or a worker cannot see it. Remove the checkpoint folder "
            "to begin anew."
        )
        raise CheckpointError(msg) from error
    except (*UNREADABLE, OSError) as error:
        raise CheckpointError(DAMAGED.format(path=path)) from error
    # Kernels trust labels: one out of range would reach beyond their arrays.
    if not (
        _are_counts(labels, (n_rows,))
        and labels.max(initial=0) < n_clusters
        and _are_counts(joined_pace, (n_views, n_rows))
        and packed.dtype == np.uint8
        and packed.shape == (n_views, -(-n_rows // 8))
    ):
        raise CheckpointError(DAMAGED.format(path=path))
    state = SampleState.begin(labels, n_views)
    state.weights = np.unpackbits(packed, axis=1, count=len(labels)).astype(bool)
    state.joined_pace = joined_pace.astype(np.int16)
    return state


def _are_counts(values: Any, shape: tuple[int, ...]) -> bool:
    return bool(values.dtype.kind == "u" and values.shape == shape)


def _narrow(values: Any) -> Any:
    """The values in the smallest unsigned type that holds them."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))
