"""Trace which files and functions of manyview a matrix passes.

    python tools/trace_fit.py            # counts
    python tools/trace_fit.py --names    # and the functions, in order of the first call

Two ways are traced: from `NSMVC.fit` to `labels_`, and from the command
``manyview cluster a.csv b.csv -k 5 --out r`` to its report. Both run once before, so
that imports and compilation are not counted. Calls between compiled kernels are not
seen.
"""

import argparse
import contextlib
import io
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

import manyview
from manyview import NSMVC

PACKAGE = Path(manyview.__file__).parent
WATCHED = ("check_views", "open_views", "explain_clustering")


def trace(run: Callable[[], object]) -> Counter[tuple[str, str]]:
    """Calls of every function of the package, by file and qualified name."""
    calls: Counter[tuple[str, str]] = Counter()
    root = f"{PACKAGE}{os.sep}"

    def count(frame, event, _argument):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(root):
            calls[code.co_filename.removeprefix(root), code.co_qualname] += 1

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return calls


def make_views() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(5), 60)
    return [
        3.0 * rng.normal(size=(5, width))[truth] + rng.normal(size=(300, width))
        for width in (4, 7)
    ]


def fit() -> None:
    NSMVC(n_clusters=5, n_init=1, random_state=0).fit(make_views())


def cluster_files() -> None:
    from manyview.cli._app import app

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, view in zip("ab", make_views(), strict=True):
            columns = ",".join(f"{name}{f}" for f in range(view.shape[1]))
            np.savetxt(f"{name}.csv", view, delimiter=",", header=columns, comments="")
        said = io.StringIO()
        command = ["cluster", "a.csv", "b.csv", "-k", "5", "--out", "r"]
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            app(command, standalone_mode=False)
        if not any(Path("r").iterdir()):
            msg = f"The command wrote nothing to r: {said.getvalue()}"
            raise SystemExit(msg)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--names", action="store_true", help="list the functions")
    names = parser.parse_args().names
    print(f"{'from':16} {'files':>5} {'functions':>9} " + " ".join(WATCHED))
    for label, run in (("NSMVC.fit", fit), ("manyview cluster", cluster_files)):
        run()
        calls = trace(run)
        # Comprehensions and module bodies are not functions of their own.
        functions = [key for key in calls if not key[1].endswith(">")]
        watched = [
            sum(n for (_, name), n in calls.items() if name == wanted)
            for wanted in WATCHED
        ]
        cells = " ".join(
            f"{n:>{len(w)}}" for n, w in zip(watched, WATCHED, strict=True)
        )
        n_files = len({file for file, _ in functions})
        print(f"{label:16} {n_files:>5} {len(functions):>9} {cells}")
        if names:
            for file, name in functions:
                print(f"  {file}:{name} x{calls[file, name]}")


if __name__ == "__main__":
    main()
