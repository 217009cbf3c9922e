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
sizes, on_disk, in_memory = [20_000, 40_000, 60_000], [], []

for n_samples in sizes:
    files = write_views(
        Path(folder.name) / str(n_samples),
        n_samples,
        5,
        (256, 512),
        random_state=0,
        dtype="float32",
    )
    views = [np.load(path, mmap_mode="r") for path in files.views]
    model = NSMVC(n_clusters=5, n_init=1, random_state=0)
    tracemalloc.start()
    model.fit(views)
    in_memory.append(tracemalloc.get_traced_memory()[1] / 2**20)
    tracemalloc.stop()
    on_disk.append(sum(view.nbytes for view in views) / 2**20)

# %%
# Memory is what Python and NumPy allocated at most during the fit. (Views below 32 MiB
# are kept in memory as a whole, because that is faster.)

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
