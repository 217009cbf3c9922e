"""Leading directions of the views, and the clusters that runs begin with there."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from manyview import NSMVC
from manyview._rows import open_views
from manyview._scaling import learn_scales
from manyview._solvers import _directions, _start
from manyview._views import check_views


def opened(*views, scale=None):
    checked = check_views(list(views))
    return open_views(checked, learn_scales(checked, scale))


def planted(seed, n_samples=600, n_clusters=8, widths=(40, 80), spread=0.5):
    """Clusters that differ by half a standard deviation of the noise per feature."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_clusters, size=n_samples)
    views = [
        spread * rng.normal(size=(n_clusters, width))[truth]
        + rng.normal(size=(n_samples, width))
        for width in widths
    ]
    return views, truth


def literal_directions(views, n_directions, random_state):
    """Coordinates in the span of X' X G, X centred, as whole numbers."""
    table = np.hstack(views)
    table = table - table.mean(axis=0)
    random = random_state.standard_normal((table.shape[1], n_directions))
    basis = np.linalg.qr(table.T @ (table @ random))[0]
    coordinates = table @ basis
    return np.rint(coordinates * 2**20 / np.abs(coordinates).max())


@pytest.mark.parametrize("form", ["dense", "sparse", "mixed"])
def test_directions_span_one_step_of_subspace_iteration(form, monkeypatch):
    monkeypatch.setattr(_directions, "PIECE_ROWS", 50)
    monkeypatch.setattr(_directions, "PIECE_PRODUCTS", 9 * 6000)
    views, _ = planted(0)
    views = [np.where(np.abs(view) < 1, 0.0, view) + 0.25 for view in views]
    given = {
        "dense": views,
        "sparse": [sparse.csr_array(view) for view in views],
        "mixed": [views[0], sparse.csr_array(views[1])],
    }[form]
    rows = opened(*given)
    got = _directions.leading_directions(rows, 9, np.random.RandomState(3))
    expected = literal_directions(views, 9, np.random.RandomState(3))
    assert_array_equal(got, np.rint(got))
    assert np.abs(got).max() == 2**20
    # One either way where rounding falls on the other side. Signs are QR's choice.
    assert_allclose(np.abs(got), np.abs(expected), atol=1)


def test_leading_directions_hold_what_clusters_differ_in():
    views, truth = planted(1, spread=0.7)
    points = _directions.leading_directions(
        opened(*views), 14, np.random.RandomState(0)
    )
    table = np.hstack(views)

    def share_between(values):
        values = values - values.mean(axis=0)
        means = np.stack([values[truth == j].mean(axis=0) for j in range(8)])
        return (means[truth] ** 2).sum() / (values**2).sum()

    # Between the clusters lies a third of the scatter, and most of it in 14 directions.
    assert share_between(table) < 0.4
    assert share_between(points) > 0.6


def test_constant_views_have_no_directions_but_seeds():
    rows = opened(np.ones((600, 90)))
    points = _directions.leading_directions(rows, 8, np.random.RandomState(0))
    assert not points.any()
    labels, seeds = _directions.cluster_points(points, 3, np.random.RandomState(0))
    assert_array_equal(labels, 0)
    assert len(np.unique(seeds)) == 3


def test_the_best_draft_is_kept():
    rng = np.random.default_rng(0)
    points = np.rint(1000 * rng.normal(size=(12, 5)).repeat(40, axis=0))
    points += np.rint(300 * rng.normal(size=points.shape))
    lengths = (points**2).sum(axis=1)
    chosen, first = [], []
    for seed in range(20):
        random_state = np.random.RandomState(seed)
        tried = []
        for _ in range(_directions.N_DRAFTS):
            seeds = _directions.draw_apart(
                12,
                None,
                np.arange(len(points)),
                _directions._distances_to(points, lengths),
                random_state,
            )
            settled = _directions._settle(points, points[seeds], lengths.sum())
            tried.append((*settled, seeds))
        labels, loss, seeds = min(tried, key=lambda draft: draft[1])
        got = _directions.cluster_points(points, 12, np.random.RandomState(seed))
        assert_array_equal(got[0], labels)
        assert_array_equal(got[1], seeds)
        chosen.append(loss)
        first.append(tried[0][1])
    assert np.mean(chosen) < np.mean(first)


def test_distances_between_points_are_exact():
    rng = np.random.default_rng(0)
    points = rng.integers(-(2**20), 2**20, size=(50, 64)).astype(float)
    lengths = (points**2).sum(axis=1)
    rows = np.array([4, 49, 4])
    whole = points.astype(int)
    expected = ((whole[rows, None] - whole) ** 2).sum(axis=2)
    assert_array_equal(_directions._distances_to(points, lengths)(rows), expected)


def test_drafts_settle_as_plain_kmeans_does():
    """Each iteration: nearest centres, then rounded means; an empty cluster stays."""
    rng = np.random.default_rng(2)
    points = rng.integers(-40, 40, size=(200, 3)).astype(float)
    centers = np.vstack([points[:5], [[1000.0, 1000.0, 1000.0]]])
    got, loss = _directions._settle(points, centers, (points**2).sum())
    for _ in range(_directions.DRAFT_ITERATIONS):
        distances = ((points[:, None] - centers) ** 2).sum(axis=2)
        labels = distances.argmin(axis=1)
        for j in set(labels):
            centers[j] = np.rint(points[labels == j].mean(axis=0))
    assert_array_equal(got, labels)
    assert loss == distances.min(axis=1).sum()


def test_directions_are_for_many_complete_wide_samples():
    views, _ = planted(0)
    assert _directions.has_directions(opened(*views), 8)
    assert not _directions.has_directions(opened(*(v[:500] for v in views)), 8)
    assert not _directions.has_directions(opened(views[0]), 8)
    lacking = views[0].copy()
    lacking[7] = np.nan
    assert not _directions.has_directions(opened(lacking, views[1]), 8)
    empty = sparse.csr_array((600, 100_000))
    assert not _directions.has_directions(opened(views[0], empty), 8)


def test_seeds_are_the_means_of_the_clusters_found():
    views, truth = planted(4, spread=1.0)
    rows = opened(*views)
    seeds = _start.draft_seeds(rows, 8, np.random.RandomState(0), 1, project=True)
    labels = _start.nearest_seeds(rows, seeds)
    assert adjusted_rand_score(truth, labels) == 1.0
    for view, points in zip(rows, seeds.points, strict=True):
        scaled = view.dense_rows(np.arange(600))
        means = np.stack([scaled[labels == j].mean(axis=0) for j in range(8)])
        assert_allclose(points, means, atol=1e-12)


def test_single_starts_find_more_clusters_than_from_all_features(monkeypatch):
    """Noise of 300 features hides which samples belong together."""
    found = {}
    for project in (False, True):
        monkeypatch.setattr(NSMVC, "_project", project)
        scores = []
        for seed in range(8):
            views, truth = planted(seed, 800, 8, (100, 200), spread=0.35)
            model = NSMVC(8, n_init=1, random_state=seed).fit(views)
            scores.append(adjusted_rand_score(truth, model.labels_))
        found[project] = np.mean(scores)
    assert found[True] > 0.95
    assert found[True] > found[False] + 0.03
