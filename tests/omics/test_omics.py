"""AnnData and MuData: which matrices are views, and results back in the objects."""

import anndata
import mudata
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from manyview import NSMVC, GraphNSMVC, ViewError, omics
from manyview.datasets import read_views
from manyview.exceptions import DatasetError
from manyview.metrics import clustering_accuracy

# MuData warns about its own plans while it is built.
pytestmark = pytest.mark.filterwarnings(
    "ignore::FutureWarning:mudata", "ignore:Cannot join columns:UserWarning"
)

CELLS = [f"cell{i}" for i in range(90)]


@pytest.fixture
def cells(blobs):
    """One AnnData with X, a layer and two entries of obsm."""
    views, _ = blobs
    return anndata.AnnData(
        views[0],
        obs=pd.DataFrame(index=CELLS),
        var=pd.DataFrame(index=["g1", "g2", "g3", "g4"]),
        layers={"counts": sparse.csr_matrix(np.abs(views[0]).round())},
        obsm={
            "X_pca": views[1],
            "protein": pd.DataFrame(views[2], index=CELLS, columns=["p", "q", "r"]),
        },
    )


@pytest.fixture
def both(cells, blobs):
    """A MuData whose second modality lacks ten cells and lists the rest backwards."""
    order = np.arange(89, 9, -1)
    second = anndata.AnnData(
        sparse.csr_matrix(blobs[0][1][order]),
        obs=pd.DataFrame(index=[CELLS[i] for i in order]),
    )
    second.obsm["X_lsi"] = blobs[0][2][order]
    data = mudata.MuData({"rna": cells, "atac": second})
    data.obs["truth"] = pd.Series(blobs[1], index=CELLS)
    return data


# One rule: (use_rep, layer) -> the views of `cells`, in memory and from a file.
RULES = {
    "X": (None, None, ["X"]),
    "the same": ("X", None, ["X"]),
    "one of obsm": ("X_pca", None, ["X_pca"]),
    "several": (["X", "protein"], None, ["X", "protein"]),
    "a layer": (None, "counts", ["counts"]),
    "a layer and obsm": (["X", "X_pca"], "counts", ["counts", "X_pca"]),
}


def dense(view):
    array = getattr(view, "array", view)
    array = array.toarray() if sparse.issparse(array) else array
    return np.asarray(array)


@pytest.mark.parametrize("rule", RULES)
def test_one_rule_for_an_anndata_and_its_file(cells, tmp_path, rule):
    use_rep, layer, names = RULES[rule]
    stored = {
        "X": cells.X,
        "counts": cells.layers["counts"].toarray(),
        "X_pca": cells.obsm["X_pca"],
        "protein": cells.obsm["protein"].to_numpy(),
    }
    views = omics.select_views(cells, use_rep=use_rep, layer=layer)
    assert list(views) == names
    cells.write_h5ad(tmp_path / "cells.h5ad")
    read = read_views(tmp_path / "cells.h5ad", use_rep=use_rep, layer=layer)
    assert list(read.view_names) == names
    assert_array_equal(read.sample_ids, CELLS)
    for name, view in zip(names, read.views, strict=True):
        assert_array_equal(dense(views[name]), stored[name])
        assert_array_equal(dense(view), stored[name])
        known = views[name].columns
        assert known == {"X_pca": None, "protein": ("p", "q", "r")}.get(
            name, ("g1", "g2", "g3", "g4")
        )
        if known is not None:
            assert read.feature_names[names.index(name)] == known


def test_one_rule_for_a_mudata_and_its_file(both, tmp_path):
    both.write(tmp_path / "both.h5mu")
    for use_rep, names in {
        None: ["rna", "atac"],
        "X": ["rna", "atac"],
    }.items():
        views = omics.select_views(both, use_rep=use_rep)
        read = read_views(tmp_path / "both.h5mu", use_rep=use_rep)
        assert list(views) == list(read.view_names) == names
    chosen = {"rna": ["X_pca", "protein"], "atac": "X_lsi"}
    views = omics.select_views(both, use_rep=chosen)
    read = read_views(tmp_path / "both.h5mu", use_rep=chosen)
    assert list(views) == ["rna:X_pca", "rna:protein", "atac"]
    assert_array_equal(read.sample_ids, both.obs_names)
    assert_array_equal(views["atac"].index, both.obs_names)
    for name, view in zip(read.view_names, read.views, strict=True):
        assert_array_equal(dense(view), dense(views[name]))
    assert np.isnan(dense(views["atac"])).all(axis=1).sum() == 10
    views = omics.select_views(both, layer={"rna": "counts"})
    assert_array_equal(dense(views["rna"]), both.mod["rna"].layers["counts"].toarray())


@pytest.mark.parametrize(
    ("use_rep", "layer", "trouble"),
    [
        ("X_umap", None, r"no .*obsm\['X_umap'\].* has \['X_pca', 'protein'\]"),
        (None, "raw", r"no .*layers\['raw'\]"),
        ("X_pca", "counts", "stands in for X, but use_rep='X_pca' takes no X"),
        (["X", "X"], None, "Name each matrix once"),
        ({"rna": "X"}, None, "goes by modality, and an AnnData has none"),
    ],
)
def test_matrices_that_are_not_there(cells, tmp_path, use_rep, layer, trouble):
    with pytest.raises(ViewError, match=trouble):
        omics.select_views(cells, use_rep=use_rep, layer=layer)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    with pytest.raises(DatasetError, match=trouble):
        read_views(tmp_path / "cells.h5ad", use_rep=use_rep, layer=layer)


def test_unknown_modalities_are_named(both):
    with pytest.raises(ViewError, match=r"modality 'adt'; there are \['rna', 'atac'\]"):
        omics.select_views(both, use_rep={"adt": "X"})


def test_options_for_annotated_files_need_one(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3))
    with pytest.raises(DatasetError, match=r"use_rep='X' is for \.h5ad and"):
        read_views(tmp_path / "a.npy", use_rep="X")


def test_a_dict_of_anndata_fits(cells, blobs):
    other = anndata.AnnData(blobs[0][1], obs=pd.DataFrame(index=CELLS))
    model = NSMVC(3, random_state=0).fit({"rna": cells, "adt": other})
    expected = NSMVC(3, random_state=0).fit(blobs[0][:2])
    assert model.view_names_ == ["rna", "adt"]
    assert_array_equal(model.labels_, expected.labels_)


def test_duplicate_names_are_refused(cells):
    cells.obs_names = ["same", *CELLS[1:-1], "same"]
    with pytest.raises(ViewError, match="'same' occurs twice in obs_names"):
        omics.select_views({"rna": cells})
    # By itself, there is nothing to line it up with.
    omics.cluster(cells, 3)
    assert_array_equal(
        cells.obs["manyview"].astype(int),
        GraphNSMVC(3, random_state=0).fit([cells.X]).labels_,
    )


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix])
def test_parts_and_files_that_were_not_read(cells, tmp_path, store):
    expected = NSMVC(3, n_init=1, random_state=0).fit([cells.X[:60]]).labels_
    plain = cells.X[:60].copy()
    cells.X = store(cells.X)
    cells[:60].write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    for part in (cells[:60], backed):
        for form in (part, {"rna": part}, [part]):
            model = NSMVC(3, n_init=1, scale="range", random_state=0).fit(form)
            assert clustering_accuracy(expected, model.labels_) == 1.0
        assert_array_equal(dense(omics.select_views(part)["X"]), plain)
    found = omics.select_views(cells[:60], use_rep="protein")["protein"]
    assert found.columns == ("p", "q", "r")
    backed.file.close()


def test_an_anndata_among_views_needs_its_matrix(blobs):
    with pytest.raises(ViewError, match="'rna' is an AnnData without a matrix X"):
        NSMVC(3).fit({"rna": anndata.AnnData(shape=(90, 2)), "b": blobs[0][1]})


def test_cluster_writes_into_an_anndata(cells, blobs):
    assert omics.cluster(cells, 3, use_rep=["X", "X_pca", "protein"]) is None
    model = GraphNSMVC(3, random_state=0).fit(blobs[0])
    assert_array_equal(cells.obs["manyview"].astype(int), model.labels_)
    assert list(cells.obs["manyview"].cat.categories) == ["0", "1", "2"]
    confidence = cells.obs["manyview_confidence"]
    assert confidence.between(0, 1).all()
    assert confidence.mean() > 0.9
    assert len(cells.obsm["X_manyview"]) == 90
    facts = cells.uns["manyview"]
    assert facts["method"] == "GraphNSMVC"
    assert list(facts["views"]) == ["X", "X_pca", "protein"]
    assert facts["params"]["n_clusters"] == 3
    assert_array_equal(facts["view_weights"], model.view_weights_)


def test_cluster_writes_into_a_mudata_with_missing_samples(both, blobs, tmp_path):
    changed = omics.cluster(both, 3, key_added="groups", copy=True)
    assert "groups" not in both.obs
    found = changed.obs["groups"][CELLS].astype(int)
    assert clustering_accuracy(blobs[1], found) == 1.0
    assert np.isfinite(changed.obsm["X_groups"]).all()
    changed.write(tmp_path / "out.h5mu")
    again = mudata.read_h5mu(tmp_path / "out.h5mu")
    assert again.obs["groups"].equals(changed.obs["groups"])
    assert again.uns["groups"]["version"] == changed.uns["groups"]["version"]


def test_cluster_of_a_dict_goes_by_the_union_of_samples(cells, blobs):
    order = np.arange(89, 9, -1)
    second = anndata.AnnData(
        blobs[0][1][order], obs=pd.DataFrame(index=[CELLS[i] for i in order])
    )
    third = anndata.AnnData(
        blobs[0][2][::-1].copy(), obs=pd.DataFrame(index=CELLS[::-1])
    )
    parts = {"rna": cells, "atac": second, "protein": third}
    omics.cluster(parts, estimator=NSMVC(3, random_state=0))
    assert "X_manyview" not in cells.obsm
    omics.cluster(parts, 3)
    embedding = cells.obsm["X_manyview"]
    assert_array_equal(second.obsm["X_manyview"], embedding[order])
    assert_array_equal(third.obsm["X_manyview"], embedding[::-1])
    found = cells.obs["manyview"]
    assert clustering_accuracy(blobs[1], found.astype(int)) == 1.0
    assert_array_equal(second.obs["manyview"], found[second.obs_names])
    assert_array_equal(third.obs["manyview"], found[third.obs_names])


def test_cluster_imputes_when_told(cells):
    cells.X[[3, 5], 0] = np.nan
    with pytest.raises(ViewError, match="ViewImputer"):
        omics.cluster(cells, 3)
    omics.cluster(cells, 3, missing="impute-knn")
    assert cells.uns["manyview"]["imputed"] == {"X": 2}
    with pytest.raises(ViewError, match="missing='mean' is not one of refuse, impute"):
        omics.cluster(cells, 3, missing="mean")


def test_cluster_needs_a_number_and_an_object(cells):
    with pytest.raises(ViewError, match="Pass the number of clusters"):
        omics.cluster(cells)
    with pytest.raises(ViewError, match="expected an AnnData, a MuData or a dict"):
        omics.cluster([np.eye(3)], 2)
