"""Which samples take part at a pace."""

from __future__ import annotations

import numpy as np

from manyview._numerics._jit import kernel
from manyview._typing import BoolArray, FloatArray, IntArray


@kernel()
def select_rows(
    losses: FloatArray,
    limit: float,
    present: BoolArray,
    sq_norms: FloatArray,
    pace: int,
    out_selected: BoolArray,
    out_joined: IntArray,
) -> tuple[IntArray, FloatArray, float]:
    """Select the samples of a view with a loss up to `limit`; all are (n_samples,).

    out_joined : pace of the first selection, 0 before it. Returns the samples whose
    selection changed, 1 for those that joined and -1 for those that left, and the sum
    of `sq_norms` of all that are selected now.
    """
    rows, signs = np.empty(len(losses), dtype=np.intp), np.empty(len(losses))
    n_changed, energy = 0, 0.0
    for i in range(len(losses)):
        chosen = present[i] and losses[i] <= limit
        if chosen:
            energy += sq_norms[i]
            if out_joined[i] == 0:
                out_joined[i] = pace
        if chosen != out_selected[i]:
            rows[n_changed], signs[n_changed] = i, 1.0 if chosen else -1.0
            out_selected[i] = chosen
            n_changed += 1
    return rows[:n_changed], signs[:n_changed], energy
