"""The screen of centres picks the samples that few distances settle."""

from types import SimpleNamespace

import numpy as np
from numpy.testing import assert_array_equal

from manyview._numerics import _assign
from manyview._solvers._screen import Screen


def test_only_samples_with_a_margin_above_most_moves_are_screened(monkeypatch):
    """Hand-computed: of 16 moves, 6 reach a margin of 11, and 9 one of 8."""
    screened = {}

    def record(*arguments):
        screened["rows"], screened["rest"] = arguments[3], arguments[7]

    monkeypatch.setattr(_assign, "tighten_bounds", record)

    def load_some(_, wanted, __):
        return wanted

    table = SimpleNamespace(load_some=load_some, distances=None, rounding=None)
    bounds = SimpleNamespace(
        # Before the centres moved, 13 and 10: any other one moved by up to 3.
        lower=np.array([0.0, 10.0, 7.0]),
        upper=np.array([0.0, 1.0, 1.0]),
        other_shifts=np.full(16, 3.0),
        anchor=None,
    )
    screen = Screen(
        order=np.arange(16), moves=np.arange(16.0, 0.0, -1.0), nearby={8: []}
    )
    screen.tighten(
        bounds,
        slice(1, 3),
        np.array([0, 1]),
        2.0,
        np.zeros(3, dtype=np.int32),
        np.ones((1, 3), dtype=bool),
        table,
    )
    assert_array_equal(screened["rows"], [0])
    # All centres that are not compared moved by at most the ninth largest move.
    assert_array_equal(screened["rest"], [13.0 - 8.0])
