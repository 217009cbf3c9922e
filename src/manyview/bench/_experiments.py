"""The numbers behind the figures: convergence, sensitivity, robustness."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from manyview._results import PaceRecord
from manyview._typing import FloatArray
from manyview.bench._data import BenchData, load_data
from manyview.bench._plan import (
    corruption_for,
    robustness_rows,
    runs_of,
    seed_for,
    table_rows,
)
from manyview.bench._protocol import Protocol
from manyview.bench._published import METRICS, title_of
from manyview.bench._store import Outcome
from manyview.cluster import NSMVC


@dataclass(frozen=True, kw_only=True, slots=True)
class Trace:
    """One run of NSMVC, iteration by iteration."""

    dataset: str
    view_names: tuple[str, ...]
    repeat: int
    history: tuple[PaceRecord, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sensitivity:
    """NSMVC's mean scores over its grid, in per cent.

    scores : metric -> (n_alphas, n_paces), NaN where a setting has no finished run.
    """

    dataset: str
    alphas: tuple[float, ...]
    n_paces: tuple[int, ...]
    scores: dict[str, FloatArray]


@dataclass(frozen=True, kw_only=True, slots=True)
class RobustnessCurves:
    """Mean and standard deviation of ACC, in per cent, as one view turns into noise.

    means, stds : label -> (n_shares,), NaN where no run has finished.
    """

    dataset: str
    title: str
    view: str
    shares: tuple[float, ...]
    repeats: int
    means: dict[str, FloatArray]
    stds: dict[str, FloatArray]


def trace_convergence(data: BenchData, *, repeats: int = 5) -> list[Trace]:
    """Fit NSMVC as in the paper (alpha 0.5, T 6) and keep every iteration."""
    loaded = load_data(data.ref)
    traces = []
    for repeat in range(repeats):
        model = NSMVC(
            data.n_clusters,
            init="random",
            n_init=1,
            scale="minmax",
            random_state=seed_for(data.name, repeat),
        ).fit(list(loaded.views))
        traces.append(
            Trace(
                dataset=data.name,
                view_names=loaded.view_names,
                repeat=repeat,
                history=model.history_,
            )
        )
    return traces


def sensitivity(
    protocol: Protocol, data: BenchData, outcomes: Mapping[str, Outcome]
) -> Sensitivity | None:
    """Scores over the grid of alpha and T, None if the protocol has no such grid."""
    grids = [e for e in protocol.methods if {"pace_start", "n_paces"} <= e.grid.keys()]
    if not grids:
        return None
    alphas = tuple(grids[0].grid["pace_start"])
    paces = tuple(grids[0].grid["n_paces"])
    scores = {metric: np.full((len(alphas), len(paces)), np.nan) for metric in METRICS}
    (row,) = [r for r in table_rows(protocol, data) if r.label == grids[0].label]
    for runs in runs_of(data, row, protocol.repeats):
        params = json.loads(runs[0].params)
        cell = alphas.index(params["pace_start"]), paces.index(params["n_paces"])
        done = [o for run in runs if (o := outcomes.get(run.key)) and o.ok]
        for metric in METRICS:
            scores[metric][cell] = _mean([getattr(o, metric) for o in done])
    return Sensitivity(dataset=data.name, alphas=alphas, n_paces=paces, scores=scores)


def robustness_curves(
    protocol: Protocol, data: BenchData, outcomes: Mapping[str, Outcome]
) -> RobustnessCurves | None:
    """ACC over the noise, None if the protocol has no such experiment on this set."""
    plan = protocol.robustness
    if plan is None or data.name not in plan.views:
        return None
    means: dict[str, FloatArray] = {}
    stds: dict[str, FloatArray] = {}
    for row in robustness_rows(protocol, data):
        values = []
        for share in plan.shares:
            corruption = corruption_for(protocol, data.name, share)
            (runs,) = runs_of(data, row, plan.repeats, corruption)
            done = [o for run in runs if (o := outcomes.get(run.key)) and o.ok]
            values.append([o.acc for o in done])
        means[row.label] = np.array([_mean(v) for v in values])
        stds[row.label] = np.array(
            [
                100 * np.std(np.array(v, float), ddof=1) if len(v) > 1 else 0
                for v in values
            ]
        )
    return RobustnessCurves(
        dataset=data.name,
        title=title_of(data.name),
        view=plan.views[data.name],
        shares=plan.shares,
        repeats=plan.repeats,
        means=means,
        stds=stds,
    )


def _mean(shares: Sequence[float | None]) -> float:
    """Mean in per cent, NaN of nothing."""
    return 100 * float(np.mean(np.array(shares, float))) if shares else float("nan")
