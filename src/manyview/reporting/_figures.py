"""Figures of the clustering report, as plain data for Plotly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview._results import IterationRecord, PaceRecord
from manyview._typing import IntArray
from manyview.explain import Explanation
from manyview.plotting import cluster_colors
from manyview.reporting._page import Figure, figure_text

if TYPE_CHECKING:
    from manyview.model_selection import ClusterCountChoice

CATEGORIES = {"type": "category", "showgrid": False}
REVERSED = {"type": "category", "autorange": "reversed"}


def sizes_figure(explanation: Explanation) -> Figure:
    """Bars of cluster sizes, which say the mean confidence on hovering."""
    sizes = explanation.cluster_sizes
    bars = _trace(
        "bar",
        np.arange(len(sizes)),
        sizes,
        "cluster %{hovertext}: %{y} samples<br>mean confidence %{customdata:.2f}",
        customdata=explanation.cluster_confidence,
        marker={"color": cluster_colors(len(sizes))},
    )
    axes = {"xaxis": {"title": "cluster"}, "yaxis": {"title": "samples"}}
    return {"data": [bars], "layout": {**axes, "bargap": 0.25}, "clusters": "x"}


def contribution_figure(explanation: Explanation, *, weighted: bool) -> Figure:
    """Grouped bars per view: its weight, if there are any, and what it shows."""
    shares = [
        ("weight", explanation.weights, "#e07b39"),
        ("explained", 1 - explanation.unexplained, "#2a9d6f"),
        ("agreement with the result", explanation.agreement, "theme:accent"),
    ]
    names = _texts(explanation.view_names)
    bars = [
        _bars(names, values, what, color, "%{y}: %{x:.2f}")
        for what, values, color in shares
        if weighted or what != "weight"
    ]
    return {"data": bars, "layout": _bar_layout("group", {"range": [0, 1.02]})}


def joining_figure(names: Sequence[str], joined_pace: IntArray) -> Figure:
    """Share of samples that joined after the first pace, stacked per view."""
    n_paces = max(2, int(joined_pace.max(initial=1)))
    has = np.maximum(1, (joined_pace > 0).sum(axis=1))
    shares = [(joined_pace == pace).sum(axis=1) / has for pace in range(1, n_paces + 1)]
    rows = [
        f"{figure_text(name)} ({share:.0%} at once)"
        for name, share in zip(names, shares[0], strict=True)
    ]
    # From the accent's blue, of the first pace, to a warm tone for the last.
    early, late = np.array([59, 111, 212]), np.array([224, 123, 57])
    bars = []
    for pace, share in enumerate(shares[1:], start=2):
        color = np.round(early + (pace - 1) / (n_paces - 1) * (late - early))
        rgb = ",".join(f"{part:.0f}" for part in color)
        bars.append(_bars(rows, share, f"pace {pace}", f"rgb({rgb})", "%{x:.2%}"))
    shown = {"rangemode": "tozero", "tickformat": ".1~%"}
    return {"data": bars, "layout": _bar_layout("stack", shown)}


def agreement_figure(names: Sequence[str], agreement: Any) -> Figure:
    """Heat map of a symmetric matrix of shares."""
    cells = _trace(
        "heatmap",
        _texts(names),
        _texts(names),
        "%{y} and %{x}: %{z:.2f}",
        z=agreement,
        texttemplate="%{z:.2f}" if len(names) <= 8 else "",
    )
    axes = {"xaxis": CATEGORIES, "yaxis": {**CATEGORIES, **REVERSED}}
    return {"data": [cells], "layout": axes}


def classes_figure(counts: IntArray, class_names: Sequence[str]) -> Figure:
    """Heat map of samples per cluster and known class; rows are clusters."""
    n_clusters = len(counts)
    cells = _trace(
        "heatmap",
        _texts(class_names),
        np.arange(n_clusters),
        "cluster %{hovertext}, class %{x}: %{z:.1%} of the cluster",
        z=counts / np.maximum(1, counts.sum(axis=1, keepdims=True)),
        text=[[str(n) if n else "" for n in row] for row in counts.tolist()],
        texttemplate="%{text}" if counts.size <= 225 else "",
    )
    axes = {
        "xaxis": {**CATEGORIES, "title": "known class"},
        "yaxis": {
            "title": "cluster",
            "showgrid": False,
            "range": [n_clusters - 0.5, -0.5],
        },
    }
    return {"data": [cells], "layout": axes, "clusters": "y"}


def exponents_figure(names: Sequence[str], history: Sequence[PaceRecord]) -> Figure:
    """Exponent of every view over the paces."""
    last = {record.stage: record.exponents for record in history}
    lines = []
    for v, color in enumerate(cluster_colors(len(names))):
        curve = [exponents[v] for exponents in last.values()]
        name, hover = figure_text(names[v]), "pace %{x}: %{y:.3f}"
        lines.append(_line(list(last), curve, name, color, 2, hover))
    return {"data": lines, "layout": _line_layout("pace", "exponent")}


def choice_figure(choice: ClusterCountChoice) -> Figure:
    """Stability over the number of clusters, the chosen one marked."""
    curves = (
        ("weakest cluster", choice.weakest, "theme:accent", 2.5),
        ("agreement of all", choice.agreement, "theme:muted", 1.5),
    )
    lines = [
        _line(choice.candidates, curve, name, color, width, "k = %{x}: %{y:.3f}")
        for name, curve, color, width in curves
    ]
    ring = {"color": "theme:ink", "width": 2}
    mark = {
        "type": "scatter",
        "mode": "markers",
        "name": "chosen",
        "x": [choice.n_clusters],
        "y": [choice.weakest[choice.candidates.index(choice.n_clusters)]],
        "marker": {"size": 14, "color": "rgba(0,0,0,0)", "line": ring},
        "hoverinfo": "skip",
    }
    level = {"xref": "paper", "x0": 0, "x1": 1, "y0": choice.threshold}
    dotted = {"color": "theme:muted", "width": 1, "dash": "dot"}
    threshold = {"type": "line", **level, "y1": choice.threshold, "line": dotted}
    layout = _line_layout("number of clusters", "stability")
    return {"data": [*lines, mark], "layout": {**layout, "shapes": [threshold]}}


def convergence_figure(history: Sequence[IterationRecord]) -> Figure:
    """Objective and moved samples per iteration, with a gap where a stage starts."""
    points: list[tuple[int | None, float | None, int | None, str]] = []
    for step, record in enumerate(history, start=1):
        if record.iteration == 1 and step > 1:
            # Objectives of two stages do not compare: no line between them.
            points.append((None, None, None, ""))
        text = f"stage {record.stage}, iteration {record.iteration}"
        points.append((step, record.objective, record.n_moved, text))
    steps, objectives, n_moved, texts = zip(*points, strict=True)
    bars = _trace("bar", steps, n_moved, "%{customdata}: %{y}", "samples moved")
    moved = {**bars, "customdata": texts, "marker": {"color": "theme:tint"}}
    hover = "%{customdata}: %{y:.5g}"
    line = _line(steps, objectives, "objective", "#e07b39", 2.5, hover)
    objective = {**line, "yaxis": "y2", "marker": {"size": 6}, "customdata": texts}
    layout = {
        "xaxis": {"title": "iteration", "showgrid": False},
        "yaxis": {
            "title": "samples moved",
            "side": "right",
            "showgrid": False,
            "rangemode": "tozero",
        },
        # The objective overlays the bars, so that its line stays in sight.
        "yaxis2": {"title": "objective", "overlaying": "y"},
    }
    return {"data": [moved, objective], "layout": layout}


def _texts(values: Sequence[str]) -> list[str]:
    return [figure_text(value) for value in values]


def _trace(
    kind: str, x: Any, y: Any, hover: str, name: str = "", **more: Any
) -> dict[str, Any]:
    """A trace; on hovering it says `hover` and, beside that, its name."""
    hover = f"{hover}<extra>{name}</extra>"
    return {"type": kind, "x": x, "y": y, "name": name, "hovertemplate": hover, **more}


def _bars(rows: Any, values: Any, name: str, color: str, hover: str) -> dict[str, Any]:
    marker = {"color": color}
    return _trace("bar", values, rows, hover, name, orientation="h", marker=marker)


def _bar_layout(mode: str, xaxis: dict[str, Any]) -> dict[str, Any]:
    return {"barmode": mode, "bargap": 0.3, "xaxis": xaxis, "yaxis": REVERSED}


def _line(
    x: Any, y: Any, name: str, color: str, width: float, hover: str
) -> dict[str, Any]:
    line = {"color": color, "width": width}
    return _trace("scatter", x, y, hover, name, mode="lines+markers", line=line)


def _line_layout(xtitle: str, ytitle: str) -> dict[str, Any]:
    yaxis = {"title": ytitle, "range": [0, 1.05]}
    return {"xaxis": {"title": xtitle, "dtick": 1}, "yaxis": yaxis}
