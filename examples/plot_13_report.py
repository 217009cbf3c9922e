"""
How do I get a report from Python?
==================================

A report for colleagues who do not read code: one HTML file with maps, views, features
and settings that needs no network. And the same figures for a paper.
"""

# %%
# Any fitted estimator will do.

import tempfile
from pathlib import Path

import manyview
from manyview.datasets import load_handwritten

data = load_handwritten()
views = dict(zip(data.view_names, data.views, strict=True))
model = manyview.GraphNSMVC(n_clusters=10, random_state=0).fit(views)

with tempfile.TemporaryDirectory() as folder:
    page = manyview.report(
        model, views, Path(folder) / "report.html", title="Digits", target=data.target
    )
    print(f"{page.name}: {page.stat().st_size / 1e6:.1f} MB")

# %%
# The page is described, with pictures, in :doc:`/report`. What it shows comes from
# ``manyview.explain``, and ``manyview.plotting`` draws into axes of your own. On the
# left all samples by all views together; on the right how often two views alone would
# choose the same cluster for a sample.

import matplotlib.pyplot as plt

from manyview.explain import explain, map_samples
from manyview.plotting import plot_agreement, plot_map

figure, axes = plt.subplots(1, 2, figsize=(8.5, 4.2), layout="constrained")
plot_map(map_samples(views, model.labels_, estimator=model), model.labels_, ax=axes[0])
axes[0].set_title("all views")
plot_agreement(explain(model, views), ax=axes[1])
axes[1].set_title("agreement of views")
plt.show()

# %%
# ``mor`` agrees least with the others: six morphological features cannot tell ten
# digits apart.
