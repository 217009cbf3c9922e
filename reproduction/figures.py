"""The numbers behind the figures, and the figures as files."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from manyview import NSMVC
from manyview._files import whole_file
from reproduction import plots
from reproduction.data import DataInfo, load_data
from reproduction.plan import seed_for
from reproduction.plots import Trace
from reproduction.protocols import ABLATION, LABEL_START
from reproduction.ranks import Ranking, indistinct_groups
from reproduction.tables import METRIC_TITLES, METRICS, title_of

# The sets whose sensitivity the paper shows.
SENSITIVITY_SETS = ("handwritten", "msrcv1")
N_TRACES = 5


# Title and caption of every kind of figure.
WORDS = {
    "pacing": (
        "Self-paced selection",
        "A sample counts with its own loss up to the threshold of its view, and not at "
        "all beyond it (Eq. 3, with the equality of Algorithm 1).",
    ),
    "digits": (
        "Sample images",
        "Ten images of each class of Handwritten Numerals, drawn from the pixel view. "
        "(MSRCv1 is distributed as features only, without images.)",
    ),
    "convergence-first-pace": (
        "Convergence in the first pace",
        "Objective over the iterations, as in the paper; alpha = 0.5, T = 6. Levels "
        "differ between starts because the exponents do.",
    ),
    "convergence-all-paces": (
        "Convergence over all paces",
        "The first start, from the first pace to the last. Each pace has its own "
        "selection and exponents, so the objective jumps between paces and falls "
        "within them.",
    ),
    "exponents": (
        "Exponents of the views",
        "Not in the paper. Mean over the starts, with their range. The view with the "
        "smallest threshold has exponent 1. An exponent alone does not tell how much a "
        "view counts: its effective weight is the slope of its loss.",
    ),
    "surfaces": (
        "Sensitivity on {title}",
        "Mean scores over alpha and T as surfaces from 0 to 100, as in the paper.",
    ),
    "maps": (
        "Sensitivity on {title}, readable",
        "The same numbers, each a mean of {repeats} runs, on a scale of their own.",
    ),
    "ablation": (
        "Ablations",
        "Not in the paper. NSMVC with alpha = 0.5 and T = 6 as published, without "
        "exponents (eta = 1), without self-pacing (T = 1), and without both. Means of "
        "{repeats} runs with 95 % confidence intervals.",
    ),
    "ranks": (
        "Mean ranks by {metric}",
        "Not in the paper. All methods with the same scaling and restarts on {n_sets} "
        "data sets; rank 1 is best. A bar joins methods whose mean ranks differ by "
        "less than Nemenyi's critical difference at 5 %.",
    ),
    "robustness": (
        "Robustness to a corrupted view",
        "Not in the paper. A growing share of the samples has its row in one view "
        "replaced by values drawn feature by feature from other samples. Few repeats "
        "({repeats}), nothing tuned; the views were named before any result was seen.",
    ),
}


@dataclass(frozen=True, slots=True)
class Picture:
    """An image file with what it shows."""

    title: str
    caption: str
    path: Path


def draw_figures(
    results: pd.DataFrame,
    noisy: pd.DataFrame,
    datasets: Sequence[DataInfo],
    folder: Path,
    cells: pd.DataFrame,
    rankings: Sequence[Ranking] = (),
) -> list[Picture]:
    """Write every figure the data at hand allow, as PNG and SVG, in the paper's order.

    results : runs behind the tables. noisy : those of the noise experiment.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pictures = []
    with plots.paper_style():
        drawn = itertools.chain(
            _figures(results, noisy, datasets), _comparisons(cells, rankings)
        )
        for name, figure, facts in drawn:
            path = folder / f"{name}.svg"
            _save(figure, path.with_suffix(".png"), {"Software": None})
            _save(figure, path, {"Date": None})
            parts = name.split("-")
            kind = next(k for k in (name, parts[0], parts[-1]) if k in WORDS)
            title, caption = (text.format(**facts) for text in WORDS[kind])
            pictures.append(Picture(title, caption, path))
    return pictures


def _save(figure: Figure, path: Path, metadata: dict[str, Any]) -> None:
    """Write a figure whole or not at all."""
    with whole_file(path) as file:
        figure.savefig(file, format=path.suffix[1:], dpi=150, metadata=metadata)


def _figures(
    results: pd.DataFrame, noisy: pd.DataFrame, datasets: Sequence[DataInfo]
) -> Iterator[tuple[str, Figure, dict[str, Any]]]:
    """File name, figure, and the facts that its words need."""
    yield "pacing", plots.plot_pacing(), {}
    if "handwritten" in {data.source for data in datasets}:
        digits = load_data("handwritten")
        pixels = np.asarray(digits.views[digits.view_names.index("pix")])
        yield "digits", plots.plot_digits(pixels, digits.target), {}
    traces = {title_of(data.name): trace_convergence(data) for data in datasets}
    yield "convergence-first-pace", plots.plot_first_pace(traces), {}
    yield "convergence-all-paces", plots.plot_all_paces(traces), {}
    yield "exponents", plots.plot_exponents(traces), {}
    for dataset in SENSITIVITY_SETS:
        scores = sensitivity(results, dataset)
        if scores:
            name, title = f"sensitivity-{dataset}", title_of(dataset)
            facts = {"title": title, "repeats": repeats_of_all(results, dataset)}
            surfaces = plots.plot_sensitivity_surfaces(scores, title)
            yield f"{name}-surfaces", surfaces, facts
            yield f"{name}-maps", plots.plot_sensitivity_maps(scores, title), facts
    if len(noisy):
        repeats = noisy["repeat"].max() + 1
        figure = plots.plot_robustness(robustness(noisy), repeats)
        yield "robustness", figure, {"repeats": repeats}


def _comparisons(
    cells: pd.DataFrame, rankings: Sequence[Ranking]
) -> Iterator[tuple[str, Figure, dict[str, Any]]]:
    """Figures of the comparisons that the paper lacks."""
    ablation = cells[cells["protocol"] == ABLATION.name]
    for metric, title in METRIC_TITLES.items():
        own = ablation[ablation["metric"] == metric]
        if own["label"].nunique() > 1:
            means, errors = (
                own.pivot_table(
                    index="dataset", columns="label", values=column, sort=False
                ).rename(index=title_of)
                for column in ("mean", "half_width")
            )
            facts = {"repeats": own["runs"].max()}
            figure = plots.plot_ablation(means, errors, title)
            yield f"ablation-{metric}", figure, facts
    for ranking in rankings:
        title, n_sets = METRIC_TITLES[ranking.metric], len(ranking.scores)
        width = ranking.critical_difference
        figure = plots.plot_ranks(
            ranking.mean_ranks,
            width,
            indistinct_groups(ranking.mean_ranks, width),
            f"Mean rank by {title} over {n_sets} data sets",
        )
        yield f"ranks-{ranking.metric}", figure, {"metric": title, "n_sets": n_sets}


def trace_convergence(data: DataInfo, repeats: int = N_TRACES) -> list[Trace]:
    """Fit NSMVC as in the paper (alpha 0.5, T 6) and keep every iteration."""
    loaded = load_data(data.source)
    traces = []
    for repeat in range(repeats):
        model = NSMVC(
            len(np.unique(np.asarray(loaded.target))),
            **LABEL_START,
            random_state=seed_for(data.name, repeat),
        ).fit(list(loaded.views))
        traces.append(Trace(view_names=data.view_names, history=model.history_))
    return traces


def sensitivity(results: pd.DataFrame, dataset: str) -> dict[str, pd.DataFrame]:
    """Metric -> mean scores of the tuned NSMVC over alpha (rows) and T (columns)."""
    tuned = results["tuned"] & (results["label"] == "NSMVC")
    grid = results[tuned & (results["dataset"] == dataset)]
    if grid.empty:
        return {}
    grid = grid[grid["repeat"] < repeats_of_all(results, dataset)]
    params = pd.DataFrame([json.loads(text) for text in grid["params"]])
    grid = grid.assign(alpha=params["pace_start"].array, T=params["n_paces"].array)
    return {m: grid.pivot_table(index="alpha", columns="T", values=m) for m in METRICS}


def repeats_of_all(results: pd.DataFrame, dataset: str) -> int:
    """Repeats that every setting of the grid has."""
    grid = results[results["tuned"] & (results["dataset"] == dataset)]
    return int(grid.groupby(["label", "params"])["repeat"].nunique().min())


def robustness(results: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Panel title -> mean ACC by share of noise (rows) and method (columns)."""
    curves = {}
    for dataset, group in results.groupby("dataset", sort=False):
        parts = group["noise"].str.rpartition(":")
        view = parts[0].max()
        if view:
            group = group.assign(share=parts[2].replace("", "0").astype(float))
            means = group.pivot_table(
                index="share", columns="label", values="acc", sort=False
            )
            curves[f"{title_of(str(dataset))}: view {view}"] = means.sort_index()
    return curves
