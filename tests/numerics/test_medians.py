"""Spread of groups against NumPy, group by group."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from manyview._numerics._medians import spread_of_groups


@pytest.mark.parametrize("n_values", [1, 2, 40, 41])
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_spread_is_by_definition(n_values, missing):
    rng = np.random.default_rng(n_values)
    values, groups = rng.exponential(size=n_values), rng.integers(4, size=n_values)
    groups[groups == 2] = 3
    values[rng.random(n_values) < missing] = np.nan
    known = ~np.isnan(values)
    known[0], values[0] = True, 1.5

    medians = np.empty(5)
    everyone, middle, mean = spread_of_groups(values, groups, medians)

    expected = np.full(5, np.median(values[known]))
    for group in np.unique(groups[known]):
        expected[group] = np.median(values[known & (groups == group)])
    off = np.abs(values - expected[groups])[known]
    assert_allclose(medians, expected)
    assert_allclose(
        (everyone, middle, mean), (np.median(values[known]), np.median(off), off.mean())
    )


def test_spread_of_nothing_is_zero():
    medians = np.empty(2)
    nothing = np.full(3, np.nan)
    assert spread_of_groups(nothing, np.array([0, 1, 0]), medians) == (0.0, 0.0, 0.0)
    assert not medians.any()
