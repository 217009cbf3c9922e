"""How far soft membership can be believed: ``python -m benchmarks.calibration``.

Clusters are matched with known classes, and membership in the own cluster is compared
with the share of samples whose class is that of their cluster, in ten bins. Classes
serve for this comparison only. Data sets are those of ``python -m reproduction``; sets
that are not there are left out. With ``--figure FILE`` the diagrams are drawn.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from manyview import NSMVC, GraphNSMVC
from manyview.exceptions import DatasetError
from reproduction.data import load_data

SETS = (
    "handwritten",
    "msrcv1",
    "cornell",
    "texas",
    "washington",
    "wisconsin",
    "3sources",
    "orl",
    "bbcsport",
    "aloi",
    "proteinfold",
    "prokaryotic",
    "landuse21",
    "bdgp",
    "reuters1200",
    "movies",
)
N_BINS = 10


def match_classes(labels: Any, classes: Any) -> Any:
    """(n_samples,), whether a sample's class is the one matched with its cluster."""
    table = np.zeros((labels.max() + 1, classes.max() + 1))
    np.add.at(table, (labels, classes), 1)
    clusters, matched = linear_sum_assignment(-table)
    class_of = np.full(len(table), -1)
    class_of[clusters] = matched
    return class_of[labels] == classes


def reliability(confidence: Any, right: Any) -> list[tuple[int, float, float]]:
    """Per occupied bin: samples, mean confidence, share that is right."""
    bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    return [
        (
            int(inside.sum()),
            float(confidence[inside].mean()),
            float(right[inside].mean()),
        )
        for inside in (bins == b for b in range(N_BINS))
        if inside.any()
    ]


def calibration_error(bins: list[tuple[int, float, float]]) -> float:
    """Expected calibration error: the bins' gaps, weighted by their samples."""
    total = sum(n for n, _, _ in bins)
    return sum(n * abs(claimed - found) for n, claimed, found in bins) / total


def assess(name: str, Estimator: Any) -> list[tuple[int, float, float]] | None:
    """Bins of one data set, or None if it is not there."""
    try:
        data = load_data(name)
    except DatasetError:
        return None
    classes = np.unique(data.target, return_inverse=True)[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Estimator(int(classes.max()) + 1, random_state=0).fit(list(data.views))
    confidence = model.membership_.max(axis=1)
    return reliability(confidence, match_classes(model.labels_, classes))


def draw(found: dict[str, list[tuple[int, float, float]]], path: str) -> None:
    """A reliability diagram per data set; the area of a dot is its share of samples."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(4, 4, figsize=(10, 10), sharex=True, sharey=True)
    for ax, (name, bins) in zip(axes.flat, found.items(), strict=False):
        n, claimed, right = np.array(bins).T
        ax.plot([0, 1], [0, 1], color="0.8", linewidth=1)
        ax.plot(claimed, right, color="#3b6fd4", linewidth=1)
        ax.scatter(claimed, right, s=220 * n / n.sum() + 4, color="#3b6fd4", alpha=0.7)
        ax.set_title(f"{name}, ECE {calibration_error(bins):.2f}", fontsize=10)
        ax.set(xlim=(0, 1.03), ylim=(0, 1.03))
    figure.supxlabel("membership in the own cluster")
    figure.supylabel("share whose class is that of their cluster")
    figure.tight_layout()
    figure.savefig(path, dpi=90)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figure", metavar="FILE", help="draw GraphNSMVC's diagrams")
    options = parser.parse_args()
    drawn = {}
    print("data set        method      accuracy  membership   ECE")
    for name in SETS:
        for Estimator in (GraphNSMVC, NSMVC):
            bins = assess(name, Estimator)
            if bins is None:
                continue
            n, claimed, right = np.array(bins).T
            mean, accuracy = (
                np.average(claimed, weights=n),
                np.average(right, weights=n),
            )
            print(
                f"{name:<15} {Estimator.__name__:<11} {accuracy:8.2f} {mean:11.2f} "
                f"{calibration_error(bins):5.2f}"
            )
            if Estimator is GraphNSMVC:
                drawn[name] = bins
    if options.figure:
        draw(drawn, options.figure)


if __name__ == "__main__":
    main()
