"""Scores with answers worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from manyview.metrics import (
    adjusted_rand_score,
    clustering_accuracy,
    nmi_score,
    pairwise_f_score,
    purity_score,
)

TRUE = ["cat", "cat", "cat", "dog", "dog", "bird"]
#          cluster 0: cat cat dog    cluster 1: cat dog    cluster 2: bird
PRED = [0, 0, 1, 0, 1, 2]


def test_accuracy_by_hand():
    # Best matching: 0 -> cat (2), 1 -> dog (1), 2 -> bird (1): 4 of 6.
    assert clustering_accuracy(TRUE, PRED) == pytest.approx(4 / 6)


def test_accuracy_matches_one_to_one():
    # Both clusters hold cats only; just one of them may be "cat".
    assert clustering_accuracy(["cat"] * 4, [0, 0, 0, 1]) == 0.75


def test_purity_by_hand():
    # Largest classes: cat 2, cat or dog 1, bird 1.
    assert purity_score(TRUE, PRED) == pytest.approx(4 / 6)
    assert purity_score(["cat"] * 4, [0, 0, 0, 1]) == 1.0


def test_nmi_by_hand():
    # Independent halves carry no information; H = ln 2 each.
    assert nmi_score([0, 0, 1, 1], [0, 1, 0, 1]) == 0.0
    # I = ln 2, H(true) = ln 2, H(pred) = ln 4.
    assert nmi_score([0, 0, 1, 1], [0, 1, 2, 3]) == pytest.approx(2 / 3)
    assert nmi_score([0, 0, 1, 1], [0, 1, 2, 3], average_method="max") == pytest.approx(
        1 / 2
    )
    assert nmi_score([0, 0, 1, 1], [0, 1, 2, 3], average_method="min") == pytest.approx(
        1.0
    )
    assert nmi_score(
        [0, 0, 1, 1], [0, 1, 2, 3], average_method="geometric"
    ) == pytest.approx(np.sqrt(1 / 2))


def test_pairwise_f_by_hand():
    # Pairs: predicted 3 + 1, true 3 + 1, in both only the two cats of cluster 0.
    assert pairwise_f_score(TRUE, PRED) == pytest.approx(2 * 1 / (4 + 4))
    assert pairwise_f_score([0, 1, 2], [0, 1, 2]) == 1.0


def test_adjusted_rand_is_scikit_learns():
    assert adjusted_rand_score([0, 0, 1, 1], [1, 1, 0, 0]) == 1.0


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "a", "b"],
        [1.5, 1.5, -2.0],
        [True, True, False],
        [None, None, "x"],
        np.array([b"a", b"a", b"b"]),
        [("a"), ("a"), 3],
    ],
)
def test_labels_of_any_type(labels):
    for score in (clustering_accuracy, purity_score, nmi_score, pairwise_f_score):
        assert score(labels, [7, 7, 1]) == 1.0


labelled = st.integers(1, 40).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 5), min_size=n, max_size=n),
        st.lists(st.integers(0, 5), min_size=n, max_size=n),
    )
)


@given(labelled, st.permutations(range(6)))
def test_scores_ignore_names_and_stay_in_range(pair, names):
    true, pred = pair
    renamed = [names[label] for label in pred]
    for score in (clustering_accuracy, purity_score, nmi_score, pairwise_f_score):
        value = score(true, pred)
        assert 0.0 <= value <= 1.0
        assert_allclose(score(true, renamed), value, atol=1e-12)
    assert purity_score(true, pred) >= clustering_accuracy(true, pred) - 1e-12


@pytest.mark.parametrize(
    ("true", "pred", "message"),
    [
        ([0, 1], [0], "labels_true has 2 samples and labels_pred has 1"),
        ([], [], "labels_true has 0 samples and .* at least one"),
        ([[0, 1]], [0, 1], r"labels_true has shape \(1, 2\)"),
        ([0, 1], 3, r"labels_pred has shape \(\)"),
    ],
)
def test_bad_labels_are_refused(true, pred, message):
    for score in (clustering_accuracy, purity_score, nmi_score, pairwise_f_score):
        with pytest.raises(ValueError, match=message):
            score(true, pred)
