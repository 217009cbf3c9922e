"""Starts: distinct seeds, sensible handling of missing views, the paper's start."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from manyview._rows import open_views
from manyview._scaling import learn_scales
from manyview._solvers import _plusplus, _start, _table
from manyview._views import check_views


def opened(*views, scale=None):
    checked = check_views(list(views))
    return open_views(checked, learn_scales(checked, scale))


def test_random_start_takes_distinct_samples_and_unrelated_labels():
    view = np.arange(50.0)[:, None]
    rows = opened(view, 2 * view)
    start = _start.start_random(rows, 20, np.random.RandomState(0))
    first, second = start.centers
    assert len(np.unique(first)) == 20
    assert_allclose(second, 2 * first)  # the same samples in every view
    assert set(start.labels) <= set(range(20))
    # Labels say nothing about the centres: about 1 in 20 agree by chance.
    nearest = np.abs(rows[0].dense_rows(np.arange(50)) - first.T).argmin(axis=1)
    assert (nearest == start.labels).mean() < 0.3


@pytest.mark.parametrize("seed", range(20))
def test_kmeans_plusplus_seeds_one_per_blob(seed):
    truth = np.repeat(np.arange(8), 20)
    rng = np.random.default_rng(0)
    view = 100.0 * truth[:, None] + rng.normal(size=(160, 2))
    rows = opened(view, rng.normal(size=(160, 1)))
    start = _start.start_kmeans_plusplus(rows, 8, np.random.RandomState(seed))
    for label in range(8):
        assert len(set(truth[start.labels == label])) == 1
    assert len(set(start.labels)) == 8


def test_kmeans_plusplus_survives_too_few_distinct_points():
    view = np.repeat([[0.0], [1.0]], 5, axis=0)
    rows = opened(view)
    start = _start.start_kmeans_plusplus(rows, 4, np.random.RandomState(0))
    assert start.centers[0].shape == (4, 1)
    assert np.isfinite(start.centers[0]).all()


def test_kmeans_plusplus_never_draws_a_seed_twice():
    rng = np.random.default_rng(0)
    rows = opened(rng.normal(size=(30, 2)))
    for seed in range(20):
        start = _start.start_kmeans_plusplus(rows, 30, np.random.RandomState(seed))
        assert_array_equal(np.sort(start.labels), np.arange(30))


def test_kmeans_plusplus_with_disjoint_views():
    # No sample has both views: fused distances exist only within each half.
    first = np.vstack([np.repeat([[0.0], [50.0]], 5, axis=0), np.full((10, 1), np.nan)])
    second = np.vstack([np.full((10, 1), np.nan), np.repeat([[0.0], [9.0]], 5, axis=0)])
    start = _start.start_kmeans_plusplus(
        opened(first, second), 2, np.random.RandomState(0)
    )
    assert all(np.isfinite(centers).all() for centers in start.centers)


def test_start_from_labels_takes_means():
    view = np.array([[0.0], [2.0], [10.0], [14.0]])
    lacking = np.array([[1.0], [3.0], [np.nan], [np.nan]])
    rows = opened(view, lacking)
    start = _start.start_from_labels(rows, np.array([0, 0, 1, 1]), 2)
    assert_allclose(start.centers[0] + view.mean(), [[1.0], [12.0]])
    # Cluster 1 has nobody in the second view: the view's mean stands in.
    assert_allclose(start.centers[1] + 2.0, [[2.0], [2.0]])


def test_random_start_fills_missing_views_with_the_mean():
    view = np.arange(10.0)[:, None]
    lacking = np.full((10, 1), np.nan)
    lacking[0] = 5.0
    rows = opened(view, lacking)
    start = _start.start_random(rows, 10, np.random.RandomState(0))
    assert_allclose(start.centers[1], 0.0)


def fused_to_nearest(views, seeds):
    """The seed nearest to every sample, straight from the definition."""
    labels = []
    for i in range(len(views[0])):
        distances = []
        for j in range(len(seeds.points[0])):
            shared = [
                ((view[i] - points[j]) ** 2).sum()
                for view, points, has in zip(
                    views, seeds.points, seeds.present, strict=True
                )
                if has[j] and not np.isnan(view[i]).any()
            ]
            distances.append(np.mean(shared) * len(views) if shared else seeds.apart)
        labels.append(int(np.argmin(distances)))
    return labels


def literal_draft(rows, seeds):
    """Centres after some iterations of k-means, and the losses around the last."""
    views = [view.dense_rows(np.arange(view.n_samples)) for view in rows]
    for view, known in zip(views, rows, strict=True):
        view[~known.present] = np.nan
    n_clusters = len(seeds.points[0])
    labels = np.array(fused_to_nearest(views, seeds))
    for _ in range(_start.DRAFT_ITERATIONS):
        centers = [
            np.stack([np.nanmean(v[labels == j], axis=0) for j in range(n_clusters)])
            for v in views
        ]
        distances = sum(
            np.nansum((view[:, None] - center) ** 2, axis=2)
            for view, center in zip(views, centers, strict=True)
        )
        labels = distances.argmin(axis=1)
    found = replace(seeds, points=tuple(centers), present=np.ones((2, 4), dtype=bool))
    return found, distances.min(axis=1).sum()


def test_the_best_draft_is_kept():
    """Single seedings often put two seeds into one group."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(12, 20))
    rows = opened(0.4 * rng.normal(size=(600, 20)) + np.repeat(centers, 50, axis=0))

    chosen, first = [], []
    for seed in range(20):
        random_state = np.random.RandomState(seed)
        tried = [
            _start._settle(rows, _start.draw_seeds(rows, 12, random_state))
            for _ in range(_start.N_DRAFTS)
        ]
        least = min(loss for _, loss in tried)
        best = next(seeds for seeds, loss in tried if loss < least * (1 + 1e-9))
        found = _start.draft_seeds(rows, 12, np.random.RandomState(seed), 4)
        assert_array_equal(found.points[0], best.points[0])
        chosen.append(least)
        first.append(tried[0][1])
    assert np.mean(chosen) < np.mean(first)


@pytest.mark.parametrize("sparse_views", [False, True])
def test_many_samples_are_seeded_from_some_of_them(sparse_views, monkeypatch):
    monkeypatch.setattr(_start, "SEEDING_SAMPLES", 60)
    monkeypatch.setattr(_start, "SEEDING_SAMPLES_PER_CLUSTER", 1)
    rng = np.random.default_rng(0)
    truth = rng.integers(4, size=500)
    views = [30.0 * rng.normal(size=(4, 3))[truth] + rng.normal(size=(500, 3))]
    views.append(30.0 * rng.normal(size=(4, 2))[truth] + rng.normal(size=(500, 2)))
    views[1][rng.random(500) < 0.2] = np.nan
    given = [sparse.csr_array(view) for view in views] if sparse_views else views
    rows = opened(*given)
    drafts = []
    original = _start.draw_seeds

    def watching(some, *rest):
        seeds = original(some, *rest)
        assert some[0].n_samples == 60
        drafts.append(literal_draft(some, seeds))
        return seeds

    monkeypatch.setattr(_start, "draw_seeds", watching)
    start = _start.start_kmeans_plusplus(rows, 4, np.random.RandomState(0))
    assert len(drafts) == _start.N_DRAFTS
    seeds, _ = min(drafts, key=lambda draft: draft[1])
    everyone = np.arange(500)
    scaled = [view.dense_rows(everyone) for view in rows]
    scaled[1][np.isnan(views[1][:, 0])] = np.nan
    assert_array_equal(start.labels, fused_to_nearest(scaled, seeds))
    for label in range(4):
        assert len(set(truth[start.labels == label])) == 1
        means = [np.nanmean(view[start.labels == label], axis=0) for view in scaled]
        for center, mean in zip(start.centers, means, strict=True):
            assert_allclose(center[label], mean, atol=1e-9)


def test_plain_kmeans_plusplus_draws_one_candidate_per_seed():
    """Against the definition: each seed with probability in proportion to D^2."""
    view = np.array([[0.0], [1.0], [3.0], [7.0]])
    rows = opened(view)
    drawn = {1: [], None: []}
    for seed in range(3000):
        for n_trials, found in drawn.items():
            random_state = np.random.RandomState(seed)
            seeds = _start.draw_seeds(rows, 2, random_state, n_trials)
            found.append(tuple(np.round(seeds.points[0][:, 0] + view.mean(), 6)))
    squares = (view - view.T) ** 2
    expected = squares / squares.sum(axis=1, keepdims=True) / 4
    values = list(view[:, 0])
    counts = np.zeros((4, 4))
    for first, second in drawn[1]:
        counts[values.index(first), values.index(second)] += 1
    # Three standard deviations of a frequency out of 3000 are at most 0.028.
    assert_allclose(counts / 3000, expected, atol=0.028)
    # The better of two candidates leaves less behind than one alone.
    left = {
        trials: np.mean(
            [np.min((view - np.array(p)) ** 2, axis=1).sum() for p in found]
        )
        for trials, found in drawn.items()
    }
    assert left[None] < 0.95 * left[1]


def fused_by_definition(views, i, j):
    """Mean squared distance over the views that samples i and j share, times views."""
    shared = [((view[i] - view[j]) ** 2).sum() for view in views]
    shared = [distance for distance in shared if not np.isnan(distance)]
    return len(views) * np.mean(shared) if shared else None


def test_fused_distances_are_rescaled_where_views_are_missing(monkeypatch):
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(30, width)) for width in (2, 3, 4)]
    views[0][3:12] = views[1][8:20] = views[2][18:25] = np.nan
    rows = opened(*views)
    chosen = np.array([0, 5, 10, 19, 29])
    # Five blocks, which threads share.
    monkeypatch.setattr(_table, "BLOCK_ROWS", (6, 6))
    workers = _table.BlockWorkers(rows, len(chosen))
    found = _start._distances_between(rows, chosen, workers)
    apart = _start.seeds_at(rows, chosen).apart
    for i in range(30):
        for place, j in enumerate(chosen):
            expected = fused_by_definition(views, i, j)
            if expected is None:
                expected = apart
            assert found[place, i] == pytest.approx(expected, abs=1e-12)


def test_a_sample_without_a_view_is_not_nearer_for_that():
    first = np.array([[0.0], [2.2], [2.5]])
    second = np.array([[0.0], [2.2], [np.nan]])
    rows = opened(first, second)
    seeds = _start.seeds_at(rows, np.array([1, 2]))
    # 2.2^2 + 2.2^2 = 9.68 to the first; 2.5^2 = 6.25 in one view, 12.5 for two.
    assert_array_equal(_start.nearest_seeds(rows, seeds)[0], 0)


def test_the_error_of_fused_distances_is_rescaled_with_them():
    """Two of three views are shared: distances and errors count 1.5 times."""
    view = np.array([[0.0], [1.0], [2.0]])
    lacking = np.array([[np.nan], [1.0], [2.0]])
    views = opened(view, view, lacking)
    seeds = _start.seeds_at(views, np.array([1, 2]))
    distances = np.array([1.0, 2.0, 4.0])[:, None, None] * np.ones((3, 3, 2))
    rounding = np.array([0.1, 0.2, 0.4])[:, None] * np.ones((3, 3))
    fused, errors = _start._fuse(views, seeds, slice(0, 3), distances, rounding)
    assert_allclose(fused, [[4.5, 4.5], [7.0, 7.0], [7.0, 7.0]])
    assert_allclose(errors, [[0.45, 0.45], [0.7, 0.7], [0.7, 0.7]])


@pytest.mark.parametrize("closest", [[1.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
def test_a_taken_sample_is_not_drawn_however_far_rounding_put_it(closest):
    taken = np.array([0, 1])
    for seed in range(10):
        random_state = np.random.RandomState(seed)
        drawn = _plusplus.draw(np.array(closest), taken, 3, random_state)
        assert set(drawn) == {2}


def test_the_first_seed_has_as_many_views_as_any_sample():
    first = np.array([[0.0], [1.0], [np.nan], [3.0]])
    second = np.array([[0.0], [np.nan], [2.0], [3.0]])
    assert_array_equal(_start._complete_samples(opened(first, second)), [0, 3])
