"""How the figures of the paper look: colours, panels, labels, files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manyview._extras import import_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#24292f"
MUTED = "#6b7480"
GRID = "#e3e6ea"
ACCENT = "#c8434f"
STYLE = {
    "font.size": 9,
    "font.family": "DejaVu Sans",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlecolor": INK,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "text.color": INK,
    "legend.frameon": False,
    "figure.facecolor": "white",
    # Equal numbers give equal files.
    "svg.hashsalt": "manyview",
    "svg.fonttype": "path",
}


@contextmanager
def paper_style() -> Iterator[None]:
    """Matplotlib settings of these figures, for as long as they are drawn."""
    matplotlib = import_extra("matplotlib", "plot", "A figure")
    with matplotlib.rc_context(STYLE):
        yield


def save_figure(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG and SVG; equal figures give equal files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    with paper_style():
        figure.savefig(paths[0], dpi=150, metadata={"Software": None})
        figure.savefig(paths[1], metadata={"Date": None})
    return paths


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of the given size in inches."""
    figures = import_extra("matplotlib.figure", "plot", "A figure")
    figure: Figure = figures.Figure(figsize=(width, height), layout="constrained")
    return figure


def panels_for(
    content: Mapping[str, Any], height: float = 2.4
) -> tuple[Figure, list[Axes]]:
    """A figure with one panel per data set, at most three in a row."""
    n_columns = min(3, len(content))
    n_rows = -(-len(content) // n_columns)
    figure = new_figure(3.5 * n_columns, height * n_rows + 0.4)
    grid = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for axes in grid[len(content) :]:
        axes.set_axis_off()
    return figure, list(grid[: len(content)])


def label_outer(panels: Sequence[Axes], x_label: str, y_label: str) -> None:
    """Name the axes, the vertical ones in the first column only."""
    for axes in panels:
        place = axes.get_subplotspec()
        assert place is not None
        axes.set_xlabel(x_label)
        if place.is_first_col():
            axes.set_ylabel(y_label)


def whole_ticks(axes: Axes) -> None:
    """Tick iterations at whole numbers only."""
    ticker = import_extra("matplotlib.ticker", "plot", "A figure")
    axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))


def label_ends(
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

    Pushing up from below and down from above, and meeting in the middle.
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
