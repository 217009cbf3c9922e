"""``python -m reproduction machines``: the same seeds on other processors.

OpenBLAS has kernels for several processors, and ``OPENBLAS_CORETYPE`` chooses among
them. Sums differ in their last bits then. A method whose scores move amplifies that.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from manyview.exceptions import DatasetError
from manyview.reporting._page import Column, Table, write_page
from reproduction.data import describe_data
from reproduction.plan import Method, Protocol
from reproduction.protocols import PAPER
from reproduction.run import code_version, run_plan
from reproduction.store import RunStore
from reproduction.tables import (
    METRIC_TITLES,
    METRICS,
    SMALLEST_DIFFERENCE,
    collect,
    title_of,
)
from reproduction.text import marked_labels, sheet_to_markdown

CORE_TYPES = ("Haswell", "Nehalem")
DATASETS = ("msrcv1", "texas")
REPEATS = 3


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    options = argparse.ArgumentParser(
        prog="python -m reproduction machines",
        description="Run every method as published with the same seeds under several "
        "OpenBLAS core types, and tell which scores move.",
    )
    add = options.add_argument
    add("--cores", nargs="+", default=CORE_TYPES, help="values of OPENBLAS_CORETYPE")
    add("--datasets", nargs="+", default=DATASETS)
    add("--repeats", type=int, default=REPEATS)
    add("--out", "-o", type=Path, default=Path(__file__).parent / "results")
    add("--store", type=Path, help=argparse.SUPPRESS)
    return options


def run(options: argparse.Namespace) -> None:
    """Do the runs, write the table and print it; with `store`, the runs alone."""
    if options.store is not None:
        _run_here(options.datasets, options.repeats, options.store)
        return
    moved = _compare(options.cores, options.datasets, options.repeats)
    text = sheet_to_markdown(movement_table(moved, options.cores))
    path = options.out / "tables" / "machines.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_page(path, text)
    sys.stdout.write(text)


def cut_down(repeats: int) -> Protocol:
    """The protocol as published, without the grid."""

    def fixed(method: Method) -> Method:
        return replace(method, repeats=None, confirm=0)

    methods = tuple(fixed(m) for m in PAPER.methods if not m.grid)
    return replace(PAPER, methods=methods, repeats=repeats)


def _run_here(datasets: Sequence[str], repeats: int, path: Path) -> None:
    """The runs of this process, with the kernels that its environment chose."""
    plan = [
        entry.run
        for dataset in datasets
        for entry in cut_down(repeats).entries(describe_data(dataset))
    ]
    run_plan(plan, RunStore(path, code_version()), n_jobs=1)


def _compare(
    cores: Sequence[str], datasets: Sequence[str], repeats: int
) -> pd.DataFrame:
    """Results under every core type, in a column ``core``."""
    protocol, parts = cut_down(repeats), []
    entries = [e for d in datasets for e in protocol.entries(describe_data(d))]
    with tempfile.TemporaryDirectory() as folder:
        for core in cores:
            path = Path(folder) / f"{core}.csv"
            command = [sys.executable, "-m", "reproduction", "machines"]
            command += ["--store", str(path), "--repeats", str(repeats)]
            subprocess.run(
                [*command, "--datasets", *datasets],
                env={**os.environ, "OPENBLAS_CORETYPE": core},
                cwd=Path(__file__).parents[1],
                check=True,
            )
            outcomes = RunStore(path, code_version()).outcomes
            parts.append(collect(entries, outcomes).assign(core=core))
    results = pd.concat(parts, ignore_index=True)
    check_kernels(results["environment"], cores)
    return results


def check_kernels(environments: pd.Series[str], cores: Sequence[str]) -> None:
    """Refuse a comparison of a machine with itself."""
    if environments.nunique() < len(cores):
        msg = (
            f"OPENBLAS_CORETYPE={' and '.join(cores)} chose the same kernels here. "
            "Name others with --cores, or use a NumPy that is built with OpenBLAS."
        )
        raise DatasetError(msg)


def movement_table(results: pd.DataFrame, cores: Sequence[str]) -> Table:
    """Per data set and method: runs whose scores differ between core types.

    results : as of `collect`, with a column ``core``.
    """
    rows = []
    for (dataset, _), group in results.groupby(["dataset", "label"], sort=False):
        scores = group.groupby("repeat")[METRICS]
        spans = scores.max() - scores.min()
        means = group.groupby("core")[METRICS].mean()
        moved = (spans > SMALLEST_DIFFERENCE).any(axis="columns")
        rows.append(
            [
                title_of(str(dataset)),
                marked_labels(group).iloc[0],
                len(spans),
                int(moved.sum()),
                *spans.max(),
                *(means.max() - means.min()),
            ]
        )
    titles = list(METRIC_TITLES.values())
    return Table(
        caption=(
            f"Runs whose scores move between the OpenBLAS core types "
            f"{' and '.join(cores)}: largest change of a run, and change of the mean, "
            "in points. ‡ A reconstruction."
        ),
        columns=(
            Column(name="Data set"),
            Column(name="Method"),
            Column(name="Runs", numeric=True),
            Column(name="Moved", numeric=True),
            *(Column(name=f"{t}: run", numeric=True, format=".2f") for t in titles),
            *(Column(name=f"{t}: mean", numeric=True, format=".2f") for t in titles),
        ),
        rows=rows,
    )
