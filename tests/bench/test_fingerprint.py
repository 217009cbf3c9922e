import importlib
import sys
from pathlib import Path

import pytest

from manyview.bench import _fingerprint, _methods
from manyview.bench._fingerprint import code_version

FILES = {
    "__init__.py": "",
    "method.py": '"""Doc."""\nfrom plugpack.helper import f\n\n\n'
    'class Mine:\n    """Doc."""\n\n    x = f()\n',
    "helper.py": "from . import deep\n\n\ndef f():\n    return deep.VALUE\n",
    "deep.py": "VALUE = 1\n",
    "unrelated.py": "VALUE = 1\n",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "plugpack"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [m for m in sys.modules if m.startswith("plugpack")]:
        del sys.modules[name]


def fresh_version() -> str:
    for cached in (code_version, _fingerprint._source_path, _methods.find_estimator):
        cached.cache_clear()
    importlib.invalidate_caches()
    return code_version("plugpack.method:Mine")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("method.py", FILES["method.py"].replace("x = f()", "x = 2 * f()")),
        ("helper.py", FILES["helper.py"].replace("deep.VALUE", "-deep.VALUE")),
        ("deep.py", "VALUE = 2\n"),
    ],
)
def test_code_version_changes_with_the_code_behind_a_method(package: Path, file, text):
    before = fresh_version()
    (package / file).write_text(text)
    assert fresh_version() != before


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("method.py", FILES["method.py"].replace("Doc.", "Other words.")),
        ("helper.py", "# A comment.\n" + FILES["helper.py"]),
        ("unrelated.py", "VALUE = 2\n"),
    ],
)
def test_code_version_ignores_words_and_other_modules(package: Path, file, text):
    before = fresh_version()
    (package / file).write_text(text)
    assert fresh_version() == before


def test_code_version_of_nsmvc_covers_its_kernels():
    modules = _fingerprint._closure("manyview.cluster._nsmvc")
    assert {
        "manyview._scaling",
        "manyview._solvers._nsmvc",
        "manyview._solvers._start",
        "manyview._numerics._assign",
        "manyview._numerics._pacing",
    } <= modules.keys()
    assert not any(name.startswith("manyview.datasets") for name in modules)
