"""What ``manyview cluster`` found, for the screen, the files and the report."""

from __future__ import annotations

import dataclasses
import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from manyview._version import __version__
from manyview.cli import _output
from manyview.cli._covariates import Covariates
from manyview.cli._request import Request
from manyview.cli._sources import imputed_words, sample_names, title_of
from manyview.cluster._clustering import Clustering
from manyview.datasets import MultiViewData
from manyview.explain import Explanation, associate
from manyview.metrics._scores import all_scores
from manyview.model_selection import ClusterCountChoice

if TYPE_CHECKING:
    from manyview.impute import ViewImputer
    from manyview.reporting._report import ReportOptions

FORMAT = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """One run of ``manyview cluster``.

    estimator : what was fitted. model : the same on this machine, with all labels.
    data, clustering, explanation : the samples that explanations and the report are
    about: all, or a random part of those on a Dask cluster. shown : `model` with the
    attributes of these samples only.
    """

    request: Request
    command: str
    seconds: float
    estimator: Any
    model: Any
    shown: Any
    data: MultiViewData
    clustering: Clustering
    explanation: Explanation
    choice: ClusterCountChoice | None = None
    imputer: ViewImputer | None = None
    covariates: Covariates | None = None

    @property
    def imputed(self) -> dict[str, int]:
        """Missing cells that were filled in, by view."""
        return {} if self.imputer is None else self.imputer.n_imputed_

    @property
    def n_samples(self) -> int:
        return len(self.model.labels_)

    @property
    def is_part(self) -> bool:
        """Whether explanations are about some of the samples only."""
        return self.data.n_samples < self.n_samples

    def write_labels(self, file: IO[str]) -> None:
        """All labels as CSV."""
        _output.write_labels(
            file,
            range(self.n_samples) if self.is_part else sample_names(self.data),
            self.model.labels_,
            None if self.is_part else self.explanation.confidence,
            view_names=self.data.view_names,
            joined_pace=getattr(self.model, "joined_pace_", None),
        )

    def save_labels(self, path: Path) -> None:
        """All labels as a CSV file."""
        with path.open("w", encoding="utf-8", newline="") as file:
            self.write_labels(file)

    def summarise(self) -> dict[str, Any]:
        """The run as JSON values."""
        data, params = self.data, self.estimator.get_params()
        summary = {
            "format": FORMAT,
            "manyview": __version__,
            "command": self.command,
            "request": dataclasses.asdict(self.request.resolved()),
            "method": type(self.estimator).__name__,
            "params": {name: _plain(value) for name, value in params.items()},
            "n_clusters": int(self.estimator.n_clusters),
            "seconds": round(self.seconds, 3),
            "data": {
                "name": title_of(data),
                "n_samples": self.n_samples,
                "source": data.source,
                "license": data.license,
            },
            "imputed": None if self.imputer is None else self.imputed,
            "clusters": self._clusters(),
            "views": self._views(),
            "scores": all_scores(data.target, self.model.labels_),
            "choice": None if self.choice is None else dataclasses.asdict(self.choice),
            "versions": {
                "python": platform.python_version(),
                **{name: version(name) for name in ("numpy", "scikit-learn", "numba")},
            },
        }
        if self.covariates is not None:
            summary["covariates"] = self.covariates.describe()
            summary["associations"] = self._associations(self.covariates)
        if self.is_part:
            what = "confidence, agreement and the report"
            summary["sample"] = {"n_samples": data.n_samples, "for": what}
        return summary

    def _associations(self, covariates: Covariates) -> list[dict[str, Any]]:
        found = associate(
            self.explanation.labels,
            covariates.frame,
            survival=covariates.survival,
            n_clusters=len(self.explanation.cluster_names),
        )
        return [
            {
                name: None if value != value else value
                for name, value in dataclasses.asdict(one).items()
            }
            for one in found
        ]

    def _clusters(self) -> list[dict[str, Any]]:
        labels = self.model.labels_
        sizes = np.bincount(labels[labels >= 0])
        found = self.explanation.cluster_confidence
        # NaN for a cluster without samples, or with none that is shown.
        confidence = np.full(len(sizes), np.nan)
        confidence[: len(found)] = found
        return [
            {
                "cluster": cluster,
                "size": int(sizes[cluster]),
                "confidence": None if np.isnan(mean) else float(mean),
            }
            for cluster, mean in enumerate(confidence)
        ]

    def _views(self) -> list[dict[str, Any]]:
        explanation = self.explanation
        exponents = getattr(self.model, "exponents_", None)
        weighted = hasattr(self.model, "view_weights_")
        return [
            {
                "name": name,
                "n_features": self.clustering.views.n_features[v],
                "weight": float(explanation.weights[v]) if weighted else None,
                "unexplained": float(explanation.unexplained[v]),
                "agreement": float(explanation.agreement[v]),
                "exponent": None if exponents is None else float(exponents[v]),
            }
            for v, name in enumerate(explanation.view_names)
        ]


def report_options(
    data: MultiViewData,
    *,
    command: str,
    choice: ClusterCountChoice | None,
    imputer: ViewImputer | None,
    covariates: Covariates | None,
    n_samples: int,
) -> ReportOptions:
    """What a report on this data, maybe a part of all samples, says beyond them."""
    from manyview.reporting._report import ReportOptions

    title, part = title_of(data), ""
    if data.n_samples < n_samples:
        some, every = f"{data.n_samples:,}", f"{n_samples:,}"
        title += f" (a sample of {some} of {every} rows)"
        part = f"{some} rows drawn at random from {every}"
    about = {
        "this page shows": part,
        "about": data.description,
        "source": data.source,
        "licence": data.license,
        "missing cells": "" if imputer is None else imputed_words(imputer),
    }
    return ReportOptions(
        title=title,
        sample_ids=sample_names(data),
        feature_names=data.feature_names or None,
        target=data.target,
        target_names=data.target_names,
        command=command,
        provenance=[(name, text) for name, text in about.items() if text],
        choice=choice,
        covariates=None if covariates is None else covariates.frame,
        survival=None if covariates is None else covariates.survival,
    )


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
