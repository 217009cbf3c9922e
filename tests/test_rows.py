"""Scaled rows: the same answers for dense and sparse views, and sound summaries."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import manyview._rows._base
import manyview._rows._dense
import manyview._rows._open
from manyview import NSMVC, CoTrain, GraphNSMVC
from manyview._rows import (
    compact_views,
    distances_between,
    mean_and_scatter,
    open_views,
)
from manyview._scaling import ViewScale, learn_scales
from manyview._views import check_views


def make_view(seed=0, n_samples=40, missing=True):
    """Mostly zeros, far from the origin elsewhere; every fifth row is missing."""
    rng = np.random.default_rng(seed)
    view = (5.0 + rng.normal(size=(n_samples, 6))) * (rng.random((n_samples, 6)) < 0.4)
    if missing:
        view[::5] = np.nan
    return view


def opened(view, scale):
    return open_views(check_views([view, np.ones((view.shape[0], 1))]), (scale, UNIT))[
        0
    ]


UNIT = ViewScale(mode=None, shift=np.zeros(1), factor=np.ones(1), unit_rows=False)
# Not the mean of the view, as when new samples come after `fit`.
SHIFTED = ViewScale(
    mode="zscore",
    shift=np.array([1.0, 0.0, -2.0, 3.0, 0.5, 0.0]),
    factor=np.array([0.5, 2.0, 1.0, 0.25, 1.0, 3.0]),
    unit_rows=False,
)
PLAIN = ViewScale(mode=None, shift=np.zeros(6), factor=np.ones(6), unit_rows=False)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scale", [SHIFTED, PLAIN])
@pytest.mark.parametrize("missing", [True, False])
def test_summaries_are_those_of_the_scaled_rows(convert, scale, missing):
    view = make_view(missing=missing)
    expected = ((view - scale.shift) * scale.factor)[~np.isnan(view).any(axis=1)]
    mean = expected.mean(axis=0)
    for rows in (
        opened(convert(view), scale),
        opened(convert(make_view(missing=missing)), scale).take(np.arange(len(view))),
    ):
        assert_allclose(rows.mean, mean)
        assert_allclose(rows.scatter, ((expected - mean) ** 2).sum())


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_some_rows_are_missing_where_they_were(convert):
    view, picked = make_view(), np.array([3, 5, 4, 10])
    some = opened(convert(view), SHIFTED).take(picked)
    assert_array_equal(some.present, [True, False, True, False])
    expected = ((view - SHIFTED.shift) * SHIFTED.factor)[[3, 4]]
    assert_allclose(some.mean, expected.mean(axis=0))
    assert_allclose(some.dense_rows(np.arange(4))[[0, 2]], expected)


def test_scatter_is_taken_around_the_mean():
    rows = np.array([[3.0, 1.0], [5.0, 1.0]])
    mean, scatter = mean_and_scatter(rows.sum(axis=0), (rows**2).sum(), 2)
    assert_allclose(mean, [4.0, 1.0])
    assert_allclose(scatter, 2.0)


def test_scatter_of_a_constant_view_is_zero_and_not_rounding():
    rows = np.full((7, 3), 0.1)
    assert mean_and_scatter(rows.sum(axis=0), (rows**2).sum(), 7)[1] == 0.0
    assert mean_and_scatter(np.zeros(3), 0.0, 0)[1] == 0.0


@pytest.mark.parametrize("direct_below", [0, 256])
@pytest.mark.parametrize("scale", [SHIFTED, PLAIN])
def test_a_sparse_view_answers_as_the_dense_one(scale, direct_below, monkeypatch):
    monkeypatch.setattr(manyview._rows._base, "ALWAYS_DIRECT_BELOW", direct_below)
    view = make_view()
    rng = np.random.default_rng(1)
    centers, labels = rng.normal(size=(3, 6)), rng.integers(3, size=40).astype(np.int32)
    part, picked = slice(10, 30), np.array([3, 4, 17])
    answers = []
    for rows in (opened(view, scale), opened(sparse.csr_array(view), scale)):
        block = rows.read(part, rows.buffer())
        prepared = rows.prepare(centers)
        present = rows.present[part]
        distances, rounding = np.empty((20, 3)), np.empty(20)
        rows.distances(block, part, prepared, distances, rounding)
        losses = np.empty(20)
        rows.losses(block, part, prepared, labels[part], losses)
        sums, masses = np.zeros((3, 6)), np.zeros(3)
        positions = np.flatnonzero(present)
        weights = rng.random(20)[positions] if not answers else answers[0][-1]
        clusters = labels[part][None, positions]
        rows.add(block, positions, clusters, weights[None], sums, masses)
        points = rows.dense_rows(picked)
        answers.append(
            (
                distances[present],
                losses[present],
                sums,
                masses,
                points,
                rows.distances_to(block, part, rows.prepare_points(points))[present],
                weights,
            )
        )
    for dense, other in zip(*answers, strict=True):
        assert_allclose(other, dense, atol=1e-9)
    # And as the definition says.
    scaled = ((view - scale.shift) * scale.factor)[part]
    known = ~np.isnan(scaled).any(axis=1)
    expected = ((scaled[known, None] - centers) ** 2).sum(axis=2)
    assert_allclose(answers[0][0], expected)
    own = expected[np.arange(known.sum()), labels[part][known]]
    assert_allclose(answers[0][1], own)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("keep_scaled", [True, False])
@pytest.mark.parametrize("wanted", [slice(3, 300), np.arange(299, 2, -2)])
def test_pieces_of_a_block_are_the_whole_block(wanted, keep_scaled, dtype, monkeypatch):
    monkeypatch.setattr(manyview._rows._dense, "PIECE_ELEMENTS", 6 * 11)
    raw = (10.0 * make_view(n_samples=310, missing=False)).astype(dtype)
    views = check_views([raw, np.ones((310, 1))])
    rows = open_views(views, (SHIFTED, UNIT), keep_scaled=keep_scaled)[0]
    scaled = (raw[wanted] - SHIFTED.shift) * SHIFTED.factor
    centers, labels = scaled[[0, 5, 7]] + 0.5, np.arange(len(scaled)) % 3
    expected = ((scaled[:, None] - centers) ** 2).sum(axis=2)

    prepared, block = rows.prepare(centers), rows.read(wanted, rows.buffer())
    distances, rounding = np.empty(expected.shape), np.empty(len(scaled))
    assert not rows.distances(block, wanted, prepared, distances, rounding)
    assert np.all(np.abs(distances - expected) <= rounding[:, None])
    assert rounding.max() < 1e-9 * expected.max()
    losses = np.empty(len(scaled))
    rows.losses(block, wanted, prepared, labels.astype(np.int32), losses)
    assert_allclose(losses, expected[np.arange(len(scaled)), labels])
    sums, masses = np.zeros((3, 6)), np.zeros(3)
    some = np.arange(1, len(scaled), 3)
    weights = np.linspace(0.0, 2.0, len(some))
    rows.add(block, some, labels[None, some], weights[None], sums, masses)
    assert_allclose(sums[1], weights @ scaled[some])
    assert_allclose(masses, [0.0, weights.sum(), 0.0])


def test_a_scale_learned_without_the_missing_rows_leaves_them_out():
    checked = check_views([make_view(), np.ones((40, 1))])
    rows = open_views(checked, learn_scales(checked, "zscore"))[0]
    assert rows.present.sum() == 32
    assert_allclose(rows.mean, 0.0, atol=1e-12)
    assert_allclose(rows.dense_rows(np.arange(0, 40, 5)), 0.0)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_between_points_are_their_definition(form, dtype):
    points = make_view(missing=False).astype(dtype).astype(np.float64)
    expected = ((points[:, None] - points) ** 2).sum(axis=2)
    # Rounded to grains of at most so much.
    grain = 2.0**14 * np.finfo(dtype).eps * 20 * expected.max()
    found = distances_between(form(points), np.dtype(dtype))
    assert_allclose(found, expected, atol=grain)
    rows, every = opened(form(points), PLAIN), slice(0, 40)
    block = rows.read(every, rows.buffer())
    prepared = rows.prepare_points(form(points))
    assert_allclose(rows.distances_to(block, every, prepared), found, atol=grain)


def words(n_samples=300, n_features=400, dtype=float):
    """Three groups with words of their own; some samples lack the view."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=n_samples)
    chance = np.full((3, n_features), 0.004)
    for group in range(3):
        chance[group, group * 40 : group * 40 + 40] = 0.12
    counts = (rng.random((n_samples, n_features)) < chance[truth]).astype(dtype)
    if np.issubdtype(dtype, np.floating):
        counts[::9] = np.nan
    return counts, truth


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_dense_views_that_are_mostly_zero_are_read_as_sparse_ones(dtype):
    counts, _ = words(dtype=dtype)
    other = np.random.default_rng(1).normal(size=(300, 400))
    views = check_views([counts, other])
    compact = compact_views(views)
    assert sparse.issparse(compact.arrays[0])
    assert compact.arrays[0].dtype == (np.float32 if dtype == np.float32 else float)
    assert compact.arrays[1] is views.arrays[1]
    assert_allclose(compact.arrays[0].toarray(), np.nan_to_num(counts))


def test_views_stay_dense_if_small_mapped_or_full_elsewhere(tmp_path):
    counts, _ = words(dtype=np.int64)
    np.save(tmp_path / "mapped.npy", counts)
    uneven = counts.copy()
    # Between the rows that are looked at first.
    uneven[np.setdiff1d(np.arange(300), np.linspace(0, 299, 256).astype(int))] = 1
    mapped = np.load(tmp_path / "mapped.npy", mmap_mode="r")
    for view in (counts[:, :100], mapped, mapped[:, 10:], uneven):
        assert not sparse.issparse(compact_views(check_views([view])).arrays[0])


@pytest.mark.parametrize("method", [GraphNSMVC, NSMVC, CoTrain])
def test_labels_do_not_depend_on_how_zeros_are_stored(method, monkeypatch):
    counts, truth = words()
    views = [counts, truth[:, None] + np.random.default_rng(2).normal(size=(300, 4))]
    if method is CoTrain:
        views[0] = np.nan_to_num(views[0])
    compact = method(3, random_state=0).fit(views)
    new = [views[0][:50], views[1][:50]]
    monkeypatch.setattr(manyview._rows._open, "SPARSE_BELOW", 0.0)
    dense = method(3, random_state=0).fit(views)
    assert_array_equal(compact.labels_, dense.labels_)
    if method is not CoTrain:
        assert_array_equal(compact.predict(new), dense.predict(new))


def large(monkeypatch):
    """Every view counts as a large one: never copied, products in single precision."""
    monkeypatch.setattr(manyview._rows._base, "KEEP_SCALED_BYTES", 0)
    monkeypatch.setattr(manyview._rows._base, "SMALL_VIEW", 0)
    monkeypatch.setattr(manyview._rows._base, "ALWAYS_DIRECT_BELOW", 0)
    monkeypatch.setattr(manyview._rows._dense, "SMALLEST_ROUNDED", 0)


def offset_view(offset, *, strided=False):
    view = offset + np.random.default_rng(3).normal(size=(60, 30))
    view[::7] = np.nan
    return np.repeat(view, 2, axis=1)[:, ::2] if strided else view


def by_definition(view, scale):
    if scale.unit_rows:
        view = view / np.linalg.norm(view, axis=1, keepdims=True)
    return np.nan_to_num((view - scale.shift) * scale.factor)


@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("mode", [None, "zscore", "l2", "range"])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8])
def test_large_views_are_as_accurate_as_they_say(strided, mode, offset, monkeypatch):
    checked = check_views([offset_view(offset, strided=strided), np.ones((60, 1))])
    scales = learn_scales(checked, mode)
    scaled = by_definition(offset_view(offset), scales[0])
    large(monkeypatch)
    rows = open_views(checked, scales)[0]
    assert rows.dtype == np.float32
    assert rows.precision == np.float64
    part, picked = slice(10, 50), np.array([0, 7, 31])
    present = rows.present[part]
    sq_norms = (scaled**2).sum(axis=1)
    centers, scaled = scaled[[1, 2, 15]], scaled[part]
    expected = ((scaled[:, None] - centers) ** 2).sum(axis=2)

    block = rows.read(part, rows.buffer())
    prepared = rows.prepare(centers)
    found, rounding = np.empty((40, 3)), np.empty(40)
    assert not rows.distances(block, part, prepared, found, rounding)
    assert (abs(found - expected) <= rounding[:, None])[present].all()
    # By differences, sums and losses have the precision of the rows themselves.
    rows.refine(block, part, picked, prepared, found, rounding)
    assert_allclose(found[picked], expected[picked], rtol=1e-8, atol=1e-300)
    labels = np.arange(40) % 3
    sums, masses, losses = np.zeros((3, 30)), np.zeros(3), np.empty(40)
    weights = present[None].astype(float)
    rows.add(block, np.arange(40), labels[None], weights, sums, masses)
    rows.losses(block, part, prepared, labels, losses)
    by_cluster = [scaled[labels == j].sum(axis=0) for j in range(3)]
    assert_allclose(sums, by_cluster, rtol=1e-9, atol=1e-12 * abs(scaled).max())
    assert_array_equal(masses, np.bincount(labels[present], minlength=3))
    assert_allclose(losses, expected[np.arange(40), labels], 1e-8, 1e-300)
    assert_allclose(rows.sq_norms, sq_norms, 1e-12)
    some = rows.take(picked)
    assert_array_equal(some.dense_rows(np.arange(3)), rows.dense_rows(picked))


def test_only_large_views_of_single_precision_stay_in_it(monkeypatch):
    view = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    checked = check_views([view])
    scales = learn_scales(checked, "zscore")
    assert open_views(checked, scales)[0].precision == np.float64
    monkeypatch.setattr(manyview._rows._base, "SMALL_VIEW", 199)
    assert open_views(checked, scales)[0].precision == np.float32


def test_single_precision_is_left_where_it_would_overflow(monkeypatch):
    large(monkeypatch)
    for factor in (1e25, 1e-25):
        rows = opened(factor * offset_view(0.0)[:, :6], PLAIN)
        assert rows.dtype == np.float64


@pytest.mark.parametrize("assignment", ["sequential", "majorize"])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_labels_do_not_depend_on_the_precision_of_products(
    assignment, offset, monkeypatch
):
    rng = np.random.default_rng(5)
    centers = rng.normal(size=(6, 12))
    truth = rng.integers(6, size=900)
    views = [offset + centers[truth] + rng.normal(size=(900, 12)) for _ in range(3)]
    views[1][::11] = np.nan
    method = NSMVC(6, n_init=2, assignment=assignment, random_state=0)
    expected = method.fit(views)
    labels, n_iter = expected.labels_, expected.n_iter_
    large(monkeypatch)
    found = method.fit(views)
    assert_array_equal(found.labels_, labels)
    assert found.n_iter_ == n_iter
    assert_array_equal(found.predict(views), labels)


def test_rows_of_a_memory_map_are_taken_a_few_at_a_time(tmp_path, monkeypatch):
    np.save(tmp_path / "view.npy", np.random.default_rng(0).normal(size=(200, 6)))
    mapped = np.load(tmp_path / "view.npy", mmap_mode="r")
    views = check_views([mapped, np.ones((200, 1))])
    rows = open_views(views, (SHIFTED, UNIT), keep_scaled=False)[0]
    released = []
    monkeypatch.setattr(manyview._rows._dense, "release_pages", released.append)
    # As if a kernel mapped 100 bytes around a row, and 1000 were too many.
    monkeypatch.setattr(manyview._rows._dense, "FAULT_AROUND_BYTES", 100)
    monkeypatch.setattr(manyview._rows._dense, "RELEASE_BYTES", 1000)
    wanted = np.arange(0, 200, 2)
    some = rows.take(wanted)
    expected = (mapped[wanted] - SHIFTED.shift) * SHIFTED.factor
    assert_allclose(some.all_points(), expected)
    assert len(released) > 3
