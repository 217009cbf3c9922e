"""What is remembered of samples between sweeps."""

from types import SimpleNamespace

import numpy as np
from numpy.testing import assert_allclose

from manyview._solvers._state import Bounds


def test_a_lower_bound_falls_by_the_furthest_move_of_another_centre():
    """Hand-computed: centres on a line that move by 1, 5 and 2."""
    view = SimpleNamespace(sq_norms=np.ones(3))
    before, after = (
        SimpleNamespace(values=points, largest=points.max() ** 2)
        for points in (
            np.array([[0.0], [10.0], [20.0]]),
            np.array([[1.0], [15.0], [22.0]]),
        )
    )
    bounds = Bounds(3, 1)
    fixed = (np.arange(3, dtype=np.int32), np.array([4.0]), np.ones(1))
    bounds.renew((view,), [before], *fixed)
    bounds.upper[:], bounds.lower[:] = 1.0, 9.0
    bounds.renew((view,), [after], *fixed)
    assert_allclose(bounds.upper, [2.0, 6.0, 3.0])
    assert_allclose(bounds.lower, [4.0, 7.0, 4.0])
