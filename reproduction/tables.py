"""From runs to cells: mean and spread, what is best of a column, how print compares."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student
from scipy.stats import ttest_ind_from_stats

from reproduction.plan import Entry, Run, confirmations
from reproduction.protocols import RECONSTRUCTED
from reproduction.store import OUTCOME_COLUMNS, RUN_COLUMNS, Outcome

METRIC_TITLES = {"acc": "ACC", "purity": "Purity", "nmi": "NMI"}
METRICS = list(METRIC_TITLES)
SIGNIFICANCE = 0.05
CONFIDENCE = 0.95
# Spreads and differences below this many points are rounding.
SMALLEST_DIFFERENCE = 1e-9
# Half of the last printed digit.
PRINTED_DIFFERENCE = 0.005
VERDICTS = ["above", "equal", "below"]
SUMMARY_COLUMNS = [
    *("label", "cells", "tuned", "reconstructed", "meets", *VERDICTS),
    *("differs_holm", "within_std", "mean_difference"),
]


@cache
def printed_cells() -> pd.DataFrame:
    """The paper's tables in long form; slip says what is wrong in print."""
    path = Path(__file__).with_name("paper.toml")
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    slips = {
        (slip["table"], slip["row"], metric): slip["note"]
        for slip in content["slips"]
        for metric in slip["columns"]
    }
    return pd.DataFrame(
        {
            "table": table["number"],
            "dataset": table["dataset"],
            "title": table["title"],
            "printed": label,
            "metric": metric,
            "printed_mean": values[metric][0],
            "printed_std": values[metric][1],
            "printed_runs": content["repeats"],
            "printed_bold": metric in values.get("bold", ()),
            "slip": slips.get((table["number"], label, metric), ""),
        }
        for table in content["tables"]
        for label, values in table["rows"].items()
        for metric in METRICS
    )


@cache
def titles() -> dict[str, tuple[int, str]]:
    """Data set -> number and title of its table in the paper."""
    tables = lines_of(printed_cells().drop_duplicates("dataset"))
    return {table.dataset: (table.table, table.title) for table in tables}


def lines_of(frame: pd.DataFrame) -> list[Any]:
    """Lines as tuples with the names of the columns."""
    return list(frame.itertuples())


def title_of(dataset: str) -> str:
    """What the paper calls a data set, or else its name."""
    return titles()[dataset][1] if dataset in titles() else dataset


def collect(entries: Sequence[Entry], outcomes: Mapping[Run, Outcome]) -> pd.DataFrame:
    """One line per entry whose run is done; scores in per cent."""
    lines = [
        {
            "protocol": entry.protocol,
            "label": entry.label,
            "printed": entry.printed,
            "tuned": entry.tuned,
            "reconstructed": entry.run.method in RECONSTRUCTED,
            **asdict(entry.run),
            **asdict(outcomes[entry.run]),
        }
        for entry in entries
        if entry.run in outcomes
    ]
    places = ["protocol", "label", "printed", "tuned", "reconstructed"]
    results = pd.DataFrame(lines, columns=[*places, *RUN_COLUMNS, *OUTCOME_COLUMNS])
    results["dataset"] = [Path(source).stem for source in results["dataset"]]
    results[METRICS] = 100 * results[METRICS].astype(float)
    return results


def build_cells(results: pd.DataFrame) -> pd.DataFrame:
    """One line per protocol, data set, method and metric, beside print where it is."""
    by = ["protocol", "dataset", "label"]
    cells = pd.DataFrame(
        line
        for _, group in results.groupby(by, sort=False)
        for line in _lines(_best_setting(group))
    )
    cells = cells.merge(
        printed_cells().drop(columns=["table", "title"]),
        on=["dataset", "printed", "metric"],
        how="left",
    )
    cells["slip"] = cells["slip"].fillna("")
    cells["difference"] = cells["mean"] - cells["printed_mean"]
    ours = cells[["mean", "std", "runs"]]
    theirs = cells[["printed_mean", "printed_std", "printed_runs"]]
    cells["half_width"] = half_width(ours)
    cells["difference_half_width"] = half_width(ours, theirs)
    cells["p_value"] = welch(ours, theirs)
    rows = cells.groupby(["protocol", "label"], sort=False)["p_value"]
    cells["p_holm"] = rows.transform(lambda p: holm(p.to_numpy()))
    cells["within_std"] = cells["difference"].abs() <= cells["printed_std"]
    cells["verdict"] = _verdicts(cells)
    cells["meets"] = cells["difference"].round(2) >= 0
    columns = cells.groupby(["protocol", "dataset", "metric"], sort=False)
    cells["bold"] = pd.concat([_best_of(column) for _, column in columns])
    return cells


def _best_setting(group: pd.DataFrame) -> pd.DataFrame:
    """The runs of the setting with the best mean ACC; the first of equal ones.

    Settings are compared by the repeats that all of them have: the one that is chosen
    may have been repeated more often since.
    """
    settings = group.groupby("params", sort=False)
    tried = group[group["repeat"] <= settings["repeat"].max().min()]
    means = tried.groupby("params", sort=False)["acc"].mean().round(9).fillna(-1)
    chosen: pd.DataFrame = group[group["params"] == means.idxmax()]
    return chosen


def confirm_settings(
    entries: Sequence[Entry], outcomes: Mapping[Run, Outcome]
) -> list[Entry]:
    """What is still to be repeated once labels have chosen the settings."""
    tuned = [entry for entry in entries if entry.confirm]
    results = collect(tuned, outcomes)
    last = {
        (e.protocol, Path(e.run.dataset).stem, e.label, e.run.params): e for e in tuned
    }
    by = ["protocol", "dataset", "label"]
    return [
        entry
        for place, group in results.groupby(by, sort=False)
        for entry in confirmations(last[*place, _best_setting(group)["params"].iloc[0]])
    ]


def _lines(group: pd.DataFrame) -> list[dict[str, Any]]:
    done = group[group["error"] == ""]
    failed = group[group["error"] != ""]
    first = group.iloc[0]
    shared = {
        **first[["protocol", "dataset", "label", "printed", "tuned", "params"]],
        "reconstructed": first["reconstructed"],
        "runs": len(done),
        "failed": len(failed),
        "error": "" if failed.empty else failed["error"].iloc[0],
        "seconds": done["seconds"].median(),
        "peak_mb": done["peak_mb"].median(),
    }
    return [
        {
            **shared,
            "metric": metric,
            "mean": done[metric].mean(),
            # MATLAB's std, which the paper's authors use, divides by n - 1 too.
            "std": done[metric].std(ddof=1) if len(done) > 1 else 0.0,
        }
        for metric in METRICS
    ]


def welch(ours: pd.DataFrame, theirs: pd.DataFrame) -> Any:
    """Two-sided p of Welch's t-test from mean, deviation and number of runs.

    NaN where there is nothing to compare with, or no spread to judge by.
    """
    one, other = ours.to_numpy(float).T, theirs.to_numpy(float).T
    spread = np.maximum(one[1], other[1]) >= SMALLEST_DIFFERENCE
    known = spread & (np.minimum(one[2], other[2]) >= 2)
    p_values = np.full(len(ours), np.nan)
    moments = (*one[:, known], *other[:, known])
    welch = ttest_ind_from_stats(*moments, equal_var=False)  # type: ignore[misc]  # 2 x 3
    p_values[known] = welch.pvalue
    return p_values


def half_width(ours: pd.DataFrame, theirs: pd.DataFrame | None = None) -> Any:
    """Half of the 95 % confidence interval of a mean, or of Welch's difference of two.

    NaN where there are fewer than two runs.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = [
            (std**2 / runs, runs - 1)
            for _, std, runs in (
                given.to_numpy(float).T for given in (ours, theirs) if given is not None
            )
        ]
        total = sum(square for square, _ in errors)
        degrees = total**2 / sum(square**2 / left for square, left in errors)
        width = student.ppf((1 + CONFIDENCE) / 2, degrees) * np.sqrt(total)
    few = np.min([left for _, left in errors], axis=0) < 1
    return np.where(few, np.nan, np.where(total == 0, 0.0, width))


def holm(p_values: Any) -> Any:
    """P-values of a family of tests after Holm's correction; NaN stays out of it."""
    adjusted = np.full(len(p_values), np.nan)
    known = np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    factors = len(known) - np.arange(len(known))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p_values[order] * factors))
    return adjusted


def _verdicts(cells: pd.DataFrame) -> Any:
    """ "above" and "below" are significant at 5 %, "equal" is neither."""
    size = cells["difference"].abs()
    # Without any spread, a difference is one that the printed digits can show.
    differs = (cells["p_value"] < SIGNIFICANCE) | (
        cells["p_value"].isna() & (size >= PRINTED_DIFFERENCE)
    )
    sides = np.where(cells["difference"] > 0, "above", "below")
    verdicts = np.where(differs, sides, "equal")
    return np.where(cells["difference"].isna(), "", verdicts)


def _best_of(column: pd.DataFrame) -> pd.Series[bool]:
    """Whether a cell is the best mean or a t-test at 5 % cannot tell it from that.

    Unpaired: the same seed starts different methods in different places, so pairs of
    runs have nothing in common.
    """
    if column["mean"].isna().all():
        return pd.Series(False, index=column.index)
    moments = column[["mean", "std", "runs"]]
    best = moments.loc[[column["mean"].idxmax()] * len(column)]
    p_values = welch(moments, best)
    gap = best["mean"].iloc[0] - column["mean"]
    return pd.Series(
        np.where(
            np.isnan(p_values), gap < SMALLEST_DIFFERENCE, p_values >= SIGNIFICANCE
        ),
        index=column.index,
    )


def summarise(cells: pd.DataFrame) -> pd.DataFrame:
    """One line per method that print knows, k-means on the single views as one."""
    known = cells[cells["printed_mean"].notna()]
    single = known["label"].str.fullmatch(r"KM\(\d+\)")
    groups = known.groupby(known["label"].mask(single, "KM(v)"), sort=False)
    lines = [
        {
            "label": label,
            "cells": len(group),
            "tuned": group["tuned"].any(),
            "reconstructed": group["reconstructed"].any(),
            "meets": group["meets"].sum(),
            **{v: (group["verdict"] == v).sum() for v in VERDICTS},
            "differs_holm": (group["p_holm"] < SIGNIFICANCE).sum(),
            "within_std": group["within_std"].sum(),
            "mean_difference": group["difference"].mean(),
        }
        for label, group in groups
    ]
    return pd.DataFrame(lines, columns=SUMMARY_COLUMNS)


def sentences(cells: pd.DataFrame) -> list[str]:
    """How every method compares with print, in words."""
    return [
        f"{s.label}{' (reconstruction)' if s.reconstructed else ''}: {s.meets} of "
        f"{s.cells} cells reach the printed mean, {s.within_std} lie within one "
        f"printed standard deviation of it; by t-test {s.above} lie above print, "
        f"{s.equal} cannot be told from it, {s.below} lie below (mean difference "
        f"{s.mean_difference:+.1f} points). After Holm's correction over the {s.cells} "
        f"cells {s.differs_holm} differ."
        for s in lines_of(summarise(cells))
    ]
