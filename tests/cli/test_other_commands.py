"""``predict``, ``compare``, ``methods``, ``datasets``, ``report`` and ``doctor``."""

import inspect
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from typer.main import get_command

import manyview
import manyview.cluster
from manyview._model_file import load_model
from manyview.cli import _info, app
from manyview.cli._options import Request
from manyview.cluster import NSMVC
from manyview.datasets import list_datasets


@pytest.fixture
def result(run, files):
    """A result folder of three named views."""
    views = [f"{n}={files / n}.csv" for n in ("rna", "protein", "image")]
    out = files / "result"
    labels = files / "types.csv"
    done = run(
        *("cluster", *views, "-k", 3, "--n-init", 2),
        *("--labels", labels, "--out", out),
    )
    assert done.code == 0
    return out


def test_predict_prints_clusters_and_confidence(run, files, result, blobs):
    views = [f"{n}={files / n}.csv" for n in ("image", "rna", "protein")]
    done = run("predict", result / "model.mvz", *views)
    lines = done.out.splitlines()
    assert lines[0] == "sample,cluster,confidence"
    assert len(lines) == 91
    model = load_model(result / "model.mvz")
    views = dict(zip(("rna", "protein", "image"), blobs[0], strict=True))
    parts = [line.split(",") for line in lines[1:]]
    assert [int(part[1]) for part in parts] == model.predict(views).tolist()
    assert_allclose(
        [float(part[2]) for part in parts],
        model.predict_proba(views).max(axis=1),
        atol=1e-4,
    )


def test_predict_with_a_view_left_out(run, files, result, blobs):
    done = run(
        "predict", result / "model.mvz", f"protein={files / 'protein.csv'}", "--json"
    )
    model = load_model(result / "model.mvz")
    expected = model.predict({"protein": blobs[0][1]}).tolist()
    assert json.loads(done.out)["clusters"] == expected


def test_predict_names_a_view_it_does_not_know(run, files, result):
    done = run("predict", result / "model.mvz", f"lipids={files / 'rna.csv'}")
    assert done.code == 1
    assert "View 'lipids' was not there in fit" in done.err


def rewrite(path, change):
    """A csv with its cells changed, row by row."""
    rows = [line.split(",") for line in path.read_text().splitlines()]
    lines = [",".join(change(number, row)) for number, row in enumerate(rows)]
    path.write_text("\n".join(lines) + "\n")


def test_predict_puts_columns_in_the_order_of_fit(run, files, result):
    views = [f"{n}={files / n}.csv" for n in ("rna", "protein", "image")]
    before = run("predict", result / "model.mvz", *views)
    for name in ("rna", "protein", "image"):
        rewrite(files / f"{name}.csv", lambda _, row: [row[0], *row[:0:-1]])
    assert run("predict", result / "model.mvz", *views).out == before.out


def test_predict_puts_columns_of_parquet_and_h5ad_in_order(run, files, blobs):
    anndata = pytest.importorskip("anndata")
    frames = [
        pd.DataFrame(view, index=[f"s{i}" for i in range(90)]).add_prefix("f")
        for view in blobs[0][:2]
    ]

    def write(frames):
        frames[0].to_parquet(files / "a.parquet")
        anndata.AnnData(frames[1]).write_h5ad(files / "b.h5ad")

    write(frames)
    views, out = (files / "a.parquet", files / "b.h5ad"), files / "other"
    done = run("cluster", *views, "-k", 3, "--n-init", 2, "--out", out)
    assert done.code == 0, done.err
    before = run("predict", out / "model.mvz", *views)
    write([frame.iloc[:, ::-1] for frame in frames])
    assert run("predict", out / "model.mvz", *views).out == before.out


def test_predict_names_columns_that_are_missing_or_foreign(run, files, result):
    rename = {"rna1": "x"}
    rewrite(files / "rna.csv", lambda _, row: [rename.get(cell, cell) for cell in row])
    done = run("predict", result / "model.mvz", files / "rna.csv")
    assert done.code == 1
    assert done.err == (
        "error: View 'rna' lacks feature 'rna1' of fit and has feature 'x' that fit "
        "did not see. Pass the columns of fit, in any order.\n"
    )


def test_predict_takes_a_table_without_header_by_position(run, files, result):
    before = run("predict", result / "model.mvz", files / "rna.csv")
    lines = (files / "rna.csv").read_text().splitlines()
    (files / "rna.csv").write_text("\n".join(lines[1:]) + "\n")
    words = (files / "rna.csv", "--no-header", "--ids", "1")
    assert run("predict", result / "model.mvz", *words).out == before.out


def test_predict_writes_a_file_but_not_over_another(run, files, result):
    out = files / "new.csv"
    words = ("predict", result / "model.mvz", f"rna={files / 'rna.csv'}", "--out", out)
    assert run(*words).code == 0
    first = out.read_text()
    assert first.startswith("sample,cluster,confidence\ns0,")
    done = run(*words)
    assert done.code == 1
    assert "exists. Choose another --out" in done.err
    out.write_text("old")
    assert run(*words, "--force").code == 0
    assert out.read_text() == first


def test_report_is_written_again_as_it_was(run, result):
    first = (result / "report.html").read_text(encoding="utf-8")
    (result / "report.html").unlink()
    done = run("report", result)
    assert done.code == 0
    assert (result / "report.html").read_text(encoding="utf-8") == first


def test_report_elsewhere_leaves_the_folder_alone(run, files, result):
    before = (result / "report.html").stat().st_mtime_ns
    assert run("report", result, "--out", files / "copy.html").code == 0
    assert (files / "copy.html").exists()
    assert (result / "report.html").stat().st_mtime_ns == before


def test_report_without_a_model_is_made_from_the_labels(run, files, result):
    (result / "model.mvz").unlink()
    assert run("report", result, "--out", files / "copy.html").code == 0
    text = (files / "copy.html").read_text(encoding="utf-8")
    assert "90 samples in 3 clusters" in text
    assert "Self-pacing" not in text


def test_report_refuses_data_that_has_changed(run, files, result):
    for name in ("rna", "protein", "image", "types"):
        path = files / f"{name}.csv"
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    done = run("report", result)
    assert done.code == 1
    assert "are not those of the data any more (90 then, 89 now" in done.err


def test_report_names_the_file_that_is_gone(run, files, result):
    (files / "protein.csv").unlink()
    done = run("report", result)
    assert done.code == 1
    assert "protein.csv is neither a file" in done.err


def test_report_refuses_a_damaged_summary(run, result):
    (result / "summary.json").write_text("{")
    done = run("report", result)
    assert done.code == 1
    assert "summary.json is damaged" in done.err


class Failing(NSMVC):
    def fit(self, X, y=None, **options):
        msg = "out of luck"
        raise RuntimeError(msg)


@pytest.fixture
def three_methods(monkeypatch):
    """Two methods that work and one that does not."""

    class Twin(NSMVC):
        pass

    for name, method in {"NSMVC": NSMVC, "Twin": Twin, "Failing": Failing}.items():
        monkeypatch.setattr(manyview.cluster, name, method, raising=False)
    monkeypatch.setattr(manyview.cluster, "__all__", ["NSMVC", "Twin", "Failing"])


@pytest.mark.usefixtures("three_methods")
def test_compare_shows_agreement_scores_and_failures(run, files):
    words = ("compare", files / "all.npz", "-k", 3, "--labels", "y")
    content = json.loads(run(*words, "--json").out)
    rows = {row["method"]: row for row in content["methods"]}
    assert rows["NSMVC"]["scores"]["accuracy"] == 1.0
    assert rows["Failing"]["error"] == "out of luck"
    assert content["agreement"] == {
        "methods": ["NSMVC", "Twin"],
        "ari": [[1, 1], [1, 1]],
    }
    shown = run(*words)
    assert shown.code == 0
    assert "Failing failed: out of luck" in shown.out
    assert "100.0%" in shown.out


@pytest.mark.usefixtures("three_methods")
def test_compare_takes_a_choice_of_methods(run, files):
    words = ("compare", files / "all.npz", "-k", 3, "--variables", "rna,image")
    done = run(*words, "--methods", "twin", "--json")
    content = json.loads(done.out)
    assert [row["method"] for row in content["methods"]] == ["Twin"]
    assert content["methods"][0]["scores"] is None


def test_datasets_lists_and_describes(run, monkeypatch, tmp_path):
    monkeypatch.setenv("MANYVIEW_DATA", str(tmp_path))
    rows = json.loads(run("datasets", "--json").out)
    assert [row["name"] for row in rows] == list(list_datasets())
    where = {row["name"]: row["where"] for row in rows}
    assert where["handwritten"] == "in the package"
    assert where["cornell"].startswith("download")
    (tmp_path / "Cornell.mat").write_bytes(b"anything")
    rows = json.loads(run("datasets", "--json").out)
    assert {r["name"]: r["where"] for r in rows}["cornell"] == "on this machine"
    shown = run("datasets", "handwritten").out
    assert "CC BY 4.0" in shown
    assert "manyview cluster handwritten -k 10" in shown
    assert run("datasets").out.count("citation content") == 4


def test_doctor_passes_here(run):
    content = json.loads(run("doctor", "--json").out)
    assert content["self_test"]["passed"] is True
    assert content["packages"]["numpy"] == np.__version__
    assert "self-test" in run("doctor").out


def test_doctor_fails_when_the_self_test_does(run, monkeypatch):
    broken = {
        "passed": False,
        "accuracy": 0.5,
        "model_round_trip": True,
        "seconds": 1.0,
    }
    monkeypatch.setattr(_info, "_self_test", lambda: broken)
    monkeypatch.setattr(
        _info, "_version", lambda name: None if name == "plotly" else "1"
    )
    done = run("doctor")
    assert done.code == 1
    assert "FAILED" in done.out
    assert 'not installed: plotly (pip install "manyview[report]")' in " ".join(
        done.out.split()
    )


def test_methods_lists_every_method_with_its_page(run):
    rows = json.loads(run("methods", "--json").out)
    assert [row["class"] for row in rows] == manyview.cluster.__all__
    for row in rows:
        assert row["name"] == row["class"].lower()
        summary = getattr(manyview.cluster, row["class"]).__doc__.split("\n")[0]
        assert row["summary"] == summary
        assert row["page"].endswith(f"/api/generated/manyview.{row['class']}.html")


def test_methods_prints_a_line_and_a_link_each(run):
    shown = run("methods").out.splitlines()
    assert len(shown) == 2 * len(manyview.cluster.__all__)
    at = next(i for i, line in enumerate(shown) if line.startswith("graphnsmvc"))
    assert "neighbour graphs" in shown[at]
    assert "manyview.GraphNSMVC.html" in shown[at + 1]


def test_package_runs_as_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "manyview", "--version"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert done.stdout == f"manyview {manyview.__version__}\n"


@pytest.mark.parametrize(
    ("command", "lacking"), [("cluster", []), ("compare", []), ("predict", ["missing"])]
)
def test_commands_take_every_option_that_says_which_data_to_read(command, lacking):
    taken = {one.name for one in get_command(app).commands[command].params}
    options = inspect.signature(Request).parameters
    assert [name for name in options if name not in taken] == lacking
    assert "request" not in taken
