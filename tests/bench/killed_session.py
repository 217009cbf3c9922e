"""A session that the test of `kill -9` starts, kills, and starts again."""

import sys
from pathlib import Path

from manyview.bench import RunStore, describe_data, find_dataset, plan_tables, run_plan
from tests.bench.conftest import protocol_of, toy


def main(folder: str, store_path: str) -> None:
    protocol = kill_protocol()
    data = describe_data(find_dataset(folder))
    with RunStore(Path(store_path)) as store:
        run_plan(plan_tables(protocol, [data]), store, n_jobs=2)


def kill_protocol():
    return protocol_of(
        toy("Steady", "good", wrong=0.1, delay=0.05),
        toy("Steady", "bad", wrong=0.4, delay=0.02),
        toy("Failing", delay=0.02),
        repeats=60,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
