"""A comparison that is killed again and again ends as if nothing had happened."""

import contextlib
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from manyview.bench import RunStore, build_table, plan_tables
from manyview.bench._table_text import to_csv
from tests.bench.killed_session import kill_protocol

ROOT = Path(__file__).resolve().parents[2]


def start_session(folder: Path, store: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.bench.killed_session", folder, store],
        cwd=ROOT,
        start_new_session=True,
    )


def count_rows(store: Path) -> int:
    with contextlib.closing(sqlite3.connect(store, timeout=30)) as db:
        try:
            return int(db.execute("SELECT COUNT(*) FROM runs").fetchone()[0])
        except sqlite3.OperationalError:
            return 0


def session_is_gone(session: int) -> bool:
    """Whether no process of the session is left but zombies of other parents."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                return False
    return True


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
def test_killing_a_session_twenty_times_changes_nothing(folder, data, tmp_path):
    chance = random.Random(5)
    disturbed, calm = tmp_path / "disturbed.sqlite", tmp_path / "calm.sqlite"
    plan = plan_tables(kill_protocol(), [data])
    kills_during_runs = 0
    for _ in range(20):
        before = count_rows(disturbed)
        process = start_session(folder, disturbed)
        # Mostly in the middle of the runs, sometimes while everything starts up.
        more_rows = chance.choice([0, 1, 2, 3, 4])
        deadline = time.monotonic() + 60
        while count_rows(disturbed) < before + more_rows and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(chance.uniform(0.0, 0.05))
        time.sleep(chance.uniform(0.0, 0.1))
        # Only the parent: its workers have to notice by themselves.
        process.kill()
        process.wait()
        kills_during_runs += before < count_rows(disturbed) < len(plan)
        deadline = time.monotonic() + 20
        while not session_is_gone(process.pid):
            assert time.monotonic() < deadline, "workers outlive their parent"
            time.sleep(0.1)
    assert kills_during_runs >= 10
    assert start_session(folder, disturbed).wait() == 0
    assert start_session(folder, calm).wait() == 0

    tables = []
    for path in (disturbed, calm):
        with RunStore(path) as store:
            store.check()
            assert store.count() == len(plan)
            outcomes = store.outcomes()
        assert outcomes.keys() == {run.key for run in plan}
        tables.append(to_csv(build_table(kill_protocol(), data, outcomes)))
    assert tables[0] == tables[1]
