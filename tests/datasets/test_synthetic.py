"""Made-up views are what they claim to be, held or written."""

import itertools
import tracemalloc

import numpy as np
import pytest
import zarr
from numpy.testing import assert_allclose, assert_array_equal

from manyview.datasets import _synthetic as synthetic_module
from manyview.datasets import make_views, read_views, write_views
from manyview.exceptions import DatasetError


@pytest.fixture
def small_seed_blocks(monkeypatch):
    """Several generator blocks in a small data set."""
    monkeypatch.setattr(synthetic_module, "SEED_ROWS", 64)


def test_make_views_clusters_are_balanced_unit_clouds():
    data = make_views(6001, 3, (4, 9), separation=8.0, random_state=0)
    assert_array_equal(np.sort(np.bincount(data.target)), [2000, 2000, 2001])
    for view, centers in zip(data.views, data.centers, strict=True):
        offsets = view - centers[data.target]
        assert_allclose(offsets.mean(axis=0), 0, atol=0.06)
        assert_allclose(offsets.var(axis=0), 1, atol=0.1)


def test_make_views_separation_is_the_mean_distance_of_centers():
    data = make_views(200, 100, (3, 40), separation=5.0, random_state=1)
    for centers in data.centers:
        pairs = itertools.combinations(centers, 2)
        squared = np.mean([np.sum((p - q) ** 2) for p, q in pairs])
        assert_allclose(np.sqrt(squared), 5.0, rtol=0.15)


def test_make_views_corrupt_view_knows_nothing_of_the_clusters():
    data = make_views(9000, 3, (5, 5), corrupt=[1], random_state=0)
    assert data.view_names == ("view_0", "noise_1")
    assert data.corrupt == (1,)
    good, bad = data.views
    means = [
        [view[data.target == c].mean(axis=0) for c in range(3)] for view in (good, bad)
    ]
    assert np.ptp(means[0], axis=0).max() > 1
    assert np.ptp(means[1], axis=0).max() < 0.2
    assert_allclose(bad.var(), 1 + 36 / 10, rtol=0.05)


def test_make_views_outliers_and_missing_rows_are_known():
    data = make_views(
        5000,
        2,
        (6, 6, 6),
        outliers=0.1,
        missing=0.6,
        random_state=np.random.default_rng(3),
    )
    assert_allclose(data.outliers.mean(axis=1), 0.1, atol=0.02)
    assert not data.missing.all(axis=0).any()
    # 0.6 less the third part of the 0.6**3 that would have lost every view.
    assert_allclose(data.missing.mean(axis=1), 0.6 - 0.216 / 3, atol=0.03)
    for v, view in enumerate(data.views):
        assert_array_equal(np.isnan(view).any(axis=1), data.missing[v])
        assert_array_equal(np.isnan(view).all(axis=1), data.missing[v])
        far = np.linalg.norm(view - data.centers[v][data.target], axis=1) > 8
        there = ~data.missing[v]
        assert far[there & data.outliers[v]].mean() > 0.95
        assert far[there & ~data.outliers[v]].mean() < 0.01


@pytest.mark.usefixtures("small_seed_blocks")
def test_make_views_rows_are_all_different():
    data = make_views(300, 3, (2, 3), random_state=0)
    assert all(len(np.unique(view[:, 0])) == 300 for view in data.views)


def test_make_views_seed():
    def first(seed):
        return make_views(50, random_state=seed).views[0]

    assert_array_equal(first(7), first(7))
    assert_array_equal(first(np.random.RandomState(7)), first(np.random.RandomState(7)))
    assert not np.array_equal(first(7), first(8))
    assert not np.array_equal(first(None), first(None))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_features": ()}, r"n_features=\(\) must give"),
        ({"n_features": (3, 0)}, r"n_features=\(3, 0\) must give"),
        ({"n_clusters": 0}, "n_clusters=0 must lie between 1 and n_samples=300"),
        ({"n_samples": 2}, "n_clusters=3 must lie between 1 and n_samples=2"),
        ({"corrupt": [2]}, "corrupt names view 2; the views are 0 to 1"),
        ({"outliers": 1.5}, r"outliers=1\.5 must be a share"),
        ({"missing": -0.1}, r"missing=-0\.1 must be a share"),
        ({"missing": 0.1, "n_features": (3,)}, "missing needs two views or more"),
        ({"separation": -1}, "separation=-1 must not be negative"),
        ({"random_state": "x"}, "random_state='x' is not a non-negative integer"),
    ],
)
def test_make_views_refuses(options, message):
    with pytest.raises(DatasetError, match=message):
        make_views(**options)


OPTIONS = {"corrupt": [1], "outliers": 0.05, "missing": 0.2, "random_state": 5}


@pytest.mark.usefixtures("small_seed_blocks")
@pytest.mark.parametrize("block_size", [1, 7, 64, 100, 10_000])
@pytest.mark.parametrize("format", ["npy", "zarr"])
def test_write_views_writes_what_make_views_makes(tmp_path, format, block_size):
    held = make_views(300, 4, (3, 5), **OPTIONS)
    files = write_views(
        tmp_path / "new",
        300,
        4,
        (3, 5),
        format=format,
        block_size=block_size,
        **OPTIONS,
    )
    load = np.load if format == "npy" else lambda p: zarr.open_array(p, mode="r")[...]
    for path, view in zip(files.views, held.views, strict=True):
        assert_array_equal(load(path), view)
    assert_array_equal(load(files.target), held.target)
    assert [path.stem for path in files.views] == list(held.view_names)


def test_write_views_can_be_read_back(tmp_path):
    files = write_views(tmp_path, 100, random_state=0, dtype="float32")
    data = read_views(files.views, labels_file=files.target)
    held = make_views(100, random_state=0)
    assert data.views[1].dtype == np.float32
    assert_array_equal(data.views[1], held.views[1].astype(np.float32))
    assert_array_equal(data.target, held.target)


def test_write_views_overwrites_nothing(tmp_path):
    (tmp_path / "view_1.npy").write_bytes(b"precious")
    with pytest.raises(DatasetError, match=r"view_1\.npy exists already"):
        write_views(tmp_path, 100)
    assert [path.name for path in tmp_path.iterdir()] == ["view_1.npy"]
    with pytest.raises(DatasetError, match="format='hdf', block_size=0"):
        write_views(tmp_path / "x", 100, format="hdf", block_size=0)


@pytest.mark.parametrize("format", ["npy", "zarr"])
def test_write_views_interrupted_leaves_nothing(tmp_path, monkeypatch, format):
    blocks = synthetic_module.Recipe.blocks

    def interrupted(self):
        yield next(blocks(self))
        raise KeyboardInterrupt

    monkeypatch.setattr(synthetic_module.Recipe, "blocks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_views(tmp_path, 20_000, format=format, block_size=100)
    assert list(tmp_path.iterdir()) == []


def test_write_views_holds_a_block_and_not_the_data(tmp_path):
    tracemalloc.start()
    try:
        files = write_views(
            tmp_path, 400_000, 3, (10, 10), block_size=8192, dtype="float32"
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert files.views[0].stat().st_size > 400_000 * 40
    # 64 MB as generated; a few blocks of 1.3 MB are held.
    assert peak < 12 * 2**20
