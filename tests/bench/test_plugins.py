"""Methods and data sets from outside the package."""

import importlib

import pytest
from numpy.testing import assert_array_equal

from manyview.bench import describe_data, find_dataset, find_estimator, load_data
from manyview.bench._methods import plugged_methods
from manyview.exceptions import DatasetError
from tests.bench.toys import Steady

ENTRY_POINTS = """\
[manyview.methods]
steady = outside:Method

[manyview.datasets]
squares = outside:make_squares
"""
MODULE = """\
import numpy as np

from manyview.datasets import MultiViewData
from tests.bench.toys import Steady


class Method(Steady):
    pass


def make_squares():
    values = np.arange(6.0)[:, None]
    return MultiViewData(
        name="squares",
        views=(values, values**2),
        view_names=("plain", "squared"),
        target=np.array([0, 0, 0, 1, 1, 1]),
    )
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package beside manyview that announces a method and a data set."""
    info = tmp_path / "outside-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    (tmp_path / "outside.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    find_estimator.cache_clear()
    yield
    find_estimator.cache_clear()


@pytest.mark.usefixtures("installed")
def test_installed_method_is_found_by_name():
    assert plugged_methods() == ("steady",)
    assert issubclass(find_estimator("steady"), Steady)
    assert find_estimator("steady").__name__ == "Method"


@pytest.mark.usefixtures("installed")
def test_installed_data_set_is_found_by_name():
    ref = find_dataset("squares")
    assert_array_equal(load_data(ref).views[1].ravel(), [0, 1, 4, 9, 16, 25])
    assert describe_data(ref).n_clusters == 2


def test_find_estimator_takes_an_import_path():
    assert find_estimator("tests.bench.toys:Steady") is Steady


@pytest.mark.parametrize("path", ["no.such.module:Method", "tests.bench.toys:Sturdy"])
def test_find_estimator_says_what_cannot_be_imported(path):
    with pytest.raises(DatasetError, match=f"Cannot import the method '{path}'"):
        find_estimator(path)


def test_find_estimator_names_the_known_methods():
    with pytest.raises(DatasetError, match=r"called 'NSMCV'. Known: .*NSMVC"):
        find_estimator("NSMCV")
