"""Results tables: mean and spread per cell, what is best, how print compares."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import ttest_ind_from_stats

from manyview._typing import FloatArray
from manyview.bench._data import BenchData
from manyview.bench._plan import Run, runs_of, table_rows
from manyview.bench._protocol import Params, Protocol, TableRow
from manyview.bench._published import METRICS, PrintedCell, printed_tables, title_of
from manyview.bench._store import Outcome

SIGNIFICANCE = 0.05
# Spreads and differences below this many points are rounding.
SMALLEST_DIFFERENCE = 1e-9

Verdict = Literal["above", "equal", "below"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Ours against print.

    difference : our mean minus the printed one, in points.
    p_value : two-sided Welch t-test from means, deviations and numbers of runs; NaN
        when neither side varies.
    verdict : "above" and "below" are significant at 5 %, "equal" is neither.
    """

    printed: PrintedCell
    difference: float
    p_value: float
    verdict: Verdict

    @property
    def meets(self) -> bool:
        """Whether our mean is at least the printed one, to the printed digits."""
        return round(self.difference, 2) >= 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One number of a table, in per cent.

    bold : best of its column, or not significantly below it.
    """

    mean: float
    std: float
    bold: bool
    comparison: Comparison | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultRow:
    """One method.

    params : the setting shown. tuned : whether labels chose it among several.
    cells : metric -> cell; empty if no run succeeded.
    seconds, peak_mb : medians over the runs; NaN where unknown.
    error : error of the first failed run.
    """

    label: str
    estimator: str
    params: Params
    tuned: bool
    cells: dict[str, Cell]
    n_runs: int
    n_failed: int
    seconds: float
    peak_mb: float
    error: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultTable:
    """Results on one data set under one protocol; number is the paper's table."""

    dataset: str
    title: str
    number: int | None
    protocol: str
    repeats: int
    rows: tuple[ResultRow, ...]

    @property
    def name(self) -> str:
        """File name of the table, without suffix."""
        stem = self.dataset if self.number is None else f"table{self.number}"
        return stem if self.protocol == "paper" else f"{stem}-{self.protocol}"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Picked:
    """The setting a row shows: its runs, those that succeeded, and their scores."""

    row: TableRow
    runs: Sequence[Run]
    done: Sequence[Outcome]
    scores: Mapping[str, FloatArray]


def build_table(
    protocol: Protocol,
    data: BenchData,
    outcomes: Mapping[str, Outcome],
    *,
    compare: bool = True,
) -> ResultTable:
    """The table of a data set from finished runs.

    Only runs that the protocol plans with today's code and data are looked up, so
    results of another version never get in.

    Parameters
    ----------
    protocol : Protocol
        Methods and settings.
    data : BenchData
        The data set.
    outcomes : mapping of str to Outcome
        Finished runs by key.
    compare : bool, default=True
        Whether to hold the cells against the paper's.

    Returns
    -------
    table : ResultTable
        One row per method; runs not yet done are left out.
    """
    printed = printed_tables().get(data.name)
    picked = [
        _pick(row, runs_of(data, row, protocol.repeats), outcomes)
        for row in table_rows(protocol, data)
    ]
    bold = {metric: _best_rows(picked, metric) for metric in METRICS}
    rows = []
    for position, choice in enumerate(picked):
        known = printed.rows.get(choice.row.printed, {}) if printed and compare else {}
        cells = {
            metric: _cell(
                choice.scores[metric],
                bold=position in bold[metric],
                printed=known.get(metric),
                printed_repeats=printed.repeats if printed else 0,
            )
            for metric in METRICS
            if len(choice.done)
        }
        rows.append(_result_row(choice, cells, outcomes))
    return ResultTable(
        dataset=data.name,
        title=title_of(data.name),
        number=printed.number if printed else None,
        protocol=protocol.name,
        repeats=protocol.repeats,
        rows=tuple(rows),
    )


def _pick(
    row: TableRow, settings: Sequence[Sequence[Run]], outcomes: Mapping[str, Outcome]
) -> _Picked:
    """The setting with the best mean ACC; the only one, where there is one."""
    choices = []
    for runs in settings:
        done = [o for run in runs if (o := outcomes.get(run.key)) and o.ok]
        scores = {
            metric: np.array([getattr(o, metric) for o in done], dtype=np.float64) * 100
            for metric in METRICS
        }
        choices.append(_Picked(row=row, runs=runs, done=done, scores=scores))
    return max(
        choices,
        key=lambda choice: choice.scores["acc"].mean() if choice.done else -np.inf,
    )


def _best_rows(picked: Sequence[_Picked], metric: str) -> set[int]:
    """Positions of the best mean and of those a t-test at 5 % cannot tell from it."""
    samples = {i: p.scores[metric] for i, p in enumerate(picked) if p.done}
    if not samples:
        return set()
    best = max(samples, key=lambda i: float(samples[i].mean()))
    return {i for i, values in samples.items() if _alike(values, samples[best])}


def _alike(values: FloatArray, best: FloatArray) -> bool:
    """Whether Welch's t-test finds no difference.

    Unpaired: the same seed starts different methods in different places, so pairs of
    runs have nothing in common.
    """
    ours, theirs = (_moments(sample) for sample in (values, best))
    p_value = _welch(ours, theirs)
    if np.isnan(p_value):
        return abs(ours.mean - theirs.mean) < SMALLEST_DIFFERENCE
    return p_value >= SIGNIFICANCE


@dataclass(frozen=True, kw_only=True, slots=True)
class _Moments:
    mean: float
    std: float
    n: int


def _moments(values: FloatArray) -> _Moments:
    # MATLAB's std, which the paper's authors use, divides by n - 1 too.
    std = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return _Moments(mean=float(values.mean()), std=std, n=len(values))


def _welch(one: _Moments, other: _Moments) -> float:
    """Two-sided p of Welch's t-test; NaN where there is no spread to judge by."""
    if min(one.n, other.n) < 2 or max(one.std, other.std) < SMALLEST_DIFFERENCE:
        return float("nan")
    test = ttest_ind_from_stats(
        one.mean, one.std, one.n, other.mean, other.std, other.n, equal_var=False
    )
    return float(test.pvalue)


def _cell(
    values: FloatArray,
    *,
    bold: bool,
    printed: PrintedCell | None,
    printed_repeats: int,
) -> Cell:
    found = _moments(values)
    comparison = None
    if printed is not None:
        comparison = _compare(found, printed, printed_repeats)
    return Cell(mean=found.mean, std=found.std, bold=bold, comparison=comparison)


def _compare(found: _Moments, printed: PrintedCell, printed_repeats: int) -> Comparison:
    difference = found.mean - printed.mean
    p_value = _welch(
        found, _Moments(mean=printed.mean, std=printed.std, n=printed_repeats)
    )
    # Without any spread, a difference is one that the printed digits can show.
    differs = abs(difference) >= 0.005 if np.isnan(p_value) else p_value < SIGNIFICANCE
    verdict: Verdict = "equal"
    if differs:
        verdict = "above" if difference > 0 else "below"
    return Comparison(
        printed=printed, difference=difference, p_value=p_value, verdict=verdict
    )


def _result_row(
    choice: _Picked, cells: dict[str, Cell], outcomes: Mapping[str, Outcome]
) -> ResultRow:
    found = [outcomes[run.key] for run in choice.runs if run.key in outcomes]
    failed = [outcome for outcome in found if not outcome.ok]
    return ResultRow(
        label=choice.row.label,
        estimator=choice.row.estimator,
        params=json.loads(choice.runs[0].params),
        tuned=choice.row.tuned,
        cells=cells,
        n_runs=len(choice.done),
        n_failed=len(failed),
        seconds=_median([outcome.seconds for outcome in choice.done]),
        peak_mb=_median([outcome.peak_mb for outcome in choice.done]),
        error=failed[0].error if failed else "",
    )


def _median(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else float("nan")
