"""A session with scanpy and mudata: objects in, clusters, embedding and plots back."""

import anndata
import matplotlib.colors
import matplotlib.image
import mudata
import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier

from manyview import omics
from manyview.datasets import load_handwritten
from manyview.metrics import clustering_accuracy

# What companions deprecate among themselves is not our affair.
pytestmark = [pytest.mark.companions, pytest.mark.filterwarnings("ignore")]

DIGITS = 3
VIEWS = ("fac", "fou", "kar")


@pytest.fixture(scope="module")
def digits():
    """A MuData of 600 digits in three modalities; one lacks fifty samples."""
    data = load_handwritten()
    kept = np.flatnonzero(data.target < DIGITS)
    names = np.array([f"digit{i}" for i in kept])
    modalities = {}
    for name, view in zip(data.view_names, data.views, strict=True):
        if name in VIEWS:
            own = slice(50, None) if name == "fou" else slice(None)
            modalities[name] = anndata.AnnData(
                view[kept][own].astype(np.float32), obs=pd.DataFrame(index=names[own])
            )
    both = mudata.MuData(modalities)
    truth = pd.Series(data.target[kept].astype(str), index=names, dtype="category")
    both.obs["truth"] = truth
    return both


def test_a_session(digits, tmp_path):
    import scanpy

    omics.cluster(digits, n_clusters=DIGITS)
    found = digits.obs["manyview"].astype(int)
    assert clustering_accuracy(digits.obs["truth"].astype(int), found) > 0.98

    scanpy.pp.neighbors(digits, use_rep="X_manyview")
    scanpy.tl.umap(digits)
    plane = digits.obsm["X_umap"]
    # Neighbours in the picture are neighbours in the data.
    nearest = KNeighborsClassifier(10).fit(plane, digits.obs["truth"])
    assert nearest.score(plane, digits.obs["truth"]) > 0.98

    figure = scanpy.pl.umap(
        digits, color=["manyview", "manyview_confidence"], return_fig=True
    )
    figure.savefig(tmp_path / "umap.png")
    picture = matplotlib.image.imread(tmp_path / "umap.png")
    colours = np.array(
        [matplotlib.colors.to_rgb(c) for c in digits.uns["manyview_colors"]]
    )
    for colour in colours:
        assert (np.abs(picture[..., :3] - colour).max(axis=2) < 0.01).sum() > 50

    digits.write(tmp_path / "out.h5mu")
    again = mudata.read_h5mu(tmp_path / "out.h5mu")
    assert again.obs["manyview"].equals(digits.obs["manyview"])


def test_clusters_serve_as_groups_of_an_anndata(digits):
    import scanpy

    cells = digits.mod["fac"].copy()
    cells.obsm["kar"] = digits.mod["kar"].X
    omics.cluster(cells, DIGITS, use_rep=["X", "kar"], key_added="groups")
    scanpy.tl.rank_genes_groups(cells, "groups", method="t-test")
    names = cells.uns["rank_genes_groups"]["names"]
    assert names.dtype.names == ("0", "1", "2")
    axes = scanpy.pl.embedding(cells, basis="X_groups", color="groups", show=False)
    assert len(axes.get_legend().get_texts()) == DIGITS
