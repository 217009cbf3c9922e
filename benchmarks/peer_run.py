"""`python -m benchmarks.peer_run METHOD FOLDER N_SEEDS`: one method, some seeds.

Runs in the environment of the method, which may be an old Python, so only NumPy and the
method's own package are imported. Reads the views as memory maps; putting them side by
side is counted, if a method needs that. Prints one line of JSON per seed and writes the
labels beside the views.
"""

import json
import os
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.data import open_memmaps
from benchmarks.memory import PeakMemory, cpu_seconds

N_CLUSTERS = 20
# Of a method, in bytes and in seconds for all its seeds.
MEMORY_LIMIT = 8 << 30
CPU_LIMIT = 600


def _ours(name):
    import manyview

    return lambda views, seed: (
        getattr(manyview, name)(N_CLUSTERS, n_init=1, random_state=seed)
        .fit(views)
        .labels_
    )


def _sklearn(name):
    from sklearn import cluster

    return lambda views, seed: (
        getattr(cluster, name)(N_CLUSTERS, n_init=1, random_state=seed)
        .fit(np.hstack(views))
        .labels_
    )


def _faiss(sampled):
    import faiss

    faiss.omp_set_num_threads(int(os.environ["OMP_NUM_THREADS"]))

    def run(views, seed):
        table = np.hstack(views)
        most = {} if sampled else {"max_points_per_centroid": len(table)}
        model = faiss.Kmeans(table.shape[1], N_CLUSTERS, seed=seed + 1, **most)
        model.train(table)
        return model.index.search(table, 1)[1].ravel()

    return run


def _dask_ml():
    import dask
    import dask.array as da
    from dask_ml.cluster import KMeans

    dask.config.set(scheduler="threads", num_workers=int(os.environ["OMP_NUM_THREADS"]))

    def run(views, seed):
        table = da.concatenate([da.from_array(v, (50_000, -1)) for v in views], axis=1)
        model = KMeans(N_CLUSTERS, random_state=seed).fit(table.rechunk((50_000, -1)))
        return model.labels_.compute()

    return run


def _mvlearn(name, n_views):
    from mvlearn import cluster

    def run(views, seed):
        model = getattr(cluster, name)(N_CLUSTERS, n_init=1, random_state=seed)
        return model.fit_predict([np.asarray(view) for view in views[-n_views:]])

    return run


def _polyview(name):
    import polyview

    def run(views, seed):
        model = getattr(polyview, name)(N_CLUSTERS, n_init=1, random_state=seed)
        return model.fit([np.asarray(view) for view in views]).labels_

    return run


# Environment and what makes the method, imports included, by name.
METHODS = {
    "NSMVC": ("manyview", lambda: _ours("NSMVC")),
    "GraphNSMVC": ("manyview", lambda: _ours("GraphNSMVC")),
    "ConcatKMeans": ("manyview", lambda: _ours("ConcatKMeans")),
    "scikit-learn KMeans": ("manyview", lambda: _sklearn("KMeans")),
    "scikit-learn MiniBatchKMeans": ("manyview", lambda: _sklearn("MiniBatchKMeans")),
    "faiss Kmeans, all rows": ("faiss", lambda: _faiss(sampled=False)),
    "faiss Kmeans, default sample": ("faiss", lambda: _faiss(sampled=True)),
    "dask-ml KMeans": ("dask-ml", _dask_ml),
    "polyview MultiViewKMeans": ("polyview", lambda: _polyview("MultiViewKMeans")),
    "polyview MultiViewCoRegSpectralClustering": (
        "polyview",
        lambda: _polyview("MultiViewCoRegSpectralClustering"),
    ),
    # It takes exactly two views: the wider ones.
    "mvlearn MultiviewKMeans": ("mvlearn", lambda: _mvlearn("MultiviewKMeans", 2)),
    "mvlearn MultiviewSpectralClustering": (
        "mvlearn",
        lambda: _mvlearn("MultiviewSpectralClustering", 3),
    ),
    "mvlearn MultiviewCoRegSpectralClustering": (
        "mvlearn",
        lambda: _mvlearn("MultiviewCoRegSpectralClustering", 3),
    ),
}


def main(name, folder, n_seeds):
    warnings.simplefilter("ignore")
    run = METHODS[name][1]()
    views = open_memmaps(folder)
    # Compiling and loading of libraries is no part of the comparison.
    run([np.array(view[:2_000]) for view in views], 0)
    # After the imports: libraries reserve address space that they do not use.
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    files = sum(view.nbytes for view in views)
    limit = used + files + MEMORY_LIMIT
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT, resource.RLIM_INFINITY))
    for seed in range(n_seeds):
        begin, cpu_begin = time.perf_counter(), cpu_seconds()
        with PeakMemory() as memory:
            labels = run(views, seed)
        found = {
            "wall": time.perf_counter() - begin,
            "cpu": cpu_seconds() - cpu_begin,
            "bytes": memory.above(),
        }
        np.save(folder / f"labels{seed}.npy", np.asarray(labels))
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
