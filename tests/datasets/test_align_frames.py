"""`align_views` brings frames to the same samples in the same order."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from manyview import NSMVC, DatasetError
from manyview._views import check_views
from manyview.datasets import align_views

FIRST = {"id": ["x", "y", "z"], "f": [1.0, 2.0, 3.0]}
SECOND = {"id": ["z", "w", "x"], "g": [10, 20, 30], "h": [1, 2, 3]}


def pandas_pair():
    return [pd.DataFrame(table).set_index("id") for table in (FIRST, SECOND)]


def test_intersection_follows_the_first_view():
    (first, second), ids = align_views(pandas_pair())
    assert ids == ["x", "z"]
    assert list(first.index) == list(second.index) == ids
    assert first["f"].tolist() == [1.0, 3.0]
    assert second["g"].tolist() == [30, 10]
    assert list(second.columns) == ["g", "h"]


def test_missing_keeps_all_samples():
    views, ids = align_views(
        dict(zip("ab", pandas_pair(), strict=True)), align="missing"
    )
    assert ids == ["x", "y", "z", "w"]
    assert list(views) == ["a", "b"]
    checked = check_views(views)
    np.testing.assert_array_equal(checked.arrays[0], [[1], [2], [3], [np.nan]])
    np.testing.assert_array_equal(checked.present[1], [True, False, True, True])


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize("align", ["intersection", "missing"])
def test_a_column_names_the_samples(library, align):
    frames = [library.DataFrame(FIRST), library.DataFrame(SECOND)]
    views, ids = align_views(frames, ids="id", align=align)
    expected, expected_ids = align_views(pandas_pair(), align=align)
    assert ids == expected_ids
    for view, other in zip(views, expected, strict=True):
        assert isinstance(view, library.DataFrame)
        assert list(view.columns) == list(other.columns)
        np.testing.assert_array_equal(view.to_numpy(), other.to_numpy())


def test_shuffled_views_cluster_as_before(blobs):
    ids = [f"s{i}" for i in range(90)]
    frames = [pd.DataFrame(view, index=ids) for view in blobs[0]]
    expected = NSMVC(3, n_init=1, random_state=0).fit(frames).labels_
    frames[1] = frames[1].sample(frac=1, random_state=0)
    frames[2] = frames[2].sample(frac=1, random_state=1)
    aligned, found = align_views(frames)
    assert found == ids
    labels = NSMVC(3, n_init=1, random_state=0).fit(aligned).labels_
    np.testing.assert_array_equal(labels, expected)


def test_anndata_objects_keep_their_kind():
    anndata = pytest.importorskip("anndata")
    pair = [anndata.AnnData(frame.astype(float)) for frame in pandas_pair()]
    (first, second), ids = align_views(pair)
    assert list(first.obs_names) == list(second.obs_names) == ids == ["x", "z"]
    np.testing.assert_array_equal(second.X, [[30, 3], [10, 1]])
    with pytest.raises(DatasetError, match="AnnData that lacks sample 'w'"):
        align_views(pair, align="missing")


@pytest.mark.parametrize(
    ("views", "options", "message"),
    [
        ([], {}, "views is empty"),
        ([np.ones((2, 2))], {}, "ndarray, whose rows have no names"),
        ([pl.DataFrame(FIRST)], {}, "'view0' has no index. Name the column"),
        ([pl.DataFrame(FIRST)], {"ids": "key"}, "'view0' has no column 'key'"),
        ([pd.DataFrame(FIRST)], {"align": "strict"}, "align='strict' is unknown"),
        (
            {"a": pd.DataFrame({"f": [1, 2]}, index=["x", "x"])},
            {},
            "'a': sample id 'x' occurs twice, in rows 0 and 1",
        ),
        ([pd.DataFrame({"f": [1]}, index=[np.nan])], {}, "sample in row 0 has no id"),
        (
            [pd.DataFrame({"f": [1]}, index=[i]) for i in "ab"],
            {},
            "No sample id occurs in all views; .*'view0' has \\['a'\\]",
        ),
    ],
)
def test_what_cannot_be_aligned_is_refused(views, options, message):
    with pytest.raises(DatasetError, match=message):
        align_views(views, **options)
