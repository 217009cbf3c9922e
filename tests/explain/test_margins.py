"""Confidence, agreement and disagreement on cases computed by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from manyview import NSMVC, ViewError
from manyview.explain import explain, explain_labels

# Two views of four samples on a line; clusters {0, 1} and {2, 3}.
NEAR = np.array([[0.0], [2.0], [10.0], [12.0]])
LABELS = np.array([0, 0, 1, 1])


def test_explain_labels_by_hand():
    # Every sample is equally far from its centre: nothing is left to doubt.
    explanation = explain_labels([NEAR], LABELS)
    assert_allclose(explanation.confidence, np.ones(4))
    # Within: 4 samples at distance 1. Total: distances 6, 4, 4, 6 to the mean 6.
    assert_allclose(explanation.unexplained, [4 / 104])
    assert_array_equal(explanation.agreement, [1.0])
    assert_array_equal(explanation.disagreement, [0, 0, 0, 0])


def test_confidence_of_labels_by_hand():
    # Centres are 2 and 11; squared distances to the own one are 4, 1, 9 and 1, 1.
    view = np.array([[0.0], [1.0], [5.0], [10.0], [12.0]])
    explanation = explain_labels([view], np.array([0, 0, 0, 1, 1]))
    spread = np.std([4, 1, 9, 1, 1])
    margins = np.array([121 - 4, 100 - 1, 36 - 9, 64 - 1, 100 - 1])
    assert_allclose(explanation.confidence, 1 / (1 + np.exp(-margins / spread)))


def test_explain_labels_finds_the_view_that_wants_something_else():
    # In the second view sample 1 stands with cluster 1: centres 3 and 10.
    other = np.array([[0.0], [9.0], [9.0], [11.0]])
    explanation = explain_labels({"near": NEAR, "other": other}, LABELS)
    assert explanation.view_names == ("near", "other")
    assert_array_equal(explanation.view_labels, [[0, 0, 1, 1], [0, 1, 1, 1]])
    assert_array_equal(explanation.agreement, [1.0, 0.75])
    assert_array_equal(explanation.disagreement, [0, 0.5, 0, 0])
    assert_array_equal(explanation.view_agreement, [[1, 0.75], [0.75, 1]])


def test_explain_labels_leaves_missing_views_out_of_account():
    other = np.array([[np.nan], [9.0], [9.0], [np.nan]])
    explanation = explain_labels([NEAR, other], LABELS)
    assert_array_equal(explanation.view_labels[1], [-1, 0, 0, -1])
    assert_array_equal(explanation.agreement, [1.0, 0.5])
    assert_array_equal(explanation.disagreement, [0, 0, 0.5, 0])
    assert_array_equal(explanation.view_agreement, [[1, 0.5], [0.5, 1]])


def test_explain_labels_of_views_without_common_samples():
    first = np.array([[0.0], [2.0], [np.nan], [np.nan]])
    second = np.array([[np.nan], [np.nan], [1.0], [5.0]])
    explanation = explain_labels([first, second], np.array([0, 1, 0, 1]))
    assert_array_equal(explanation.view_agreement, [[1, np.nan], [np.nan, 1]])


def test_explain_gives_sparse_and_dense_views_the_same_answer(blobs):
    views = [np.where(view > 0, view, 0.0) for view in blobs[0]]
    dense = explain_labels(views, blobs[1])
    thin = explain_labels([sparse.csr_array(view) for view in views], blobs[1])
    assert_allclose(thin.confidence, dense.confidence, atol=1e-9)
    assert_array_equal(thin.view_labels, dense.view_labels)


def test_explain_uses_the_distances_of_nsmvc(blobs):
    views, _ = blobs
    model = NSMVC(3, n_init=2, random_state=0).fit(views)
    explanation = explain(model, views)
    assert_allclose(explanation.confidence, model.membership_.max(axis=1))
    assert_allclose(explanation.unexplained, model.unexplained_)
    assert_allclose(explanation.weights.sum(), 1.0)
    for v, view in enumerate(views):
        alone = model.predict([view if u == v else None for u in range(3)])
        assert_array_equal(explanation.view_labels[v], alone)


def test_explain_refuses_other_samples_and_unfitted_models(blobs):
    model = NSMVC(3, n_init=1, random_state=0).fit(blobs[0])
    with pytest.raises(ViewError, match=r"X has 10 samples, but .* shape \(90,\)"):
        explain(model, [view[:10] for view in blobs[0]])
    with pytest.raises(ViewError, match="NSMVC is not fitted"):
        explain(NSMVC(3), blobs[0])
    with pytest.raises(ViewError, match="whole numbers from 0"):
        explain_labels([NEAR], np.array([-1, 0, 0, 1]))
