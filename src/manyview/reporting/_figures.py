"""Figures of the clustering report, as plain data for Plotly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview._results import IterationRecord, PaceRecord
from manyview._typing import FloatArray, IntArray
from manyview.plotting._colors import cluster_colors
from manyview.reporting._page import Figure, figure_text

if TYPE_CHECKING:
    from manyview.model_selection import ClusterCountChoice

LEGEND = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}


def sizes_figure(
    names: Sequence[str], sizes: IntArray, confidence: FloatArray
) -> Figure:
    """Bars of cluster sizes; `confidence` is the mean per cluster, for the hover."""
    bars = {
        "type": "bar",
        "x": _texts(names),
        "y": sizes,
        "customdata": confidence,
        "marker": {"color": cluster_colors(len(sizes))},
        "hovertemplate": "cluster %{x}: %{y} samples<br>"
        "mean confidence %{customdata:.2f}<extra></extra>",
    }
    layout = {
        "xaxis": {**_title("cluster"), "type": "category"},
        "yaxis": _title("samples"),
        "bargap": 0.25,
    }
    return {"data": [bars], "layout": layout, "clusters": "x"}


def contribution_figure(
    names: Sequence[str], shares: Sequence[tuple[str, FloatArray, str]]
) -> Figure:
    """Grouped bars per view; `shares` are (what, one value per view, colour)."""
    data = [
        {
            **_bars(_texts(names), values, what, color),
            "hovertemplate": "%{y}: %{x:.2f}<extra>" + what + "</extra>",
        }
        for what, values, color in shares
    ]
    return {"data": data, "layout": _bar_layout("group", {"range": [0, 1.02]})}


def joining_figure(names: Sequence[str], joined_pace: IntArray) -> Figure:
    """Share of samples that joined after the first pace, stacked per view."""
    n_paces = int(joined_pace.max(initial=1))
    has = np.maximum(1, (joined_pace > 0).sum(axis=1))
    first = (joined_pace == 1).sum(axis=1) / has
    rows = [
        f"{figure_text(name)} ({share:.0%} at once)"
        for name, share in zip(names, first, strict=True)
    ]
    data = [
        {
            **_bars(
                rows,
                (joined_pace == pace).sum(axis=1) / has,
                f"pace {pace}",
                _pace_color(pace, n_paces),
            ),
            "hovertemplate": f"pace {pace}: %{{x:.2%}}<extra></extra>",
        }
        for pace in range(2, max(n_paces, 2) + 1)
    ]
    layout = _bar_layout("stack", {"rangemode": "tozero", "tickformat": ".1~%"})
    return {"data": data, "layout": layout}


def agreement_figure(names: Sequence[str], agreement: FloatArray) -> Figure:
    """Heat map of a symmetric matrix of shares."""
    cells = {
        **_cells(_texts(names), _texts(names), agreement),
        "texttemplate": "%{z:.2f}" if len(names) <= 8 else "",
        "hovertemplate": "%{y} and %{x}: %{z:.2f}<extra></extra>",
    }
    axis = {"type": "category", "showgrid": False}
    layout = {"xaxis": axis, "yaxis": {**axis, "autorange": "reversed"}}
    return {"data": [cells], "layout": layout}


def classes_figure(
    table: IntArray, names: Sequence[str], class_names: Sequence[str]
) -> Figure:
    """Heat map of samples per cluster and known class; rows are clusters."""
    share = table / np.maximum(1, table.sum(axis=1, keepdims=True))
    cells = {
        **_cells(_texts(class_names), _texts(names), share),
        "text": [[str(n) if n else "" for n in row] for row in table.tolist()],
        "texttemplate": "%{text}" if table.size <= 225 else "",
        "hovertemplate": "cluster %{y}, class %{x}: %{z:.1%} of the cluster"
        "<extra></extra>",
    }
    axis = {"type": "category", "showgrid": False}
    layout = {
        "xaxis": {**axis, **_title("known class")},
        "yaxis": {**axis, **_title("cluster"), "autorange": "reversed"},
    }
    return {"data": [cells], "layout": layout, "clusters": "y"}


def exponents_figure(names: Sequence[str], history: Sequence[PaceRecord]) -> Figure:
    """Exponent of every view over the paces."""
    last = {record.stage: record for record in history}
    paces = sorted(last)
    data = [
        {
            **_line(paces, [last[pace].exponents[v] for pace in paces], name, color),
            "hovertemplate": "pace %{x}: %{y:.3f}<extra>%{fullData.name}</extra>",
        }
        for v, (name, color) in enumerate(
            zip(_texts(names), cluster_colors(len(names)), strict=True)
        )
    ]
    return {"data": data, "layout": _line_layout("pace", "exponent")}


def choice_figure(choice: ClusterCountChoice) -> Figure:
    """Stability over the number of clusters, the chosen one marked."""
    curves = (
        ("weakest cluster", choice.weakest, "theme:accent", 2.5),
        ("agreement of all", choice.agreement, "theme:muted", 1.5),
    )
    data: list[dict[str, Any]] = [
        {
            **_line(choice.candidates, values, name, color, width),
            "hovertemplate": "k = %{x}: %{y:.3f}<extra>" + name + "</extra>",
        }
        for name, values, color, width in curves
    ]
    ring = {"color": "theme:ink", "width": 2}
    chosen = list(choice.candidates).index(choice.n_clusters)
    mark = {
        "type": "scatter",
        "mode": "markers",
        "name": "chosen",
        "x": [choice.n_clusters],
        "y": [choice.weakest[chosen]],
        "marker": {"size": 14, "color": "rgba(0,0,0,0)", "line": ring},
        "hoverinfo": "skip",
    }
    threshold = {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": choice.threshold,
        "y1": choice.threshold,
        "line": {"color": "theme:muted", "width": 1, "dash": "dot"},
    }
    layout = _line_layout("number of clusters", "stability")
    return {"data": [*data, mark], "layout": {**layout, "shapes": [threshold]}}


def convergence_figure(history: Sequence[IterationRecord]) -> Figure:
    """Objective and moved samples per iteration, with a gap where a stage starts."""
    steps = list(range(1, len(history) + 1))
    hover = [f"stage {r.stage}, iteration {r.iteration}" for r in history]
    points: list[tuple[int | None, float | None, str]] = []
    for step, record, text in zip(steps, history, hover, strict=True):
        if record.iteration == 1 and step > 1:
            # Objectives of two stages do not compare: no line between them.
            points.append((None, None, ""))
        points.append((step, record.objective, text))
    xs, ys, texts = zip(*points, strict=True)
    moved = {
        "type": "bar",
        "name": "samples moved",
        "x": steps,
        "y": [record.n_moved for record in history],
        "marker": {"color": "theme:tint"},
        "customdata": hover,
        "hovertemplate": "%{customdata}: %{y} moved<extra></extra>",
    }
    objective = {
        **_line(xs, ys, "objective", "#e07b39", 2.5),
        "yaxis": "y2",
        "marker": {"size": 6},
        "customdata": texts,
        "hovertemplate": "%{customdata}: %{y:.5g}<extra></extra>",
    }
    layout = {
        "xaxis": {**_title("iteration"), "showgrid": False},
        "yaxis": {
            **_title("samples moved"),
            "side": "right",
            "showgrid": False,
            "rangemode": "tozero",
        },
        # The objective overlays the bars, so that its line stays in sight.
        "yaxis2": {**_title("objective"), "overlaying": "y"},
        "legend": LEGEND,
        "margin": {"l": 60, "r": 60, "t": 34, "b": 44},
    }
    return {"data": [moved, objective], "layout": layout}


def _texts(values: Any) -> list[str]:
    return [figure_text(value) for value in values]


def _title(text: str) -> dict[str, Any]:
    return {"title": {"text": text}}


def _bars(rows: Sequence[str], values: Any, name: str, color: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "y": rows,
        "x": values,
        "marker": {"color": color},
    }


def _bar_layout(mode: str, xaxis: dict[str, Any]) -> dict[str, Any]:
    return {
        "barmode": mode,
        "bargap": 0.3,
        "xaxis": xaxis,
        "yaxis": {"autorange": "reversed", "type": "category"},
        "legend": {**LEGEND, "traceorder": "normal"},
        "margin": {"l": 60, "r": 16, "t": 34, "b": 32},
    }


def _line(
    x: Sequence[Any], y: Sequence[Any], name: str, color: str, width: float = 2
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": x,
        "y": y,
        "line": {"color": color, "width": width},
    }


def _line_layout(xtitle: str, ytitle: str) -> dict[str, Any]:
    return {
        "xaxis": {**_title(xtitle), "dtick": 1},
        "yaxis": {**_title(ytitle), "range": [0, 1.05]},
        "legend": LEGEND,
        "margin": {"l": 52, "r": 16, "t": 34, "b": 44},
    }


def _cells(x: Sequence[str], y: Sequence[str], shares: FloatArray) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "x": x,
        "y": y,
        "z": shares,
        "zmin": 0,
        "zmax": 1,
        "colorscale": [[0, "theme:wash"], [1, "theme:tint"]],
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "textfont": {"size": 12, "color": "theme:ink"},
    }


def _pace_color(pace: int, n_paces: int) -> str:
    """From the accent's blue for the first to a warm tone for the last."""
    early, late = np.array([59, 111, 212]), np.array([224, 123, 57])
    mix = (pace - 1) / max(1, n_paces - 1)
    red, green, blue = np.round(early + mix * (late - early)).astype(int)
    return f"rgb({red},{green},{blue})"
