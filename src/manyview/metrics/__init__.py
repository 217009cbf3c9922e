"""Scores that compare clusterings with known classes."""

from sklearn.metrics import adjusted_rand_score

from manyview.metrics._scores import (
    clustering_accuracy,
    nmi_score,
    pairwise_f_score,
    purity_score,
)

__all__ = [
    "adjusted_rand_score",
    "clustering_accuracy",
    "nmi_score",
    "pairwise_f_score",
    "purity_score",
]
