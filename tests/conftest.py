"""Fixtures shared by all tests."""

import os
from pathlib import Path

import numpy as np
import pytest

SHARED_DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"


@pytest.fixture
def shared_data():
    """Folder with the paper's original data files, if this machine has it."""
    folder = Path(os.environ.get("MANYVIEW_DATA", SHARED_DATA))
    if not (folder / "handwritten.mat").exists():
        pytest.skip(f"the original data files are not in {folder}")
    return folder


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
