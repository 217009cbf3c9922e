import sqlite3
from dataclasses import replace

import pytest

from manyview.bench import Outcome, RunStore, plan_tables
from manyview.exceptions import DatasetError
from tests.bench.conftest import protocol_of, toy

OK = Outcome(status="ok", acc=0.5, purity=0.75, nmi=0.25, ari=-0.125, seconds=2.0)
FAILED = Outcome(status="failed", error="it broke")


@pytest.fixture
def runs(data):
    return plan_tables(protocol_of(toy("Steady")), [data])


def test_store_returns_what_was_added_after_reopening(tmp_path, runs):
    with RunStore(tmp_path / "deep" / "runs.sqlite") as store:
        store.add(runs[0], OK)
        store.add(runs[1], FAILED)
    with RunStore(tmp_path / "deep" / "runs.sqlite") as store:
        assert store.outcomes() == {runs[0].key: OK, runs[1].key: FAILED}
        assert store.outcomes([runs[1].key]) == {runs[1].key: FAILED}
        store.check()


def test_store_keeps_the_first_success(tmp_path, runs):
    with RunStore(tmp_path / "runs.sqlite") as store:
        store.add(runs[0], OK)
        store.add(runs[0], replace(OK, seconds=9.0))
        store.add(runs[0], FAILED)
        assert store.count() == 1
        assert store.outcomes()[runs[0].key].seconds == 2.0


def test_store_keeps_a_failure_beside_the_later_success(tmp_path, runs):
    with RunStore(tmp_path / "runs.sqlite") as store:
        store.add(runs[0], FAILED)
        store.add(runs[0], OK)
        assert store.count() == 2
        assert store.outcomes() == {runs[0].key: OK}
        store.check()


def test_store_writes_a_tidy_row(tmp_path, runs):
    with RunStore(tmp_path / "runs.sqlite") as store:
        store.add(runs[2], OK)
    db = sqlite3.connect(tmp_path / "runs.sqlite")
    row = db.execute(
        "SELECT dataset, estimator, params, repeat, seed, acc, status FROM runs"
    ).fetchone()
    db.close()
    assert row == (
        "pairs",
        "tests.bench.toys:Steady",
        "{}",
        2,
        runs[2].seed,
        0.5,
        "ok",
    )


def test_check_finds_doubled_successes(tmp_path, runs):
    with RunStore(tmp_path / "runs.sqlite") as store:
        store.add(runs[0], OK)
        store._db.execute(
            "INSERT INTO runs (key, attempt, status) SELECT key, 2, status FROM runs"
        )
        with pytest.raises(DatasetError, match="1 doubled runs"):
            store.check()


def test_store_refuses_a_file_that_is_none(tmp_path):
    path = tmp_path / "runs.sqlite"
    path.write_text("these are not the runs you are looking for" * 50)
    with pytest.raises(DatasetError, match="cannot be used as a store of runs"):
        RunStore(path)


def test_store_refuses_another_format(tmp_path):
    path = tmp_path / "runs.sqlite"
    RunStore(path).close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version=7")
    db.close()
    with pytest.raises(DatasetError, match="its format is 7"):
        RunStore(path)
