"""
How do I get from a MuData object and back?
===========================================

Single-cell data of several kinds (RNA and surface proteins, say) lives in MuData
objects: one AnnData per modality, with the same cells. A MuData object goes into
``fit`` as it is, and the labels go back into ``.obs``. This example needs the package
``mudata``.
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
# Each modality is a view.

from manyview import GraphNSMVC

model = GraphNSMVC(n_clusters=4, random_state=0).fit(mdata)
print(dict(zip(model.view_names_, model.view_weights_.round(2).tolist(), strict=True)))

# %%
# Labels go back as a categorical column, which scanpy and muon know how to colour; a
# joint embedding goes into ``.obsm``.

import pandas as pd

from manyview.explain import explain

mdata.obs["cluster"] = pd.Categorical(model.labels_.astype(str))
mdata.obs["confidence"] = explain(model, mdata).confidence
mdata.obsm["X_manyview"] = model.transform(mdata)
mdata.obs.groupby("cluster", observed=True)["confidence"].describe().round(2)

# %%
# The file holds them, too. Files need not be opened in Python to be clustered:
# ``manyview cluster cells.h5mu -k 4 --out result`` reads all modalities of the file.

import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "cells.h5mu"
    mdata.write(path)
    again = mudata.read_h5mu(path)
print(again.obs["cluster"].value_counts().sort_index())

# %%
# What each modality shows alone, and the clusters found from both.

import matplotlib.pyplot as plt
from sklearn.decomposition import PCA

from manyview.plotting import cluster_colors

colors = np.array(cluster_colors(4))[model.labels_]
figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
for ax, name in zip(axes, mdata.mod, strict=True):
    plane = PCA(2, random_state=0).fit_transform(mdata[name].X)
    ax.scatter(*plane.T, c=colors, s=10)
    ax.set_title(f"{name}, first two components")
    ax.set_axis_off()
plt.show()

# %%
# The true types, for comparison:

pd.crosstab(types, model.labels_, rownames=["type"], colnames=["cluster"])
