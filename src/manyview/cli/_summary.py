"""What a run is about, as plain values for ``summary.json`` and the screen."""

from __future__ import annotations

import dataclasses
import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from manyview._version import __version__
from manyview.cli._sources import Request, title_of
from manyview.datasets import MultiViewData
from manyview.explain import Explanation
from manyview.metrics import (
    adjusted_rand_score,
    clustering_accuracy,
    nmi_score,
    purity_score,
)
from manyview.model_selection import ClusterCountChoice

FORMAT = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One run of ``manyview cluster``."""

    request: Request
    data: MultiViewData
    estimator: Any
    explanation: Explanation
    choice: ClusterCountChoice | None
    seconds: float
    command: str


def summarise(run: Run) -> dict[str, Any]:
    """The run as JSON values."""
    data, explanation = run.data, run.explanation
    labels = explanation.labels
    return {
        "format": FORMAT,
        "manyview": __version__,
        "command": run.command,
        "request": dataclasses.asdict(run.request.resolved()),
        "method": type(run.estimator).__name__,
        "params": {name: _plain(p) for name, p in run.estimator.get_params().items()},
        "n_clusters": int(run.estimator.n_clusters),
        "seconds": round(run.seconds, 3),
        "data": {
            "name": title_of(data),
            "n_samples": data.n_samples,
            "source": data.source,
            "license": data.license,
        },
        "clusters": _clusters(explanation),
        "views": _views(run),
        "scores": None if data.target is None else scores(data.target, labels),
        "choice": None if run.choice is None else dataclasses.asdict(run.choice),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "scikit-learn", "numba")},
        },
    }


def scores(target: Any, labels: Any) -> dict[str, float]:
    """Agreement with known classes."""
    return {
        "accuracy": clustering_accuracy(target, labels),
        "nmi": nmi_score(target, labels),
        "purity": purity_score(target, labels),
        "ari": float(adjusted_rand_score(target, labels)),
    }


def choice_of(summary: dict[str, Any]) -> ClusterCountChoice | None:
    """The choice of the number of clusters that a summary tells of."""
    stored = summary.get("choice")
    if stored is None:
        return None
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in stored.items()
        if name in ClusterCountChoice.__dataclass_fields__
    }
    return ClusterCountChoice(**fields)


def _clusters(explanation: Explanation) -> list[dict[str, Any]]:
    rows = []
    for cluster, size in enumerate(np.bincount(explanation.labels)):
        inside = explanation.labels == cluster
        rows.append(
            {
                "cluster": cluster,
                "size": int(size),
                "confidence": float(explanation.confidence[inside].mean())
                if size
                else None,
            }
        )
    return rows


def _views(run: Run) -> list[dict[str, Any]]:
    exponents = getattr(run.estimator, "exponents_", None)
    return [
        {
            "name": name,
            "n_features": int(run.data.views[v].shape[1]),
            "exponent": None if exponents is None else float(exponents[v]),
            "weight": float(run.explanation.weights[v]),
            "agreement": float(run.explanation.agreement[v]),
            "unexplained": float(run.explanation.unexplained[v]),
        }
        for v, name in enumerate(run.explanation.view_names)
    ]


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return repr(value)
