"""``manyview cluster --dask``: the same on a cluster, for zarr and parquet."""

from __future__ import annotations

import copy
import logging
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import typer

from manyview._extras import import_extra
from manyview.cli import _render, _sources
from manyview.cli._options import Request
from manyview.exceptions import ClusterError

if TYPE_CHECKING:
    from manyview.cli._result import Result

# Methods that run on a cluster, and their estimators in `manyview.distributed`.
DASK_METHODS = {"graphnsmvc": "DaskGraphNSMVC", "nsmvc": "DaskNSMVC"}
# Options of fits on this machine.
LOCAL_OPTIONS = (
    *("outlier_threshold", "covariates", "write"),
    *(field.name for field in fields(Request) if field.name != "sources"),
)
# Rows that explanations and the report look at.
SAMPLE_ROWS = 5000
CONNECT_SECONDS = 20


def refuse_on_dask(ctx: typer.Context, counts: range) -> None:
    """On a cluster there are two methods, one step, and no reading of other files."""
    refused = {
        "n_clusters": len(counts) > 1,
        "method": ctx.params["method"].lower() not in DASK_METHODS,
        "assignment": ctx.params["assignment"] == "sequential",
    }
    for name in LOCAL_OPTIONS:
        source = ctx.get_parameter_source(name)
        refused[name] = source is not None and source.name == "COMMANDLINE"
    for name, is_set in refused.items():
        if is_set:
            msg = (
                "--dask runs graphnsmvc or nsmvc with one number of clusters and "
                "--assignment majorize, on zarr or parquet with rows in one order. "
                "Noise, covariates and --write are for fits on this machine."
            )
            raise typer.BadParameter(msg, param_hint=f"--{name.replace('_', '-')}")


@contextmanager
def connect(address: str) -> Iterator[None]:
    """A cluster to run on: ``local[N]``, or a scheduler's address."""
    distributed = import_extra("distributed", "dask", "--dask")
    # Interrupted, Dask's client leaves tasks behind that would be reported at length.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    local = re.fullmatch(r"local\[(\d+)\]", address)
    if local is not None:
        with (
            _start_local(distributed, int(local[1])) as cluster,
            distributed.Client(cluster),
        ):
            yield
        return
    if "://" not in address:
        msg = f"{address!r} is neither local[N] nor an address such as tcp://host:8786."
        raise typer.BadParameter(msg, param_hint="--dask")
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        msg = (
            f"No Dask scheduler answers at {address}. Start one with: dask scheduler, "
            "or use --dask local[2]."
        )
        raise ClusterError(msg) from error
    with client:
        yield


def _start_local(distributed: Any, n_workers: int) -> Any:
    """Worker processes that ignore Ctrl-C, which reaches the whole terminal."""
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return distributed.LocalCluster(
            n_workers=max(1, n_workers),
            threads_per_worker=1,
            host="127.0.0.1",
            # Reachable from this machine only: the dashboard asks for no password.
            dashboard_address="127.0.0.1:0",
            silence_logs="ERROR",
        )
    finally:
        signal.signal(signal.SIGINT, handler)


def run_on_dask(
    address: str,
    request: Request,
    method: str,
    settings: dict[str, Any],
    command: str,
) -> Result:
    """Fit on a cluster, and explain a random part of the rows on this machine."""
    import numpy as np

    from manyview import distributed
    from manyview.cli._result import Result
    from manyview.datasets import MultiViewData
    from manyview.distributed._inputs import compute_rows

    # The step of a cluster has no name.
    settings.pop("assignment", None)
    estimator = getattr(distributed, DASK_METHODS[method.lower()])(**settings)
    sources = _sources.lazy_sources(request)
    started = time.perf_counter()
    with connect(address):
        try:
            with _render.fit_progress(estimator) as on_iteration:
                estimator.fit(sources, on_iteration=on_iteration)
        except KeyboardInterrupt:
            if estimator.checkpoint is not None:
                _render.note("Repeat the command to continue from the checkpoint.")
            raise
        seconds = time.perf_counter() - started
        model = estimator.to_local()
        n_samples = len(model.labels_)
        rows = np.arange(n_samples)
        if n_samples > SAMPLE_ROWS:
            rng = np.random.default_rng(0)
            rows = np.sort(rng.choice(n_samples, SAMPLE_ROWS, replace=False))
        views = compute_rows(sources, rows)
    model.learn_spread(views)
    shown = copy.copy(model)
    shown.labels_ = model.labels_[rows]
    shown.joined_pace_ = model.joined_pace_[:, rows]
    return Result(
        command=command,
        seconds=seconds,
        estimator=estimator,
        model=model,
        shown=shown,
        data=MultiViewData(
            name=" + ".join(views),
            views=tuple(views.values()),
            view_names=tuple(views),
            sample_ids=rows.astype(str),
        ),
        clustering=shown.clustering(views),
    )
