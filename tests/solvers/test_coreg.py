"""Co-regularisation against the written-out rounds, and its invariants."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from manyview._numerics._eigen import top_eigenvectors
from manyview._numerics._gram import gaussian_kernel
from manyview._numerics._graphs import normalise_kernel
from manyview._rows import open_views
from manyview._scaling import learn_scales
from manyview._solvers._coreg import coreg_round, solve_coreg
from manyview._views import check_views
from tests import reference_graphs as reference


def make_kernels(n_samples=40, seed=0):
    rng = np.random.RandomState(seed)
    truth = np.arange(n_samples) % 3
    return [
        gaussian_kernel(
            2 * rng.normal(size=(3, width))[truth] + rng.normal(size=(n_samples, width))
        )[0]
        for width in (3, 5, 2)
    ]


def coreg_rounds(kernels, coupling, n_clusters, n_rounds):
    affinities = [normalise_kernel(kernel) for kernel in kernels]
    found = [top_eigenvectors(affinity, n_clusters) for affinity in affinities]
    for _ in range(n_rounds):
        shared, found = coreg_round(affinities, found, coupling)
        yield SimpleNamespace(
            shared=shared,
            subspaces=[pairs.vectors for pairs in found],
            objective=sum(pairs.values.sum() for pairs in found),
        )


def same_span(ours, theirs, atol=1e-7):
    assert_allclose(reference.projector(ours), reference.projector(theirs), atol=atol)


@pytest.mark.parametrize("n_samples", [40, 420])
def test_rounds_match_reference(n_samples):
    kernels = make_kernels(n_samples)
    coupling = np.array([0.5, 0.2, 1.0])
    expected = reference.coreg(kernels, coupling, 3, 4)
    states = list(coreg_rounds(kernels, coupling, 3, 4))
    assert len(states) == 4
    for state, (shared, subspaces, objective) in zip(states, expected, strict=True):
        same_span(state.shared, shared)
        for ours, theirs in zip(state.subspaces, subspaces, strict=True):
            same_span(ours, theirs)
        # Sum of eigenvalues here, the traces of the problem there.
        assert state.objective == pytest.approx(objective, rel=1e-10)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("strength", [0.05, 0.5, 3.0])
def test_objective_never_falls_and_is_bounded(seed, strength):
    coupling = np.full(3, strength)
    states = list(coreg_rounds(make_kernels(seed=seed), coupling, 4, 8))
    objectives = np.array([state.objective for state in states])
    assert (np.diff(objectives) >= -1e-10).all()
    assert objectives[-1] <= 3 * 4 + 4 * coupling.sum()
    for state in states:
        for vectors in (state.shared, *state.subspaces):
            assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-10)


def test_one_view_is_spectral_clustering():
    kernel = make_kernels()[0]
    (state,) = coreg_rounds([kernel], np.array([0.5]), 3, 1)
    same_span(state.shared, reference.top(reference.norm(kernel), 3)[1])


def test_view_order_is_irrelevant():
    kernels = make_kernels()
    coupling = np.array([0.3, 0.6, 0.9])
    forward = list(coreg_rounds(kernels, coupling, 3, 5))[-1]
    backward = list(coreg_rounds(kernels[::-1], coupling[::-1], 3, 5))[-1]
    same_span(forward.shared, backward.shared)


def test_weak_coupling_leaves_views_alone():
    kernels = make_kernels()
    state = list(coreg_rounds(kernels, np.full(3, 1e-9), 3, 3))[-1]
    for kernel, vectors in zip(kernels, state.subspaces, strict=True):
        same_span(vectors, reference.top(reference.norm(kernel), 3)[1])


def test_strong_coupling_makes_views_agree():
    state = list(coreg_rounds(make_kernels(), np.full(3, 100.0), 3, 10))[-1]
    for vectors in state.subspaces:
        same_span(vectors, state.shared, atol=0.1)


def test_result_clusters_the_shared_vectors_of_the_last_round():
    rng = np.random.RandomState(0)
    views = [rng.normal(size=(30, 3)), np.ones((30, 2)), rng.normal(size=(30, 2))]
    checked = check_views(views)
    rows = open_views(checked, learn_scales(checked, None))
    coupling = np.array([0.5, 9.0, 0.25])
    seen = []
    result = solve_coreg(
        rows,
        3,
        np.random.RandomState(0),
        coupling=coupling,
        n_rounds=4,
        n_init=1,
        on_iteration=seen.append,
    )
    # The constant view takes its coupling with it.
    kernels = [reference.gaussian(views[0]), reference.gaussian(views[2])]
    shared, _, objective = reference.coreg(kernels, coupling[[0, 2]], 3, 4)[-1]
    expected = shared / np.linalg.norm(shared, axis=1, keepdims=True)
    assert_allclose(
        result.embedding @ result.embedding.T, expected @ expected.T, atol=1e-7
    )
    assert result.objective == pytest.approx(objective)
    assert seen == list(result.history)
    assert result.n_iter == len(seen) == 4
    assert result.converged
