"""Agreement of a clustering with known classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix, pair_confusion_matrix

__all__ = [
    "adjusted_rand_score",
    "clustering_accuracy",
    "nmi_score",
    "pairwise_f_score",
    "purity_score",
]


def clustering_accuracy(labels_true: Any, labels_pred: Any) -> float:
    """Share of samples in the right class under the best matching of clusters.

    Clusters are matched to classes one to one so that most samples agree (Hungarian
    algorithm); surplus clusters match nothing.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Known classes, of any type that can be compared.
    labels_pred : array-like of shape (n_samples,)
        Clusters.

    Returns
    -------
    accuracy : float
        Between 0 and 1.

    Examples
    --------
    >>> from manyview.metrics import clustering_accuracy
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.75
    """
    table = contingency_matrix(*_check_labels(labels_true, labels_pred))
    classes, clusters = linear_sum_assignment(table, maximize=True)
    return float(table[classes, clusters].sum() / table.sum())


def purity_score(labels_true: Any, labels_pred: Any) -> float:
    """Share of samples that belong to the largest class of their cluster.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Known classes.
    labels_pred : array-like of shape (n_samples,)
        Clusters.

    Returns
    -------
    purity : float
        Between 0 and 1, never below the accuracy.

    Examples
    --------
    >>> from manyview.metrics import purity_score
    >>> purity_score([0, 0, 1, 1], [0, 1, 2, 2])
    1.0
    """
    table = contingency_matrix(*_check_labels(labels_true, labels_pred))
    return float(table.max(axis=0).sum() / table.sum())


def nmi_score(
    labels_true: Any, labels_pred: Any, *, average_method: str = "arithmetic"
) -> float:
    """Mutual information of classes and clusters, normalised by their entropies.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Known classes.
    labels_pred : array-like of shape (n_samples,)
        Clusters.
    average_method : {"arithmetic", "geometric", "min", "max"}, default="arithmetic"
        How the two entropies make the normaliser. Papers differ here and seldom say
        which they use; the choice usually moves the score by less than 0.02.

    Returns
    -------
    nmi : float
        Between 0 and 1.

    Examples
    --------
    >>> from manyview.metrics import nmi_score
    >>> nmi_score([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    y_true, y_pred = _check_labels(labels_true, labels_pred)
    score = normalized_mutual_info_score(y_true, y_pred, average_method=average_method)
    return float(np.clip(score, 0.0, 1.0))


def pairwise_f_score(labels_true: Any, labels_pred: Any) -> float:
    """Harmonic mean of precision and recall over pairs of samples.

    A pair is predicted if its samples share a cluster, and true if they share a class.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Known classes.
    labels_pred : array-like of shape (n_samples,)
        Clusters.

    Returns
    -------
    f_score : float
        Between 0 and 1; 1 if neither labelling has a pair.

    Examples
    --------
    >>> from manyview.metrics import pairwise_f_score
    >>> pairwise_f_score([0, 0, 1, 1], [0, 0, 0, 1])
    0.4
    """
    y_true, y_pred = _check_labels(labels_true, labels_pred)
    pairs = pair_confusion_matrix(y_true, y_pred)
    wrong, both = pairs[0, 1] + pairs[1, 0], pairs[1, 1]
    return float(2 * both / (2 * both + wrong)) if both + wrong else 1.0


def all_scores(labels_true: Any, labels_pred: Any) -> dict[str, float] | None:
    """The scores that commands and reports show; None without known classes."""
    if labels_true is None:
        return None
    return {
        "accuracy": clustering_accuracy(labels_true, labels_pred),
        "nmi": nmi_score(labels_true, labels_pred),
        "purity": purity_score(labels_true, labels_pred),
        "ari": float(adjusted_rand_score(labels_true, labels_pred)),
    }


def _check_labels(
    labels_true: Any, labels_pred: Any
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Both labellings as codes, so that any type that can be compared will do."""
    codes = []
    for name, labels in (("labels_true", labels_true), ("labels_pred", labels_pred)):
        array = np.asarray(labels)
        if array.ndim != 1:
            msg = f"{name} has shape {array.shape}, expected one label per sample."
            raise ValueError(msg)
        if array.dtype.kind == "O":
            # Mixed or missing labels cannot be sorted; as text they can.
            array = array.astype(str)
        codes.append(np.unique(array, return_inverse=True)[1].ravel())
    y_true, y_pred = codes
    if len(y_true) != len(y_pred) or not len(y_true):
        msg = (
            f"labels_true has {len(y_true)} samples and labels_pred has {len(y_pred)}. "
            "Pass one label per sample in both, and at least one."
        )
        raise ValueError(msg)
    return y_true, y_pred
