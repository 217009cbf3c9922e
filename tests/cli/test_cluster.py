"""``manyview cluster``: what it writes, what it prints, what it refuses."""

import contextlib
import csv
import io
import json
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import typer
from numpy.testing import assert_array_equal

from manyview import GraphNSMVC
from manyview._model_file import load_model
from manyview.cli import _output
from manyview.cli._cluster import parse_counts
from manyview.cli._result import Result
from manyview.datasets import read_views
from manyview.explain import explain
from manyview.metrics import clustering_accuracy

QUICK = ("--n-init", "2")


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def expected_model(files):
    paths = [files / f"{name}.csv" for name in ("rna", "protein", "image")]
    data = read_views(paths)
    views = dict(zip(data.view_names, data.views, strict=True))
    return GraphNSMVC(3, n_init=2, random_state=0).fit(views), views


@pytest.fixture
def views(files):
    return [files / f"{name}.csv" for name in ("rna", "protein", "image")]


def test_cluster_writes_labels_model_summary_and_report(run, files, views):
    out = files / "result"
    done = run("cluster", *views, "-k", 3, *QUICK, "--out", out)
    assert done.code == 0
    assert sorted(p.name for p in out.iterdir()) == [
        "labels.csv",
        "model.mvz",
        "report.html",
        "summary.json",
    ]
    model, arrays = expected_model(files)
    rows = rows_of((out / "labels.csv").read_text(encoding="utf-8"))
    assert list(rows[0]) == [
        "sample",
        "cluster",
        "confidence",
        "pace_rna",
        "pace_protein",
        "pace_image",
    ]
    assert [row["sample"] for row in rows] == [f"s{i}" for i in range(90)]
    assert [int(row["cluster"]) for row in rows] == model.labels_.tolist()
    confidence = explain(model, arrays).confidence
    np.testing.assert_allclose(
        [float(row["confidence"]) for row in rows], confidence, atol=5e-5
    )
    assert [int(row["pace_protein"]) for row in rows] == model.joined_pace_[1].tolist()
    assert_array_equal(load_model(out / "model.mvz").labels_, model.labels_)


@pytest.mark.parametrize(
    ("method", "k"),
    [
        ("nsmvc", 3),
        ("nsmvc", "2..3"),
        ("graphnsmvc", 3),
        ("graphnsmvc", "2..3"),
        ("coreg", 3),
    ],
)
def test_cluster_checks_every_view_once(run, files, views, monkeypatch, method, k):
    from manyview import _views
    from manyview.explain import _margins

    checked, explained = [], []
    find_present, explain_all = _views._find_present, _margins.explain_clustering

    def find(array, name, *rest):
        if len(array) == 90:
            checked.append(name)
        return find_present(array, name, *rest)

    def count(clustering):
        explained.append(clustering)
        return explain_all(clustering)

    monkeypatch.setattr(_views, "_find_present", find)
    monkeypatch.setattr("manyview.cli._result.explain_clustering", count)
    monkeypatch.setattr("manyview.reporting._report.explain_clustering", count)
    out = files / "result"
    done = run("cluster", *views, "-k", k, *QUICK, "--method", method, "--out", out)
    assert done.code == 0, done.err
    # Choosing the number makes seven fits per number, one of them on all samples, and
    # graph views of all samples for the gaps.
    n_fits = 0 if k == 3 else 3 if method == "graphnsmvc" else 2
    assert checked == ["rna", "protein", "image"] * (1 + n_fits)
    assert len(explained) == 1


def test_cluster_writes_results_of_methods_without_a_model_file(run, files, views):
    out = files / "result"
    words = ("--method", "coreg", "--out", out)
    done = run("cluster", *views, "-k", 3, *QUICK, *words)
    assert done.code == 0, done.err
    names = sorted(path.name for path in out.iterdir())
    assert names == ["labels.csv", "report.html", "summary.json"]
    assert run("report", out).code == 0


def test_cluster_shows_weights_where_the_method_has_them(run, views):
    words = ("cluster", *views, "-k", 3, *QUICK)
    summary = json.loads(run(*words, "--json").out)
    assert sum(view["weight"] for view in summary["views"]) == pytest.approx(1.0)
    shown = run(*words).out
    assert "weight" in shown
    assert "exponent" not in shown
    other = (*words, "--method", "coreg")
    assert [v["weight"] for v in json.loads(run(*other, "--json").out)["views"]] == (
        [None] * 3
    )
    assert "weight" not in run(*other).out


def test_cluster_scores_only_when_classes_are_given(run, files, views):
    plain = run("cluster", *views, "-k", 3, *QUICK, "--json")
    scored = run(
        "cluster", *views, "-k", 3, *QUICK, "--labels", files / "types.csv", "--json"
    )
    first, second = json.loads(plain.out), json.loads(scored.out)
    assert first["scores"] is None
    assert second["scores"]["accuracy"] == 1.0
    assert first["clusters"] == second["clusters"]


@pytest.mark.parametrize("labels", ["types.csv", "types.csv:type"])
def test_cluster_takes_classes_from_a_file_or_one_of_its_columns(
    run, files, views, labels
):
    done = run("cluster", *views, "-k", 3, *QUICK, "--labels", files / labels)
    assert "ACC 100.0%" in done.out


def test_cluster_takes_classes_from_a_variable(run, files):
    done = run("cluster", files / "all.npz", "-k", 3, *QUICK, "--labels", "y")
    assert "ACC 100.0%" in done.out
    assert "all: 90 samples, 3 views, GraphNSMVC with 3 clusters" in done.out


def test_cluster_takes_classes_from_stdin(run, views, blobs):
    text = "".join(f"class {c}\n" for c in blobs[1])
    done = run("cluster", *views, "-k", 3, *QUICK, "--labels", "-", stdin=text)
    assert "ACC 100.0%" in done.out


def test_cluster_pipes_labels_to_stdout_and_talks_on_stderr(run, files, views, blobs):
    done = run("cluster", *views, "-k", 3, *QUICK, "--out", "-")
    rows = rows_of(done.out)
    assert len(rows) == 90
    found = [int(row["cluster"]) for row in rows]
    assert clustering_accuracy(blobs[1], found) == 1.0
    assert "3 clusters" in done.err
    assert sorted(p.name for p in files.iterdir()) == [
        "all.npz",
        "image.csv",
        "protein.csv",
        "rna.csv",
        "types.csv",
    ]


def test_cluster_prints_bars_for_sizes_and_weights(run, files):
    done = run("cluster", files / "all.npz", "-k", 3, *QUICK, "--labels", "y")
    lines = done.out.splitlines()
    assert sum("█" in line for line in lines) == 6
    assert "\x1b" not in done.out


def test_cluster_names_views_and_repeats_its_command(run, files, views):
    out = files / "result"
    named = [f"{n}={p}" for n, p in zip(("a", "b c", "d"), views, strict=True)]
    assert run("cluster", *named, "-k", 3, *QUICK, "--out", out).code == 0
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert [view["name"] for view in summary["views"]] == ["a", "b c", "d"]
    assert summary["command"].startswith("manyview cluster a=")
    assert f"'b c={views[1]}'" in summary["command"]
    assert summary["params"]["random_state"] == 0


def test_cluster_settings_reach_the_estimator(run, views):
    done = run(
        "cluster",
        *views,
        *("-k", 3, "--n-init", 1, "--seed", 7, "--scale", "none"),
        *("--assignment", "majorize", "--json"),
    )
    params = json.loads(done.out)["params"]
    assert params["n_init"] == 1
    assert params["random_state"] == 7
    assert params["scale"] is None
    assert params["assignment"] == "majorize"


def test_cluster_chooses_k_from_a_range(run, views):
    done = run("cluster", *views, "-k", "2..4", *QUICK, "--json")
    choice = json.loads(done.out)["choice"]
    assert choice["candidates"] == [2, 3, 4]
    assert choice["n_clusters"] == 3
    assert json.loads(done.out)["n_clusters"] == 3
    shown = run("cluster", *views, "-k", "2..4", *QUICK)
    assert "chosen" in shown.out


@pytest.mark.parametrize(
    ("text", "counts"),
    [("7", range(7, 8)), ("2..5", range(2, 6)), ("auto", range(2, 16))],
)
def test_parse_counts(text, counts):
    assert parse_counts(text) == counts


@pytest.mark.parametrize("text", ["0", "5..3", "many", "2..", "-3", "2.5"])
def test_parse_counts_refuses(text):
    with pytest.raises(typer.BadParameter, match=r"must count up|is not a number"):
        parse_counts(text)


def test_cluster_never_overwrites_unasked(run, files, views):
    out = files / "result"
    out.mkdir()
    (out / "labels.csv").write_text("mine")
    done = run("cluster", *views, "-k", 3, *QUICK, "--out", out)
    assert done.code == 1
    assert "exists and is not empty" in done.err
    assert (out / "labels.csv").read_text() == "mine"
    assert run("cluster", *views, "-k", 3, *QUICK, "-o", out, "--force").code == 0
    assert (out / "labels.csv").read_text() != "mine"


def test_cluster_force_spares_foreign_files(run, files, views):
    out = files / "home"
    out.mkdir()
    (out / "thesis.tex").write_text("years of work")
    done = run("cluster", *views, "-k", 3, *QUICK, "--out", out, "--force")
    assert done.code == 1
    assert "holds 'thesis.tex', which manyview did not write" in done.err
    assert (out / "thesis.tex").read_text() == "years of work"


def test_the_old_result_is_restored_when_the_rename_fails(tmp_path, monkeypatch):
    folder = tmp_path / "result"
    folder.mkdir()
    (folder / "labels.csv").write_text("old")
    from pathlib import Path

    rename = Path.rename

    def fail(self, target):
        if self.name.endswith(".part"):
            raise PermissionError(13, "no")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    writers = {"labels.csv": lambda path: path.write_text("new")}
    with pytest.raises(_output.WriteError, match="result could not be written: no"):
        _output.write_folder(folder, writers, force=True)
    assert (folder / "labels.csv").read_text() == "old"
    (part,) = tmp_path.glob("result.*.part")
    assert sorted(tmp_path.iterdir()) == [folder, part]
    assert (part / "labels.csv").read_text() == "new"


def test_cluster_without_the_extra_leaves_the_report_out(
    run, files, views, monkeypatch
):
    monkeypatch.setattr("manyview.cli._output.can_report", lambda: False)
    out = files / "result"
    done = run("cluster", *views, "-k", 3, *QUICK, "--out", out)
    assert done.code == 0
    assert 'pip install "manyview[report]"' in done.err
    assert not (out / "report.html").exists()
    assert (out / "labels.csv").exists()


# Interrupts are ignored by what a shell starts in the background, and by its children.
COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from manyview.cli import main
main()
"""


def command(*words):
    return [sys.executable, "-c", COMMAND, *words]


@contextlib.contextmanager
def on_a_terminal(*words, **environment):
    """A command whose stderr is a terminal, and what reads that terminal."""
    import pty

    master, slave = pty.openpty()
    process = subprocess.Popen(
        command(*words),
        stdout=subprocess.DEVNULL,
        stderr=slave,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", **environment},
        start_new_session=True,
    )
    os.close(slave)

    def read(until=None):
        """What the command shows, to its end or until it has shown these words."""
        seen = b""
        while until is None or until not in seen:
            try:
                chunk = os.read(master, 65536)
            except OSError:  # how Linux tells that nobody has the terminal open
                break
            if not chunk:
                break
            seen += chunk
        return seen

    try:
        yield process, read
    finally:
        process.kill()
        process.wait()
        os.close(master)


needs_terminal = pytest.mark.skipif(
    not hasattr(os, "openpty"), reason="needs a pseudo-terminal"
)


@needs_terminal
def test_interrupt_ends_with_130_and_leaves_nothing(tmp_path):
    words = ("cluster", "handwritten", "-k", "10", "--n-init", "5000")
    with on_a_terminal(*words, "--out", str(tmp_path / "result")) as (process, read):
        assert b"objective " in read(until=b"objective ")
        process.send_signal(signal.SIGINT)
        shown = read()
        assert process.wait() == 130
    assert b"Interrupted; nothing was written." in shown
    assert b"Traceback" not in shown
    assert list(tmp_path.iterdir()) == []


def test_output_that_nobody_reads_is_no_error(views):
    words = [str(path) for path in views]
    process = subprocess.Popen(
        command("cluster", *words, "-k", "3", "--n-init", "1", "--out", "-"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 0
    assert "Traceback" not in err
    assert "Exception ignored" not in err


@needs_terminal
@pytest.mark.parametrize("colour", [True, False])
def test_progress_is_live_on_a_terminal_and_respects_no_color(
    views, colour, monkeypatch
):
    monkeypatch.delenv("NO_COLOR", raising=False)
    environment = {} if colour else {"NO_COLOR": "1"}
    words = ("cluster", *map(str, views), "-k", "3", "--n-init", "60")
    with on_a_terminal(*words, **environment) as (process, read):
        seen = read()
        assert process.wait() == 0
    assert b"restart " in seen
    assert b"pace " in seen
    assert b"objective " in seen
    assert (b"\x1b[38" in seen or b"\x1b[32m" in seen or b"\x1b[1;" in seen) is colour


def test_a_last_cluster_of_noise_alone_is_in_the_summary():
    result = SimpleNamespace(
        model=SimpleNamespace(labels_=np.array([0, 1, -1, 0, -1])),
        explanation=SimpleNamespace(cluster_confidence=np.array([0.9, 0.8, np.nan])),
    )
    clusters = Result._clusters(result)
    assert [one["size"] for one in clusters] == [2, 1, 0]
    assert [one["confidence"] for one in clusters] == [0.9, 0.8, None]
