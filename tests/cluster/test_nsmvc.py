"""The estimator: restarts, starts, new samples, scikit-learn tools."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manyview import NSMVC
from manyview.metrics import clustering_accuracy


@pytest.fixture
def noisy():
    """Overlapping clusters in three views: restarts end in different places."""
    rng = np.random.default_rng(5)
    truth = rng.integers(6, size=300)
    return [
        2.5 * rng.normal(size=(6, width))[truth] + rng.normal(size=(300, width))
        for width in (3, 5, 2)
    ]


def test_chosen_restart_is_the_best_of_all(noisy):
    estimator = NSMVC(6, n_init=8, random_state=0).fit(noisy)
    seeds = np.random.RandomState(0).randint(2**31 - 1, size=8)
    shares = []
    for seed in seeds:
        # A restart is reproduced by drawing its start from its own seed.
        from manyview._rows import open_views
        from manyview._scaling import learn_scales
        from manyview._solvers._start import start_kmeans_plusplus
        from manyview._views import check_views

        views = check_views(noisy)
        rows = open_views(views, learn_scales(views, "auto"))
        start = start_kmeans_plusplus(rows, 6, np.random.RandomState(seed))
        alone = NSMVC(6, init=start.labels).fit(noisy)
        shares.append(alone.unexplained_.sum())
    assert len(set(np.round(shares, 6))) > 1
    assert_allclose(estimator.unexplained_.sum(), min(shares), rtol=1e-9)


def test_results_are_the_same_for_any_n_jobs(noisy):
    alone = NSMVC(6, random_state=3).fit(noisy)
    for n_jobs in (1, 2, -1):
        together = NSMVC(6, random_state=3, n_jobs=n_jobs).fit(noisy)
        assert_array_equal(together.labels_, alone.labels_)
        assert_array_equal(together.joined_pace_, alone.joined_pace_)
        assert together.objective_ == alone.objective_


@pytest.mark.parametrize("assignment", ["sequential", "majorize"])
@pytest.mark.parametrize("init", ["k-means++", "random", "random-labels"])
def test_blobs_are_found_from_any_start(blobs, assignment, init):
    views, truth = blobs
    estimator = NSMVC(3, assignment=assignment, init=init, random_state=0)
    assert clustering_accuracy(truth, estimator.fit_predict(views)) == 1.0


def test_label_start_runs_once_and_keeps_good_labels(blobs):
    views, truth = blobs
    seen = []
    estimator = NSMVC(3, init=truth).fit(
        views, on_iteration=lambda restart, _: seen.append(restart)
    )
    assert_array_equal(estimator.labels_, truth)
    assert set(seen) == {0}


def test_callable_start_gets_views_and_seed(blobs):
    views, truth = blobs
    calls = []

    def start(given, n_clusters, random_state):
        calls.append((len(given), n_clusters, random_state.randint(1000)))
        return truth

    NSMVC(3, init=start, n_init=2, random_state=0).fit(views)
    assert [call[:2] for call in calls] == [(3, 3), (3, 3)]
    assert calls[0][2] != calls[1][2]


def test_iteration_limit_warns(noisy):
    with pytest.warns(ConvergenceWarning, match="NSMVC stopped at its iteration limit"):
        NSMVC(6, max_iter=1, n_init=1, init="random", random_state=0).fit(noisy)


def test_missing_views_in_fit_and_predict(blobs):
    views, truth = blobs
    rng = np.random.default_rng(1)
    gaps = rng.random((3, 90)) < 0.3
    gaps[0, gaps.all(axis=0)] = False
    lacking = [view.copy() for view in views]
    for view, gap in zip(lacking, gaps, strict=True):
        view[gap] = np.nan
    estimator = NSMVC(3, random_state=0).fit(lacking)
    assert clustering_accuracy(truth, estimator.labels_) == 1.0
    assert_array_equal(estimator.joined_pace_ == 0, gaps)
    assert_array_equal(estimator.predict(lacking), estimator.labels_)
    for v in range(3):
        only = [view if v == u else None for u, view in enumerate(views)]
        assert_array_equal(estimator.predict(only), estimator.labels_)


def test_predict_matches_views_by_name(blobs):
    views, _ = blobs
    named = dict(zip("abc", views, strict=True))
    estimator = NSMVC(3, random_state=0).fit(named)
    assert estimator.view_names_ == ["a", "b", "c"]
    turned = {"c": views[2], "a": views[0]}
    assert_array_equal(estimator.predict(turned), estimator.labels_)
    assert_array_equal(estimator.predict(views), estimator.labels_)


def test_transform_is_the_weighted_distance_by_hand(blobs):
    views, _ = blobs
    estimator = NSMVC(3, scale=None, random_state=0).fit(views)
    slopes = estimator.exponents_ * estimator.view_losses_ ** (estimator.exponents_ - 1)
    expected = np.sqrt(
        sum(
            slope * ((view[:, None] - centers) ** 2).sum(axis=2)
            for slope, view, centers in zip(
                slopes, views, estimator.cluster_centers_, strict=True
            )
        )
        / slopes.sum()
    )
    distances = estimator.transform(views)
    assert_allclose(distances, expected, rtol=1e-9)
    assert_array_equal(distances.argmin(axis=1), estimator.labels_)
    assert list(estimator.get_feature_names_out()) == ["nsmvc0", "nsmvc1", "nsmvc2"]


def test_score_is_minus_the_unexplained_share(blobs):
    views, _ = blobs
    estimator = NSMVC(3, random_state=0).fit(views)
    assert_allclose(estimator.score(views), -estimator.unexplained_.sum())
    worse = NSMVC(2, random_state=0).fit(views)
    assert worse.score(views) < estimator.score(views)


def test_one_table_works_in_a_pipeline_and_a_grid_search(blobs):
    views, truth = blobs
    table, sizes = np.hstack(views), [view.shape[1] for view in views]
    pipeline = make_pipeline(
        StandardScaler(), NSMVC(3, view_sizes=sizes, random_state=0)
    )
    assert clustering_accuracy(truth, pipeline.fit_predict(table)) == 1.0
    search = GridSearchCV(
        NSMVC(view_sizes=sizes, n_init=2, random_state=0),
        {"n_clusters": [2, 3], "pace_start": [0.3, 0.5]},
        cv=3,
    ).fit(table)
    assert search.best_params_["n_clusters"] == 3


def test_verbose_reports_on_stderr(blobs, capsys):
    NSMVC(3, n_init=1, random_state=0, verbose=1).fit(blobs[0])
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith("restart 1  stage 1  iteration   1  objective ")


def test_history_tells_the_whole_run(blobs):
    estimator = NSMVC(3, random_state=0).fit(blobs[0])
    last = estimator.history_[-1]
    assert last.pace == 6
    assert last.n_moved == 0
    assert_array_equal(last.n_selected, [90, 90, 90])
    assert_array_equal(last.exponents, estimator.exponents_)
    assert_allclose(
        last.objective, np.sum(estimator.view_losses_**estimator.exponents_)
    )


def test_corrupt_view_gets_the_smaller_exponent(blobs):
    views, truth = blobs
    noise = np.random.default_rng(0).normal(size=(90, 20))
    # Centred views of equal energy: the exponent then speaks of the fit alone.
    estimator = NSMVC(3, scale="energy", random_state=0)
    estimator.fit([views[0], noise, views[2]])
    assert estimator.exponents_.argmin() == 1
    assert clustering_accuracy(truth, estimator.labels_) == 1.0
