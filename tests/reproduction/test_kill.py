"""A comparison that is killed again and again ends as if nothing had happened."""

import contextlib
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reproduction.store import RunStore
from reproduction.tables import build_cells, collect
from reproduction.text import to_csv
from tests.reproduction.conftest import runs_of
from tests.reproduction.killed_session import KILL_PROTOCOL

ROOT = Path(__file__).resolve().parents[2]


def start_session(source: str, store: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.reproduction.killed_session", source, store],
        cwd=ROOT,
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )


def count_lines(store: Path) -> int:
    return store.read_bytes().count(b"\n") if store.exists() else 0


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
def test_killing_a_session_twenty_times_changes_nothing(source, data, tmp_path):
    chance = random.Random(5)
    disturbed, calm = tmp_path / "disturbed.csv", tmp_path / "calm.csv"
    plan = runs_of(KILL_PROTOCOL, data)
    kills_during_runs = 0
    for _ in range(20):
        before = count_lines(disturbed)
        process = start_session(source, disturbed)
        # Mostly in the middle of the runs, sometimes while everything starts up.
        more_lines = chance.choice([0, 1, 2, 3, 4])
        deadline = time.monotonic() + 120
        while count_lines(disturbed) < before + more_lines and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(chance.uniform(0.0, 0.05))
        time.sleep(chance.uniform(0.0, 0.1))
        # Only the parent: its workers have to notice by themselves.
        process.kill()
        process.wait()
        kills_during_runs += before < count_lines(disturbed) <= len(plan)
        deadline = time.monotonic() + 20
        while not session_is_gone(process.pid):
            assert time.monotonic() < deadline, "workers outlive their parent"
            time.sleep(0.1)
    assert kills_during_runs >= 10
    assert start_session(source, disturbed).wait() == 0
    assert start_session(source, calm).wait() == 0

    tables = []
    for path in (disturbed, calm):
        store = RunStore(path, None)
        assert store.outcomes.keys() == set(plan)
        assert store.n_damaged == 0
        assert count_lines(path) == len(plan) + 1, "a finished run was repeated"
        cells = build_cells(collect(KILL_PROTOCOL.entries(data), store.outcomes))
        tables.append(to_csv("pairs", cells))
    assert tables[0] == tables[1]
