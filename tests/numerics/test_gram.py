"""Kernels against written-out formulas."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from manyview._numerics import _gram
from tests import reference_graphs as reference


@pytest.fixture
def points():
    return np.random.RandomState(3).normal(size=(23, 4)) + 5.0


def test_squared_distances_by_hand():
    points = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 0.0]])
    expected = [[0.0, 25.0, 9.0], [25.0, 0.0, 16.0], [9.0, 16.0, 0.0]]
    assert_allclose(_gram.squared_distances(points), expected, atol=1e-13)


@pytest.mark.parametrize("block_rows", [1, 5, 23, 256])
def test_squared_distances_in_blocks_and_sparse(points, block_rows, monkeypatch):
    monkeypatch.setattr(_gram, "BLOCK_ROWS", block_rows)
    expected = ((points[:, None] - points) ** 2).sum(axis=2)
    for form in (points, sparse.csr_array(points)):
        distances = _gram.squared_distances(form)
        assert_allclose(distances, expected, rtol=1e-9, atol=1e-11)
        assert_array_equal(distances, distances.T)


def test_squared_distances_of_duplicates_are_exactly_zero():
    rng = np.random.RandomState(0)
    row = rng.normal(size=50) * 1e3
    # Equal but for the last bits, as copies are after scaling.
    copies = row * (1.0 + 1e-15 * rng.normal(size=(20, 50)))
    distances = _gram.squared_distances(np.vstack([copies, row + 1.0]))
    assert_array_equal(distances[:20, :20], np.zeros((20, 20)))
    assert_allclose(distances[:20, 20], np.full(20, 50.0), rtol=1e-6)


@pytest.mark.parametrize("n_samples", [1, 2, 3, 4, 5, 8, 9])
def test_median_bandwidth_is_numpys_median_of_all_entries(n_samples):
    points = np.random.RandomState(n_samples).normal(size=(n_samples, 2))
    distances = ((points[:, None] - points) ** 2).sum(axis=2)
    expected = np.median(np.sqrt(distances))
    if expected == 0.0:  # one sample: nothing to measure
        expected = 1.0
    assert _gram.median_bandwidth(distances) == pytest.approx(expected, rel=1e-14)


def test_median_bandwidth_counts_the_diagonal():
    # Entries: 0 0 0 1 1 4 4 9 9 (squared); the middle one of nine is 1.
    distances = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 9.0], [4.0, 9.0, 0.0]])
    assert _gram.median_bandwidth(distances) == 1.0


def test_median_bandwidth_of_mostly_duplicates_is_the_positive_mean():
    # Distances are 0 (three of four samples coincide) or 2.
    points = np.array([[0.0], [0.0], [0.0], [0.0], [0.0], [2.0], [6.0]])
    distances = (points - points.T) ** 2
    assert _gram.median_bandwidth(distances) == pytest.approx((5 * 2 + 5 * 6 + 4) / 11)


def test_median_bandwidth_without_any_distance_is_one():
    assert _gram.median_bandwidth(np.zeros((3, 3))) == 1.0


def test_gaussian_kernel_matches_reference(points):
    assert_allclose(
        _gram.gaussian_kernel(points)[0], reference.gaussian(points), rtol=1e-10
    )


def test_gaussian_kernel_does_not_depend_on_the_unit(points):
    kernel, bandwidth = _gram.gaussian_kernel(points)
    same, smaller = _gram.gaussian_kernel(points * 1e-3)
    assert_allclose(same, kernel, rtol=1e-9)
    assert smaller == pytest.approx(1e-3 * bandwidth)


def test_gaussian_kernel_of_a_far_outlier_is_zero():
    points = np.array([[0.0], [1e-150], [2e-150], [3e-150], [1e150]])
    kernel = _gram.gaussian_kernel(points)[0]
    assert np.isfinite(kernel).all()
    assert kernel[0, 4] == 0.0
    assert kernel[4, 4] == 1.0


def test_equalise_scatter_gives_unit_mean_distance(points):
    kernel = _gram.linear_kernel(points)
    _gram.equalise_scatter(kernel)
    pairs = [
        kernel[a, a] + kernel[b, b] - 2 * kernel[a, b]
        for a, b in itertools.permutations(range(len(points)), 2)
    ]
    assert np.mean(pairs) == pytest.approx(1.0, rel=1e-12)


def test_equalise_scatter_leaves_a_constant_kernel():
    kernel = np.full((4, 4), 3.0)
    _gram.equalise_scatter(kernel)
    assert_array_equal(kernel, np.full((4, 4), 3.0))


def test_center_distances_match_reference(points):
    kernel = _gram.gaussian_kernel(points)[0]
    labels = np.arange(len(points)) % 3
    distances, scatter = _gram.center_distances(kernel, labels, 3)
    for i, j in itertools.product(range(len(points)), range(3)):
        expected = reference.kernel_distance(kernel, labels, i, j)
        assert distances[i, j] == pytest.approx(expected, rel=1e-10)
    assert scatter == pytest.approx(reference.scatter(kernel, labels), rel=1e-12)


def test_center_distances_of_a_linear_kernel_are_those_to_the_means(points):
    labels = np.arange(len(points)) % 4
    means = np.stack([points[labels == j].mean(axis=0) for j in range(4)])
    expected = ((points[:, None] - means) ** 2).sum(axis=2)
    distances, scatter = _gram.center_distances(_gram.linear_kernel(points), labels, 4)
    assert_allclose(distances, expected, rtol=1e-9, atol=1e-11)
    assert scatter == pytest.approx(expected[np.arange(23), labels].sum())


def test_center_distances_of_singletons_have_no_scatter(points):
    kernel = _gram.linear_kernel(points)
    assert _gram.center_distances(kernel, np.arange(23), 23)[1] == 0.0


def low_rank(n_samples=23, seed=0):
    rng = np.random.RandomState(seed)
    factors = tuple(rng.normal(size=(n_samples, rank)) for rank in (3, 2))
    kernel = _gram.LowRankKernel(factors=factors, weights=(1.0, 0.25))
    first, second = factors
    return kernel, first @ first.T + 0.25 * second @ second.T


def test_low_rank_kernel_answers_as_the_formed_one():
    kernel, formed = low_rank()
    block = np.random.RandomState(1).normal(size=(23, 4))
    samples = np.array([5, 0, 22])
    assert len(kernel) == 23
    assert_allclose(kernel @ block, formed @ block, atol=1e-12)
    assert_allclose(_gram.row_sums(kernel), formed.sum(axis=1), atol=1e-12)
    assert_allclose(kernel.diagonal(), formed.diagonal(), atol=1e-12)
    assert_allclose(kernel.take(samples, axis=1), formed[:, samples], atol=1e-12)
    scaled = kernel * np.float64(3.0) + kernel
    assert_allclose(scaled @ block, 4.0 * formed @ block, atol=1e-11)


def test_low_rank_kernel_is_equalised_and_clustered_as_the_formed_one():
    kernel, formed = low_rank()
    labels = np.arange(23) % 3
    kernel = _gram.equalise_scatter(kernel)
    _gram.equalise_scatter(formed)
    assert_allclose(kernel.diagonal(), formed.diagonal(), atol=1e-12)
    ours, scatter = _gram.center_distances(kernel, labels, 3)
    theirs, expected = _gram.center_distances(formed, labels, 3)
    assert_allclose(ours, theirs, atol=1e-12)
    assert scatter == pytest.approx(expected)


def by_anchors(anchors, points, kernel):
    """The kernel of points from the factor that anchors give."""
    own, bandwidth = (
        _gram.gaussian_kernel(anchors)
        if kernel == "rbf"
        else (_gram.linear_kernel(anchors), None)
    )
    turn = _gram.nystrom_turn(own)
    factor = _gram.similarities(points, anchors, bandwidth) @ turn
    return factor @ factor.T, turn


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_kernels_by_anchors_match_reference(points, kernel, form):
    anchors = np.array([1, 4, 5, 9, 16, 20, 22])
    found, _ = by_anchors(form(points[anchors]), form(points), kernel)
    expected = reference.by_anchors(points, anchors, kernel)
    assert_allclose(found, expected, atol=1e-9)


def test_with_all_samples_as_anchors_it_is_the_kernel_itself(points):
    own = _gram.gaussian_kernel(points)[0]
    assert_allclose(by_anchors(points, points, "rbf")[0], own, atol=1e-9)
    own = _gram.linear_kernel(points)
    assert_allclose(by_anchors(points, points, "linear")[0], own, atol=1e-9)


def test_equal_anchors_have_the_rank_of_the_distinct_ones(points):
    twice = points[[0, 1, 2, 0, 1]]
    assert by_anchors(twice, points, "rbf")[1].shape == (5, 3)
    found, _ = by_anchors(np.ones((4, 2)), np.ones((6, 2)), "rbf")
    assert_allclose(found, np.ones((6, 6)))


def test_a_wide_linear_view_is_exact_on_its_anchors():
    points = np.random.RandomState(0).normal(size=(12, 40))
    found, _ = by_anchors(points[:5], points, "linear")
    assert_allclose(found[:5], points[:5] @ points.T, atol=1e-10)
