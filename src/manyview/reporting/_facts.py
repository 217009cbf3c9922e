"""Small facts of the clustering report; its sentences are in the template."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

import numpy as np

from manyview._version import __version__
from manyview.explain import Explanation
from manyview.reporting._subject import Subject

# Views whose agreement differs by less agree equally often.
SAME_AGREEMENT = 0.005


def most_agreeing(explanation: Explanation) -> list[str]:
    """The views that agree with the result most often."""
    agreement = explanation.agreement
    best = agreement >= agreement.max() - SAME_AGREEMENT
    return [explanation.view_names[v] for v in np.flatnonzero(best)]


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
