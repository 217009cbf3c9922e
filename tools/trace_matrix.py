"""The way of a matrix through the package: files and functions passed, views checked.

Usage: python tools/trace_matrix.py [METHOD]
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

import manyview.cli
from manyview import cluster
from manyview.datasets import make_views

PACKAGE = str(Path(manyview.__file__).parent)
# The scan of a view's values, the scaled rows of the views, and the explanation.
COUNTED = ("_find_present", "open_views", "explain_clustering")


def trace(call: Callable[[], Any]) -> Counter[tuple[str, str]]:
    """Calls of each (file, function) of the package while `call` runs."""
    calls: Counter[tuple[str, str]] = Counter()

    def note(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        named = not code.co_name.startswith("<")
        if event == "call" and named and code.co_filename.startswith(PACKAGE):
            calls[code.co_filename, code.co_qualname] += 1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def report(title: str, calls: Counter[tuple[str, str]]) -> None:
    files = {file for file, _ in calls if file.endswith(".py")}
    functions = [name for file, name in calls if file.endswith(".py")]
    print(f"{title}: {len(files)} files, {len(functions)} functions")
    for name in COUNTED:
        count = sum(n for (_, function), n in calls.items() if function == name)
        print(f"  {name}: {count}")


def main() -> None:
    method = sys.argv[1] if len(sys.argv) > 1 else "nsmvc"
    data = make_views(300, 5, (6, 6), random_state=0)
    names = {name.lower(): name for name in cluster.__all__}
    estimator = getattr(cluster, names[method])(5, random_state=0)
    report(f"{names[method]}.fit", trace(lambda: estimator.fit(data.views)))
    os.chdir(tempfile.mkdtemp())
    for name, view in zip("ab", data.views, strict=True):
        rows = [",".join(map(repr, row)) for row in view.tolist()]
        header = ",".join(f"{name}{column}" for column in range(6))
        Path(f"{name}.csv").write_text("\n".join([header, *rows]), encoding="utf-8")
    words = ["cluster", "a.csv", "b.csv", "-k", "5", "--method", method, "--out", "r"]
    title = "manyview " + " ".join(words)
    report(title, trace(lambda: CliRunner().invoke(manyview.cli.app, words)))


if __name__ == "__main__":
    main()
