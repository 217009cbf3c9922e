"""``manyview reproduce`` from the outside."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from manyview.cli._app import app
from manyview.cli._reproduce import _split

PROTOCOL = """\
title = "Toy protocol"
description = "Two methods & <one> grid."
repeats = 3
datasets = ["handwritten"]

[[methods]]
label = "Steady"
estimator = "tests.bench.toys:Steady"

[[methods]]
label = "NSMVC"
estimator = "NSMVC"
params = { n_init = 1 }
grid = { pace_start = [0.3, 0.5], n_paces = [2, 3] }
"""


@pytest.fixture
def protocol(tmp_path: Path) -> str:
    path = tmp_path / "toy.toml"
    path.write_text(PROTOCOL)
    return str(path)


def reproduce(*arguments: object) -> object:
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


def test_reproduce_writes_tables_runs_and_report(tmp_path, protocol, folder):
    out = tmp_path / "out"
    arguments = (
        "all", "--protocol", protocol, "--datasets", folder, "--out", out, "--jobs", 2
    )  # fmt: skip
    first = reproduce(*arguments)
    assert first.exit_code == 0, first.output
    assert "15 runs planned, 0 already done, 15 to do" in first.stderr
    assert {path.name for path in (out / "tables").iterdir()} == {
        "pairs-toy.md",
        "pairs-toy.tex",
        "pairs-toy.csv",
    }
    assert {path.suffix for path in (out / "figures").iterdir()} == {".png", ".svg"}
    table = (out / "tables" / "pairs-toy.md").read_text()
    assert "| NSMVC * | **100.00 ± 0.00** |" in table
    assert table in (out / "summary.md").read_text()
    assert len((out / "runs.csv").read_text().splitlines()) == 16
    page = (out / "report.html").read_text()
    assert "Two methods &amp; &lt;one&gt; grid." in page

    again = reproduce(*arguments)
    assert again.exit_code == 0, again.output
    assert "15 runs planned, 15 already done, 0 to do" in again.stderr
    assert (out / "tables" / "pairs-toy.md").read_text() == table


def test_reproduce_adds_a_method_and_a_data_set(tmp_path, protocol, folder):
    out = tmp_path / "out"
    done = reproduce(
        "table2", "--protocol", protocol, "--methods", "Mine", "--datasets", folder,
        "--add-method", "Mine=tests.bench.toys:Failing", "--out", out, "--repeats", 2,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    table = (out / "tables" / "pairs-toy.md").read_text()
    assert "| Mine |" in table
    assert "Mine: 1 runs failed. RuntimeError: seed" in table
    assert "1 runs failed, the first with: RuntimeError: seed" in done.stderr


def test_reproduce_interrupted_says_how_to_go_on(
    tmp_path, protocol, folder, monkeypatch
):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("manyview.bench.run_plan", interrupt)
    out = tmp_path / "out"
    stopped = reproduce("all", "--protocol", protocol, "--add-data", folder, "-o", out)
    assert stopped.exit_code == 130
    assert "the same command goes on from there" in stopped.stderr
    assert (out / "runs.sqlite").exists()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (None, []),
        ("NSMVC, AMGL,", ["NSMVC", "AMGL"]),
        ("KM(All),NSMVC (0.5, 6),KM", ["KM(All)", "NSMVC (0.5, 6)", "KM"]),
    ],
)
def test_methods_are_split_at_commas_outside_parentheses(text, parts):
    assert _split(text) == parts


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--protocol", "papre"], "No protocol is called 'papre'"),
        (["--methods", "DBSCAN"], "has no method 'DBSCAN'"),
        (["--datasets", "texsa"], "No data set or folder is called 'texsa'"),
        (["--add-method", "nowhere:Mine"], "Cannot import the method 'nowhere:Mine'"),
        (["--add-data", "no/such/folder"], "called 'no/such/folder'"),
    ],
)
def test_reproduce_user_errors_are_one_sentence(tmp_path, arguments, message):
    done = reproduce("table2", "--quick", "--out", tmp_path / "out", *arguments)
    assert done.exit_code == 1
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.output
    assert not (tmp_path / "out").exists()
