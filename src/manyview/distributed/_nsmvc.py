"""NSMVC on a Dask cluster, as a scikit-learn clusterer."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Self

import dask
import dask.array as da
import joblib
import numpy as np
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker
from sklearn.utils.validation import check_is_fitted

from manyview._results import NSMVCResult
from manyview._sklearn_compat import StrOptions
from manyview._solvers._nsmvc import LoopState, run_paces, unexplained
from manyview._solvers._restarts import choose_restart
from manyview._threads import one_blas_thread
from manyview._version import __version__
from manyview._views import ViewSet
from manyview.cluster import NSMVC
from manyview.cluster._base import OnRestartIteration, write_progress
from manyview.cluster._clustering import Clustering
from manyview.distributed import _blocks, _data, _samples
from manyview.distributed._checkpoint import Checkpoint
from manyview.distributed._data import DaskRows, map_parts
from manyview.distributed._inputs import DaskViews, is_lazy, open_lazy_views
from manyview.distributed._samples import DaskSamples, Run
from manyview.exceptions import ClusterError


@dataclass(eq=False, repr=False, kw_only=True)
class DaskNSMVC(NSMVC):
    """NSMVC for views that are larger than one machine, on a Dask cluster.

    The same algorithm as ``NSMVC(assignment="majorize")``, by the same kernels: from
    the same start it finds the same labels, however the rows are cut. It runs on the
    active ``distributed.Client``, or on Dask's default scheduler if there is none.
    Explanations and reports take views that are in this machine's memory.

    Parameters
    ----------
    n_clusters, n_init, scale, view_sizes, random_state, verbose, pace_start, \
n_paces, max_iter
        As in `manyview.NSMVC`. Restarts run one after the other.
    init : {"k-means++", "random"}, array of labels or callable, default="k-means++"
        ``"k-means++"`` seeds on a sample of the rows, as `NSMVC` does. Labels may be a
        NumPy or dask array. A callable gets ``(X, n_clusters, random_state)`` and
        returns labels.
    persist : {"auto", "memory", "disk"} or None, default="auto"
        Where workers keep the rows between iterations: in memory, in scratch files on
        their local disks, or nowhere, which reads the source anew every time.
        ``"auto"`` means memory if the views fill at most 30 % of it, else disk.
    checkpoint : path-like or None, default=None
        A folder of its own, on storage that driver and workers share. After every
        iteration it holds all that is needed: a fit that was broken off goes on from
        there when it is called again, to the same result. Removed at the end.

    Attributes
    ----------
    labels_, joined_pace_ : dask arrays
        As in `manyview.NSMVC`, in the workers' memory.
    cluster_centers_, view_weights_, exponents_, thresholds_, view_losses_, \
objective_, unexplained_, n_iter_, history_, scales_, view_names_, n_features_in_
        As in `manyview.NSMVC`.

    See Also
    --------
    manyview.NSMVC : The same on one machine.

    Examples
    --------
    >>> import dask.array as da
    >>> from manyview.distributed import DaskNSMVC
    >>> sound = da.from_array([[0.0, 1.0], [0.1, 1.0], [5.0, 2.0], [5.1, 2.0]], (2, 2))
    >>> light = da.from_array([[3.0], [3.1], [9.0], [9.2]], (3, 1))
    >>> model = DaskNSMVC(n_clusters=2, random_state=0).fit([sound, light])
    >>> model.labels_.compute().tolist()
    [0, 0, 1, 1]
    """

    init: Any = "k-means++"
    persist: str | None = "auto"
    checkpoint: str | Path | None = None
    # No parameters on a cluster.
    fusion: str = field(default="nonlinear", init=False)
    assignment: str = field(default="majorize", init=False)
    outlier_threshold: float | None = field(default=None, init=False)
    n_jobs: int | None = field(default=None, init=False)

    # What `to_local` makes of the fitted model.
    _local: ClassVar[type[NSMVC]] = NSMVC

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NSMVC._parameter_constraints,
        "init": [StrOptions({"k-means++", "random"}), "array-like", callable, da.Array],
        "persist": [StrOptions({"auto", "memory", "disk"}), None],
        "checkpoint": [str, Path, None],
    }

    def fit(
        self, X: Any, y: Any = None, *, on_iteration: OnRestartIteration | None = None
    ) -> Self:
        """Cluster the samples of X.

        Parameters
        ----------
        X : list, tuple or dict of views, one table, or a path
            Dask arrays, dask dataframes, or paths of zarr arrays or parquet, with one
            row per sample and in the same order; how rows are chunked is free. A row
            of NaN marks a sample that lacks the view. A zarr group is a dict of views.
            Column names of dataframes are remembered; their indices are not compared.
        y : None
            Ignored.
        on_iteration : callable, default=None
            Called as ``on_iteration(restart, record)`` after every iteration.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        super().fit(X, y, on_iteration=on_iteration)
        return self

    def _fit(self, X: Any, on_iteration: OnRestartIteration | None) -> Any:
        # On the default scheduler parts run side by side in this very process.
        with one_blas_thread(), self._cluster_errors():
            views = open_lazy_views(X, view_sizes=self.view_sizes)
            self._remember_layout(views.layout)
            self._check_cluster_count(views.n_samples)
            _data.check_part_size(views)
            data = self._open_data(views)
            begin, seeds = partial(self._begin, X, data), self._restart_seeds()
            checkpoint = None
            if self.checkpoint is not None:
                fit = (data, self.n_clusters, self._identity(data), seeds)
                checkpoint = Checkpoint(self.checkpoint, *fit)
            tell = on_iteration or (write_progress if self.verbose else None)
            run = partial(self._run, checkpoint, tell)
            if checkpoint is None:
                starts = enumerate(map(begin, seeds))
                best = choose_restart(run(restart, *start) for restart, start in starts)
            else:
                best = checkpoint.best_restart(begin, run)
            self._store(best)
            if checkpoint is not None:
                checkpoint.remove()
        self._warn_unless_converged(best)
        return X, None

    def _clustering(self, views: Any, rows: Any = None) -> Clustering:
        if not isinstance(views, ViewSet):  # From `fit_clustering`, as `_fit` got them.
            views = self._check_views(views, reset=False)
        return super()._clustering(views, rows)

    def _open_data(self, views: DaskViews) -> DaskRows:
        """What the loop runs on; sets the fitted attributes that it depends on."""
        persist = _data.choose_storage(self.persist, views.nbytes)
        parts, identify = views.parts(persist == "disk"), self.checkpoint is not None
        names, lengths = views.layout.names, views.lengths
        data = _data.open_parts(parts, names, lengths, self.scale, persist, identify)
        self.scales_ = data.scales
        return data

    def _begin(self, X: Any, data: DaskRows, seed: int) -> Run:
        """The first samples and centres of a restart."""
        init, n_clusters = self.init, self.n_clusters
        source = np.random.RandomState(seed)
        if isinstance(init, str) and init == "random":
            return _samples.start_random(data, n_clusters, source)
        if isinstance(init, str):
            return _samples.start_kmeans_plusplus(
                data,
                n_clusters,
                source,
                n_drafts=self._local._n_drafts,
                project=self._local._project,
            )
        labels = init(X, n_clusters, source) if callable(init) else init
        return _samples.start_from_labels(data, labels, n_clusters)

    def _run(
        self,
        checkpoint: Checkpoint | None,
        tell: OnRestartIteration | None,
        restart: int,
        samples: DaskSamples,
        loop: LoopState,
    ) -> NSMVCResult:
        """One restart, from any state to its end."""

        def on_progress(loop: LoopState) -> None:
            if checkpoint is not None:
                checkpoint.save(restart, loop, samples)
            if tell is not None:
                tell(restart, loop.history[-1])

        return self._bind(run_paces, on_progress=on_progress)(samples, loop)

    def predict(self, X: Any) -> Any:
        """Cluster of new samples.

        Parameters
        ----------
        X : same forms as in `fit`, or as in `NSMVC.predict`
            New samples. A view may be None, or left out of a dict, if no sample has it.

        Returns
        -------
        labels : dask array of shape (n_samples,), or ndarray
            Cluster of each sample; lazy, block by block, if X is.
        """
        if not is_lazy(X):
            return super().predict(X)
        data, models = self._open_new(X)
        labels = map_parts(self._local._nearest, models, data.rows)
        return data.concatenate(labels, (-1,), np.int32)

    def transform(self, X: Any) -> Any:
        """Fused distance of samples to each cluster's centre.

        Parameters
        ----------
        X : same forms as in `predict`
            Samples.

        Returns
        -------
        distances : dask array of shape (n_samples, n_clusters), or ndarray
            As in `NSMVC.transform`; lazy, block by block, if X is.
        """
        if not is_lazy(X):
            return super().transform(X)
        data, models = self._open_new(X)
        distances = map_parts(_blocks.transform, data.rows, models)
        return data.concatenate(distances, (-1, self._n_features_out), np.float64)

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the share of the scatter of X that the clusters leave unexplained.

        Parameters
        ----------
        X : same forms as in `predict`
            Samples.
        y : None
            Ignored.

        Returns
        -------
        score : float
            As in `NSMVC.score`.
        """
        if not is_lazy(X):
            return super().score(X)
        data, models = self._open_new(X)
        labels = map_parts(self._local._nearest, models, data.rows)
        parts = map_parts(_blocks.labelled, labels, same=[len(data.scales)])
        samples = DaskSamples(data, parts, self._n_features_out)
        return -float(unexplained(samples, self._centers).sum())

    def to_local(self) -> NSMVC:
        """The fitted model without Dask, with the labels in this machine's memory.

        Returns
        -------
        model : NSMVC or GraphNSMVC
            For everything that works on one machine: saving, explanations, reports.
        """
        check_is_fitted(self)
        model = self._local_model()
        names = set(model.get_params()) & set(self.get_params())
        model.set_params(**{name: getattr(self, name) for name in names})
        found = dask.compute(self.labels_, self.joined_pace_)
        model.labels_, model.joined_pace_ = found
        return model

    def _local_model(self) -> NSMVC:
        """What places samples, without Dask: the fit less parameters and samples."""
        model = self._local(assignment="majorize")
        for name, value in vars(self).items():
            if name.endswith("_") or name in self._private_fitted:
                setattr(model, name, value)
        del model.labels_, model.joined_pace_
        return model

    def _open_new(self, X: Any) -> tuple[DaskRows, list[Any]]:
        """New samples, lazily, and per part the model that places them."""
        check_is_fitted(self)
        views = open_lazy_views(X, view_sizes=self.view_sizes, layout=self._layout)
        # One for all parts, sent once.
        model = dask.delayed(self._local_model(), traverse=False)
        models, scales = [model] * len(views.lengths), self._center_scales()
        rows = tuple(map_parts(self._local._open_checked, models, views.parts()))
        return DaskRows(rows=rows, lengths=views.lengths, scales=scales), models

    def _identity(self, data: DaskRows) -> dict[str, Any]:
        """What a checkpoint must agree in to be continued."""
        params, init = dict(self.get_params()), self.init
        # These change no result, or show in the values of the views.
        for name in ("checkpoint", "persist", "verbose", "view_sizes"):
            del params[name]
        if callable(init):
            params["init"] = "callable"
        elif not isinstance(init, str):
            params["init"] = _samples.labels_digest(init, data)
        if not isinstance(self.random_state, Integral):
            params["random_state"] = None
        return params | {
            "version": __version__,
            "n_samples": data.n_samples,
            "row chunks": joblib.hash(data.lengths),
            "data": joblib.hash((self.scales_, data.contents)),
        }

    @contextmanager
    def _cluster_errors(self) -> Iterator[None]:
        """One sentence instead of the cluster's own words."""
        saved = "Pass checkpoint=PATH to be able to go on after this."
        if self.checkpoint is not None:
            saved = (
                f"What was done is in {self.checkpoint}: connect to a cluster and call "
                "fit again with the same arguments to go on from there."
            )
        try:
            yield
        except (KilledWorker, CancelledError, CommClosedError) as error:
            # The others are what a client raises when its scheduler is gone.
            trouble = f"The connection to the Dask cluster was lost ({error!r})."
            if isinstance(error, KilledWorker):
                trouble = (
                    f"A part of the rows lost its worker again and again ({error}), "
                    "most likely for want of memory. Use smaller row chunks or larger "
                    "workers."
                )
            msg = f"{trouble} {saved}"
            raise ClusterError(msg) from error
