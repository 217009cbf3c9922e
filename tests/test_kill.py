"""kill -9 at twenty moments: what has its name is whole, and the next run is right."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from manyview import load_model

ROOT = Path(__file__).parents[1]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="Windows has no signal 9"),
]
N_KILLS = 20


def run_killed(moment, folder, command, *arguments):
    """Exit code and the last line on stderr."""
    words = ["-m", "tests.killed", moment, folder, command, *arguments]
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stderr.rstrip().rpartition("\n")[2]


def spread(n_moments):
    """Twenty moments, or as many as there are, from the first to the last."""
    return sorted({int(m) for m in np.linspace(1, n_moments, N_KILLS).round()})


@pytest.fixture
def source(tmp_path, blobs):
    views, truth = blobs
    path = tmp_path / "pairs.npz"
    np.savez(path, left=views[0], right=views[1], y=truth)
    return path


def contents(folder):
    """A result folder's files; what tells the time is left out."""
    found = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    summary = json.loads(found.pop("summary.json"))
    found["clusters"] = summary["clusters"]
    found.pop("report.html").rindex(b"</html>")
    found.pop("model.mvz")
    assert_array_equal(load_model(folder / "model.mvz").labels_.shape, (90,))
    return found


def test_cluster(tmp_path, source):
    folder = tmp_path / "work"
    folder.mkdir()
    out, aside = folder / "result", tmp_path / "aside"
    words = ("manyview", "cluster", source, "--n-init", "1", "--labels", "y")

    def cluster(moment, k):
        options = ("-k", k, "--out", out, "--force")
        return run_killed(moment, folder, *words, *options)

    assert cluster(0, 2)[0] == 0
    old = contents(out)
    shutil.copytree(out, aside)
    code, n_moments = cluster(0, 3)
    assert code == 0, n_moments
    new = contents(out)
    assert old.keys() == new.keys()
    assert old != new
    seen = []
    for moment in spread(int(n_moments)):
        shutil.rmtree(folder)
        folder.mkdir()
        shutil.copytree(aside, out)
        assert cluster(moment, 3)[0] == -signal.SIGKILL
        if out.exists():
            seen.append("new" if contents(out) == new else "old")
            assert contents(out) == (new if seen[-1] == "new" else old)
        else:
            # Between the two renames: the old result, whole, under another name.
            seen.append("aside")
            (kept,) = folder.glob(".result.*.old")
            assert contents(kept) == old
        assert cluster(0, 3)[0] == 0
        assert contents(out) == new
    assert seen.count("aside") <= 1
    assert {"old", "new"} <= set(seen)


SAVING = """
import sys
from manyview import load_model, save_model
model = load_model(sys.argv[1])
print("ready", flush=True)
while True:
    save_model(model, sys.argv[2])
"""


def test_save_model(tmp_path, blobs):
    from manyview import NSMVC, save_model

    model = NSMVC(3, n_init=1, random_state=0).fit(blobs[0])
    good = save_model(model, tmp_path / "good.mvz")
    folder = tmp_path / "work"
    folder.mkdir()
    path = folder / "model.mvz"
    chance = random.Random(0)
    n_left = 0
    for _ in range(N_KILLS):
        process = subprocess.Popen(
            [sys.executable, "-c", SAVING, good, path],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout.readline() == "ready\n"
        # Anywhere within one of the many times that it is saved.
        while not path.exists():
            assert process.poll() is None
        time.sleep(chance.uniform(0.0, 0.05))
        process.kill()
        process.wait()
        process.stdout.close()
        assert_array_equal(load_model(path).labels_, model.labels_)
        n_left += len(list(folder.glob(".model.mvz.*.part")))
        shutil.rmtree(folder)
        folder.mkdir()
    # Some were killed while a temporary file was being written.
    assert n_left >= 3


def outputs(folder):
    """Files of a reproduction by path, but for what tells the time."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and path.name not in ("runs.csv", "report.html")
        and not path.name.endswith(".part")
    }


def test_reproduction(tmp_path, source):
    options = ("--quick", "--methods", "NSMVC", "--repeats", "1", "--jobs", "1")
    words = ("reproduction", "all", *options, "--datasets", source)

    def reproduce(moment, out):
        return run_killed(moment, out, *words, "--out", out)

    calm, out = tmp_path / "calm", tmp_path / "out"
    assert reproduce(0, calm)[0] == 0
    # Again, with all runs done: what is written now are tables, figures and report.
    code, n_moments = reproduce(0, calm)
    assert code == 0, n_moments
    expected = outputs(calm)
    assert expected
    for moment in spread(int(n_moments)):
        # Kills in the middle of the runs are tried in tests/reproduction/test_kill.py.
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        shutil.copy(calm / "runs.csv", out)
        assert reproduce(moment, out)[0] == -signal.SIGKILL
        assert outputs(out).items() <= expected.items()
    assert reproduce(0, out)[0] == 0
    assert outputs(out) == expected
    assert (out / "report.html").read_text().rstrip().endswith("</html>")
