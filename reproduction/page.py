"""The page that holds a reproduction against the paper."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from manyview.reporting._page import Column, Table, render_page, write_page
from reproduction.figures import Picture
from reproduction.plan import LABELS, Method, Protocol
from reproduction.protocols import LIKE
from reproduction.store import Outcome
from reproduction.tables import METRIC_TITLES, lines_of, summarise, title_of
from reproduction.text import (
    interval,
    marks,
    rows_of,
    setting,
    signed,
    split,
    table_caption,
    table_notes,
)


def write_report(
    path: Path,
    *,
    cells: pd.DataFrame,
    protocols: Sequence[Protocol],
    sheets: Sequence[Table] = (),
    pictures: Sequence[Picture],
    outcomes: Sequence[Outcome],
    missing: dict[str, str],
    command: str,
) -> None:
    """Write the page: one file that opens from disk.

    sheets : further tables. missing : data set -> why it could not be loaded.
    """
    summary = summarise(cells)
    ours = summary["label"].str.startswith("NSMVC")
    page = render_page(
        "page.html",
        templates=Path(__file__).parent,
        tiles=_tiles(summary[ours], outcomes),
        words=_verdicts(summary[ours], cells),
        others=_verdicts(summary[~ours], cells),
        default_words=_default_words(cells),
        gaps=[_gap_table(label, cells) for label in summary["label"][ours]],
        method_table=_method_table(summary),
        sheets=sheets,
        groups=[_group(protocol, cells) for protocol in protocols],
        timings=[_timing_table(protocol, cells) for protocol in protocols],
        settings=[_settings_table(protocol) for protocol in protocols],
        environments=_environments(outcomes),
        plots=[
            {"title": p.title, "caption": p.caption, "source": _data_uri(p.path)}
            for p in pictures
        ],
        missing=missing,
        command=command,
        signed=signed,
        interval=interval,
        marks=marks,
        setting=setting,
    )
    write_page(path, page)


def _tiles(ours: pd.DataFrame, outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """Value, label and remark of each."""
    n_failed = sum(bool(outcome.error) for outcome in outcomes)
    hours = sum(outcome.seconds or 0.0 for outcome in outcomes) / 3600
    return [
        *(
            (
                f"{s.meets} / {s.cells}",
                f"{s.label}: cells at or above print",
                f"{s.below} significantly below",
            )
            for s in lines_of(ours)
        ),
        (f"{len(outcomes):,}", "runs", f"{n_failed} failed"),
        (f"{hours:.2f} h", "spent fitting", "summed over one-thread workers"),
    ]


def _verdicts(summary: pd.DataFrame, cells: pd.DataFrame) -> list[dict[str, Any]]:
    """Every method against print, in a sentence, with its largest gaps."""
    found = []
    for s in lines_of(summary):
        how = " (tuned with labels, as in the paper)" if s.tuned else ""
        below = _cells_of(s.label, cells).query("verdict == 'below' and not meets")
        found.append(
            {
                "label": s.label + marks(s),
                "sentence": (
                    f"reaches the printed mean in {s.meets} of {s.cells} cells{how} "
                    f"and lies within a printed standard deviation in {s.within_std}. "
                    f"By t-test {s.above} cells lie above print, {s.equal} cannot be "
                    f"told from it and {s.below} lie below ({s.differs_holm} differ "
                    f"after Holm's correction over the {s.cells}); the mean difference "
                    f"is {s.mean_difference:+.1f} points."
                ),
                "short": [
                    f"{title_of(c.dataset)} {METRIC_TITLES[c.metric]}: {c.mean:.2f} "
                    f"against {c.printed_mean:.2f} printed ({c.difference:+.2f}, "
                    f"p = {c.p_value:.2g})"
                    for c in lines_of(below.nsmallest(3, "difference"))
                ],
            }
        )
    return found


def _cells_of(label: str, cells: pd.DataFrame) -> pd.DataFrame:
    """Those of a line of the summary that have a printed counterpart."""
    labels = cells["label"]
    own = labels.str.fullmatch(r"KM\(\d+\)") if label == "KM(v)" else labels == label
    return cells[own & cells["printed_mean"].notna()]


def _default_words(cells: pd.DataFrame) -> str:
    """How NSMVC does against the others when nothing is tuned."""
    plain = cells[cells["protocol"] == LIKE.name]
    if plain.empty:
        return ""
    found = []
    for label in ("GraphNSMVC", "NSMVC"):
        best = plain[plain["bold"] & (plain["label"] == label)]["metric"]
        counts = [f"{(best == m).sum()} in {t}" for m, t in METRIC_TITLES.items()]
        found.append(f"{label} {', '.join(counts)}")
    return (
        "Like for like, best or not told from the best on this many of "
        f"{plain['dataset'].nunique()} data sets: {'; '.join(found)}."
    )


def _number(name: str, spec: str = "", hint: str = "") -> Column:
    return Column(name=name, numeric=True, format=spec, hint=hint)


def _gap_table(label: str, cells: pd.DataFrame) -> Table:
    """All cells of one method beside print, with the t-test."""
    return Table(
        caption=f"{label}, cell by cell",
        columns=(
            Column(name="Data set"),
            Column(name="Score"),
            _number("Ours", ".2f"),
            _number("± std", ".2f"),
            _number("Printed", ".2f"),
            _number("± std ", ".2f"),
            _number("Difference", "+.2f"),
            Column(name="95 % interval", hint="of the difference"),
            _number("p", ".3f", hint="Welch's t-test"),
            _number("p (Holm)", ".3f", hint="corrected over the cells of this table"),
            Column(name="Verdict"),
        ),
        rows=[
            [
                title_of(c.dataset),
                METRIC_TITLES[c.metric],
                *(c.mean, c.std, c.printed_mean, c.printed_std),
                *(c.difference, interval(c), c.p_value, c.p_holm),
                _in_words(c.verdict, meets=c.meets),
            ]
            for c in lines_of(_cells_of(label, cells))
        ],
    )


def _in_words(verdict: str, *, meets: bool) -> str:
    if verdict == "equal":
        return "meets print" if meets else "below, within noise"
    return f"{verdict} print"


def _method_table(summary: pd.DataFrame) -> Table:
    return Table(
        caption="Every method against print: number of cells (t-test at 5 %)",
        columns=(
            Column(name="Method"),
            _number("Cells"),
            _number("At or above the mean"),
            _number("Within one std", hint="of the printed mean, by the printed std"),
            _number("Above"),
            _number("Not told apart"),
            _number("Below"),
            _number("Differ (Holm)", hint="after Holm's correction over the cells"),
            _number("Mean difference", "+.1f"),
        ),
        rows=[
            [
                *(s.label + marks(s), s.cells, s.meets, s.within_std),
                *(s.above, s.equal, s.below, s.differs_holm, s.mean_difference),
            ]
            for s in lines_of(summary)
        ],
    )


def _group(protocol: Protocol, cells: pd.DataFrame) -> dict[str, Any]:
    own = cells[cells["protocol"] == protocol.name]
    return {
        "protocol": protocol,
        "tables": [
            {
                "caption": table_caption(name, dataset),
                "compared": table["printed_mean"].notna().any(),
                "notes": table_notes(table),
                "rows": rows_of(table),
            }
            for name, dataset, table in split(own)
        ],
    }


def _timing_table(protocol: Protocol, cells: pd.DataFrame) -> Table:
    """Median seconds per fit and data set, and memory on the first data set."""
    own = cells[(cells["protocol"] == protocol.name) & (cells["metric"] == "acc")]
    seconds = own.pivot_table(
        index="label", columns="dataset", values="seconds", sort=False, dropna=False
    )
    memory = own.groupby("label", sort=False)["peak_mb"].first()
    first = title_of(str(own["dataset"].iloc[0])) if len(own) else "the data"
    return Table(
        caption=(
            f"{protocol.title}: median seconds of one fit on one thread, and median "
            f"growth of memory during a fit on {first}"
        ),
        columns=(
            Column(name="Method"),
            *(_number(title_of(str(dataset)), ".3f") for dataset in seconds),
            _number("MB", ".0f"),
        ),
        rows=[[label, *times, memory[label]] for label, *times in lines_of(seconds)],
    )


def _settings_table(protocol: Protocol) -> Table:
    return Table(
        caption=f"{protocol.title}: {protocol.repeats} repeats per data set",
        columns=(
            Column(name="Method"),
            Column(name="Estimator"),
            Column(name="Parameters besides the defaults"),
        ),
        rows=[[m.label, m.estimator, _parameters(m)] for m in protocol.methods],
    )


def _parameters(method: Method) -> str:
    parts = [f"{name} = {value!r}" for name, value in method.params.items()]
    parts += [f"{name} in {list(values)}" for name, values in method.grid.items()]
    if method.each_view:
        parts.append("each view in turn")
    if method.scored != LABELS:
        parts.append("scores averaged over the views")
    if method.confirm:
        parts.append(f"the chosen setting {method.confirm} times")
    if method.repeats:
        parts.append(f"{method.repeats} repeats")
    return ", ".join(parts)


def _environments(outcomes: Sequence[Outcome]) -> list[dict[str, str]]:
    """Versions and machine behind the runs, each once."""
    found = {f"manyview={o.version}; {o.environment}" for o in outcomes}
    return [
        dict(fact.split("=", 1) for fact in text.split("; ") if "=" in fact)
        for text in sorted(found)
    ]


def _data_uri(path: Path) -> str:
    encoded = base64.b64encode(path.read_bytes()).decode()
    return f"data:image/svg+xml;base64,{encoded}"
