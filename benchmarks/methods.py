"""`python -m benchmarks.methods [METHOD ...]`: every method on 50,000 samples.

Three views of 20, 50 and 100 features with ten planted clusters that overlap, and the
defaults of every estimator. Each method has a process of its own. Prints one table;
peak memory is what a fit takes beside the data.
"""

import json
import sys
import time
import warnings

from rich.console import Console
from rich.table import Table
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from benchmarks.child import ChildError, run_in_child
from benchmarks.ratio import peak_bytes, reset_peak
from manyview import cluster
from manyview.datasets import make_views

N_SAMPLES = 50_000
WARM_UP_SAMPLES = 1_000
N_CLUSTERS = 10
WIDTHS = (20, 50, 100)
# Mean distance of two centres, in standard deviations of a cluster.
SEPARATION = 4.0

# Estimators by the names of the paper's tables.
METHODS = {
    "KM(1)": cluster.ViewKMeans(view=0),
    "KM(2)": cluster.ViewKMeans(view=1),
    "KM(3)": cluster.ViewKMeans(view=2),
    "KM(All)": cluster.ConcatKMeans(),
    "Co-train": cluster.CoTrain(),
    "Co-reg": cluster.CoReg(),
    "MVKKM": cluster.MVKKM(),
    "AMGL": cluster.AMGL(),
    "CAMVC": cluster.CAMVC(),
    "MSPL": cluster.MSPL(),
    "SAMVC": cluster.SAMVC(),
    "DMVC": cluster.DMVC(),
    "NSMVC": cluster.NSMVC(),
    "GraphNSMVC": cluster.GraphNSMVC(),
}


def planted(n_samples):
    return make_views(
        n_samples, N_CLUSTERS, WIDTHS, separation=SEPARATION, random_state=0
    )


def run_here(name):
    """One method in this process: its figures as JSON."""
    model = METHODS[name].set_params(n_clusters=N_CLUSTERS, random_state=0)
    # Compile, and let libraries take what they keep, outside the figures.
    clone(model).fit(planted(WARM_UP_SAMPLES).views)
    data = planted(N_SAMPLES)
    before = reset_peak()
    begin, worked = time.perf_counter(), time.process_time()
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


def main(names):
    table = Table("method", "seconds", "processor s", "peak MiB", "ARI", "warnings")
    for name in names or METHODS:
        try:
            figures = run_in_child("benchmarks.methods", name)
        except ChildError as error:
            table.add_row(name, "failed", "", "", "", str(error))
            continue
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
    if sys.argv[1:2] == ["--here"]:
        run_here(sys.argv[2])
    else:
        main(sys.argv[1:])
