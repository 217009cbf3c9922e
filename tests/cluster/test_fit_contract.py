"""What a fit promises: all or nothing, the same answer for any form, no silence."""

import inspect
import warnings

import numpy as np
import pandas
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import manyview.cluster
from manyview import ViewError, load_model, save_model
from manyview._scaling import SCALES
from manyview.cluster import DMVC, NSMVC
from manyview.datasets import make_views
from manyview.explain import map_samples
from manyview.model_selection import choose_n_clusters

ESTIMATORS = [getattr(manyview.cluster, name) for name in manyview.cluster.__all__]
PREDICTORS = [Estimator for Estimator in ESTIMATORS if hasattr(Estimator, "predict")]


def build(Estimator, n_clusters=3, **params):
    accepted = inspect.signature(Estimator).parameters
    quick = {"n_init": 2, "random_state": 0, **params}
    return Estimator(
        n_clusters, **{name: quick[name] for name in quick if name in accepted}
    )


def offset_views(seed=0):
    """Three clusters far from the origin: a forgotten shift changes every label."""
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2], 20)
    return [
        50.0 + 4.0 * rng.normal(size=(3, width))[truth] + rng.normal(size=(60, width))
        for width in (4, 3)
    ]


def state(estimator):
    return {name: repr(value) for name, value in vars(estimator).items()}


def break_solver(estimator, monkeypatch):
    def solve(**_):
        raise MemoryError

    monkeypatch.setattr(type(estimator), "_solver", lambda *_: solve)


@pytest.mark.parametrize("Estimator", ESTIMATORS)
@pytest.mark.parametrize("how", ["interrupted", "out of memory", "refused"])
def test_a_fit_that_fails_leaves_the_earlier_one(Estimator, how, monkeypatch):
    first, other = offset_views(), [1e3 * view[:, :2] for view in offset_views(1)]
    estimator = build(Estimator).fit({"a": first[0], "b": first[1]})
    before = state(estimator)
    views = {"c": other[0], "d": other[1]}

    def interrupt(*_):
        raise KeyboardInterrupt

    if how == "interrupted":
        with pytest.raises(KeyboardInterrupt):
            estimator.fit(views, on_iteration=interrupt)
    elif how == "out of memory":
        break_solver(estimator, monkeypatch)
        with pytest.raises(MemoryError):
            estimator.fit(views)
    else:
        views["d"][7, 1] = np.inf
        with pytest.raises(ViewError, match="infinity"):
            estimator.fit(views)
    assert state(estimator) == before
    if hasattr(estimator, "predict"):
        again = estimator.predict({"a": first[0], "b": first[1]})
        assert_array_equal(again, estimator.labels_)


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_names_of_an_earlier_fit_do_not_outlive_it(Estimator):
    table = pandas.DataFrame(offset_views()[0]).add_prefix("f")
    estimator = build(Estimator).fit(table)
    assert list(estimator.feature_names_in_) == list(table.columns)
    estimator.fit(offset_views())
    assert not hasattr(estimator, "feature_names_in_")


@pytest.mark.parametrize("Estimator", PREDICTORS)
@pytest.mark.parametrize("scale", [*SCALES, None])
def test_dense_and_sparse_rows_get_the_same_answers(Estimator, scale):
    views = offset_views()
    thin = [sparse.csr_array(view) for view in views]
    for fitted, asked in ((views, thin), (thin, views), (views, [views[0], thin[1]])):
        model = build(Estimator, scale=scale).fit(fitted)
        assert_array_equal(model.predict(asked), model.labels_)
        if hasattr(model, "transform"):
            assert_allclose(model.transform(asked), model.transform(fitted), rtol=1e-6)
        if hasattr(model, "score"):
            assert_allclose(model.score(asked), model.score(fitted), rtol=1e-6)


def test_a_loaded_model_answers_sparse_rows_as_dense_ones(tmp_path):
    views = offset_views()
    model = NSMVC(3, random_state=0).fit(views)
    loaded = load_model(save_model(model, tmp_path / "model.mvz"))
    thin = [sparse.csr_array(view) for view in views]
    assert_array_equal(loaded.predict(thin), model.labels_)


def test_many_sparse_rows_get_the_labels_of_dense_ones():
    # Enough rows for expanded distances, whose rounding grows with the shift.
    rng = np.random.default_rng(0)
    view = 1e4 + rng.normal(size=(600, 3)) + 6.0 * rng.integers(3, size=(600, 1))
    model = NSMVC(3, random_state=0, n_init=2).fit([view])
    assert_array_equal(model.predict([sparse.csr_array(view)]), model.labels_)


@pytest.mark.parametrize("Estimator", PREDICTORS)
@pytest.mark.parametrize("seed", range(4))
def test_overlapping_clusters_are_predicted_as_they_were_fitted(Estimator, seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(4, size=300)
    views = [
        2.0 * rng.normal(size=(4, width))[truth] + noise * rng.normal(size=(300, width))
        for width, noise in ((4, 1.0), (6, 2.0), (3, 1.5))
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = build(Estimator, 4).fit(views)
    assert_array_equal(model.predict(views), model.labels_)
    few = model.predict([view[:40] for view in views])
    assert_array_equal(few, model.labels_[:40])


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_more_clusters_than_distinct_samples_is_a_warning(Estimator):
    rows = np.random.default_rng(0).normal(size=(4, 3))[np.repeat(np.arange(4), 10)]
    with pytest.warns(ConvergenceWarning, match="n_clusters=5 .* samples, 4") as caught:
        build(Estimator, 5).fit([rows, rows[:, :2]])
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build(Estimator, 4).fit([rows, rows[:, :2]])


@pytest.mark.parametrize("Estimator", PREDICTORS)
@pytest.mark.parametrize("scale", ["minmax", "energy", None])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_values_that_overflow_are_an_error(Estimator, scale, make):
    views = offset_views()
    model = build(Estimator, scale=scale).fit(views)
    far = [views[0].copy(), views[1]]
    far[0][3, 1] = 1e200
    for method in ("predict", "transform", "score"):
        if hasattr(model, method):
            with pytest.raises(ViewError, match=r"'view0', row 3 .*overflow"):
                getattr(model, method)([make(view) for view in far])


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_an_unscaled_view_of_tiny_values_is_an_error(Estimator):
    views = [1e-200 * view for view in offset_views()]
    with pytest.raises(ViewError, match=r"'view0' varies .* scale='auto'"):
        build(Estimator, scale=None).fit(views)
    assert len(set(build(Estimator, scale="minmax").fit(views).labels_)) > 1
    # A constant view has nothing to lose.
    build(Estimator, scale=None).fit([offset_views()[0], np.full((60, 2), 1e-200)])


def test_no_public_call_moves_the_global_generator():
    views = offset_views()

    def calls():
        for Estimator in ESTIMATORS:
            yield build(Estimator, random_state=None).fit(views)
        yield make_views(30, 2, random_state=None)
        yield choose_n_clusters(views, [2, 3], n_subsamples=2, random_state=None)
        labels = np.repeat([0, 1, 2], 20)
        yield map_samples(views, labels, max_samples=9, random_state=None)

    np.random.seed(7)  # noqa: NPY002 - what we guard
    expected = np.random.get_state()[1].copy()  # noqa: NPY002 - what we guard
    for result in calls():
        _, keys, place, *_ = np.random.get_state()  # noqa: NPY002 - what we guard
        assert place == 624, result
        assert_array_equal(keys, expected)


def test_dmvc_ends_where_no_sample_is_nearer_to_another_cluster():
    views = offset_views()
    model = DMVC(3, random_state=0, n_init=1, scale=None).fit(views)
    scores = sum(
        weight * np.linalg.norm(view[:, None] - centers, axis=2)
        for weight, view, centers in zip(
            model.view_weights_, views, model.cluster_centers_, strict=True
        )
    )
    assert_array_equal(scores.argmin(axis=1), model.labels_)
