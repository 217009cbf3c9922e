"""Every mistake gets one sentence: what came, what was expected, what to do."""

import re

import numpy as np
import pandas
import pytest
from scipy import sparse

from manyview import NSMVC, ViewError

polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

A = np.arange(12.0).reshape(6, 2)
B = np.arange(18.0).reshape(6, 3)


def changed(array, place, value):
    copy = np.array(array, dtype=object if isinstance(value, (str, int)) else float)
    copy[place] = value
    return copy


def both_missing():
    first, second = A.copy(), B.copy()
    first[2] = second[2] = np.nan
    return [first, second]


def sparse_with(value):
    matrix = sparse.lil_array((6, 4))
    matrix[1, 1], matrix[3, 0], matrix[3, 2] = 1.0, 2.0, value
    return matrix.tocsr()


ragged = [[1.0, 2.0], [3.0]]
frame = pandas.DataFrame(B, columns=["x", "y", "z"])
table = pyarrow.table({"x": B[:, 0], "y": B[:, 1]})

BAD_VIEWS = {
    "empty list": ([], "empty list: there is no view"),
    "empty tuple": ((), "empty tuple: there is no view"),
    "empty dict": ({}, "empty dict: there is no view"),
    "row counts": ([A, B[:5]], "'view1' has 5 rows, but view 'view0' has 6"),
    "row counts, named": ({"a": A, "b": B[:1]}, "'b' has 1 rows, but view 'a' has 6"),
    "no rows": ([A[:0], B[:0]], "n_samples=0"),
    "no columns": ([A, B[:, :0]], r"'view1' has no features \(shape \(6, 0\)\)"),
    "one-dimensional view": ([A, np.arange(6)], r"'view1' has 1 dimension\(s\)"),
    "three-dimensional view": (
        [np.zeros((6, 2, 2)), A],
        r"'view0' has 3 dimension\(s\) and shape \(6, 2, 2\)",
    ),
    "scalar view": ([A, 3.0], r"'view1' has 0 dimension\(s\)"),
    "one-dimensional array": (
        np.arange(6.0),
        "Expected 2D array, got 1D array instead: ",
    ),
    "three-dimensional array": (np.zeros((6, 2, 2)), "dim 3"),
    "half-NaN row": (
        [changed(A, (4, 1), np.nan), B],
        "'view0', row 4 is NaN in 1 of 2 features",
    ),
    "inf": ([A, changed(B, (5, 0), np.inf)], "'view1', row 5 contains infinity"),
    "minus inf": (
        {"sound": changed(A, (0, 0), -np.inf)},
        "'sound', row 0 contains infinity",
    ),
    "float32 inf": (
        [changed(A, (3, 0), np.inf).astype(np.float32), B],
        "'view0', row 3 contains infinity",
    ),
    "sparse inf": ([A, sparse_with(np.inf)], "'view1', row 3 contains infinity"),
    "sparse half-NaN": (
        [A, sparse_with(np.nan)],
        "'view1', row 3 is NaN in 1 of 2 features",
    ),
    "missing everywhere": (both_missing(), "Sample 2 is missing from every view"),
    "only view missing": (
        [changed(A, 1, np.nan)],
        "Sample 1 is missing from every view",
    ),
    "text array": ([A, np.full((6, 2), "x")], "'view1' is not numeric: row 0, col"),
    "text in an object array": (
        [changed(A, (2, 1), "oops"), B],
        r"'view0' is not numeric: row 2, column 1 holds 'oops'",
    ),
    "text column, pandas": (
        [A, frame.assign(y="high")],
        "'view1': column 'y' is not numeric",
    ),
    "date column, pandas": (
        {"when": frame.assign(z=pandas.Timestamp("2020-01-01"))},
        "'when': column 'z' is not numeric",
    ),
    "text column, polars": (
        [polars.DataFrame({"p": [1.0] * 6, "q": ["x"] * 6})],
        "'view0': column 'q' is not numeric",
    ),
    "complex": ([A, B + 1j], "'view1' holds complex numbers"),
    "complex sparse": ([sparse.csr_array(A + 1j)], "'view0' is sparse with dtype com"),
    "dates": ([np.full((6, 2), np.datetime64("2020-01-01"))], "'view0' is not numeric"),
    "ragged view": ([A, ragged], "'view1' is a list that NumPy cannot read"),
    "a view that is not there": (
        [A, None],
        "'view1' is None, and fit learns from every view. Leave the view out",
    ),
    "whole numbers beyond float64": (
        [changed(A, (2, 1), 10**400), B],
        "'view0', row 2, column 1 holds a whole number beyond the range of float64",
    ),
    "whole numbers beyond text": (
        [changed(A, (2, 1), 10**5000), B],
        "'view0', row 2, column 1 holds a whole number beyond the range of float64",
    ),
    "one table of huge whole numbers": (changed(A, (2, 1), 10**400), "too large"),
    "lazy frame": (
        [A, polars.LazyFrame({"x": [1.0] * 6})],
        r"'view1' is a polars.LazyFrame, expected .* Pass what its collect\(\) returns",
    ),
    "one lazy frame": (polars.LazyFrame({"x": [1.0]}), "'X' is a polars.LazyFrame"),
    "Arrow table": (
        {"a": table},
        r"'a' is a pyarrow.Table, expected .* Pass what its to_pandas\(\) returns",
    ),
    "one Arrow table": (table, "'X' is a pyarrow.Table"),
    "Arrow batch": ([table.to_batches()[0]], "'view0' is a pyarrow.RecordBatch"),
    "nothing": ([None, None], r"\['view0', 'view1'\] is None"),
    "equal names": ({"1": A, 1: B}, "not distinct as text"),
    "huge without scaling": (
        [A * 1e200, B],
        "'view0' has values up to 1.1e.201, whose squares overflow",
    ),
    "too large to subtract": (
        [A, changed(B, (0, 0), -1.7e308)],
        "'view1' has values up to 1.7e.308",
    ),
}


@pytest.mark.parametrize("case", BAD_VIEWS)
def test_bad_views_are_refused(case):
    X, message = BAD_VIEWS[case]
    estimator = NSMVC(2, random_state=0, scale=None if "without" in case else "auto")
    with pytest.raises(ViewError, match=message):
        estimator.fit(X)
    assert not hasattr(estimator, "labels_")


BAD_PARAMETERS = {
    "k too large": ({"n_clusters": 7}, "n_clusters=7 is more than n_samples=6"),
    "no clusters": ({"n_clusters": 0}, "'n_clusters' parameter"),
    "clusters as text": ({"n_clusters": "many"}, "'n_clusters' parameter"),
    "clusters as a truth": (
        {"n_clusters": True},
        "'n_clusters' parameter of NSMVC is True, which is no number here",
    ),
    "restarts as a truth": ({"n_init": True}, "'n_init' parameter of NSMVC is"),
    "seed as a truth": ({"random_state": False}, "'random_state' parameter of NSMVC"),
    "pace above one": ({"pace_start": 1.1}, "'pace_start' parameter"),
    "negative pace": ({"pace_start": -0.1}, "'pace_start' parameter"),
    "no paces": ({"n_paces": 0}, "'n_paces' parameter"),
    "no iterations": ({"max_iter": 0}, "'max_iter' parameter"),
    "no restarts": ({"n_init": 0}, "'n_init' parameter"),
    "unknown start": ({"init": "magic"}, "'init' parameter"),
    "unknown scale": ({"scale": "robust"}, "'scale' parameter"),
    "unknown assignment": ({"assignment": "greedy"}, "'assignment' parameter"),
    "seed as text": ({"random_state": "seed"}, "'random_state' parameter"),
    "sizes for a list": ({"view_sizes": [2, 3]}, "X is already a list of views"),
    "start too short": ({"init": [0, 1]}, r"init labels have shape \(2,\), expected"),
    "start beyond k": ({"init": [0, 1, 2, 0, 1, 2]}, "run from 0 to 2, expected 0 to"),
    "start below zero": ({"init": [0, 1, -1, 0, 1, 1]}, "run from -1 to 1"),
    "start too few": ({"init": [0] * 6}, "init labels use 1 of n_clusters=2"),
    "start not whole": ({"init": [0.5] * 6}, "init labels have dtype float64"),
    "start from a callable": (
        {"init": lambda *_: [0] * 6},
        "init labels use 1 of n_clusters=2",
    ),
}


@pytest.mark.parametrize("case", BAD_PARAMETERS)
def test_bad_parameters_are_refused(case):
    params, message = BAD_PARAMETERS[case]
    with pytest.raises(ValueError, match=message):
        NSMVC(**{"n_clusters": 2, **params}).fit([A, B])


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([2, 2], r"view_sizes=\[2, 2\] add up to 4, but X has 5 features"),
        ([2, 4], r"view_sizes=\[2, 4\] add up to 6, but X has 5 features"),
        ([5, 0], "must be positive whole numbers"),
        ([-1, 6], "must be positive whole numbers"),
        ([2.5, 2.5], "must be positive whole numbers"),
        ([], "must be positive whole numbers"),
    ],
)
def test_bad_view_sizes_are_refused(sizes, message):
    with pytest.raises(ViewError, match=message):
        NSMVC(2, view_sizes=sizes).fit(np.hstack([A, B]))


FITTED = NSMVC(2, n_init=1, random_state=0).fit([A, B])
NAMED = NSMVC(2, n_init=1, random_state=0).fit({"a": A, "b": B})


@pytest.mark.parametrize(
    ("estimator", "X", "message"),
    [
        (FITTED, [A], "X has 1 views, but fit saw 2"),
        (FITTED, [A, B, B], "X has 3 views, but fit saw 2"),
        (FITTED, [A, A], "'view1' has 2 features, but it had 3 in fit"),
        (FITTED, [B, A], "'view0' has 3 features, but it had 2 in fit"),
        (FITTED, [A, B[:4]], "'view1' has 4 rows, but view 'view0' has 6"),
        (FITTED, [None, None], "is None. Pass at least one array"),
        (FITTED, [changed(A, (0, 0), np.nan), B], "row 0 is NaN in 1 of 2"),
        (FITTED, [changed(A, 0, np.nan), None], "Sample 0 is missing from every"),
        (NAMED, {"a": A, "c": B}, "View 'c' was not there in fit, which saw"),
        (NAMED, {}, "empty dict"),
    ],
)
def test_bad_new_samples_are_refused(estimator, X, message):
    for method in (estimator.predict, estimator.transform, estimator.score):
        with pytest.raises(ViewError, match=message):
            method(X)


def test_failed_refit_keeps_no_half_result():
    estimator = NSMVC(2, n_init=1, random_state=0).fit([A, B])
    before = estimator.labels_.copy()
    with pytest.raises(ViewError, match=re.escape("n_clusters=2 is more than")):
        estimator.fit([A[:1], B[:1]])
    np.testing.assert_array_equal(estimator.predict([A, B]), before)


def test_annotated_object_without_a_matrix_is_refused():
    anndata = pytest.importorskip("anndata")
    with pytest.raises(ViewError, match=r"X is empty. Choose .* use_rep= or layer="):
        NSMVC(2).fit(anndata.AnnData(shape=(4, 2)))


@pytest.mark.parametrize("dtype", [">i8", "<i4", "u1", ">u2"])
def test_starting_labels_may_be_of_any_integer_type(dtype):
    labels = np.array([0, 1, 1, 0, 1, 0])
    expected = NSMVC(2, init=labels).fit([A, B])
    found = NSMVC(2, init=labels.astype(dtype)).fit([A, B])
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    assert found.labels_.dtype == expected.labels_.dtype


@pytest.mark.parametrize("n_clusters", [1, 5])
def test_n_clusters_set_after_fit_changes_nothing_that_is_fitted(n_clusters):
    estimator = NSMVC(2, n_init=1, random_state=0).fit([A, B])
    expected = estimator.transform([A, B])
    estimator.set_params(n_clusters=n_clusters)
    np.testing.assert_array_equal(estimator.transform([A, B]), expected)
    assert len(estimator.get_feature_names_out()) == 2
    estimator.set_output(transform="pandas")
    assert estimator.transform([A, B]).shape == (6, 2)


def test_two_columns_of_one_name_are_two_features():
    twice = frame.set_axis(["x", "x", "y"], axis=1)
    estimator = NSMVC(2, n_init=1, random_state=0).fit([A, twice])
    plain = NSMVC(2, n_init=1, random_state=0).fit([A, B])
    np.testing.assert_array_equal(estimator.predict([A, twice]), plain.labels_)
    with pytest.raises(ViewError, match="in another order than in fit, and 'x' occurs"):
        estimator.predict([A, twice.iloc[:, [2, 0, 1]]])
    with pytest.raises(ViewError, match="column 'x' is not numeric"):
        NSMVC(2).fit([A, pandas.concat([twice, frame[["x"]].astype(str)], axis=1)])
