"""
What if samples lack views?
===========================

In most studies not every sample was measured in every way. The usual answer, to keep
complete samples only, throws most of them away. Here a sample that lacks a view has a
row of NaN there, and is clustered by the views that it has.
"""

# %%
# We delete views of digits at random, more and more of them. Every sample keeps one
# view.

import numpy as np

from manyview import GraphNSMVC
from manyview.datasets import load_handwritten
from manyview.metrics import clustering_accuracy

data = load_handwritten()
every_second = slice(None, None, 2)
complete = [data.views[v][every_second] for v in (0, 1, 2, 5)]
target = data.target[every_second]


def delete(views, share, seed=0):
    """The views with this share of their rows missing."""
    rng = np.random.default_rng(seed)
    missing = rng.random((len(views), len(views[0]))) < share
    kept = rng.integers(len(views), size=len(views[0]))
    missing[kept, np.arange(len(kept))] = False
    deleted = [
        np.where(m[:, None], np.nan, v) for m, v in zip(missing, views, strict=True)
    ]
    return deleted, missing


# %%
# For each share we cluster all samples, and count those with all four views.

shares = [0.0, 0.2, 0.4, 0.6]
accuracy, n_complete = [], []
for share in shares:
    views, missing = delete(complete, share)
    model = GraphNSMVC(n_clusters=10, random_state=0).fit(views)
    accuracy.append(clustering_accuracy(target, model.labels_))
    n_complete.append(np.mean(~missing.any(axis=0)))

# %%
# With 60 % of all rows gone, one sample in seventeen is complete, and nine in ten
# samples are still in the right cluster.

import matplotlib.pyplot as plt

figure, ax = plt.subplots(layout="constrained")
ax.plot(shares, accuracy, marker="o", color="#3b6fd4", label="accuracy, all samples")
ax.plot(
    shares, n_complete, marker="s", color="#e07b39", label="share of complete samples"
)
ax.set(xlabel="share of rows missing, per view", ylim=(0, 1.02), xticks=shares)
ax.legend(loc="lower left")
plt.show()

# %%
# Rows are missing at random here. If a view lacks exactly the hard cases, no method can
# know.
