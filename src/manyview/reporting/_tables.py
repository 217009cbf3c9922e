"""Tables of the clustering report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from manyview._typing import IntArray
from manyview.plotting._colors import cluster_colors
from manyview.reporting._page import Column, Table
from manyview.reporting._subject import Subject

if TYPE_CHECKING:
    from manyview.model_selection import ClusterCountChoice

# Rows of the lists of single samples.
LISTED_SAMPLES = 15
LISTED_OUTLIERS = 10


def cluster_column(subject: Subject, name: str = "Cluster") -> Column:
    """A column of clusters, shown by colour and name."""
    colors = cluster_colors(len(subject.sizes))
    return Column(name=name, swatches=colors, names=subject.names)


def contingency(subject: Subject) -> IntArray:
    """(n_clusters, n_classes), samples per cluster and known class."""
    assert subject.classes is not None
    table = np.zeros((len(subject.sizes), len(subject.class_names)), dtype=np.int64)
    labels = subject.explanation.labels
    known = labels >= 0
    np.add.at(table, (labels[known], subject.classes[known]), 1)
    return table


def cluster_table(subject: Subject) -> Table:
    """One row per cluster."""
    explanation = subject.explanation
    labels = explanation.labels
    confidence = explanation.cluster_confidence
    columns = [
        cluster_column(subject),
        Column(name="Samples", numeric=True, format=",d"),
        Column(name="Share", numeric=True, format=".1%"),
        Column(
            name="Confidence",
            numeric=True,
            format=".2f",
            hint="Mean membership of its samples",
        ),
        Column(
            name="Views agree",
            numeric=True,
            format=".0%",
            hint="Share of samples for which every view chooses this cluster",
        ),
    ]
    united = explanation.disagreement == 0
    rows: list[list[Any]] = []
    for cluster, size in enumerate(subject.sizes):
        inside = labels == cluster
        share = float(united[inside].mean()) if size else None
        rows.append(
            [cluster, int(size), size / len(labels), confidence[cluster], share]
        )
    if subject.classes is not None:
        columns += [
            Column(name="Main class"),
            Column(name="of this class", numeric=True, format=".0%"),
        ]
        for row, counts in zip(rows, contingency(subject), strict=True):
            main = int(counts.argmax())
            row += [subject.class_names[main], counts[main] / max(1, counts.sum())]
    return Table(caption="The clusters", columns=tuple(columns), rows=rows)


def view_table(subject: Subject) -> Table:
    """One row per view."""
    explanation = subject.explanation
    columns = [
        Column(name="View"),
        Column(name="Features", numeric=True, format=",d"),
        Column(
            name="Unexplained",
            numeric=True,
            format=".1%",
            hint="Share of the view's scatter left within clusters",
        ),
        Column(
            name="Agreement",
            numeric=True,
            format=".1%",
            hint="Share of its samples for which the view alone chooses their cluster",
        ),
        Column(name="Lacking", numeric=True, format=",d", hint="Samples without it"),
    ]
    values: list[Any] = [
        explanation.view_names,
        subject.clustering.views.n_features,
        explanation.unexplained,
        explanation.agreement,
        (explanation.view_labels < 0).sum(axis=1),
    ]
    if subject.weighted:
        weight = Column(
            name="Weight",
            numeric=True,
            format=".1%",
            hint="The view's share of influence on the clusters",
        )
        columns.insert(2, weight)
        values.insert(2, explanation.weights)
    rows = list(zip(*values, strict=True))
    return Table(caption="The views", columns=tuple(columns), rows=rows)


def exponent_table(subject: Subject) -> Table:
    """What the objective is made of, for readers who know the method."""
    estimator = subject.estimator
    columns = (
        Column(name="View"),
        Column(name="Exponent", numeric=True, format=".3f"),
        Column(name="Loss", numeric=True, format=".4g"),
        Column(name="Scaling"),
    )
    rows = list(
        zip(
            subject.explanation.view_names,
            estimator.exponents_,
            estimator.view_losses_,
            [scale.mode or "none" for scale in estimator.scales_],
            strict=True,
        )
    )
    caption = "Exponent and loss of each view at the last pace"
    return Table(caption=caption, columns=columns, rows=rows)


def hardest_table(subject: Subject) -> Table:
    """Samples that joined last, over all views they have."""
    joined = subject.estimator.joined_pace_
    has = joined > 0
    mean_pace = joined.sum(axis=0) / np.maximum(1, has.sum(axis=0))
    confidence = subject.explanation.confidence
    order = np.lexsort((confidence, -mean_pace))[:LISTED_SAMPLES]
    columns = (
        Column(name="Sample"),
        cluster_column(subject),
        Column(name="Confidence", numeric=True, format=".2f"),
        Column(name="Mean pace", numeric=True, format=".1f"),
        *(Column(name=name, numeric=True) for name in subject.explanation.view_names),
    )
    rows = [
        [
            str(subject.ids[i]),
            _cluster(subject.explanation.labels[i]),
            confidence[i],
            mean_pace[i],
            *(int(pace) if pace else None for pace in joined[:, i]),
        ]
        for i in order
    ]
    caption = f"The {len(rows)} hardest samples, with the pace they joined at per view"
    return Table(caption=caption, columns=columns, rows=rows)


def disagreement_table(subject: Subject) -> Table:
    """Samples for which some view chooses another cluster than the final one."""
    explanation = subject.explanation
    torn = np.flatnonzero(explanation.disagreement > 0)
    order = np.lexsort((explanation.confidence[torn], -explanation.disagreement[torn]))
    columns = (
        Column(name="Sample"),
        cluster_column(subject),
        Column(name="Confidence", numeric=True, format=".2f"),
        Column(name="Against", numeric=True, format=".0%", hint="Share of its views"),
        *(cluster_column(subject, name) for name in explanation.view_names),
    )
    rows = [
        [
            str(subject.ids[i]),
            _cluster(explanation.labels[i]),
            explanation.confidence[i],
            explanation.disagreement[i],
            *(_cluster(c) for c in explanation.view_labels[:, i]),
        ]
        for i in torn[order][:LISTED_SAMPLES]
    ]
    caption = f"The {len(rows)} most disputed samples, with each view's own choice"
    return Table(caption=caption, columns=columns, rows=rows)


def outlier_table(subject: Subject) -> Table:
    """Samples that lie farthest out."""
    explanation = subject.explanation
    order = np.argsort(-explanation.outlier_score, kind="stable")[:LISTED_OUTLIERS]
    columns = (
        Column(name="Sample"),
        cluster_column(subject),
        Column(name="Confidence", numeric=True, format=".2f"),
        Column(
            name="Outlier score",
            numeric=True,
            format=".1f",
            hint="Distance beyond that of a typical member, in robust standard "
            "deviations; mean over the sample's views",
        ),
    )
    rows = [
        [
            str(subject.ids[i]),
            _cluster(explanation.labels[i]),
            explanation.confidence[i],
            explanation.outlier_score[i],
        ]
        for i in order
    ]
    return Table(
        caption=f"The {len(rows)} samples that lie farthest out",
        columns=columns,
        rows=rows,
    )


def association_table(subject: Subject) -> Table:
    """One row per known column."""
    columns = (
        Column(name="Column"),
        Column(name="Samples", numeric=True, format=",d"),
        Column(name="Test"),
        Column(name="Statistic", numeric=True, format=".4g"),
        Column(
            name="Effect",
            numeric=True,
            format=".2f",
            hint="Cramér's V for chi-square, epsilon squared for Kruskal-Wallis",
        ),
        Column(name="p", numeric=True, format="p"),
        Column(name="FDR", numeric=True, format="p", hint="Over all columns"),
        Column(name="Note"),
    )
    rows = [
        [
            one.column,
            one.n_samples,
            one.test or None,
            one.statistic,
            one.effect,
            one.p_value,
            one.fdr,
            one.note,
        ]
        for one in subject.associations
    ]
    caption = "Association of the clusters with known columns"
    return Table(caption=caption, columns=columns, rows=rows)


def column_table(subject: Subject) -> Table:
    """One row per cluster, with what the known columns are there."""
    found = subject.associations
    columns = (cluster_column(subject), *(Column(name=one.column) for one in found))
    rows = [
        [cluster, *(one.per_cluster[cluster] for one in found)]
        for cluster in range(len(subject.sizes))
    ]
    caption = "Most frequent value or median of each column, or events and samples"
    return Table(caption=caption, columns=columns, rows=rows)


def _cluster(label: Any) -> int | None:
    """A cluster, or None for noise and missing views."""
    return int(label) if label >= 0 else None


def choice_table(choice: ClusterCountChoice) -> Table:
    """The curve behind the number of clusters."""
    columns = (
        Column(name="Clusters", numeric=True),
        Column(name="Weakest cluster", numeric=True, format=".3f"),
        Column(name="Agreement of all", numeric=True, format=".3f"),
        Column(name="Chosen"),
    )
    rows = [
        [k, weakest, agreement, "✓" if k == choice.n_clusters else ""]
        for k, weakest, agreement in zip(
            choice.candidates, choice.weakest, choice.agreement, strict=True
        )
    ]
    return Table(caption="Stability", columns=columns, rows=rows)
