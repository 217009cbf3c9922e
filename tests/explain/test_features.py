"""Separating features against hand-computed effects."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, stats

from manyview import ViewError
from manyview._views import check_views
from manyview.explain import separating_features
from manyview.explain._features import features_of_clusters, names_of_features

VIEW = np.array([[0.0, 5.0], [2.0, 5.0], [10.0, 4.0], [12.0, 6.0]])
LABELS = [0, 0, 1, 1]


def test_separating_features_by_hand():
    best, *_ = separating_features([VIEW], LABELS)
    # Means 1 and 11, summed squares 2 + 2 over 4 - 2 degrees of freedom.
    assert (best.cluster, best.feature, best.inside, best.outside) == (0, "0", 1, 11)
    assert_allclose(best.effect, -10 / np.sqrt(2))


def test_separating_features_drop_what_does_not_differ():
    names = [(e.cluster, e.feature) for e in separating_features([VIEW], LABELS)]
    assert names == [(0, "0"), (1, "0")]


def test_separating_features_rank_over_all_views():
    strong = pd.DataFrame({"gene": [0.0, 0.1, 10.0, 10.1]})
    effects = separating_features({"a": VIEW, "b": strong}, LABELS, n_features=2)
    named = [(e.cluster, e.view, e.feature) for e in effects]
    assert named == [(0, "b", "gene"), (0, "a", "0"), (1, "b", "gene"), (1, "a", "0")]


def test_separating_features_of_a_perfect_feature_are_infinite():
    view = np.array([[1.0], [1.0], [3.0], [3.0]])
    effects = separating_features([view], LABELS)
    assert [e.effect for e in effects] == [-np.inf, np.inf]


def test_separating_features_ignore_missing_rows():
    longer = np.vstack([VIEW, [[np.nan, np.nan]]])
    other = np.ones((5, 1))
    with_missing = separating_features([longer, other], [*LABELS, 1])
    assert_allclose(with_missing[0].effect, -10 / np.sqrt(2))
    assert with_missing[0].outside == 11


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_separating_features_survive_a_large_offset(offset):
    best, *_ = separating_features([VIEW + offset], LABELS)
    assert_allclose(best.effect, -10 / np.sqrt(2), rtol=1e-6)


def test_separating_features_agree_for_sparse_views(blobs):
    view = np.where(blobs[0][0] > 0, blobs[0][0], 0.0)
    dense = separating_features([view], blobs[1])
    thin = separating_features([sparse.csr_array(view)], blobs[1])
    assert [e.feature for e in thin] == [e.feature for e in dense]
    assert_allclose([e.effect for e in thin], [e.effect for e in dense])


def test_separating_features_refuse_labels_of_another_length():
    with pytest.raises(ViewError, match=r"labels have shape \(3,\), expected \(4,\)"):
        separating_features([VIEW], [0, 0, 1])


def test_names_of_features_follow_the_form_of_the_views():
    frame = pd.DataFrame({"x": [1.0], "y": [2.0]})
    both = check_views([frame, np.ones((1, 2))])
    assert names_of_features(both) == (("x", "y"), ("0", "1"))
    split = check_views(frame, view_sizes=[1, 1])
    assert names_of_features(split) == (("x",), ("y",))


def test_p_values_are_those_of_welchs_test_and_adjusted_per_view():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [10, 25, 15])
    views = {name: rng.normal(size=(50, 6)) + 100 for name in "ab"}
    views["a"][:10, 2] += 2.0
    views["b"][7] = np.nan
    found = separating_features(views, labels, n_features=12)
    assert len(found) == 36
    for cluster in range(3):
        for view, values in views.items():
            has = ~np.isnan(values[:, 0])
            inside = values[has & (labels == cluster)]
            outside = values[has & (labels != cluster)]
            expected = stats.ttest_ind(inside, outside, equal_var=False).pvalue
            own = {
                int(e.feature): e
                for e in found
                if (e.cluster, e.view) == (cluster, view)
            }
            assert_allclose([own[j].p_value for j in range(6)], expected, rtol=1e-6)
            assert_allclose([own[j].fdr for j in range(6)], adjusted(expected))


def adjusted(p_values):
    """Benjamini and Hochberg, as in their paper: from the largest p-value down."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    found, least = [0.0] * len(p_values), 1.0
    for rank in range(len(p_values), 0, -1):
        i = order[rank - 1]
        least = min(least, p_values[i] * len(p_values) / rank)
        found[i] = least
    return found


def test_p_values_of_constants_and_of_single_samples():
    view = np.array([[1.0, 5.0], [1.0, 6.0], [3.0, 8.0], [3.0, 7.0]])
    perfect = separating_features([view], LABELS, n_features=1)[0]
    assert (perfect.p_value, perfect.fdr) == (0.0, 0.0)
    alone = separating_features([view], [0, 1, 1, 1], n_features=1)[0]
    assert np.isnan(alone.p_value)
    assert np.isnan(alone.fdr)


def test_noise_is_neither_inside_nor_outside():
    longer = np.vstack([VIEW, [[99.0, 99.0]]])
    labels = np.array([*LABELS, -1])
    found = features_of_clusters(check_views([longer]), labels)
    assert_allclose(found[0].effect, -10 / np.sqrt(2))
