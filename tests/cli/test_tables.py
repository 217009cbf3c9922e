"""Text, holes, labels with a header and other habits of tables, from end to end."""

import json
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

QUICK = ("--n-init", 2)
ROOT = Path(__file__).parents[2]


@pytest.fixture
def clinic(tmp_path, blobs):
    """Two tables of 90 patients; one with text, both with a few holes."""
    views, truth = blobs
    names = [f"P{i}" for i in range(90)]
    rna = pd.DataFrame(views[0], columns=["g1", "g2", "g3", "g4"])
    rna.insert(0, "patient", names)
    other = pd.DataFrame(views[1]).add_prefix("c")
    other["site"] = np.array(["lung", "skin", "bone"])[truth]
    other.insert(0, "patient", names)
    rna.loc[[3, 7], "g2"] = np.nan
    other.loc[5, "c0"] = np.nan
    rna.to_csv(tmp_path / "rna.csv.gz", index=False)
    with pd.ExcelWriter(tmp_path / "clinic.xlsx") as book:
        other.to_excel(book, sheet_name="clinic", index=False)
    return tmp_path


def test_missing_cells_and_text_from_end_to_end(run, clinic):
    words = ("cluster", clinic / "rna.csv.gz", clinic / "clinic.xlsx", "-k", 3, *QUICK)
    done = run(*words)
    assert done.code == 1
    assert "column 'g2' is missing" in done.err or "'site' holds" in done.err
    done = run(*words, "--encode", "onehot")
    assert done.code == 1
    assert "rna.csv.gz: row 4, column 'g2' is missing" in done.err
    assert "--missing impute or --missing impute-knn" in done.err
    out = clinic / "result"
    done = run(*words, "--encode", "onehot", "--missing", "impute", "--out", out)
    assert done.code == 0, done.err
    said = "Imputed 3 missing cells by feature means: rna 2, clinic 1."
    assert said in done.err
    summary = json.loads((out / "summary.json").read_text())
    assert summary["imputed"] == {"rna": 2, "clinic": 1}
    assert said in (out / "report.html").read_text()
    # New samples: other values of the text, and a hole that means of the fit fill.
    new = pd.read_excel(clinic / "clinic.xlsx").head(4)
    new["site"] = ["lung", "lung", "liver", "lung"]
    new.loc[0, "c1"] = np.nan
    new.to_csv(clinic / "new.csv", index=False)
    model = out / "model.mvz"
    done = run("predict", model, f"clinic={clinic / 'new.csv'}", "--encode", "onehot")
    assert done.code == 0, done.err
    assert "did not see site=liver in view 'clinic'" in done.err
    assert len(done.out.splitlines()) == 5
    # The report can be written again, and a model with new names can still impute.
    (out / "report.html").unlink()
    assert run("report", out, "--rename", "0=first").code == 0
    assert said in (out / "report.html").read_text()
    again = run("predict", model, f"clinic={clinic / 'new.csv'}", "--encode", "onehot")
    assert again.code == 0, again.err
    assert len(again.out.splitlines()) == 5


def test_missing_cells_from_neighbours_and_text_left_out(run, clinic):
    words = ("cluster", clinic / "rna.csv.gz", clinic / "clinic.xlsx", "-k", 3, *QUICK)
    done = run(*words, "--drop", "text", "--missing", "impute-knn", "--json")
    assert done.code == 0, done.err
    assert "Imputed 3 missing cells from the nearest samples" in done.err
    assert [v["n_features"] for v in json.loads(done.out)["views"]] == [4, 6]


def test_predict_says_when_the_model_cannot_impute(run, files):
    out = files / "result"
    assert run("cluster", files / "rna.csv", "-k", 3, *QUICK, "--out", out).code == 0
    (files / "new.csv").write_text("id,rna0,rna1,rna2,rna3\nx,1,,2,3\n")
    done = run("predict", out / "model.mvz", f"rna={files / 'new.csv'}")
    assert done.code == 1
    assert "View 'rna' lacks 1 cells" in done.err
    assert "fitted without --missing impute" in done.err


def test_classes_on_stdin_may_have_a_header(run, files, blobs):
    classes = "\n".join(f"type {c}" for c in blobs[1])
    words = ("cluster", files / "rna.csv", "-k", 3, *QUICK, "--json", "--labels", "-")
    plain = run(*words, stdin=classes + "\n")
    headed = run(*words, stdin=f"cell_type\n{classes}\n")
    assert plain.code == headed.code == 0
    assert json.loads(plain.out)["scores"] == json.loads(headed.out)["scores"]
    assert "'cell_type', was taken as a header" in headed.err
    assert "header" not in plain.err
    done = run(*words, stdin=classes + "\na\nb\n")
    assert done.code == 1
    assert "stdin has 92 labels for 90 samples" in done.err
    done = run(*words, stdin="a,b\n")
    assert "takes one class per line; a line has 2 cells" in done.err


def test_compare_writes_tables_and_a_page(run, files):
    out = files / "comparison"
    words = ("compare", files / "all.npz", "-k", 3, "--labels", "y")
    words = (*words, "--methods", "samvc,concatkmeans")
    done = run(*words, "--out", out)
    assert done.code == 0, done.err
    names = ["agreement.csv", "comparison.html", "methods.csv", "summary.json"]
    assert sorted(path.name for path in out.iterdir()) == names
    methods = pd.read_csv(out / "methods.csv", index_col="method")
    assert methods.loc["SAMVC", "accuracy"] == 1.0
    agreement = pd.read_csv(out / "agreement.csv", index_col="method")
    assert agreement.loc["SAMVC", "ConcatKMeans"] == 1.0
    page = (out / "comparison.html").read_text()
    assert "methods compared" in page
    assert "figure-agreement" in page
    assert run(*words, "--out", out).code == 1
    assert run(*words, "--out", out, "--force", "--json").code == 0


def test_compare_says_first_that_there_will_be_no_page(run, files, monkeypatch):
    monkeypatch.setattr("manyview.cli._output.can_report", lambda: False)
    out = files / "comparison"
    words = ("compare", files / "all.npz", "-k", 3, "--methods", "concatkmeans")
    done = run(*words, "--out", out)
    assert done.code == 0
    assert "no comparison.html" in done.err
    assert not (out / "comparison.html").exists()


def test_report_asks_for_its_extra_before_it_reads(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly", None)
    done = run("report", tmp_path / "nowhere")
    assert done.code == 1
    assert 'pip install "manyview[report]"' in done.err


def test_doctor_names_all_that_the_project_names(run):
    from packaging.requirements import Requirement

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    content = json.loads(run("doctor", "--json").out)

    def names(lines):
        return {Requirement(line).name for line in lines}

    assert names(project["dependencies"]) == set(content["packages"])
    extras = project["optional-dependencies"]
    ours = {"all", "companions", "docs", "test"}
    assert set(content["extras"]) == set(extras) - ours
    for extra, packages in content["extras"].items():
        assert names(extras[extra]) == set(packages), extra
