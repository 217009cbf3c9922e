"""``--out``: tried before the work begins, and no labels are lost in the end."""

import errno
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from manyview import load_model
from manyview.cli import _output

QUICK = ("--n-init", "1")


@pytest.fixture
def views(files):
    return [files / f"{name}.csv" for name in ("rna", "protein", "image")]


@pytest.fixture
def result(run, files, views):
    out = files / "earlier"
    assert run("cluster", *views, "-k", 3, *QUICK, "--out", out).code == 0
    return out


@pytest.fixture
def no_work(monkeypatch):
    """Fails as soon as data is read."""

    def work(*_, **__):
        pytest.fail("the work began before --out was tried")

    monkeypatch.setattr("manyview.cli._sources.load_sources", work)


def fail_with_a_full_disk(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def words_for(command, views, result, out):
    return {
        "cluster": ("cluster", *views, "-k", 3, *QUICK, "--out", out),
        "predict": ("predict", result / "model.mvz", *views, "--out", out),
        "report": ("report", result, "--out", out),
    }[command]


@pytest.mark.parametrize("command", ["cluster", "predict", "report"])
def test_a_place_that_cannot_be_is_found_first(
    run, files, views, result, command, request
):
    request.getfixturevalue("no_work")
    out = files / "types.csv" / "deep" / "result"
    done = run(*words_for(command, views, result, out))
    assert done.code == 1
    assert done.err.startswith(f"error: {out} cannot be written: Not a directory (")
    assert done.err.endswith("Nothing was computed. Choose another --out.\n")
    assert done.out == ""


@pytest.mark.parametrize("command", ["cluster", "predict", "report"])
def test_a_full_disk_is_found_first(run, views, result, command, small_disk, request):
    request.getfixturevalue("no_work")
    disk = small_disk(16384)
    done = run(*words_for(command, views, result, disk / "result"))
    assert done.code == 1
    assert "cannot be written: No space left on device" in done.err
    assert list(disk.iterdir()) == []


@pytest.mark.usefixtures("no_work")
def test_a_read_only_disk_is_found_first(run, views, small_disk):
    disk = small_disk(1 << 20)
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    done = run("cluster", *views, "-k", 3, "--out", disk / "result")
    assert done.code == 1
    assert "cannot be written: Read-only file system" in done.err


@pytest.mark.usefixtures("no_work")
def test_a_mount_point_is_refused_first(run, views, small_disk):
    disk = small_disk(1 << 20)
    done = run("cluster", *views, "-k", 3, "--out", disk)
    assert done.code == 1
    assert "is a mount point and cannot be replaced. Name a folder in it." in done.err


def test_the_trial_leaves_nothing_behind(run, files):
    before = sorted(files.iterdir())
    out = files / "deep" / "down"
    assert run("cluster", files / "rna.csv", "-k", 500, "--out", out).code == 1
    assert sorted(files.iterdir()) == before


def check_rescue(done, folder, failed, written):
    """Labels on stdout, finished files beside the folder, and a message about both."""
    assert done.code == 1
    assert len(done.out.splitlines()) == 91
    assert done.out.startswith("sample,cluster,confidence,pace_rna")
    assert not (folder / "result").exists()
    left = list(folder.glob("result.*.part"))
    message = f"error: {failed} could not be written: No space left on device. "
    if written:
        assert sorted(path.name for path in left[0].iterdir()) == written
        assert (left[0] / "labels.csv").read_text() == done.out
        message += f"What was written is in {left[0]}: {', '.join(written)}. "
    else:
        assert left == []
    assert done.err == message + "The labels were printed on stdout instead.\n"


def test_a_disk_that_fills_up_keeps_what_was_written(run, views, small_disk):
    disk = small_disk(1 << 18)
    done = run("cluster", *views, "-k", 3, *QUICK, "--out", disk / "result")
    written = ["labels.csv", "model.mvz", "summary.json"]
    check_rescue(done, disk, "report.html", written)


@pytest.mark.parametrize("pages", [0, 1, 2, 3, 4, 6, 8, 12, 100])
def test_whatever_does_not_fit_the_rest_is_whole(
    run, views, small_disk, monkeypatch, pages
):
    """The disk fills up after --out was tried, with room for so many pages."""
    disk = small_disk(1 << 20)
    tried = _output.check_folder

    def fill(folder, page, *, force):
        tried(folder, page, force=force)
        room = os.statvfs(disk)
        taken = room.f_bavail * room.f_frsize - pages * 4096
        (disk / "filler").write_bytes(bytes(taken))

    monkeypatch.setattr(_output, "check_folder", fill)
    done = run("cluster", *views, "-k", 3, *QUICK, "--out", disk / "result")
    failed = done.err.removeprefix("error: ").partition(" could not be written: ")[0]
    order = ["labels.csv", "model.mvz", "summary.json", "report.html"]
    written = order[: order.index(Path(failed).name)] if failed in order else []
    check_rescue(done, disk, failed, written)
    for path in disk.glob("result.*.part/*"):
        if path.name == "model.mvz":
            load_model(path)
        elif path.name == "summary.json":
            json.loads(path.read_text())


@pytest.mark.parametrize(
    ("target", "failed", "written"),
    [
        ("manyview._model_file.save_model", "model.mvz", ["labels.csv"]),
        (
            "manyview.reporting._report.make_report",
            "report.html",
            ["labels.csv", "model.mvz", "summary.json"],
        ),
    ],
)
def test_an_error_in_the_end_keeps_what_was_written(
    run, files, views, monkeypatch, target, failed, written
):
    monkeypatch.setattr(target, fail_with_a_full_disk)
    done = run("cluster", *views, "-k", 3, *QUICK, "--out", files / "result")
    check_rescue(done, files, failed, written)


def test_a_half_written_file_is_not_kept(tmp_path):
    def write_half(path):
        path.write_text("sample,clu")
        fail_with_a_full_disk()

    with pytest.raises(_output.WriteError, match=r"labels\.csv could not be written"):
        _output.write_folder(
            tmp_path / "result", {"labels.csv": write_half}, force=False
        )
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_came_into_being_meanwhile_costs_no_labels(
    run, files, views, monkeypatch
):
    from manyview.cli import _cluster

    original = _cluster._run

    def occupy(*args, **kwargs):
        (files / "result").mkdir()
        (files / "result" / "mine.txt").write_text("mine")
        return original(*args, **kwargs)

    monkeypatch.setattr(_cluster, "_run", occupy)
    done = run("cluster", *views, "-k", 3, *QUICK, "--out", files / "result")
    assert done.code == 1
    assert len(done.out.splitlines()) == 91
    assert "exists and is not empty" in done.err
    assert [path.name for path in (files / "result").iterdir()] == ["mine.txt"]


def test_predict_prints_what_it_cannot_write(run, files, views, result, monkeypatch):
    expected = run("predict", result / "model.mvz", *views).out
    monkeypatch.setattr("manyview._files.os.replace", fail_with_a_full_disk)
    out = files / "labels.csv"
    done = run("predict", result / "model.mvz", *views, "--out", out)
    assert done.code == 1
    assert done.out == expected
    assert done.err == (
        f"error: {out} could not be written: No space left on device. "
        "The labels were printed on stdout instead.\n"
    )
    assert not [path for path in files.iterdir() if path.name.endswith(".part")]


def test_report_says_which_file_it_cannot_write(run, result, monkeypatch):
    page = (result / "report.html").read_bytes()
    monkeypatch.setattr("manyview._files.os.replace", fail_with_a_full_disk)
    done = run("report", result)
    assert done.code == 1
    assert f"{result / 'report.html'} could not be written: No space" in done.err
    assert (result / "report.html").read_bytes() == page


def test_report_makes_the_folder_it_is_told(run, files, result):
    out = files / "deep" / "page.html"
    assert run("report", result, "--out", out).code == 0
    assert out.is_file()


@pytest.mark.usefixtures("no_work")
def test_predict_refuses_an_existing_file_before_the_work(run, files):
    np.savez(files / "model.mvz")
    words = (files / "model.mvz", files / "rna.csv", "--out", files / "all.npz")
    done = run("predict", *words)
    assert done.code == 1
    assert "all.npz exists. Choose another --out" in done.err
