"""``manyview cluster --dask``: the same on a cluster, for zarr and parquet."""

from __future__ import annotations

import copy
import logging
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from manyview._extras import import_extra
from manyview.cli import _render
from manyview.cli._progress import fit_progress
from manyview.cli._sources import Request, lazy_sources
from manyview.cli._summary import Run, summarise
from manyview.datasets import MultiViewData
from manyview.exceptions import ClusterError

if TYPE_CHECKING:
    from manyview.cluster import NSMVC

# Rows that explanations and the report look at.
SAMPLE_ROWS = 5000
CONNECT_SECONDS = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class DaskRun:
    """A fit on a cluster.

    model : the fitted model with the labels of all rows; sample : the run as if it had
    been made on `SAMPLE_ROWS` of them; content : the summary, of all rows.
    """

    model: NSMVC
    sample: Run
    content: dict[str, Any]


@contextmanager
def connect(address: str) -> Iterator[None]:
    """A cluster to run on: ``local[N]``, or a scheduler's address."""
    distributed = import_extra("distributed", "dask", "--dask")
    # Interrupted, Dask's client leaves tasks behind that would be reported at length.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    local = re.fullmatch(r"local\[(\d+)\]", address)
    if local is None and "://" not in address:
        msg = f"{address!r} is neither local[N] nor an address such as tcp://host:8786."
        raise typer.BadParameter(msg, param_hint="--dask")
    if local is not None:
        with (
            _start_local(distributed, int(local[1])) as cluster,
            distributed.Client(cluster),
        ):
            yield
        return
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
    """Worker processes that leave Ctrl-C to this one: it reaches the whole terminal."""
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return distributed.LocalCluster(
            n_workers=max(1, n_workers),
            threads_per_worker=1,
            host="127.0.0.1",
            # Nobody but this machine may look on: the dashboard asks for no password.
            dashboard_address="127.0.0.1:0",
            silence_logs="ERROR",
        )
    finally:
        signal.signal(signal.SIGINT, handler)


def run_on_dask(
    request: Request, settings: dict[str, Any], *, address: str, command: str
) -> DaskRun:
    """Fit on a cluster, and look at a sample of the rows here."""
    from manyview.distributed import DaskNSMVC
    from manyview.distributed._inputs import take_rows

    estimator = DaskNSMVC(**settings)
    views = lazy_sources(request)
    started = time.perf_counter()
    with connect(address):
        try:
            with fit_progress(_render.err, estimator) as tell:
                estimator.fit(views, on_iteration=tell)
        except KeyboardInterrupt:
            if estimator.checkpoint is not None:
                _render.note("Repeat the command to go on from the checkpoint.")
            raise
        seconds = time.perf_counter() - started
        model = estimator.to_local()
        n_samples = len(model.labels_)
        rows = np.arange(n_samples)
        if n_samples > SAMPLE_ROWS:
            chosen = np.random.default_rng(0).choice(n_samples, SAMPLE_ROWS, False)
            rows = np.sort(chosen)
        some = take_rows(views, rows)
    sample = _sample_run(request, model, rows, some, seconds, command)
    content = summarise(sample)
    content["params"] = {
        name: None if value is None else str(value) if name == "checkpoint" else value
        for name, value in estimator.get_params().items()
    }
    content["method"] = "DaskNSMVC"
    content["data"] |= {"name": " + ".join(some), "n_samples": n_samples}
    content["sample"] = {
        "n_samples": len(rows),
        "for": "confidence, agreement, weights and the report",
    }
    sizes = np.bincount(model.labels_, minlength=model.n_clusters)
    for cluster in content["clusters"]:
        cluster["size"] = int(sizes[cluster["cluster"]])
    for v, view in enumerate(content["views"]):
        view["unexplained"] = float(model.unexplained_[v])
    return DaskRun(model=model, sample=sample, content=content)


def _sample_run(
    request: Request,
    model: NSMVC,
    rows: Any,
    views: dict[str, Any],
    seconds: float,
    command: str,
) -> Run:
    from manyview.explain import explain

    sample = copy.copy(model)
    sample.labels_ = model.labels_[rows]
    sample.joined_pace_ = model.joined_pace_[:, rows]
    name, n_samples = " + ".join(views), len(model.labels_)
    if len(rows) < n_samples:
        name = f"{name} (a sample of {len(rows):,} of {n_samples:,} rows)"
    data = MultiViewData(
        name=name,
        views=tuple(views.values()),
        view_names=tuple(views),
        sample_ids=rows.astype(str),
    )
    return Run(
        request=request,
        data=data,
        estimator=sample,
        explanation=explain(sample, views),
        choice=None,
        seconds=seconds,
        command=command,
    )
