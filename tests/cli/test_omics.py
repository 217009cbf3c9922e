"""Annotated files on the command line: chosen matrices, results in a copy."""

import anndata
import mudata
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

pytestmark = pytest.mark.filterwarnings(
    "ignore::FutureWarning:mudata", "ignore:Cannot join columns:UserWarning"
)

CELLS = [f"cell{i}" for i in range(90)]
QUICK = ("--n-init", 2)


@pytest.fixture(autouse=True)
def trust(monkeypatch):
    """Children that read files first take a second each, and have their own tests."""
    monkeypatch.setattr("manyview.datasets._read.probe", lambda *_, **__: None)


@pytest.fixture
def h5ad(blobs, tmp_path):
    views, _ = blobs
    cells = anndata.AnnData(
        views[0],
        obs=pd.DataFrame({"batch": pd.Categorical(["a", "b"] * 45)}, index=CELLS),
        obsm={"X_pca": views[1], "noise": np.ones((90, 2))},
        uns={"note": "kept"},
    )
    cells.write_h5ad(tmp_path / "cells.h5ad")
    return tmp_path / "cells.h5ad"


def test_write_adds_to_a_copy_of_an_h5ad(run, h5ad):
    out = h5ad.with_name("out.h5ad")
    words = ("cluster", h5ad, "-k", 3, *QUICK, "--use-rep", "X,X_pca")
    done = run(*words, "--write", out, "--out", h5ad.parent / "result")
    assert done.code == 0, done.err
    assert f"Written to {out}." in done.out
    before, after = anndata.read_h5ad(h5ad), anndata.read_h5ad(out)
    labels = pd.read_csv(h5ad.parent / "result" / "labels.csv", index_col="sample")
    assert_array_equal(after.obs["manyview"].astype(int), labels["cluster"])
    assert after.obs["manyview"].dtype == "category"
    assert np.allclose(
        after.obs["manyview_confidence"], labels["confidence"], atol=1e-4
    )
    assert list(after.obs) == ["batch", "manyview", "manyview_confidence"]
    assert after.obs["batch"].equals(before.obs["batch"])
    assert len(after.obsm["X_manyview"]) == 90
    assert list(after.uns["manyview"]["views"]) == ["X", "X_pca"]
    assert after.uns["note"] == "kept"
    assert_array_equal(after.X, before.X)
    # Again, over what is there.
    done = run("cluster", out, "-k", 2, *QUICK, "--write", h5ad.with_name("two.h5ad"))
    assert done.code == 0, done.err
    again = anndata.read_h5ad(h5ad.with_name("two.h5ad"))
    assert list(again.obs) == list(after.obs)
    assert list(again.obs["manyview"].cat.categories) == ["0", "1"]


def test_write_adds_to_a_copy_of_an_h5mu(run, blobs, tmp_path):
    order = np.arange(89, 9, -1)
    names = [CELLS[i] for i in order]
    second = anndata.AnnData(blobs[0][1][order], obs=pd.DataFrame(index=names))
    second.var_names = [f"peak{i}" for i in range(6)]
    first = anndata.AnnData(blobs[0][0], obs=pd.DataFrame(index=CELLS))
    first.obsm["X_pca"] = blobs[0][2]
    both = mudata.MuData({"rna": first, "atac": second})
    both.write(tmp_path / "both.h5mu")
    words = ("cluster", tmp_path / "both.h5mu", "-k", 3, *QUICK, "--json")
    done = run(*words, "--use-rep", "rna=X_pca", "--write", tmp_path / "out.h5mu")
    assert done.code == 0, done.err
    after = mudata.read_h5mu(tmp_path / "out.h5mu")
    from manyview import GraphNSMVC
    from manyview.omics import select_views

    views = select_views(both, use_rep={"rna": "X_pca"})
    model = GraphNSMVC(3, n_init=2, random_state=0).fit(views)
    assert_array_equal(after.obs["manyview"].astype(int), model.labels_)
    assert len(after.obsm["X_manyview"]) == 90
    # A part of the modalities has a part of the samples.
    done = run(
        *words, "--variables", "atac", "--write", tmp_path / "atac.h5mu", "--force"
    )
    assert done.code == 0, done.err
    part = mudata.read_h5mu(tmp_path / "atac.h5mu").obs["manyview"]
    assert part.isna().sum() == 10
    assert part[names].notna().all()


@pytest.mark.parametrize(
    ("words", "trouble"),
    [
        (["--write", "{}/out.h5mu"], "under a name with the same suffix"),
        (["--write", "{}/out.csv"], "under a name with the same suffix"),
        (["--write", "{}/cells.h5ad"], "is the file that is clustered"),
        (["--write", "{}/there.h5ad"], "exists. Choose another --write, or"),
        (["--use-rep", "X_umap"], "obsm has ['X_pca', 'noise']"),
        (["--use-rep", "X_pca", "--layer", "a,b"], "--layer names one layer"),
        (["--layer", "raw"], "Choose with --use-rep"),
        (["--use-rep", "X", "--use-rep", "rna=X"], "in all cases or in none"),
    ],
)
def test_mistakes(run, h5ad, words, trouble):
    h5ad.with_name("there.h5ad").write_text("precious")
    words = [word.format(h5ad.parent) for word in words]
    done = run("cluster", h5ad, "-k", 3, *QUICK, *words)
    assert done.code == 1
    assert trouble in done.err
    assert h5ad.with_name("there.h5ad").read_text() == "precious"


def test_predict_knows_the_view_of_another_file(run, h5ad):
    out = h5ad.parent / "result"
    assert run("cluster", h5ad, "-k", 3, *QUICK, "--out", out).code == 0
    cells = anndata.read_h5ad(h5ad)[:7]
    cells.write_h5ad(h5ad.with_name("new.h5ad"))
    done = run("predict", out / "model.mvz", h5ad.with_name("new.h5ad"))
    assert done.code == 0, done.err
    assert len(done.out.splitlines()) == 8
