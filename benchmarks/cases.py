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
from benchmarks.ratio import Row, compare, peak_bytes, ratio_row, reset_peak
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
    is_sparse = sparse.issparse(views[0])
    table = sparse.hstack(views, "csr") if is_sparse else np.hstack(views)
    centers = np.stack(
        [np.asarray(table[labels == j].mean(axis=0)).ravel() for j in range(n_clusters)]
    ).astype(table.dtype)
    kmeans = KMeans(n_clusters, init=centers, n_init=1, tol=0, max_iter=max_iter)
    return lambda: kmeans.fit(table).n_iter_


def iterations(assignment):
    """An iteration averaged over a whole fit, against one of Lloyd's."""
    rows = []
    for difficulty, spread in SPREADS.items():
        for n_clusters in (10, 50):
            views, labels = make_blobs(50_000, n_clusters, spread=spread)
            estimator = NSMVC(n_clusters, init=labels, assignment=assignment)
            n_iter = estimator.fit(views).n_iter_
            row = compare(
                f"{assignment}, k={n_clusters}, {difficulty}, per iteration, against "
                "lloyd",
                lambda e=estimator, v=views: e.fit(v).n_iter_,
                lloyd(views, labels, n_clusters, n_iter),
                goal=0.7,
                repeats=5,
            )
            rows.append(row)
    return rows


def whole_fits():
    """One start each: time, and the mean ARI of both."""
    return [
        row
        for n_samples in (2_000, 20_000, 200_000)
        for noise in (False, True)
        for row in whole_fit(n_samples, 10, noise)
    ]


def whole_fit(n_samples, n_seeds, noise):
    # A fit of few samples is over before a single run can tell.
    repeats = 5 if n_samples < 10_000 else 1
    times, scores = {"ours": [], "peer": []}, {"ours": [], "peer": []}
    for seed in range(n_seeds):
        views, truth = make_groups(n_samples, 10, seed, noise=noise)
        table = StandardScaler().fit_transform(np.hstack(views))
        runs = {
            "ours": lambda v=views, s=seed: NSMVC(10, n_init=1, random_state=s).fit(v),
            "peer": lambda t=table, s=seed: KMeans(10, n_init=1, random_state=s).fit(t),
        }
        for _ in range(repeats):
            for key, run in runs.items():
                begin = time.perf_counter()
                labels = run().labels_
                times[key].append(time.perf_counter() - begin)
                scores[key].append(adjusted_rand_score(truth, labels))
    name = f"n={n_samples}, {'a noise view' if noise else 'no noise'}, n_init=1"
    middle = [statistics.median(times[key]) for key in ("ours", "peer")]
    mean = [statistics.mean(scores[key]) for key in ("ours", "peer")]
    return [
        ratio_row(f"{name}, whole fit, against lloyd", *middle, goal=1.5),
        ratio_row(f"{name}, mean ARI", *mean, unit=""),
    ]


def many_clusters():
    """Few iterations with many clusters, seeding included."""
    rows = []
    for n_clusters in (1_000, 5_000):
        views, _ = make_blobs(100_000, n_clusters, widths=(20, 50, 30), spread=1.0)
        table = np.hstack(views)
        rows += unusual(
            f"n=100,000, k={n_clusters}, ten iterations",
            NSMVC(n_clusters, n_init=1, n_paces=1, max_iter=10, random_state=0),
            views,
            lambda t=table, k=n_clusters: KMeans(
                k, n_init=1, max_iter=10, tol=0, random_state=0
            ).fit(t),
        )
    return rows


def many_views():
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
        NSMVC(10, n_init=1, random_state=0),
        views,
        lambda: KMeans(10, n_init=1, random_state=0).fit(table),
    )


def many_features():
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
        NSMVC(10, n_init=1, n_paces=1, max_iter=10, random_state=0),
        [words, dense],
        lambda: KMeans(10, n_init=1, max_iter=10, tol=0, random_state=0).fit(table),
    )


def unusual(name, estimator, views, peer):
    """Seconds once each, and the memory that our fit adds."""
    before = reset_peak()
    ours = seconds(lambda: estimator.fit(views))
    size = sum(v.data.nbytes if sparse.issparse(v) else v.nbytes for v in views)
    extra = memory(f"memory, {name}, above the input", before, size)
    return [ratio_row(f"{name}, against lloyd", ours, seconds(peer)), extra]


def memory(name, before, size, goal=None):
    """The peak since `before` against the size of the input."""
    used = peak_bytes() - before
    return ratio_row(name, used / 2**20, size / 2**20, unit="MiB", goal=goal)


def seconds(run):
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def growth_in_samples():
    """Ten times the samples at a fixed number of iterations."""
    sizes = ((n, 10, np.float32) for n in (100_000, 1_000_000))
    return [growth("n from 100,000 to 1,000,000", sizes)]


def growth_in_clusters():
    """Ten times the clusters at a fixed number of iterations."""
    sizes = ((100_000, k, np.float64) for k in (10, 100))
    return [growth("k from 10 to 100", sizes)]


def growth(name, sizes):
    """Samples, clusters and dtype of a small and of a large problem."""
    times = []
    for n_samples, n_clusters, dtype in sizes:
        views, labels = make_blobs(n_samples, n_clusters, dtype=dtype)
        estimator = NSMVC(n_clusters, init=labels, n_paces=2, max_iter=5)
        times.append(min(seconds(lambda e=estimator, v=views: e.fit(v)) for _ in "ab"))
    small, large = times
    return ratio_row(f"growth: {name}", large, small, goal=11.0)


def sparse_view():
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
            goal=1.5,
        )
    ]


def memory_of_arrays():
    """Peak memory above the input, a million float32 rows, three restarts."""
    views, _ = make_blobs(1_000_000, 10, dtype=np.float32)
    size = sum(view.nbytes for view in views)
    before = reset_peak()
    NSMVC(10, n_init=3, n_paces=2, max_iter=3, random_state=0).fit(views)
    name = "memory above a float32 input of 1,000,000 rows"
    return [memory(name, before, size, goal=0.25)]


def memory_of_memmap():
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
            ours=peak_bytes() / 2**20,
            peer=size / 2**20,
            unit="MiB",
            ratio=peak_bytes() / 2**30,
            goal=1.0,
        )
    ]


def handwritten():
    """A whole fit with ten restarts on a real data set."""
    from manyview._rows import open_views
    from manyview._scaling import learn_scales
    from manyview._views import check_views
    from manyview.datasets import load_handwritten

    views = list(load_handwritten().views)
    checked = check_views(views)
    rows = open_views(checked, learn_scales(checked, "auto"))
    table = np.hstack([view.dense_rows(np.arange(2000)) for view in rows])
    n_jobs = int(os.environ["OMP_NUM_THREADS"])
    ours = NSMVC(10, n_init=10, n_jobs=n_jobs, random_state=0)
    peer = KMeans(10, n_init=10, random_state=0)
    return [
        compare(
            "Handwritten, ten restarts, whole fit, against lloyd",
            lambda: len([ours.fit(views)]),
            lambda: len([peer.fit(table)]),
            goal=1.5,
            repeats=5,
        )
    ]


def mvlearn():
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


def first_call():
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
        ratio_row(f"first call, {name}", value, 1.0, goal=goal)
        for name, value, goal in (
            ("compiling: import to first iteration", compiling[1], 15.0),
            ("cached: import to begin of fit", ready, 2.0),
            ("cached: import to first iteration", iterated, None),
        )
    ]


CASES = {
    "iteration": (1, lambda: iterations("sequential")),
    "majorize": (2, lambda: iterations("majorize")),
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
