"""`python -m benchmarks [CASE ...]`: every case in its own process, then one table."""

import json
import os
import subprocess
import sys

from rich.console import Console
from rich.table import Table

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run_here(name):
    """Run one case in this process and print its rows as JSON."""
    from benchmarks import cases, files

    threads, case = (cases.CASES | files.CASES)[name]
    cases.warm_up()
    print(json.dumps([row.as_dict() for row in case(threads)]))


def run_in_child(name, threads):
    env = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--here", name],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return [{"name": f"{name} failed: {done.stderr.strip().splitlines()[-1]}"}]
    return json.loads(done.stdout.strip().splitlines()[-1])


def main(names):
    from benchmarks import cases, files

    known = cases.CASES | files.CASES
    table = Table("case", "threads", "ours", "peer", "ratio", "goal")
    for name in names or known:
        for row in run_in_child(name, known[name][0]):
            if "ratio" not in row:
                table.add_row(row["name"])
                continue
            unit = row["unit"]
            goal = "" if row["goal"] != row["goal"] else f"{row['goal']:g}"
            table.add_row(
                row["name"],
                str(row["threads"]),
                f"{row['ours']:.4g} {unit}",
                f"{row['peer']:.4g} {unit}",
                f"{row['ratio']:.2f}",
                goal,
            )
        Console(stderr=True).print(f"done: {name}")
    Console(width=120).print(table)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments[:1] == ["--here"]:
        run_here(arguments[1])
    else:
        main(arguments)
