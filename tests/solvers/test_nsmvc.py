"""The fast solver against the literal transcription, and the paper's invariants."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import KMeans

import manyview._rows
import manyview._solvers._local
import manyview._solvers._table
from manyview import NSMVC
from manyview._numerics import _assign
from manyview._solvers import _screen, _state
from manyview._solvers._local import LocalSamples
from manyview._solvers._nsmvc import solve_nsmvc, unexplained_shares
from manyview._solvers._start import Start, start_from_labels
from tests import reference
from tests.distributed.problems import make_views
from tests.solvers.problems import as_sparse, problems

ASSIGNMENTS = ("sequential", "majorize")


def solve(problem, assignment="sequential", max_iter=50, fusion="nonlinear", **changes):
    return solve_nsmvc(
        problem.rows(**changes),
        changes.get("start", problem.start()),
        max_iter=max_iter,
        assignment=assignment,
        fusion=fusion,
        **problem.parameters,
    )


def assert_same_run(result, expected, problem):
    assert_array_equal(result.labels, expected["labels"])
    assert_array_equal(result.joined_pace, expected["joined"])
    assert_allclose(result.exponents, expected["exponents"], rtol=1e-9, atol=1e-12)
    for v, view in enumerate(problem.scaled_views()):
        unit = np.abs(view).max()
        theirs = expected["thresholds"][v]
        assert_allclose(result.thresholds[v], theirs, rtol=1e-9, atol=1e-13 * unit**2)
        theirs = expected["view_losses"][v]
        assert_allclose(result.view_losses[v], theirs, rtol=1e-7, atol=1e-13 * unit**2)
        theirs = expected["centers"][v]
        assert_allclose(result.centers[v], theirs, rtol=1e-9, atol=1e-13 * unit)


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
@given(problem=problems())
def test_solver_equals_reference(assignment, problem):
    result = solve(problem, assignment)
    assert_same_run(result, problem.reference(assignment), problem)


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
@given(problem=problems())
def test_linear_fusion_equals_reference_without_exponents(assignment, problem):
    result = solve(problem, assignment, fusion="linear")
    expected = problem.reference(assignment, fusion="linear")
    assert_same_run(result, expected, problem)
    assert_array_equal(result.exponents, 1.0)


@given(problem=problems(max_samples=9, missing=False))
def test_first_selection_minimises_the_self_paced_objective(problem):
    """Eq. (6): samples up to the threshold are what minimises sum w l - w lambda."""
    views, start = problem.scaled_views(), problem.start()
    losses = reference.sample_losses(views, start.centers, problem.labels)
    present = [np.ones(len(problem.labels), dtype=bool) for _ in views]
    thresholds = reference.thresholds(losses, present, 1, **problem.parameters)
    joined = solve(problem, max_iter=1).joined_pace
    for v in range(len(views)):
        expected = reference.selection(losses[v], thresholds[v])
        assert_array_equal(joined[v] == 1, expected)


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
@given(problem=problems())
def test_solver_with_matrix_products_equals_reference(assignment, problem):
    # Small problems take distances by differences; here they go the way of large
    # ones, through products, screen and refinement.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manyview._rows._base, "ALWAYS_DIRECT_BELOW", 0)
        result = solve(problem, assignment)
    assert_same_run(result, problem.reference(assignment), problem)


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
@given(problem=problems())
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_solver_in_float32_equals_reference_on_float32_rows(assignment, problem):
    single = dataclasses.replace(
        problem,
        views=[view.astype(np.float32) for view in problem.views],
        centers=[center.astype(np.float32) for center in problem.centers],
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manyview._rows._base, "ALWAYS_DIRECT_BELOW", 0)
        result = solve(single, assignment)
    # View losses are known to 1e-7 here. Exponents so small that they tell such a
    # residue from zero, on data that is fitted perfectly, are beyond float32.
    assume(min(record.exponents.min() for record in result.history) > 1e-2)
    assume(min(record.view_losses.min() for record in result.history) > 0)
    assert_array_equal(result.labels, single.reference(assignment)["labels"])


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
@given(problem=problems())
def test_solver_on_sparse_views_equals_reference(assignment, problem):
    # Sparse views are not centred, so everything is in raw units.
    start = Start(centers=tuple(problem.centers), labels=problem.labels)
    result = solve(problem, assignment, views=as_sparse(problem.views), start=start)
    expected = reference.nsmvc(
        [np.nan_to_num(view) for view in problem.views],
        problem.centers,
        problem.labels,
        assignment=assignment,
        present=problem.present,
        **problem.parameters,
    )
    assert_array_equal(result.labels, expected["labels"])


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
@given(problem=problems())
def test_objective_never_rises_within_a_pace(assignment, problem):
    history = solve(problem, assignment).history
    for before, after in pairwise(history):
        if before.pace == after.pace:
            bound = before.objective * (1 + 1e-9) + problem.rounding
            assert after.objective <= bound


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
@given(problem=problems())
def test_reference_objective_never_rises_after_any_half_step(assignment, problem):
    for path in problem.reference(assignment)["paths"]:
        for before, after in pairwise(path):
            assert after <= before * (1 + 1e-9) + problem.rounding


def lloyd_labels(view, centers):
    """The labels of every iteration of k-means, by definition."""
    found = []
    while len(found) < 2 or not np.array_equal(found[-1], found[-2]):
        found.append(((view[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1))
        members = [view[found[-1] == j] for j in range(len(centers))]
        centers = np.array(
            [rows.mean(axis=0) if len(rows) else center
             for rows, center in zip(members, centers, strict=True)]
        )  # fmt: skip
    return found


@given(problem=problems(max_views=1, missing=False))
def test_one_view_is_kmeans(problem):
    problem = dataclasses.replace(problem, pace_start=1.0, n_paces=2)
    centers = problem.start().centers[0]
    view = problem.scaled_views()[0]
    nearest, *later = lloyd_labels(view, centers)
    # scikit-learn re-seeds an empty cluster; we keep its centre.
    assume(all(len(np.unique(labels)) == len(centers) for labels in (nearest, *later)))
    start = start_from_labels(
        problem.rows(), nearest, len(centers), fallback=(centers,)
    )
    result = solve(problem, max_iter=300, start=start)
    peer = KMeans(
        len(centers), init=centers, n_init=1, tol=0, max_iter=300, algorithm="lloyd"
    ).fit(view)
    assert_array_equal(result.labels, peer.labels_)


@given(problem=problems(), seed=st.integers(0, 1000))
def test_order_of_views_is_irrelevant(problem, seed):
    order = np.random.default_rng(seed).permutation(len(problem.views))
    turned = dataclasses.replace(
        problem,
        views=[problem.views[v] for v in order],
        present=[problem.present[v] for v in order],
        centers=[problem.centers[v] for v in order],
    )
    for assignment in ASSIGNMENTS:
        result, other = solve(problem, assignment), solve(turned, assignment)
        assert_array_equal(other.labels, result.labels)
        assert_allclose(other.exponents, result.exponents[order], rtol=1e-9, atol=1e-12)


@given(problem=problems(max_views=1, missing=False), n_copies=st.integers(2, 4))
def test_copies_of_a_view_are_that_view_alone(problem, n_copies):
    copies = dataclasses.replace(
        problem,
        views=problem.views * n_copies,
        present=problem.present * n_copies,
        centers=problem.centers * n_copies,
    )
    for assignment in ASSIGNMENTS:
        alone, together = solve(problem, assignment), solve(copies, assignment)
        assert_array_equal(together.labels, alone.labels)
        assert_array_equal(together.exponents, np.ones(n_copies))


@given(problem=problems(), block=st.integers(1, 40))
def test_result_is_independent_of_row_blocks(problem, block):
    whole = {assignment: solve(problem, assignment) for assignment in ASSIGNMENTS}

    def blocks(views, _):
        n_samples = views[0].n_samples
        return [slice(a, min(a + block, n_samples)) for a in range(0, n_samples, block)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manyview._solvers._local, "sample_blocks", blocks)
        patch.setattr(manyview._rows._base, "ALWAYS_DIRECT_BELOW", 0)
        for assignment in ASSIGNMENTS:
            parts, expected = solve(problem, assignment), whole[assignment]
            assert_array_equal(parts.labels, expected.labels)
            assert_allclose(
                parts.objective, expected.objective, rtol=1e-9, atol=problem.rounding
            )


def large_problem(seed, dtype=np.float64, n_clusters=6):
    """Enough samples for bounds and screen to work: overlapping clusters, gaps."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_clusters, size=3000)
    views = [
        1.2 * rng.normal(size=(n_clusters, width))[truth]
        + rng.normal(size=(3000, width))
        for width in (3, 8, 5)
    ]
    views[1][rng.random(3000) < 0.1] = np.nan
    labels = rng.integers(n_clusters, size=3000)
    return [view.astype(dtype) for view in views], labels


def run_large(views, labels, assignment, n_threads=1):
    rows = _open(views)
    return solve_nsmvc(
        rows,
        start_from_labels(rows, labels, labels.max() + 1),
        pace_start=0.5,
        n_paces=4,
        max_iter=50,
        assignment=assignment,
        n_threads=n_threads,
    )


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_skip_work_and_change_nothing(assignment, dtype, seed, monkeypatch):
    views, labels = large_problem(seed, dtype)
    looked_at = []
    original = _assign.doubtful_rows

    def counting(*args):
        looked_at.append(original(*args))
        return looked_at[-1]

    monkeypatch.setattr(_assign, "doubtful_rows", counting)
    fast = run_large(views, labels, assignment)
    assert sum(looked_at) < 0.7 * 3000 * fast.n_iter
    assert_same_moves(fast, run_without_bounds(views, labels, assignment, monkeypatch))


def run_without_bounds(views, labels, assignment, monkeypatch):
    def everyone(_upper, lower, _slack, out_rows):
        lower[:] = -np.inf
        out_rows[:] = np.arange(len(out_rows))
        return len(out_rows)

    monkeypatch.setattr(_assign, "doubtful_rows", everyone)
    return run_large(views, labels, assignment)


def assert_same_moves(one, other):
    assert_array_equal(one.labels, other.labels)
    assert_array_equal(
        [record.n_moved for record in one.history],
        [record.n_moved for record in other.history],
    )


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
@pytest.mark.parametrize("seed", range(3))
def test_screen_of_centres_skips_work_and_changes_nothing(
    assignment, seed, monkeypatch
):
    monkeypatch.setattr(_screen, "LEAST_CLUSTERS", 16)
    monkeypatch.setattr(_screen, "FEWEST", 4)
    views, labels = large_problem(seed, n_clusters=40)
    settled = []
    original = _assign.tighten_bounds

    def watching(distances, *rest):
        original(distances, *rest)
        rows, (upper, lower) = rest[2], rest[-2:]
        assert distances.shape[2] < 40
        settled.append(np.mean(lower[rows] > upper[rows]))

    monkeypatch.setattr(_assign, "tighten_bounds", watching)
    fast = run_large(views, labels, assignment)
    assert len(settled) > fast.n_iter / 3
    assert np.mean(settled) > 0.8
    assert_same_moves(fast, run_without_bounds(views, labels, assignment, monkeypatch))


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_bounds_hold_after_every_sweep(assignment, monkeypatch):
    """Of samples that keep their selection, from one pace to the next as well."""
    monkeypatch.setattr(_screen, "LEAST_CLUSTERS", 16)
    monkeypatch.setattr(_screen, "FEWEST", 4)
    original, known = _state.Bounds.renew, []

    def checking(bounds, views, centers, labels, view_losses, exponents):
        slack = original(bounds, views, centers, labels, view_losses, exponents)
        known.append(np.mean(bounds.lower > 0))
        points = [view.dense_rows(np.arange(len(labels))) for view in views]
        fused = sum(
            slope * selected[:, None] * ((p[:, None] - c.values) ** 2).sum(axis=2)
            for slope, selected, p, c in zip(
                bounds.anchor, samples[0].state.selected, points, centers, strict=True
            )
        )
        own = np.take_along_axis(fused, labels[:, None], axis=1)[:, 0]
        np.put_along_axis(fused, labels[:, None], np.inf, axis=1)
        assert (bounds.lower <= np.sqrt(fused.min(axis=1)) * (1 + 1e-9)).all()
        told = bounds.lower > -np.inf
        assert (bounds.upper[told] * (1 + 1e-9) >= np.sqrt(own[told])).all()
        return slack

    samples, begin = [], LocalSamples.__init__

    def remember(self, *args, **options):
        samples[:] = [self]
        begin(self, *args, **options)

    monkeypatch.setattr(LocalSamples, "__init__", remember)
    monkeypatch.setattr(_state.Bounds, "renew", checking)
    views, labels = large_problem(3, n_clusters=20)
    run_large([view[:600] for view in views], labels[:600], assignment)
    assert np.mean(known) > 0.5


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_large_run_equals_reference_step_by_step(assignment):
    # Enough samples for products, screen and bounds to be in play.
    views, labels = large_problem(7)
    views, labels = [view[:700] for view in views], labels[:700]
    rows = _open(views)
    everyone = np.arange(700)
    dense = [view.dense_rows(everyone) for view in rows]
    present = [view.present for view in rows]
    start = start_from_labels(rows, labels, 6)
    result = solve_nsmvc(
        rows, start, pace_start=0.5, n_paces=1, max_iter=3, assignment=assignment
    )
    expected = reference.nsmvc(
        dense,
        start.centers,
        labels,
        n_paces=1,
        max_iter=3,
        assignment=assignment,
        present=present,
    )
    assert_array_equal(result.labels, expected["labels"])


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_threads_change_no_bit(assignment, monkeypatch):
    monkeypatch.setattr(manyview._solvers._table, "BLOCK_ELEMENTS", 2 * (16 * 150,))
    views, labels = large_problem(1)
    alone = run_large(views, labels, assignment, n_threads=1)
    together = run_large(views, labels, assignment, n_threads=4)
    assert_array_equal(alone.labels, together.labels)
    for mine, theirs in zip(alone.centers, together.centers, strict=True):
        assert_array_equal(mine, theirs)
    assert alone.objective == together.objective


@given(problem=problems())
def test_view_that_nobody_has_is_ignored(problem):
    n_samples = len(problem.labels)
    with_ghost = dataclasses.replace(
        problem,
        views=[*problem.views, np.full((n_samples, 3), np.nan)],
        present=[*problem.present, np.zeros(n_samples, dtype=bool)],
        centers=[*problem.centers, np.zeros((len(problem.centers[0]), 3))],
    )
    for assignment in ASSIGNMENTS:
        result = solve(with_ghost, assignment)
        assert_array_equal(result.labels, solve(problem, assignment).labels)
        assert result.view_losses[-1] == 0
        assert not result.joined_pace[-1].any()


def test_everyone_takes_part_at_the_last_pace(blobs):
    views, _ = blobs
    rows = _open(views)
    start = start_from_labels(rows, np.arange(90) % 3, 3)
    result = solve_nsmvc(
        rows,
        start,
        pace_start=0.3,
        n_paces=4,
        max_iter=50,
        assignment="sequential",
    )
    assert_array_equal(result.history[-1].n_selected, [90, 90, 90])
    assert result.joined_pace.min() >= 1
    assert result.joined_pace.max() <= 4


@pytest.mark.parametrize("max_iter", [1, 50])
@given(problem=problems())
def test_what_is_unexplained_is_the_loss_of_all_samples(max_iter, problem):
    """Settled or stopped, it is what a pass over the rows finds."""
    result, rows = solve(problem, max_iter=max_iter), problem.rows()
    measured = unexplained_shares(rows, result.centers, result.labels)
    assert_allclose(result.unexplained, measured, rtol=1e-7, atol=1e-12)


def test_four_points_by_hand():
    # Two views, two clusters, one pace with everyone: centres 0.5 and 10.5 in the
    # first view, 1 and 5 in the second.
    first = np.array([[0.0], [1.0], [10.0], [11.0]])
    second = np.array([[0.0], [2.0], [4.0], [6.0]])
    rows = _open([first, second])
    start = start_from_labels(rows, np.array([0, 0, 1, 1]), 2)
    result = solve_nsmvc(
        rows, start, pace_start=1.0, n_paces=1, max_iter=9, assignment="sequential"
    )
    assert_array_equal(result.labels, [0, 0, 1, 1])
    assert_allclose(result.thresholds, [0.25, 1.0])
    assert_allclose(result.exponents, [1.0, 0.25])
    assert_allclose(result.view_losses, [1.0, 4.0])
    assert_allclose(result.objective, 1.0 + 4.0**0.25)
    # Scatter about the means 5.5 and 3: 101 and 20.
    assert_allclose(result.unexplained, [1 / 101, 4 / 20])
    assert result.n_iter == 1


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_tie_keeps_the_current_label(assignment):
    # The middle point is equally far from both centres whatever its label.
    view = np.array([[-1.0], [-1.0], [0.0], [1.0], [1.0]])
    for label in (0, 1):
        rows = _open([view])
        start = Start(
            centers=(np.array([[-1.0], [1.0]]),),
            labels=np.array([0, 0, label, 1, 1]),
        )
        result = solve_nsmvc(
            rows, start, pace_start=0.5, n_paces=2, max_iter=1, assignment=assignment
        )
        assert result.labels[2] == label


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_perfect_view_does_not_freeze_the_others(assignment):
    # The first view is constant: it is fitted perfectly and must not silence the rest.
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 20)
    useful = 8.0 * truth[:, None] + rng.normal(size=(40, 2))
    rows = _open([np.ones((40, 3)), useful])
    start = start_from_labels(rows, np.arange(40) % 2, 2)
    result = solve_nsmvc(
        rows, start, pace_start=0.5, n_paces=6, max_iter=50, assignment=assignment
    )
    assert_array_equal(result.exponents, [1.0, 1.0])
    assert len(set(result.labels[:20])) == len(set(result.labels[20:])) == 1
    assert result.labels[0] != result.labels[20]


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_duplicate_points_give_zero_loss_and_finite_state(assignment):
    points = np.array([[0.1, 0.2], [0.3, 0.7], [5.0, 1.1]])
    truth = np.repeat([0, 1, 2], 100)
    rows = _open([points[truth], points[truth] * 3, points[truth][:, :1]])
    start = start_from_labels(rows, truth, 3)
    result = solve_nsmvc(
        rows, start, pace_start=0.5, n_paces=6, max_iter=50, assignment=assignment
    )
    assert_array_equal(result.labels, truth)
    assert_array_equal(result.view_losses, [0, 0, 0])
    assert_array_equal(result.exponents, [1, 1, 1])
    assert result.objective == 0


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_perfect_sparse_views_stay_perfect(assignment):
    # One sample per centre: distances cancel to rounding, not to zero, and a small
    # exponent would blow that up.
    rng = np.random.default_rng(0)
    views = [sparse.csr_array(rng.normal(size=(6, width))) for width in (1, 3, 3)]
    rows = _open(views)
    start = start_from_labels(rows, np.arange(6), 6)
    result = solve_nsmvc(
        rows, start, pace_start=0.0, n_paces=3, max_iter=9, assignment=assignment
    )
    assert_array_equal(result.labels, np.arange(6))
    assert result.objective == 0


def test_on_iteration_sees_every_record(blobs):
    rows = _open(blobs[0])
    start = start_from_labels(rows, np.arange(90) % 3, 3)
    seen = []
    result = solve_nsmvc(
        rows,
        start,
        pace_start=0.5,
        n_paces=3,
        max_iter=50,
        assignment="majorize",
        on_iteration=seen.append,
    )
    assert tuple(seen) == result.history
    assert [record.pace for record in seen] == sorted(record.pace for record in seen)
    assert {record.pace for record in seen} == {1, 2, 3}


def _open(views):
    from manyview._rows import open_views
    from manyview._scaling import learn_scales
    from manyview._views import check_views

    checked = check_views(views)
    return open_views(checked, learn_scales(checked, None))


def test_what_rows_leave_in_the_sums_of_a_cluster_is_no_threshold():
    """Clusters of zeros alone fit a view perfectly, however its sums were rounded."""
    views, labels = make_views(363, 120)
    words = [sparse.csr_array(np.where(view > 0.5, view, 0.0)) for view in views]
    model = NSMVC(4, init=labels, assignment="majorize").fit(words)
    assert any(record.view_losses[2] == 0.0 for record in model.history_)
    assert min(record.exponents.min() for record in model.history_) > 0.01
