"""Distinct rows are counted exactly, and only as far as asked for."""

import numpy as np
import pytest
from scipy import sparse

from manyview._numerics._distinct import count_distinct_rows


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_rows_differ_if_any_view_does(make):
    first = make(np.repeat([[0.0, 1.0], [2.0, 0.0]], 300, axis=0))
    second = make(np.tile([[0.0], [3.0], [0.0]], (200, 1)))
    assert count_distinct_rows([first], 10) == 2
    assert count_distinct_rows([second], 10) == 2
    assert count_distinct_rows([first, second], 10) == 4
    assert count_distinct_rows([first, second], 3) == 3


def test_zeros_of_either_sign_and_stored_zeros_are_equal():
    assert count_distinct_rows([np.array([[0.0], [-0.0]])], 2) == 1
    stored = sparse.csr_array(([0.0, 1.0], ([0, 1], [0, 0])), shape=(3, 1))
    assert count_distinct_rows([stored], 3) == 2


def test_reading_stops_once_there_are_enough():
    class Counted:
        shape = (10_000, 1)
        n_blocks = 0

        def __getitem__(self, rows):
            self.n_blocks += 1
            stop = min(rows.stop, self.shape[0])
            return np.arange(rows.start, stop, dtype=float)[:, None]

    array = Counted()
    assert count_distinct_rows([array], 5) == 5
    assert array.n_blocks == 1
    assert count_distinct_rows([array], 20_000) == 10_000
