"""
What does a first clustering look like?
=======================================

Two thousand handwritten digits, each described in six ways: profiles, Fourier and
Karhunen-Loève coefficients, pixel averages, Zernike moments and a few morphological
features. They ship with the package. We ask for ten clusters and look at what is in
them.
"""

# %%
# Views are matrices with one row per sample. A dict gives them names.

from manyview import GraphNSMVC
from manyview.datasets import load_handwritten

data = load_handwritten()
views = dict(zip(data.view_names, data.views, strict=True))
model = GraphNSMVC(n_clusters=10, random_state=0).fit(views)
model.labels_

# %%
# No label was used. As the digits are known here, we can count how many samples lie in
# a cluster of their own digit.

from manyview.metrics import clustering_accuracy

print(f"{clustering_accuracy(data.target, model.labels_):.1%} in the right cluster")

# %%
# :func:`~manyview.explain.explain` says how clearly each sample belongs to its cluster:
# 1 at the centre, 0 half way to another one. Mistakes are found where it is low.

import numpy as np

from manyview.explain import explain

confidence = explain(model, views).confidence
digit_of = np.array(
    [np.bincount(data.target[model.labels_ == j]).argmax() for j in range(10)]
)
wrong = digit_of[model.labels_] != data.target
least = np.argsort(confidence, kind="stable")[:100]
print(f"{wrong.sum()} mistakes, {wrong[least].sum()} among the 100 least clear samples")

# %%
# Each row is a cluster: on the left its five clearest members, on the right the five
# least clear ones.

import matplotlib.pyplot as plt

pictures = views["pix"].reshape(-1, 16, 15)

figure, axes = plt.subplots(10, 11, figsize=(6.4, 6), layout="constrained")
for cluster, row in enumerate(axes):
    members = np.flatnonzero(model.labels_ == cluster)
    members = members[np.argsort(confidence[members], kind="stable")]
    shown = [*members[-5:][::-1], None, *members[:5][::-1]]
    for ax, sample in zip(row, shown, strict=True):
        ax.axis("off")
        if sample is not None:
            ax.imshow(pictures[sample], cmap="gray_r")
axes[0, 2].set_title("clearest")
axes[0, 8].set_title("least clear")
plt.show()
