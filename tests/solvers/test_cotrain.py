"""Co-training against the written-out rounds, and its reductions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from manyview._numerics._eigen import top_eigenvectors
from manyview._numerics._gram import gaussian_kernel
from manyview._numerics._graphs import normalise_kernel
from manyview._rows import open_views
from manyview._scaling import learn_scales
from manyview._solvers import _cotrain
from manyview._views import check_views
from tests import reference_graphs as reference


def make_views(n_samples=40, widths=(3, 5, 2), seed=0):
    rng = np.random.RandomState(seed)
    truth = np.arange(n_samples) % 3
    return [
        4 * rng.normal(size=(3, width))[truth] + rng.normal(size=(n_samples, width))
        for width in widths
    ]


def solve(views, n_clusters=3, **options):
    checked = check_views(views)
    rows = open_views(checked, learn_scales(checked, None))
    settings = {"subspace_ratio": 1.5, "n_rounds": 5, "output": "concat", "n_init": 3}
    return _cotrain.solve_cotrain(
        rows, n_clusters, np.random.RandomState(0), **{**settings, **options}
    )


def own_subspaces(kernels, n_vectors):
    return [
        top_eigenvectors(normalise_kernel(kernel), n_vectors).vectors
        for kernel in kernels
    ]


def test_rounds_match_reference():
    kernels = [gaussian_kernel(view)[0] for view in make_views()]
    states = reference.cotrain(kernels, 5, 4)
    subspaces = own_subspaces(kernels, 5)
    for expected in states:
        for ours, theirs in zip(subspaces, expected, strict=True):
            assert_allclose(ours.T @ ours, np.eye(5), atol=1e-10)
            assert_allclose(
                reference.projector(ours), reference.projector(theirs), atol=1e-7
            )
        subspaces = _cotrain.filter_round(kernels, subspaces)


def test_rounds_are_simultaneous_so_view_order_is_irrelevant():
    kernels = [gaussian_kernel(view)[0] for view in make_views()]
    forward = _cotrain.filter_round(kernels, own_subspaces(kernels, 4))
    backward = _cotrain.filter_round(kernels[::-1], own_subspaces(kernels[::-1], 4))
    for ours, theirs in zip(forward, backward[::-1], strict=True):
        assert_allclose(
            reference.projector(ours), reference.projector(theirs), atol=1e-9
        )


def test_one_view_is_spectral_clustering():
    view = make_views()[0]
    result = solve([view])
    vectors = reference.top(reference.norm(reference.gaussian(view)), 3)[1]
    expected = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    # Columns are known up to sign.
    assert_allclose(
        result.embedding @ result.embedding.T, expected @ expected.T, atol=1e-8
    )
    assert_array_equal(result.view_labels[0] == result.view_labels[0][0],
                       result.labels == result.labels[0])  # fmt: skip


def test_identical_views_stay_close_to_the_single_view():
    view = make_views()[0]
    kernels = [gaussian_kernel(view)[0]] * 2
    own = own_subspaces(kernels, 3)
    subspaces = own
    for _ in range(5):
        subspaces = _cotrain.filter_round(kernels, subspaces)
    assert_allclose(subspaces[0], subspaces[1], atol=1e-10)
    # Cosines of the principal angles between both subspaces.
    cosines = np.linalg.svd(own[0].T @ subspaces[0])[1]
    assert cosines.min() > 0.9


@pytest.mark.parametrize(
    ("ratio", "n_clusters", "n_samples", "size"),
    [(1.0, 3, 40, 3), (1.5, 3, 40, 5), (1.5, 10, 12, 12)],
)
def test_subspace_size(monkeypatch, ratio, n_clusters, n_samples, size):
    sizes = []
    filter_round = _cotrain.filter_round

    def watch(kernels, subspaces):
        sizes.extend(subspace.shape for subspace in subspaces)
        return filter_round(kernels, subspaces)

    monkeypatch.setattr(_cotrain, "filter_round", watch)
    solve(make_views(n_samples), n_clusters, subspace_ratio=ratio, n_rounds=1)
    assert sizes == [(n_samples, size)] * 3


def test_output_selects_a_view():
    views = make_views()
    joined = solve(views)
    assert joined.embedding.shape == (40, 9)
    for v in range(3):
        single = solve(views, output=v)
        assert_array_equal(single.labels, single.view_labels[v])
        assert_array_equal(single.embedding, joined.embedding[:, 3 * v : 3 * v + 3])


def test_constant_view_changes_nothing_and_has_one_cluster():
    views = make_views()
    plain = solve(views)
    with_constant = solve([views[0], np.full((40, 2), 7.0), *views[1:]])
    assert_array_equal(with_constant.labels, plain.labels)
    assert_allclose(with_constant.embedding, plain.embedding)
    assert len(np.unique(with_constant.view_labels[1])) == 1


def test_history_has_one_record_per_round_without_objective():
    seen = []
    result = solve(make_views(), n_rounds=4, on_iteration=seen.append)
    assert [record.iteration for record in result.history] == [1, 2, 3, 4]
    assert seen == list(result.history)
    assert all(np.isnan(record.objective) for record in seen)
    assert result.converged
