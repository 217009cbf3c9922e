"""The cases. Each returns table rows; `python -m benchmarks` runs them all.

A case runs in a process of its own with a fixed number of threads, so that libraries
that read it at import time obey it too.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from benchmarks.data import make_blobs, make_groups
from benchmarks.ratio import Row, compare, peak_bytes, reset_peak
from manyview import NSMVC

warnings.simplefilter("ignore", ConvergenceWarning)

# Distance of the centres per feature, in standard deviations of the noise.
SPREADS = {"easy": 1.0, "hard": 1 / 3}


def warm_up():
    """Compile outside the clock."""
    views, labels = make_blobs(2000, 10)
    for dtype in (np.float64, np.float32):
        for assignment in ("sequential", "majorize"):
            typed = [view.astype(dtype) for view in views]
            NSMVC(10, init=labels, assignment=assignment, max_iter=3).fit(typed)


def lloyd(views, labels, n_clusters, max_iter):
    """scikit-learn's k-means on the concatenation, from the same labels."""
    table = sparse.hstack(views, "csr") if sparse.issparse(views[0]) else None
    table = np.hstack(views) if table is None else table
    centers = np.stack(
        [np.asarray(table[labels == j].mean(axis=0)).ravel() for j in range(n_clusters)]
    ).astype(table.dtype)
    return (
        lambda: KMeans(
            n_clusters,
            init=centers,
            n_init=1,
            tol=0,
            max_iter=max_iter,
        )
        .fit(table)
        .n_iter_
    )


def iteration(threads, assignment, n_clusters, difficulty):
    """An iteration averaged over a whole fit, against one of Lloyd's."""
    views, labels = make_blobs(50_000, n_clusters, spread=SPREADS[difficulty])
    estimator = NSMVC(n_clusters, init=labels, assignment=assignment)
    n_iter = estimator.fit(views).n_iter_
    return [
        compare(
            f"{assignment}, k={n_clusters}, {difficulty}, per iteration, against lloyd",
            lambda: estimator.fit(views).n_iter_,
            lloyd(views, labels, n_clusters, n_iter),
            threads=threads,
            goal=0.7,
            repeats=5,
        )
    ]


def iterations(threads, assignment):
    """Easy and hard data, few and more clusters."""
    return [
        row
        for difficulty in SPREADS
        for n_clusters in (10, 50)
        for row in iteration(threads, assignment, n_clusters, difficulty)
    ]


def whole_fits(threads):
    """One start each: time, and the mean ARI of both."""
    rows = []
    for n_samples, n_seeds in ((2_000, 10), (20_000, 10), (200_000, 10)):
        for noise in (False, True):
            rows += whole_fit(threads, n_samples, n_seeds, noise)
    return rows


def whole_fit(threads, n_samples, n_seeds, noise):
    times, scores = {"ours": [], "peer": []}, {"ours": [], "peer": []}
    for seed in range(n_seeds):
        views, truth = make_groups(n_samples, 10, seed, noise=noise)
        table = StandardScaler().fit_transform(np.hstack(views))
        runs = {
            "ours": lambda v=views, s=seed: NSMVC(10, n_init=1, random_state=s).fit(v),
            "peer": lambda t=table, s=seed: KMeans(10, n_init=1, random_state=s).fit(t),
        }
        for key, run in runs.items():
            begin = time.perf_counter()
            labels = run().labels_
            times[key].append(time.perf_counter() - begin)
            scores[key].append(adjusted_rand_score(truth, labels))
    name = f"n={n_samples}, {'a noise view' if noise else 'no noise'}, n_init=1"
    ours, peer = (statistics.median(times[key]) for key in ("ours", "peer"))
    best, theirs = (statistics.mean(scores[key]) for key in ("ours", "peer"))
    return [
        Row(
            name=f"{name}, whole fit, against lloyd",
            threads=threads,
            ours=ours,
            peer=peer,
            unit="s",
            ratio=ours / peer,
            goal=1.5,
        ),
        Row(
            name=f"{name}, mean ARI",
            threads=threads,
            ours=best,
            peer=theirs,
            unit="",
            ratio=best / theirs,
            goal=np.nan,
        ),
    ]


def many_clusters(threads):
    """Few iterations with many clusters, seeding included."""
    rows = []
    for n_clusters in (1_000, 5_000):
        views, _ = make_blobs(100_000, n_clusters, widths=(20, 50, 30), spread=1.0)
        table = np.hstack(views)
        rows += unusual(
            f"n=100,000, k={n_clusters}, ten iterations",
            threads,
            NSMVC(n_clusters, n_init=1, n_paces=1, max_iter=10, random_state=0),
            views,
            lambda t=table, k=n_clusters: KMeans(
                k, n_init=1, max_iter=10, tol=0, random_state=0
            ).fit(t),
        )
    return rows


def many_views(threads):
    """Fifty views of twenty features."""
    rng = np.random.default_rng(0)
    truth = rng.integers(10, size=20_000)
    views = [
        0.3 * rng.normal(size=(10, 20))[truth] + rng.normal(size=(20_000, 20))
        for _ in range(50)
    ]
    table = np.hstack(views)
    return unusual(
        "n=20,000, 50 views, whole fit",
        threads,
        NSMVC(10, n_init=1, random_state=0),
        views,
        lambda: KMeans(10, n_init=1, random_state=0).fit(table),
    )


def many_features(threads):
    """A sparse view of a million features beside a dense one."""
    rng = np.random.default_rng(0)
    truth = rng.integers(10, size=50_000)
    words = sparse.random_array(
        (50_000, 1_000_000), density=5e-5, rng=rng, format="csr"
    )
    dense = rng.normal(size=(10, 20))[truth] + rng.normal(size=(50_000, 20))
    table = sparse.hstack([words, sparse.csr_array(dense)], "csr")
    return unusual(
        "n=50,000, 1,000,000 sparse features, ten iterations",
        threads,
        NSMVC(10, n_init=1, n_paces=1, max_iter=10, random_state=0),
        [words, dense],
        lambda: KMeans(10, n_init=1, max_iter=10, tol=0, random_state=0).fit(table),
    )


def unusual(name, threads, estimator, views, peer):
    """Seconds once each, and the memory that our fit adds."""
    before = reset_peak()
    ours = seconds(lambda: estimator.fit(views))
    used = peak_bytes() - before
    size = sum(v.data.nbytes if sparse.issparse(v) else v.nbytes for v in views)
    theirs = seconds(peer)
    times = Row(
        name=f"{name}, against lloyd",
        threads=threads,
        ours=ours,
        peer=theirs,
        unit="s",
        ratio=ours / theirs,
        goal=np.nan,
    )
    extra = Row(
        name=f"memory, {name}, above the input",
        threads=threads,
        ours=used / 2**20,
        peer=size / 2**20,
        unit="MiB",
        ratio=used / size,
        goal=np.nan,
    )
    return [times, extra]


def seconds(run):
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def growth_in_samples(threads):
    """Ten times the samples at a fixed number of iterations."""
    times = []
    for n_samples in (100_000, 1_000_000):
        views, labels = make_blobs(n_samples, 10, dtype=np.float32)
        estimator = NSMVC(10, init=labels, n_paces=2, max_iter=5)
        times.append(min(seconds(lambda e=estimator, v=views: e.fit(v)) for _ in "ab"))
    return [growth("n from 100,000 to 1,000,000", threads, times)]


def growth_in_clusters(threads):
    """Ten times the clusters at a fixed number of iterations."""
    times = []
    for n_clusters in (10, 100):
        views, labels = make_blobs(100_000, n_clusters)
        estimator = NSMVC(n_clusters, init=labels, n_paces=2, max_iter=5)
        times.append(min(seconds(lambda e=estimator, v=views: e.fit(v)) for _ in "ab"))
    return [growth("k from 10 to 100", threads, times)]


def growth(name, threads, times):
    return Row(
        name=f"growth: {name}",
        threads=threads,
        ours=times[1],
        peer=times[0],
        unit="s",
        ratio=times[1] / times[0],
        goal=11.0,
    )


def sparse_view(threads):
    """A sparse view in time proportional to its non-zeros."""
    rng = np.random.default_rng(0)
    n_samples, n_features = 20_000, 20_000
    view = sparse.random_array(
        (n_samples, n_features), density=0.01, rng=rng, format="csr"
    )
    labels = rng.integers(10, size=n_samples)
    estimator = NSMVC(10, init=labels, scale="l2", max_iter=20)
    n_iter = estimator.fit([view]).n_iter_
    return [
        compare(
            "sparse, 1 % of 20,000 features, per iteration, against lloyd",
            lambda: estimator.fit([view]).n_iter_,
            lloyd([view], labels, 10, n_iter),
            threads=threads,
            goal=1.5,
        )
    ]


def memory_of_arrays(threads):
    """Peak memory above the input, a million float32 rows, three restarts."""
    views, _ = make_blobs(1_000_000, 10, dtype=np.float32)
    size = sum(view.nbytes for view in views)
    before = reset_peak()
    NSMVC(10, n_init=3, n_paces=2, max_iter=3, random_state=0).fit(views)
    return [memory("above a float32 input of 1,000,000 rows", threads, before, size)]


def memory(name, threads, before, size):
    used = peak_bytes() - before
    return Row(
        name=f"memory {name}",
        threads=threads,
        ours=used / 2**20,
        peer=size / 2**20,
        unit="MiB",
        ratio=used / size,
        goal=0.25,
    )


def memory_of_memmap(threads):
    """Peak memory of the whole process on eight gigabytes of memory maps."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        code = (
            "import sys; from pathlib import Path; from benchmarks.data import "
            "write_memmaps; write_memmaps(Path(sys.argv[1]), 6_000_000, 10)"
        )
        # Written by another process, whose memory is not ours.
        subprocess.run([sys.executable, "-c", code, folder], check=True)
        paths = sorted(Path(folder).glob("*.npy"))
        views = [np.load(path, mmap_mode="r") for path in paths]
        NSMVC(
            10, n_init=1, n_paces=2, max_iter=3, assignment="majorize", random_state=0
        ).fit(views)
        size = sum(view.nbytes for view in views)
    return [
        Row(
            name="memory of the whole process, memory-mapped input",
            threads=threads,
            ours=peak_bytes() / 2**20,
            peer=size / 2**20,
            unit="MiB",
            ratio=peak_bytes() / 2**30,
            goal=1.0,
        )
    ]


def handwritten(threads):
    """A whole fit with ten restarts on a real data set."""
    from manyview._rows import open_views
    from manyview._scaling import learn_scales
    from manyview._views import check_views
    from manyview.datasets import load_handwritten

    views = list(load_handwritten().views)
    checked = check_views(views)
    rows = open_views(checked, learn_scales(checked, "auto"))
    table = np.hstack([view.dense_rows(np.arange(2000)) for view in rows])
    ours = NSMVC(10, n_init=10, n_jobs=threads, random_state=0)
    peer = KMeans(10, n_init=10, random_state=0)
    return [
        compare(
            "Handwritten, ten restarts, whole fit, against lloyd",
            lambda: len([ours.fit(views)]),
            lambda: len([peer.fit(table)]),
            threads=threads,
            goal=1.5,
            repeats=5,
        )
    ]


def mvlearn(threads):
    """A whole fit against mvlearn's multi-view k-means, which takes two views.

    Optional: its pinned requirements do not install beside a current NumPy, but it
    runs: pip install --no-deps mvlearn seaborn graphviz dill
    """
    try:
        from mvlearn.cluster import MultiviewKMeans
    except ImportError:
        return []
    views, _ = make_blobs(20_000, 10)
    ours = NSMVC(10, n_init=1, random_state=0)
    peer = MultiviewKMeans(10, n_init=1, random_state=0)
    return [
        compare(
            "two views of 20,000 samples, whole fit, against mvlearn",
            lambda: len([ours.fit(views[:2])]),
            lambda: len([peer.fit(views[:2])]),
            threads=threads,
            goal=np.nan,
        )
    ]


FIRST_CALL = """
import time
begin = time.perf_counter()
from manyview import NSMVC
from manyview.datasets import load_handwritten
views = list(load_handwritten().views)
ready, stamps = time.perf_counter(), []
NSMVC(10, n_init=1, random_state=0).fit(
    views, on_iteration=lambda *_: stamps.append(time.perf_counter())
)
print(ready - begin, stamps[0] - begin)
"""


def first_call(threads):
    """Compilation once, then from the cache: the median of five processes."""
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "NUMBA_CACHE_DIR": cache}
        times = [
            subprocess.run(
                [sys.executable, "-c", FIRST_CALL],
                env=env,
                check=True,
                capture_output=True,
                text=True,
            ).stdout.split()
            for _ in range(6)
        ]
    compiling, *cached = np.array(times, dtype=float)
    ready, iterated = np.median(cached, axis=0)
    return [
        Row(
            name=f"first call, {name}",
            threads=threads,
            ours=value,
            peer=1.0,
            unit="s",
            ratio=value,
            goal=goal,
        )
        for name, value, goal in (
            ("compiling: import to first iteration", compiling[1], 15.0),
            ("cached: import to begin of fit", ready, 2.0),
            ("cached: import to first iteration", iterated, np.nan),
        )
    ]


CASES = {
    "iteration": (1, lambda t: iterations(t, "sequential")),
    "majorize": (2, lambda t: iterations(t, "majorize")),
    "whole-fit": (2, whole_fits),
    "growth-n": (1, growth_in_samples),
    "growth-k": (1, growth_in_clusters),
    "sparse": (1, sparse_view),
    "clusters": (2, many_clusters),
    "views": (2, many_views),
    "features": (2, many_features),
    "memory": (2, memory_of_arrays),
    "memmap": (2, memory_of_memmap),
    "handwritten": (2, handwritten),
    "first-call": (2, first_call),
    "mvlearn": (1, mvlearn),
}
