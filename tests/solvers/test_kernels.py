"""Methods with kernels by anchors against the same with all n x n matrices formed."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from manyview._rows import open_views
from manyview._scaling import learn_scales
from manyview._solvers import _coreg, _cotrain, _kernels, _mvkkm
from manyview._views import check_views
from tests import reference_graphs as reference
from tests.solvers.test_coreg import coreg_rounds
from tests.solvers.test_cotrain import own_subspaces

# Eigenvalues closer than this leave the subspace between them to rounding.
SMALLEST_GAP = 1e-4


@st.composite
def anchored(draw):
    """Views of clusters, some of their samples as anchors, and a number of clusters."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_samples, n_clusters = draw(st.integers(12, 40)), draw(st.integers(2, 4))
    n_anchors = draw(st.integers(3 * n_clusters, n_samples))
    truth = rng.integers(n_clusters, size=n_samples)
    views = [
        rng.normal(size=(n_clusters, width))[truth] * draw(st.sampled_from([1.0, 3.0]))
        + rng.normal(size=(n_samples, width))
        for width in draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    ]
    return views, np.sort(rng.permutation(n_samples)[:n_anchors]), n_clusters


def open_raw(views):
    checked = check_views(views)
    return open_views(checked, learn_scales(checked, None))


def kernels_of(views, anchors, kernel="rbf"):
    rows = open_raw(views)
    return _kernels.view_kernels(rows, kernel, anchors, n_beside=0)


def formed_kernels(views, anchors, kernel="rbf"):
    everyone = np.arange(views[0].shape[0])
    return [
        reference.by_anchors(view.dense_rows(everyone), anchors, kernel)
        for view in open_raw(views)
    ]


def has_gap(matrix, n_vectors):
    values = np.sort(np.linalg.eigvalsh(matrix))[::-1]
    return values[n_vectors - 1] - values[n_vectors] > SMALLEST_GAP * values[0]


@given(anchored())
def test_kernels_by_anchors_are_those_of_the_reference(problem):
    views, anchors, _ = problem
    for kernel in ("rbf", "linear"):
        for form in (views, [sparse.csr_array(view) for view in views]):
            formed = formed_kernels(form, anchors, kernel)
            found = kernels_of(form, anchors, kernel)
            for ours, theirs in zip(found, formed, strict=True):
                scale = np.abs(theirs).max()
                assert_allclose(ours @ np.eye(len(ours)), theirs, atol=1e-7 * scale)


@given(anchored())
def test_cotrain_by_anchors_is_that_on_the_formed_kernels(problem):
    views, anchors, n_clusters = problem
    formed = formed_kernels(views, anchors)
    assume(all(has_gap(reference.norm(kernel), n_clusters) for kernel in formed))
    kernels = kernels_of(views, anchors)
    own = own_subspaces(kernels, n_clusters)
    expected, *_ = states = reference.cotrain(formed, n_clusters, 1)
    for ours, theirs in zip(own, expected, strict=True):
        same_span(ours, theirs)
    if len(views) == 1:
        return
    for kernel, theirs in zip(formed, expected, strict=True):
        total = sum(reference.projector(u) for u in expected)
        product = kernel @ (total - reference.projector(theirs))
        assume(has_gap(reference.norm((product + product.T) / 2), n_clusters))
    for ours, theirs in zip(
        _cotrain.filter_round(kernels, own), states[1], strict=True
    ):
        same_span(ours, theirs)


@given(anchored(), st.sampled_from([0.1, 0.5, 2.0]))
def test_coreg_by_anchors_is_that_on_the_formed_kernels(problem, strength):
    views, anchors, n_clusters = problem
    formed = formed_kernels(views, anchors)
    assume(all(has_gap(reference.norm(kernel), n_clusters) for kernel in formed))
    coupling = np.full(len(views), strength)
    ((shared, _, objective),) = reference.coreg(formed, coupling, n_clusters, 1)
    pull = sum(
        reference.projector(reference.top(reference.norm(kernel), n_clusters)[1])
        for kernel in formed
    )
    assume(has_gap(pull, n_clusters))
    (state,) = coreg_rounds(kernels_of(views, anchors), coupling, n_clusters, 1)
    same_span(state.shared, shared)
    assert state.objective == pytest.approx(objective, rel=1e-7)


@given(anchored(), st.sampled_from(["rbf", "linear"]))
def test_mvkkm_by_anchors_is_that_on_the_formed_kernels(problem, kernel):
    views, anchors, n_clusters = problem
    low_rank = _mvkkm.equal_kernels(open_raw(views), kernel, anchors)
    formed = formed_kernels(views, anchors, kernel)
    for matrix in formed:
        _mvkkm.equalise_scatter(matrix)
    dense = _mvkkm.ViewKernels(
        kernels=tuple(formed),
        kept=low_rank.kept,
        n_views=low_rank.n_views,
        anchors=anchors,
    )
    for start in (
        lambda kernels: _mvkkm.start_random(
            kernels, n_clusters, 1.5, np.random.RandomState(0)
        ),
        lambda kernels: _mvkkm.start_global(kernels, n_clusters, 1.5, 1e-4, fast=True),
    ):
        ours, theirs = (
            _mvkkm.solve_mvkkm(
                kernels, start(kernels), n_clusters, power=1.5, max_iter=100, tol=1e-4
            )
            for kernels in (low_rank, dense)
        )
        assert_array_equal(ours.labels, theirs.labels)
        assert ours.objective == pytest.approx(theirs.objective, rel=1e-6)
        assert_allclose(ours.view_weights, theirs.view_weights, atol=1e-6)


def test_global_starts_try_the_anchors_only(monkeypatch):
    view = np.array([[0.0], [0.1], [5.0], [5.1], [90.0]])
    prepared = _mvkkm.equal_kernels(open_raw([view]), "linear", np.array([0, 2]))
    tried = []
    solve = _mvkkm.kernel_kmeans

    def watch(kernel, trial, n_clusters, **options):
        tried.append(np.flatnonzero(trial == n_clusters - 1).tolist())
        return solve(kernel, trial, n_clusters, **options)

    monkeypatch.setattr(_mvkkm, "kernel_kmeans", watch)
    _mvkkm.start_global(prepared, 2, 1.5, 1e-4, fast=False)
    assert tried == [[0], [2]]


def test_all_samples_as_anchors_give_the_labels_of_all_pairs():
    rng = np.random.RandomState(0)
    truth = np.arange(60) % 3
    views = [
        3 * rng.normal(size=(3, w))[truth] + rng.normal(size=(60, w)) for w in (3, 5)
    ]
    rows, every = open_raw(views), np.arange(60)
    options = {"n_rounds": 5, "n_init": 3}
    for solve, own in (
        (_cotrain.solve_cotrain, {"subspace_ratio": 1.5, "output": "concat"}),
        (_coreg.solve_coreg, {"coupling": np.full(2, 0.5)}),
    ):
        ours, theirs = (
            solve(rows, 3, np.random.RandomState(0), anchors=a, **options, **own)
            for a in (every, None)
        )
        assert_array_equal(ours.labels, theirs.labels)
        assert_allclose(ours.embedding, theirs.embedding, atol=1e-6)


def same_span(ours, theirs):
    assert_allclose(reference.projector(ours), reference.projector(theirs), atol=1e-5)
