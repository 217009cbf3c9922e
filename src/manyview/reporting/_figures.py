"""Figures of the clustering report, as plain data for Plotly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from manyview._results import IterationRecord, PaceRecord
from manyview._typing import FloatArray, IntArray
from manyview.plotting._colors import cluster_colors
from manyview.reporting._page import Figure, figure_text

LEGEND = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
SHADES = [[0, "theme:wash"], [1, "theme:tint"]]


def sizes_figure(sizes: IntArray, confidence: FloatArray) -> Figure:
    """Bars of cluster sizes; `confidence` is the mean per cluster, for the hover."""
    clusters = [str(cluster) for cluster in range(len(sizes))]
    return {
        "data": [
            {
                "type": "bar",
                "x": clusters,
                "y": sizes,
                "customdata": confidence,
                "marker": {"color": cluster_colors(len(sizes))},
                "hovertemplate": "cluster %{x}: %{y} samples<br>"
                "mean confidence %{customdata:.2f}<extra></extra>",
            }
        ],
        "layout": {
            "xaxis": {"title": {"text": "cluster"}, "type": "category"},
            "yaxis": {"title": {"text": "samples"}},
            "bargap": 0.25,
        },
    }


def trust_figure(
    names: Sequence[str], shares: Sequence[tuple[str, FloatArray, str]]
) -> Figure:
    """Grouped bars per view; `shares` are (what, one value per view, colour)."""
    return {
        "data": [
            {
                "type": "bar",
                "orientation": "h",
                "name": what,
                "y": [figure_text(name) for name in names],
                "x": values,
                "marker": {"color": color},
                "hovertemplate": "%{y}: %{x:.2f}<extra>" + what + "</extra>",
            }
            for what, values, color in shares
        ],
        "layout": {
            "barmode": "group",
            "bargap": 0.3,
            "xaxis": {"range": [0, 1.02]},
            "yaxis": {"autorange": "reversed", "type": "category"},
            "legend": LEGEND,
            "margin": {"l": 60, "r": 16, "t": 34, "b": 32},
        },
    }


def agreement_figure(names: Sequence[str], agreement: FloatArray) -> Figure:
    """Heat map of a symmetric matrix of shares."""
    labels = [figure_text(name) for name in names]
    return {
        "data": [
            {
                "type": "heatmap",
                "x": labels,
                "y": labels,
                "z": agreement,
                "zmin": 0,
                "zmax": 1,
                "colorscale": SHADES,
                "showscale": False,
                "xgap": 2,
                "ygap": 2,
                "texttemplate": "%{z:.2f}" if len(names) <= 12 else "",
                "textfont": {"size": 12, "color": "theme:ink"},
                "hovertemplate": "%{y} and %{x}: %{z:.2f}<extra></extra>",
            }
        ],
        "layout": {
            "xaxis": {"type": "category", "showgrid": False},
            "yaxis": {"type": "category", "autorange": "reversed", "showgrid": False},
        },
    }


def joining_figure(names: Sequence[str], joined_pace: IntArray) -> Figure:
    """Share of samples that joined after the first pace, stacked per view."""
    n_paces = int(joined_pace.max(initial=1))
    has = np.maximum(1, (joined_pace > 0).sum(axis=1))
    at_once = (joined_pace == 1).sum(axis=1) / has
    rows = [
        f"{figure_text(name)} ({share:.0%} at once)"
        for name, share in zip(names, at_once, strict=True)
    ]
    later = [
        (pace, (joined_pace == pace).sum(axis=1) / has)
        for pace in range(2, max(n_paces, 2) + 1)
    ]
    return {
        "data": [
            {
                "type": "bar",
                "orientation": "h",
                "name": f"pace {pace}",
                "y": rows,
                "x": share,
                "marker": {"color": _pace_color(pace, n_paces)},
                "hovertemplate": f"pace {pace}: %{{x:.2%}}<extra></extra>",
            }
            for pace, share in later
        ],
        "layout": {
            "barmode": "stack",
            "bargap": 0.3,
            "xaxis": {"rangemode": "tozero", "tickformat": ".1~%"},
            "yaxis": {"autorange": "reversed", "type": "category"},
            "legend": {**LEGEND, "traceorder": "normal"},
            "margin": {"l": 60, "r": 16, "t": 34, "b": 32},
        },
    }


def exponents_figure(names: Sequence[str], history: Sequence[PaceRecord]) -> Figure:
    """Exponent of every view over the paces."""
    last = {record.stage: record for record in history}
    paces = sorted(last)
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": figure_text(name),
                "x": paces,
                "y": [last[pace].exponents[v] for pace in paces],
                "line": {"color": color, "width": 2},
                "hovertemplate": "pace %{x}: %{y:.3f}<extra>%{fullData.name}</extra>",
            }
            for v, (name, color) in enumerate(
                zip(names, cluster_colors(len(names)), strict=True)
            )
        ],
        "layout": {
            "xaxis": {"title": {"text": "pace"}, "dtick": 1},
            "yaxis": {"title": {"text": "exponent"}, "range": [0, 1.05]},
            "legend": LEGEND,
            "margin": {"l": 52, "r": 16, "t": 34, "b": 44},
        },
    }


def convergence_figure(history: Sequence[IterationRecord]) -> Figure:
    """Objective and moved samples per iteration, with a gap where a stage starts."""
    steps: list[int] = list(range(1, len(history) + 1))
    hover = [f"stage {r.stage}, iteration {r.iteration}" for r in history]
    line_x: list[int | None] = []
    line_y: list[float | None] = []
    line_hover: list[str] = []
    for step, record, text in zip(steps, history, hover, strict=True):
        if record.iteration == 1 and step > 1:
            # Objectives of two stages do not compare: no line between them.
            line_x.append(None)
            line_y.append(None)
            line_hover.append("")
        line_x.append(step)
        line_y.append(record.objective)
        line_hover.append(text)
    return {
        "data": [
            {
                "type": "bar",
                "name": "samples moved",
                "x": steps,
                "y": [record.n_moved for record in history],
                "marker": {"color": "theme:tint"},
                "customdata": hover,
                "hovertemplate": "%{customdata}: %{y} moved<extra></extra>",
            },
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": "objective",
                "x": line_x,
                "y": line_y,
                "yaxis": "y2",
                "line": {"color": "#e07b39", "width": 2.5},
                "marker": {"size": 6},
                "customdata": line_hover,
                "hovertemplate": "%{customdata}: %{y:.5g}<extra></extra>",
            },
        ],
        "layout": {
            "xaxis": {"title": {"text": "iteration"}, "showgrid": False},
            "yaxis": {
                "title": {"text": "samples moved"},
                "side": "right",
                "showgrid": False,
                "rangemode": "tozero",
            },
            # The objective overlays the bars, so that its line stays in sight.
            "yaxis2": {"title": {"text": "objective"}, "overlaying": "y"},
            "legend": LEGEND,
            "margin": {"l": 60, "r": 60, "t": 34, "b": 44},
        },
    }


def classes_figure(table: IntArray, class_names: Sequence[str]) -> Figure:
    """Heat map of samples per cluster and known class; rows are clusters."""
    share = table / np.maximum(1, table.sum(axis=1, keepdims=True))
    few = table.size <= 225
    return {
        "data": [
            {
                "type": "heatmap",
                "x": [figure_text(name) for name in class_names],
                "y": [str(cluster) for cluster in range(len(table))],
                "z": share,
                "zmin": 0,
                "zmax": 1,
                "text": [[str(n) if n else "" for n in row] for row in table.tolist()],
                "texttemplate": "%{text}" if few else "",
                "textfont": {"size": 12, "color": "theme:ink"},
                "colorscale": SHADES,
                "showscale": False,
                "xgap": 2,
                "ygap": 2,
                "hovertemplate": "cluster %{y}, class %{x}: %{z:.1%} of the cluster"
                "<extra></extra>",
            }
        ],
        "layout": {
            "xaxis": {
                "title": {"text": "known class"},
                "type": "category",
                "showgrid": False,
            },
            "yaxis": {
                "title": {"text": "cluster"},
                "type": "category",
                "autorange": "reversed",
                "showgrid": False,
            },
        },
    }


def choice_figure(choice: Any) -> Figure:
    """Stability over the number of clusters, the chosen one marked."""
    chosen = list(choice.candidates).index(choice.n_clusters)
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": name,
                "x": choice.candidates,
                "y": values,
                "line": {"color": color, "width": width},
                "hovertemplate": "k = %{x}: %{y:.3f}<extra>" + name + "</extra>",
            }
            for name, values, color, width in (
                ("weakest cluster", choice.weakest, "theme:accent", 2.5),
                ("agreement of all", choice.agreement, "theme:muted", 1.5),
            )
        ]
        + [
            {
                "type": "scatter",
                "mode": "markers",
                "name": "chosen",
                "x": [choice.n_clusters],
                "y": [choice.weakest[chosen]],
                "marker": {
                    "size": 14,
                    "color": "rgba(0,0,0,0)",
                    "line": {"color": "theme:ink", "width": 2},
                },
                "hoverinfo": "skip",
            }
        ],
        "layout": {
            "xaxis": {"title": {"text": "number of clusters"}, "dtick": 1},
            "yaxis": {"title": {"text": "stability"}, "range": [0, 1.05]},
            "legend": LEGEND,
            "margin": {"l": 52, "r": 16, "t": 34, "b": 44},
            "shapes": [
                {
                    "type": "line",
                    "xref": "paper",
                    "x0": 0,
                    "x1": 1,
                    "y0": choice.threshold,
                    "y1": choice.threshold,
                    "line": {"color": "theme:muted", "width": 1, "dash": "dot"},
                }
            ],
        },
    }


def _pace_color(pace: int, n_paces: int) -> str:
    """From the accent's blue for the first to a warm tone for the last."""
    early, late = np.array([59, 111, 212]), np.array([224, 123, 57])
    mix = (pace - 1) / max(1, n_paces - 1)
    red, green, blue = np.round(early + mix * (late - early)).astype(int)
    return f"rgb({red},{green},{blue})"
