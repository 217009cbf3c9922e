"""Runs and environments as plain files."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from manyview.bench._plan import Run, unique_runs
from manyview.bench._store import Outcome

RUN_COLUMNS = (
    "dataset",
    "data",
    "method",
    "params",
    "variant",
    "repeat",
    "seed",
    "acc",
    "purity",
    "nmi",
    "ari",
    "seconds",
    "peak_mb",
    "n_iter",
    "status",
    "warning",
    "error",
    "version",
)


def runs_to_csv(plan: Sequence[Run], outcomes: Mapping[str, Outcome]) -> str:
    """The tidy table of the planned runs that are done, one line each."""
    out = io.StringIO()
    writer = csv.DictWriter(out, RUN_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for run in unique_runs(plan):
        outcome = outcomes.get(run.key)
        if outcome is not None:
            writer.writerow(_line(run, outcome))
    return out.getvalue()


def _line(run: Run, outcome: Outcome) -> dict[str, object]:
    scores = {
        name: _rounded(getattr(outcome, name), digits)
        for name, digits in (
            ("acc", 6),
            ("purity", 6),
            ("nmi", 6),
            ("ari", 6),
            ("seconds", 4),
            ("peak_mb", 1),
        )
    }
    return {
        "dataset": run.dataset,
        "data": run.checksum[:12],
        "method": run.estimator,
        "params": run.params,
        "variant": run.variant,
        "repeat": run.repeat,
        "seed": run.seed,
        **scores,
        "n_iter": outcome.n_iter,
        "status": outcome.status,
        "warning": outcome.warning,
        "error": outcome.error,
        "version": run.version,
    }


def _rounded(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
