"""What the commands write, and what they make of files that were changed by hand."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

from manyview.cli._output import escape, unescape, write_labels

FORMULA = '=HYPERLINK("http://127.0.0.1/","x")'


@pytest.fixture
def formulas(files):
    """The files with sample names that spreadsheets would run."""
    for name in ("rna", "protein"):
        path = files / f"{name}.csv"
        text = path.read_text().replace("s0,", '"' + FORMULA.replace('"', '""') + '",')
        path.write_text(text.replace("\ns1,", "\n-1,").replace("\ns2,", "\n@SUM(A1),"))
    return files


def test_labels_hold_no_formulas_and_the_report_still_knows_the_samples(run, formulas):
    out = formulas / "result"
    views = [formulas / "rna.csv", formulas / "protein.csv"]
    assert run("cluster", *views, "-k", 3, "--n-init", 1, "--out", out).code == 0
    with (out / "labels.csv").open(newline="") as file:
        names = [row["sample"] for row in csv.DictReader(file)]
    assert names[:4] == ["'" + FORMULA, "-1", "'@SUM(A1)", "s3"]
    done = run("report", out)
    assert done.code == 0, done.err
    done = run("predict", out / "model.mvz", *views, "--out", formulas / "new.csv")
    assert done.code == 0, done.err
    assert "\n'@SUM(A1)," in (formulas / "new.csv").read_text()


@pytest.mark.parametrize(
    "name", ["a", "=1", "'=1", "''=1", "'a", "-1", "-1.5", "+x", "\t1", "", "'"]
)
def test_escape_can_be_undone(name):
    assert unescape(escape(name)) == name
    assert escape(name)[:1] not in ("=", "+", "@", "\t")


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        ((), [], "was not written by manyview cluster"),
        (("request",), [], "no sound 'request'"),
        (("request", "sources"), [1], "no sound 'sources'"),
        (("request", "sources"), None, "no sound 'sources'"),
        (("request", "sources"), [], "sources is empty"),
        (("request", "variables"), 3, "no sound 'variables'"),
        (("request", "align"), None, "no sound 'align'"),
        (("request", "ids"), [1], "no sound 'ids'"),
        (("request", "header"), "x", "no sound 'header'"),
        (("command",), None, "no sound 'command'"),
        (("method",), {}, "no sound 'method'"),
        (("choice",), 5, "no sound 'choice'"),
        (
            ("choice",),
            {"n_clusters": 3, "candidates": "abc"},
            "no sound 'candidates'",
        ),
    ],
)
def test_report_of_a_summary_changed_by_hand(run, tmp_path, where, value, message):
    content = {
        "command": "manyview cluster",
        "method": "NSMVC",
        "request": {"sources": ["x.csv"], "align": "strict"},
    }
    place = content
    for key in where[:-1]:
        place = place[key]
    if where:
        place[where[-1]] = value
    else:
        content = value
    (tmp_path / "summary.json").write_text(json.dumps(content))
    done = run("report", tmp_path)
    assert done.code == 1
    assert message in " ".join(done.err.split())


def test_report_of_a_deep_summary(run, tmp_path):
    (tmp_path / "summary.json").write_text("[" * 100_000)
    done = run("report", tmp_path)
    assert done.code == 1
    assert "is damaged" in " ".join(done.err.split())


# Red, a new window title, the cursor to the upper left in one character.
CONTROLS = "\x1b[31m \x1b]0;title\x07 \x9bH"


@pytest.fixture
def controls(files):
    """A file whose views are called by what a terminal obeys."""
    with np.load(files / "all.npz") as views:
        np.savez(
            files / "controls.npz", **{CONTROLS: views["rna"], "b": views["image"]}
        )
    return files / "controls.npz"


def obeyed(text):
    return {character for character in text if character in "\x1b\x07\x9b"}


def test_names_cannot_steer_the_terminal(run, controls):
    done = run("cluster", controls, "-k", 3, "--n-init", 1)
    assert done.code == 0, done.err
    assert not obeyed(done.out + done.err)
    assert r"\x1b[31m \x1b]0;" in done.out


def test_names_in_json_cannot_steer_the_terminal(run, controls):
    done = run("cluster", controls, "-k", 3, "--n-init", 1, "--json")
    assert not obeyed(done.out + done.err)
    assert json.loads(done.out)["views"][0]["name"] == CONTROLS


def test_names_in_errors_cannot_steer_the_terminal(run, files, controls):
    done = run("cluster", files / CONTROLS, "-k", 3)
    assert done.code == 1
    assert not obeyed(done.out + done.err)
    assert r"\x1b[31m" in done.err
    done = run("cluster", controls, "-k", 3, "--n-init", 1, "--out", files / CONTROLS)
    assert done.code == 0, done.err
    assert not obeyed(done.out + done.err)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_labels_on_a_terminal_cannot_steer_it(monkeypatch, is_terminal):
    file = io.StringIO()
    monkeypatch.setattr(file, "isatty", lambda: is_terminal, raising=False)
    write_labels(file, pd.DataFrame({"sample": [CONTROLS, "a"], CONTROLS: [1, 1]}))
    assert bool(obeyed(file.getvalue())) is not is_terminal
