"""Kernels compile where no folder for compiled code can be written."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "manyview"
FIT = """
import warnings
import numpy as np
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from manyview import NSMVC
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(20, 2)), rng.normal(size=(20, 3))]
    print(NSMVC(2, random_state=0, n_init=1).fit(views).labels_.sum())
for warning in caught:
    print(warning.category.__name__, warning.message)
"""


def test_a_missing_cache_is_one_warning(tmp_path):
    # Where a file stands in for a folder, nobody can write, not even root.
    package = tmp_path / "manyview"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, package, ignore=ignored)
    for folder in {path.parent for path in package.rglob("*.py")}:
        (folder / "__pycache__").touch()
    nowhere = str(package / "__pycache__" / "cache")
    environment = {
        **{k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"},
        "PYTHONPATH": str(tmp_path),
        "HOME": nowhere,
        "XDG_CACHE_HOME": nowhere,
    }
    done = subprocess.run(
        [sys.executable, "-c", FIT], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    _, *warned = done.stdout.splitlines()
    assert len(warned) == 1, done.stdout
    assert "RuntimeWarning" in warned[0]
    assert "NUMBA_CACHE_DIR" in warned[0]
