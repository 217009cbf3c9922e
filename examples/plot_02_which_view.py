"""
Which view can I trust?
=======================

A measurement can fail without anybody noticing: samples swapped on a plate, a broken
sensor, the wrong file. Such a view still looks like data. Here we add one on purpose
and see whether the result tells us.
"""

# %%
# The bad view holds real pixel values, but the rows are shuffled: every value is
# plausible, and none belongs to its sample.

import numpy as np

from manyview import GraphNSMVC
from manyview.datasets import load_handwritten

data = load_handwritten()
views = dict(zip(data.view_names, data.views, strict=True))
views["shuffled"] = np.random.default_rng(0).permutation(views["pix"])

model = GraphNSMVC(n_clusters=10, random_state=0).fit(views)

# %%
# Read ``unexplained_`` first: the share of a view's scatter that the clusters leave.
# Near 1 means that the view knows nothing about them. ``view_weights_`` is the view's
# share in what separates the clusters.

import matplotlib.pyplot as plt

order = np.argsort(model.unexplained_)
names = np.array(model.view_names_)[order]
colors = ["#c8434f" if name == "shuffled" else "#3b6fd4" for name in names]

figure, (left, right) = plt.subplots(1, 2, sharey=True, layout="constrained")
left.barh(names, model.unexplained_[order], color=colors)
left.set(xlabel="unexplained share", xlim=(0, 1))
right.barh(names, model.view_weights_[order], color=colors)
right.set(xlabel="weight")
plt.show()

# %%
# The bad view stands out, and does little harm: accuracy with it and without it.

from manyview.metrics import clustering_accuracy

clean = GraphNSMVC(n_clusters=10, random_state=0).fit(list(data.views))
print(
    f"with the shuffled view:    {clustering_accuracy(data.target, model.labels_):.3f}"
)
print(
    f"without the shuffled view: {clustering_accuracy(data.target, clean.labels_):.3f}"
)

# %%
# A weight is no quality mark. A view can be clean and still say something else than the
# others, e.g. which laboratory a sample comes from. Then it has a high unexplained
# share, too: the clusters found are not its own.
