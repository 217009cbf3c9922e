"""What runs in a worker process: load, fit, score; one thread, its own memory."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import platform
import signal
import threading
import time
import traceback
import warnings
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.metadata import version
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from manyview.bench._data import DataRef, corrupt, load_data
from manyview.bench._methods import find_estimator
from manyview.bench._plan import Run
from manyview.bench._store import Outcome
from manyview.datasets import MultiViewData
from manyview.metrics import (
    adjusted_rand_score,
    clustering_accuracy,
    nmi_score,
    purity_score,
)

# Read by the numerical libraries when they are first imported.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")
# Methods and data sets this process has seen.
_warm: set[tuple[str, DataRef]] = set()


def serve(connection: Connection) -> None:
    """Answer runs with outcomes until the parent hangs up or dies."""
    # Ctrl-C reaches the whole process group; only the parent decides what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    with threadpool_limits(1), contextlib.suppress(EOFError):
        while True:
            connection.send(execute(connection.recv()))


def _die_with_parent() -> None:
    """End this process when the parent is gone, however it went."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def execute(run: Run) -> Outcome:
    """Do one run; an error becomes part of the outcome."""
    try:
        return _fit_and_score(run)
    except Exception as error:  # noqa: BLE001  (any failure is a row, the rest goes on)
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        return Outcome(
            status="failed",
            error=f"{type(error).__name__}: {error} ({place})",
            environment=environment(),
            finished=_now(),
        )


def _fit_and_score(run: Run) -> Outcome:
    data = _load(run.ref)
    if run.corruption is not None:
        data = corrupt(data, run.corruption, run.seed)
    _warm_up(run)
    model = _build(run, n_clusters=run.n_clusters)
    views = list(data.views)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        floor = _reset_peak_memory()
        start = time.perf_counter()
        model.fit(views)
        seconds = time.perf_counter() - start
        peak = _peak_memory()
    labels = np.asarray(model.labels_)
    return Outcome(
        status="ok",
        acc=clustering_accuracy(data.target, labels),
        purity=purity_score(data.target, labels),
        nmi=nmi_score(data.target, labels),
        ari=float(adjusted_rand_score(data.target, labels)),
        seconds=seconds,
        peak_mb=None if floor is None or peak is None else peak - floor,
        n_iter=_iterations(model),
        warning=str(caught[0].message) if caught else "",
        environment=environment(),
        finished=_now(),
    )


def _build(run: Run, *, n_clusters: int) -> Any:
    params = json.loads(run.params)
    factory = find_estimator(run.estimator)
    return factory(n_clusters=n_clusters, random_state=run.seed, **params)


@lru_cache(maxsize=2)
def _load(ref: DataRef) -> MultiViewData:
    return load_data(ref)


def _warm_up(run: Run) -> None:
    """Fit a few samples, untimed: compilation is not part of a method's time."""
    if (run.estimator, run.ref) in _warm:
        return
    _warm.add((run.estimator, run.ref))
    data = _load(run.ref)
    few = np.linspace(0, data.n_samples - 1, min(60, data.n_samples)).astype(int)
    # What fails here fails in the run proper as well, and is recorded there.
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        _build(run, n_clusters=2).fit([view[few] for view in data.views])
    # All that is loaded by now stays; looking through it again would take longer than
    # many a fit.
    gc.collect()
    gc.freeze()


def _iterations(model: Any) -> int | None:
    n_iter = getattr(model, "n_iter_", None)
    return None if n_iter is None else int(n_iter)


def _reset_peak_memory() -> float | None:
    """Set the peak to what is in use now, and return that in MB; Linux only.

    Elsewhere the system only knows the peak of the whole process, which would charge
    a run for the ones before it.
    """
    gc.collect()
    # Memory freed by earlier runs but kept by the allocator would hide what this run
    # takes; glibc can be told to give it back.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name != "nt" else None
    if trim is not None:
        trim(0)
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return _peak_memory()


def _peak_memory() -> float | None:
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return None
    for line in status.splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return None


@cache
def environment() -> str:
    """Versions and machine behind a run, as JSON."""
    facts = {
        "python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _processor(),
    }
    return json.dumps(facts)


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    names = [line for line in text.splitlines() if line.startswith("model name")]
    return names[0].partition(":")[2].strip() if names else platform.processor()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
