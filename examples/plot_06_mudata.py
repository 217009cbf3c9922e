"""
How do I get from a MuData object and back?
===========================================

Single-cell data of several kinds (RNA and surface proteins, say) lives in MuData
objects: one AnnData per modality, with the same cells. `manyview.omics.cluster` takes
one and writes its results where scanpy and muon look for them. This example needs the
package ``mudata``.
"""

# %%
# A made-up experiment: 300 cells of four types, 60 genes and 12 proteins. Two of the
# types are almost alike in their genes, the other two in their proteins.

import warnings

import mudata
import numpy as np
from anndata import AnnData
from mudata import MuData

warnings.simplefilter("ignore", FutureWarning)  # mudata 0.3 speaks of 0.4

rng = np.random.default_rng(0)
types = rng.integers(4, size=300)


def log_counts(levels):
    return np.log1p(rng.poisson(levels[types])).astype(np.float32)


genes = rng.gamma(1.0, 3.0, size=(4, 60))
genes[1] = genes[0] * rng.uniform(0.8, 1.25, size=60)
proteins = rng.gamma(2.0, 10.0, size=(4, 12))
proteins[3] = proteins[2] * rng.uniform(0.9, 1.1, size=12)


def modality(name, levels):
    cells = AnnData(log_counts(levels))
    cells.var_names = [f"{name}{i}" for i in range(levels.shape[1])]
    return cells


mdata = MuData(
    {"rna": modality("gene", genes), "protein": modality("protein", proteins)}
)
mdata

# %%
# Each modality is a view: its X, or what ``use_rep`` and ``layer`` name.

from manyview import omics

omics.cluster(mdata, n_clusters=4)
mdata

# %%
# Clusters are a categorical column, which scanpy and muon know how to colour; beside it
# is how clearly each cell belongs to its cluster. The joint embedding in ``.obsm`` is
# what ``scanpy.pp.neighbors(mdata, use_rep="X_manyview")`` takes for a UMAP.

mdata.obs.groupby("manyview", observed=True)["manyview_confidence"].describe().round(2)

# %%
# Which modality counts how much, the settings and the version are in ``.uns``.

mdata.uns["manyview"]

# %%
# The file holds all of it. Files need not be opened in Python to be clustered:
# ``manyview cluster cells.h5mu -k 4 --write clustered.h5mu`` does the same.

import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "cells.h5mu"
    mdata.write(path)
    again = mudata.read_h5mu(path)
print(again.obs["manyview"].value_counts().sort_index())

# %%
# What each modality shows alone, and the clusters found from both.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.decomposition import PCA

from manyview.plotting import cluster_colors

clusters = mdata.obs["manyview"].cat.codes
colors = np.array(cluster_colors(4))[clusters]
figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
for ax, name in zip(axes, mdata.mod, strict=True):
    plane = PCA(2, random_state=0).fit_transform(mdata[name].X)
    ax.scatter(*plane.T, c=colors, s=10)
    ax.set_title(f"{name}, first two components")
    ax.set_axis_off()
plt.show()

# %%
# The true types, for comparison:

pd.crosstab(types, clusters.to_numpy(), rownames=["type"], colnames=["cluster"])
