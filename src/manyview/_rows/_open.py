"""From checked views and their scales to scaled rows."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from manyview._rows._base import Rows
from manyview._rows._dense import DenseRows
from manyview._rows._sparse import SparseRows
from manyview._scaling import LARGEST_UNSCALED, ViewScale
from manyview._views import ViewSet
from manyview.exceptions import ViewError


def open_views(
    views: ViewSet,
    scales: tuple[ViewScale, ...],
    *,
    keep_scaled: bool = True,
    n_samples: int | None = None,
) -> tuple[Rows, ...]:
    """Scaled row access to every view.

    With `keep_scaled`, small views are scaled once and kept. If the views are a part of
    larger ones, `n_samples` is the number of rows of those.
    """
    n_samples = n_samples or views.n_samples
    opened: list[Rows] = []
    for v, scale in enumerate(scales):
        array, present = views.arrays[v], views.present[v]
        rows: Rows
        # An overflow is reported below, with the name of the view.
        with np.errstate(over="ignore", invalid="ignore"):
            if sparse.issparse(array):
                rows = SparseRows(array, present, scale, n_samples=n_samples)
            else:
                rows = DenseRows(
                    array, present, scale, keep_scaled=keep_scaled, n_samples=n_samples
                )
        _reject_overflow(rows, views.names[v])
        opened.append(rows)
    return tuple(opened)


def _reject_overflow(rows: Rows, name: str) -> None:
    """Values far beyond those that the scale was learned from have no distances."""
    overflows = ~(rows.sq_norms < LARGEST_UNSCALED**2)
    if overflows.any():
        msg = (
            f"View {name!r}, row {int(overflows.argmax())} has values so far from "
            "those of fit that squared distances overflow. Check its units, or mark "
            "the row as missing with NaN."
        )
        raise ViewError(msg)
