"""What a cluster reads, and what it says to input it cannot use."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import zarr
from numpy.testing import assert_array_equal

from manyview import NSMVC
from manyview.distributed import DaskNSMVC, _blocks, _data
from manyview.exceptions import ViewError
from tests.distributed.problems import chunked, make_views


@pytest.fixture
def problem():
    views, labels = make_views(4, n_samples=90)
    local = NSMVC(4, assignment="majorize", init=labels).fit(views)
    return views, labels, local.labels_


def frame(view):
    return pd.DataFrame(view, columns=[f"f{i}" for i in range(view.shape[1])])


def assert_found(X, problem, **options):
    _, labels, expected = problem
    model = DaskNSMVC(4, init=labels, **options).fit(X)
    assert_array_equal(model.labels_.compute(), expected)
    return model


def test_dask_dataframes(problem):
    frames = [dd.from_pandas(frame(view), npartitions=3) for view in problem[0]]
    assert_found(frames, problem)


def test_columns_of_dask_dataframes_go_by_name(problem):
    frames = [dd.from_pandas(frame(view), npartitions=3) for view in problem[0]]
    model = assert_found(frames, problem)
    turned = [view[list(view.columns)[::-1]] for view in frames]
    expected = model.predict(frames).compute()
    assert_array_equal(model.predict(turned).compute(), expected)
    assert model.score(turned) == model.score(frames)
    local = model.to_local()
    in_memory = [frame(view).iloc[:, ::-1] for view in problem[0]]
    assert_array_equal(local.predict(in_memory), expected)
    with pytest.raises(ViewError, match="lacks feature 'f0' of fit and has"):
        model.predict([frames[0].rename(columns={"f0": "x"}), *frames[1:]])


def test_columns_of_one_dask_dataframe_go_by_name(problem):
    widths = [view.shape[1] for view in problem[0]]
    table = frame(np.hstack(problem[0]))
    whole = dd.from_pandas(table, npartitions=3)
    model = assert_found(whole, problem, view_sizes=widths)
    swapped = whole[["f1", "f0", *table.columns[2:]]]
    expected = model.predict(whole).compute()
    assert_array_equal(model.predict(swapped).compute(), expected)


def test_frames_in_memory_must_have_one_index(problem):
    frames = [frame(view) for view in problem[0]]
    frames[1] = frames[1].iloc[::-1]
    with pytest.raises(ViewError, match="the same samples in another order"):
        DaskNSMVC(4, init=problem[1]).fit(frames)


def test_masked_rows_are_missing(problem):
    views, labels, _ = problem
    hidden = np.ma.masked_array(views[0].copy())
    hidden[[3, 50]] = np.ma.masked
    lacking = views[0].copy()
    lacking[[3, 50]] = np.nan
    expected = NSMVC(4, assignment="majorize", init=labels).fit([lacking, *views[1:]])
    for masked in (hidden, da.from_array(hidden, chunks=(40, -1), asarray=False)):
        model = DaskNSMVC(4, init=labels).fit([masked, *views[1:]])
        assert_array_equal(model.labels_.compute(), expected.labels_)


def test_parquet(problem, tmp_path):
    paths = []
    for v, view in enumerate(problem[0]):
        paths.append(tmp_path / f"view{v}.parquet")
        frame(view).to_parquet(paths[-1])
    assert_found(paths, problem)
    assert_found([str(path) for path in paths], problem)


def test_zarr_arrays_and_groups(problem, tmp_path):
    group = zarr.open_group(str(tmp_path / "views.zarr"), mode="w")
    for name, view in zip("abc", problem[0], strict=True):
        stored = group.create_array(
            name, shape=view.shape, chunks=(40, 2), dtype=view.dtype
        )
        stored[:] = view
    group.create_array("labels", shape=(90,), dtype=np.int64)
    model = assert_found(tmp_path / "views.zarr", problem)
    assert model.view_names_ == ["a", "b", "c"]
    assert_found([tmp_path / "views.zarr" / name for name in "abc"], problem)


def test_one_table_is_split(problem):
    table = da.from_array(np.hstack([np.nan_to_num(view) for view in problem[0]]))
    filled = [np.nan_to_num(view) for view in problem[0]]
    local = NSMVC(4, assignment="majorize", init=problem[1]).fit(filled)
    model = DaskNSMVC(4, init=problem[1], view_sizes=[3, 5, 2]).fit(table)
    assert_array_equal(model.labels_.compute(), local.labels_)
    assert_array_equal(model.predict(table).compute(), local.predict(filled))


def test_views_of_unknown_length(problem):
    keep = da.from_array(np.arange(90) < 70, chunks=20)
    views = [view[keep] for view in chunked(problem[0], (30, 20, 90))]
    labels = problem[1][:70]
    local = NSMVC(4, assignment="majorize", init=labels).fit(
        [view[:70] for view in problem[0]]
    )
    model = DaskNSMVC(4, init=labels).fit(views)
    assert_array_equal(model.labels_.compute(), local.labels_)


def lazy(view, rows=20):
    return da.from_array(np.asarray(view), chunks=(rows, -1))


def empty_group(path):
    zarr.open_group(str(path), mode="w")
    return path


VIEW = np.arange(60.0).reshape(30, 2)


def with_bad_row(value, row=25):
    view = VIEW.copy()
    view[row, 0] = value
    return lazy(view)


BAD = {
    "no view": (lambda _: [], "no view to cluster"),
    "three dimensions": (
        lambda _: [da.zeros((3, 4, 5))],
        r"shape \(3, 4, 5\), but a view is 2-D",
    ),
    "text": (lambda _: [lazy(VIEW.astype(str))], "not real numbers"),
    "text in memory": (lambda _: [VIEW.astype(str)], "'view0' is not numeric: row 0"),
    "unequal rows": (
        lambda _: [lazy(VIEW), lazy(VIEW[:20])],
        "'view1' has 20 rows, but view 'view0' has 30",
    ),
    "partly missing row": (
        lambda _: [with_bad_row(np.nan)],
        "'view0', row 25 is NaN in 1 of 2 features",
    ),
    "infinity": (lambda _: [with_bad_row(np.inf)], "'view0', row 25 contains infinity"),
    "sample without views": (
        lambda _: [lazy(np.where(np.arange(30)[:, None] == 27, np.nan, VIEW))],
        "Sample 27 is missing from every view",
    ),
    "text column": (
        lambda _: [dd.from_pandas(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), 1)],
        "column 'b' is not numeric",
    ),
    "no such path": (lambda folder: [folder / "none.zarr"], "does not exist"),
    "not zarr": (lambda folder: [folder], "neither a zarr array nor parquet"),
    "empty group": (
        lambda folder: empty_group(folder / "g.zarr"),
        "group without 2-D arrays",
    ),
    "group among views": (
        lambda folder: [empty_group(folder / "g.zarr")],
        "neither a zarr array nor parquet",
    ),
    "too many clusters": (lambda _: [lazy(VIEW[:2])], "more than n_samples=2"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_views_get_one_sentence(case, tmp_path):
    make, message = BAD[case]
    with pytest.raises(ViewError, match=message):
        DaskNSMVC(3, n_init=1).fit(make(tmp_path))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros(5, dtype=int), r"shape \(5,\), expected \(30,\)"),
        (da.zeros(5, dtype=int), r"shape \(5,\), expected \(30,\)"),
        (da.full(30, 3, chunks=20), "expected whole numbers from 0 to 2"),
        (da.zeros(30, chunks=20), "expected whole numbers from 0 to 2"),
        (da.zeros(30, dtype=int, chunks=20), "use 1 of n_clusters=3 clusters"),
    ],
)
def test_bad_starting_labels_get_one_sentence(labels, message):
    with pytest.raises(ViewError, match=message):
        DaskNSMVC(3, init=labels).fit([lazy(VIEW)])


def test_views_of_predict_are_held_against_fit(problem):
    model = DaskNSMVC(4, init=problem[1]).fit(chunked(problem[0], (30, 30, 30)))
    with pytest.raises(ViewError, match="X has 2 views, but fit saw 3"):
        model.predict(chunked(problem[0], (30, 30, 30))[:2])
    with pytest.raises(ViewError, match="'view0' has 2 features, but it had 3 in fit"):
        model.predict([lazy(VIEW), None, None]).compute()


def test_chunks_too_large_for_a_worker_are_refused(monkeypatch):
    monkeypatch.setattr(_data, "worker_memory", lambda: [1000, 2000])
    with pytest.raises(ViewError, match="Rechunk to at most 10 rows"):
        DaskNSMVC(3, n_init=1).fit([lazy(VIEW, rows=30)])


def test_storage_follows_the_memory(monkeypatch):
    written = []
    spooled = _blocks.spooled
    monkeypatch.setattr(
        _blocks, "spooled", lambda array: written.append(array) or spooled(array)
    )
    for memory, n_written in (([10_000], 0), ([750, 750], 3)):
        written.clear()
        monkeypatch.setattr(_data, "worker_memory", lambda memory=memory: memory)
        DaskNSMVC(3, n_init=1, random_state=0).fit([lazy(VIEW, rows=10)])
        assert len(written) == n_written
