"""What there is: ``manyview methods``, ``datasets`` and ``doctor``."""

from __future__ import annotations

import inspect
import os
import platform
import re
import tempfile
import time
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyview._version import __version__
from manyview.cli import _options as opt
from manyview.cli import _render
from manyview.exceptions import DatasetError

if TYPE_CHECKING:
    from manyview.datasets import DatasetInfo

PAGE = "https://manyview.github.io/manyview/api/generated/manyview.{}.html"

# Extras that are for the project's own work, or hold all others.
NOT_SHOWN = {"all", "companions", "docs", "test"}


def methods_command(as_json: opt.AsJson = False, _debug: opt.Debug = False) -> None:
    """List the clustering methods, with one line and a link each.

    [bold]Examples[/bold]

      manyview methods

      manyview methods --json
    """
    from manyview import cluster

    rows = []
    for name, kind in opt.method_names().items():
        about = inspect.getdoc(getattr(cluster, kind)) or ""
        summary, page = about.partition("\n")[0], PAGE.format(kind)
        rows.append({"name": name, "class": kind, "summary": summary, "page": page})
    if as_json:
        _render.as_json(rows)
        return
    width = max(len(row["name"]) for row in rows) + 2
    for row in rows:
        _render.line(row["name"].ljust(width) + row["summary"])
        _render.line(" " * width + row["page"])


def datasets_command(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Describe this one.",
            autocompletion=opt.complete_datasets,
            show_default=False,
        ),
    ] = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Download it now.")] = False,
    as_json: opt.AsJson = False,
    _debug: opt.Debug = False,
) -> None:
    """List the known data sets, describe one, or fetch it.

    [bold]Examples[/bold]

      manyview datasets

      manyview datasets msrcv1

      manyview datasets msrcv1 --fetch
    """
    from manyview import datasets

    if name is None and fetch:
        msg = f"--fetch needs a name: one of {', '.join(datasets.list_datasets())}."
        raise DatasetError(msg)
    if name is None:
        rows = [
            _describe(datasets.dataset_info(one)) for one in datasets.list_datasets()
        ]
        show = _render.as_json if as_json else _render.datasets
        show(rows)
        return
    info = datasets.dataset_info(name)
    if fetch:
        datasets.load_dataset(name)
    row = _describe(info)
    if as_json:
        _render.as_json(row)
        return
    views = [f"{v.name}: {v.title}, {v.n_features} features" for v in info.views]
    facts = {
        "name": info.name,
        "title": info.title,
        "about": info.description,
        "samples": f"{info.n_samples:,}",
        "classes": str(row["n_classes"]),
        "views": "; ".join(views),
        "where": row["where"],
        "source": info.source,
        "cite": info.citation,
        "licence": info.license,
    }
    if info.url is not None:
        facts["folder"] = str(datasets.data_folder())
    facts["use"] = f"manyview cluster {info.name} -k {row['n_classes']}"
    _render.facts(facts)


def _describe(info: DatasetInfo) -> dict[str, Any]:
    from manyview.datasets import data_folder

    where = "in the package"
    if info.url is not None:
        names = [name for name in (info.file, info.upstream) if name is not None]
        here = any((data_folder() / name).is_file() for name in names)
        where = "on this machine" if here else f"download, {info.size / 1000:,.0f} kB"
    return {
        "name": info.name,
        "title": info.title,
        "n_samples": info.n_samples,
        "n_classes": len(info.target_names),
        "views": {view.name: view.n_features for view in info.views},
        "where": where,
        "license": info.license,
        "source": info.source,
    }


def doctor_command(as_json: opt.AsJson = False, _debug: opt.Debug = False) -> None:
    """Show the environment and run a five-second self-test.

    [bold]Examples[/bold]

      manyview doctor

      manyview doctor --json
    """
    from threadpoolctl import threadpool_info

    from manyview.datasets import data_folder, list_datasets

    test = _self_test()
    extras = _packages()
    content = {
        "manyview": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "packages": extras.pop(""),
        "extras": extras,
        "cpus": os.cpu_count(),
        # Asked after the self-test, which loads the libraries.
        "threads": {
            pool["internal_api"]: pool["num_threads"] for pool in threadpool_info()
        },
        "data_folder": str(data_folder()),
        "datasets": list(list_datasets()),
        "self_test": test,
    }
    if as_json:
        _render.as_json(content)
    else:
        _render.facts(_doctor_facts(content))
    if not test["passed"]:
        raise typer.Exit(1)


def _packages() -> dict[str, dict[str, str | None]]:
    """Packages and their versions by extra; those that are always needed under ''."""
    found: dict[str, dict[str, str | None]] = {"": {}}
    try:
        requirements = requires("manyview") or []
    except PackageNotFoundError:  # A source tree that is not installed.
        requirements = []
    for requirement in requirements:
        name = re.split(r"[^\w.-]", requirement)[0]
        extra = "".join(re.findall(r"extra == .([\w-]+)", requirement))
        if extra not in NOT_SHOWN:
            found.setdefault(extra, {})[name] = _version(name)
    return found


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
    views = list(data.views)
    model = NSMVC(n_clusters=3, n_init=3, random_state=0).fit(views)
    accuracy = clustering_accuracy(data.target, model.labels_)
    with tempfile.TemporaryDirectory() as folder:
        again = load_model(save_model(model, Path(folder) / "model.mvz"))
    same = bool(np.array_equal(again.predict(views), model.predict(views)))
    return {
        "passed": bool(accuracy == 1.0 and same),
        "accuracy": accuracy,
        "model_round_trip": same,
        "seconds": round(time.perf_counter() - started, 2),
    }


def _doctor_facts(content: dict[str, Any]) -> dict[str, str]:
    test = content["self_test"]
    facts = {
        "manyview": content["manyview"],
        "Python": content["python"],
        "system": content["system"],
        **{name: found or "missing" for name, found in content["packages"].items()},
    }
    for extra, packages in content["extras"].items():
        absent = [name for name, found in packages.items() if found is None]
        parts = [", ".join(f"{n} {v}" for n, v in packages.items() if v is not None)]
        if absent:
            hint = f'(pip install "manyview[{extra}]")'
            parts.append(f"not installed: {', '.join(absent)} {hint}")
        facts[f"extra {extra}"] = "; ".join(part for part in parts if part)
    threads = ", ".join(f"{name} {n}" for name, n in content["threads"].items())
    verdict = "passed" if test["passed"] else "FAILED"
    file = "exact" if test["model_round_trip"] else "differs"
    return {
        **facts,
        "processors": str(content["cpus"]),
        "threads": threads or "no pools",
        "data folder": content["data_folder"],
        "self-test": f"{verdict} in {test['seconds']} s (accuracy "
        f"{test['accuracy']:.0%}, model file {file})",
    }
