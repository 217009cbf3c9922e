"""What a clustering of users' data is, for the screen, the files and the report."""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from manyview._version import __version__
from manyview.cli import _output
from manyview.cli._options import Request
from manyview.cli._sources import Covariates, imputed_words, sample_names, title_of
from manyview.cluster._clustering import Clustering
from manyview.datasets import MultiViewData
from manyview.explain import Association, Explanation, associate
from manyview.explain._margins import explain_clustering
from manyview.metrics import all_scores
from manyview.model_selection import ClusterCountChoice

if TYPE_CHECKING:
    from manyview.impute import ViewImputer
    from manyview.reporting import ReportPage

FORMAT = 1
# What JSON can hold of parameters; others are stored as text.
PLAIN = (bool, int, float, str, type(None))


@dataclass(frozen=True, kw_only=True)
class Result:
    """Clusters that ``manyview cluster`` has found, or that its folder holds.

    model : what was fitted, with all samples. estimator : the same on a Dask cluster.
    data, clustering, explanation : the samples that explanations and the report are
    about: all, or a random part of those on a Dask cluster. shown : `model` with the
    attributes of these samples only.
    """

    command: str
    model: Any
    estimator: Any = None
    shown: Any = None
    data: MultiViewData
    clustering: Clustering
    choice: ClusterCountChoice | None = None
    imputer: ViewImputer | None = None
    covariates: Covariates | None = None
    seconds: float = 0.0

    @cached_property
    def explanation(self) -> Explanation:
        return explain_clustering(self.clustering)

    @cached_property
    def associations(self) -> tuple[Association, ...]:
        """How the clusters go together with known columns, if there are any."""
        known = self.covariates
        if known is None:
            return ()
        labels, names = self.clustering.labels, self.clustering.names
        return associate(
            labels, known.frame, survival=known.survival, n_clusters=len(names)
        )

    @property
    def is_part(self) -> bool:
        """Whether explanations are about some of the samples only."""
        return self.data.n_samples < len(self.model.labels_)

    def write_labels(self, file: IO[str] | Path) -> None:
        """All labels as CSV, with names, confidence and paces where they are known."""
        import pandas as pd

        model, labels = self.model, self.model.labels_
        columns: dict[str, Any] = {"sample": sample_names(self.data), "cluster": labels}
        if self.is_part:
            columns["sample"] = [str(row) for row in range(len(labels))]
        if hasattr(model, "cluster_names_"):
            columns["name"] = model.named_labels()
        if not self.is_part:
            columns["confidence"] = self.explanation.confidence
        # A sample that lacks a view, pace 0, never joins there: an empty cell.
        for v, paces in enumerate(getattr(model, "joined_pace_", ())):
            joined = pd.Series(paces, dtype="Int64")
            columns[f"pace_{self.data.view_names[v]}"] = joined.mask(joined == 0)
        _output.write_labels(file, pd.DataFrame(columns))

    def summarise(self, request: Request) -> dict[str, Any]:
        """The run as JSON values."""
        data, labels = self.data, self.model.labels_
        fitted = self.estimator or self.model
        params = {
            name: value if isinstance(value, PLAIN) else str(value)
            for name, value in fitted.get_params().items()
        }
        summary = {
            "format": FORMAT,
            "manyview": __version__,
            "command": self.command,
            "request": asdict(request.resolved()),
            "method": type(fitted).__name__,
            "params": params,
            "n_clusters": int(fitted.n_clusters),
            "seconds": round(self.seconds, 3),
            "data": {
                "name": title_of(data),
                "n_samples": len(labels),
                "source": data.source,
                "license": data.license,
            },
            "imputed": self.imputer and self.imputer.n_imputed_,
            "clusters": self._clusters(),
            "views": self._views(),
            "scores": all_scores(data.target, labels),
            "choice": self.choice and asdict(self.choice),
            "versions": {
                "python": platform.python_version(),
                **{name: version(name) for name in ("numpy", "scikit-learn", "numba")},
            },
        }
        if self.covariates is not None:
            path, survival = self.covariates.path, self.covariates.survival
            summary["covariates"] = {
                "file": str(path.resolve()),
                "survival": survival and ",".join(survival),
            }
            summary["associations"] = [
                {name: _known(value) for name, value in asdict(one).items()}
                for one in self.associations
            ]
        if self.is_part:
            what = "confidence, agreement and the report"
            summary["sample"] = {"n_samples": data.n_samples, "for": what}
        return summary

    def _clusters(self) -> list[dict[str, Any]]:
        # NaN for a cluster without samples, or with none that is shown.
        confidence = self.explanation.cluster_confidence
        labels = self.model.labels_
        sizes = np.bincount(labels[labels >= 0], minlength=len(confidence))
        return [
            {"cluster": c, "size": int(sizes[c]), "confidence": _known(float(mean))}
            for c, mean in enumerate(confidence)
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

    def page(self) -> ReportPage:
        """The report."""
        from manyview.reporting._report import make_report

        data, title, part = self.data, title_of(self.data), ""
        if self.is_part:
            some, every = f"{data.n_samples:,}", f"{len(self.model.labels_):,}"
            title += f" (a sample of {some} of {every} rows)"
            part = f"{some} rows drawn at random from {every}"
        about = {
            "this page shows": part,
            "about": data.description,
            "source": data.source,
            "licence": data.license,
            "missing cells": self.imputer and imputed_words(self.imputer),
        }
        return make_report(
            self.clustering,
            self.shown or self.model,
            explanation=self.explanation,
            associations=self.associations,
            title=title,
            sample_ids=sample_names(data),
            feature_names=data.feature_names or None,
            target=data.target,
            target_names=data.target_names,
            command=self.command,
            provenance=[(name, text) for name, text in about.items() if text],
            choice=self.choice,
        )


def _known(value: Any) -> Any:
    """The value, or None for NaN, which JSON does not have."""
    return None if value != value else value
