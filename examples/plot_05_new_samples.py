"""
Where do next week's samples belong?
====================================

Clusters are often found once and used for months. The model is stored, and new samples
are placed among the old clusters, also when not all their views have been measured yet.
"""

# %%
# Three of four digits are there today.

import numpy as np

import manyview
from manyview.datasets import load_handwritten

data = load_handwritten()
views = dict(zip(data.view_names, data.views, strict=True))
later = np.arange(2000) % 4 == 0
today = {name: view[~later] for name, view in views.items()}
next_week = {name: view[later] for name, view in views.items()}

model = manyview.GraphNSMVC(n_clusters=10, random_state=0).fit(today)

# %%
# The model is one file, without pickle.

import tempfile
from pathlib import Path

folder = tempfile.TemporaryDirectory()
path = manyview.save_model(model, Path(folder.name) / "digits.mvz")
model = manyview.load_model(path)

# %%
# To score new samples we need to know which digit a cluster stands for: the most
# frequent one among the samples of the fit.

fitted = data.target[~later]
digit_of = np.array(
    [np.bincount(fitted[model.labels_ == j]).argmax() for j in range(10)]
)


def accuracy(new):
    return np.mean(digit_of[model.predict(new)] == data.target[later])


# %%
# Views that nobody has measured yet are left out of the dict. We begin with the view
# that says least and add one after the other.

order = ["mor", "zer", "fou", "kar", "fac", "pix"]
scores = [accuracy({name: next_week[name] for name in order[:n]}) for n in range(1, 7)]

import matplotlib.pyplot as plt

of_the_fit = np.mean(digit_of[model.labels_] == fitted)
figure, ax = plt.subplots(layout="constrained")
ax.plot(range(6), scores, marker="o", color="#3b6fd4")
ax.axhline(of_the_fit, color="0.6", linestyle=":")
ax.annotate("samples of the fit", (0, of_the_fit), va="bottom", color="0.4")
ax.set(
    xlabel="views of the new samples",
    ylabel="share with the right digit",
    xticks=range(6),
    xticklabels=[order[0], *(f"+ {name}" for name in order[1:])],
    ylim=(0.5, 1.02),
)
plt.show()
folder.cleanup()

# %%
# ``predict`` never makes a new cluster. A sample of a kind that was not there in the
# fit goes to the nearest old one; its low confidence is the only hint.
