"""
How many clusters are there?
============================

Nobody knows beforehand, and every method returns as many as it is asked for. A way to
find out is stability: a cluster that is there is found again when a part of the samples
is left out; one that only exists because we asked for it is not.
"""

# %%
# Made-up data with five clusters in two views, and a third view of pure noise.

from manyview.datasets import make_views
from manyview.model_selection import choose_n_clusters

data = make_views(600, 5, (10, 20, 15), corrupt=[2], random_state=0)
choice = choose_n_clusters(data.views, range(2, 11), random_state=0)
print(f"chosen: {choice.n_clusters}")

# %%
# For each number, the curve shows how well the *least* stable cluster is found again.
# The largest number above the dotted line is chosen. Beyond five a true cluster is cut
# in two; the halves are not found again, and the curve falls. Numbers without a gap in
# the spectrum of the joint graph are not tried.

import matplotlib.pyplot as plt

from manyview.plotting import plot_cluster_count

figure, ax = plt.subplots(layout="constrained")
plot_cluster_count(choice, ax=ax)
ax.set_xticks(choice.candidates)
ax.axvspan(4.8, 5.2, color="#2a9d6f", alpha=0.15)
ax.annotate("true number", (5, 0.06), ha="center", color="#2a9d6f")
plt.show()

# %%
# Smaller numbers can be stable as well: merging neighbours gives coarser clusters that
# are found again just as surely. On real data look at the curve before you trust the
# number; :doc:`/choosing-k` has what the rule picks on real sets, where it is often
# wrong about the number of classes.
