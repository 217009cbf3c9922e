"""``python -m reproduction`` from the outside."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reproduction import __main__ as command
from reproduction.plan import Method
from reproduction.protocols import PROTOCOLS
from tests.reproduction.conftest import protocol_of, toy

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def reproduce(tmp_path, monkeypatch, capsys, source):
    """Runs a small protocol on the toy data; returns exit code, stdout and stderr."""
    grid = {"pace_start": (0.3, 0.5), "n_paces": (2, 3)}
    nsmvc = Method("NSMVC", "NSMVC", {"n_init": 1}, grid=grid)
    monkeypatch.setitem(PROTOCOLS, "toy", protocol_of(toy("Steady"), nsmvc, repeats=3))

    def run(*arguments):
        given = [*arguments, "--datasets", source, "--out", tmp_path / "out"]
        code = command.main([*map(str, given), "--protocol", "toy", "--jobs", "1"])
        said = capsys.readouterr()
        return code, said.out, " ".join(said.err.split())

    return run


def test_command_writes_tables_runs_and_report_and_goes_on(tmp_path, reproduce):
    out = tmp_path / "out"
    code, _, said = reproduce("all")
    assert code == 0
    assert "15 runs planned, 0 of them already done" in said
    assert {path.name for path in (out / "tables").iterdir()} == {
        "pairs-toy.md",
        "pairs-toy.tex",
        "pairs-toy.csv",
    }
    assert {path.suffix for path in (out / "figures").iterdir()} == {".png", ".svg"}
    table = (out / "tables" / "pairs-toy.md").read_text()
    assert "| NSMVC * | **100.00 ± 0.00** |" in table
    assert len((out / "runs.csv").read_text().splitlines()) == 16
    figures = {path: path.read_bytes() for path in (out / "figures").iterdir()}

    code, _, said = reproduce("all")
    assert code == 0
    assert "15 runs planned, 15 of them already done" in said
    assert (out / "tables" / "pairs-toy.md").read_text() == table
    assert all(path.read_bytes() == content for path, content in figures.items())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("share", "failed"),
    [(0, "runs.csv"), (0.03, "tables"), (0.4, "figures"), (0.97, "report.html")],
)
def test_full_disk_is_one_sentence_and_leaves_whole_files(
    tmp_path, reproduce, small_disk, share, failed
):
    """On a disk with room for a share of what is to be written."""
    assert reproduce("all")[0] == 0
    calm = tmp_path / "calm"
    (tmp_path / "out").rename(calm)
    n_bytes = sum(path.stat().st_size for path in calm.rglob("*"))
    disk = small_disk(max(4096, int(share * n_bytes)))
    (disk / "out").mkdir()
    (tmp_path / "out").symlink_to(disk / "out")
    code, _, said = reproduce("all")
    assert code == 1
    sentence = said.partition("already done. ")[2]
    assert "No space left on device" in sentence
    assert str(tmp_path / "out" / failed) in sentence
    for path in (disk / "out").rglob("*"):
        assert not path.name.endswith(".part")
        if path.is_file() and path.suffix in {".md", ".tex", ".csv", ".svg", ".png"}:
            same = calm / path.relative_to(disk / "out")
            assert path.name == "runs.csv" or path.read_bytes() == same.read_bytes()
    subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
    code, _, said = reproduce("all")
    assert code == 0, said
    assert sorted(p.name for p in (disk / "out").rglob("*")) == sorted(
        p.name for p in calm.rglob("*")
    )


def test_damaged_lines_are_reported_and_done_again(tmp_path, reproduce):
    reproduce("table2", "--methods", "Steady")
    path = tmp_path / "out" / "runs.csv"
    lines = path.read_bytes().splitlines(keepends=True)
    table = (tmp_path / "out" / "tables" / "pairs-toy.csv").read_text()
    path.write_bytes(
        lines[0] + lines[1].replace(b"pairs", b"paris") + b"".join(lines[2:])
    )
    code, _, said = reproduce("table2", "--methods", "Steady")
    assert code == 0
    assert f"1 lines of {path} are damaged and not used" in said
    assert "3 runs planned, 2 of them already done" in said
    assert (tmp_path / "out" / "tables" / "pairs-toy.csv").read_text() == table


def test_command_uses_runs_of_another_version_only_when_told(reproduce, monkeypatch):
    reproduce("table2", "--methods", "Steady")
    monkeypatch.setattr(command, "code_version", lambda: "0.2.0")
    _, _, said = reproduce("table2", "--methods", "Steady", "--any-version")
    assert "3 of them already done" in said
    _, _, said = reproduce("table2", "--methods", "Steady")
    assert "0 of them already done" in said


def test_command_adds_a_method(tmp_path, reproduce):
    code, _, said = reproduce(
        "table2",
        *("--methods", "Mine", "--repeats", 2),
        *("--add-method", "Mine=tests.reproduction.toys:Failing"),
    )
    assert code == 0
    table = (tmp_path / "out" / "tables" / "pairs-toy.md").read_text()
    assert "| Mine |" in table
    assert "Mine: 1 runs failed. RuntimeError: seed" in table
    assert "1 runs failed, the first with: RuntimeError: seed" in said


def test_interrupted_command_says_how_to_go_on(reproduce, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run_plan", interrupt)
    code, _, said = reproduce("all")
    assert code == 130
    assert "the same command goes on from there" in said


def test_full_disk_is_one_sentence(reproduce, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "x.svg")

    monkeypatch.setattr(command, "write_tables", full)
    code, _, said = reproduce("table2", "--methods", "Steady")
    assert code == 1
    assert said.endswith(
        "error: x.svg: No space left on device. Finished runs are kept."
    )


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("NSMVC, AMGL,", ["NSMVC", "AMGL"]),
        ("KM(All),NSMVC (0.5, 6),KM", ["KM(All)", "NSMVC (0.5, 6)", "KM"]),
    ],
)
def test_methods_are_split_at_commas_outside_parentheses(text, parts):
    assert command._split(text) == parts


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "DBSCAN"], "has no method 'DBSCAN'"),
        (["--datasets", "texsa"], "No data set or file is called 'texsa'"),
        (["--add-method", "nowhere:Mine"], "Cannot import the method 'nowhere:Mine'"),
    ],
)
def test_user_errors_are_one_sentence(tmp_path, capsys, arguments, message):
    given = ["table2", "--quick", *arguments, "--out", str(tmp_path / "out")]
    assert command.main(given) == 1
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("table9", "'table9' is not one of table2"),
        ("--protocol=papre", "invalid choice: 'papre'"),
    ],
)
def test_wrong_usage_is_one_sentence(capsys, argument, message):
    with pytest.raises(SystemExit, match="2"):
        command.main(["table2", "--quick", argument])
    assert message in " ".join(capsys.readouterr().err.split())


def test_module_can_be_run():
    done = subprocess.run(
        [sys.executable, "-m", "reproduction", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "table2" in done.stdout


def test_missing_extra_is_told_before_the_work(tmp_path):
    """A module of that name that cannot be imported stands in for one not installed."""
    (tmp_path / "plotly.py").write_text("raise ImportError")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "reproduction",
            "--quick",
            "--out",
            str(tmp_path / "out"),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: The reproduction needs plotly")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()
