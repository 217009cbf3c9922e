import numpy as np
import pytest
from numpy.testing import assert_array_equal

from manyview.exceptions import DatasetError
from reproduction.data import corrupt, describe_data, load_data


def test_file_is_read_as_a_data_set(source, data):
    loaded = load_data(source)
    assert data.name == "pairs"
    assert data.view_names == loaded.view_names == ("left", "right")
    assert_array_equal(loaded.target, np.repeat([0, 1], 40))


@pytest.mark.parametrize("part", ["left", "y"])
def test_checksum_changes_with_views_and_classes(source, data, part):
    with np.load(source) as file:
        content = dict(file)
    content[part][3] += 1
    np.savez(source, **content)
    load_data.cache_clear()
    assert describe_data(source).checksum != data.checksum


def test_load_data_names_the_known_ones():
    with pytest.raises(DatasetError, match=r"called 'texsa'. Known data sets: handwri"):
        load_data("texsa")


def test_corrupt_hits_the_share_and_keeps_everything_else(source):
    data = load_data(source)
    noisy = corrupt(data, "left", 0.25, seed=3)
    changed = (noisy.views[0] != data.views[0]).any(axis=1)
    # 20 rows are hit; one may by chance draw its own three values again.
    assert 19 <= changed.sum() <= 20
    assert noisy.views[1] is data.views[1]
    for column in range(3):
        assert set(noisy.views[0][:, column]) <= set(data.views[0][:, column])


def test_corrupt_with_a_larger_share_contains_the_smaller(source):
    data = load_data(source)
    some, all_rows = (corrupt(data, "left", s, seed=3).views[0] for s in (0.5, 1.0))
    touched = (some != data.views[0]).any(axis=1)
    assert_array_equal(some[touched], all_rows[touched])


def test_corrupt_with_share_one_leaves_no_trace_of_the_classes(source):
    data = load_data(source)
    noisy = corrupt(data, "left", 1.0, seed=3).views[0]
    assert abs(noisy[:40].mean() - noisy[40:].mean()) < 0.5
    assert abs(data.views[0][:40].mean() - data.views[0][40:].mean()) > 1.8
