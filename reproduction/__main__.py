"""``python -m reproduction``: the paper's tables and figures from one command."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.text import Text

import reproduction.needs  # noqa: F401 - before anything that needs an extra
from manyview.exceptions import DatasetError
from manyview.reporting._page import Table
from reproduction import machines
from reproduction.claims import data_table, deviation_table, iteration_table
from reproduction.data import DataInfo, describe_data
from reproduction.figures import draw_figures
from reproduction.page import write_report
from reproduction.plan import Method, Protocol, find_estimator
from reproduction.protocols import FULL, PAPER, PROTOCOLS
from reproduction.ranks import RANKED_METRICS, Ranking, rank_methods, ranking_table
from reproduction.run import code_version, pending, run_plan
from reproduction.store import Outcome, RunStore
from reproduction.tables import (
    build_cells,
    collect,
    confirm_settings,
    sentences,
    titles,
)
from reproduction.text import write_tables

RUNS = "runs.csv"
REPORT = "report.html"
RESULTS = Path(__file__).parent / "results"
TABLES = {f"table{number}": dataset for dataset, (number, _) in titles().items()}
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    compares_machines = given[:1] == ["machines"]
    parser = machines.parser() if compares_machines else _parser()
    options = parser.parse_intermixed_args(given[compares_machines:])
    command = shlex.join(["python", "-m", "reproduction", *given])
    try:
        if compares_machines:
            machines.run(options)
        else:
            _reproduce(options, command)
    except KeyboardInterrupt:
        _say("Stopped. Finished runs are kept; the same command goes on from there.")
        return INTERRUPTED
    except OSError as error:
        place = error.filename or options.out
        _say(f"error: {place}: {error.strerror or error}. Finished runs are kept.")
        return 1
    except ValueError as error:
        _say(f"error: {error}")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m reproduction",
        description="Compute the paper's tables and figures again, beside the printed "
        "numbers. Finished runs are kept: stop at any time, and the same command goes "
        "on where it stopped.",
    )
    add = parser.add_argument
    add(
        "targets",
        nargs="*",
        metavar="TARGET",
        type=_target,
        default=["all"],
        help=f"{', '.join(TABLES)}, figures, or all (the default); or machines, which "
        "compares processors (machines --help)",
    )
    add("--quick", action="store_true", help="few repeats, cheap methods: a minute")
    add("--out", "-o", type=Path, default=RESULTS, help="folder for runs and results")
    add(
        "--protocol",
        action="append",
        choices=list(PROTOCOLS),
        help=f"may be repeated; by default paper, for all {' and '.join(FULL)}",
    )
    add("--methods", type=_split, help='such as "NSMVC,AMGL,KM"')
    add(
        "--datasets",
        type=_split,
        help="names, or files with several views and the classes in a variable y",
    )
    add("--repeats", type=int, help="instead of the protocol's own number")
    add(
        "--add-method",
        action="append",
        default=[],
        metavar="LABEL=MODULE:CLASS",
        help="a method of your own, with its defaults",
    )
    add("--jobs", "-j", type=int, help="worker processes; all cores by default")
    add(
        "--any-version",
        action="store_true",
        help="use finished runs of other versions of manyview, too",
    )
    return parser


def _target(text: str) -> str:
    if text not in (*TABLES, "figures", "all"):
        msg = f"{text!r} is not one of {', '.join(TABLES)}, figures, all."
        raise argparse.ArgumentTypeError(msg)
    return text


def _split(text: str) -> list[str]:
    """Parts between commas; those in parentheses belong to a label."""
    parts = re.split(r",(?![^(]*\))", text)
    return [part.strip() for part in parts if part.strip()]


def _reproduce(options: argparse.Namespace, command: str) -> None:
    targets = options.targets
    with_figures = bool({"figures", "all"} & set(targets))
    protocols = _protocols(options, targets)
    infos, missing = _open_datasets(protocols)
    entries, noisy = [], []
    for protocol in protocols:
        # The figures alone need no more than the tuned methods.
        methods = [m for m in protocol.methods if m.grid or targets != ["figures"]]
        for source in protocol.datasets:
            if source in infos:
                shown = replace(protocol, methods=tuple(methods))
                entries += shown.entries(infos[source])
                noisy += protocol.noise_entries(infos[source]) if with_figures else []

    plan = list(dict.fromkeys(entry.run for entry in [*entries, *noisy]))
    version = None if options.any_version else code_version()
    store = RunStore(options.out / RUNS, version)
    if store.n_damaged:
        _say(f"{store.n_damaged} lines of {store.path} are damaged and not used.")
    n_done = len(plan) - len(pending(plan, store))
    _say(f"{len(plan):,} runs planned, {n_done:,} of them already done.")
    run_plan(plan, store, options.jobs)
    confirmed = confirm_settings(entries, store.outcomes)
    run_plan([entry.run for entry in confirmed], store, options.jobs)
    entries += confirmed
    plan = list(dict.fromkeys(entry.run for entry in [*entries, *noisy]))

    results = collect(entries, store.outcomes)
    cells = build_cells(results)
    rankings = [
        ranking
        for protocol in protocols
        if protocol.ranked
        for metric in RANKED_METRICS
        if (ranking := rank_methods(cells, protocol.name, metric))
    ]
    sheets = _sheets(results, cells, list(infos.values()), rankings)
    write_tables(cells, options.out, sheets)
    pictures = []
    if with_figures:
        first = results[results["protocol"] == protocols[0].name]
        at_hand = [infos[s] for s in protocols[0].datasets if s in infos]
        folder = options.out / "figures"
        noise = collect(noisy, store.outcomes)
        pictures = draw_figures(first, noise, at_hand, folder, cells, rankings)
    outcomes = [store.outcomes[run] for run in plan]
    write_report(
        options.out / REPORT,
        cells=cells,
        protocols=protocols,
        sheets=list(sheets.values()),
        pictures=pictures,
        outcomes=outcomes,
        missing=missing,
        command=command,
    )
    _tell(cells, outcomes, options.out / REPORT)


def _sheets(
    results: pd.DataFrame,
    cells: pd.DataFrame,
    infos: Sequence[DataInfo],
    rankings: Sequence[Ranking],
) -> dict[str, Table]:
    """File name -> table of what is not one protocol on one data set."""
    published = results["protocol"] == PAPER.name
    sheets = {
        "table1": data_table(infos),
        "iterations": iteration_table(results[published]),
        "deviations": deviation_table(cells[cells["protocol"] == PAPER.name]),
        **{f"ranks-{r.metric}": ranking_table(r) for r in rankings},
    }
    return {name: sheet for name, sheet in sheets.items() if sheet.rows}


def _protocols(options: argparse.Namespace, targets: Sequence[str]) -> list[Protocol]:
    """The protocols asked for, with the methods, data sets and repeats asked for."""
    full = FULL if "all" in targets else FULL[:1]
    names = options.protocol or (["quick"] if options.quick else full)
    whole = {"all", "figures"} & set(targets)
    chosen = options.datasets or ([] if whole else [TABLES[t] for t in targets])
    added = []
    for text in options.add_method:
        label, _, path = text.rpartition("=")
        find_estimator(path)
        added.append(Method(label or path.rpartition(":")[2], path))
    protocols = []
    for name in names:
        protocol = PROTOCOLS[name]
        methods = protocol.methods
        if options.repeats:
            methods = tuple(replace(m, repeats=None, confirm=0) for m in methods)
        protocol = replace(
            protocol,
            methods=(*methods, *added),
            datasets=tuple(chosen) or protocol.datasets,
            repeats=options.repeats or protocol.repeats,
        )
        protocols.append(_with_methods(protocol, options.methods))
    return protocols


def _with_methods(protocol: Protocol, labels: Sequence[str] | None) -> Protocol:
    """The protocol with some of its methods, in its own order."""
    if labels is None:
        return protocol
    known = [method.label for method in protocol.methods]
    for label in labels:
        if label not in known:
            msg = (
                f"The protocol {protocol.name!r} has no method {label!r}. "
                f"Known: {', '.join(known)}."
            )
            raise DatasetError(msg)
    methods = tuple(m for m in protocol.methods if m.label in labels)
    return replace(protocol, methods=methods)


def _open_datasets(
    protocols: Sequence[Protocol],
) -> tuple[dict[str, DataInfo], dict[str, str]]:
    """Data sets at hand, and why others are not: one does not stop the others."""
    infos: dict[str, DataInfo] = {}
    missing: dict[str, str] = {}
    for source in dict.fromkeys(s for p in protocols for s in p.datasets):
        try:
            infos[source] = describe_data(source)
        except DatasetError as error:
            missing[source] = str(error)
            _say(f"{source} is left out: {error}")
    if not infos:
        msg = "None of the data sets could be loaded."
        raise DatasetError(msg)
    return infos, missing


def _tell(cells: pd.DataFrame, outcomes: Sequence[Outcome], report: Path) -> None:
    out = Console(highlight=False)
    for sentence in sentences(cells):
        out.print(Text(sentence), soft_wrap=True)
    errors = [outcome.error for outcome in outcomes if outcome.error]
    if errors:
        _say(
            f"{len(errors)} runs failed, the first with: {errors[0]} The tables say "
            "where; the same command tries them again."
        )
    out.print(Text(f"Report: {report}"), soft_wrap=True)


def _say(text: str) -> None:
    """Something about the run, on stderr."""
    Console(stderr=True, highlight=False).print(Text(text), soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
