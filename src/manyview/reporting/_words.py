"""Sentences and small facts of the clustering report."""

from __future__ import annotations

import math
import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview._version import __version__
from manyview.explain import Explanation, FeatureEffect
from manyview.metrics import clustering_accuracy, nmi_score, purity_score
from manyview.reporting._subject import Subject

if TYPE_CHECKING:
    from manyview.model_selection import ClusterCountChoice

# Below this confidence a sample belongs to other clusters more than to its own.
UNSURE_BELOW = 0.5
# Views whose agreement differs by less agree equally often.
SAME_AGREEMENT = 0.005


def plural(count: int, noun: str) -> str:
    """``1 view``, ``3 views``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


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


def tiles(subject: Subject) -> list[tuple[str, str, str]]:
    """The numbers at the top: what they are, and a remark."""
    explanation = subject.explanation
    unsure = int((explanation.confidence < UNSURE_BELOW).sum())
    sizes = subject.sizes
    found = [
        ("Clusters", str(len(sizes)), f"{sizes.min():,} to {sizes.max():,} samples"),
        (
            "Mean confidence",
            f"{explanation.confidence.mean():.2f}",
            f"membership in the own cluster; {plural(unsure, 'sample')} below "
            f"{UNSURE_BELOW}",
        ),
        (
            "Disputed samples",
            f"{(explanation.disagreement > 0.5).mean():.1%}",
            "most of their views choose another cluster",
        ),
    ]
    if subject.classes is not None:
        truth, labels = subject.classes, explanation.labels
        found += [
            ("Accuracy", f"{clustering_accuracy(truth, labels):.1%}", "best matching"),
            ("NMI", f"{nmi_score(truth, labels):.1%}", "with the known classes"),
            ("Purity", f"{purity_score(truth, labels):.1%}", ""),
        ]
    return found


def map_sentence(subject: Subject) -> str:
    """How the maps are made, and whether they show everyone."""
    n_shown, n_samples = len(subject.sample_map.samples), len(subject.ids)
    what = "graph embeddings" if subject.embedded else "views"
    of_view = "the view's graph embedding" if subject.embedded else "the view"
    how = "projected on their principal axes"
    if subject.sample_map.axes[0].startswith("UMAP"):
        how = "laid out by UMAP (near samples are alike; wide distances mean little)"
    text = (
        f"The large map shows all {what} together, weighted as in the result, {how}; "
        f"the small ones show {of_view} alone on its principal axes."
    )
    if n_shown < n_samples:
        text += (
            f" The maps show {n_shown:,} of the {n_samples:,} samples, drawn at random "
            "with some of every cluster; everything else on this page counts all."
        )
    return text


def views_sentence(subject: Subject) -> str:
    """What the measures of a view mean."""
    of_what = "scatter of the view's graph embedding" if subject.embedded else "scatter"
    text = (
        f"Explained: share of the {of_what} that lies between clusters; near 0 for a "
        "view that does not show them. Agreement: how often the view alone would "
        "choose the final cluster."
    )
    if subject.weighted:
        text = (
            "Weight: the view's share of influence on the clusters; weights add up to "
            "1. " + text
        )
    return text


def disagreement_sentence(subject: Subject) -> str:
    """How often views want something else."""
    explanation = subject.explanation
    torn = int((explanation.disagreement > 0).sum())
    most = int((explanation.disagreement > 0.5).sum())
    if not torn:
        return "Every view chooses the final cluster for every sample."
    return (
        f"For {plural(torn, 'sample')} ({torn / len(explanation.labels):.1%}) at least "
        f"one view on its own would choose another cluster; for {most:,} most views "
        "would. Such samples may be mixed cases or errors in one source, or the view "
        "measures something else."
    )


def convergence_sentence(subject: Subject) -> str:
    """Length of the run."""
    text = f"The chosen restart took {plural(len(subject.history), 'iteration')}"
    if not subject.paced:
        return f"{text}."
    n_paces = len({record.stage for record in subject.history})
    return (
        f"{text} in {plural(n_paces, 'pace')}. Where the line is broken, more samples "
        "join and exponents change; within a pace the objective never rises."
    )


def choice_sentence(choice: ClusterCountChoice) -> str:
    """How the number of clusters was chosen."""
    text = (
        "Data was clustered again on random subsamples. The curve shows how well the "
        "weakest cluster was found again (Jaccard index, mean over subsamples); "
    )
    if choice.reached:
        return text + (
            f"{choice.n_clusters} is the largest number whose clusters all reach "
            f"{choice.threshold}."
        )
    return text + (
        f"no number reaches {choice.threshold}, so {choice.n_clusters}, the most "
        "stable one, was taken. It is weak evidence."
    )


def bar_width(effect: FeatureEffect, subject: Subject) -> float:
    """Width of a feature's bar in per cent: the largest finite effect takes all."""
    finite = [abs(e.effect) for e in subject.effects if math.isfinite(e.effect)]
    return 100 * min(1.0, abs(effect.effect) / max(finite, default=1.0))


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
