"""Sentences and small facts of the clustering report."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

import numpy as np

from manyview._version import __version__
from manyview.explain import Explanation
from manyview.reporting._page import plural
from manyview.reporting._subject import Subject

# Views whose agreement differs by less agree equally often.
SAME_AGREEMENT = 0.005


def summary(subject: Subject) -> str:
    """What came out, in a sentence or two."""
    explanation = subject.explanation
    n_views = len(explanation.view_names)
    united = float((explanation.disagreement == 0).mean())
    parts = [
        f"{plural(len(explanation.labels), 'sample')} in "
        f"{plural(len(subject.sizes), 'cluster')}, from {plural(n_views, 'view')}."
    ]
    if n_views > 1:
        parts.append(
            f"All views choose the same cluster for {united:.0%} of the samples; "
            f"{_most_agreeing(explanation)}."
        )
    if explanation.n_noise:
        parts.append(f"{plural(explanation.n_noise, 'sample')} fit no cluster.")
    return " ".join(parts)


def _most_agreeing(explanation: Explanation) -> str:
    agreement = explanation.agreement
    best = agreement >= agreement.max() - SAME_AGREEMENT
    if best.all():
        return "all agree with the result equally often"
    pairs = zip(explanation.view_names, best, strict=True)
    names = [name for name, is_best in pairs if is_best]
    verb = "agrees" if len(names) == 1 else "agree"
    return f"{' and '.join(names)} {verb} with the result most often"


def settings(subject: Subject) -> list[tuple[str, str]]:
    """Method and parameters."""
    facts = [("method", subject.method)]
    if subject.estimator is not None:
        params = subject.estimator.get_params()
        facts += [(name, _setting(value)) for name, value in params.items()]
    return facts


def _setting(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def data_facts(subject: Subject) -> list[tuple[str, str]]:
    """Size of the data, and where it comes from."""
    views = subject.clustering.views
    widths = ", ".join(
        f"{name} {width:,}"
        for name, width in zip(views.names, views.n_features, strict=True)
    )
    size = [("samples", f"{len(subject.ids):,}"), ("features", widths)]
    return [*size, *subject.options.provenance]


def versions() -> list[tuple[str, str]]:
    """Of the software that made the report."""
    return [
        ("manyview", __version__),
        ("Python", platform.python_version()),
        *((name, version(name)) for name in ("numpy", "scikit-learn", "numba")),
        ("system", f"{platform.system()} {platform.machine()}"),
    ]
