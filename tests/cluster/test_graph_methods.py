"""The methods of graphs and kernels as estimators."""

import dataclasses
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import get_tags

from manyview import ViewError
from manyview._numerics import _eigen, _operators, _subspace
from manyview._scaling import SCALES
from manyview._solvers import _kernels
from manyview.cluster import _pairs
from manyview.cluster._amgl import AMGL
from manyview.cluster._coreg import CoReg
from manyview.cluster._cotrain import CoTrain
from manyview.cluster._mvkkm import MVKKM
from tests.cluster import hard_graphs
from tests.cluster.hard_graphs import ESTIMATORS, KERNEL_METHODS


@pytest.fixture(params=ESTIMATORS, ids=lambda Estimator: Estimator.__name__)
def Estimator(request):
    return request.param


@pytest.fixture(params=KERNEL_METHODS, ids=lambda Kernels: Kernels.__name__)
def Kernels(request):
    return request.param


def test_large_samples_go_through_lanczos(Estimator):
    rng = np.random.RandomState(0)
    truth = np.arange(450) % 3
    views = [9 * rng.normal(size=(3, 4))[truth] + rng.normal(size=(450, 4))
             for _ in range(2)]  # fmt: skip
    first = Estimator(n_clusters=3, random_state=0).fit(views)
    second = Estimator(n_clusters=3, random_state=0).fit(views)
    assert adjusted_rand_score(truth, first.labels_) == 1.0
    assert_array_equal(first.labels_, second.labels_)


@pytest.mark.parametrize("scale", [None, *SCALES])
def test_every_scale_is_accepted(Estimator, scale, blobs):
    views, truth = blobs
    labels = Estimator(n_clusters=3, scale=scale, random_state=0).fit_predict(views)
    assert adjusted_rand_score(truth, labels) > (0.2 if scale == "l2" else 0.9)


def test_missing_views_are_refused_with_a_remedy(Estimator, blobs):
    views, _ = blobs
    views = [view.copy() for view in views]
    views[1][4] = np.nan
    expected = (
        rf"{Estimator.__name__} needs every sample in every view, but row 4 of view "
        "'view1' is missing .* Drop or impute"
    )
    with pytest.raises(ViewError, match=expected):
        Estimator(n_clusters=3).fit(views)


def test_missing_views_are_not_announced_to_scikit_learn(Estimator):
    assert not get_tags(Estimator()).input_tags.allow_nan


def awkward_inputs():
    rng = np.random.RandomState(0)
    plain = rng.normal(size=(12, 3))
    yield "one sample", [plain[:1], plain[:1]], 1
    for n_samples in (2, 3, 4, 5):
        for n_clusters in (1, 2, n_samples):
            name = f"{n_samples} samples {n_clusters} clusters"
            yield name, [plain[:n_samples], plain[:n_samples, :1]], n_clusters
    yield "as many clusters as samples", [plain, plain[:, :2]], 12
    yield "one cluster", [plain, plain[:, :2]], 1
    yield "duplicate rows", [np.repeat(plain[:3], 6, axis=0)] * 2, 5
    yield "constant view", [plain, np.full((12, 2), 3.7)], 3
    yield "zero view", [np.zeros((12, 2)), plain], 3
    yield "only constant views", [np.ones((12, 2)), np.zeros((12, 1))], 3
    yield "one view", [plain], 3
    yield "bytes", [rng.randint(0, 255, (12, 3)).astype(np.uint8)] * 2, 3
    yield "single precision", [plain.astype(np.float32), plain], 3
    yield "links", [sparse.csr_array(rng.binomial(1, 0.1, (12, 12))), plain], 3
    yield "huge and tiny units", [plain * 1e140, plain * 1e-140], 3
    yield "constant and large", [np.ones((410, 2)), rng.normal(size=(410, 2))], 3
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
    assert estimator.labels_.min() >= 0
    assert estimator.labels_.max() < n_clusters
    assert len(estimator.history_) == estimator.n_iter_ >= 1
    if n_clusters == n_samples and Estimator is not CoTrain:
        assert_array_equal(np.sort(estimator.labels_), np.arange(n_samples))
    if hasattr(estimator, "embedding_"):
        assert np.isfinite(estimator.embedding_).all()
    if hasattr(estimator, "view_weights_"):
        assert estimator.view_weights_.sum() == pytest.approx(1.0)
        assert (estimator.view_weights_ >= 0).all()
    if hasattr(estimator, "objective_"):
        assert np.isfinite(estimator.objective_)
        assert estimator.objective_ == estimator.history_[-1].objective


@pytest.mark.filterwarnings("ignore:n_clusters=. is more than the number of distinct")
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("init", ["random", "global", "global-fast"])
def test_mvkkm_leaves_no_cluster_empty(kernel, init):
    views = [np.repeat([[0.0, 1.0], [2.0, 2.0], [5.0, 0.0]], 5, axis=0)] * 2
    for power in (1.0, 1.5):
        estimator = MVKKM(6, kernel=kernel, init=init, power=power, random_state=0)
        assert_array_equal(np.unique(estimator.fit(views).labels_), np.arange(6))


def test_mvkkm_keeps_the_restart_with_the_smallest_objective():
    rng = np.random.RandomState(0)
    views = [rng.normal(size=(60, 3)), rng.normal(size=(60, 2))]
    best = MVKKM(6, n_init=8, random_state=1).fit(views)
    seeds = np.random.RandomState(1).randint(2**31 - 1, size=8)
    singles = []
    for seed in seeds:
        alone = MVKKM(6, n_init=1)
        checked = alone._check_views(views, reset=True)
        solve = alone._solver(checked, alone._open_for_fit(checked))
        source = np.random.RandomState(seed)
        singles.append(solve(random_state=source, on_iteration=None))
    objectives = [run.objective for run in singles]
    assert len(set(np.round(objectives, 6))) > 1
    assert best.objective_ == min(objectives)


def test_mvkkm_global_start_is_free_of_chance():
    rng = np.random.RandomState(0)
    views = [rng.normal(size=(40, 3)), rng.normal(size=(40, 2))]
    first = MVKKM(5, init="global", random_state=0).fit(views)
    second = MVKKM(5, init="global", random_state=1).fit(views)
    assert_array_equal(first.labels_, second.labels_)


def test_cotrain_output_by_view(blobs):
    views, _ = blobs
    joined = CoTrain(3, random_state=0).fit(views)
    assert joined.view_labels_.shape == (3, 90)
    assert not hasattr(joined, "objective_")
    second = CoTrain(3, output=1, random_state=0).fit(views)
    assert_array_equal(second.labels_, second.view_labels_[1])
    with pytest.raises(ViewError, match="output=3 is not the index of a view"):
        CoTrain(3, output=3).fit(views)


@pytest.mark.parametrize(
    ("coupling", "message"),
    [
        ([0.5, 0.5], "one per view, of which there are 3"),
        ([0.5, 0.0, 1.0], "positive and finite throughout"),
        ([0.5, np.nan, 1.0], "positive and finite throughout"),
        (["a", "b", "c"], "should be one number, or one per view"),
    ],
)
def test_coreg_refuses_bad_couplings(coupling, message, blobs):
    with pytest.raises(ViewError, match=message):
        CoReg(3, coupling=coupling).fit(blobs[0])


def test_coreg_takes_one_coupling_per_view(blobs):
    views, _ = blobs
    same = CoReg(3, coupling=[0.5] * 3, random_state=0).fit(views)
    assert_allclose(same.embedding_, CoReg(3, random_state=0).fit(views).embedding_)
    other = CoReg(3, coupling=[0.5, 0.5, 2.0], random_state=0).fit(views)
    assert other.objective_ > same.objective_


@pytest.mark.parametrize("Limited", [AMGL, MVKKM])
def test_iteration_limit_warns(Limited, blobs):
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        Limited(3, max_iter=1, random_state=0).fit(blobs[0])


@pytest.mark.skipif(
    np.lib.NumpyVersion(scipy.__version__) < "1.17.0",
    reason="with older OpenBLAS, AMGL on fewer distinct rows than clusters does",
)
def test_labels_do_not_depend_on_the_processor():
    """Multiple eigenvalues, tied neighbours and tied runs of k-means."""
    found = [hard_graphs.labels_of_all()]
    for core in ("Haswell", "Nehalem"):
        done = subprocess.run(
            [sys.executable, "-m", "tests.cluster.hard_graphs"],
            env={**os.environ, "OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": "1"},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(json.loads(done.stdout))
    here, *others = found
    for there in others:
        assert [name for name in here if here[name] != there[name]] == []


def test_graphs_close_to_falling_apart_are_solved_quickly(monkeypatch):
    """The weight of one view all but vanishes, and the other's graph is in pieces."""
    products = []
    recur = _operators.SparseGraph.recur
    monkeypatch.setattr(
        _operators.SparseGraph, "recur", lambda *a: products.extend(a[-1]) or recur(*a)
    )
    model = AMGL(2, scale=None, random_state=0).fit(
        hard_graphs.word_counts(450, seed=2)
    )
    assert model.view_weights_.min() < 1e-5
    # Unbounded iterations would take thousands of products per round.
    assert 0 < len(products) <= 1.5 * _subspace.MOST_PRODUCTS * model.n_iter_
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize("Spectral", [AMGL, CoTrain, CoReg])
def test_approximate_eigenvectors_warn(monkeypatch, Spectral, blobs):
    solve = _eigen._connected_eigenpairs
    monkeypatch.setattr(
        _eigen,
        "_connected_eigenpairs",
        lambda *a: dataclasses.replace(solve(*a), residual=1.0),
    )
    with pytest.warns(ConvergenceWarning, match="eigenvectors behind .* approximate"):
        Spectral(3, random_state=0).fit(blobs[0])


@pytest.mark.parametrize("Estimator", [CoTrain, CoReg, MVKKM])
def test_too_many_pairs_for_the_memory_are_refused(monkeypatch, Estimator, blobs):
    views = blobs[0]
    monkeypatch.setattr(_kernels, "available_memory", lambda: 200_000)
    expected = (
        r"[45] matrices of all pairs of 90 samples need 0\.0 GiB, but 0\.0 GiB of "
        r"memory are available. Use anchors \(n_anchors\), fewer samples, or AMGL"
    )
    with pytest.raises(ViewError, match=expected):
        Estimator(3).fit(views)
    monkeypatch.setattr(_kernels, "available_memory", lambda: 400_000)
    Estimator(3, n_init=1).fit(views)
    monkeypatch.setattr(_kernels, "available_memory", lambda: None)
    Estimator(3, n_init=1).fit(views)


def test_refusal_says_how_much_memory(monkeypatch):
    monkeypatch.setattr(_kernels, "available_memory", lambda: 16 * 2**30)
    with pytest.raises(ViewError, match=r"50000 samples need 55\.9 GiB, but 16\.0 GiB"):
        _kernels.check_memory(50_000, 50_000, 3)


def test_refusal_of_anchors_says_how_much_memory(monkeypatch, Kernels, blobs):
    monkeypatch.setattr(_kernels, "available_memory", lambda: 10_000)
    expected = (
        r"[346] matrices of 90 samples and 12 anchors need 0\.0 GiB, but 0\.0 GiB of "
        r"memory are available. Use fewer anchors \(n_anchors\), fewer samples"
    )
    with pytest.raises(ViewError, match=expected):
        Kernels(3, n_anchors=12).fit(blobs[0])


def test_all_pairs_are_compared_up_to_a_number_of_samples(monkeypatch, Kernels, blobs):
    views, truth = blobs
    monkeypatch.setattr(_pairs, "ALL_PAIRS_UP_TO", 90)
    dense = Kernels(3, random_state=0).fit(views)
    assert dense.n_anchors_ == 90
    for enough in (90, 1000):
        same = Kernels(3, n_anchors=enough, random_state=0).fit(views)
        assert same.n_anchors_ == 90
        assert_array_equal(same.labels_, dense.labels_)
    monkeypatch.setattr(_pairs, "ALL_PAIRS_UP_TO", 89)
    monkeypatch.setattr(_pairs, "FEWEST_ANCHORS", 40)
    by_anchors = Kernels(3, random_state=0).fit(views)
    assert by_anchors.n_anchors_ == 40
    assert adjusted_rand_score(truth, by_anchors.labels_) == 1.0
    assert Kernels(30, random_state=0).fit(views).n_anchors_ == 60


def test_default_anchors_are_documented():
    text = " ".join(CoReg.__doc__.split())
    stated = f"of up to {_pairs.ALL_PAIRS_UP_TO:,} samples and draws "
    assert f"{stated}{_pairs.FEWEST_ANCHORS} of more, at least two" in text
    assert _pairs.ANCHORS_PER_CLUSTER == 2


def test_anchors_follow_from_the_seed(Kernels):
    rng = np.random.RandomState(0)
    views = [rng.normal(size=(80, 3)), rng.normal(size=(80, 2))]
    first, again, other = (
        Kernels(4, n_anchors=20, random_state=seed, n_init=1).fit(views).labels_
        for seed in (0, 0, 1)
    )
    assert_array_equal(first, again)
    assert adjusted_rand_score(first, other) < 1.0


def test_fewer_anchors_than_clusters_are_refused(Kernels, blobs):
    with pytest.raises(ViewError, match="n_anchors=2 is less than n_clusters=3"):
        Kernels(3, n_anchors=2).fit(blobs[0])


def test_available_memory_is_known_without_psutil(monkeypatch):
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert _kernels.available_memory() > 2**20


@pytest.mark.filterwarnings("ignore:AMGL stopped at its iteration limit")
@pytest.mark.parametrize("n_samples", [120, 480])
def test_pieces_are_the_clusters(Estimator, n_samples):
    views, groups = hard_graphs.pieces(4, n_samples // 4)
    labels = Estimator(4, random_state=0).fit_predict(views)
    assert adjusted_rand_score(groups, labels) == 1.0


def test_equal_samples_share_a_cluster(Estimator):
    # Each kind of row has more copies than a sample has neighbours.
    rng = np.random.default_rng(0)
    kinds = np.repeat(np.arange(6), 9)
    views = [rng.normal(size=(6, width))[kinds] for width in (3, 2)]
    labels = Estimator(4, random_state=0).fit_predict(views)
    for kind in range(6):
        assert len(np.unique(labels[kinds == kind])) == 1


KINDS = ("few", "counts", "constant", "zero", "far", "any")


@st.composite
def hard_views(draw):
    """Few distinct rows, lone samples, constant and empty views, in any combination."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_samples = draw(st.integers(1, 30))
    views = []
    for _ in range(draw(st.integers(1, 3))):
        width = draw(st.integers(1, 4))
        kind = draw(
            st.sampled_from(["few", "counts", "constant", "zero", "far", "any"])
        )
        view = rng.normal(size=(n_samples, width))
        if kind == "few":
            view = view[rng.integers(min(3, n_samples), size=n_samples)]
        elif kind == "counts":
            view = rng.poisson(0.3, size=view.shape).astype(float)
        elif kind == "far":
            view *= 10.0 ** rng.integers(0, 9, size=(n_samples, 1))
        elif kind in {"constant", "zero"}:
            view = np.full_like(view, 3.7 if kind == "constant" else 0.0)
        views.append(view)
    return views, draw(st.integers(1, n_samples))


CASES = [(E, {}) for E in ESTIMATORS] + [(K, {"n_anchors": 1}) for K in KERNEL_METHODS]


@given(hard_views(), st.sampled_from(CASES))
@settings(deadline=None, max_examples=60)
def test_hard_views_get_labels(problem, case):
    views, n_clusters = problem
    Estimator, options = case
    options = {name: max(value, n_clusters) for name, value in options.items()}
    model = Estimator(n_clusters, random_state=0, n_init=1, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(views)
    assert model.labels_.shape == (len(views[0]),)
    assert model.labels_.min() >= 0
    assert model.labels_.max() < n_clusters
    for name in ("embedding_", "view_weights_", "objective_"):
        assert np.isfinite(getattr(model, name, 0.0)).all()
