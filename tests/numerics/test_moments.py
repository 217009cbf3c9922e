"""Compiled passes over rows against their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from manyview._numerics import _moments
from manyview._numerics._moments import (
    lengths_of_rows,
    moments_of_rows,
    range_of_rows,
)


@pytest.fixture(params=[np.float32, np.float64])
def rows(request):
    rng = np.random.RandomState(0)
    values = rng.normal(3.0, 2.0, size=(70, 5)).round(1)
    values[rng.uniform(size=values.shape) < 0.2] = 0.0
    return values.astype(request.param)


@pytest.fixture
def present():
    return np.arange(70) % 3 > 0


def test_range_of_present_rows(rows, present):
    rows[~present] = np.nan
    low, high = np.full(5, np.inf), np.full(5, -np.inf)
    n_zeros = range_of_rows(rows[:40], present[:40], low, high)
    n_zeros += range_of_rows(rows[40:], present[40:], low, high)
    kept = rows[present].astype(np.float64)
    assert_array_equal(low, kept.min(axis=0))
    assert_array_equal(high, kept.max(axis=0))
    assert n_zeros == (kept == 0.0).sum()


@pytest.mark.parametrize("piece", [1, 15, 1000])
def test_moments_of_pieces_are_those_of_all(rows, present, piece, monkeypatch):
    # Compiled code has read the constant already; the function it was made of has not.
    monkeypatch.setattr(_moments, "PIECE_ELEMENTS", piece)
    rows[~present] = np.nan
    low, per_span = np.full(5, -1.0), np.linspace(0.1, 0.5, 5)
    mean, m2 = np.zeros(5), np.zeros(5)
    add = moments_of_rows.py_func
    n_rows = add(rows[:40], present[:40], low, per_span, 0, mean, m2)
    n_rows = add(rows[40:], present[40:], low, per_span, n_rows, mean, m2)
    compiled_mean, compiled_m2 = np.zeros(5), np.zeros(5)
    moments_of_rows(rows, present, low, per_span, 0, compiled_mean, compiled_m2)
    offsets = (rows[present].astype(np.float64) - low) * per_span
    assert n_rows == present.sum()
    assert_allclose(mean, offsets.mean(axis=0), rtol=1e-12)
    assert_allclose(m2, ((offsets - offsets.mean(axis=0)) ** 2).sum(axis=0), rtol=1e-12)
    assert_allclose(compiled_mean, mean, rtol=1e-12)
    assert_allclose(compiled_m2, m2, rtol=1e-12)


def test_lengths_and_total(rows):
    squares, total = np.empty(70), np.ones(5)
    rounded = np.empty((70, 5), dtype=np.float32)
    lengths_of_rows(rows, squares, total, rounded)
    assert_array_equal(rounded, rows.astype(np.float32))
    exact = rows.astype(np.float64)
    assert_allclose(squares, (exact**2).sum(axis=1), rtol=1e-12)
    assert_allclose(total, 1.0 + exact.sum(axis=0), rtol=1e-12)
