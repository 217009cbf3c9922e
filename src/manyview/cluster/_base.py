"""What all estimators share: input, scaling, restarts, warnings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning

from manyview._random import random_source
from manyview._results import IterationRecord, OnIteration, SolverResult
from manyview._sklearn_compat import _fit_context, _openmp_effective_n_threads
from manyview._threads import one_blas_thread
from manyview._view_input import ViewInput
from manyview._views import ViewSet
from manyview.exceptions import ViewError

OnRestartIteration = Callable[[int, IterationRecord], None]


class BaseMultiViewClusterer(ViewInput, ClusterMixin, BaseEstimator):
    """Base of every clusterer: one `fit` for all, filled in by three methods.

    A subclass stores its parameters (at least ``n_clusters``, ``view_sizes`` and
    ``random_state``) and says how to `_prepare` what all restarts share, how to
    `_solve` one restart, and what to `_store` of the best. All three work on an
    unfitted copy of the estimator, which `fit` publishes at the end.
    """

    _private_fitted: ClassVar[frozenset[str]] = ViewInput._private_fitted | {
        "_centers",
        "_score_weights",
    }

    n_clusters: int
    random_state: int | np.random.RandomState | None
    n_jobs: int | None = None
    verbose: int = 0

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any = None, *, on_iteration: OnRestartIteration | None = None
    ) -> Self:
        """Cluster the samples of X.

        Parameters
        ----------
        X : list, tuple or dict of 2-D arrays, or one 2-D array
            The views: arrays, frames, sparse matrices or memory maps with one row per
            sample. A row of NaN marks a sample that lacks the view. One array is split
            by ``view_sizes``. AnnData and MuData objects are accepted as well. Names of
            columns are remembered; frames must agree in their index.
        y : None
            Ignored.
        on_iteration : callable, default=None
            Called as ``on_iteration(restart, record)`` after every iteration.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        fresh = self._unfitted()
        fresh._fit(X, on_iteration)
        # One assignment: a fit that fails or is interrupted leaves the earlier one as
        # it was, and nothing of an earlier fit outlives a later one.
        self.__dict__ = fresh.__dict__
        return self

    def _fit(self, X: Any, on_iteration: OnRestartIteration | None) -> None:
        """Set all fitted attributes."""
        from manyview._solvers._restarts import choose_restart

        views = self._check_views(X, reset=True)
        prepared = self._prepare(views)
        self._warn_of_duplicates(views)
        seeds = self._restart_seeds()
        tell = on_iteration or report_progress(self.verbose)

        def run(restart: int, seed: int) -> Any:
            listen = None if tell is None else partial(tell, restart)
            return self._solve(prepared, np.random.RandomState(seed), listen)

        # Restarts side by side get one BLAS thread each: more would only crowd each
        # other out. Not set inside the generator, which an exception keeps alive.
        with one_blas_thread() if self._crowds_blas() else nullcontext():
            best = choose_restart(self._run_restarts(run, seeds))
        self._store(best)
        self._warn_unless_converged(best)

    def _prepare(self, views: ViewSet) -> Any:
        """What every restart works on: scaled rows, graphs, kernels."""
        raise NotImplementedError

    def _solve(
        self,
        prepared: Any,
        random_state: np.random.RandomState,
        on_iteration: OnIteration | None,
    ) -> SolverResult:
        """One restart."""
        raise NotImplementedError

    def _store(self, result: Any) -> None:
        """Set the fitted attributes."""
        raise NotImplementedError

    def _used(self, views: ViewSet) -> ViewSet:
        """The views that take part; all, unless a subclass says otherwise."""
        return views

    def _n_restarts(self) -> int:
        return 1

    def _check_views(self, X: Any, *, reset: bool) -> ViewSet:
        views = super()._check_views(X, reset=reset)
        if reset:
            self._check_cluster_count(views.n_samples)
        return views

    def _check_cluster_count(self, n_samples: int) -> None:
        if self.n_clusters > n_samples:
            msg = (
                f"n_clusters={self.n_clusters} is more than n_samples="
                f"{n_samples}. Ask for at most one cluster per sample."
            )
            raise ViewError(msg)

    def _restart_seeds(self) -> list[int]:
        """One seed per restart, drawn up front: the order of running cannot matter."""
        source = random_source(self.random_state)
        return [int(s) for s in source.randint(2**31 - 1, size=self._n_restarts())]

    def _run_restarts(
        self, run: Callable[[int, int], Any], seeds: Sequence[int]
    ) -> Iterator[Any]:
        """Results of ``run(restart, seed)``, in order, as they come.

        Threads share the views; kernels and matrix products release the lock.
        """
        parallel = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")
        yield from parallel(
            delayed(run)(restart, seed) for restart, seed in enumerate(seeds)
        )

    def _crowds_blas(self) -> bool:
        """Whether more than one BLAS thread would slow the restarts down."""
        return bool(effective_n_jobs(self.n_jobs) > 1)

    def _threads_per_restart(self) -> int:
        crowded = effective_n_jobs(self.n_jobs) > 1
        return 1 if crowded else int(_openmp_effective_n_threads())

    def _warn_of_duplicates(self, views: ViewSet) -> None:
        from manyview._numerics._distinct import count_distinct_rows

        n_distinct = count_distinct_rows(self._used(views).arrays, self.n_clusters)
        if n_distinct < self.n_clusters:
            msg = (
                f"n_clusters={self.n_clusters} is more than the number of distinct "
                f"samples, {n_distinct}: some clusters stay empty or hold duplicates "
                f"of others. Ask for at most {n_distinct} clusters."
            )
            warnings.warn(msg, ConvergenceWarning, stacklevel=5)

    def _warn_unless_converged(self, result: SolverResult) -> None:
        if not result.converged:
            msg = (
                f"{type(self).__name__} stopped at its iteration limit before its "
                "labels settled. Raise max_iter."
            )
            warnings.warn(msg, ConvergenceWarning, stacklevel=5)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # NaN is not "allowed" in scikit-learn's sense: only whole rows may be missing.
        tags.input_tags.sparse = True
        return tags


def report_progress(verbose: int) -> OnRestartIteration | None:
    """A callback that tells stderr about every iteration, or None when quiet."""
    if not verbose:
        return None

    def tell(restart: int, record: IterationRecord) -> None:
        sys.stderr.write(
            f"restart {restart + 1}  stage {record.stage}  iteration "
            f"{record.iteration:>3}  objective {record.objective:.6g}  "
            f"moved {record.n_moved}\n"
        )

    return tell


def as_labels(init: Any, n_samples: int, n_clusters: int) -> np.ndarray[Any, Any]:
    """Check starting labels: one whole number in [0, n_clusters) per sample."""
    labels = np.asarray(init)
    if labels.shape != (n_samples,):
        msg = (
            f"init labels have shape {labels.shape}, expected ({n_samples},): "
            "one label per sample."
        )
        raise ViewError(msg)
    if labels.dtype.kind not in "iu":
        msg = (
            f"init labels have dtype {labels.dtype}, expected whole numbers from 0 to "
            f"{n_clusters - 1}. Encode them first, e.g. with numpy.unique."
        )
        raise ViewError(msg)
    found = np.unique(labels)
    if found[0] < 0 or found[-1] >= n_clusters:
        msg = (
            f"init labels run from {found[0]} to {found[-1]}, expected 0 to "
            f"{n_clusters - 1} for n_clusters={n_clusters}."
        )
        raise ViewError(msg)
    if len(found) < n_clusters:
        msg = (
            f"init labels use {len(found)} of n_clusters={n_clusters} clusters. "
            "Every cluster needs a first member."
        )
        raise ViewError(msg)
    # Kernels know the machine's own integers only.
    return labels.astype(np.intp, copy=False)
