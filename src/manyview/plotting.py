"""Figures of clusterings, drawn into Matplotlib axes of your own."""

from __future__ import annotations

import colorsys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview._extras import import_extra
from manyview._results import PaceRecord
from manyview.exceptions import ViewError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from manyview.explain import Explanation, SampleMap
    from manyview.model_selection import ClusterCountChoice

__all__ = [
    "cluster_colors",
    "plot_agreement",
    "plot_cluster_count",
    "plot_convergence",
    "plot_exponents",
    "plot_map",
    "plot_sensitivity",
]

# Distinct on white and on near-black; neighbours differ in lightness too.
PALETTE = (
    "#3b6fd4",
    "#e07b39",
    "#2a9d6f",
    "#c8434f",
    "#8e5bc9",
    "#b3a125",
    "#1fa3b8",
    "#d65fa5",
    "#8a5a3c",
    "#7a8794",
    "#5fae3c",
    "#e0a526",
)
GOLDEN_ANGLE = 0.381966


def plot_convergence(estimator: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the objective over the iterations of the chosen restart.

    Paces are drawn apart: their objectives have different exponents and do not compare.

    Parameters
    ----------
    estimator : fitted estimator
        Has ``history_``.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes.
    """
    ax = _axes(ax)
    history = _history(estimator)
    for stage in sorted({record.stage for record in history}):
        steps = [i for i, r in enumerate(history, start=1) if r.stage == stage]
        objective = [history[step - 1].objective for step in steps]
        ax.plot(steps, objective, "o-", markersize=3, color=cluster_colors(1)[0])
        if steps[0] > 1:
            ax.axvline(steps[0] - 0.5, color="0.8", linewidth=0.8, zorder=0)
    ax.set(xlabel="iteration", ylabel="objective")
    return ax


def plot_exponents(estimator: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the exponent of every view over the paces.

    Parameters
    ----------
    estimator : fitted NSMVC
        Has ``history_`` with exponents.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes, with one line per view.
    """
    history = _history(estimator)
    if not isinstance(history[-1], PaceRecord):
        msg = f"{type(estimator).__name__} has no exponents; pass a fitted NSMVC."
        raise ViewError(msg)
    last = {record.stage: record for record in history}
    paces = sorted(last)
    curves = {
        name: [last[pace].exponents[v] for pace in paces]
        for v, name in enumerate(estimator.view_names_)
    }
    ax = plot_sensitivity(paces, curves, name="pace", ax=ax)
    ax.set(ylabel="exponent", ylim=(0, 1.05), xticks=paces)
    return ax


def plot_map(
    sample_map: SampleMap,
    labels: Any,
    *,
    view: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a map of samples, coloured by cluster; noise, -1, is grey.

    Parameters
    ----------
    sample_map : SampleMap
        From `manyview.explain.map_samples`.
    labels : array-like of shape (n_samples,)
        Clusters of all samples.
    view : int, default=None
        Position of a view; None means all views together.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes.
    """
    ax = _axes(ax)
    labels = np.asarray(labels)
    positions = sample_map.fused if view is None else sample_map.views[view]
    shown = labels[sample_map.samples]
    colors = dict(enumerate(cluster_colors(int(labels.max()) + 1)))
    if (shown < 0).any():
        colors[-1] = "0.6"
    for cluster, color in colors.items():
        label = "noise" if cluster < 0 else str(cluster)
        x, y = positions[shown == cluster].T
        ax.scatter(x, y, s=8, color=color, linewidths=0, alpha=0.8, label=label)
    axes = sample_map.axes if view is None else sample_map.view_axes[view]
    ax.set(xticks=[], yticks=[], aspect="equal", xlabel=axes[0], ylabel=axes[1])
    return ax


def plot_agreement(explanation: Explanation, *, ax: Axes | None = None) -> Axes:
    """Draw how often two views choose the same cluster.

    Parameters
    ----------
    explanation : Explanation
        From `manyview.explain.explain`.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes.
    """
    ax = _axes(ax)
    names = explanation.view_names
    shares = explanation.view_agreement
    ax.imshow(shares, vmin=0, vmax=1, cmap="Blues")
    places = range(len(names))
    ax.set_xticks(places, names)
    ax.set_yticks(places, names)
    for (row, column), value in np.ndenumerate(shares):
        text = "" if np.isnan(value) else f"{value:.2f}"
        color = "white" if value > 0.6 else "black"
        ax.text(column, row, text, ha="center", va="center", color=color)
    return ax


def plot_sensitivity(
    values: Sequence[float],
    scores: Mapping[str, Sequence[float]],
    *,
    name: str = "parameter",
    spread: Mapping[str, Sequence[float]] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw scores over the values of one parameter.

    Parameters
    ----------
    values : sequence of float
        Values of the parameter.
    scores : mapping of str to sequence of float
        One curve per name, one score per value.
    name : str, default="parameter"
        Name of the parameter.
    spread : mapping of str to sequence of float, default=None
        Half width of a band around a curve, e.g. standard deviations.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes, with one line per curve.
    """
    ax = _axes(ax)
    for (label, curve), color in zip(
        scores.items(), cluster_colors(len(scores)), strict=True
    ):
        ax.plot(values, curve, marker="o", markersize=4, label=label, color=color)
        if spread is not None and label in spread:
            middle, half = np.asarray(curve), np.asarray(spread[label])
            ax.fill_between(
                values, middle - half, middle + half, color=color, alpha=0.15
            )
    ax.set(xlabel=name, ylabel="score")
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_cluster_count(choice: ClusterCountChoice, *, ax: Axes | None = None) -> Axes:
    """Draw the stability curve behind a choice of the number of clusters.

    Parameters
    ----------
    choice : ClusterCountChoice
        From `manyview.model_selection.choose_n_clusters`.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes, with the chosen number marked.
    """
    ax = _axes(ax)
    color = cluster_colors(1)[0]
    ax.plot(choice.candidates, choice.weakest, marker="o", markersize=4, color=color)
    ax.axhline(choice.threshold, color="0.7", linewidth=0.8, linestyle=":")
    ax.axvline(choice.n_clusters, color="0.7", linewidth=0.8)
    ax.set(xlabel="number of clusters", ylabel="weakest cluster", ylim=(0, 1.05))
    return ax


def cluster_colors(n_clusters: int) -> list[str]:
    """One colour per cluster, as ``#rrggbb``.

    Parameters
    ----------
    n_clusters : int
        How many are needed. Beyond the hand-picked ones, hues step by the golden
        angle, so that neighbours stay far apart.

    Returns
    -------
    colors : list of str
        The colours.
    """
    colors = list(PALETTE[:n_clusters])
    for extra in range(n_clusters - len(colors)):
        hue = (0.07 + extra * GOLDEN_ANGLE) % 1.0
        lightness = (0.42, 0.55, 0.66)[extra % 3]
        rgb = colorsys.hls_to_rgb(hue, lightness, 0.55)
        colors.append("#" + "".join(f"{round(255 * part):02x}" for part in rgb))
    return colors


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    pyplot = import_extra("matplotlib.pyplot", "plot", "A figure")
    made: Axes = pyplot.subplots(layout="constrained")[1]
    return made


def _history(estimator: Any) -> Sequence[Any]:
    history: Sequence[Any] = getattr(estimator, "history_", ())
    if not history:
        msg = f"{type(estimator).__name__} has no history; pass a fitted estimator."
        raise ViewError(msg)
    return history
