"""Tasks that workers run on their part of the rows, by the solvers of one machine.

The functions are pure: a part that is lost with its worker is computed again, from the
same arguments, to the same bits.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import numpy.typing as npt
from dask.sizeof import sizeof
from scipy import sparse

from manyview._files import naming
from manyview._rows import Rows, open_views
from manyview._scaling import ViewScale
from manyview._solvers._cluster_sums import ClusterSums, member_sums
from manyview._solvers._graph_views import GraphModel
from manyview._solvers._local import LocalSamples
from manyview._solvers._nearest import fused_scores
from manyview._solvers._start import Seeds, nearest_seeds
from manyview._solvers._state import SampleState
from manyview._typing import BoolArray, FloatArray, IntArray
from manyview._views import SCAN_ELEMENTS, ViewSet, release_pages, row_blocks
from manyview.cluster import NSMVC
from manyview.embedding._graph_views import place_views
from manyview.exceptions import ViewError

# Random labels are drawn in panels of so many rows, whatever the chunks.
PANEL_ROWS = 1 << 16


class SpooledArray(np.memmap[Any, Any]):
    """An array in a scratch file that vanishes with it, even if its process is killed.

    Sent to another worker, it goes into a scratch file there.
    """

    def __reduce__(self) -> Any:
        return spooled, (self.view(np.ndarray),)


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """The samples of a part after an operation, and its report to the driver."""

    state: SampleState
    report: Any = None


# Sizes by which Dask decides where to run a task and when to spill. What is on disk
# counts a little too: Dask moves a part of size 0 between workers.
sizeof.register(Rows, lambda rows: rows.nbytes + rows.n_samples * rows.n_features // 4)
sizeof.register(SpooledArray, lambda array: array.nbytes // 16)
sizeof.register(ViewSet, lambda views: sum(map(sizeof, views.arrays)))
sizeof.register(Part, lambda part: part.state.nbytes)


def release(rows: tuple[Rows, ...]) -> None:
    """Free the pages read: a worker has many parts, and they would add up."""
    for view in rows:
        view.release()


def merge(first: Any, second: Any) -> Any:
    """Reports of two parts as one, in order; tuples entry by entry."""
    if isinstance(first, tuple):
        return tuple(map(merge, first, second))
    return first.merge(second) if hasattr(first, "merge") else first + second


def store(views: ViewSet, on_disk: bool) -> ViewSet:
    """The views, with dense arrays moved to scratch files if they are kept on disk."""
    if not on_disk:
        return views
    arrays = [
        array if sparse.issparse(array) else spooled(array) for array in views.arrays
    ]
    return replace(views, arrays=tuple(arrays))


def spooled(array: npt.NDArray[Any]) -> SpooledArray:
    """A copy of the array on this worker's disk."""
    try:
        folder = str(distributed.get_worker().local_directory)
    except ValueError:
        folder = tempfile.gettempdir()
    # The file has no name from the beginning: nothing is left to tidy up.
    with naming(Path(folder)), tempfile.TemporaryFile(dir=folder) as file:
        # Not tofile, which does not say why it failed.
        file.write(np.ascontiguousarray(array).data)
        file.flush()
        stored = np.memmap(file, dtype=array.dtype, mode="r", shape=array.shape)
    return stored.view(SpooledArray)


def per_view(
    views: ViewSet, function: Callable[..., Any], *more: tuple[Any, ...]
) -> tuple[Any, ...]:
    """``function(array, present, ...)`` of every view; more : arguments per view."""
    found = tuple(map(function, views.arrays, views.present, *more))
    for array in views.arrays:
        release_pages(array)
    return found


def content_digest(array: Any, present: BoolArray | None = None) -> str:
    """A short digest of values, dense or CSR, and of the rows that are present."""
    found = hashlib.blake2b(str(array.shape).encode(), digest_size=8)
    csr = not isinstance(array, np.ndarray)
    pieces = [array.indptr, array.indices, array.data] if csr else [array]
    for piece in pieces if present is None else [*pieces, present]:
        n_columns = piece.shape[1] if piece.ndim > 1 else 1
        for block in row_blocks(len(piece), n_columns, SCAN_ELEMENTS):
            release_pages(piece)
            found.update(np.ascontiguousarray(piece[block], dtype=np.float64).data)
    return found.hexdigest()


def open_rows(
    views: ViewSet, scales: tuple[ViewScale, ...], keep_scaled: bool, n_samples: int
) -> tuple[Rows, ...]:
    """Scaled rows of one part of `n_samples`."""
    rows = open_views(views, scales, keep_scaled=keep_scaled, n_samples=n_samples)
    release(rows)
    return rows


def totals_of(rows: tuple[Rows, ...]) -> tuple[tuple[FloatArray, float, int], ...]:
    """Per view the summed rows, their summed squared lengths and their number."""
    counts = [int(view.present.sum()) for view in rows]
    return tuple(
        (view.mean * count, float(view.sq_norms.sum()), count)
        for view, count in zip(rows, counts, strict=True)
    )


def pick_scaled(
    rows: tuple[Rows, ...], wanted: IntArray
) -> list[tuple[Any, BoolArray]]:
    """Per view, some scaled rows of a part and which of them are present."""
    found = [(view.scaled(wanted), view.present[wanted]) for view in rows]
    release(rows)
    return found


def begin(rows: tuple[Rows, ...], labels: IntArray, n_clusters: int) -> Part:
    """Given labels, and the sums that the first centres follow from."""
    labels = np.asarray(labels)
    if labels.dtype.kind not in "iu" or not (
        labels.min(initial=0) >= 0 and labels.max(initial=0) < n_clusters
    ):
        msg = (
            f"init labels (dtype {labels.dtype}) run from {labels.min()} to "
            f"{labels.max()}, expected whole numbers from 0 to {n_clusters - 1}."
        )
        raise ViewError(msg)
    # Kernels know the machine's own integers only.
    labels = labels.astype(np.intp, copy=False)
    sums = member_sums(rows, labels, n_clusters)
    release(rows)
    return Part(state=SampleState.begin(labels, len(rows)), report=sums)


def begin_at_seeds(rows: tuple[Rows, ...], seeds: Seeds) -> Part:
    """Labels of the nearest seeds."""
    return begin(rows, nearest_seeds(rows, seeds), len(seeds.points[0]))


def random_labels(first_row: int, n_rows: int, seed: int, n_clusters: int) -> IntArray:
    """Random labels of a part, which do not depend on how the rows are cut."""
    first, stop = first_row // PANEL_ROWS, -(-(first_row + n_rows) // PANEL_ROWS)
    panels = [
        np.random.default_rng([seed, panel]).integers(n_clusters, size=PANEL_ROWS)
        for panel in range(first, stop)
    ]
    skipped = first_row % PANEL_ROWS
    return np.concatenate(panels)[skipped : skipped + n_rows]


def labelled(labels: IntArray, n_views: int) -> Part:
    """Given labels, without sums."""
    return Part(state=SampleState.begin(labels, n_views))


def operate(
    rows: tuple[Rows, ...],
    part: Part,
    number: int,
    operation: Callable[..., Any],
    arguments: tuple[Any, ...],
    n_clusters: int,
    save: Callable[[int, SampleState], None] | None,
) -> Part:
    """Let an operation on `LocalSamples` work on a copy of the part's samples.

    Their sums start at 0. What the operation returns is the report. save : writes the
    new state of the part with its number, if given.
    """
    samples = LocalSamples(rows, part.state.copy(), n_clusters)
    report = operation(samples, *arguments)
    release(rows)
    if save is not None:
        save(number, samples.state)
    return Part(state=samples.state, report=report)


def select(
    samples: LocalSamples, thresholds: FloatArray, pace: int
) -> tuple[ClusterSums, FloatArray]:
    """Reports the changes of the sums, and the selected energy, (n_views,)."""
    samples.select(thresholds, pace)
    return samples.clusters, samples.energy


def embed(
    rows: tuple[Rows, ...],
    model: tuple[GraphModel, tuple[ViewScale, ...], tuple[str, ...]],
    on_disk: bool,
) -> ViewSet:
    """Embeddings of a part; model : graphs, scales and names of the views."""
    graph, scales, names = model
    placed = place_views(graph, rows, scales, names, np.float32, n_threads=1)
    release(rows)
    return store(placed, on_disk)


def transform(rows: tuple[Rows, ...], model: NSMVC) -> FloatArray:
    found = fused_scores(rows, model._centers, model._score_weights)
    return np.concatenate([np.sqrt(scores) for _, scores in found])
