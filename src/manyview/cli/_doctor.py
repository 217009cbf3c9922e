"""``manyview doctor``: is everything in place, and does it work?"""

from __future__ import annotations

import os
import platform
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import typer

from manyview._version import __version__
from manyview.cli import _options as opt
from manyview.cli import _render

# As in pyproject.toml, in its order.
REQUIRED = (
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "joblib",
    "threadpoolctl",
    "pandas",
    "pooch",
    "requests",
    "typer",
    "rich",
)
EXTRAS = {
    "plot": ("matplotlib",),
    "report": ("plotly", "jinja2"),
    "io": ("pyarrow", "h5py", "zarr", "numcodecs", "zstandard"),
    "excel": ("openpyxl", "defusedxml"),
    "omics": ("anndata", "h5py"),
    "survival": ("lifelines",),
    "umap": ("umap-learn",),
    "dask": ("dask", "distributed", "zarr", "numcodecs", "pyarrow"),
    "companions": ("scanpy", "mudata", "umap-learn", "lifelines"),
}


def doctor_command(
    as_json: opt.AsJson = False,
    _debug: opt.Debug = False,
) -> None:
    """Show the environment and run a five-second self-test.

    [bold]Examples[/bold]

      manyview doctor

      manyview doctor --json
    """
    content = examine()
    if as_json:
        _render.as_json(content)
    else:
        _render.facts(_facts(content))
    if not content["self_test"]["passed"]:
        raise typer.Exit(1)


def examine() -> dict[str, Any]:
    """Versions, threads, extras and the outcome of the self-test."""
    from threadpoolctl import threadpool_info

    from manyview.datasets import data_folder, list_datasets

    test = _self_test()
    return {
        "manyview": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "packages": {name: _version(name) for name in REQUIRED},
        "extras": {
            extra: {name: _version(name) for name in names}
            for extra, names in EXTRAS.items()
        },
        "cpus": os.cpu_count(),
        # Asked after the self-test, which loads the libraries.
        "threads": {
            pool["internal_api"]: pool["num_threads"] for pool in threadpool_info()
        },
        "data_folder": str(data_folder()),
        "datasets": list(list_datasets()),
        "self_test": test,
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _self_test() -> dict[str, Any]:
    """Cluster made-up views of known clusters, save the model and read it again."""
    import numpy as np

    from manyview._model_file import load_model, save_model
    from manyview.cluster import NSMVC
    from manyview.datasets import make_views
    from manyview.metrics import clustering_accuracy

    started = time.perf_counter()
    data = make_views(300, 3, (10, 20), random_state=0)
    model = NSMVC(n_clusters=3, n_init=3, random_state=0).fit(list(data.views))
    accuracy = clustering_accuracy(data.target, model.labels_)
    with tempfile.TemporaryDirectory() as folder:
        path = save_model(model, Path(folder) / "model.mvz")
        again = load_model(path).predict(list(data.views))
    same = bool(np.array_equal(again, model.predict(list(data.views))))
    return {
        "passed": bool(accuracy == 1.0 and same),
        "accuracy": accuracy,
        "model_round_trip": same,
        "seconds": round(time.perf_counter() - started, 2),
    }


def _facts(content: dict[str, Any]) -> list[tuple[str, str]]:
    test = content["self_test"]
    pairs = [
        ("manyview", content["manyview"]),
        ("Python", content["python"]),
        ("system", content["system"]),
        *((name, found or "missing") for name, found in content["packages"].items()),
    ]
    for extra, packages in content["extras"].items():
        absent = [name for name, found in packages.items() if found is None]
        text = ", ".join(f"{n} {v}" for n, v in packages.items() if v is not None)
        if absent:
            text += f"{'; ' if text else ''}not installed: {', '.join(absent)} "
            text += f'(pip install "manyview[{extra}]")'
        pairs.append((f"extra {extra}", text))
    threads = ", ".join(f"{name} {n}" for name, n in content["threads"].items())
    verdict = "passed" if test["passed"] else "FAILED"
    pairs += [
        ("processors", str(content["cpus"])),
        ("threads", threads or "no pools"),
        ("data folder", content["data_folder"]),
        (
            "self-test",
            f"{verdict} in {test['seconds']} s (accuracy {test['accuracy']:.0%}, model "
            f"file {'exact' if test['model_round_trip'] else 'differs'})",
        ),
    ]
    return pairs
