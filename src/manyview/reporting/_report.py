"""The clustering report: from a fitted estimator to one HTML file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview.cluster._clustering import Clustering
from manyview.explain import Explanation
from manyview.explain._margins import clustering_of, explain_clustering
from manyview.metrics._scores import all_scores
from manyview.plotting._colors import cluster_colors
from manyview.reporting import _figures as draw
from manyview.reporting import _tables as tables
from manyview.reporting._page import Figure, ReportPage, render_page
from manyview.reporting._subject import ReportOptions, Subject, study

if TYPE_CHECKING:
    from manyview.model_selection import ClusterCountChoice

# Coordinates of the maps are sent as whole numbers up to this; map.js knows it too.
MAP_EXTENT = 4095
# Below this confidence a sample belongs to other clusters more than to its own.
UNSURE_BELOW = 0.5
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
    options = ReportOptions(
        title=title,
        sample_ids=sample_ids,
        feature_names=feature_names,
        target=target,
        target_names=target_names,
        command=command,
        provenance=provenance,
        choice=choice,
        covariates=covariates,
        survival=survival,
        max_samples=max_samples,
    )
    return make_report(
        clustering_of(estimator, X),
        options,
        method=type(estimator).__name__,
        estimator=estimator,
    )


def make_report(
    clustering: Clustering,
    options: ReportOptions,
    *,
    method: str,
    estimator: Any = None,
    explanation: Explanation | None = None,
) -> ReportPage:
    """The page about a clustering.

    estimator : the fitted estimator, or None where only labels are left. explanation :
    that of the clustering, computed if None.
    """
    explanation = explanation or explain_clustering(clustering)
    subject = study(
        clustering, explanation, options, estimator=estimator, method=method
    )
    page = render_page(
        "clustering.html",
        figures=_all_figures(subject),
        data={"map": _map_data(subject), "samples": _sample_data(subject)},
        scripts=("map.js",),
        sections=_sections(subject),
        subject=subject,
        explanation=explanation,
        options=options,
        colors=cluster_colors(len(subject.sizes)),
        map_columns=_map_columns(len(explanation.view_names)),
        scores=all_scores(subject.classes, explanation.labels),
        MOST_LISTED=MOST_LISTED,
        UNSURE_BELOW=UNSURE_BELOW,
        tables=tables,
    )
    return ReportPage(page)


def _sections(subject: Subject) -> dict[str, str]:
    """Headings of the sections that are shown by identifier, in order."""
    sections = {
        "map": ("Map", True),
        "clusters": ("Clusters", True),
        "choice": ("Number of clusters", subject.options.choice is not None),
        "associations": ("Known columns", bool(subject.associations)),
        "classes": ("Known classes", subject.classes is not None),
        "views": ("Views", True),
        "pacing": ("Self-pacing", subject.paced),
        "disagreement": ("Disagreement", True),
        "outliers": ("Outliers", True),
        "features": ("Features", True),
        "convergence": ("Convergence", bool(subject.history)),
        "settings": ("Settings", True),
    }
    return {name: heading for name, (heading, shown) in sections.items() if shown}


def _all_figures(subject: Subject) -> dict[str, Figure]:
    explanation, options = subject.explanation, subject.options
    names = explanation.view_names
    shares = [
        ("explained", 1 - explanation.unexplained, "#2a9d6f"),
        ("agreement with the result", explanation.agreement, "theme:accent"),
    ]
    if subject.weighted:
        shares.insert(0, ("weight", explanation.weights, "#e07b39"))
    figures = {
        "sizes": draw.sizes_figure(
            subject.names, subject.sizes, explanation.cluster_confidence
        ),
        "agreement": draw.agreement_figure(names, explanation.view_agreement),
        "contribution": draw.contribution_figure(names, shares),
    }
    if subject.paced:
        figures["joining"] = draw.joining_figure(names, subject.estimator.joined_pace_)
        figures["exponents"] = draw.exponents_figure(names, subject.history)
    if subject.history:
        figures["convergence"] = draw.convergence_figure(subject.history)
    if subject.classes is not None:
        figures["classes"] = draw.classes_figure(
            tables.contingency(subject), subject.names, subject.class_names
        )
    if options.choice is not None:
        figures["choice"] = draw.choice_figure(options.choice)
    return figures


def _map_data(subject: Subject) -> dict[str, Any]:
    shown = subject.sample_map.samples
    explanation = subject.explanation
    positions = [subject.sample_map.fused, *subject.sample_map.views]
    axes = [subject.sample_map.axes, *subject.sample_map.view_axes]
    content: dict[str, Any] = {
        "ids": [str(subject.ids[i]) for i in shown],
        "labels": explanation.labels[shown],
        "confidence": np.round(explanation.confidence[shown], 3),
        "viewLabels": explanation.view_labels[:, shown],
        "viewNames": explanation.view_names,
        "names": subject.names,
        "colors": cluster_colors(len(subject.sizes)),
        "classes": None,
        "maps": [
            {**_whole_numbers(position), "axes": names}
            for position, names in zip(positions, axes, strict=True)
        ],
    }
    if subject.classes is not None:
        content["classes"] = subject.classes[shown]
        content["classNames"] = subject.class_names
        content["classColors"] = cluster_colors(len(subject.class_names))
    return content


def _sample_data(subject: Subject) -> dict[str, Any] | None:
    """All samples, to be found and exported; None if they are too many for a page."""
    n_samples = len(subject.ids)
    if n_samples > MOST_LISTED:
        return None
    explanation, numbered = subject.explanation, subject.options.sample_ids is None
    return {
        # Numbers need not be sent.
        "ids": None if numbered else [str(name) for name in subject.ids],
        "labels": explanation.labels,
        # In thousandths: fewer digits to send.
        "confidence": np.round(1000 * explanation.confidence).astype(int),
        "outlier": np.round(explanation.outlier_score, 1),
    }


def _whole_numbers(position: Any) -> dict[str, list[int | None]]:
    """Coordinates from 0 to MAP_EXTENT in both directions, None where missing.

    Both axes keep the same scale; an outlier may not squeeze the rest, so the farthest
    0.2 % are moved to the border.
    """
    low, high = np.nanquantile(position, [0.002, 0.998], axis=0)
    span = max(float((high - low).max()), 1e-300)
    middle = (low + high) / 2
    scaled = np.clip((position - middle) / span + 0.5, 0.0, 1.0) * MAP_EXTENT
    columns = []
    for column in scaled.T:
        columns.append([None if np.isnan(c) else round(c) for c in column.tolist()])
    return {"x": columns[0], "y": columns[1]}


def _map_columns(n_maps: int) -> int:
    """So many small maps side by side that the last row has few holes."""
    if n_maps <= MOST_MAP_COLUMNS:
        return n_maps
    return min(range(MOST_MAP_COLUMNS, 2, -1), key=lambda columns: -n_maps % columns)
