"""Figures of clusterings, drawn into axes of your own."""

from manyview.plotting._axes import (
    plot_agreement,
    plot_cluster_count,
    plot_convergence,
    plot_exponents,
    plot_map,
    plot_sensitivity,
)
from manyview.plotting._colors import cluster_colors

__all__ = [
    "cluster_colors",
    "plot_agreement",
    "plot_cluster_count",
    "plot_convergence",
    "plot_exponents",
    "plot_map",
    "plot_sensitivity",
]
