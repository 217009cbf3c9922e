"""`python -m benchmarks.peers [ROWS ...]`: other packages on the same files.

Three float32 views of 50, 100 and 200 features, 20 planted clusters, easy ones and ones
that overlap. Every method runs in the environment of its package (`make bench-peers`
creates them as .venv-peer-*), in a process of its own, with two threads, one start and
five seeds, after a small fit that compiles and loads what it needs. Seconds are
medians; memory is the peak of anonymous memory above that before the fit. A method that
needs more than 8 GiB, or more than ten minutes of CPU time, is shown with that.
"""

import json
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.metrics import adjusted_rand_score

from benchmarks.child import limit_threads
from benchmarks.data import planted_labels, write_memmaps
from benchmarks.peer_run import CPU_LIMIT, METHODS, N_CLUSTERS

THREADS = 2
N_SEEDS = 5
SPREADS = {"easy": 1.0, "hard": 0.35}
ROOT = Path(__file__).parents[1]


def python_of(environment):
    """Its interpreter, or None if the package could not be installed."""
    if environment == "manyview":
        return Path(sys.executable)
    folder = ROOT / f".venv-peer-{environment}"
    return folder / "bin" / "python" if (folder / ".installed").exists() else None


def run_method(name, folder, truth):
    """Cells of the table, or a sentence about what went wrong."""
    python = python_of(METHODS[name][0])
    if python is None:
        return "not installed"
    command = [python, "-m", "benchmarks.peer_run", name, str(folder), str(N_SEEDS)]
    try:
        done = subprocess.run(
            command,
            env=limit_threads(THREADS),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        if error.returncode == -signal.SIGXCPU:
            return f"more than {CPU_LIMIT} CPU seconds"
        return (error.stderr.strip().splitlines() or ["killed"])[-1][:90]
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    scores = [
        adjusted_rand_score(truth, np.load(folder / f"labels{seed}.npy"))
        for seed in range(N_SEEDS)
    ]
    middle = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
    return [
        f"{middle['wall']:.2f}",
        f"{middle['cpu']:.2f}",
        f"{max(run['bytes'] for run in runs) / 2**20:.0f}",
        f"{statistics.mean(scores):.3f}",
        f"{min(scores):.3f}",
    ]


def main(sizes):
    console = Console(width=120)
    for n_rows in sizes:
        truth = planted_labels(n_rows, N_CLUSTERS)
        for difficulty, spread in SPREADS.items():
            title = f"{n_rows:,} rows, {difficulty} (centres {spread:g}, noise 1)"
            table = Table(
                *("method", "wall s", "CPU s", "MiB", "ARI", "lowest ARI"), title=title
            )
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                write_memmaps(folder, n_rows, N_CLUSTERS, spread=spread)
                for method in METHODS:
                    found = run_method(method, folder, truth)
                    cells = [found] if isinstance(found, str) else found
                    table.add_row(method, *cells)
                    Console(stderr=True).print(title, method, cells)
            console.print(table)


if __name__ == "__main__":
    main([int(size.replace("_", "")) for size in sys.argv[1:]] or [20_000, 200_000])
