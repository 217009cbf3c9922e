"""Passes over rows of features: ranges, means, scatter and lengths."""

from __future__ import annotations

import numpy as np

from manyview._numerics._jit import kernel
from manyview._typing import BoolArray, FloatArray

# Values that stay in the processor's cache between two looks at them.
PIECE_ELEMENTS = 1 << 15


@kernel()
def range_of_rows(
    rows: FloatArray, present: BoolArray, out_low: FloatArray, out_high: FloatArray
) -> int:
    """Extend ranges (n_features,) by present rows; returns how many values are 0."""
    n_zeros = 0
    for i in range(rows.shape[0]):
        if not present[i]:
            continue
        for f in range(rows.shape[1]):
            value = np.float64(rows[i, f])
            out_low[f] = value if value < out_low[f] else out_low[f]
            out_high[f] = value if value > out_high[f] else out_high[f]
            n_zeros += value == 0.0
    return n_zeros


@kernel()
def moments_of_rows(
    rows: FloatArray,
    present: BoolArray,
    low: FloatArray,
    per_span: FloatArray,
    n_before: int,
    out_mean: FloatArray,
    out_m2: FloatArray,
) -> int:
    """Add rows to the mean and summed squared deviations of ``(x - low) * per_span``.

    n_before : rows that are in `out_mean` and `out_m2` (n_features,) already; returns
    how many are in them afterwards. Pieces are merged by Chan's formula.
    """
    n_rows, n_features = rows.shape
    size = max(1, PIECE_ELEMENTS // n_features)
    mean, m2 = np.empty(n_features), np.empty(n_features)
    for start in range(0, n_rows, size):
        stop = min(start + size, n_rows)
        n_new = 0
        mean[:] = 0.0
        for i in range(start, stop):
            if present[i]:
                n_new += 1
                for f in range(n_features):
                    mean[f] += (np.float64(rows[i, f]) - low[f]) * per_span[f]
        if n_new == 0:
            continue
        mean /= n_new
        m2[:] = 0.0
        for i in range(start, stop):
            if present[i]:
                for f in range(n_features):
                    offset = (np.float64(rows[i, f]) - low[f]) * per_span[f]
                    m2[f] += (offset - mean[f]) ** 2
        share = n_new / (n_before + n_new)
        for f in range(n_features):
            step = mean[f] - out_mean[f]
            out_mean[f] += step * share
            out_m2[f] += m2[f] + step**2 * (n_before * share)
        n_before += n_new
    return n_before


@kernel(fastmath={"reassoc", "contract"})
def lengths_of_rows(
    rows: FloatArray,
    out_sq_norms: FloatArray,
    out_total: FloatArray,
    out_rounded: FloatArray,
) -> None:
    """Squared lengths (n_rows,), and the rows added to `out_total` (n_features,).

    out_rounded : filled with the rows in another precision, unless it is empty.
    """
    for i in range(rows.shape[0]):
        square = 0.0
        for f in range(rows.shape[1]):
            value = np.float64(rows[i, f])
            square += value * value
            out_total[f] += value
        out_sq_norms[i] = square
        if out_rounded.size:
            for f in range(rows.shape[1]):
                out_rounded[i, f] = rows[i, f]
