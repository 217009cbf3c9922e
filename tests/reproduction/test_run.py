import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import manyview
import manyview.cluster
from manyview.exceptions import DatasetError
from reproduction.plan import VIEW_LABELS, Method, seed_for
from reproduction.run import code_version, fit_files, pending, run_plan
from reproduction.store import RunStore
from tests.reproduction.conftest import protocol_of, runs_of, toy

BAD = [repeat for repeat in range(4) if seed_for("pairs", repeat) % 4]


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "runs.csv", code_version())


def test_some_seeds_of_the_toy_data_fail():
    # The tests of failures below rely on it.
    assert 0 < len(BAD) < 4


def test_run_plan_does_only_what_is_missing(data, store, tmp_path):
    log = tmp_path / "log"
    plan = runs_of(protocol_of(toy("Steady", log=str(log))), data)
    run_plan(plan[:1], store, n_jobs=1)
    assert log.read_text().split() == [str(plan[0].seed)]
    run_plan(plan + plan, store, n_jobs=2)
    run_plan(plan, RunStore(store.path, code_version()), n_jobs=1)
    assert sorted(log.read_text().split()) == sorted(str(run.seed) for run in plan)
    assert store.outcomes.keys() == set(plan)
    assert not pending(plan, store)


def test_outcome_has_scores_and_what_they_were_computed_with(data, store):
    (run,) = runs_of(protocol_of(toy("Steady", wrong=0.0), repeats=1), data)
    run_plan([run], store, n_jobs=1)
    outcome = store.outcomes[run]
    assert (outcome.acc, outcome.purity, outcome.nmi, outcome.ari) == (1, 1, 1, 1)
    assert outcome.version == code_version()
    facts = dict(fact.split("=", 1) for fact in outcome.environment.split("; "))
    assert set(facts) == {
        *("python", "numpy", "scipy", "scikit-learn", "numba", "blas", "system", "cpu")
    }
    assert all(facts.values())


def test_noise_reaches_the_fit(data, store):
    (run,) = runs_of(protocol_of(toy("Steady", wrong=0.0), repeats=1), data)
    noisy = replace(run, noise="left:1")
    run_plan([noisy], store, n_jobs=1)
    assert store.outcomes[noisy].acc < 0.7


def test_failed_runs_are_lines_and_are_tried_again(data, store):
    plan = runs_of(protocol_of(toy("Failing"), toy("Steady")), data)
    run_plan(plan, store, n_jobs=2)
    failed = [run for run in plan if store.outcomes[run].error]
    assert [run.repeat for run in failed] == BAD
    assert store.outcomes[failed[0]].error.startswith("RuntimeError: seed")
    assert pending(plan, RunStore(store.path, code_version())) == failed


def test_a_dying_worker_is_one_sentence_and_finished_runs_stay(data, store):
    first = runs_of(protocol_of(toy("Steady")), data)
    run_plan(first, store, n_jobs=2)
    plan = first + runs_of(protocol_of(toy("Dying")), data)
    with pytest.raises(DatasetError, match="A worker process died"):
        run_plan(plan, store, n_jobs=2)
    assert RunStore(store.path, code_version()).outcomes.keys() == set(first)


def test_runs_go_to_worker_processes(data, store):
    plan = runs_of(protocol_of(toy("Processes", delay=0.2), repeats=8), data)
    run_plan(plan, store, n_jobs=2)
    processes = {outcome.n_iter for outcome in store.outcomes.values()}
    assert len(processes) == 2
    assert os.getpid() not in processes


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_runs_use_one_thread(data, store, n_jobs):
    plan = runs_of(protocol_of(toy("Threads"), repeats=2), data)
    run_plan(plan, store, n_jobs=n_jobs)
    assert {outcome.n_iter for outcome in store.outcomes.values()} == {1}


def test_unknown_parameter_is_a_failed_line(data, store):
    method = Method("NSMVC", "NSMVC", {"colour": "red"})
    run_plan(runs_of(protocol_of(method, repeats=1), data), store, n_jobs=1)
    (outcome,) = store.outcomes.values()
    assert "colour" in outcome.error


def test_interrupt_keeps_finished_runs(data, store, monkeypatch):
    plan = runs_of(protocol_of(toy("Steady")), data)
    add = RunStore.add

    def add_two(self, run, outcome):
        if len(self.outcomes) == 2:
            raise KeyboardInterrupt
        add(self, run, outcome)

    monkeypatch.setattr(RunStore, "add", add_two)
    with pytest.raises(KeyboardInterrupt):
        run_plan(plan, store, n_jobs=2)
    monkeypatch.undo()
    again = RunStore(store.path, code_version())
    assert len(again.outcomes) == 2
    run_plan(plan, again, n_jobs=2)
    assert again.outcomes.keys() == set(plan)


def test_scores_of_views_are_averaged(data, store):
    method = toy("Views", wrong=0.0)
    (run,) = runs_of(protocol_of(replace(method, scored=VIEW_LABELS), repeats=1), data)
    whole = replace(run, scored="labels_")
    run_plan([run, whole], store, n_jobs=1)
    assert store.outcomes[whole].acc == 1.0
    # One view is right, the other has everybody in one of two equal classes.
    assert store.outcomes[run].acc == 0.75
    assert store.outcomes[run].nmi == 0.5


def test_iterations_of_the_first_pace_are_kept(data, store):
    method = Method("NSMVC", "NSMVC", {"n_init": 1, "n_paces": 3})
    (run,) = runs_of(protocol_of(method, repeats=1), data)
    run_plan([run], store, n_jobs=1)
    outcome = store.outcomes[run]
    assert 1 <= outcome.n_iter_first < outcome.n_iter


@pytest.mark.parametrize("name", manyview.cluster.__all__)
def test_a_fit_passes_only_through_the_files_that_make_runs_stale(name, blobs):
    package = Path(manyview.__file__).parent
    visited = set()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(str(package)):
            visited.add(Path(frame.f_code.co_filename))

    model = getattr(manyview.cluster, name)(n_clusters=3, random_state=0)
    sys.setprofile(note)
    try:
        model.fit(blobs[0])
    finally:
        sys.setprofile(None)
    assert visited
    assert visited <= set(fit_files(package))


def test_words_and_pages_leave_runs_alone():
    package = Path(manyview.__file__).parent
    counted = {path.relative_to(package).as_posix() for path in fit_files(package)}
    assert {
        "_rows/_open.py",
        "_scaling.py",
        "cluster/_nsmvc.py",
        "_numerics/_assign.py",
    } < (counted)
    outside = {path.partition("/")[0] for path in counted}
    assert outside.isdisjoint({"cli", "reporting", "plotting", "datasets", "metrics"})
