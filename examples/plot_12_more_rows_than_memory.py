"""
What if there are more rows than memory?
========================================

Views may be memory maps. They are read block by block, and let go. What stays in memory
are about 80 bytes per row, however wide the views are.
"""

# %%
# ``write_views`` writes made-up views of any size. To keep this page quick they have
# tens of thousands of rows; files of any size are read the same way.

import tempfile
import tracemalloc
from pathlib import Path

import numpy as np

from manyview import NSMVC
from manyview.datasets import write_views

folder = tempfile.TemporaryDirectory()
files = write_views(
    Path(folder.name) / "views", 40_000, 5, (512, 512), random_state=0, dtype="float32"
)
views = [np.load(path, mmap_mode="r") for path in files.views]

# %%
# We fit the first 20, 30 and 40 thousand rows and watch the memory, after a small fit
# that loads all libraries.

NSMVC(n_clusters=5, random_state=0).fit([view[:100] for view in views])

sizes, on_disk, in_memory = [20_000, 30_000, 40_000], [], []
for n_samples in sizes:
    rows = [view[:n_samples] for view in views]
    tracemalloc.start()
    model = NSMVC(n_clusters=5, n_init=1, random_state=0).fit(rows)
    in_memory.append(tracemalloc.get_traced_memory()[1] / 2**20)
    tracemalloc.stop()
    on_disk.append(sum(view.nbytes for view in rows) / 2**20)

# %%
# It is what Python and NumPy allocated at most during the fit. (Views of up to 32 MiB
# are kept in memory as a whole, which is faster; these are larger.)

import matplotlib.pyplot as plt

figure, ax = plt.subplots(layout="constrained")
ax.plot(sizes, on_disk, marker="s", color="#e07b39", label="the views on disk")
ax.plot(sizes, in_memory, marker="o", color="#3b6fd4", label="allocated by the fit")
ax.set(xlabel="samples", ylabel="MiB", ylim=(0, None), xlim=(0, None))
ax.legend()
plt.show()

from manyview.metrics import clustering_accuracy

truth = np.load(files.target)
print(f"accuracy of the largest fit: {clustering_accuracy(truth, model.labels_):.3f}")
folder.cleanup()

# %%
# When one machine is too slow, the same fit runs on a Dask cluster:
# :doc:`/distributed`.
