"""`python -m benchmarks.cluster [ROWS]`: a Dask cluster on this machine.

Three float32 views of 20, 40 and 60 features as zarr on disk, workers of one thread
whose memory is smaller than the data, against the local solver on the same rows as
memory maps. Prints one table.
"""

import sys
import tempfile
import time
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
SETTINGS = {"n_clusters": 10, "n_init": 1, "n_paces": 3, "max_iter": 5}


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


def fit_on_cluster(path, n_workers, memory_limit):
    """Labels, seconds, peak MiB per worker and bytes per iteration."""
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            memory_limit=memory_limit,
            dashboard_address=None,
            host="127.0.0.1",
        ) as cluster,
        Client(cluster) as client,
    ):
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


def main(n_rows):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        views = write_memmaps(folder, n_rows, 10, WIDTHS)
        path = write_zarr(folder, views, CHUNK_ROWS)
        size = sum(view.nbytes for view in views)
        limit = max(int(0.6 * size), 1 << 30)
        here = fit_here(views)
        one, two = (fit_on_cluster(path, n, limit) for n in (1, 2))
    table = Table("run", "seconds", "s/iteration", "iterations", "peak MiB", "kB/iter.")
    for label, run in (
        ("local, memory maps, 2 threads", here),
        ("cluster, 1 worker", one),
        ("cluster, 2 workers", two),
    ):
        table.add_row(
            label,
            f"{run['seconds']:.1f}",
            f"{run['iteration']:.2f}",
            str(run["n_iter"]),
            f"{run['peak']:.0f}" if "peak" in run else "",
            f"{run['bytes'] / 1e3:.0f}" if "bytes" in run else "",
        )
    console = Console(width=100)
    console.print(table)
    console.print(
        f"{n_rows:,} rows, {size / 2**20:.0f} MiB; worker limit {limit / 2**20:.0f} MiB"
    )
    console.print(
        f"speed-up from 1 to 2 workers: {one['seconds'] / two['seconds']:.2f}"
    )
    same = all((run["labels"] == here["labels"]).mean() for run in (one, two))
    console.print(f"labels equal to the local run: {same}")


if __name__ == "__main__":
    main(int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else 5_000_000)
