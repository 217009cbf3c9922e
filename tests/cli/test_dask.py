"""``manyview cluster --dask``: a cluster from the command line."""

import csv
import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from manyview import NSMVC, GraphNSMVC, load_model
from manyview.cli import _dask

zarr = pytest.importorskip("zarr")
pytest.importorskip("distributed")


@pytest.fixture
def stored(tmp_path, blobs):
    """Three views as zarr arrays in row chunks."""
    paths = []
    for name, view in zip(("rna", "protein", "image"), blobs[0], strict=True):
        paths.append(tmp_path / f"{name}.zarr")
        array = zarr.create_array(
            str(paths[-1]), shape=view.shape, chunks=(40, 2), dtype=view.dtype
        )
        array[:] = view
    return paths


@pytest.mark.parametrize("Estimator", [GraphNSMVC, NSMVC])
def test_labels_model_and_report_are_those_of_one_machine(
    run, stored, blobs, tmp_path, monkeypatch, Estimator
):
    name = Estimator.__name__
    monkeypatch.setattr(_dask, "SAMPLE_ROWS", 50)
    options = ("-k", 3, "--n-init", 2, "--dask", "local[1]")
    if Estimator is NSMVC:
        options += ("--method", "nsmvc")
    outcome = run("cluster", *stored, *options, "--out", tmp_path / "result")
    assert outcome.code == 0, outcome.err
    assert f"90 samples, 3 views, Dask{name} with 3 clusters" in outcome.out
    views = dict(zip(("rna", "protein", "image"), blobs[0], strict=True))
    local = Estimator(3, assignment="majorize", n_init=2, random_state=0).fit(views)
    with (tmp_path / "result" / "labels.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert_array_equal([int(row["cluster"]) for row in rows], local.labels_)
    assert [row["pace_rna"] for row in rows] == [str(p) for p in local.joined_pace_[0]]
    model = load_model(tmp_path / "result" / "model.mvz")
    assert_array_equal(model.predict(views), local.predict(views))
    assert_array_equal(model.predict_proba(views).argmax(axis=1), local.labels_)
    summary = json.loads((tmp_path / "result" / "summary.json").read_text())
    assert summary["sample"]["n_samples"] == 50
    sizes = [cluster["size"] for cluster in summary["clusters"]]
    assert sizes == np.bincount(local.labels_).tolist()
    page = (tmp_path / "result" / "report.html").read_text()
    assert "a sample of 50 of 90 rows" in page
    assert "50 rows drawn at random from 90" in page


def test_a_local_cluster_listens_to_this_machine_alone():
    psutil = pytest.importorskip("psutil")
    with _dask.connect("local[1]"):
        here = psutil.Process()
        addresses = {
            link.laddr.ip
            for process in [here, *here.children(recursive=True)]
            for link in process.net_connections(kind="inet")
            if link.status == psutil.CONN_LISTEN
        }
    assert addresses == {"127.0.0.1"}


MISTAKES = {
    "several k": (("-k", "2..4", "--dask", "local[1]"), "one number of clusters"),
    "other method": (
        ("-k", "3", "--method", "camvc", "--dask", "local[1]"),
        "runs graphnsmvc or nsmvc",
    ),
    "sequential": (
        ("-k", "3", "--assignment", "sequential", "--dask", "local[1]"),
        "--assignment",
    ),
    "labels": (("-k", "3", "--labels", "y", "--dask", "local[1]"), "--labels"),
    "address": (("-k", "3", "--dask", "here"), "neither local[N] nor an address"),
    "nobody there": (
        ("-k", "3", "--dask", "tcp://127.0.0.1:9"),
        "No Dask scheduler answers at tcp://127.0.0.1:9",
    ),
    "checkpoint alone": (("-k", "3", "--checkpoint", "x"), "Add --dask"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_get_one_sentence(run, stored, case, monkeypatch):
    monkeypatch.setattr(_dask, "CONNECT_SECONDS", 1)
    words, message = MISTAKES[case]
    outcome = run("cluster", *stored, *words)
    assert outcome.code != 0
    said = " ".join(outcome.err.replace("│", " ").split())
    assert message in said
    assert "Traceback" not in outcome.err


def test_file_that_is_not_there(run, tmp_path):
    outcome = run("cluster", tmp_path / "no.zarr", "-k", 3, "--dask", "local[1]")
    assert outcome.code == 1
    assert "does not exist. A cluster reads zarr and parquet." in outcome.err
