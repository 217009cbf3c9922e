"""The methods of the k-means family as estimators."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from manyview import ViewError
from manyview._scaling import SCALES
from manyview.cluster._camvc import CAMVC
from manyview.cluster._dmvc import DMVC
from manyview.cluster._kmeans import ConcatKMeans, ViewKMeans
from manyview.cluster._mspl import MSPL
from manyview.cluster._samvc import SAMVC

ESTIMATORS = [CAMVC, DMVC, MSPL, SAMVC, ConcatKMeans, ViewKMeans]
ALL_VIEWS = [Estimator for Estimator in ESTIMATORS if Estimator is not ViewKMeans]


@pytest.fixture(params=ESTIMATORS, ids=lambda Estimator: Estimator.__name__)
def Estimator(request):
    return request.param


@pytest.mark.parametrize("scale", [None, *SCALES])
def test_every_scale_is_accepted(Estimator, scale, blobs):
    views, truth = blobs
    estimator = Estimator(n_clusters=3, n_init=10, scale=scale, random_state=0)
    assert adjusted_rand_score(truth, estimator.fit_predict(views)) > 0.5


@pytest.mark.parametrize("Estimator", [CAMVC, MSPL, SAMVC])
@pytest.mark.parametrize("init", ["random", "k-means++"])
def test_both_starts_work(Estimator, init, blobs):
    views, truth = blobs
    estimator = Estimator(n_clusters=3, n_init=30, init=init, random_state=0)
    assert adjusted_rand_score(truth, estimator.fit_predict(views)) == 1.0


def awkward_inputs():
    rng = np.random.RandomState(0)
    plain = rng.normal(size=(12, 3))
    yield "one sample", [plain[:1], plain[:1]], 1
    for n_samples in (2, 3, 4, 5):
        for n_clusters in (1, 2, n_samples):
            name = f"{n_samples} samples {n_clusters} clusters"
            yield name, [plain[:n_samples], plain[:n_samples, :1]], n_clusters
    yield "as many clusters as samples", [plain, plain[:, :2]], 12
    yield "duplicate rows", [np.repeat(plain[:3], 6, axis=0)] * 2, 5
    yield "constant view", [plain, np.full((12, 2), 3.7)], 3
    yield "zero view", [plain, np.zeros((12, 2))], 3
    yield "only constant views", [np.ones((12, 2)), np.zeros((12, 1))], 3
    yield "one view", [plain], 3
    yield "bytes", [rng.randint(0, 255, (12, 3)).astype(np.uint8)] * 2, 3
    yield "single precision", [plain.astype(np.float32), plain], 3
    yield "links", [plain, sparse.csr_array(rng.binomial(1, 0.1, (12, 12)))], 3
    yield "huge and tiny units", [plain * 1e140, plain * 1e-140], 3
    yield "large duplicates", [np.repeat(plain[:3], 150, axis=0)] * 2, 5


# Some inputs have fewer distinct samples than clusters are asked for.
@pytest.mark.filterwarnings("ignore:n_clusters=. is more than the number of distinct")
@pytest.mark.parametrize(
    ("views", "n_clusters"),
    [pytest.param(views, k, id=name) for name, views, k in awkward_inputs()],
)
def test_awkward_input(Estimator, views, n_clusters):
    estimator = Estimator(n_clusters=n_clusters, random_state=0, n_init=2).fit(views)
    n_samples = views[0].shape[0]
    assert estimator.labels_.shape == (n_samples,)
    assert set(estimator.labels_) <= set(range(n_clusters))
    assert len(estimator.history_) == estimator.n_iter_ >= 1
    assert np.isfinite(estimator.objective_)
    assert np.isfinite(estimator.unexplained_).all()
    assert estimator.view_weights_.sum() == pytest.approx(1.0)
    assert np.all(estimator.view_weights_ >= 0)
    for centers in estimator.cluster_centers_:
        assert np.isfinite(centers).all()
    assert set(estimator.predict(views)) <= set(range(n_clusters))


def test_constant_view_has_no_say(blobs):
    views, _ = blobs
    for Estimator in (CAMVC, MSPL, SAMVC, DMVC):
        model = Estimator(n_clusters=3, n_init=1, random_state=0)
        model.fit([*views, np.full((90, 2), 5.0)])
        assert model.view_weights_[-1] == 0.0


@pytest.mark.parametrize("Estimator", ALL_VIEWS)
def test_samples_without_a_view_are_clustered_by_the_others(Estimator, blobs):
    views, truth = blobs
    views = [view.copy() for view in views]
    views[0][:10] = np.nan
    views[2][40:60] = np.nan
    model = Estimator(n_clusters=3, n_init=10, random_state=0).fit(views)
    assert adjusted_rand_score(truth, model.labels_) == 1.0
    assert_array_equal(model.predict(views), model.labels_)
    assert_array_equal(model.predict([None, views[1], None]), model.labels_)


def test_missing_views_weigh_nothing_in_the_centres():
    # Two clusters of three; the NaN rows must not pull the first view's centres.
    first = np.array([[0.0], [1.0], [np.nan], [10.0], [11.0], [np.nan]])
    second = np.array([[0.0], [0.5], [0.2], [9.0], [9.5], [9.2]])
    model = ConcatKMeans(n_clusters=2, n_init=5, random_state=0).fit([first, second])
    assert_allclose(np.sort(model.cluster_centers_[0].ravel()), [0.5, 10.5])


def test_concat_kmeans_equals_scikit_learn(blobs):
    views, _ = blobs
    ours = ConcatKMeans(n_clusters=3, n_init=5, scale=None, random_state=0).fit(views)
    theirs = KMeans(n_clusters=3, n_init=5, tol=0, random_state=0)
    theirs.fit(np.hstack(views))
    assert ours.objective_ == pytest.approx(theirs.inertia_, rel=1e-9)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1.0
    assert_array_equal(ours.predict(views), ours.labels_)


def test_kmeans_keeps_the_restart_of_least_inertia():
    view = np.random.RandomState(1).normal(size=(150, 2))
    inertias = {}

    def listen(restart, record):
        inertias[restart] = record.objective

    model = ConcatKMeans(n_clusters=7, n_init=8, random_state=0)
    model.fit([view], on_iteration=listen)
    assert len(set(inertias.values())) > 1
    assert model.objective_ == min(inertias.values())


def test_the_others_keep_the_restart_that_explains_most():
    rng = np.random.RandomState(4)
    views = [rng.normal(size=(80, 3)), rng.normal(size=(80, 4))]
    for Estimator in (CAMVC, MSPL, SAMVC, DMVC):
        # Seeds are drawn up front, so more restarts hold the ones of fewer.
        shares = [
            Estimator(n_clusters=5, n_init=n_init, random_state=0, max_iter=300)
            .fit(views)
            .unexplained_.sum()
            for n_init in (1, 3, 10)
        ]
        assert shares == sorted(shares, reverse=True)
        assert shares[-1] < shares[0]


def test_view_kmeans_uses_the_chosen_view_alone(blobs):
    views, _ = blobs
    alone = ConcatKMeans(n_clusters=3, random_state=0).fit([views[1]])
    for choice in (1, "b"):
        named = dict(zip("abc", views, strict=True))
        model = ViewKMeans(n_clusters=3, view=choice, random_state=0).fit(named)
        assert_array_equal(model.labels_, alone.labels_)
        assert model.view_ == 1
        assert_array_equal(model.view_weights_, [0, 1, 0])
        assert_allclose(model.cluster_centers_[0], alone.cluster_centers_[0])
        assert_array_equal(model.predict({"b": views[1]}), model.labels_)


@pytest.mark.parametrize("choice", [3, "d", "view0"])
def test_view_kmeans_refuses_an_unknown_view(blobs, choice):
    named = dict(zip("abc", blobs[0], strict=True))
    with pytest.raises(ViewError, match=f"view={choice!r} is none of the 3 views"):
        ViewKMeans(n_clusters=3, view=choice).fit(named)


def test_view_kmeans_needs_its_view_of_every_sample(blobs):
    views = [view.copy() for view in blobs[0]]
    views[1][[4, 7]] = np.nan
    with pytest.raises(ViewError, match="view 'view1' alone, but sample 4 lacks it"):
        ViewKMeans(n_clusters=3, view=1).fit(views)
    model = ViewKMeans(n_clusters=3, view=0, random_state=0).fit(views)
    with pytest.raises(ViewError, match="view 'view0' alone, but sample 0 lacks it"):
        model.predict([None, views[1], views[2]])


@pytest.mark.parametrize("layers", [(10, 0), (2.5,), ("8",)])
def test_dmvc_refuses_nonsense_widths(blobs, layers):
    with pytest.raises(ViewError, match="must be positive whole numbers"):
        DMVC(n_clusters=3, layers=layers).fit(blobs[0])


def test_iteration_limit_is_a_warning():
    views = [np.random.RandomState(0).normal(size=(300, 4)) for _ in range(2)]
    for Estimator in ESTIMATORS:
        with pytest.warns(ConvergenceWarning, match=f"{Estimator.__name__} stopped"):
            Estimator(n_clusters=6, n_init=1, max_iter=1, random_state=0).fit(views)


def test_centres_are_in_the_units_of_the_views(blobs):
    views, _ = blobs
    for Estimator in (ConcatKMeans, MSPL):
        model = Estimator(n_clusters=3, n_init=10, random_state=0)
        model.fit([view + 100.0 for view in views])
        for view, centers in zip(views, model.cluster_centers_, strict=True):
            means = [view[model.labels_ == j].mean(axis=0) for j in range(3)]
            assert_allclose(centers, np.array(means) + 100.0, rtol=0.01)


def test_view_weights_find_the_useless_view(blobs):
    views, _ = blobs
    noise = 30.0 * np.random.RandomState(0).normal(size=(90, 4))
    for Estimator in (CAMVC, SAMVC, DMVC):
        model = Estimator(n_clusters=3, n_init=5, random_state=0)
        model.fit([*views, noise])
        assert np.argmin(model.view_weights_) == 3


def test_camvc_predicts_by_the_weights_of_its_objective():
    view = np.array([[-1.0], [0.0], [1.0], [9.0], [10.0], [11.0]])
    model = CAMVC(n_clusters=2, scale=None, kept_share=1.0, random_state=0)
    low = model.fit([view, view]).labels_[0]
    # Nearer by 2 to the low centre in the first view, by 4 to the other in the second.
    assert_allclose(model._score_weights, model.view_weights_**2)
    model._score_weights = np.array([0.6, 0.4]) ** 2
    sample = [np.array([[4.0]]), np.array([[7.0]])]
    assert model.predict(sample) == low  # 0.36 * 2 > 0.16 * 4, yet 0.6 * 2 < 0.4 * 4
    model._score_weights = np.array([0.5, 0.5]) ** 2
    assert model.predict(sample) != low


def test_order_of_views_does_not_matter_to_the_solution(blobs):
    views, _ = blobs
    for Estimator in ALL_VIEWS:
        model = Estimator(n_clusters=3, n_init=10, random_state=0)
        forward = model.fit(views).view_weights_
        backward = model.fit(views[::-1]).view_weights_[::-1]
        assert_allclose(forward, backward, rtol=0.05)
