"""What estimators hand to explanations, maps and reports."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import manyview.cluster
from manyview import NSMVC, GraphNSMVC, ViewError
from manyview._views import check_views
from manyview.cluster._clustering import label_clustering
from manyview.explain import explain, map_samples
from manyview.explain._margins import explain_clustering

ESTIMATORS = [getattr(manyview.cluster, name) for name in manyview.cluster.__all__]


@pytest.fixture
def named(blobs):
    return dict(zip(("sound", "light", "words"), blobs[0], strict=True))


def build(Estimator, **params):
    quick = {"n_init": 2, "random_state": 0, **params}
    accepted = inspect.signature(Estimator).parameters
    return Estimator(3, **{name: quick[name] for name in quick if name in accepted})


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_fit_clustering_is_fit_with_the_views(Estimator, named):
    model = build(Estimator)
    clustering = model.fit_clustering(named)
    again = build(Estimator).fit(named)
    assert_array_equal(clustering.labels, again.labels_)
    assert_array_equal(model.labels_, again.labels_)
    assert set(vars(model)) == set(vars(again))
    assert clustering.views.names == ("sound", "light", "words")
    # A model of its own accord says the same as one that is handed the samples again.
    first, second = explain_clustering(clustering), explain(again, named)
    assert_allclose(first.confidence, second.confidence, atol=1e-12)
    assert_array_equal(first.view_labels, second.view_labels)
    assert_allclose(first.weights, second.weights)
    assert_allclose(first.weights.sum(), 1.0)
    assert_allclose(first.unexplained, second.unexplained)
    if hasattr(model, "view_weights_"):
        assert_array_equal(first.weights, model.view_weights_)


@pytest.mark.parametrize("Estimator", [NSMVC, GraphNSMVC])
def test_fit_clustering_uses_the_rows_of_the_fit(Estimator, named, monkeypatch):
    monkeypatch.setattr(Estimator, "_open_checked", None)
    assert len(build(Estimator).fit_clustering(named).rows) >= 3


def test_fit_clustering_that_fails_leaves_the_earlier_fit(named):
    model = build(NSMVC).fit(named)
    labels = model.labels_
    named["light"] = named["light"].copy()
    named["light"][0, 0] = np.inf
    with pytest.raises(ViewError, match="infinity"):
        model.fit_clustering(named)
    assert model.labels_ is labels


def test_fit_clustering_checks_parameters(named):
    with pytest.raises(ValueError, match="'n_init' parameter"):
        NSMVC(3, n_init=0).fit_clustering(named)


def test_checked_views_are_not_checked_again(named, monkeypatch):
    views = check_views(named)
    monkeypatch.setattr("manyview._views.as_array", None)
    model = build(NSMVC).fit(views)
    monkeypatch.undo()
    # The names of the views are those of the mapping, for later calls.
    backwards = dict(reversed(named.items()))
    assert_array_equal(model.predict(backwards), model.labels_)


def test_assign_gives_new_samples_the_labels_of_predict(named):
    model = build(NSMVC).fit(named)
    new = {name: view[::2] + 0.01 for name, view in named.items()}
    found = model.assign(new)
    assert_array_equal(found.labels, model.predict(new))
    expected = model.predict_proba(new).max(axis=1)
    assert_allclose(explain_clustering(found).confidence, expected, atol=1e-9)


def test_graph_clustering_measures_embeddings_and_names_the_views(named):
    model = build(GraphNSMVC).fit(named)
    clustering = model.clustering(named)
    assert len(clustering.rows) == len(model.embedding_names_)
    assert clustering.views.n_features == tuple(v.shape[1] for v in named.values())
    explanation = explain(model, named)
    expected = model.membership_.max(axis=1)
    assert_allclose(explanation.confidence, expected, atol=1e-9)
    assert len(map_samples(named, model.labels_, estimator=model).views) == 3


def test_graph_clustering_of_a_view_that_shows_nothing(named):
    views = {**named, "flat": np.ones((90, 2))}
    explanation = explain(build(GraphNSMVC).fit(views), views)
    assert explanation.unexplained[3] == 1.0
    assert explanation.agreement[3] == 0.0
    assert (explanation.view_labels[3] == -1).all()


def test_label_clustering_takes_means_of_the_scaled_views():
    view = np.array([[0.0], [2.0], [10.0], [12.0]])
    found = label_clustering(check_views([view]), [0, 0, 1, 1])
    scaled = (view - view.mean()) / 12
    scaled /= np.linalg.norm(scaled)
    means = found.centers[0][:, 0]
    assert_allclose(np.diff(means), scaled[2:].mean() - scaled[:2].mean())
    assert_array_equal(found.view_weights, [1.0])


def test_explanation_of_an_empty_cluster(blobs):
    labels = np.where(blobs[1] == 1, 2, blobs[1])
    explanation = explain_clustering(label_clustering(check_views(blobs[0]), labels))
    assert_array_equal(explanation.cluster_sizes, [30, 0, 60])
    assert np.isnan(explanation.cluster_confidence[1])
    inside = explanation.confidence[labels == 2]
    assert explanation.cluster_confidence[2] == pytest.approx(inside.mean())
