"""Cells that are missing here and there are filled in, view by view."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from manyview import (
    NSMVC,
    DatasetError,
    ViewError,
    ViewImputer,
    load_imputer,
    load_model,
    save_model,
)
from manyview.metrics import clustering_accuracy

NAN = np.nan


@parametrize_with_checks([ViewImputer(), ViewImputer("knn")])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture
def holed():
    """Two views; the first has two holes and lacks the last sample."""
    first = np.array([[1.0, 2.0], [3.0, NAN], [NAN, 6.0], [NAN, NAN]])
    return first, np.arange(4.0)[:, None]


def test_means_of_the_fit_fill_holes_and_missing_rows_stay(holed):
    imputer = ViewImputer().fit(holed)
    first, second = imputer.transform(holed)
    assert_array_equal(first, [[1, 2], [3, 4], [2, 6], [NAN, NAN]])
    assert_array_equal(second, holed[1])
    assert imputer.n_imputed_ == {"view0": 2}
    # New samples do not change what was learned.
    new, _ = imputer.transform([np.array([[NAN, 100.0]]), [[0.0]]])
    assert_array_equal(new, [[2, 100]])


def test_median():
    view = np.array([[1.0, 0.0], [2.0, 0.0], [60.0, 0.0], [NAN, 0.0]])
    (filled,) = ViewImputer("median").fit_transform([view])
    assert filled[3, 0] == 2.0


def test_neighbours_fill_holes():
    view = np.array([[0.0, 1.0], [0.1, 3.0], [9.0, 50.0], [0.0, NAN], [NAN, NAN]])
    imputer = ViewImputer("knn", n_neighbors=2).fit([view, np.ones((5, 1))])
    filled = imputer.transform([view, np.ones((5, 1))])[0]
    assert filled[3, 1] == 2.0
    assert np.isnan(filled[4]).all()


def test_sparse_views_keep_their_rows_of_nan():
    dense = np.array([[1.0, 0.0], [0.0, 4.0], [NAN, 2.0], [3.0, 0.0]])
    view = sparse.csr_array(dense)
    # A row whose only entry is NaN: the sample lacks the view.
    marker = sparse.csr_array((np.array([NAN]), ([0], [0])), shape=(1, 2))
    view = sparse.csr_array(sparse.vstack([view[:1], marker, view[1:]]))
    imputer = ViewImputer().fit([view, np.ones((5, 1))])
    filled, _ = imputer.transform([view, np.ones((5, 1))])
    assert_array_equal(filled[[1]].data, [NAN])
    expected = np.nan_to_num(dense, nan=4 / 3)
    assert_allclose(filled.toarray()[[0, 2, 3, 4]], expected)
    assert imputer.n_imputed_ == {"view0": 1}
    with pytest.raises(ViewError, match="'view0' is sparse and has 1 missing cells"):
        ViewImputer("knn").fit([view, np.ones((5, 1))])
    sound = sparse.csr_array(np.eye(5))
    imputer = ViewImputer("knn").fit([sound, np.ones((5, 1))])
    assert_array_equal(imputer.transform([sound, np.ones((5, 1))])[0].data, np.ones(5))
    with pytest.raises(ViewError, match="'view0' is sparse and has 1 missing cells"):
        imputer.transform([np.array([[1, NAN, 0, 0, 0.0]]), np.ones((1, 1))])


def test_a_feature_without_values_becomes_zero():
    (filled,) = ViewImputer().fit_transform([np.array([[1.0, NAN], [2.0, NAN]])])
    assert_array_equal(filled, [[1, 0], [2, 0]])


def test_names_stay(holed):
    index = pd.Index(["p", "q", "r", "s"])
    frame = pd.DataFrame(holed[0], columns=["a", "b"], index=index)
    imputer = ViewImputer().fit({"rna": frame, "image": holed[1]})
    views = imputer.transform({"rna": frame[["b", "a"]], "image": holed[1]})
    assert list(views["rna"].columns) == ["a", "b"]
    assert list(views["rna"].index) == list(index)
    assert imputer.n_imputed_ == {"rna": 2}


def test_infinity_is_refused(holed):
    holed[0][0, 0] = np.inf
    with pytest.raises(ViewError, match="row 0 contains infinity"):
        ViewImputer().fit(holed)


@pytest.mark.parametrize("strategy", ["mean", "knn"])
def test_in_front_of_an_estimator(blobs, strategy):
    views, truth = blobs
    rng = np.random.default_rng(0)
    holed = [np.where(rng.random(v.shape) < 0.05, NAN, v) for v in views]
    with pytest.raises(ViewError, match=r"fill a partly filled row in with .*Imputer"):
        NSMVC(3).fit(holed)
    model = make_pipeline(ViewImputer(strategy), NSMVC(3, random_state=0)).fit(holed)
    assert clustering_accuracy(truth, model[-1].labels_) == 1.0
    assert_array_equal(model.predict([v[:9] for v in holed]), model.predict(holed)[:9])


@pytest.mark.parametrize("strategy", ["mean", "median", "knn"])
def test_imputers_are_saved_with_models(blobs, strategy, tmp_path):
    rng = np.random.default_rng(0)
    holed = {
        name: np.where(rng.random(view.shape) < 0.05, NAN, view)
        for name, view in zip("abc", blobs[0], strict=True)
    }
    imputer = ViewImputer(strategy).fit(holed)
    model = NSMVC(3, random_state=0).fit(imputer.transform(holed))
    save_model(model, tmp_path / "model.mvz", imputer=imputer)
    again = load_imputer(tmp_path / "model.mvz")
    assert again.n_imputed_ == imputer.n_imputed_
    some = {name: view[:9] for name, view in holed.items() if name != "b"}
    for name, view in imputer.transform(some).items():
        assert_array_equal(again.transform(some)[name], view)
    assert_array_equal(
        load_model(tmp_path / "model.mvz").predict(again.transform(some)),
        model.predict(imputer.transform(some)),
    )
    save_model(model, tmp_path / "plain.mvz")
    assert load_imputer(tmp_path / "plain.mvz") is None


def test_a_damaged_imputer_is_refused(blobs, tmp_path):
    imputer = ViewImputer().fit(blobs[0])
    model = NSMVC(3, n_init=1, random_state=0).fit(blobs[0])
    imputer._learned[0] = imputer._learned[0][:, :2]
    save_model(model, tmp_path / "model.mvz", imputer=imputer)
    with pytest.raises(DatasetError, match="not a complete manyview model"):
        load_imputer(tmp_path / "model.mvz")
