"""Choosing the number of clusters without labels."""

from manyview.model_selection._cluster_count import (
    ClusterCountChoice,
    choose_n_clusters,
    recovery,
)

__all__ = ["ClusterCountChoice", "choose_n_clusters", "recovery"]
