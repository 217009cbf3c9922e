"""Choosing the number of clusters."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from manyview import NSMVC, ViewError
from manyview.datasets import make_views
from manyview.model_selection import _choose, _shortlist, choose_n_clusters, recovery

QUICK = NSMVC(n_init=4, assignment="majorize")


def test_recovery_by_hand():
    # {0, 1, 2} shares two with {0, 1}: 2 of 3. {3} shares one with {2, 3}: 1 of 2.
    assert_allclose(recovery([0, 0, 0, 1], [1, 1, 0, 0], 2), [2 / 3, 1 / 2])
    assert_allclose(recovery([1, 1, 2], [0, 0, 3], 3), [0, 1, 1])


def test_choose_takes_the_largest_stable_number():
    assert _choose([2, 3, 4, 5], [1.0, 0.5, 0.8, 0.74], 0.75) == (4, True)


def test_choose_falls_back_to_the_most_stable_number():
    assert _choose([2, 3, 4], [0.3, 0.6, 0.5], 0.75) == (3, False)


def test_shortlist_has_the_widest_gaps_and_what_is_beside_the_widest():
    gaps = {2: 0.3, 3: 0.0, 4: 0.1, 5: 0.4, 6: 0.0, 7: 0.2, 8: 0.05, 9: 0.0}
    assert _shortlist(range(2, 10), gaps) == [2, 4, 5, 6, 7]
    assert _shortlist([2, 5], gaps) == [2, 5]


def test_gaps_spare_fits_and_come_with_the_choice():
    data = make_views(200, 4, (6, 8), separation=9, random_state=3)
    choice = choose_n_clusters(data.views, n_subsamples=2, random_state=0)
    assert choice.n_clusters == 4
    assert {3, 4, 5} <= set(choice.candidates)
    assert len(choice.candidates) == len(choice.gaps) <= 6
    assert choice.candidates[int(np.argmax(choice.gaps))] == 4


@pytest.mark.parametrize("n_clusters", [2, 4])
def test_choose_n_clusters_finds_clear_clusters(n_clusters):
    data = make_views(
        200, n_clusters, (6, 8), separation=9, random_state=n_clusters + 6
    )
    choice = choose_n_clusters(
        data.views, range(2, 7), estimator=QUICK, n_subsamples=4, random_state=0
    )
    assert choice.n_clusters == n_clusters
    assert choice.candidates == (2, 3, 4, 5, 6)
    assert choice.gaps == ()
    at = choice.candidates.index(n_clusters)
    assert choice.weakest[at] > 0.95
    assert choice.agreement[at] > 0.95


def test_choose_n_clusters_ignores_the_global_random_state_and_repeats():
    data = make_views(60, 3, random_state=0)
    before = np.random.get_state()[1].copy()  # noqa: NPY002 - what we guard
    first, second = (
        choose_n_clusters(data.views, [2, 3], estimator=QUICK, random_state=5)
        for _ in range(2)
    )
    assert first == second
    after = np.random.get_state()[1]  # noqa: NPY002 - what we guard
    np.testing.assert_array_equal(before, after)


def test_choose_n_clusters_takes_every_form_of_views():
    data = make_views(60, 3, (4, 5), random_state=1)
    listed = choose_n_clusters(data.views, [2, 3], estimator=QUICK, random_state=0)
    frames = {f"view{v}": pd.DataFrame(view) for v, view in enumerate(data.views)}
    split = NSMVC(n_init=4, assignment="majorize", view_sizes=[4, 5])
    assert listed == choose_n_clusters(frames, [2, 3], estimator=QUICK, random_state=0)
    assert listed == choose_n_clusters(
        np.hstack(data.views), [2, 3], estimator=split, random_state=0
    )
    assert split.view_sizes == [4, 5]


def test_choose_n_clusters_works_on_max_samples_only():
    data = make_views(300, 3, random_state=0)
    sizes = []

    class Spy(NSMVC):
        def fit(self, X, y=None, **options):
            sizes.append(len(next(iter(X.values()))))
            return super().fit(X, y, **options)

    choose_n_clusters(
        data.views, [3], estimator=Spy(n_init=1), n_subsamples=2, max_samples=100
    )
    assert sizes == [100, 80, 80]


def test_choose_n_clusters_tells_its_progress():
    data = make_views(60, 3, random_state=0)
    told = []
    choose_n_clusters(
        data.views,
        [2, 3],
        estimator=NSMVC(n_init=1),
        n_subsamples=1,
        random_state=0,
        on_progress=lambda *state: told.append(state),
    )
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ([], r"candidates are \[\], but must be .* from 2"),
        ([1, 2], r"candidates are \[1, 2\], but must be .* from 2, below which"),
        ([2, 50], r"candidates are \[2, 50\], .* to 48, the samples of a subsample"),
    ],
)
def test_choose_n_clusters_refuses_candidates(candidates, message):
    with pytest.raises(ViewError, match=message):
        choose_n_clusters(make_views(60, 3, random_state=0).views, candidates)


@pytest.mark.slow
@pytest.mark.parametrize("n_clusters", [3, 5, 12])
def test_choose_n_clusters_sees_through_a_view_of_noise(n_clusters):
    data = make_views(600, n_clusters, (10, 20, 15), corrupt=[2], random_state=0)
    assert choose_n_clusters(data.views, random_state=0).n_clusters == n_clusters
