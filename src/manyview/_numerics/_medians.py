"""How far values of groups lie from the medians of their groups."""

from __future__ import annotations

import numpy as np

from manyview._numerics._jit import kernel
from manyview._typing import FloatArray, IntArray


@kernel()
def spread_of_groups(
    values: FloatArray, groups: IntArray, out_medians: FloatArray
) -> tuple[float, float, float]:
    """Medians of groups (n_groups,); that of all values for an empty group.

    values : (n_values,), of which NaN are left out; groups : (n_values,). Returns the
    median of all values, and the median and the mean of their distances to the median
    of their group; zeros if there are no values.
    """
    ends = np.zeros(len(out_medians) + 1, dtype=np.intp)
    for i in range(len(values)):
        if not np.isnan(values[i]):
            ends[groups[i] + 1] += 1
    ends = np.cumsum(ends)
    n_known = ends[-1]
    out_medians[:] = 0.0
    if n_known == 0:
        return 0.0, 0.0, 0.0
    # Values of a group side by side; `ends` become those of the groups.
    known = np.empty(n_known)
    for i in range(len(values)):
        if not np.isnan(values[i]):
            known[ends[groups[i]]] = values[i]
            ends[groups[i]] += 1
    everyone, start = float(np.median(known)), 0
    for j in range(len(out_medians)):
        members = known[start : ends[j]]
        out_medians[j] = np.median(members) if len(members) else everyone
        for m in range(len(members)):
            members[m] = abs(members[m] - out_medians[j])
        start = ends[j]
    return everyone, float(np.median(known)), float(np.mean(known))
