"""Random small problems, and what comes out of them on this machine.

Run as ``python -m tests.machine_problems FIRST LAST [FORM ...]``: prints one line per
problem, estimator and form of input, with a digest of the labels. Environment variables
decide what processor BLAS and compiled code believe in (see `test_machines.py`).
"""

import hashlib
import sys
import warnings

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from manyview import cluster

SCALES = ("auto", "range", "minmax", "zscore", "l2", "energy", None)
OTHERS = [name for name in cluster.__all__ if name != "NSMVC"]
FORMS = ("plain", "fortran", "float32", "sparse", "threads")


def make_problem(seed):
    """Views that float32 holds exactly, and a number of clusters."""
    rng = np.random.default_rng([12, seed])
    n_samples = int(rng.integers(12, 120)) if seed % 4 else int(rng.integers(260, 400))
    n_clusters = int(rng.integers(2, 6))
    truth = rng.integers(n_clusters, size=n_samples)
    views = []
    for _ in range(int(rng.integers(1, 4))):
        width = int(rng.integers(1, 9))
        means = 3.0 * rng.normal(size=(n_clusters, width))[truth]
        view = means + rng.normal(size=(n_samples, width))
        views.append(rough(view, kind=int(rng.integers(4)), rng=rng))
    return views, n_clusters


def rough(view, kind, rng):
    """Gaussian values, whole numbers, counts with many zeros, or duplicates."""
    if kind == 1:
        return np.round(view)
    if kind == 2:
        return np.round(np.maximum(view - 1.0, 0.0)) + 0.0
    if kind == 3:
        view = view[rng.integers(len(view), size=len(view))]
    return view.astype(np.float32).astype(np.float64)


def estimators(seed, n_clusters):
    """Both assignments of NSMVC, and one of the other methods in turn."""
    common = {"random_state": seed, "scale": SCALES[seed % len(SCALES)], "n_init": 3}
    for assignment in ("sequential", "majorize"):
        yield cluster.NSMVC(n_clusters, assignment=assignment, **common)
    yield getattr(cluster, OTHERS[seed % len(OTHERS)])(n_clusters, **common)


def in_form(views, form):
    """The same numbers in another form."""
    convert = {
        "fortran": np.asfortranarray,
        "float32": np.float32,
        "sparse": sparse.csr_array,
    }.get(form, np.ascontiguousarray)
    return [convert(view) for view in views]


def digests(seed, forms):
    """(estimator, form, digest of the labels) of one problem."""
    views, n_clusters = make_problem(seed)
    for estimator in estimators(seed, n_clusters):
        name = type(estimator).__name__ + "-" + getattr(estimator, "assignment", "")
        for form in forms:
            X, n_threads = in_form(views, form), 2 if form == "threads" else 1
            if "n_jobs" in estimator.get_params():
                estimator.set_params(n_jobs=n_threads)
            with threadpool_limits(n_threads), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                labels = estimator.fit(X).labels_
            data = np.asarray(labels, dtype=np.int64).tobytes()
            yield name, form, hashlib.sha256(data).hexdigest()[:16]


if __name__ == "__main__":
    _, first, last, *forms = sys.argv
    for seed in range(int(first), int(last)):
        for name, form, digest in digests(seed, forms or FORMS):
            sys.stdout.write(f"{seed} {name} {form} {digest}\n")
