import os
from dataclasses import replace

import pytest

from manyview.exceptions import DatasetError
from reproduction.plan import Method, seed_for
from reproduction.run import code_version, pending, run_plan
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
