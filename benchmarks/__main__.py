"""`python -m benchmarks [CASE ...]`: every case in its own process, then one table."""

import json
import sys
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from benchmarks.child import ChildError, run_in_child


def known_cases():
    from benchmarks import cases, files

    return cases.CASES | files.CASES


def run_here(name):
    """Run one case in this process and print its rows as JSON."""
    from benchmarks.cases import warm_up

    _, case = known_cases()[name]
    warm_up()
    print(json.dumps([asdict(row) for row in case()]))


def main(names):
    known = known_cases()
    table = Table("case", "threads", "ours", "peer", "ratio", "goal")
    for name in names or known:
        threads = known[name][0]
        try:
            rows = run_in_child("benchmarks", name, threads=threads)
        except ChildError as error:
            table.add_row(f"{name} failed: {error}")
            continue
        for row in rows:
            unit = row["unit"]
            table.add_row(
                row["name"],
                str(threads),
                f"{row['ours']:.4g} {unit}",
                f"{row['peer']:.4g} {unit}",
                f"{row['ratio']:.2f}",
                "" if row["goal"] is None else f"{row['goal']:g}",
            )
        Console(stderr=True).print(f"done: {name}")
    Console(width=120).print(table)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        run_here(sys.argv[2])
    else:
        main(sys.argv[1:])
