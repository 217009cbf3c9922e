"""Single-cell and other omics objects: AnnData and MuData in, results back in them."""

from manyview.omics._cluster import cluster, select_views

__all__ = ["cluster", "select_views"]
