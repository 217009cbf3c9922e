"""What all estimators share: parameters, input, scaling, restarts, names, warnings."""

from __future__ import annotations

import importlib
import inspect
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from functools import cache, partial
from itertools import starmap
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from manyview._random import random_source
from manyview._results import IterationRecord, SolverResult
from manyview._scaling import SCALES
from manyview._sklearn_compat import Interval, StrOptions, _fit_context
from manyview._solvers._restarts import choose_restart
from manyview._threads import one_blas_thread
from manyview._typing import IntArray
from manyview._view_input import ViewInput, scaled_rows
from manyview._views import ViewSet
from manyview.cluster._clustering import (
    NOISE,
    Clustering,
    check_name,
    default_names,
    label_clustering,
    name_clusters,
)
from manyview.exceptions import ViewError

if TYPE_CHECKING:
    from manyview._rows import Rows

# What a solver sees of the views.
RowSet: TypeAlias = "tuple[Rows, ...]"
RandomState: TypeAlias = np.random.RandomState
OnRestartIteration = Callable[[int, IterationRecord], None]
Solver: TypeAlias = Callable[..., SolverResult]
Result = TypeVar("Result", bound=SolverResult)


@dataclass(eq=False, repr=False)
class SharedParameters:
    """The parameters that every clusterer has, as fields."""

    n_clusters: int = 8
    _: KW_ONLY
    n_init: int = 10
    scale: str | None = "auto"
    view_sizes: Sequence[int] | None = None
    random_state: int | RandomState | None = None
    verbose: int = 0


class BaseMultiViewClusterer(SharedParameters, ViewInput, ClusterMixin, BaseEstimator):
    """Base of every clusterer: one `fit` for all, filled in by `_solver`.

    A subclass is a dataclass whose fields are the parameters of its own. It adds
    constraints for these, lists in `_kept` what it takes over from the solver's result,
    and defines `_solver`, which binds the solver to its options (`_bind`) and to what
    all restarts share. It works on an unfitted copy of the estimator, which `fit`
    publishes at the end.
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
    # Fields of the solver's result that become fitted attributes, with an underscore.
    _kept: ClassVar[tuple[str, ...]] = ("labels", "n_iter", "history")
    # Whether more than one BLAS thread slows even a single restart down.
    _small_products: ClassVar[bool] = False

    n_jobs: int | None = None
    labels_: IntArray
    cluster_names_: list[str]

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
        views, rows = fresh._fit(X, on_iteration)
        self.__dict__ = fresh.__dict__
        return self._clustering(views, rows)

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
        return self._named(self._clustering(self._check_views(X, reset=False)))

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

    def rename_clusters(self, names: Mapping[int, str]) -> Self:
        """Give clusters names, which reports, exports and model files show.

        Clusters of the same name are shown as one. ``labels_`` and `predict` keep the
        numbers of the fit; `named_labels` has the names.

        Parameters
        ----------
        names : mapping of int to str
            Name by cluster number; clusters that are left out keep theirs.

        Returns
        -------
        self : object
            The estimator, with ``cluster_names_``.

        Examples
        --------
        >>> import numpy as np
        >>> from manyview import ConcatKMeans
        >>> views = [np.array([[0.0], [0.1], [5.0], [9.0]])]
        >>> model = ConcatKMeans(n_clusters=3, random_state=0).fit(views)
        >>> first, third, fourth = model.labels_[[0, 2, 3]]
        >>> named = model.rename_clusters({first: "low", third: "high", fourth: "high"})
        >>> named.named_labels().tolist()
        ['low', 'low', 'high', 'high']
        """
        found = self._cluster_names()
        for cluster, name in names.items():
            check_name(cluster, name, len(found))
            found[cluster] = name
        self.cluster_names_ = found
        return self

    def named_labels(self, labels: Any = None) -> np.ndarray[Any, Any]:
        """Labels as the names of their clusters.

        Parameters
        ----------
        labels : array-like of int, default=None
            Clusters as from `predict`; None takes ``labels_``.

        Returns
        -------
        names : ndarray of str
            The cluster's name, or "noise" for -1.
        """
        labels = self.labels_ if labels is None else np.asarray(labels)
        # The last one is what -1 points to.
        return np.asarray(np.array([*self._cluster_names(), NOISE])[labels])

    def _cluster_names(self) -> list[str]:
        check_is_fitted(self)
        names = getattr(self, "cluster_names_", None)
        return list(names or default_names(self._n_found()))

    def _n_found(self) -> int:
        """Clusters of the fit: `n_clusters` may have been set anew since."""
        return int(self.labels_.max()) + 1

    def _named(self, clustering: Clustering) -> Clustering:
        names = getattr(self, "cluster_names_", None)
        return clustering if names is None else name_clusters(clustering, names)

    def _clustering(self, views: ViewSet, rows: Any = None) -> Clustering:
        """Labels and distances of the samples of the fit.

        `rows` are those that the solver saw, if they are at hand. A method without
        centres has no distances of its own: its labels are measured by cluster means.
        """
        weights = getattr(self, "view_weights_", None)
        return label_clustering(views, self.labels_, weights)

    def _fit(self, X: Any, on_iteration: OnRestartIteration | None) -> Any:
        """Set all fitted attributes; returns the views and what the solver saw."""
        views = self._check_views(X, reset=True)
        rows = self._open_for_fit(views)
        solve = self._solver(views, rows)
        self._warn_of_duplicates(views)
        tell = on_iteration or (write_progress if self.verbose else None)

        def run(restart: int, seed: int) -> Any:
            listen = None if tell is None else partial(tell, restart)
            source = np.random.RandomState(seed)
            return solve(random_state=source, on_iteration=listen)

        starts = enumerate(self._restart_seeds())
        n_jobs = effective_n_jobs(self.n_jobs)
        if n_jobs == 1:
            found = starmap(run, starts)
        else:
            # Threads share the views; kernels and matrix products release the lock.
            workers = Parallel(self.n_jobs, prefer="threads", return_as="generator")
            found = workers(delayed(run)(*start) for start in starts)
        # Restarts side by side get one BLAS thread each: more would only crowd each
        # other out.
        crowded = self._small_products or n_jobs > 1
        with one_blas_thread() if crowded else nullcontext():
            best = choose_restart(found)
            self._store(best)
            self._assess_fit(rows)
        self._warn_unless_converged(best)
        return views, rows

    def _open_for_fit(self, views: ViewSet) -> RowSet:
        """What the solver sees of the views; remembers how new samples get there."""
        self.scales_, rows = scaled_rows(self._used(views), self.scale)
        return rows

    def _solver(self, views: ViewSet, rows: RowSet) -> Solver:
        """What runs a restart, called with `random_state` and `on_iteration`."""
        raise NotImplementedError

    def _bind(
        self, solver: Callable[..., Result], *arguments: Any, **options: Any
    ) -> Callable[..., Result]:
        """A solver with what is the same in all restarts.

        Its keyword-only arguments that are parameters of the estimator take their
        values, unless `options` has others.
        """
        # Not get_params: it looks at signatures, which a small fit would notice.
        params = vars(self)
        for name in _options_of(solver):
            if name in params:
                options.setdefault(name, params[name])
        return partial(solver, *arguments, **options)

    def _store(self, result: Any) -> None:
        """Set the fitted attributes."""
        for name in self._kept:
            setattr(self, f"{name}_", getattr(result, name))

    def _assess_fit(self, rows: RowSet) -> None:
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
        # Of a method that clusters eigenvectors.
        if not getattr(result, "settled", True):
            msg = (
                f"The eigenvectors behind {type(self).__name__}'s labels are "
                "approximate: the eigensolver stopped at its iteration limit. The "
                "graph may be close to falling into more pieces than n_clusters; try "
                "another n_clusters, scale or number of neighbours."
            )
            warnings.warn(msg, ConvergenceWarning, stacklevel=5)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # NaN is not "allowed" in scikit-learn's sense: only whole rows may be missing.
        tags.input_tags.sparse = True
        return tags


@cache
def _options_of(solver: Callable[..., Any]) -> list[str]:
    """Names of the keyword-only arguments."""
    parameters = inspect.signature(solver).parameters.values()
    return [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]


def write_progress(restart: int, record: IterationRecord) -> None:
    """Write an iteration to stderr."""
    sys.stderr.write(
        f"restart {restart + 1}  stage {record.stage}  iteration "
        f"{record.iteration:>3}  objective {record.objective:.6g}  "
        f"moved {record.n_moved}\n"
    )
