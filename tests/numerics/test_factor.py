"""Least-squares updates of deep factors, against the published formulas."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from manyview._numerics._factor import product, refit_layers
from tests import reference_kmeans_family as reference


def random_problem(widths, n_features=7, n_samples=40, n_clusters=4, seed=0):
    rng = np.random.default_rng(seed)
    view = rng.normal(size=(n_samples, n_features)) + 2.0
    labels = np.arange(n_samples) % n_clusters
    weights = rng.uniform(0.1, 3.0, size=n_samples)
    shapes = (n_features, *widths, n_clusters)
    layers = [rng.normal(size=shape) for shape in pairwise(shapes)]
    masses = np.bincount(labels, weights=weights)
    sums = np.stack([weights[labels == j] @ view[labels == j] for j in range(4)])
    return view, labels, weights, tuple(layers), sums / masses[:, None], masses


@pytest.mark.parametrize("widths", [(), (3,), (4,), (3, 3), (4, 4)])
def test_narrow_layers_equal_the_published_update(widths):
    # All layers have the rank of the narrowest, so every least-squares fit is unique.
    view, labels, weights, layers, means, masses = random_problem(widths)
    ours = refit_layers(layers, means, masses)
    theirs = reference.refit_layers(view, labels, weights, list(layers))
    for layer, literal in zip(ours, theirs, strict=True):
        assert_allclose(layer, literal, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("widths", [(4,), (9,), (12, 6), (30, 20, 5)])
def test_wide_layers_reach_the_weighted_means(widths):
    view, labels, weights, layers, means, masses = random_problem(widths)
    centers = product(refit_layers(layers, means, masses)).T
    assert_allclose(centers, means, rtol=1e-9)
    literal = product(
        tuple(reference.refit_layers(view, labels, weights, list(layers)))
    )
    assert_allclose(literal.T, means, rtol=1e-6)


def test_wide_layers_keep_their_rank_when_means_are_dependent():
    # Centred data: the first means add up to zero, the next need not.
    rng = np.random.default_rng(1)
    layers = (rng.normal(size=(6, 8)), rng.normal(size=(8, 4)))
    dependent = rng.normal(size=(4, 6))
    dependent[3] = -dependent[:3].sum(axis=0)
    layers = refit_layers(layers, dependent, np.ones(4))
    free = rng.normal(size=(4, 6))
    assert_allclose(product(refit_layers(layers, free, np.ones(4))).T, free)


def test_each_refit_lowers_the_weighted_misfit():
    *_, layers, means, masses = random_problem((3, 2))

    def misfit(layers):
        return np.sum(masses * np.sum((means - product(layers).T) ** 2, axis=1))

    before = misfit(layers)
    for _ in range(5):
        layers = refit_layers(layers, means, masses)
        assert misfit(layers) <= before * (1 + 1e-12)
        before = misfit(layers)


def test_clusters_without_mass_do_not_disturb_the_others():
    *_, layers, means, masses = random_problem((9, 6))
    masses[2] = 0.0
    means[2] = 1e6
    centers = product(refit_layers(layers, means, masses)).T
    assert_allclose(centers[[0, 1, 3]], means[[0, 1, 3]], rtol=1e-8)


def test_masses_over_many_orders_of_magnitude():
    *_, layers, means, _ = random_problem((9, 6))
    centers = product(refit_layers(layers, means, np.array([1e8, 1.0, 1e-2, 1e4]))).T
    assert_allclose(centers, means, rtol=1e-6)


def test_no_mass_at_all_changes_nothing():
    *_, layers, means, _ = random_problem((5,))
    assert refit_layers(layers, means, np.zeros(4)) is layers
