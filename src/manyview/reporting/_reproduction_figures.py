"""Draws the figures of a reproduction from its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from manyview.bench._data import BenchData, load_data
from manyview.bench._experiments import (
    robustness_curves,
    sensitivity,
    trace_convergence,
)
from manyview.bench._protocol import Protocol
from manyview.bench._published import title_of
from manyview.bench._store import Outcome
from manyview.plotting import _paper
from manyview.plotting._paper_style import save_figure
from manyview.reporting._reproduction import ReportFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The sets whose sensitivity the paper shows.
SENSITIVITY_SETS = ("handwritten", "msrcv1")


def draw_figures(
    protocol: Protocol,
    datasets: Sequence[BenchData],
    outcomes: Mapping[str, Outcome],
    folder: Path,
) -> list[ReportFigure]:
    """Write every figure the data at hand allow, as PNG and SVG.

    Parameters
    ----------
    protocol : Protocol
        The protocol whose grid and noise experiment are drawn.
    datasets : sequence of BenchData
        Data sets at hand; figures of others are left out.
    outcomes : mapping of str to Outcome
        Finished runs by key.
    folder : Path
        Where the files go.

    Returns
    -------
    figures : list of ReportFigure
        In the order of the paper, each with its SVG file.
    """
    gallery = _Gallery(folder)
    gallery.add(
        "pacing",
        _paper.plot_pacing(),
        "Self-paced selection",
        "A sample counts with its own loss up to the threshold of its view, and not at "
        "all beyond it (Eq. 3, with the equality of Algorithm 1).",
    )
    _draw_digits(gallery, datasets)
    _draw_convergence(gallery, datasets)
    for data in datasets:
        if data.name in SENSITIVITY_SETS:
            _draw_sensitivity(gallery, protocol, data, outcomes)
    curves = [robustness_curves(protocol, data, outcomes) for data in datasets]
    found = [c for c in curves if c is not None and _has_values(c.means)]
    if found:
        gallery.add(
            "robustness",
            _paper.plot_robustness(found),
            "Robustness to a corrupted view",
            "Not in the paper. A growing share of the samples has its row in one view "
            "replaced by values drawn feature by feature from other samples. Few "
            f"repeats ({found[0].repeats}), nothing tuned; the views were named "
            "before any result was seen.",
        )
    return gallery.figures


class _Gallery:
    """Figures as they are drawn and saved."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.figures: list[ReportFigure] = []

    def add(self, name: str, figure: Figure, title: str, caption: str) -> None:
        _, svg = save_figure(figure, self._folder, name)
        self.figures.append(ReportFigure(title=title, caption=caption, path=svg))


def _draw_digits(gallery: _Gallery, datasets: Sequence[BenchData]) -> None:
    for data in datasets:
        if data.name == "handwritten":
            loaded = load_data(data.ref)
            pixels = np.asarray(loaded.views[loaded.view_names.index("pix")])
            gallery.add(
                "digits",
                _paper.plot_digits(pixels, loaded.target),
                "Sample images",
                "Ten images of each class of Handwritten Numerals, drawn from the "
                "pixel view. (MSRCv1 is distributed as features only, without images.)",
            )


def _draw_convergence(gallery: _Gallery, datasets: Sequence[BenchData]) -> None:
    traces = {title_of(data.name): trace_convergence(data) for data in datasets}
    if not traces:
        return
    gallery.add(
        "convergence-first-pace",
        _paper.plot_first_pace(traces),
        "Convergence in the first pace",
        "Objective over the iterations, as in the paper; alpha = 0.5, T = 6. Levels "
        "differ between starts because the exponents do.",
    )
    gallery.add(
        "convergence-all-paces",
        _paper.plot_all_paces(traces),
        "Convergence over all paces",
        "The first start, from the first pace to the last. Each pace has its own "
        "selection and exponents, so the objective jumps between paces and falls "
        "within them.",
    )
    gallery.add(
        "exponents",
        _paper.plot_exponents(traces),
        "Exponents of the views",
        "Not in the paper. Mean over the starts, with their range; 1 marks the view "
        "the method trusts most.",
    )


def _draw_sensitivity(
    gallery: _Gallery,
    protocol: Protocol,
    data: BenchData,
    outcomes: Mapping[str, Outcome],
) -> None:
    grid = sensitivity(protocol, data, outcomes)
    if grid is None or not _has_values(grid.scores):
        return
    title = title_of(data.name)
    gallery.add(
        f"sensitivity-{data.name}-surfaces",
        _paper.plot_sensitivity_surfaces(grid, title),
        f"Sensitivity on {title}",
        "Mean scores over alpha and T as surfaces from 0 to 100, as in the paper.",
    )
    gallery.add(
        f"sensitivity-{data.name}-maps",
        _paper.plot_sensitivity_maps(grid, title),
        f"Sensitivity on {title}, readable",
        f"The same numbers, each a mean of {protocol.repeats} runs, on a scale of "
        "their own.",
    )


def _has_values(arrays: Mapping[str, np.ndarray]) -> bool:
    return any(bool(np.isfinite(values).any()) for values in arrays.values())
