"""
What if clusters are not round?
===============================

k-means, and NSMVC with it, compares samples with centres, so its clusters are round.
Graphs of nearest neighbours follow any shape. This example shows when that helps.
"""

# %%
# The first view shows two rings, and the second a shifted pair of half moons that
# splits the outer ring once more: three clusters in all.

import numpy as np

rng = np.random.default_rng(0)
truth = np.repeat([0, 1, 2], 150)


def ring(radius, n):
    angles = rng.uniform(0, 2 * np.pi, n)
    return radius * np.column_stack([np.cos(angles), np.sin(angles)])


rings = np.vstack([ring(1, 150), ring(3, 300)]) + rng.normal(scale=0.15, size=(450, 2))
bend = rng.uniform(0, np.pi, 450)
upper = (truth == 2)[:, None]
moons = np.where(
    upper,
    np.column_stack([np.cos(bend), np.sin(bend)]),
    np.column_stack([1 - np.cos(bend), 0.4 - np.sin(bend)]),
) + rng.normal(scale=0.07, size=(450, 2))

# %%
from manyview import NSMVC, GraphNSMVC
from manyview.metrics import clustering_accuracy

views = {"rings": rings, "moons": moons}
found = {
    "NSMVC": NSMVC(3, random_state=0).fit_predict(views),
    "GraphNSMVC": GraphNSMVC(3, random_state=0).fit_predict(views),
}

import matplotlib.pyplot as plt

from manyview.plotting import cluster_colors

figure, axes = plt.subplots(2, 2, figsize=(7, 6.4), layout="constrained")
for row, (name, labels) in zip(axes, found.items(), strict=True):
    score = clustering_accuracy(truth, labels)
    for ax, (view, points) in zip(row, views.items(), strict=True):
        ax.scatter(*points.T, c=np.array(cluster_colors(3))[labels], s=8)
        ax.set(title=f"{name} ({score:.0%} right): {view}", aspect="equal")
        ax.set_axis_off()
plt.show()

# %%
# Where clusters are round and overlap, the graph has no advantage, and costs more time.
# Very thin clusters of few samples may be joined by the 20 neighbours that the default
# looks at; ``n_neighbors=(5, 10)`` helps there.
