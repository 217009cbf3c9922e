"""Scaling against formulas written out, and at the ends of the number range."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

import manyview._rows
from manyview import NSMVC
from manyview._rows import open_views
from manyview._scaling import (
    SCALES,
    feature_moments,
    feature_range,
    learn_scales,
)
from manyview._views import check_views
from manyview.cluster import CAMVC, DMVC, MSPL, SAMVC


def literal(view, mode):
    """The scaled view, by the definition of each mode; constant features vanish."""
    view = np.asarray(view, dtype=float)
    spread = view.max(axis=0) - view.min(axis=0)
    safe = np.where(spread > 0, spread, 1.0)
    if mode == "range":
        scaled = (view - view.mean(axis=0)) / safe
    elif mode == "minmax":
        scaled = (view - view.min(axis=0)) / safe
    elif mode == "zscore":
        deviation = np.where(spread > 0, view.std(axis=0), 1.0)
        scaled = (view - view.mean(axis=0)) / deviation
    elif mode == "l2":
        lengths = np.linalg.norm(view, axis=1, keepdims=True)
        scaled = view / np.where(lengths > 0, lengths, 1.0)
    elif mode == "energy":
        scaled = view - view.mean(axis=0)
    norm = np.linalg.norm(scaled)
    return scaled / norm if norm > 0 else scaled


def distances(rows):
    return ((rows[:, None] - rows) ** 2).sum(axis=2)


def scaled_by_us(view, mode):
    views = check_views([view])
    (rows,) = open_views(views, learn_scales(views, mode))
    return rows.dense_rows(np.arange(rows.n_samples))


@pytest.mark.parametrize("kind", ["dense", "streamed", "sparse"])
@pytest.mark.parametrize("mode", ["range", "minmax", "zscore", "l2", "energy"])
@given(seed=st.integers(0, 10**6))
def test_scaling_follows_its_definition(kind, mode, seed):
    rng = np.random.default_rng(seed)
    view = rng.normal(size=(rng.integers(2, 30), rng.integers(1, 6)))
    view *= rng.choice([0.0, 1e-3, 1.0, 50.0], size=view.shape[1])
    view[rng.random(view.shape) < 0.3] = 0.0
    expected = distances(literal(view, mode))
    given_view = sparse.csr_array(view) if kind == "sparse" else view
    with pytest.MonkeyPatch.context() as patch:
        if kind == "streamed":
            patch.setattr(manyview._rows._base, "KEEP_SCALED_BYTES", 0)
        got = scaled_by_us(given_view, mode)
    # Only distances count: a shift of the whole view is free.
    assert_allclose(distances(got), expected, rtol=1e-9, atol=1e-12)


def test_auto_takes_unit_rows_for_words_and_links():
    rng = np.random.default_rng(0)
    words = (rng.random((40, 60)) < 0.05).astype(float)
    images = rng.random((40, 5))
    signed = np.where(rng.random((40, 60)) < 0.05, -1.0, 0.0)
    views = check_views([words, sparse.csr_array(words), images, signed])
    modes = [scale.mode for scale in learn_scales(views, "auto")]
    assert modes == ["l2", "l2", "range", "range"]


def test_missing_rows_do_not_count():
    rng = np.random.default_rng(0)
    view = rng.normal(size=(20, 3))
    with_gaps = np.vstack([view, np.full((5, 3), np.nan)])
    company = np.ones((25, 1))
    for mode in ("range", "minmax", "zscore", "l2", "energy", None):
        views = check_views([with_gaps, company])
        rows = open_views(views, learn_scales(views, mode))[0]
        alone = check_views([view])
        expected = open_views(alone, learn_scales(alone, mode))[0]
        assert_allclose(
            rows.dense_rows(np.arange(20)), expected.dense_rows(np.arange(20))
        )
        assert_allclose(rows.scatter, expected.scatter)
        assert_allclose(rows.sq_norms[20:], 0.0)


EXTREMES = {
    "constant": np.full((30, 3), 7.0),
    "all zero": np.zeros((30, 3)),
    "one varying column": np.column_stack([np.arange(30.0), np.ones(30)]),
    "tiny": np.random.default_rng(0).random((30, 3)) * 1e-300,
    "subnormal": np.random.default_rng(0).random((30, 3)) * 5e-320,
    "huge": np.random.default_rng(0).normal(size=(30, 3)) * 1e300,
    "both": np.random.default_rng(0).normal(size=(30, 2)) * [1e-300, 1e300],
    "large offset": np.random.default_rng(0).normal(size=(30, 2)) + 1e12,
    "float32 huge": (np.random.default_rng(0).normal(size=(30, 2)) * 1e37).astype("f4"),
    "float32 tiny": (np.random.default_rng(0).random((30, 2)) * 1e-40).astype("f4"),
    "integers": np.random.default_rng(0).integers(-(2**62), 2**62, size=(30, 2)),
}


@pytest.mark.parametrize("mode", SCALES)
@pytest.mark.parametrize("kind", EXTREMES)
def test_extreme_views_stay_finite(mode, kind):
    view = EXTREMES[kind]
    company = np.random.default_rng(1).normal(size=(30, 2))
    for form in (view, sparse.csr_array(view.astype(view.dtype, copy=False))):
        estimator = NSMVC(3, scale=mode, n_init=2, random_state=0).fit([form, company])
        for value in (
            estimator.objective_,
            estimator.exponents_,
            estimator.unexplained_,
            *estimator.cluster_centers_,
            estimator.transform([form, company]),
        ):
            assert np.isfinite(value).all()


def test_centres_are_reported_in_the_users_units(blobs):
    views, _ = blobs
    views = [views[0] * 100 + 7, np.column_stack([views[1], np.full(90, 3.0)])]
    for mode in ("range", "minmax", "zscore", "energy", None):
        estimator = NSMVC(3, scale=mode, random_state=0).fit(views)
        for view, centers in zip(views, estimator.cluster_centers_, strict=True):
            means = [view[estimator.labels_ == j].mean(axis=0) for j in range(3)]
            assert_allclose(centers, means, rtol=1e-9)


def test_centres_of_unit_rows_are_means_of_directions():
    rng = np.random.default_rng(0)
    view = rng.random((40, 5))
    estimator = NSMVC(2, scale="l2", random_state=0).fit([view])
    directions = view / np.linalg.norm(view, axis=1, keepdims=True)
    means = [directions[estimator.labels_ == j].mean(axis=0) for j in range(2)]
    assert_allclose(estimator.cluster_centers_[0], means)


def test_units_of_a_view_are_irrelevant(blobs):
    views, _ = blobs
    plain = NSMVC(3, random_state=0).fit(views)
    other = NSMVC(3, random_state=0).fit([views[0] * 1e9, views[1] - 4e3, views[2]])
    assert_allclose(plain.labels_, other.labels_)
    assert_allclose(plain.exponents_, other.exponents_, rtol=1e-6)


@pytest.mark.parametrize("mode", ["auto", "range", "zscore", "energy"])
def test_losses_of_centred_views_are_unexplained_shares(blobs, mode):
    views, _ = blobs
    views = [views[0] + 100.0, *views[1:]]
    model = NSMVC(3, scale=mode, random_state=0).fit(views)
    assert_allclose(model.view_losses_, model.unexplained_, rtol=1e-9)
    assert (model.unexplained_ < 1.0).all()


@pytest.mark.parametrize("mode", [*SCALES, None])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_constant_view_has_no_weight_and_explains_nothing(blobs, mode, form):
    views, _ = blobs
    constant = np.tile([1 / 3, -7.1, 1e5 / 7], (len(views[0]), 1))
    for Estimator in (NSMVC, CAMVC, MSPL, SAMVC, DMVC):
        model = Estimator(3, scale=mode, n_init=2, random_state=0)
        model.fit([views[0], form(constant), views[1]])
        assert model.view_weights_[1] == 0.0
        assert (model.view_weights_[[0, 2]] > 0.0).all()
        assert_allclose(model.view_weights_.sum(), 1.0)
        assert model.unexplained_[1] == 1.0
        assert (model.unexplained_[[0, 2]] < 1.0).all()
        if Estimator is not DMVC:  # It draws a start for every view.
            without = clone(model).fit([views[0], views[1]])
            assert adjusted_rand_score(model.labels_, without.labels_) == 1.0


def test_constant_views_alone_weigh_the_same():
    model = NSMVC(2, n_init=1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="distinct"):
        model.fit([np.ones((9, 2)), np.zeros((9, 1))])
    assert_allclose(model.view_weights_, 0.5)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_statistics_of_parts_merge_into_those_of_the_whole(convert):
    rng = np.random.default_rng(0)
    # Parts with different means: their distance is part of the whole's deviations.
    view = rng.normal(size=(30, 3)) * (rng.random((30, 3)) < 0.7)
    view[10:] += 4.0
    present = np.arange(30) % 4 > 0
    parts = [slice(0, 10), slice(10, 14), slice(14, 30)]
    whole = feature_range(convert(view), present)
    ranges = [feature_range(convert(view[part]), present[part]) for part in parts]
    merged = ranges[0].merge(ranges[1]).merge(ranges[2])
    for name in ("n_rows", "low", "high", "n_zeros"):
        assert_allclose(getattr(merged, name), getattr(whole, name))
    expected = feature_moments(convert(view), present, whole, "zscore")
    first, second, third = (
        feature_moments(convert(view[part]), present[part], whole, "zscore")
        for part in parts
    )
    found = first.merge(second).merge(third)
    assert found.n_rows == present.sum()
    assert_allclose(found.mean, expected.mean)
    assert_allclose(found.m2, expected.m2)
    deviation = view[present].std(axis=0) / np.ptp(view[present], axis=0)
    assert_allclose(np.sqrt(found.m2 / present.sum()), deviation)
