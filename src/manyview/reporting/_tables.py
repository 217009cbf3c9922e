"""Tables and small facts of the clustering report; sentences are in the template."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from manyview._typing import IntArray
from manyview._version import __version__
from manyview.explain import Explanation
from manyview.plotting._colors import cluster_colors
from manyview.reporting._page import Column, Table, number
from manyview.reporting._subject import Subject

if TYPE_CHECKING:
    from manyview.model_selection import ClusterCountChoice

# Rows of the lists of single samples.
LISTED_SAMPLES = 15
LISTED_OUTLIERS = 10
# Views whose agreement differs by less agree equally often.
SAME_AGREEMENT = 0.005

# Columns with their cells.
Filled: TypeAlias = list[tuple[Column, Iterable[Any]]]


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
    explanation, sizes = subject.explanation, subject.sizes
    united = explanation.disagreement == 0
    agree = [
        float(united[explanation.labels == cluster].mean()) if size else None
        for cluster, size in enumerate(sizes)
    ]
    every_view = "Share of samples for which every view chooses this cluster"
    columns: Filled = [
        (_cluster_column(subject), range(len(sizes))),
        (number("Samples", ",d"), sizes),
        (number("Share", ".1%"), sizes / len(explanation.labels)),
        (
            number("Confidence", ".2f", "Mean membership of its samples"),
            explanation.cluster_confidence,
        ),
        (number("Views agree", ".0%", every_view), agree),
    ]
    if subject.classes is not None:
        counts = contingency(subject)
        main = [subject.class_names[best] for best in counts.argmax(axis=1)]
        shares = counts.max(axis=1) / np.maximum(1, counts.sum(axis=1))
        columns += [
            (Column(name="Main class"), main),
            (number("of this class", ".0%"), shares),
        ]
    return _table("The clusters", columns)


def view_table(subject: Subject) -> Table:
    """One row per view."""
    explanation = subject.explanation
    influence = "The view's share of influence on the clusters"
    scatter = "Share of the view's scatter left within clusters"
    alone = "Share of its samples for which the view alone chooses their cluster"
    lacking = (explanation.view_labels < 0).sum(axis=1)
    columns: Filled = [
        (Column(name="View"), explanation.view_names),
        (number("Features", ",d"), subject.clustering.views.n_features),
        (number("Weight", ".1%", influence), explanation.weights),
        (number("Unexplained", ".1%", scatter), explanation.unexplained),
        (number("Agreement", ".1%", alone), explanation.agreement),
        (number("Lacking", ",d", "Samples without it"), lacking),
    ]
    if not subject.weighted:
        del columns[2]
    return _table("The views", columns)


def exponent_table(subject: Subject) -> Table:
    """What the objective is made of, for readers who know the method."""
    estimator = subject.estimator
    scaling = [scale.mode or "none" for scale in estimator.scales_]
    columns: Filled = [
        (Column(name="View"), subject.explanation.view_names),
        (number("Exponent", ".3f"), estimator.exponents_),
        (number("Loss", ".4g"), estimator.view_losses_),
        (Column(name="Scaling"), scaling),
    ]
    return _table("Exponent and loss of each view at the last pace", columns)


def hardest_table(subject: Subject) -> Table:
    """Samples that joined last, over all views they have."""
    joined = subject.estimator.joined_pace_
    mean_pace = joined.sum(axis=0) / np.maximum(1, (joined > 0).sum(axis=0))
    order = np.lexsort((subject.explanation.confidence, -mean_pace))
    hardest = order[:LISTED_SAMPLES]
    columns = [
        *_sample_columns(subject, hardest),
        (number("Mean pace", ".1f"), mean_pace[hardest]),
    ]
    for name, paces in zip(subject.explanation.view_names, joined, strict=True):
        columns.append((number(name), [int(p) if p else None for p in paces[hardest]]))
    caption = "The {} hardest samples, with the pace they joined at per view"
    return _table(caption.format(len(hardest)), columns)


def disagreement_table(subject: Subject) -> Table:
    """Samples for which some view chooses another cluster than the final one."""
    explanation = subject.explanation
    torn = np.flatnonzero(explanation.disagreement > 0)
    order = np.lexsort((explanation.confidence[torn], -explanation.disagreement[torn]))
    most = torn[order][:LISTED_SAMPLES]
    columns = [
        *_sample_columns(subject, most),
        (
            number("Against", ".0%", "Share of its views"),
            explanation.disagreement[most],
        ),
    ]
    for name, own in zip(explanation.view_names, explanation.view_labels, strict=True):
        columns.append((_cluster_column(subject, name), _clusters(own[most])))
    caption = "The {} most disputed samples, with each view's own choice"
    return _table(caption.format(len(most)), columns)


def outlier_table(subject: Subject) -> Table:
    """Samples that lie farthest out."""
    scores = subject.explanation.outlier_score
    farthest = np.argsort(-scores, kind="stable")[:LISTED_OUTLIERS]
    hint = (
        "Distance beyond that of a typical member, in robust standard deviations; mean "
        "over the sample's views"
    )
    columns = [
        *_sample_columns(subject, farthest),
        (number("Outlier score", ".1f", hint), scores[farthest]),
    ]
    return _table(f"The {len(farthest)} samples that lie farthest out", columns)


def association_table(subject: Subject) -> Table:
    """One row per known column."""
    effect = "Cramér's V for chi-square, epsilon squared for Kruskal-Wallis"
    found = subject.associations
    columns: Filled = [
        (Column(name="Column"), [one.column for one in found]),
        (number("Samples", ",d"), [one.n_samples for one in found]),
        (Column(name="Test"), [one.test or None for one in found]),
        (number("Statistic", ".4g"), [one.statistic for one in found]),
        (number("Effect", ".2f", effect), [one.effect for one in found]),
        (number("p", "p"), [one.p_value for one in found]),
        (number("FDR", "p", "Over all columns"), [one.fdr for one in found]),
        (Column(name="Note"), [one.note for one in found]),
    ]
    return _table("Association of the clusters with known columns", columns)


def column_table(subject: Subject) -> Table:
    """One row per cluster, with what the known columns are there."""
    columns: Filled = [
        (_cluster_column(subject), range(len(subject.sizes))),
        *((Column(name=one.column), one.per_cluster) for one in subject.associations),
    ]
    caption = "Most frequent value or median of each column, or events and samples"
    return _table(caption, columns)


def choice_table(choice: ClusterCountChoice) -> Table:
    """The curve behind the number of clusters."""
    marks = ["✓" if k == choice.n_clusters else "" for k in choice.candidates]
    columns: Filled = [
        (number("Clusters"), choice.candidates),
        (number("Weakest cluster", ".3f"), choice.weakest),
        (number("Agreement of all", ".3f"), choice.agreement),
        (Column(name="Chosen"), marks),
    ]
    return _table("Stability", columns)


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


def _table(caption: str, columns: Filled) -> Table:
    heads, cells = zip(*columns, strict=True)
    return Table(caption=caption, columns=heads, rows=list(zip(*cells, strict=True)))


def _sample_columns(subject: Subject, samples: IntArray) -> Filled:
    """What every list of samples begins with."""
    explanation = subject.explanation
    return [
        (Column(name="Sample"), [str(subject.ids[i]) for i in samples]),
        (_cluster_column(subject), _clusters(explanation.labels[samples])),
        (number("Confidence", ".2f"), explanation.confidence[samples]),
    ]


def _cluster_column(subject: Subject, name: str = "Cluster") -> Column:
    """A column of clusters, shown by colour and name."""
    colors = cluster_colors(len(subject.sizes))
    return Column(name=name, swatches=colors, names=subject.names)


def _clusters(labels: IntArray) -> list[int | None]:
    """Clusters, and None for noise and missing views."""
    return [int(label) if label >= 0 else None for label in labels]
