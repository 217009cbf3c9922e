"""Fixtures shared by all tests."""

import os
import subprocess
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# No verdict depends on how busy the machine is, so neither examples nor their drawing
# are timed. `make test-slow` draws more of them: see --hypothesis-profile there.
settings.register_profile(
    "quick",
    deadline=None,
    max_examples=10,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("full", settings.get_profile("quick"), max_examples=100)
settings.load_profile("quick")


@pytest.fixture
def shared_data():
    """Folder with the paper's original data files, if this machine has it."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("MANYVIEW_DATA", beside))
    if not (folder / "handwritten.mat").exists():
        pytest.skip("needs the original data files in the folder MANYVIEW_DATA")
    return folder


@pytest.fixture(scope="module")
def tracing():
    """Memory is traced while the tests of a module run.

    Not test by test: to stop while threads of pyarrow still free what they read crashes
    the process (python/cpython#128679).
    """
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.fixture
def blobs():
    """Three views of 90 samples in three well separated clusters, and the truth."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 30)
    views = [
        10 * rng.normal(size=(3, width))[truth] + rng.normal(size=(90, width))
        for width in (4, 6, 3)
    ]
    order = rng.permutation(90)
    return [view[order] for view in views], truth[order]


@pytest.fixture
def small_disk(tmp_path):
    """Makes a file system with room for so many bytes."""
    mounted = []

    def mount(n_bytes):
        folder = tmp_path / "disk"
        folder.mkdir()
        words = ["mount", "-t", "tmpfs", "-o", f"size={n_bytes}", "tmpfs", folder]
        try:
            subprocess.run(words, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("mounting a small disk needs rights")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", folder], check=True)
