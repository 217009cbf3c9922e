"""`python -m benchmarks.limited [ROWS [FOLDER [ESTIMATOR]]]`: small workers.

Three float32 views of 50, 100 and 200 features as zarr on disk, 20 planted clusters,
two worker processes of one thread. The memory limits of both together are 57 % of 5
million rows, and less than the data from 1 million rows on. Prints a table per
estimator, of at most ten iterations: seconds, peak memory of workers and of the process
that calls `fit` (with the scheduler in it), workers that Dask restarted or paused, and
how the labels compare with the planted ones and with a fit on one machine.

Data that are already in FOLDER are used, and left there.
"""

import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import psutil
from rich.console import Console
from rich.table import Table
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from benchmarks.cluster import local_cluster, write_zarr
from benchmarks.data import open_memmaps, planted_labels, write_memmaps
from benchmarks.memory import PeakMemory
from manyview.distributed import DaskGraphNSMVC, DaskNSMVC

N_CLUSTERS = 20
N_PARTS = 50
N_WORKERS = 2
# Share of the data that the workers may hold together.
MEMORY_SHARE = 0.57
# What a worker needs whatever the data: libraries, compiled code and a part.
LEAST_LIMIT = 600 << 20
SETTINGS = {
    "n_clusters": N_CLUSTERS,
    "n_init": 1,
    "n_paces": 2,
    "max_iter": 5,
    "random_state": 0,
}
# Rows of the fit on one machine, and rows that both models label.
LOCAL_ROWS = 200_000
COMPARED_ROWS = 100_000


def cpu_seconds(pids):
    """Time that processes computed, whatever else the machine did."""
    times = [psutil.Process(pid).cpu_times() for pid in pids]
    return sum(spent.user + spent.system for spent in times)


def fit_on_cluster(estimator, path, memory_limit):
    """The fitted local model, its labels, and a row of the table."""
    with local_cluster(N_WORKERS, memory_limit) as client:
        workers = list(client.run(os.getpid).values())
        begin, cpu_begin = time.perf_counter(), cpu_seconds(workers)
        with PeakMemory([os.getpid(), *workers]) as memory:
            model = estimator.fit(path).to_local()
        seconds = time.perf_counter() - begin
        cpu = cpu_seconds(workers) - cpu_begin
        logs = client.get_worker_logs()
        after = list(client.run(os.getpid).values())
    lines = [line for log in logs.values() for _, line in log]
    return model, {
        "seconds": seconds,
        "CPU seconds of the workers": cpu,
        "iterations": model.n_iter_,
        "driver MiB": memory.peak[os.getpid()] / 2**20,
        "worker MiB": max(memory.peak[pid] for pid in workers) / 2**20,
        "restarted": len(set(after) - set(workers)),
        "pauses": sum("Pausing" in line for line in lines),
    }


def agreement(model, views, n_rows):
    """How far the labels are the planted ones, and those of fits on one machine."""
    stop = min(COMPARED_ROWS, n_rows // 2)
    sample = [view[:stop] for view in views]
    labels = model.labels_[:stop]
    local = type(model)(**SETTINGS, assignment="majorize")
    local.fit([view[n_rows - min(LOCAL_ROWS, n_rows // 2) :] for view in views])
    return {
        "rows labelled": len(model.labels_),
        "ARI": adjusted_rand_score(planted_labels(n_rows, N_CLUSTERS), model.labels_),
        "equal to predict": float(np.mean(model.predict(sample) == labels)),
        "ARI to a local fit": adjusted_rand_score(local.predict(sample), labels),
    }


def main(n_rows, folder, wanted=None):
    warnings.simplefilter("ignore", ConvergenceWarning)
    path = folder / "views.zarr"
    if not path.exists():
        views = write_memmaps(folder, n_rows, N_CLUSTERS)
        write_zarr(folder, views, n_rows // N_PARTS)
    views = open_memmaps(folder)
    size = sum(view.nbytes for view in views)
    limit = max(int(MEMORY_SHARE * size / N_WORKERS), LEAST_LIMIT)
    console = Console(width=110)
    console.print(
        f"{n_rows:,} rows, {size / 2**20:.0f} MiB; {N_WORKERS} workers of "
        f"{limit / 2**20:.0f} MiB"
    )
    for kind in (DaskGraphNSMVC, DaskNSMVC):
        if wanted not in (None, kind.__name__):
            continue
        model, found = fit_on_cluster(kind(**SETTINGS), path, limit)
        table = Table(kind.__name__, "")
        for name, value in {**found, **agreement(model, views, n_rows)}.items():
            shown = f"{value:.4f}" if value <= 1 else f"{value:.0f}"
            table.add_row(name, str(value) if isinstance(value, int) else shown)
        console.print(table)


if __name__ == "__main__":
    rows = int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else 5_000_000
    if len(sys.argv) > 2:
        main(rows, Path(sys.argv[2]), *sys.argv[3:])
    else:
        with tempfile.TemporaryDirectory() as name:
            main(rows, Path(name))
