"""A disk that is full: one sentence that names the place, and nothing half-written."""

import errno
import gc
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from manyview import NSMVC, save_model
from manyview.datasets import write_views

ROOT = Path(__file__).parents[1]
PAGE = 4096
FULL = "No space left on device"

# An archive that older NumPy could not write stays open, and complains when it is
# collected: here, rather than in whatever test runs then.
pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(autouse=True)
def collect():
    yield
    gc.collect()


def fill(disk, pages):
    """Leave room for so many pages."""
    room = os.statvfs(disk)
    taken = room.f_bavail * room.f_frsize - pages * PAGE
    (disk / "filler").write_bytes(bytes(taken))


def enlarge(disk, n_bytes):
    options = f"remount,size={n_bytes}"
    subprocess.run(["mount", "-o", options, disk], check=True)


def others(disk):
    return sorted(path.name for path in disk.iterdir() if path.name != "filler")


def check_error(error, place):
    assert error.errno == errno.ENOSPC
    assert Path(error.filename) == place


@pytest.mark.parametrize("pages", [0, 1])
def test_model(small_disk, blobs, pages):
    disk = small_disk(1 << 20)
    model = NSMVC(3, n_init=1, random_state=0).fit(blobs[0])
    path = save_model(model, disk / "model.mvz")
    before = path.read_bytes()
    fill(disk, pages)
    for target in (path, disk / "another.mvz"):
        with pytest.raises(OSError, match=FULL) as caught:
            save_model(model, target)
        check_error(caught.value, target)
    assert others(disk) == ["model.mvz"]
    assert path.read_bytes() == before


@pytest.mark.parametrize("form", ["npy", "zarr"])
@pytest.mark.parametrize("pages", [0, 3, 8])
def test_written_views(small_disk, form, pages):
    disk = small_disk(1 << 20)
    out = disk / "views"
    out.mkdir()
    fill(disk, pages)
    with pytest.raises(OSError, match=FULL) as caught:
        write_views(out, 1000, random_state=0, format=form)
    assert disk in Path(caught.value.filename).parents
    assert list(out.iterdir()) == []


def test_scratch_files(small_disk, monkeypatch):
    _blocks = pytest.importorskip("manyview.distributed._blocks")
    disk = small_disk(1 << 16)
    monkeypatch.setattr(tempfile, "tempdir", str(disk))
    small = np.arange(1000.0)
    assert_array_equal(_blocks.spooled(small), small)
    with pytest.raises(OSError, match=FULL) as caught:
        _blocks.spooled(np.zeros((1000, 100)))
    check_error(caught.value, disk)
    assert others(disk) == []


@pytest.mark.parametrize("pages", [0, 1, 3, 5, 8])
def test_checkpoint(small_disk, pages):
    dask = pytest.importorskip("dask")
    pytest.importorskip("distributed")
    from manyview.distributed import DaskNSMVC
    from tests.distributed.problems import chunked, make_views

    views = chunked(make_views(6)[0], (60, 50, 240))
    options = {"n_init": 2, "random_state": 0, "n_paces": 3}
    expected = DaskNSMVC(4, **options).fit(views)
    disk = small_disk(1 << 20)
    fill(disk, pages)
    model = DaskNSMVC(4, checkpoint=disk / "fit", **options)
    # One part after the other: in threads, others may still be writing when one fails.
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(OSError, match=FULL) as caught,
    ):
        model.fit(views)
    place = Path(caught.value.filename)
    assert place.is_relative_to(disk / "fit")
    assert not list(disk.rglob("*.part"))
    # With room again, it goes on from what is there.
    enlarge(disk, 1 << 24)
    model.fit(views)
    assert_array_equal(model.labels_.compute(), expected.labels_.compute())
    assert others(disk) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("words", [("datasets",), ("datasets", "--json"), ("doctor",)])
def test_stdout(words):
    command = [sys.executable, "-c", "from manyview.cli import main; main()", *words]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == f"error: stdout could not be written: {FULL}.\n"
