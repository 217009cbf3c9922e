"""Do the runs that are missing, in parallel, each written as soon as it is done."""

from __future__ import annotations

import ctypes
import gc
import hashlib
import json
import os
import platform
import threading
import time
import warnings
from collections.abc import Iterable
from contextlib import closing, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, delayed, parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError
from rich.console import Console
from rich.progress import track
from threadpoolctl import threadpool_info, threadpool_limits

import manyview
from manyview.exceptions import DatasetError
from manyview.metrics import (
    adjusted_rand_score,
    clustering_accuracy,
    nmi_score,
    purity_score,
)
from reproduction.data import corrupt, load_data
from reproduction.plan import LABELS, Run, find_estimator
from reproduction.store import Outcome, RunStore

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")
SCORES = {
    "acc": clustering_accuracy,
    "purity": purity_score,
    "nmi": nmi_score,
    "ari": adjusted_rand_score,
}
# Modules and packages of manyview that a fit does not pass through.
OUTSIDE_A_FIT = {
    *("cli", "reporting", "plotting", "explain", "model_selection", "distributed"),
    *("metrics", "datasets", "__init__.py", "_version.py", "_extras.py", "_files.py"),
    *("omics", "impute.py", "_model_content.py", "_model_file.py", "__main__.py"),
    *("_model_arrays.py", "_zarr.py"),
}


def pending(plan: Iterable[Run], store: RunStore) -> list[Run]:
    """The planned runs that are not done, or failed the last time."""
    return [
        run
        for run in dict.fromkeys(plan)
        if run not in store.outcomes or store.outcomes[run].error
    ]


def run_plan(plan: Iterable[Run], store: RunStore, n_jobs: int | None = None) -> None:
    """Do every planned run that the store lacks, and add it to the store.

    Parameters
    ----------
    plan : iterable of Run
        What to do; a run planned twice is done once.
    store : RunStore
        Where the outcomes go, each as soon as its run ends.
    n_jobs : int, default=None
        Number of worker processes, with one thread each; all cores by default.
    """
    left = pending(plan, store)
    if not left:
        return
    parent = os.getpid()
    with (
        parallel_config("loky", n_jobs=n_jobs or cpu_count(), inner_max_num_threads=1),
        # For n_jobs=1, where joblib works in this process.
        threadpool_limits(1),
        warnings.catch_warnings(),
    ):
        # Being stopped while runs are under way is nothing to warn about.
        warnings.filterwarnings("ignore", category=UserWarning, module="joblib")
        work = Parallel(return_as="generator_unordered", batch_size=1)
        bar = Console(stderr=True)
        try:
            with closing(work(delayed(_execute)(run, parent) for run in left)) as done:
                for run, outcome in track(done, "Running", len(left), console=bar):
                    store.add(run, outcome)
        except TerminatedWorkerError as error:
            msg = (
                "A worker process died, usually for lack of memory. Finished runs are "
                "kept; repeat the command with fewer --jobs."
            )
            raise DatasetError(msg) from error


def _execute(run: Run, parent: int) -> tuple[Run, Outcome]:
    """Do one run; an error becomes part of the outcome."""
    if os.getpid() != parent:
        _end_with(parent)
    try:
        return run, _fit_and_score(run)
    except Exception as error:  # noqa: BLE001 - any failure is a row, the rest goes on
        return run, Outcome(
            error=f"{type(error).__name__}: {error}",
            version=code_version(),
            environment=environment(),
        )


def _fit_and_score(run: Run) -> Outcome:
    data = load_data(run.dataset)
    n_clusters = len(np.unique(np.asarray(data.target)))
    if run.noise:
        view, _, share = run.noise.rpartition(":")
        data = corrupt(data, view, float(share), run.seed)
    _warm_up(run.method, run.params, run.dataset)
    model = _build(run.method, run.params, n_clusters, run.seed)
    views = list(data.views)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        floor = _reset_peak_memory()
        start = time.perf_counter()
        model.fit(views)
        seconds = time.perf_counter() - start
        peak = _peak_memory()
    found = getattr(model, run.scored)
    labellings = [found] if run.scored == LABELS else found
    n_iter = getattr(model, "n_iter_", None)
    stages = [record.stage for record in getattr(model, "history_", ())]
    scores = {
        name: float(np.mean([score(data.target, labels) for labels in labellings]))
        for name, score in SCORES.items()
    }
    return Outcome(
        acc=scores["acc"],
        purity=scores["purity"],
        nmi=scores["nmi"],
        ari=scores["ari"],
        seconds=round(seconds, 4),
        peak_mb=None if floor is None or peak is None else round(peak - floor, 1),
        n_iter=None if n_iter is None else int(n_iter),
        n_iter_first=stages.count(1) or None,
        warning=str(caught[0].message) if caught else "",
        version=code_version(),
        environment=environment(),
    )


def _build(method: str, params: str, n_clusters: int, seed: int) -> Any:
    estimator = find_estimator(method)
    return estimator(n_clusters=n_clusters, random_state=seed, **json.loads(params))


@cache
def _warm_up(method: str, params: str, dataset: str) -> None:
    """Fit a few samples, untimed: compilation is not part of a method's time."""
    data = load_data(dataset)
    few = np.linspace(0, data.n_samples - 1, min(60, data.n_samples)).astype(int)
    # What fails here fails in the run proper as well, and is recorded there.
    with warnings.catch_warnings(), suppress(Exception):
        warnings.simplefilter("ignore")
        _build(method, params, 2, 0).fit([view[few] for view in data.views])


@cache
def _end_with(parent: int) -> None:
    """Let this worker end when the process that started it is killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _reset_peak_memory() -> float | None:
    """Set the peak to what is in use now, and return that in MB; Linux only."""
    gc.collect()
    with suppress(OSError, AttributeError):
        # Memory that earlier runs freed but the allocator kept would hide this run's.
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
        return _peak_memory()
    return None


def _peak_memory() -> float | None:
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text("ascii").splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    return None


@cache
def code_version() -> str:
    """Version of manyview and a checksum of the code that a fit passes through."""
    digest = hashlib.sha256()
    for path in fit_files(Path(manyview.__file__).parent):
        digest.update(path.read_bytes())
    return f"{manyview.__version__}+{digest.hexdigest()[:10]}"


def fit_files(package: Path) -> list[Path]:
    """The source files up to the layer of the estimators: all but `OUTSIDE_A_FIT`."""
    return sorted(
        path
        for path in package.rglob("*.py")
        if path.relative_to(package).parts[0] not in OUTSIDE_A_FIT
    )


@cache
def environment() -> str:
    """Libraries and machine behind a run."""
    blas = {
        f"{pool['internal_api']} {pool['version']} {pool.get('architecture', '')}"
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    }
    facts = {
        "python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
        "blas": ", ".join(sorted(blas)),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _processor(),
    }
    return "; ".join(f"{name}={value}" for name, value in facts.items())


def _processor() -> str:
    with suppress(OSError, IndexError):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        names = [line for line in text.splitlines() if line.startswith("model name")]
        return names[0].partition(":")[2].strip()
    return platform.processor()
