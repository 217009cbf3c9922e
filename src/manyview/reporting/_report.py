"""The clustering report: from a fitted estimator to one HTML file."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview._random import random_source
from manyview._results import PaceRecord
from manyview._typing import FloatArray, IntArray
from manyview._version import __version__
from manyview.cluster._clustering import Clustering
from manyview.exceptions import ViewError
from manyview.explain import Association, Explanation, SampleMap, associate
from manyview.explain._features import features_of_clusters
from manyview.explain._maps import map_clustering
from manyview.explain._margins import clustering_of, explain_clustering
from manyview.metrics import all_scores
from manyview.plotting import cluster_colors
from manyview.reporting import _figures
from manyview.reporting._page import Column, ReportPage, render_page

if TYPE_CHECKING:
    from manyview.model_selection import ClusterCountChoice

# Coordinates of the maps are sent as whole numbers up to this; map.js knows it too.
MAP_EXTENT = 4095
# Samples whose names and labels a page holds, 2 MB at most without names.
MOST_LISTED = 200_000
# Small maps side by side.
MOST_MAP_COLUMNS = 6


def report(
    estimator: Any, X: Any, path: str | os.PathLike[str], **options: Any
) -> Path:
    """Write a report about a fitted estimator as one self-contained HTML file.

    Parameters
    ----------
    estimator, X
        As in `report_page`.
    path : path-like
        File to write; an existing one is replaced.
    **options
        As in `report_page`, such as ``title``, ``sample_ids`` or ``target``.

    Returns
    -------
    path : Path
        The file.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> from manyview import NSMVC
    >>> from manyview.reporting import report
    >>> sound = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> light = np.array([[1.0], [1.0], [5.0], [5.0]])
    >>> views = [sound, light]
    >>> model = NSMVC(n_clusters=2, random_state=0).fit(views)
    >>> path = report(model, views, os.path.join(tempfile.mkdtemp(), "report.html"))
    >>> path.name
    'report.html'
    """
    return report_page(estimator, X, **options).save(path)


def report_page(
    estimator: Any,
    X: Any,
    *,
    title: str = "Clusters",
    sample_ids: Sequence[str] | None = None,
    feature_names: Sequence[Sequence[str]] | None = None,
    target: Any = None,
    target_names: Sequence[str] = (),
    command: str | None = None,
    provenance: Sequence[tuple[str, str]] = (),
    choice: ClusterCountChoice | None = None,
    covariates: Any = None,
    survival: tuple[str, str] | None = None,
    max_samples: int = 3000,
) -> ReportPage:
    """A report about a fitted estimator, which notebooks show inline.

    The page needs no network. It shows maps of the samples, cluster sizes, the weight
    of each view and how well the clusters explain it, which samples joined late, where
    views disagree, the features that separate clusters, convergence, and the settings.

    Parameters
    ----------
    estimator : fitted estimator
        Any clusterer of manyview. NSMVC has more to show than the others.
    X : views in any form that ``fit`` takes
        The samples of the fit.
    title : str, default="Clusters"
        Heading.
    sample_ids : sequence of str, default=None
        Names of the samples; None numbers them from 0.
    feature_names : sequence of sequences of str, default=None
        Names of the features per view; None takes the columns of data frames and
        numbers the others.
    target : array-like of shape (n_samples,), default=None
        Known classes. They are compared with the clusters and used for nothing else.
    target_names : sequence of str, default=()
        Names of the classes 0, 1, ..., if `target` holds such codes.
    command : str, default=None
        Command line that repeats the result.
    provenance : sequence of (str, str), default=()
        Further facts about the data.
    choice : ClusterCountChoice, default=None
        How the number of clusters was chosen.
    covariates : DataFrame or mapping of str to array-like, default=None
        Known columns, one value per sample, that took no part in the clustering. Their
        association with the clusters is tested, see `manyview.explain.associate`.
    survival : (str, str), default=None
        Columns of `covariates` with survival time and event.
    max_samples : int, default=3000
        Samples shown on the maps; more are drawn at random, and the page says so.

    Returns
    -------
    page : ReportPage
        Its ``html``, and ``save(path)``.
    """
    clustering = clustering_of(estimator, X)
    associations: tuple[Association, ...] = ()
    if covariates is not None:
        labels, names = clustering.labels, clustering.names
        associations = associate(
            labels, covariates, survival=survival, n_clusters=len(names)
        )
    return make_report(
        clustering,
        estimator,
        title=title,
        sample_ids=sample_ids,
        feature_names=feature_names,
        target=target,
        target_names=target_names,
        command=command,
        provenance=provenance,
        choice=choice,
        associations=associations,
        max_samples=max_samples,
    )


def make_report(
    clustering: Clustering,
    estimator: Any,
    *,
    explanation: Explanation | None = None,
    sample_ids: Sequence[str] | None = None,
    feature_names: Sequence[Sequence[str]] | None = None,
    target: Any = None,
    target_names: Sequence[str] = (),
    associations: Sequence[Association] = (),
    max_samples: int = 3000,
    **shown: Any,
) -> ReportPage:
    """The page about a clustering, see `report_page`.

    explanation : that of the clustering, computed if None. shown : title, command,
    provenance and choice, which only the template looks at.
    """
    explanation = explanation or explain_clustering(clustering)
    labels = explanation.labels
    ids = sample_ids
    if ids is None:
        ids = [str(i) for i in range(len(labels))]
    if len(ids) != len(labels):
        msg = f"{len(ids)} sample ids were given for {len(labels)} samples."
        raise ViewError(msg)
    classes, class_names = _classes(target, target_names, len(labels))
    effects = features_of_clusters(clustering.views, labels, feature_names)
    sample_map = map_clustering(clustering, labels, max_samples, random_source(0))
    history: Sequence[Any] = getattr(estimator, "history_", ())
    page = render_page(
        "clustering.html",
        np=np,
        draw=_figures,
        sample_columns=partial(_sample_columns, explanation, ids),
        setting=_setting,
        versions=_versions(),
        estimator=estimator,
        method=type(estimator).__name__,
        history=history,
        # Whether the method adds samples pace by pace, weighs the views, and takes
        # distances in graph embeddings of them.
        paced=bool(history) and isinstance(history[0], PaceRecord),
        weighted=hasattr(estimator, "view_weights_"),
        embedded=hasattr(estimator, "embedding_names_"),
        views=clustering.views,
        explanation=explanation,
        ids=ids,
        class_names=class_names,
        counts=None if classes is None else _contingency(explanation, classes),
        scores=all_scores(classes, labels),
        effects=effects,
        largest_effect=max(
            (abs(one.effect) for one in effects if np.isfinite(one.effect)), default=1.0
        ),
        associations=associations,
        sample_map=sample_map,
        map_columns=_map_columns(len(explanation.view_names)),
        map_data=_map_data(sample_map, explanation, ids, classes, class_names),
        sample_data=_sample_data(explanation, sample_ids),
        **shown,
    )
    return ReportPage(page)


def _classes(
    target: Any, target_names: Sequence[str], n_samples: int
) -> tuple[IntArray | None, list[str]]:
    """Known classes as codes, and the names of the classes that occur."""
    if target is None:
        return None, []
    target = np.asarray(target)
    if target.shape != (n_samples,):
        msg = f"target has shape {target.shape}, expected ({n_samples},)."
        raise ViewError(msg)
    values: Any
    values, codes = np.unique(target, return_inverse=True)
    if target_names and values.dtype.kind in "iu":
        values = [target_names[value] for value in values]
    return codes, [str(value) for value in values]


def _contingency(explanation: Explanation, classes: IntArray) -> IntArray:
    """(n_clusters, n_classes), samples per cluster and known class."""
    counts = np.zeros((len(explanation.cluster_names), classes.max() + 1), np.int64)
    known = explanation.labels >= 0
    np.add.at(counts, (explanation.labels[known], classes[known]), 1)
    return counts


def _sample_columns(
    explanation: Explanation, ids: Sequence[str], samples: IntArray
) -> list[Column]:
    """What every list of samples begins with."""
    labels, names = explanation.labels[samples], explanation.cluster_names
    return [
        Column("Sample", [str(ids[i]) for i in samples]),
        Column("Cluster", labels, clusters=names),
        Column("Confidence", explanation.confidence[samples], ".2f"),
    ]


def _setting(value: Any) -> str:
    """A parameter in a few words."""
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _versions() -> list[tuple[str, str]]:
    """Of the software that makes the report."""
    return [
        ("manyview", __version__),
        ("Python", platform.python_version()),
        *((name, version(name)) for name in ("numpy", "scikit-learn", "numba")),
        ("system", f"{platform.system()} {platform.machine()}"),
    ]


def _map_data(
    sample_map: SampleMap,
    explanation: Explanation,
    ids: Sequence[str],
    classes: IntArray | None,
    class_names: Sequence[str],
) -> dict[str, Any]:
    shown = sample_map.samples
    planes = zip(
        [sample_map.fused, *sample_map.views],
        [sample_map.axes, *sample_map.view_axes],
        strict=True,
    )
    return {
        "ids": [str(ids[i]) for i in shown],
        "labels": explanation.labels[shown],
        "confidence": np.round(explanation.confidence[shown], 3),
        "viewLabels": explanation.view_labels[:, shown],
        "colors": cluster_colors(len(explanation.cluster_names)),
        "classes": None if classes is None else classes[shown],
        "classNames": class_names,
        "classColors": cluster_colors(len(class_names)),
        "maps": [{**_whole_numbers(plane), "axes": axes} for plane, axes in planes],
    }


def _sample_data(
    explanation: Explanation, sample_ids: Sequence[str] | None
) -> dict[str, Any] | None:
    """All samples, to be found and exported; None if they are too many for a page."""
    if len(explanation.labels) > MOST_LISTED:
        return None
    return {
        # Numbers need not be sent.
        "ids": None if sample_ids is None else [str(name) for name in sample_ids],
        "labels": explanation.labels,
        # In thousandths: fewer digits to send.
        "confidence": np.round(1000 * explanation.confidence).astype(int),
    }


def _whole_numbers(position: FloatArray) -> dict[str, list[int | None]]:
    """Coordinates from 0 to MAP_EXTENT in both directions, None where missing.

    Both axes keep the same scale; an outlier may not squeeze the rest, so the farthest
    0.2 % are moved to the border.
    """
    low, high = np.nanquantile(position, [0.002, 0.998], axis=0)
    span = max(float((high - low).max()), 1e-300)
    middle = (low + high) / 2
    scaled = np.clip((position - middle) / span + 0.5, 0.0, 1.0) * MAP_EXTENT
    x, y = (
        [None if np.isnan(place) else round(place) for place in column]
        for column in scaled.T.tolist()
    )
    return {"x": x, "y": y}


def _map_columns(n_maps: int) -> int:
    """So many small maps side by side that the last row has few holes."""
    if n_maps <= MOST_MAP_COLUMNS:
        return n_maps
    return min(range(MOST_MAP_COLUMNS, 2, -1), key=lambda columns: -n_maps % columns)
