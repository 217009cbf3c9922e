"""Soft membership and outliers, against literal transcriptions of their rules."""

import inspect
import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

import manyview.cluster
from manyview import AMGL, NSMVC, ConcatKMeans, GraphNSMVC, ViewError, ViewKMeans
from manyview.cluster import _centroids
from manyview.cluster._membership import Measured, Spread
from manyview.explain import explain

ESTIMATORS = [getattr(manyview.cluster, name) for name in manyview.cluster.__all__]
PREDICTORS = [Estimator for Estimator in ESTIMATORS if hasattr(Estimator, "predict")]


def build(Estimator, **params):
    accepted = inspect.signature(Estimator).parameters
    quick = {"n_init": 2, "random_state": 0, **params}
    return Estimator(3, **{name: quick[name] for name in quick if name in accepted})


@pytest.fixture
def close(blobs):
    """Clusters that touch: no membership is 1."""
    rng = np.random.default_rng(0)
    return [view + rng.normal(scale=9.0, size=view.shape) for view in blobs[0]]


def softmax_by_hand(scores, temperature):
    rows = []
    for row in scores:
        weights = [math.exp(-(score - min(row)) / temperature) for score in row]
        rows.append([weight / sum(weights) for weight in weights])
    return np.array(rows)


@pytest.mark.parametrize("Estimator", [NSMVC, GraphNSMVC])
def test_membership_is_a_softmax_of_the_distances_of_transform(Estimator, close):
    model = build(Estimator).fit(close)
    scores = model.transform(close) ** 2
    own = [scores[i, label] for i, label in enumerate(model.labels_)]
    middle = sum(own) / len(own) if Estimator is NSMVC else 0.0
    spread = math.sqrt(sum((d - middle) ** 2 for d in own) / len(own))
    assert_allclose(model.membership_, softmax_by_hand(scores, spread), atol=1e-9)
    assert 0.4 < model.membership_.max(axis=1).mean() < 0.999


@pytest.mark.parametrize("Estimator", PREDICTORS)
def test_labels_are_the_largest_membership(Estimator, close):
    model = build(Estimator).fit(close)
    membership = model.membership_
    assert membership.shape == (90, 3)
    assert_allclose(membership.sum(axis=1), 1.0)
    assert (membership >= 0).all()
    assert_array_equal(membership.argmax(axis=1), model.labels_)
    assert_allclose(model.predict_proba(close), membership, atol=1e-9)
    few = [view[:7] for view in close]
    assert_allclose(model.predict_proba(few), membership[:7], atol=1e-9)
    assert_array_equal(model.predict_proba(few).argmax(axis=1), model.predict(few))


def test_labels_are_the_largest_membership_of_a_fit_cut_short(close):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = NSMVC(5, n_init=1, init="random-labels", max_iter=1, n_paces=1)
        model.set_params(random_state=0).fit(close)
    scores = model.transform(close)
    assert (scores.argmin(axis=1) != model.labels_).any()
    assert_array_equal(model.membership_.argmax(axis=1), model.labels_)
    assert_allclose(model.membership_.sum(axis=1), 1.0)


def test_membership_of_equally_near_clusters_is_largest_at_the_label():
    scores = np.array([[1.0, 1.0, 2.0], [3.0, 1.0, 1.0]])
    labels, own = np.array([1, 0]), np.ones((1, 2))
    measured = Measured(labels=labels, scores=scores, own=own, about_mean=True)
    unit = Spread(temperature=1.0, typical=np.ones((1, 3)), deviation=np.ones(1))
    found = measured.membership(unit)
    assert_array_equal(found.argmax(axis=1), [1, 0])
    assert_allclose(found.sum(axis=1), 1.0)
    even = math.exp(-1) / (2 * math.exp(-1) + math.exp(-2))
    assert_allclose(found[0, :2], even)


def test_a_perfect_clustering_is_sure_of_itself(blobs):
    views, truth = blobs
    for Estimator in (NSMVC, GraphNSMVC, ConcatKMeans):
        model = build(Estimator).fit(views)
        assert len({*zip(model.labels_.tolist(), truth.tolist(), strict=True)}) == 3
        assert model.membership_.max(axis=1).mean() > 0.95


def test_membership_leaves_missing_views_out_of_account(close):
    views = [view.copy() for view in close]
    views[0][:5] = np.nan
    model = build(NSMVC).fit(views)
    assert np.isfinite(model.membership_).all()
    assert np.isfinite(model.outlier_score_).all()
    alone = model.predict_proba([None, *close[1:]])
    assert_allclose(alone[:5], model.membership_[:5], atol=1e-9)


@pytest.mark.parametrize("Estimator", [NSMVC, ConcatKMeans])
def test_outlier_scores_are_robust_standard_deviations(Estimator, close):
    model = build(Estimator).fit(close)
    expected = []
    for v, view in enumerate(close):
        scale, centers = model.scales_[v], model._centers[v]
        scaled = (view - scale.shift) * scale.factor
        own = np.array(
            [
                np.linalg.norm(x - centers[j])
                for x, j in zip(scaled, model.labels_, strict=True)
            ]
        )
        typical = np.array([np.median(own[model.labels_ == j]) for j in range(3)])
        off = own - typical[model.labels_]
        expected.append(off / (1.4826 * np.median(np.abs(off))))
    assert_allclose(model.outlier_score_, np.mean(expected, axis=0), atol=1e-6)


def test_outlier_scores_leave_missing_views_out_of_account():
    """Hand-computed: a view that the third sample lacks, and a joint space."""
    own = np.array([[1.0, 3.0, np.nan, 5.0], [2.0, 2.0, 4.0, 6.0]])
    labels = np.array([0, 0, 0, 1])
    scores = np.ones((4, 2))
    measured = Measured(labels=labels, scores=scores, own=own, about_mean=True)
    spread = measured.spread()
    assert_allclose(spread.typical, [[2.0, 5.0], [2.0, 6.0]])
    # The median deviation is 1 in the view and 0, so the mean, in the joint space.
    assert_allclose(spread.deviation, [1.4826, 0.5])
    # Only a sample without any view is judged by the joint space.
    found = measured.outlier_scores(spread, n_views=1)
    assert_allclose(found, [-1 / 1.4826, 1 / 1.4826, 2 / 0.5, 0.0])


def test_samples_far_out_in_every_view_become_noise(blobs):
    views = [view.copy() for view in blobs[0]]
    for view in views:
        # In the middle of the clusters, and in none.
        view[[3, 50]] = view.mean(axis=0)
    # The same in one view only.
    views[1][80] = views[1].mean(axis=0)
    plain = build(NSMVC).fit(views)
    assert set(np.argsort(plain.outlier_score_)[-2:]) == {3, 50}
    assert (plain.labels_ >= 0).all()
    model = build(NSMVC, outlier_threshold=5.0).fit(views)
    assert_array_equal(np.flatnonzero(model.labels_ < 0), [3, 50])
    assert_array_equal(model.predict(views), model.labels_)
    assert_array_equal(model.membership_, plain.membership_)
    explanation = explain(model, views)
    assert explanation.n_noise == 2
    assert explanation.cluster_sizes.sum() == 88
    assert model.named_labels()[3] == "noise"


def test_names_merge_clusters_in_explanations_and_keep_the_numbers(close):
    model = build(NSMVC).fit(close)
    labels = model.labels_.copy()
    before = explain(model, close)
    assert before.cluster_names == ("0", "1", "2")
    assert model.rename_clusters({0: "T cells", 2: "T cells"}) is model
    after = explain(model, close)
    assert after.cluster_names == ("T cells", "1")
    assert_array_equal(model.labels_, labels)
    assert_array_equal(after.labels, np.where(labels == 1, 1, 0))
    merged = model.membership_[:, [0, 2]].sum(axis=1)
    expected = np.where(labels == 1, model.membership_[:, 1], merged)
    assert_allclose(after.confidence, expected)
    assert (after.agreement >= before.agreement).all()
    assert_array_equal(model.named_labels(), np.where(labels == 1, "1", "T cells"))
    assert model.named_labels([1, 2, -1]).tolist() == ["1", "T cells", "noise"]
    assert not hasattr(model.fit(close), "cluster_names_")


def test_any_clusterer_takes_names(blobs):
    model = AMGL(3, n_init=1, random_state=0).fit(blobs[0])
    model.rename_clusters({1: "b"})
    assert explain(model, blobs[0]).cluster_names == ("0", "b", "2")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({3: "x"}, "No cluster is numbered 3; they run from 0 to 2"),
        ({-1: "x"}, "No cluster is numbered -1"),
        ({"0": "x"}, "No cluster is numbered '0'"),
        ({True: "x"}, "No cluster is numbered True"),
        ({0: " "}, "' ' cannot be the name of cluster 0"),
        ({0: 5}, "5 cannot be the name of cluster 0"),
        ({0: "noise"}, "'noise' cannot be the name"),
    ],
)
def test_names_that_cannot_be_are_refused(blobs, names, message):
    model = build(ViewKMeans).fit(blobs[0])
    with pytest.raises(ViewError, match=message):
        model.rename_clusters({0: "fine"} | names if 0 not in names else names)
    assert not hasattr(model, "cluster_names_")


@pytest.mark.parametrize("Estimator", PREDICTORS)
def test_membership_of_many_samples_is_not_kept(Estimator, close, monkeypatch):
    kept = build(Estimator).fit(close)
    monkeypatch.setattr(_centroids, "KEPT_ENTRIES", 100)
    monkeypatch.setattr(_centroids, "SPREAD_SAMPLES", 60)
    model = build(Estimator).fit(close)
    assert not hasattr(model, "membership_")
    assert not hasattr(model, "outlier_score_")
    assert_array_equal(model.labels_, kept.labels_)
    found = model.predict_proba(close)
    assert_array_equal(found.argmax(axis=1), model.labels_)
    # The spread is that of 60 of the 90 samples.
    assert_allclose(found, kept.membership_, atol=0.2)
    assert_allclose(explain(model, close).confidence, found.max(axis=1))


@pytest.mark.parametrize("Estimator", [NSMVC, GraphNSMVC])
def test_noise_among_many_samples_is_found_in_parts(Estimator, close, monkeypatch):
    monkeypatch.setattr(_centroids, "KEPT_ENTRIES", 100)
    monkeypatch.setattr(_centroids, "SPREAD_SAMPLES", 60)
    model = build(Estimator, outlier_threshold=1.0).fit(close)
    assert 0 < (model.labels_ == -1).sum() < 45
    assert_array_equal(model.predict(close), model.labels_)
    clustering = model.clustering(close)
    assert_array_equal(clustering.labels, model.labels_)
    assert (clustering.assigned >= 0).all()
