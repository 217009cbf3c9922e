"""Known columns, noise and names of clusters, from the command line."""

import csv
import json

import numpy as np
import pytest

from manyview import load_model

QUICK = ("-k", "3", "--n-init", "2", "--method", "nsmvc")


def flat(text):
    """Words without the frame that errors are printed in."""
    return " ".join(text.replace("│", " ").split())


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def clinic(files, blobs):
    """Clinical data in another order than the samples, with a patient more."""
    rng = np.random.default_rng(0)
    order = [*rng.permutation(90), 90]
    truth = [*blobs[1], 0]
    lines = ["patient,type,age,centre"]
    lines += [f"s{i},t{truth[i]},{50 + 5 * truth[i] + i % 7},c{i % 2}" for i in order]
    path = files / "clinic.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def sources(files):
    return files / "rna.csv", files / "protein.csv"


def test_covariates_are_matched_by_id_and_tested(run, files, sources, clinic):
    out = files / "result"
    done = run("cluster", *sources, *QUICK, "--covariates", clinic, "--out", out)
    assert done.code == 0, done.err
    summary = json.loads((out / "summary.json").read_text())
    found = {one["column"]: one for one in summary["associations"]}
    assert set(found) == {"type", "age", "centre"}
    # The clusters are the types, sample by sample, whatever the order of the file.
    assert found["type"]["effect"] == pytest.approx(1.0)
    assert found["age"]["test"] == "Kruskal-Wallis"
    assert found["centre"]["p_value"] > 0.01
    assert found["type"]["n_samples"] == 90
    page = (out / "report.html").read_text(encoding="utf-8")
    assert 'id="associations"' in page
    # Written again, the report has them again.
    (out / "report.html").unlink()
    assert run("report", out).code == 0
    assert 'id="associations"' in (out / "report.html").read_text(encoding="utf-8")
    clinic.unlink()
    done = run("report", out)
    assert "its columns are left out" in done.err
    assert 'id="associations"' not in (out / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--covariates", "nowhere.csv"), "nowhere.csv is not a file"),
        (("--survival", "days,dead"), "Add --covariates FILE"),
    ],
)
def test_columns_that_are_not_there_are_refused_before_the_fit(
    run, sources, words, message, monkeypatch
):
    monkeypatch.setattr("manyview.cli._cluster._run", None)
    done = run("cluster", *sources, *QUICK, *words)
    assert done.code != 0
    assert message in flat(done.err)


def test_survival_columns_must_exist(run, sources, clinic):
    words = ("--covariates", clinic, "--survival", "days,dead")
    done = run("cluster", *sources, *QUICK, *words)
    assert done.code != 0
    assert "is not two columns of" in flat(done.err)


def test_columns_of_other_samples_are_refused(run, files, sources):
    (files / "few.csv").write_text("id,age\ns1,5\ns2,6\n")
    done = run("cluster", *sources, *QUICK, "--covariates", files / "few.csv")
    assert done.code != 0
    assert "2 rows for 90 samples" in flat(done.err)


def test_noise_is_labelled_minus_one(run, files, sources):
    out = files / "result"
    words = ("--outlier-threshold", "1", "--out", out)
    assert run("cluster", *sources, *QUICK, *words).code == 0
    labels = [int(row["cluster"]) for row in rows_of(out / "labels.csv")]
    assert -1 in labels
    clusters = json.loads((out / "summary.json").read_text())["clusters"]
    sizes = [cluster["size"] for cluster in clusters]
    assert sum(sizes) == 90 - labels.count(-1)
    printed = run("predict", out / "model.mvz", *sources).out
    again = [int(row["cluster"]) for row in csv.DictReader(printed.splitlines())]
    assert again == labels


def test_a_method_without_noise_says_so(run, sources):
    words = ("-k", "3", "--method", "concatkmeans", "--outlier-threshold", "3")
    done = run("cluster", *sources, *words)
    assert done.code != 0
    assert "ConcatKMeans has no --outlier-threshold" in flat(done.err)


def test_names_are_kept_in_model_labels_report_and_predictions(run, files, sources):
    out = files / "result"
    assert run("cluster", *sources, *QUICK, "--out", out).code == 0
    before = rows_of(out / "labels.csv")
    done = run("report", out, "--rename", "0=T cells", "--rename", "2=T cells")
    assert done.code == 0, done.err
    model = load_model(out / "model.mvz")
    assert model.cluster_names_ == ["T cells", "1", "T cells"]
    after = rows_of(out / "labels.csv")
    assert [row["cluster"] for row in after] == [row["cluster"] for row in before]
    named = {row["cluster"]: row["name"] for row in after}
    assert named == {"0": "T cells", "1": "1", "2": "T cells"}
    for row, old in zip(after, before, strict=True):
        assert float(row["confidence"]) >= float(old["confidence"])
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "90 samples in 2 clusters" in page
    printed = run("predict", out / "model.mvz", *sources).out
    predicted = list(csv.DictReader(printed.splitlines()))
    assert [row["name"] for row in predicted] == [row["name"] for row in after]
    assert [row["cluster"] for row in predicted] == [row["cluster"] for row in after]
    # The report can be written again from what was kept.
    assert run("report", out).code == 0
    assert "90 samples in 2 clusters" in (out / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("T cells", "'T cells' is not a number and a name"),
        ("x=y", "'x=y' is not a number and a name"),
        ("7=y", "No cluster is numbered 7"),
    ],
)
def test_names_for_no_cluster_are_refused(run, files, sources, name, message):
    out = files / "result"
    assert run("cluster", *sources, *QUICK, "--out", out).code == 0
    done = run("report", out, "--rename", name)
    assert done.code != 0
    assert message in flat(done.err)


def test_models_of_other_methods_are_stored_and_predict(run, files, sources):
    out = files / "result"
    words = ("-k", "3", "--method", "concatkmeans", "--out", out)
    assert run("cluster", *sources, *words).code == 0
    labels = [row["cluster"] for row in rows_of(out / "labels.csv")]
    printed = run("predict", out / "model.mvz", *sources).out
    assert [r["cluster"] for r in csv.DictReader(printed.splitlines())] == labels
    assert run("report", out).code == 0


def test_a_report_is_written_again_without_lifelines(run, files, sources, monkeypatch):
    out = files / "result"
    clinic = files / "clinic.csv"
    clinic.write_text("days,dead\n" + "".join(f"{i},{i % 2}\n" for i in range(90)))
    words = ("--covariates", clinic, "--out", out)
    assert run("cluster", *sources, *QUICK, *words).code == 0
    summary = json.loads((out / "summary.json").read_text())
    summary["covariates"]["survival"] = "days,dead"
    (out / "summary.json").write_text(json.dumps(summary))
    monkeypatch.setattr("manyview.cli._report.find_spec", lambda _: None)
    done = run("report", out)
    assert done.code == 0, done.err
    assert "the log-rank test is left out" in flat(done.err)
