"""What all estimators share: parameters, input, scaling, restarts, warnings."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning

from manyview._random import random_source
from manyview._results import IterationRecord, OnIteration, SolverResult
from manyview._scaling import SCALES
from manyview._sklearn_compat import (
    Interval,
    StrOptions,
    _fit_context,
)
from manyview._threads import available_threads, one_blas_thread
from manyview._typing import IntArray
from manyview._view_input import ViewInput, scaled_rows
from manyview._views import ViewSet
from manyview.cluster._clustering import Clustering, label_clustering
from manyview.cluster._naming import NamedClusters
from manyview.exceptions import ViewError

if TYPE_CHECKING:
    from manyview._rows import Rows

OnRestartIteration = Callable[[int, IterationRecord], None]


class BaseMultiViewClusterer(NamedClusters, ViewInput, ClusterMixin, BaseEstimator):
    """Base of every clusterer: one `fit` for all, filled in by three methods.

    A subclass stores its parameters, adds constraints for those that are its own, and
    defines `_solve`, which runs one restart. It extends `_prepare`, whose result all
    restarts share, and `_store`, which sets the fitted attributes, where it needs more
    than scaled rows and labels. All three work on an unfitted copy of the estimator,
    which `fit` publishes at the end.
    """

    # Of every parameter that means the same in all methods that have it.
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "pace_start": [Interval(Real, 0, 1, closed="both")],
        "n_paces": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "n_local_trials": [Interval(Integral, 1, None, closed="left"), None],
        "scale": [StrOptions(set(SCALES)), None],
        "view_sizes": ["array-like", None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": [Interval(Integral, 0, None, closed="left"), "boolean"],
    }
    # Whether the method compares all pairs of samples within each view.
    _needs_every_view: ClassVar[bool] = False

    _private_fitted: ClassVar[frozenset[str]] = ViewInput._private_fitted | {
        "_centers",
        "_score_weights",
    }

    n_clusters: int
    scale: str | None
    labels_: IntArray
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

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_clustering(
        self, X: Any, *, on_iteration: OnRestartIteration | None = None
    ) -> Clustering:
        """Fit, and return the labels together with the checked and scaled views.

        Parameters
        ----------
        X, on_iteration
            As in `fit`.

        Returns
        -------
        clustering : Clustering
            What explanations, maps and reports are made from.
        """
        fresh = self._unfitted()
        views, prepared = fresh._fit(X, on_iteration)
        self.__dict__ = fresh.__dict__
        return self._named(self._clustering(views, prepared))

    def clustering(self, X: Any) -> Clustering:
        """The labels of the fit together with the views of its samples.

        Parameters
        ----------
        X : same forms as in `fit`
            The samples of the fit.

        Returns
        -------
        clustering : Clustering
            What explanations, maps and reports are made from.
        """
        return self._named(self._clustering(self._check_views(X, reset=False), None))

    def report(self, X: Any, **options: Any) -> Any:
        """A report about the fit, shown inline by a notebook.

        Parameters
        ----------
        X : same forms as in `fit`
            The samples of the fit.
        **options
            As in `manyview.reporting.report_page`, such as ``title`` or ``target``.

        Returns
        -------
        page : ReportPage
            The page; ``save(path)`` writes it to a file.
        """
        # By name: clusterers do not depend on what is made of them.
        reporting = importlib.import_module("manyview.reporting")
        return reporting.report_page(self, X, **options)

    def _clustering(self, views: ViewSet, prepared: Any) -> Clustering:
        """Labels and distances of the samples of the fit.

        `prepared` is what `_prepare` made of the views, or None. A method without
        centres has no distances of its own: its labels are measured by cluster means.
        """
        weights = getattr(self, "view_weights_", None)
        return label_clustering(views, self.labels_, weights)

    def _fit(self, X: Any, on_iteration: OnRestartIteration | None) -> Any:
        """Set all fitted attributes; returns the views and what `_prepare` made."""
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
        self._assess_fit(prepared)
        self._warn_unless_converged(best)
        return views, prepared

    def _prepare(self, views: ViewSet) -> Any:
        """What every restart works on: scaled rows, graphs, kernels."""
        return self._open_for_fit(views)

    def _open_for_fit(self, views: ViewSet) -> tuple[Rows, ...]:
        """What the solver sees of the views; remembers how new samples get there."""
        self.scales_, rows = scaled_rows(self._used(views), self.scale)
        return rows

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
        self.labels_ = result.labels
        self.n_iter_ = result.n_iter
        self.history_ = result.history

    def _assess_fit(self, prepared: Any) -> None:
        """Set what is known of the samples beyond their labels, by default nothing."""

    def _used(self, views: ViewSet) -> ViewSet:
        """The views that take part, by default all."""
        return views

    def _n_restarts(self) -> int:
        return 1

    def _check_views(self, X: Any, *, reset: bool) -> ViewSet:
        views = super()._check_views(X, reset=reset)
        if reset:
            self._check_cluster_count(views.n_samples)
        if self._needs_every_view:
            self._reject_missing(views)
        return views

    def _reject_missing(self, views: ViewSet) -> None:
        for name, present in zip(views.names, views.present, strict=True):
            if not present.all():
                row = int(np.flatnonzero(~present)[0])
                msg = (
                    f"{type(self).__name__} needs every sample in every view, but row "
                    f"{row} of view {name!r} is missing (NaN throughout). Drop or "
                    "impute such rows, or use a method that takes them, e.g. NSMVC."
                )
                raise ViewError(msg)

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
        crowded = self._n_restarts() > 1 and effective_n_jobs(self.n_jobs) > 1
        return 1 if crowded else available_threads()

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
    """A callback that writes every iteration to stderr, or None if not verbose."""
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
