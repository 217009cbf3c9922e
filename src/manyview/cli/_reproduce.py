"""``manyview reproduce``: the paper's tables and figures from one command."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manyview.cli import _render
from manyview.cli._options import OUTPUT, Debug, spoken_command
from manyview.exceptions import DatasetError

if TYPE_CHECKING:
    from manyview.bench import BenchData, Outcome, Progress, Protocol, ResultTable, Run

STORE = "runs.sqlite"
REPORT = "report.html"
INTERRUPTED = 130


class Target(StrEnum):
    """What can be asked for."""

    table2 = "table2"
    table3 = "table3"
    table4 = "table4"
    table5 = "table5"
    table6 = "table6"
    table7 = "table7"
    figures = "figures"
    all = "all"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Job:
    """What was asked for, with the data at hand."""

    protocols: list[Protocol]
    datasets: dict[str, BenchData]
    missing: dict[str, str]
    with_tables: bool
    with_figures: bool


def reproduce_command(
    ctx: typer.Context,
    targets: Annotated[
        list[Target] | None,
        typer.Argument(
            help="Tables 2 to 7, the figures, or all (the default).",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="Folder for runs, tables, figures and report. Runs found in it are "
            "not done again.",
            rich_help_panel=OUTPUT,
        ),
    ] = Path("reproduction/results"),
    repeats: Annotated[
        int | None,
        typer.Option(min=1, help="Repeats; the protocol's own number if not said."),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(help='Comma-separated methods, such as "NSMVC,AMGL,KM".'),
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(help='Comma-separated data sets: "texas,msrcv1".')
    ] = None,
    protocol: Annotated[
        list[str] | None,
        typer.Option(
            help="paper, default, quick or a TOML file; may be repeated. If not said: "
            "paper, and default too for all.",
            show_default=False,
        ),
    ] = None,
    add_method: Annotated[
        list[str] | None,
        typer.Option(
            help="A method of your own, [LABEL=]package.module:Class; may be repeated."
        ),
    ] = None,
    add_data: Annotated[
        list[str] | None,
        typer.Option(
            help="A data set of your own: a folder with one file per view and a file "
            "called labels; may be repeated."
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            help="Worker processes, one thread each; all cores if not said.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few repeats, cheap methods: minutes.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try failed runs again.")
    ] = False,
    debug: Debug = False,  # noqa: ARG001 - its callback does the work
) -> None:
    """Compute the paper's tables and figures again, beside the printed numbers.

    Every finished run is kept in the output folder: stop whenever you like, and the
    same command goes on where it stopped.
    """
    names = protocol or _default_protocols(targets, quick=quick)
    job = _prepare(
        [target.value for target in targets or [Target.all]],
        names,
        repeats=repeats,
        methods=_split(methods),
        datasets=_split(datasets),
        add_method=add_method or [],
        add_data=add_data or [],
    )
    _run_and_write(
        job,
        out,
        jobs=jobs,
        retry_failed=retry_failed,
        command=spoken_command(ctx),
    )


def _default_protocols(targets: Sequence[Target] | None, *, quick: bool) -> list[str]:
    if quick:
        return ["quick"]
    everything = not targets or Target.all in targets
    return ["paper", "default"] if everything else ["paper"]


def _split(text: str | None) -> list[str]:
    """Parts between commas; those in parentheses belong to a label."""
    parts = re.split(r",(?![^(]*\))", text or "")
    return [part.strip() for part in parts if part.strip()]


def _prepare(
    targets: Sequence[str],
    names: Sequence[str],
    *,
    repeats: int | None,
    methods: Sequence[str],
    datasets: Sequence[str],
    add_method: Sequence[str],
    add_data: Sequence[str],
) -> _Job:
    from manyview.bench import find_estimator, load_protocol, printed_tables

    numbers = {f"table{t.number}": t.dataset for t in printed_tables().values()}
    tables = [numbers[target] for target in targets if target in numbers]
    with_figures = "figures" in targets or "all" in targets
    protocols = []
    for name in names:
        chosen = load_protocol(name)
        wanted = list(datasets) or (tables if not with_figures else [])
        chosen = chosen.restrict(
            datasets=[*(wanted or chosen.datasets), *add_data], repeats=repeats
        )
        for path in add_method:
            chosen = chosen.with_method(path)
            find_estimator(chosen.methods[-1].estimator)
        protocols.append(chosen.restrict(methods=methods))
    found, missing = _open_datasets(protocols)
    return _Job(
        protocols=protocols,
        datasets=found,
        missing=missing,
        with_tables="all" in targets or bool(tables) or bool(add_data),
        with_figures=with_figures,
    )


def _open_datasets(
    protocols: Sequence[Protocol],
) -> tuple[dict[str, BenchData], dict[str, str]]:
    """Data sets by the name they were asked for, and why others are not at hand."""
    from manyview.bench import describe_data, find_dataset

    found: dict[str, BenchData] = {}
    missing: dict[str, str] = {}
    for name in dict.fromkeys(name for p in protocols for name in p.datasets):
        ref = find_dataset(name)
        try:
            found[name] = describe_data(ref)
        except DatasetError as error:
            # One that cannot be downloaded does not stop the others.
            if ref.kind != "registered":
                raise
            missing[name] = str(error)
            _render.note(f"{name} is left out: {error}")
    if not found:
        msg = "None of the data sets could be loaded. " + " ".join(missing.values())
        raise DatasetError(msg)
    return found, missing


def _datasets_of(job: _Job, protocol: Protocol) -> list[BenchData]:
    return [job.datasets[n] for n in protocol.datasets if n in job.datasets]


def _plan(job: _Job) -> list[Run]:
    from manyview.bench import plan_robustness, plan_tables

    plan: list[Run] = []
    for protocol in job.protocols:
        at_hand = _datasets_of(job, protocol)
        if job.with_tables:
            plan += plan_tables(protocol, at_hand)
        if job.with_figures:
            plan += plan_robustness(protocol, at_hand)
            if not job.with_tables:
                plan += plan_tables(_sensitivity_only(protocol), at_hand)
    return plan


def _sensitivity_only(protocol: Protocol) -> Protocol:
    """The part of a protocol behind the sensitivity figures."""
    tuned = [entry.label for entry in protocol.methods if entry.grid]
    return protocol.restrict(methods=tuned)


def _run_and_write(
    job: _Job, out: Path, *, jobs: int | None, retry_failed: bool, command: str
) -> None:
    from manyview.bench import RunStore, pending_runs, run_plan, usable_cores

    plan = _plan(job)
    n_jobs = jobs or usable_cores()
    with RunStore(out / STORE) as store:
        left = pending_runs(plan, store, retry_failed=retry_failed)
        n_planned = len({run.key for run in plan})
        _render.note(
            f"{n_planned:,} runs planned, {n_planned - len(left):,} already done, "
            f"{len(left):,} to do with {n_jobs} workers."
        )
        try:
            with _run_progress(len(left)) as tell:
                run_plan(
                    plan,
                    store,
                    n_jobs=n_jobs,
                    retry_failed=retry_failed,
                    on_progress=tell,
                )
        except KeyboardInterrupt:
            _render.error(
                f"Stopped. All finished runs are in {out / STORE}; the same command "
                "goes on from there."
            )
            raise typer.Exit(INTERRUPTED) from None
        outcomes = store.outcomes(run.key for run in plan)
    _write_results(job, plan, outcomes, out, command)


def _write_results(
    job: _Job,
    plan: Sequence[Run],
    outcomes: dict[str, Outcome],
    out: Path,
    command: str,
) -> None:
    from manyview.bench._export import runs_to_csv
    from manyview.bench._table_text import write_summary, write_table
    from manyview.bench._tables import build_table
    from manyview.reporting._reproduction import Reproduction, write_reproduction
    from manyview.reporting._reproduction_figures import draw_figures

    tables: list[ResultTable] = []
    if job.with_tables:
        for protocol in job.protocols:
            for data in _datasets_of(job, protocol):
                compare = protocol.name != "default"
                table = build_table(protocol, data, outcomes, compare=compare)
                write_table(table, out / "tables")
                tables.append(table)
        write_summary(tables, out / "summary.md")
    figures = []
    if job.with_figures:
        first = job.protocols[0]
        at_hand = _datasets_of(job, first)
        figures = draw_figures(first, at_hand, outcomes, out / "figures")
    text = runs_to_csv(plan, outcomes)
    (out / "runs.csv").write_text(text, encoding="utf-8", newline="\n")
    failed = [outcome for outcome in outcomes.values() if not outcome.ok]
    report = write_reproduction(
        Reproduction(
            tables=tuple(tables),
            protocols=tuple(job.protocols),
            figures=tuple(figures),
            n_runs=len(outcomes),
            n_failed=len(failed),
            fit_seconds=sum(o.seconds or 0.0 for o in outcomes.values()),
            environments=_environments(outcomes),
            command=command,
            missing=job.missing,
        ),
        out / REPORT,
    )
    _tell(tables, report, failed)


def _environments(outcomes: dict[str, Outcome]) -> tuple[str, ...]:
    found = {o.environment: None for o in outcomes.values() if o.environment}
    return tuple(sorted(found))


def _tell(
    tables: Sequence[ResultTable], report: Path, failed: Sequence[Outcome]
) -> None:
    from manyview.bench._summary import summary_sentences
    from manyview.bench._table_text import is_compared

    for sentence in summary_sentences([t for t in tables if is_compared(t)]):
        _render.line(sentence)
    if failed:
        _render.note(
            f"{len(failed)} runs failed, the first with: {failed[0].error} "
            "The tables say where; --retry-failed tries them again."
        )
    _render.line(f"Report: {report}")


@contextmanager
def _run_progress(total: int) -> Iterator[Callable[[Progress], None]]:
    """A bar with the time left on a terminal, else a line per tenth."""
    start = time.monotonic()
    if not _render.err.is_terminal:
        told = [0]

        def tell_lines(progress: Progress) -> None:
            tenth = 10 * progress.done // progress.total
            if tenth > told[0]:
                told[0] = tenth
                _render.note(_state(progress, time.monotonic() - start))

        yield tell_lines
        return
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    with Bar(
        TextColumn("Running"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[state]}", markup=False),
        console=_render.err,
        transient=True,
    ) as bar:
        task = bar.add_task("", total=total, state="the workers start")

        def tell_bar(progress: Progress) -> None:
            state = _state(progress, time.monotonic() - start)
            run = f"{progress.run.estimator} on {progress.run.dataset}"
            bar.update(task, completed=progress.done, state=f"{state} · {run}")

        yield tell_bar


def _state(progress: Progress, elapsed: float) -> str:
    failed = f", {progress.failed} failed" if progress.failed else ""
    return (
        f"{progress.done:,}/{progress.total:,} runs{failed} · {_clock(elapsed)} gone, "
        f"about {_clock(progress.seconds_left)} left"
    )


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
