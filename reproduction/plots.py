"""The figures of the paper, and some it lacks: functions of numbers.

`paper_style` sets how they look; draw and save inside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.style
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from manyview._results import PaceRecord
from manyview._typing import FloatArray
from manyview.plotting import cluster_colors
from reproduction.tables import METRIC_TITLES

INK = "#24292f"
MUTED = "#6b7480"
GRID = "#e3e6ea"
BAND = "#f1f3f6"
PALE = "#b9c0c9"
ACCENT = "#c8434f"
# Height and width of the images behind Handwritten's pixel view.
DIGIT_SHAPE = (16, 15)


@dataclass(frozen=True, kw_only=True, slots=True)
class Trace:
    """One run of NSMVC, iteration by iteration."""

    view_names: tuple[str, ...]
    history: tuple[PaceRecord, ...]


def paper_style() -> AbstractContextManager[None]:
    """Matplotlib settings of these figures."""
    return mpl.style.context(Path(__file__).with_name("paper.mplstyle"))


def plot_pacing() -> Figure:
    """What a sample adds to its view's loss, against its own loss (Eq. 3)."""
    figure = _new_figure(5.2, 3.2)
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color=ACCENT, linewidth=2.2)
    axes.plot([1, 1.8], [0, 0], color=ACCENT, linewidth=2.2)
    axes.plot([1, 1], [0, 1], color=MUTED, linestyle=":", linewidth=1.2)
    axes.plot(1, 1, "o", color=ACCENT, markersize=6)
    axes.plot(1, 0, "o", markerfacecolor="white", markeredgecolor=ACCENT, markersize=6)
    axes.text(0.42, 0.62, "easy: takes part\nwith its own loss", ha="right")
    axes.text(1.4, 0.1, "hard: waits", ha="center")
    axes.set(
        xlabel="loss of the sample, $l_i^v$",
        ylabel=r"contribution $\phi_i(v)$",
        xticks=[0, 1],
        xticklabels=["0", r"$\lambda^v$"],
        yticks=[0, 1],
        yticklabels=["0", r"$\lambda^v$"],
        xlim=(0, 1.8),
        ylim=(-0.06, 1.15),
        title="Self-paced selection without a regulariser",
    )
    return figure


def plot_first_pace(traces: Mapping[str, Sequence[Trace]]) -> Figure:
    """Objective over the iterations of the first pace, one panel per data set."""
    figure, panels = _panels_for(traces)
    for axes, (title, runs) in zip(panels, traces.items(), strict=True):
        longest = 1
        for number, trace in enumerate(runs):
            values = [r.objective for r in trace.history if r.pace == 1]
            longest = max(longest, len(values))
            _draw_start(axes, values, first=number == 0)
        axes.set(title=title, xlim=(0.5, longest + 0.5))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    _label_outer(panels, "iteration", "objective")
    n_starts = len(next(iter(traces.values())))
    figure.suptitle(
        f"Convergence in the first pace (bold: first of {n_starts} random starts)"
    )
    return figure


def _draw_start(axes: Axes, values: Sequence[float], *, first: bool) -> None:
    axes.plot(
        np.arange(1, len(values) + 1),
        values,
        ".-" if first else "-",
        color=ACCENT if first else PALE,
        linewidth=2 if first else 1,
        markersize=5,
        zorder=3 if first else 2,
    )


def plot_all_paces(traces: Mapping[str, Sequence[Trace]]) -> Figure:
    """Objective over all paces of the first start; bands tell the paces apart.

    A new pace selects other samples and other exponents: values compare within a band
    only.
    """
    figure, panels = _panels_for(traces)
    for axes, (title, runs) in zip(panels, traces.items(), strict=True):
        history = runs[0].history
        for pace in sorted({record.pace for record in history}):
            steps = [i + 1 for i, r in enumerate(history) if r.pace == pace]
            values = [history[i - 1].objective for i in steps]
            if pace % 2:
                axes.axvspan(steps[0] - 0.5, steps[-1] + 0.5, color=BAND, linewidth=0)
            axes.plot(steps, values, ".-", color=ACCENT, linewidth=1.6, markersize=4)
            axes.text(
                (steps[0] + steps[-1]) / 2,
                0.98,
                str(pace),
                transform=axes.get_xaxis_transform(),
                ha="center",
                va="top",
                color=MUTED,
                fontsize=7,
            )
        axes.set(title=title, xlim=(0.5, len(history) + 0.5))
        axes.margins(y=0.18)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    _label_outer(panels, "iteration", "objective")
    figure.suptitle(
        "Convergence over all paces (numbers: pace; the objective falls within "
        "each, not across)"
    )
    return figure


def plot_exponents(traces: Mapping[str, Sequence[Trace]]) -> Figure:
    """Exponent of each view over the paces: mean and range over the starts."""
    figure, panels = _panels_for(traces, height=2.7)
    for axes, (title, runs) in zip(panels, traces.items(), strict=True):
        names = runs[0].view_names
        colors = dict(zip(names, cluster_colors(len(names)), strict=True))
        curves = np.array([_pace_exponents(trace) for trace in runs])
        paces = np.arange(1, curves.shape[1] + 1)
        for view, color in enumerate(colors.values()):
            values = curves[:, :, view]
            low, high = values.min(axis=0), values.max(axis=0)
            axes.fill_between(paces, low, high, color=color, alpha=0.12, linewidth=0)
            axes.plot(paces, values.mean(axis=0), "o-", color=color, markersize=3.5)
        axes.set(title=title, ylim=(0, 1.05), xticks=paces)
        ends = dict(zip(names, curves[:, -1].mean(axis=0), strict=True))
        _label_ends(axes, float(paces[-1]), ends, colors)
    _label_outer(panels, "pace", "exponent $\\eta$")
    figure.suptitle("Exponents of the views, from the first pace to the last")
    return figure


def _pace_exponents(trace: Trace) -> FloatArray:
    """(n_paces, n_views): exponents are fixed within a pace."""
    by_pace = {record.pace: record.exponents for record in trace.history}
    return np.array([by_pace[pace] for pace in sorted(by_pace)])


def plot_sensitivity_surfaces(scores: Mapping[str, pd.DataFrame], title: str) -> Figure:
    """Scores over alpha and T as surfaces, the way the paper shows them."""
    figure = _new_figure(10.5, 3.7)
    for position, (metric, grid) in enumerate(scores.items(), start=1):
        alphas, paces = np.meshgrid(grid.index, grid.columns, indexing="ij")
        axes: Any = figure.add_subplot(1, 3, position, projection="3d")
        axes.plot_surface(
            alphas,
            paces,
            grid.to_numpy(),
            cmap="viridis",
            edgecolor="white",
            linewidth=0.5,
        )
        axes.set(
            title=METRIC_TITLES[metric],
            xlabel=r"$\alpha$",
            ylabel="$T$",
            zlim=(0, 100),
            xticks=grid.index,
            yticks=grid.columns,
        )
        axes.tick_params(labelsize=7, pad=0)
        axes.view_init(elev=26, azim=-55)
    figure.suptitle(f"Sensitivity on {title} (mean in per cent)")
    return figure


def plot_sensitivity_maps(scores: Mapping[str, pd.DataFrame], title: str) -> Figure:
    """Scores over alpha and T as numbers on a colour scale of their own."""
    figure = _new_figure(10.5, 3.6)
    for axes, (metric, grid) in zip(figure.subplots(1, 3), scores.items(), strict=True):
        values = grid.to_numpy(float)
        axes.imshow(values, cmap="YlGnBu", origin="lower", aspect="auto")
        axes.grid(visible=False)
        _draw_numbers(axes, values)
        low, high = np.nanmin(values), np.nanmax(values)
        axes.set(
            title=f"{METRIC_TITLES[metric]}  {low:.1f} to {high:.1f}",
            xlabel="$T$",
            ylabel=r"$\alpha$",
            xticks=range(len(grid.columns)),
            xticklabels=grid.columns,
            yticks=range(len(grid.index)),
            yticklabels=grid.index,
        )
    figure.suptitle(f"Sensitivity on {title} (mean in per cent; best outlined)")
    return figure


def _draw_numbers(axes: Axes, scores: FloatArray) -> None:
    low, high = float(np.nanmin(scores)), float(np.nanmax(scores))
    best = np.unravel_index(np.nanargmax(scores), scores.shape)
    for (row, column), value in np.ndenumerate(scores):
        if np.isfinite(value):
            axes.text(
                column,
                row,
                f"{value:.1f}",
                ha="center",
                va="center",
                fontsize=8,
                color="white" if value > low + 0.6 * (high - low) else INK,
                fontweight="bold" if (row, column) == best else "normal",
            )
    corner = (float(best[1]) - 0.47, float(best[0]) - 0.47)
    axes.add_patch(
        Rectangle(corner, 0.94, 0.94, fill=False, edgecolor=ACCENT, linewidth=2)
    )


def plot_digits(pixels: FloatArray, target: Any, n_each: int = 10) -> Figure:
    """Sample images of Handwritten: one row of images per class."""
    classes = np.unique(target)
    figure = _new_figure(5.6, 5.6 * len(classes) / n_each * 16 / 15)
    sheet = np.block(
        [
            [
                np.pad(image.reshape(DIGIT_SHAPE), 1)
                for image in pixels[target == label][:n_each]
            ]
            for label in classes
        ]
    )
    axes = figure.subplots()
    axes.imshow(sheet, cmap="gray_r", interpolation="nearest")
    axes.set_axis_off()
    axes.set_title("Handwritten Numerals: ten samples of each class, pixel view")
    return figure


def plot_robustness(curves: Mapping[str, pd.DataFrame], repeats: int) -> Figure:
    """ACC as one view turns into noise, NSMVC against all others."""
    figure = _new_figure(5.4 * len(curves), 4.6)
    panels = figure.subplots(1, len(curves), squeeze=False)[0]
    for axes, (title, means) in zip(panels, curves.items(), strict=True):
        means = means.dropna(axis="columns")
        shares = 100 * means.index.to_numpy()
        others = [label for label in map(str, means) if label[:5] != "NSMVC"]
        colors = dict(zip(others, cluster_colors(len(others)), strict=True))
        for label, values in zip(map(str, means), means.to_numpy().T, strict=True):
            ours = label not in colors
            axes.plot(
                shares,
                values,
                "o-",
                color=INK if ours else colors[label],
                linewidth=2.8 if ours else 1.3,
                markersize=5 if ours else 3,
                zorder=3 if ours else 2,
            )
        axes.set(
            title=title,
            xlabel="samples whose view is noise (%)",
            ylabel="ACC (%)",
            xticks=shares,
        )
        _label_ends(axes, float(shares[-1]), dict(means.iloc[-1]), colors)
    figure.suptitle(f"ACC as one view turns into noise (mean of {repeats} runs)")
    return figure


def plot_ablation(means: pd.DataFrame, errors: pd.DataFrame, title: str) -> Figure:
    """Scores with parts of NSMVC switched off, with confidence intervals.

    means, errors : a row per data set, a column per variant; errors are half widths.
    """
    figure = _new_figure(10.5, 3.8)
    axes = figure.subplots()
    colors = [ACCENT, *cluster_colors(len(means.columns) - 1)]
    width = 0.8 / len(means.columns)
    places = np.arange(len(means))
    for number, (label, color) in enumerate(zip(means, colors, strict=True)):
        axes.bar(
            places + (number - (len(means.columns) - 1) / 2) * width,
            means[label],
            0.92 * width,
            yerr=errors[label],
            color=color,
            error_kw={"ecolor": INK, "elinewidth": 1, "capsize": 2},
            label=str(label),
        )
    axes.set(
        xticks=places, xticklabels=means.index, ylabel=f"{title} (%)", ylim=(0, 100)
    )
    axes.grid(visible=False, axis="x")
    figure.legend(loc="outside right center", frameon=False)
    figure.suptitle(f"What exponents and self-pacing contribute to {title}")
    return figure


def plot_ranks(
    mean_ranks: pd.Series[float],
    width: float,
    groups: Sequence[Sequence[str]],
    title: str,
) -> Figure:
    """Mean ranks on a line, best at the left; bars join what cannot be told apart.

    width : the critical difference, drawn above the line.
    """
    ordered = mean_ranks.sort_values(kind="stable")
    n_methods = len(ordered)
    half = -(-n_methods // 2)
    first_name = 0.55 + 0.28 * len(groups)
    lowest = first_name + 0.42 * half
    figure = _new_figure(9.0, 1.3 + 0.42 * lowest)
    axes = figure.subplots()
    axes.set(xlim=(-2.2, n_methods + 3.2), ylim=(lowest, -1.5))
    axes.set_axis_off()
    axes.plot([1, n_methods], [0, 0], color=INK, linewidth=1.2)
    for tick in range(1, n_methods + 1):
        axes.plot([tick, tick], [-0.12, 0], color=INK, linewidth=1.2)
        axes.text(tick, -0.22, str(tick), ha="center", va="bottom", fontsize=8)
    axes.plot([1, 1 + width], [-0.95, -0.95], color=ACCENT, linewidth=2.4)
    axes.text(
        1 + width / 2,
        -1.05,
        f"critical difference {width:.2f}",
        ha="center",
        va="bottom",
        color=ACCENT,
        fontsize=8,
    )
    for place, (label, rank) in enumerate(ordered.items()):
        left = place < half
        depth = first_name + 0.42 * (place if left else n_methods - 1 - place)
        end = 0.6 if left else n_methods + 0.4
        axes.plot([rank, rank, end], [0, depth, depth], color=PALE, linewidth=1)
        axes.text(
            end + (-0.1 if left else 0.1),
            depth,
            f"{label}  {rank:.1f}",
            ha="right" if left else "left",
            va="center",
            fontsize=9,
            fontweight="bold" if "NSMVC" in str(label) else "normal",
        )
    for number, group in enumerate(groups):
        depth = 0.3 + 0.28 * number
        low, high = ordered[group[0]], ordered[group[-1]]
        axes.plot([low - 0.05, high + 0.05], [depth, depth], color=INK, linewidth=3)
    figure.suptitle(title)
    return figure


def _new_figure(width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")


def _panels_for(
    content: Mapping[str, Any], height: float = 2.4
) -> tuple[Figure, list[Axes]]:
    """A figure with one panel per data set, at most three in a row."""
    n_columns = min(3, len(content))
    n_rows = -(-len(content) // n_columns)
    figure = _new_figure(3.5 * n_columns, height * n_rows + 0.4)
    grid = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for axes in grid[len(content) :]:
        axes.set_axis_off()
    return figure, list(grid[: len(content)])


def _label_outer(panels: Sequence[Axes], x_label: str, y_label: str) -> None:
    """Name the axes, the vertical ones in the first column only."""
    for axes in panels:
        place = axes.get_subplotspec()
        axes.set_xlabel(x_label)
        if place is not None and place.is_first_col():
            axes.set_ylabel(y_label)


def _label_ends(
    axes: Axes, end: float, heights: Mapping[str, float], colors: Mapping[str, str]
) -> None:
    """Write each curve's name beside its end, in its colour; bold ink without one."""
    low, high = axes.get_ylim()
    left, right = axes.get_xlim()
    room = (end - left) * 0.04
    axes.set_xlim(left, end + (right - left) * 0.36)
    axes.set_ylim(low, high)
    panel_height = axes.bbox.height / axes.figure.dpi
    gap = (high - low) * 0.13 / panel_height
    for label, height in spread_labels(heights, gap).items():
        axes.annotate(
            label,
            (end, heights[label]),
            (end + room, height),
            color=colors.get(label, INK),
            fontsize=8,
            fontweight="normal" if label in colors else "bold",
            va="center",
            arrowprops={"arrowstyle": "-", "color": GRID, "linewidth": 0.8},
            annotation_clip=False,
        )


def spread_labels(heights: Mapping[str, float], gap: float) -> dict[str, float]:
    """Heights moved apart to at least `gap`, in the same order, around where they are.

    Pushed up from below and down from above; the result is the mean of both.
    """
    order = sorted(heights, key=lambda label: heights[label])
    up: list[float] = []
    for label in order:
        up.append(max(heights[label], up[-1] + gap) if up else heights[label])
    down: list[float] = []
    for label in reversed(order):
        down.append(min(heights[label], down[-1] - gap) if down else heights[label])
    return {
        label: (high + low) / 2
        for label, high, low in zip(order, up, reversed(down), strict=True)
    }
