"""Which restart is kept: the best, and of equal ones the first."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest

from manyview._results import NSMVCResult
from manyview._solvers._kmeans import KMeansResult
from manyview._solvers._mvkkm import MVKKMResult
from manyview._solvers._restarts import choose_restart

BARE = {"labels": np.zeros(100, int), "n_iter": 1, "converged": True, "history": ()}


def nsmvc_run(criterion):
    half = np.array([0.5, 0.5]) * criterion
    return NSMVCResult(
        **BARE,
        objective=1.0,
        unexplained=half,
        centers=(),
        exponents=half,
        thresholds=half,
        view_losses=half,
        joined_pace=np.zeros((2, 100), int),
        scatter=np.ones(2),
    )


def kmeans_run(criterion):
    return KMeansResult(
        **BARE,
        objective=1e6 * criterion,
        inertia_share=criterion,
        # What would choose another run.
        unexplained=np.array([1.0 - criterion]),
        centers=(),
        view_weights=np.ones(1),
        score_weights=np.ones(1),
    )


def mvkkm_run(criterion):
    return MVKKMResult(**BARE, objective=criterion, view_weights=np.ones(1))


@pytest.mark.parametrize("make", [nsmvc_run, kmeans_run, mvkkm_run])
@pytest.mark.parametrize(
    ("criteria", "kept"),
    [
        ([0.5, 0.4, 0.6], 1),
        ([0.4, 0.4 - 1e-16, 0.4 - 1e-15], 0),
        ([0.4 + 1e-15, 0.4, 0.5], 0),
        ([0.4, 0.4 - 1e-6], 1),
        ([0.0, 0.0], 0),
    ],
)
def test_rounding_decides_nothing(make, criteria, kept):
    runs = [make(criterion) for criterion in criteria]
    assert choose_restart(runs) is runs[kept]


def test_tiny_shares_are_told_apart_as_far_as_distances_are():
    # A far outlier: what is left is 1e-16 of the scatter, known to eight digits.
    runs = [nsmvc_run(3e-16), nsmvc_run(1e-16), nsmvc_run(1e-16 * (1 - 1e-8))]
    assert choose_restart(runs) is runs[1]
    # Two perfect fits: what is left is rounding.
    runs = [nsmvc_run(3e-32), nsmvc_run(1e-33)]
    assert choose_restart(runs) is runs[0]


def test_no_more_than_two_runs_are_alive():
    class Labels(np.ndarray):
        """An array that can be watched."""

    alive = weakref.WeakSet()
    most = 0

    def runs():
        nonlocal most
        for criterion in (0.5, 0.4, 0.3, 0.6, 0.2):
            labels = np.zeros(100, int).view(Labels)
            alive.add(_Watched(labels))
            run = replace(nsmvc_run(criterion), labels=labels)
            gc.collect()
            yield run
            del run, labels
            gc.collect()
            most = max(most, len(alive))

    class _Watched:
        def __init__(self, owner):
            owner.watched = self

    assert choose_restart(runs()).criterion == pytest.approx(0.2)
    assert most <= 2
