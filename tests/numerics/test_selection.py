"""Selection of samples at a pace, beside its definition."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from manyview._numerics._selection import select_rows


@given(seed=st.integers(0, 10**6), n_samples=st.integers(0, 40))
def test_selection_is_by_definition(seed, n_samples):
    rng = np.random.default_rng(seed)
    losses = rng.integers(5, size=n_samples).astype(float)
    present = rng.random(n_samples) < 0.7
    before = (rng.random(n_samples) < 0.5) & present
    joined = np.where(before, rng.integers(1, 3, size=n_samples), 0).astype(np.int16)
    selected, out_joined = before.copy(), joined.copy()
    squares = rng.integers(9, size=n_samples).astype(float)

    rows, signs, energy = select_rows(
        losses, 2.0, present, squares, 3, selected, out_joined
    )

    chosen = present & (losses <= 2.0)
    assert_array_equal(selected, chosen)
    assert energy == squares[chosen].sum()
    assert_array_equal(rows, np.flatnonzero(chosen != before))
    assert_array_equal(signs, np.where(chosen[rows], 1.0, -1.0))
    assert_array_equal(out_joined, np.where(chosen & (joined == 0), 3, joined))
