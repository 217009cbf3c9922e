"""The figures of the paper, and two it lacks, as Matplotlib figures.

Every function takes numbers, returns a figure and touches no global state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview._extras import import_extra
from manyview._typing import FloatArray
from manyview.bench._experiments import RobustnessCurves, Sensitivity, Trace
from manyview.bench._published import METRIC_TITLES, METRICS
from manyview.plotting._colors import cluster_colors
from manyview.plotting._paper_style import (
    ACCENT,
    INK,
    MUTED,
    label_ends,
    label_outer,
    new_figure,
    panels_for,
    paper_style,
    whole_ticks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Height and width of the images behind Handwritten's pixel view.
DIGIT_SHAPE = (16, 15)


def plot_pacing() -> Figure:
    """What a sample adds to its view's loss, against its own loss (Eq. 3)."""
    with paper_style():
        figure = new_figure(5.2, 3.2)
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], color=ACCENT, linewidth=2.2)
        axes.plot([1, 1.8], [0, 0], color=ACCENT, linewidth=2.2)
        axes.plot([1, 1], [0, 1], color=MUTED, linestyle=":", linewidth=1.2)
        axes.plot(1, 1, "o", color=ACCENT, markersize=6)
        axes.plot(
            1, 0, "o", markerfacecolor="white", markeredgecolor=ACCENT, markersize=6
        )
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
    with paper_style():
        figure, panels = panels_for(traces)
        for axes, (title, runs) in zip(panels, traces.items(), strict=True):
            longest = 1
            for number, trace in enumerate(runs):
                values = [r.objective for r in trace.history if r.pace == 1]
                longest = max(longest, len(values))
                _draw_run(axes, np.arange(1, len(values) + 1), values, number)
            axes.set(title=title, xlim=(0.5, longest + 0.5))
            whole_ticks(axes)
        label_outer(panels, "iteration", "objective")
        figure.suptitle(
            "Convergence in the first pace (bold: first of "
            f"{len(next(iter(traces.values())))} random starts)"
        )
        return figure


def plot_all_paces(traces: Mapping[str, Sequence[Trace]]) -> Figure:
    """Objective over all paces of the first start; bands tell the paces apart.

    A new pace selects other samples and other exponents: values compare within a band
    only.
    """
    with paper_style():
        figure, panels = panels_for(traces)
        for axes, (title, runs) in zip(panels, traces.items(), strict=True):
            history = runs[0].history
            for pace in sorted({record.pace for record in history}):
                steps = [i + 1 for i, r in enumerate(history) if r.pace == pace]
                values = [history[i - 1].objective for i in steps]
                if pace % 2:
                    axes.axvspan(
                        steps[0] - 0.5, steps[-1] + 0.5, color="#f1f3f6", linewidth=0
                    )
                axes.plot(
                    steps, values, ".-", color=ACCENT, linewidth=1.6, markersize=4
                )
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
            whole_ticks(axes)
        label_outer(panels, "iteration", "objective")
        figure.suptitle(
            "Convergence over all paces (numbers: pace; the objective falls within "
            "each, not across)"
        )
        return figure


def plot_exponents(traces: Mapping[str, Sequence[Trace]]) -> Figure:
    """Exponent of each view over the paces: mean and range over the starts."""
    with paper_style():
        figure, panels = panels_for(traces, height=2.7)
        for axes, (title, runs) in zip(panels, traces.items(), strict=True):
            names = runs[0].view_names
            curves = np.array([_pace_exponents(trace) for trace in runs])
            paces = np.arange(1, curves.shape[1] + 1)
            for view, color in enumerate(cluster_colors(len(names))):
                values = curves[:, :, view]
                axes.fill_between(
                    paces,
                    values.min(axis=0),
                    values.max(axis=0),
                    color=color,
                    alpha=0.12,
                    linewidth=0,
                )
                axes.plot(
                    paces,
                    values.mean(axis=0),
                    "o-",
                    color=color,
                    markersize=3.5,
                )
            axes.set(title=title, ylim=(0, 1.05), xticks=paces)
            ends = dict(zip(names, curves[:, -1].mean(axis=0), strict=True))
            colors = dict(zip(names, cluster_colors(len(names)), strict=True))
            label_ends(axes, float(paces[-1]), ends, colors)
        label_outer(panels, "pace", "exponent $\\eta$")
        figure.suptitle("Exponents of the views, from the first pace to the last")
        return figure


def plot_sensitivity_surfaces(grid: Sensitivity, title: str) -> Figure:
    """Scores over alpha and T as surfaces, the way the paper shows them."""
    with paper_style():
        figure = new_figure(10.5, 3.7)
        alphas, paces = np.meshgrid(grid.alphas, grid.n_paces, indexing="ij")
        for position, metric in enumerate(METRICS):
            axes: Any = figure.add_subplot(1, 3, position + 1, projection="3d")
            axes.plot_surface(
                alphas,
                paces,
                grid.scores[metric],
                cmap="viridis",
                edgecolor="white",
                linewidth=0.5,
            )
            axes.set(
                title=METRIC_TITLES[metric],
                xlabel=r"$\alpha$",
                ylabel="$T$",
                zlim=(0, 100),
                xticks=grid.alphas,
                yticks=grid.n_paces,
            )
            axes.tick_params(labelsize=7, pad=0)
            axes.view_init(elev=26, azim=-55)
        figure.suptitle(f"Sensitivity on {title} (mean in per cent)")
        return figure


def plot_sensitivity_maps(grid: Sensitivity, title: str) -> Figure:
    """Scores over alpha and T as numbers on a colour scale of their own."""
    with paper_style():
        figure = new_figure(10.5, 3.6)
        panels = figure.subplots(1, 3)
        for axes, metric in zip(panels, METRICS, strict=True):
            _draw_map(axes, grid.scores[metric])
            axes.set(
                title=f"{METRIC_TITLES[metric]}  {_spread(grid.scores[metric])}",
                xlabel="$T$",
                ylabel=r"$\alpha$",
                xticks=range(len(grid.n_paces)),
                xticklabels=grid.n_paces,
                yticks=range(len(grid.alphas)),
                yticklabels=grid.alphas,
            )
        figure.suptitle(f"Sensitivity on {title} (mean in per cent; best outlined)")
        return figure


def plot_digits(pixels: FloatArray, target: Any, n_each: int = 10) -> Figure:
    """Sample images of Handwritten: one row of images per class."""
    classes = np.unique(target)
    with paper_style():
        figure = new_figure(5.6, 5.6 * len(classes) / n_each * 16 / 15)
        sheet = np.vstack(
            [
                np.hstack(
                    [
                        np.pad(image.reshape(DIGIT_SHAPE), 1)
                        for image in pixels[target == label][:n_each]
                    ]
                )
                for label in classes
            ]
        )
        axes = figure.subplots()
        axes.imshow(sheet, cmap="gray_r", interpolation="nearest")
        axes.set_axis_off()
        axes.set_title("Handwritten Numerals: ten samples of each class, pixel view")
        return figure


def plot_robustness(curves: Sequence[RobustnessCurves]) -> Figure:
    """ACC as one view turns into noise, NSMVC against all others."""
    with paper_style():
        figure = new_figure(5.4 * len(curves), 4.6)
        panels = figure.subplots(1, len(curves), squeeze=False)[0]
        for axes, found in zip(panels, curves, strict=True):
            _draw_robustness(axes, found)
        figure.suptitle(
            f"ACC as one view turns into noise (mean of {curves[0].repeats} runs)"
        )
        return figure


def _draw_robustness(axes: Axes, found: RobustnessCurves) -> None:
    shares = 100 * np.array(found.shares)
    labels = [label for label, means in found.means.items() if np.isfinite(means).all()]
    others = [label for label in labels if not label.startswith("NSMVC")]
    colors = dict(zip(others, cluster_colors(len(others)), strict=True))
    for label in labels:
        ours = label not in colors
        axes.plot(
            shares,
            found.means[label],
            "o-",
            color=INK if ours else colors[label],
            linewidth=2.8 if ours else 1.3,
            markersize=5 if ours else 3,
            zorder=3 if ours else 2,
        )
    axes.set(
        title=f"{found.title}: view {found.view}",
        xlabel="samples whose view is noise (%)",
        ylabel="ACC (%)",
        xticks=shares,
    )
    ends = {label: float(found.means[label][-1]) for label in labels}
    label_ends(axes, float(shares[-1]), ends, colors)


def _pace_exponents(trace: Trace) -> FloatArray:
    """(n_paces, n_views): exponents are fixed within a pace."""
    by_pace = {record.pace: record.exponents for record in trace.history}
    return np.array([by_pace[pace] for pace in sorted(by_pace)])


def _draw_run(axes: Axes, steps: Any, values: Sequence[float], number: int) -> None:
    first = number == 0
    axes.plot(
        steps,
        values,
        ".-" if first else "-",
        color=ACCENT if first else "#b9c0c9",
        linewidth=2 if first else 1,
        markersize=5,
        zorder=3 if first else 2,
    )


def _draw_map(axes: Axes, scores: FloatArray) -> None:
    axes.imshow(scores, cmap="YlGnBu", origin="lower", aspect="auto")
    axes.grid(visible=False)
    best = None
    dark = float("inf")
    if np.isfinite(scores).any():
        best = np.unravel_index(np.nanargmax(scores), scores.shape)
        dark = float(np.nanmin(scores) + 0.6 * np.ptp(scores[np.isfinite(scores)]))
    for (row, column), value in np.ndenumerate(scores):
        if not np.isfinite(value):
            continue
        axes.text(
            column,
            row,
            f"{value:.1f}",
            ha="center",
            va="center",
            fontsize=8,
            color="white" if value > dark else INK,
            fontweight="bold" if (row, column) == best else "normal",
        )
    if best is not None:
        patches = import_extra("matplotlib.patches", "plot", "A figure")
        corner = (best[1] - 0.47, best[0] - 0.47)
        axes.add_patch(
            patches.Rectangle(
                corner, 0.94, 0.94, fill=False, edgecolor=ACCENT, linewidth=2
            )
        )


def _spread(scores: FloatArray) -> str:
    if not np.isfinite(scores).any():
        return ""
    return f"{np.nanmin(scores):.1f} to {np.nanmax(scores):.1f}"
