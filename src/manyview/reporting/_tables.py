"""Contents of the report's tables and lists; the template says which ones it shows."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from manyview._typing import FloatArray, IntArray
from manyview._version import __version__
from manyview.explain import Explanation
from manyview.reporting._page import Column

# Views whose agreement differs by less agree equally often.
SAME_AGREEMENT = 0.005


def sample_columns(
    samples: IntArray, ids: Sequence[str], explanation: Explanation
) -> list[Column]:
    """What every list of samples begins with."""
    labels, names = explanation.labels[samples], explanation.cluster_names
    return [
        Column("Sample", [str(ids[i]) for i in samples]),
        Column("Cluster", labels, clusters=names),
        Column("Confidence", explanation.confidence[samples], ".2f"),
    ]


def main_classes(counts: IntArray, class_names: Sequence[str]) -> list[str]:
    """Per cluster, the class that most of its samples have."""
    return [class_names[best] for best in counts.argmax(axis=1)]


def views_agree(explanation: Explanation) -> list[float]:
    """Per cluster, the share of samples for which every view chooses it."""
    united = explanation.disagreement == 0
    inside = [explanation.labels == j for j in range(len(explanation.cluster_names))]
    return [float(united[own].mean()) if own.any() else np.nan for own in inside]


def own_paces(joined_pace: IntArray) -> FloatArray:
    """(n_views, n_samples), when each sample joined; NaN in a view that it lacks."""
    return np.where(joined_pace > 0, joined_pace, np.nan)


def mean_pace(joined_pace: IntArray) -> FloatArray:
    """(n_samples,), over the views that a sample has."""
    n_views = (joined_pace > 0).sum(axis=0)
    return np.asarray(joined_pace.sum(axis=0) / np.maximum(1, n_views))


def ranked(values: FloatArray, explanation: Explanation) -> IntArray:
    """(n_samples,), samples by falling value; of equal ones the least sure first."""
    return np.lexsort((explanation.confidence, -values))


def most_agreeing(explanation: Explanation) -> list[str]:
    """The views that agree with the result most often."""
    agreement = explanation.agreement
    best = agreement >= agreement.max() - SAME_AGREEMENT
    return [explanation.view_names[v] for v in np.flatnonzero(best)]


def setting(value: Any) -> str:
    """A parameter in a few words."""
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def versions() -> list[tuple[str, str]]:
    """Of the software that made the report."""
    return [
        ("manyview", __version__),
        ("Python", platform.python_version()),
        *((name, version(name)) for name in ("numpy", "scikit-learn", "numba")),
        ("system", f"{platform.system()} {platform.machine()}"),
    ]
