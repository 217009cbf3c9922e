"""Maps of samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from manyview import NSMVC
from manyview.explain import map_samples
from manyview.explain._maps import draw_samples


def test_map_of_one_feature_is_that_feature():
    view = np.array([[0.0], [1.0], [3.0], [4.0]])
    plane = map_samples([view], [0, 0, 1, 1]).views[0]
    # Divided by its range, centred, divided by its length. The sign is free.
    centred = view[:, 0] / 4 - 0.5
    expected = centred / np.linalg.norm(centred)
    assert_allclose(np.abs(plane[:, 0]), np.abs(expected))
    assert_array_equal(plane[:, 1], 0)


def test_map_keeps_distances_of_two_features(blobs):
    view = blobs[0][0][:, :2]
    plane = map_samples([view], blobs[1]).views[0]
    scaled = (view - view.mean(axis=0)) / np.ptp(view, axis=0)
    scaled /= np.linalg.norm(scaled)
    expected = np.linalg.norm(scaled[0] - scaled[1:], axis=1)
    assert_allclose(np.linalg.norm(plane[0] - plane[1:], axis=1), expected)


def test_map_leaves_samples_out_of_views_they_lack(blobs):
    views = [view.copy() for view in blobs[0]]
    views[1][:4] = np.nan
    model = NSMVC(3, n_init=1, random_state=0).fit(views)
    found = map_samples(views, model.labels_, estimator=model)
    assert_array_equal(np.isnan(found.views[1]).all(axis=1), np.arange(90) < 4)
    assert np.isfinite(found.fused).all()


def test_map_of_a_constant_view_is_a_point():
    found = map_samples([np.ones((4, 3)), np.arange(4.0)[:, None]], [0, 0, 1, 1])
    assert_array_equal(found.views[0], 0)


def test_draw_samples_keeps_some_of_a_tiny_cluster():
    labels = np.zeros(10_000, dtype=int)
    labels[[17, 4000]] = 1
    drawn = draw_samples(labels, 500, np.random.RandomState(0))
    assert len(drawn) == 500
    assert len(np.unique(drawn)) == 500
    assert {17, 4000} <= set(drawn.tolist())
    assert_array_equal(drawn, np.sort(drawn))


def test_draw_samples_takes_everyone_when_there_is_room():
    assert_array_equal(draw_samples(np.zeros(5, dtype=int), 5, None), np.arange(5))


def test_map_puts_whoever_lacks_a_view_at_its_mean():
    # Words: scaled to unit length without centring, so that the mean is not zero.
    words = np.eye(6)[[0, 0, 1, 1, 2, 3]] * 3
    words[5] = np.nan
    found = map_samples([words, np.ones((6, 1))], [0, 0, 1, 1, 2, 2])
    assert_allclose(found.fused[5], 0, atol=1e-12)
    assert np.abs(found.fused[:5]).max() > 0.1


def test_axes_are_named_with_their_shares_of_the_variance(blobs):
    view = blobs[0][0][:, :2]
    found = map_samples([view], blobs[1])
    scaled = (view - view.mean(axis=0)) / np.ptp(view, axis=0)
    spread = np.sort(np.linalg.eigvalsh(scaled.T @ scaled))[::-1]
    first, second = spread / spread.sum()
    expected = f"principal axis 1 ({first:.0%})", f"principal axis 2 ({second:.0%})"
    assert found.view_axes == (expected,)


def test_axes_without_umap_are_principal(blobs, monkeypatch):
    monkeypatch.setattr("manyview.explain._maps.has_umap", lambda: False)
    found = map_samples(blobs[0], blobs[1])
    assert found.axes[0].startswith("principal axis 1 (")


@pytest.mark.companions
@pytest.mark.filterwarnings("ignore")
def test_all_views_are_laid_out_by_umap(blobs):
    pytest.importorskip("umap")
    found = map_samples(blobs[0], blobs[1])
    assert found.axes == ("UMAP 1", "UMAP 2")
    assert found.fused.shape == (90, 2)
    assert_array_equal(map_samples(blobs[0], blobs[1]).fused, found.fused)
    # Clusters far apart stay apart: the nearest neighbour is of the same one.
    gaps = np.linalg.norm(found.fused[:, None] - found.fused, axis=2)
    np.fill_diagonal(gaps, np.inf)
    assert_array_equal(blobs[1][gaps.argmin(axis=1)], blobs[1])
    few = map_samples([view[:20] for view in blobs[0]], blobs[1][:20])
    assert few.axes[0].startswith("principal axis")
