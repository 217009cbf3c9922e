"""NSMVC on graph views: what it clusters, whom it trusts, what it tells."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from manyview import (
    NSMVC,
    GraphNSMVC,
    GraphViews,
    ViewError,
    load_model,
    save_model,
)
from manyview._views import check_views
from manyview.datasets import load_handwritten
from manyview.explain import explain
from manyview.metrics import clustering_accuracy


def rings(seed=0, n_samples=300):
    """Two noisy copies of three rings around each other."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n_samples) % 3
    radius = np.array([1.0, 3.0, 5.0])[truth]
    views = []
    for _ in range(2):
        angles = rng.uniform(0.0, 2.0 * np.pi, size=n_samples)
        circle = np.column_stack([np.cos(angles), np.sin(angles)])
        views.append(radius[:, None] * circle + rng.normal(0, 0.1, (n_samples, 2)))
    return views, truth


def blobs_and_noise(seed):
    """Three views of 3 to 5 clusters, and one of noise."""
    rng = np.random.default_rng(seed)
    n_clusters = 3 + seed % 3
    truth = rng.integers(n_clusters, size=150)
    views = [
        3.0 * rng.normal(size=(n_clusters, width))[truth]
        + rng.normal(size=(150, width))
        for width in (4, 6, 8)
    ]
    return [*views, rng.normal(size=(150, 5))], truth, n_clusters


def test_rings_that_kmeans_cannot_separate():
    views, truth = rings()
    by_means = KMeans(3, n_init=10, random_state=0).fit_predict(np.hstack(views))
    assert clustering_accuracy(truth, by_means) < 0.7
    labels = GraphNSMVC(3, random_state=0).fit_predict(views)
    assert clustering_accuracy(truth, labels) == 1.0


def views_with_noise(seed):
    """Two to four views of overlapping clusters, one or two of noise, in any order."""
    rng = np.random.default_rng(seed)
    n_samples, n_clusters = rng.integers(150, 600), int(rng.integers(3, 8))
    truth = rng.integers(n_clusters, size=n_samples)
    views, is_noise = [], []
    for _ in range(rng.integers(2, 5)):
        width = rng.integers(3, 30)
        spread = rng.uniform(1.0, 3.0) * (3 / width) ** 0.25
        centers = spread * rng.normal(size=(n_clusters, width))
        views.append(centers[truth] + rng.normal(size=(n_samples, width)))
        is_noise.append(False)
    for _ in range(rng.integers(1, 3)):
        draw = rng.normal if rng.random() < 0.5 else rng.uniform
        views.append(draw(size=(n_samples, rng.integers(3, 30))))
        is_noise.append(True)
    order = rng.permutation(len(views))
    units = 10.0 ** rng.uniform(-2, 2, size=len(views))
    return [views[v] * units[v] for v in order], np.array(is_noise)[order], n_clusters


def noise_comes_last(make, seed):
    """Noise views have the smallest weights and the largest unexplained shares."""
    views, is_noise, n_clusters = views_with_noise(seed)
    model = make(n_clusters, n_init=3, random_state=0).fit(views)
    weights, unexplained = model.view_weights_, model.unexplained_
    return (
        weights[is_noise].max() < weights[~is_noise].min()
        and unexplained[is_noise].min() > unexplained[~is_noise].max()
    )


@pytest.mark.parametrize("make", [GraphNSMVC, partial(NSMVC, scale="energy")])
def test_noise_views_weigh_least_and_are_explained_least(make):
    assert sum(noise_comes_last(make, seed) for seed in range(15)) >= 14


@pytest.mark.slow
@pytest.mark.parametrize("make", [GraphNSMVC, partial(NSMVC, scale="energy")])
def test_noise_views_come_last_in_a_hundred_problems(make):
    assert sum(noise_comes_last(make, seed) for seed in range(100)) >= 95


def test_noise_view_does_no_harm():
    views, truth, n_clusters = blobs_and_noise(0)
    labels = GraphNSMVC(n_clusters, random_state=0).fit_predict(views)
    assert clustering_accuracy(truth, labels) > 0.95


def test_attributes_describe_the_views():
    views, _, n_clusters = blobs_and_noise(1)
    named = dict(zip(("a", "b", "c", "noise"), views, strict=True))
    model = GraphNSMVC(n_clusters, random_state=0).fit(named)
    assert model.view_names_ == ["a", "b", "c", "noise"]
    assert model.embedding_names_ == ["a", "b", "c", "noise", "joint", "diffusion"]
    for name in ("view_weights_", "graph_weights_", "unexplained_", "exponents_"):
        assert getattr(model, name).shape == (4,), name
    assert model.view_weights_.sum() == pytest.approx(1.0)
    assert (model.view_weights_ >= 0.0).all()
    assert model.joined_pace_.shape == (4, 150)
    widths = [centers.shape[1] for centers in model.cluster_centers_]
    assert widths == GraphViews(n_clusters).fit(views).view_sizes_out_
    assert_allclose(
        model.graph_weights_, GraphViews(n_clusters).fit(named).graph_weights_
    )


def test_predict_gives_the_labels_on_training_rows():
    views, _, n_clusters = blobs_and_noise(2)
    for n_anchors in (60, 2000):
        model = GraphNSMVC(n_clusters, n_anchors=n_anchors, random_state=0).fit(views)
        assert_array_equal(model.predict(views), model.labels_)
        some = [view[30:90] for view in views]
        assert_array_equal(model.predict(some), model.labels_[30:90])


def test_new_samples_go_to_their_rings():
    views, truth = rings(n_samples=450)
    model = GraphNSMVC(3, random_state=0).fit([view[:300] for view in views])
    labels = np.concatenate([model.labels_, model.predict([v[300:] for v in views])])
    assert clustering_accuracy(truth, labels) > 0.98


def test_views_of_new_samples_count_by_their_share_in_the_joint_graph(tmp_path):
    views, _ = rings()
    rng = np.random.default_rng(5)
    others = [rng.uniform(-6.0, 6.0, size=(200, 2)) for _ in views]
    # Among them are samples of the fit, and one that is known in one of its views.
    for view, other in zip(views, others, strict=True):
        other[:20] = view[:20]
    others[0][20] = views[0][20]

    model = GraphNSMVC(n_clusters=3, random_state=0).fit(views)
    embeddings = model._open_checked(check_views(others))
    weights = np.tile(model._score_weights[:, None], 200)
    weights[:2, 20:] *= model.graph_weights_[:, None]
    weights /= weights.sum(axis=0)
    expected = np.zeros((200, 3))
    for rows, centers, weight in zip(embeddings, model._centers, weights, strict=True):
        squares = ((rows.all_points()[:, None] - centers) ** 2).sum(axis=2)
        expected += weight[:, None] * squares
    labels = model.predict(others)
    assert_array_equal(labels, expected.argmin(axis=1))
    assert_array_equal(labels[:20], model.labels_[:20])
    assert_allclose(model.transform(others), np.sqrt(expected), atol=1e-6)
    assert_array_equal(labels, model.predict_proba(others).argmax(axis=1))
    save_model(model, tmp_path / "rings.mvm")
    stored = load_model(tmp_path / "rings.mvm")
    assert_array_equal(stored.transform(others), model.transform(others))

    # If the anchors are a part of the samples, one that is no anchor need not be new.
    part = GraphNSMVC(n_clusters=3, n_anchors=100, random_state=0).fit(views)
    assert all(rows.shares is None for rows in part._open_checked(check_views(others)))


def test_third_of_the_rows_missing(blobs):
    views, truth = [view.copy() for view in blobs[0]], blobs[1]
    rng = np.random.default_rng(0)
    present = rng.random((3, 90)) > 0.3
    present[rng.integers(3, size=90), np.arange(90)] = True
    for view, mask in zip(views, present, strict=True):
        view[~mask] = np.nan
    model = GraphNSMVC(3, random_state=0).fit(views)
    assert clustering_accuracy(truth, model.labels_) > 0.95
    assert_array_equal(model.joined_pace_ == 0, ~present)
    assert_array_equal(model.predict(views), model.labels_)


def test_constant_view_has_no_weight(blobs):
    views, truth = blobs
    model = GraphNSMVC(3, random_state=0).fit([*views, np.ones((90, 2))])
    assert clustering_accuracy(truth, model.labels_) == 1.0
    assert model.graph_weights_[3] == model.view_weights_[3] == 0.0
    assert model.unexplained_[3] == 1.0
    assert_allclose(model.view_weights_.sum(), 1.0)


def test_constant_views_alone_have_equal_weights():
    with pytest.warns(ConvergenceWarning, match="number of distinct samples, 1"):
        model = GraphNSMVC(2, random_state=0).fit([np.ones((9, 2)), np.zeros((9, 1))])
    assert_allclose(model.view_weights_, [0.5, 0.5])
    assert_array_equal(model.unexplained_, [1.0, 1.0])


def test_more_clusters_than_distinct_rows():
    rows = np.array([[0.0], [1.0], [5.0]])[np.repeat(np.arange(3), 6)]
    with pytest.warns(ConvergenceWarning, match="number of distinct samples, 3"):
        model = GraphNSMVC(5, random_state=0).fit([rows, rows**2])
    assert set(model.labels_) <= set(range(5))
    for equals in model.labels_.reshape(3, 6):
        assert len(set(equals)) == 1


def test_one_view():
    # Fewer samples, and 20 neighbours reach from ring to ring.
    (view, _), truth = rings(n_samples=450)
    model = GraphNSMVC(3, random_state=0).fit([view])
    assert clustering_accuracy(truth, model.labels_) == 1.0
    assert_allclose(model.view_weights_, [1.0])


def test_one_view_with_equal_rows():
    (view, _), truth = rings(n_samples=450)
    rows = np.r_[np.arange(450), np.arange(30)]
    labels = GraphNSMVC(3, random_state=0).fit([view[rows]]).labels_
    assert_array_equal(labels[:30], labels[450:])
    assert clustering_accuracy(truth[rows], labels) == 1.0


def test_wide_sparse_counts():
    rng = np.random.default_rng(0)
    truth = np.arange(120) % 3
    topics = rng.dirichlet(np.full(400, 0.05), size=3)
    words = np.array([rng.multinomial(60, topics[t]) for t in truth])
    model = GraphNSMVC(3, random_state=0).fit([sparse.csr_array(words)])
    assert clustering_accuracy(truth, model.labels_) == 1.0
    assert_array_equal(model.predict([words]), model.labels_)


def test_explain_speaks_of_the_views():
    views, _, n_clusters = blobs_and_noise(3)
    named = dict(zip(("a", "b", "c", "noise"), views, strict=True))
    model = GraphNSMVC(n_clusters, random_state=0).fit(named)
    explanation = explain(model, named)
    assert explanation.view_names == ("a", "b", "c", "noise")
    assert_array_equal(explanation.labels, model.labels_)
    assert explanation.weights.shape == (4,)
    assert explanation.weights.sum() == pytest.approx(1.0)
    assert explanation.view_labels.shape == (4, 150)
    assert explanation.view_agreement.shape == (4, 4)
    assert explanation.confidence.shape == (150,)
    assert explanation.agreement.argmin() == 3
    assert_allclose(explanation.unexplained, model.unexplained_, atol=1e-6)


def test_bad_n_neighbors_are_refused(blobs):
    with pytest.raises(ViewError, match=r"n_neighbors=\(5, 0\) must be one or more"):
        GraphNSMVC(3, n_neighbors=(5, 0)).fit(blobs[0])


def test_handwritten_numerals():
    data = load_handwritten()
    labels = GraphNSMVC(10, random_state=0).fit_predict(list(data.views))
    assert clustering_accuracy(data.target, labels) >= 0.97
