"""Kernels of views: of all pairs of samples, or of low rank by anchors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from manyview._numerics._gram import (
    Kernel,
    LowRankKernel,
    gaussian_kernel,
    learn_anchor_map,
    linear_kernel,
)
from manyview._rows import Rows
from manyview._solvers._memory import check_memory
from manyview._typing import IntArray
from manyview._views import SCAN_ELEMENTS, row_blocks

KERNELS = {"rbf": gaussian_kernel, "linear": linear_kernel}


def view_kernels(
    views: Sequence[Rows], kernel: str, anchors: IntArray | None, *, n_beside: int
) -> list[Kernel]:
    """One kernel per view.

    anchors : samples that all others are compared with; None compares all pairs.
    n_beside : matrices of the size of a kernel that will be needed beside these.
    """
    n_columns = views[0].n_samples if anchors is None else len(anchors)
    check_memory(views[0].n_samples, n_columns, len(views) + n_beside)
    if anchors is None:
        return [KERNELS[kernel](view.all_points()) for view in views]
    return [_anchor_kernel(view, anchors, kernel) for view in views]


def _anchor_kernel(view: Rows, anchors: IntArray, kernel: str) -> LowRankKernel:
    anchor_map = learn_anchor_map(view.points(anchors), gaussian=kernel == "rbf")
    factor = np.empty((view.n_samples, anchor_map.turn.shape[1]))
    for rows in row_blocks(view.n_samples, len(anchors), SCAN_ELEMENTS):
        factor[rows] = anchor_map.factor(view.points(rows))
    return LowRankKernel(factors=(factor,), weights=(1.0,))
