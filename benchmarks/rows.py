"""`python -m benchmarks.rows [ROWS]`: time and memory as the number of rows grows.

One start on float32 memory maps of three views with 50, 100 and 200 features
and 20 planted clusters, two threads, from 100,000 rows to ROWS (5 million), every size
in a process of its own. A smaller size is the beginning of the same files.

A whole fit takes more iterations on some sizes than on others, by chance. So NSMVC is
also run for a fixed number of them, which shows the growth alone.

CPU seconds are user and system time of the process: unlike wall time they hardly depend
on what else the machine does. Memory is anonymous memory above that after imports and a
small fit: pages of memory maps belong to the files. The last two columns hold CPU time
per row, and per row and iteration, against the smallest size: 1 is linear.
"""

import json
import sys
import tempfile
import time
import warnings
from pathlib import Path

from rich.console import Console
from rich.table import Table
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from benchmarks.child import run_in_child
from benchmarks.data import make_blobs, open_memmaps, planted_labels, write_memmaps
from benchmarks.memory import PeakMemory, cpu_seconds
from manyview import NSMVC, GraphNSMVC

N_CLUSTERS = 20
THREADS = 2
SIZES = (100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000)
RUNS = {
    "NSMVC": (NSMVC, {}, 5_000_000),
    "NSMVC, 10 iterations": (NSMVC, {"n_paces": 2, "max_iter": 5}, 5_000_000),
    # Its embeddings, 800 bytes a row here, are in memory.
    "GraphNSMVC": (GraphNSMVC, {}, 2_000_000),
}


def fit_here(name, n_rows, folder):
    """One fit in this process; prints what was measured as JSON."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    estimator, settings, _ = RUNS[name]
    model = estimator(N_CLUSTERS, n_init=1, random_state=0, **settings)
    small, _ = make_blobs(5_000, N_CLUSTERS, dtype="float32")
    model.fit(small)
    views = [view[:n_rows] for view in open_memmaps(folder)]
    begin, cpu_begin = time.perf_counter(), cpu_seconds()
    with PeakMemory() as memory:
        model.fit(views)
    found = {
        "wall": time.perf_counter() - begin,
        "cpu": cpu_seconds() - cpu_begin,
        "iterations": model.n_iter_,
        "bytes": memory.above(),
        "ari": adjusted_rand_score(planted_labels(n_rows, N_CLUSTERS), model.labels_),
    }
    print(json.dumps(found))


def main(most_rows, folder):
    if not (folder / "view0.npy").exists():
        write_memmaps(folder, most_rows, N_CLUSTERS)
    table = Table(
        *("method", "rows", "wall s", "CPU s", "iterations", "MiB", "ARI"),
        *("CPU/row", "CPU/row/iteration"),
    )
    for name, (_, _, limit) in RUNS.items():
        base = None
        for n_rows in [size for size in SIZES if size <= min(limit, most_rows)]:
            words = (name, str(n_rows), str(folder))
            run = run_in_child("benchmarks.rows", *words, threads=THREADS)
            Console(stderr=True).print(name, n_rows, run)
            per_row = run["cpu"] / n_rows
            costs = (per_row, per_row / run["iterations"])
            base = base or costs
            table.add_row(
                name,
                f"{n_rows:,}",
                f"{run['wall']:.1f}",
                f"{run['cpu']:.1f}",
                str(run["iterations"]),
                f"{run['bytes'] / 2**20:.0f}",
                f"{run['ari']:.3f}",
                *(f"{now / first:.2f}" for now, first in zip(costs, base, strict=True)),
            )
    Console(width=110).print(table)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        fit_here(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
    else:
        rows = int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else SIZES[-1]
        if len(sys.argv) > 2:
            main(rows, Path(sys.argv[2]))
        else:
            with tempfile.TemporaryDirectory() as folder:
                main(rows, Path(folder))
