"""A session that the test of `kill -9` starts, kills, and starts again."""

import sys
from pathlib import Path

from reproduction.data import describe_data
from reproduction.run import code_version, run_plan
from reproduction.store import RunStore
from tests.reproduction.conftest import protocol_of, runs_of, toy

KILL_PROTOCOL = protocol_of(
    toy("Steady", "good", wrong=0.1, delay=0.05),
    toy("Steady", "bad", wrong=0.4, delay=0.02),
    repeats=90,
)

if __name__ == "__main__":
    plan = runs_of(KILL_PROTOCOL, describe_data(sys.argv[1]))
    run_plan(plan, RunStore(Path(sys.argv[2]), code_version()), n_jobs=2)
