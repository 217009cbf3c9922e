"""What a clustering report is about, computed once for all its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview._random import random_source
from manyview._results import PaceRecord
from manyview._typing import IntArray
from manyview.cluster._clustering import Clustering
from manyview.exceptions import ViewError
from manyview.explain import (
    Association,
    Explanation,
    FeatureEffect,
    SampleMap,
    associate,
)
from manyview.explain._features import features_of_clusters
from manyview.explain._maps import map_clustering

if TYPE_CHECKING:
    from manyview.model_selection import ClusterCountChoice


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportOptions:
    """What a report says beyond the result itself; see `report`."""

    title: str = "Clusters"
    sample_ids: Sequence[str] | None = None
    feature_names: Sequence[Sequence[str]] | None = None
    target: Any = None
    target_names: Sequence[str] = ()
    command: str | None = None
    provenance: Sequence[tuple[str, str]] = ()
    choice: ClusterCountChoice | None = None
    covariates: Any = None
    survival: tuple[str, str] | None = None
    max_samples: int = 3000


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """A clustering with everything the sections of its report show.

    estimator : the fitted estimator, or None where only the labels are left.
    sizes, names : of the clusters. ids : a name per sample.
    classes : codes into `class_names`, or None.
    associations : of the clusters with known columns.
    largest_effect : of the features whose effect is finite.
    history : one record per iteration, if the method keeps them. paced : whether it
    adds samples pace by pace. embedded : whether distances are taken in graph
    embeddings of the views. weighted : whether it weighs the views.
    """

    estimator: Any
    method: str
    clustering: Clustering
    explanation: Explanation
    sizes: IntArray
    names: tuple[str, ...]
    sample_map: SampleMap
    effects: tuple[FeatureEffect, ...]
    largest_effect: float
    associations: tuple[Association, ...]
    ids: Sequence[str]
    classes: IntArray | None
    class_names: Sequence[str]
    history: tuple[Any, ...]
    paced: bool
    embedded: bool
    weighted: bool
    options: ReportOptions


def study(
    clustering: Clustering,
    explanation: Explanation,
    options: ReportOptions,
    *,
    estimator: Any,
    method: str,
) -> Subject:
    """Compute what a report shows."""
    views, labels = clustering.views, clustering.labels
    ids = options.sample_ids
    if ids is None:
        ids = [str(i) for i in range(len(labels))]
    if len(ids) != len(labels):
        msg = f"{len(ids)} sample ids were given for {len(labels)} samples."
        raise ViewError(msg)
    classes, class_names = _classes(options, len(labels))
    effects = features_of_clusters(views, labels, options.feature_names)
    sizes_of_effects = [abs(one.effect) for one in effects if np.isfinite(one.effect)]
    associations: tuple[Association, ...] = ()
    if options.covariates is not None:
        associations = associate(
            labels,
            options.covariates,
            survival=options.survival,
            n_clusters=len(clustering.names),
        )
    history = tuple(getattr(estimator, "history_", ()))
    return Subject(
        estimator=estimator,
        method=method,
        clustering=clustering,
        explanation=explanation,
        sizes=explanation.cluster_sizes,
        names=explanation.cluster_names,
        sample_map=map_clustering(
            clustering, labels, options.max_samples, random_source(0)
        ),
        effects=effects,
        largest_effect=max(sizes_of_effects, default=1.0),
        associations=associations,
        ids=ids,
        classes=classes,
        class_names=class_names,
        history=history,
        paced=bool(history) and isinstance(history[0], PaceRecord),
        embedded=hasattr(estimator, "embedding_names_"),
        weighted=hasattr(estimator, "view_weights_"),
        options=options,
    )


def _classes(
    options: ReportOptions, n_samples: int
) -> tuple[IntArray | None, list[str]]:
    """Known classes as codes, and the names of the classes that occur."""
    if options.target is None:
        return None, []
    target = np.asarray(options.target)
    if target.shape != (n_samples,):
        msg = f"target has shape {target.shape}, expected ({n_samples},)."
        raise ViewError(msg)
    values, codes = np.unique(target, return_inverse=True)
    if options.target_names and values.dtype.kind in "iu":
        return codes, [str(options.target_names[value]) for value in values]
    return codes, [str(value) for value in values]
