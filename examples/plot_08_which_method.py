"""
Which method should I use?
==========================

Twelve methods share one interface, so trying them all takes a loop. Three problems are
enough to see that there is no best one for everything.
"""

# %%
# Real digits (every fifth one) with six views; made-up data whose two views are each
# blind to a part of the clusters; and two rings, seen by one clear and one blurred
# view. All methods run with their defaults and are told the true number of clusters.

import numpy as np

from manyview.datasets import load_handwritten

digits = load_handwritten()
every_fifth = slice(None, None, 5)

rng = np.random.default_rng(0)
kind = rng.integers(4, size=300)
halves = [kind // 2, kind % 2]  # each view tells two pairs of clusters apart
blind = [rng.normal(size=(300, 8)) + 4 * half[:, None] for half in halves]

ring = np.repeat([0, 1], 150)
angle = rng.uniform(0, 2 * np.pi, 300)
around = (1 + 2 * ring)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
rings = [around + rng.normal(scale=width, size=(300, 2)) for width in (0.1, 0.3)]

problems = {
    "digits": (
        10,
        [view[every_fifth] for view in digits.views],
        digits.target[every_fifth],
    ),
    "half blind": (4, blind, kind),
    "rings": (2, rings, ring),
}

# %%
# A fit counts by its agreement with the truth (NMI) and its time on this machine.

import time
import warnings

from sklearn.exceptions import ConvergenceWarning

import manyview
from manyview.metrics import nmi_score

scores, seconds = {}, {}
for problem, (n_clusters, views, truth) in problems.items():
    for name in manyview.cluster.__all__:
        method = getattr(manyview, name)(n_clusters=n_clusters, random_state=0)
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            labels = method.fit_predict(views)
        seconds[problem, name] = time.perf_counter() - started
        scores[problem, name] = nmi_score(truth, labels)

# %%
import matplotlib.pyplot as plt

names = sorted(manyview.cluster.__all__, key=lambda name: scores["digits", name])
figure, axes = plt.subplots(1, 4, figsize=(9.5, 4.2), sharey=True, layout="constrained")
for ax, problem in zip(axes, problems, strict=False):
    values = [scores[problem, name] for name in names]
    colors = ["#3b6fd4" if "NSMVC" in name else "#b8c1cc" for name in names]
    ax.barh(names, values, color=colors)
    ax.set(title=f"{problem}: NMI", xlim=(0, 1))
axes[3].barh(names, [seconds["digits", name] for name in names], color="#b8c1cc")
axes[3].set(title="digits: seconds", xscale="log")
plt.show()

# %%
# The digits are kind to most methods. The half-blind clusters, which no view shows by
# itself, are lost by AMGL, CoTrain and k-means on a single view. The rings, which are
# not round, are found by GraphNSMVC alone. Three problems are no benchmark:
# :doc:`/choosing-a-method` has what was measured on sixteen data sets, and ``manyview
# compare`` does the same for your own files.
