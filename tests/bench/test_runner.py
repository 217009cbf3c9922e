import multiprocessing
from dataclasses import replace

import pytest

from manyview.bench import (
    MethodEntry,
    RunStore,
    pending_runs,
    plan_tables,
    run_plan,
    seed_for,
)
from tests.bench.conftest import protocol_of, toy

BAD = [repeat for repeat in range(4) if seed_for("pairs", repeat) % 4]


@pytest.fixture
def store(tmp_path):
    with RunStore(tmp_path / "runs.sqlite") as opened:
        yield opened


def test_some_seeds_of_the_toy_data_fail():
    # The tests of failures below rely on it.
    assert 0 < len(BAD) < 4


def test_run_plan_does_only_what_is_missing(data, store, tmp_path):
    log = tmp_path / "log"
    plan = plan_tables(protocol_of(toy("Steady", log=str(log))), [data])
    run_plan(plan[:1], store)
    assert log.read_text().split() == [str(plan[0].seed)]
    run_plan(plan + plan, store, n_jobs=2)
    run_plan(plan, store)
    assert sorted(log.read_text().split()) == sorted(str(run.seed) for run in plan)
    assert store.outcomes().keys() == {run.key for run in plan}
    assert not pending_runs(plan, store)


def test_run_plan_does_a_changed_version_again(data, store):
    plan = plan_tables(protocol_of(toy("Steady"), repeats=1), [data])
    run_plan(plan, store)
    changed = [replace(plan[0], version="0.2.0+other")]
    assert pending_runs(changed, store) == changed


def test_run_plan_scores_are_right(data, store):
    plan = plan_tables(protocol_of(toy("Steady", wrong=0.0), repeats=1), [data])
    run_plan(plan, store)
    (outcome,) = store.outcomes().values()
    assert outcome.ok
    assert (outcome.acc, outcome.purity, outcome.nmi, outcome.ari) == (1, 1, 1, 1)


def test_failed_runs_are_rows_and_the_rest_goes_on(data, store):
    plan = plan_tables(protocol_of(toy("Failing"), toy("Steady")), [data])
    run_plan(plan, store, n_jobs=2)
    outcomes = store.outcomes()
    failed = [run for run in plan if not outcomes[run.key].ok]
    assert [run.repeat for run in failed] == BAD
    error = outcomes[failed[0].key].error
    assert error.startswith(
        f"RuntimeError: seed {failed[0].seed} is not divisible by four (toys.py:"
    )
    assert pending_runs(plan, store) == []
    assert len(pending_runs(plan, store, retry_failed=True)) == len(BAD)


def test_a_dying_worker_costs_one_run(data, store):
    plan = plan_tables(protocol_of(toy("Dying"), toy("Steady")), [data])
    seen = []
    run_plan(plan, store, n_jobs=2, on_progress=seen.append)
    outcomes = store.outcomes()
    dead = [run for run in plan if not outcomes[run.key].ok]
    assert [run.repeat for run in dead] == BAD
    assert "exit code -9" in outcomes[dead[0].key].error
    assert [p.done for p in seen] == list(range(1, 9))
    assert (seen[-1].total, seen[-1].failed) == (8, len(BAD))
    assert seen[-1].seconds_left == 0


def test_workers_use_one_thread(data, store):
    run_plan(plan_tables(protocol_of(toy("Threads"), repeats=1), [data]), store)
    (outcome,) = store.outcomes().values()
    assert outcome.n_iter == 1


def test_unknown_parameter_is_a_failed_row(data, store):
    entry = MethodEntry(label="NSMVC", estimator="NSMVC", params={"colour": "red"})
    run_plan(plan_tables(protocol_of(entry, repeats=1), [data]), store)
    (outcome,) = store.outcomes().values()
    assert "colour" in outcome.error


def test_interrupt_keeps_finished_runs_and_ends_the_workers(data, store):
    plan = plan_tables(protocol_of(toy("Steady")), [data])

    def interrupt(progress):
        if progress.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_plan(plan, store, n_jobs=2, on_progress=interrupt)
    assert multiprocessing.active_children() == []
    assert store.count() == 2
    run_plan(plan, store)
    assert store.count() == 4
