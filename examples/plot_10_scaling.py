"""
Do units matter?
================

Grams or kilograms, counts or shares: a change of units changes nothing about the
samples, but it can turn distances upside down. Here is what happens, and what ``scale``
does about it.
"""

# %%
# Three clusters in two views. Then somebody stores one feature that has nothing to do
# with the clusters in thousandths of its unit.

from manyview.datasets import make_views

data = make_views(300, 3, (6, 6), separation=5, random_state=0)
first, second = (view.copy() for view in data.views)
first[:, 0] = 3 * first[::-1, 1]  # unrelated to the clusters of its row
in_units = [first, second]
changed = [first.copy(), second]
changed[0][:, 0] *= 1000

# %%
# Every mode of ``scale``, on both versions. ``None`` takes the numbers as they are,
# ``"energy"`` only centres a view, and ``"l2"`` gives rows unit length; the others
# bring the features of a view to the same range or spread.

import matplotlib.pyplot as plt
import numpy as np

from manyview import NSMVC
from manyview.metrics import clustering_accuracy

modes = ["auto", "range", "minmax", "zscore", "l2", "energy", None]
scores = np.array(
    [
        [
            clustering_accuracy(
                data.target, NSMVC(3, scale=mode, random_state=0).fit(views).labels_
            )
            for mode in modes
        ]
        for views in (in_units, changed)
    ]
)

places = np.arange(len(modes))
figure, ax = plt.subplots(layout="constrained")
ax.bar(places - 0.2, scores[0], width=0.4, color="#3b6fd4", label="as measured")
ax.bar(
    places + 0.2, scores[1], width=0.4, color="#e07b39", label="one feature times 1000"
)
ax.axhline(1 / 3, color="0.6", linestyle=":")
ax.set_xticks(places, [repr(mode) for mode in modes])
ax.set(xlabel="scale", ylabel="accuracy", ylim=(0, 1.02))
ax.legend(loc="upper center", bbox_to_anchor=(0.5, 1.16), ncols=2)
plt.show()

# %%
# Modes that make features comparable are not moved by units. ``"energy"`` lets the one
# large feature rule its view, and ``"l2"`` is meant for words and counts. ``None`` gets
# away with it here, as NSMVC gives a view with huge losses a tiny exponent: the second
# view decides alone.
#
# The default, ``"auto"``, takes ``"l2"`` for views that are mostly zero, and
# ``"range"`` for all others. It is no cure for outliers: a single value far out
# stretches the range of its feature. Logarithms of skewed measurements remain your
# decision, before the fit.
