"""`python -m benchmarks.methods [METHOD ...]`: every method on 50,000 samples.

Three views of 20, 50 and 100 features with ten planted clusters that overlap, and the
defaults of every estimator. Each method has a process of its own. Prints one table;
peak memory is what a fit takes beside the data.
"""

import json
import subprocess
import sys
import time
import warnings

from rich.console import Console
from rich.table import Table
from sklearn.metrics import adjusted_rand_score

from benchmarks.ratio import peak_bytes, reset_peak
from manyview import cluster
from manyview.datasets import make_views

N_SAMPLES = 50_000
WARM_UP_SAMPLES = 1_000
N_CLUSTERS = 10
WIDTHS = (20, 50, 100)
# Mean distance of two centres, in standard deviations of a cluster.
SEPARATION = 4.0

METHODS = {
    "KM(1)": lambda: cluster.ViewKMeans(N_CLUSTERS, view=0, random_state=0),
    "KM(2)": lambda: cluster.ViewKMeans(N_CLUSTERS, view=1, random_state=0),
    "KM(3)": lambda: cluster.ViewKMeans(N_CLUSTERS, view=2, random_state=0),
    "KM(All)": lambda: cluster.ConcatKMeans(N_CLUSTERS, random_state=0),
    "Co-train": lambda: cluster.CoTrain(N_CLUSTERS, random_state=0),
    "Co-reg": lambda: cluster.CoReg(N_CLUSTERS, random_state=0),
    "MVKKM": lambda: cluster.MVKKM(N_CLUSTERS, random_state=0),
    "AMGL": lambda: cluster.AMGL(N_CLUSTERS, random_state=0),
    "CAMVC": lambda: cluster.CAMVC(N_CLUSTERS, random_state=0),
    "MSPL": lambda: cluster.MSPL(N_CLUSTERS, random_state=0),
    "SAMVC": lambda: cluster.SAMVC(N_CLUSTERS, random_state=0),
    "DMVC": lambda: cluster.DMVC(N_CLUSTERS, random_state=0),
    "NSMVC": lambda: cluster.NSMVC(N_CLUSTERS, random_state=0),
    "GraphNSMVC": lambda: cluster.GraphNSMVC(N_CLUSTERS, random_state=0),
}


def planted(n_samples):
    return make_views(
        n_samples, N_CLUSTERS, WIDTHS, separation=SEPARATION, random_state=0
    )


def run_here(name):
    """One method in this process: its figures as JSON."""
    build = METHODS[name]
    # Compile, and let libraries take what they keep, outside the figures.
    build().fit(planted(WARM_UP_SAMPLES).views)
    data = planted(N_SAMPLES)
    before = reset_peak()
    begin, worked = time.perf_counter(), time.process_time()
    model = build()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(data.views)
    figures = {
        "seconds": time.perf_counter() - begin,
        "processor": time.process_time() - worked,
        "extra": (peak_bytes() - before) / 2**20,
        "ari": adjusted_rand_score(data.target, model.labels_),
        "warned": ", ".join(sorted({w.category.__name__ for w in caught})),
    }
    print(json.dumps(figures))


def run_in_child(name):
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.methods", "--here", name],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def main(names):
    table = Table("method", "seconds", "processor s", "peak MiB", "ARI", "warnings")
    for name in names or METHODS:
        figures = run_in_child(name)
        if "failed" in figures:
            table.add_row(name, "failed", "", "", "", figures["failed"])
        else:
            table.add_row(
                name,
                f"{figures['seconds']:.1f}",
                f"{figures['processor']:.1f}",
                f"{figures['extra']:.0f}",
                f"{figures['ari']:.3f}",
                figures["warned"],
            )
        Console(stderr=True).print(f"done: {name}")
    Console(width=120).print(table)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments[:1] == ["--here"]:
        run_here(arguments[1])
    else:
        main(arguments)
