"""Colours for clusters and views, the same in figures and on pages."""

from __future__ import annotations

import colorsys

# Distinct on white and on near-black; neighbours differ in lightness too.
PALETTE = (
    "#3b6fd4",
    "#e07b39",
    "#2a9d6f",
    "#c8434f",
    "#8e5bc9",
    "#b3a125",
    "#1fa3b8",
    "#d65fa5",
    "#8a5a3c",
    "#7a8794",
    "#5fae3c",
    "#e0a526",
)
GOLDEN_ANGLE = 0.381966


def cluster_colors(n_clusters: int) -> list[str]:
    """One colour per cluster, as ``#rrggbb``.

    Parameters
    ----------
    n_clusters : int
        How many are needed. Beyond the hand-picked ones, hues step by the golden
        angle, so that neighbours stay far apart.

    Returns
    -------
    colors : list of str
        The colours.
    """
    colors = list(PALETTE[:n_clusters])
    for extra in range(n_clusters - len(colors)):
        hue = (0.07 + extra * GOLDEN_ANGLE) % 1.0
        lightness = (0.42, 0.55, 0.66)[extra % 3]
        rgb = colorsys.hls_to_rgb(hue, lightness, 0.55)
        colors.append("#" + "".join(f"{round(255 * part):02x}" for part in rgb))
    return colors
