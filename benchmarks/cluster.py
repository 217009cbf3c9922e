"""`python -m benchmarks.cluster [ROWS]`: a Dask cluster on this machine.

Three float32 views of 20, 40 and 60 features as zarr on disk, workers of one thread
whose memory is smaller than the data, against the local solver on the same rows as
memory maps. Prints one table.
"""

import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import dask
import numpy as np
import zarr
from distributed import Client, LocalCluster
from rich.console import Console
from rich.table import Table

from benchmarks.data import write_memmaps
from manyview import NSMVC
from manyview.distributed import DaskNSMVC

WIDTHS = (20, 40, 60)
CHUNK_ROWS = 250_000
SETTINGS = {"n_clusters": 10, "n_init": 1, "n_paces": 4, "max_iter": 10}
# Clusters that overlap, so that a fit does not end at once.
SPREAD = 0.35


def write_zarr(folder, views, chunk_rows):
    """One zarr array per view, in row chunks."""
    group = zarr.open_group(str(folder / "views.zarr"), mode="w")
    for v, view in enumerate(views):
        stored = group.create_array(
            f"view{v}",
            shape=view.shape,
            dtype=view.dtype,
            chunks=(min(chunk_rows, len(view)), view.shape[1]),
        )
        for start in range(0, len(view), chunk_rows):
            stored[start : start + chunk_rows] = view[start : start + chunk_rows]
    return folder / "views.zarr"


def worker_peak():
    """High-water mark of the worker's resident memory, in MiB."""
    from benchmarks.ratio import peak_bytes

    return peak_bytes() / 2**20


def loopback_bytes():
    """Bytes that went over the loopback device so far."""
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == "lo":
            return int(numbers.split()[0])
    msg = "no loopback device"
    raise OSError(msg)


@contextmanager
def local_cluster(n_workers, memory_limit):
    """The client of worker processes of one thread each."""
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            memory_limit=memory_limit,
            dashboard_address=":0",
            host="127.0.0.1",
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def fit_on_cluster(path, n_workers, memory_limit):
    """Labels, seconds, peak MiB per worker and bytes per iteration."""
    with local_cluster(n_workers, memory_limit) as client:
        warm_up()
        marks = []
        begin = time.perf_counter()
        model = DaskNSMVC(**SETTINGS, random_state=0).fit(
            path,
            on_iteration=lambda *_: marks.append(
                (time.perf_counter(), loopback_bytes())
            ),
        )
        seconds = time.perf_counter() - begin
        peaks = client.run(worker_peak).values()
        steps = np.diff(np.array(marks), axis=0)
        return {
            "labels": model.labels_.compute(),
            "seconds": seconds,
            "n_iter": model.n_iter_,
            "peak": max(peaks),
            "iteration": float(np.median(steps[:, 0])),
            "bytes": float(np.median(steps[:, 1])),
        }


def warm_up():
    """Compile and import on all workers."""
    rng = np.random.default_rng(0)
    views = [
        dask.array.from_array(rng.normal(size=(4000, 3)).astype(np.float32), (500, 3))
        for _ in WIDTHS
    ]
    DaskNSMVC(**SETTINGS, random_state=0).fit(views)


def fit_here(views):
    model = NSMVC(**SETTINGS, assignment="majorize", random_state=0)
    marks = []
    begin = time.perf_counter()
    model.fit(views, on_iteration=lambda *_: marks.append(time.perf_counter()))
    return {
        "labels": model.labels_,
        "seconds": time.perf_counter() - begin,
        "n_iter": model.n_iter_,
        "iteration": float(np.median(np.diff(marks))),
    }


def table_of(runs):
    table = Table("run", "seconds", "s/iteration", "iterations", "peak MiB", "kB/iter.")
    for name, run in runs.items():
        table.add_row(
            name,
            f"{run['seconds']:.1f}",
            f"{run['iteration']:.2f}",
            str(run["n_iter"]),
            f"{run['peak']:.0f}" if "peak" in run else "",
            f"{run['bytes'] / 1e3:.0f}" if "bytes" in run else "",
        )
    return table


def compare_workers(n_rows, console):
    """One machine, one worker, two workers; less memory per worker than data."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        views = write_memmaps(folder, n_rows, 10, WIDTHS, spread=SPREAD)
        path = write_zarr(folder, views, CHUNK_ROWS)
        size = sum(view.nbytes for view in views)
        limit = max(int(0.6 * size), 1 << 30)
        runs = {"local, memory maps, 2 threads": fit_here(views)}
        for n_workers in (1, 2):
            runs[f"cluster, {n_workers} worker(s)"] = fit_on_cluster(
                path, n_workers, limit
            )
    here, one, two = runs.values()
    console.print(table_of(runs))
    console.print(
        f"{n_rows:,} rows, {size / 2**20:.0f} MiB; worker limit {limit / 2**20:.0f} MiB"
    )
    console.print(f"speed-up, whole fit: {one['seconds'] / two['seconds']:.2f}")
    console.print(f"speed-up, iteration: {one['iteration'] / two['iteration']:.2f}")
    for run in (one, two):
        n_other = int((run["labels"] != here["labels"]).sum())
        console.print(f"labels that differ from the local run: {n_other}")


def compare_traffic(console):
    """Ten times the rows in as many parts: the same bytes on the wire."""
    runs = {}
    for n_rows in (200_000, 2_000_000):
        with tempfile.TemporaryDirectory() as name:
            views = write_memmaps(Path(name), n_rows, 10, WIDTHS, spread=SPREAD)
            path = write_zarr(Path(name), views, n_rows // 20)
            runs[f"2 workers, {n_rows:,} rows in 20 parts"] = fit_on_cluster(
                path, 2, 4 << 30
            )
    console.print(table_of(runs))


def main(n_rows):
    console = Console(width=100)
    compare_workers(n_rows, console)
    compare_traffic(console)


if __name__ == "__main__":
    main(int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else 5_000_000)
