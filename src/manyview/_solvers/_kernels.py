"""Kernels of views: of all pairs of samples, or of low rank by anchors."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from manyview._numerics._gram import (
    Kernel,
    LowRankKernel,
    gaussian_kernel,
    linear_kernel,
    nystrom_turn,
    similarities,
)
from manyview._rows import Rows
from manyview._typing import IntArray
from manyview._views import SCAN_ELEMENTS, row_blocks
from manyview.exceptions import ViewError

# Share of the available memory that matrices of similarities may take.
MEMORY_SHARE = 0.9


def view_kernels(
    views: Sequence[Rows], kernel: str, anchors: IntArray | None, *, n_beside: int
) -> list[Kernel]:
    """One kernel per view.

    anchors : samples that all others are compared with; None compares all pairs.
    n_beside : matrices of the size of a kernel that will be needed beside these.
    """
    n_columns = views[0].n_samples if anchors is None else len(anchors)
    check_memory(views[0].n_samples, n_columns, len(views) + n_beside)
    return [_view_kernel(view, kernel, anchors) for view in views]


def _view_kernel(view: Rows, kernel: str, anchors: IntArray | None) -> Kernel:
    points = view.all_points() if anchors is None else view.points(anchors)
    own, bandwidth = (
        gaussian_kernel(points) if kernel == "rbf" else (linear_kernel(points), None)
    )
    if anchors is None:
        return own
    turn = nystrom_turn(own)
    factor = np.empty((view.n_samples, turn.shape[1]))
    for rows in row_blocks(view.n_samples, len(anchors), SCAN_ELEMENTS):
        factor[rows] = similarities(view.points(rows), points, bandwidth) @ turn
    return LowRankKernel(factors=(factor,), weights=(1.0,))


def check_memory(n_samples: int, n_columns: int, n_matrices: int) -> None:
    """Refuse float64 matrices that would not fit, before they are made.

    n_columns : samples that all samples are compared with, `n_samples` for all pairs.
    """
    needed = 8 * n_samples * n_columns * n_matrices
    available = available_memory()
    if available is not None and needed > MEMORY_SHARE * available:
        pairs, remedy = f"{n_samples} samples and {n_columns} anchors", "fewer anchors"
        if n_columns == n_samples:
            pairs, remedy = f"all pairs of {n_samples} samples", "anchors"
        msg = (
            f"{n_matrices} matrices of {pairs} need {needed / 2**30:.1f} GiB, but "
            f"{available / 2**30:.1f} GiB of memory are available. Use {remedy} "
            "(n_anchors), fewer samples, or AMGL or NSMVC, which have no such matrices."
        )
        raise ViewError(msg)


def available_memory() -> int | None:
    """Bytes that can be had; all the machine's without psutil; None if unknown."""
    try:
        import psutil
    except ImportError:
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, ValueError, OSError):
            return None
    return int(psutil.virtual_memory().available)
