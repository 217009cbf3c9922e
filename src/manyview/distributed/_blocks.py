"""Tasks that workers run on their part of the rows, by the solvers of one machine.

The functions are pure: a part that is lost with its worker is computed again, from the
same arguments, to the same bits.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import numpy.typing as npt
from dask.sizeof import sizeof
from scipy import sparse

from manyview._files import naming
from manyview._rows import Rows, open_views
from manyview._scaling import (
    FeatureRange,
    Moments,
    ViewScale,
    feature_moments,
    feature_range,
)
from manyview._solvers._cluster_sums import member_sums
from manyview._solvers._graph_views import GraphModel
from manyview._solvers._local import LocalSamples
from manyview._solvers._nearest import fused_scores
from manyview._solvers._start import Seeds, nearest_seeds
from manyview._solvers._state import SampleState
from manyview._typing import BoolArray, FloatArray, IntArray
from manyview._views import SCAN_ELEMENTS, ViewSet, release_pages, row_blocks
from manyview.cluster import NSMVC
from manyview.distributed._snapshot import read_state, write_state
from manyview.embedding._graph_views import place_views
from manyview.exceptions import ViewError

Centers = tuple[FloatArray, ...]

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


@sizeof.register(Rows)
def _rows_size(rows: Rows) -> int:
    """Size by which Dask decides where to run a task and when to spill."""
    # Rows on disk count a little too: Dask moves a part of size 0 between workers.
    return rows.nbytes + rows.n_samples * rows.n_features // 4


@sizeof.register(SpooledArray)
def _spooled_size(array: SpooledArray) -> int:
    return array.nbytes // 16


@sizeof.register(ViewSet)
def _views_size(views: ViewSet) -> int:
    return sum(int(sizeof(array)) for array in views.arrays)


@sizeof.register(Part)
def _part_size(part: Part) -> int:
    return part.state.nbytes


def report_of(part: Part) -> Any:
    return part.report


def merge_reports(found: list[Any]) -> Any:
    """Reports of some parts as one, in order; tuples entry by entry."""
    return reduce(_merge, found)


def _merge(first: Any, second: Any) -> Any:
    if isinstance(first, tuple):
        return tuple(map(_merge, first, second))
    return first.merge(second) if hasattr(first, "merge") else first + second


def keep(views: ViewSet) -> ViewSet:
    return views


def spool(views: ViewSet) -> ViewSet:
    """The views, with dense arrays moved from memory to a scratch file."""
    arrays = [
        array if sparse.issparse(array) else spooled(array) for array in views.arrays
    ]
    return replace(views, arrays=tuple(arrays))


def spooled(array: npt.NDArray[Any]) -> SpooledArray:
    """A copy of the array on this worker's disk."""
    # The file has no name from the beginning: nothing is left to tidy up.
    folder = _scratch_folder()
    with naming(Path(folder)), tempfile.TemporaryFile(dir=folder) as file:
        # Not tofile, which does not say why it failed.
        file.write(np.ascontiguousarray(array).data)
        file.flush()
        stored = np.memmap(file, dtype=array.dtype, mode="r", shape=array.shape)
    return stored.view(SpooledArray)


def _scratch_folder() -> str:
    try:
        return str(distributed.get_worker().local_directory)
    except ValueError:
        return tempfile.gettempdir()


def open_rows(
    views: ViewSet,
    scales: tuple[ViewScale, ...],
    keep_scaled: bool,
    n_samples: int | None = None,
) -> tuple[Rows, ...]:
    """Scaled rows of one part of `n_samples`."""
    rows = open_views(views, scales, keep_scaled=keep_scaled, n_samples=n_samples)
    for view in rows:
        view.release()
    return rows


def ranges_of(views: ViewSet) -> tuple[FeatureRange, ...]:
    """First pass of scaling."""
    return _per_view(feature_range, views)


def moments_of(
    views: ViewSet, found: tuple[FeatureRange, ...], modes: tuple[str | None, ...]
) -> tuple[Moments, ...]:
    """Second pass of scaling."""
    return _per_view(feature_moments, views, found, modes)


def contents_of(views: ViewSet) -> tuple[str, ...]:
    """A digest of the values of a part, per view."""
    return _per_view(content_digest, views)


def _per_view(
    function: Callable[..., Any], views: ViewSet, *more: Sequence[Any]
) -> tuple[Any, ...]:
    found = tuple(map(function, views.arrays, views.present, *more))
    # Free the pages read: a worker has many parts, and they would add up.
    for array in views.arrays:
        release_pages(array)
    return found


def content_digest(array: Any, present: BoolArray | None = None) -> str:
    """A short digest of values, dense or CSR, and of the rows that are present."""
    found = hashlib.blake2b(str(array.shape).encode(), digest_size=8)
    if isinstance(array, np.ndarray):
        n_columns = array.shape[1] if array.ndim > 1 else 1
        for block in row_blocks(len(array), n_columns, SCAN_ELEMENTS):
            release_pages(array)
            found.update(np.ascontiguousarray(array[block], dtype=np.float64).data)
    else:
        for index in (array.indptr, array.indices):
            found.update(np.ascontiguousarray(index, dtype=np.int64).data)
        found.update(np.ascontiguousarray(array.data, dtype=np.float64).data)
    if present is not None:
        found.update(np.ascontiguousarray(present).data)
    return found.hexdigest()


def totals_of(rows: tuple[Rows, ...]) -> tuple[tuple[FloatArray, float, int], ...]:
    """Per view the summed rows, their summed squared lengths and their number."""
    counts = [int(view.present.sum()) for view in rows]
    return tuple(
        (view.mean * count, float(view.sq_norms.sum()), count)
        for view, count in zip(rows, counts, strict=True)
    )


def pick_scaled(rows: tuple[Rows, ...], wanted: IntArray) -> ViewSet:
    """Some scaled rows of a part."""
    arrays = tuple(view.scaled(wanted) for view in rows)
    for view in rows:
        view.release()
    present = tuple(view.present[wanted] for view in rows)
    names = tuple(f"view{v}" for v in range(len(rows)))
    return ViewSet(arrays=arrays, present=present, names=names)


def join_rows(parts: list[ViewSet]) -> ViewSet:
    """The rows of all parts, in order."""
    arrays = zip(*(part.arrays for part in parts), strict=True)
    masks = zip(*(part.present for part in parts), strict=True)
    return ViewSet(
        arrays=tuple(_stack(pieces) for pieces in arrays),
        present=tuple(np.concatenate(pieces) for pieces in masks),
        names=parts[0].names,
    )


def _stack(arrays: Sequence[Any]) -> Any:
    if sparse.issparse(arrays[0]):
        return sparse.vstack(arrays, "csr")
    return np.concatenate(arrays)


def begin_at_seeds(rows: tuple[Rows, ...], seeds: Seeds) -> Part:
    """Labels of the nearest seeds."""
    return begin(rows, nearest_seeds(rows, seeds), len(seeds.points[0]))


def begin_at_random(
    rows: tuple[Rows, ...], first_row: int, seed: int, n_clusters: int
) -> Part:
    """Random labels that do not depend on how the rows are cut."""
    stop = first_row + rows[0].n_samples
    panels = [
        np.random.default_rng([seed, panel]).integers(n_clusters, size=PANEL_ROWS)
        for panel in range(first_row // PANEL_ROWS, -(-stop // PANEL_ROWS))
    ]
    skipped = first_row % PANEL_ROWS
    labels = np.concatenate(panels)[skipped : skipped + rows[0].n_samples]
    return Part(state=SampleState.begin(labels, len(rows)))


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
    for view in rows:
        view.release()
    return Part(state=SampleState.begin(labels, len(rows)), report=sums)


def resume(path: Path, n_rows: int, n_views: int, n_clusters: int) -> Part:
    """A part as a checkpoint has it."""
    return Part(state=read_state(path, n_rows, n_views, n_clusters))


def measure(rows: tuple[Rows, ...], part: Part, centers: Centers) -> Part:
    with _samples(rows, part, len(centers[0])) as samples:
        report = samples.measure(centers)
    return Part(state=samples.state, report=report)


def select(
    rows: tuple[Rows, ...],
    part: Part,
    thresholds: FloatArray,
    pace: int,
    n_clusters: int,
) -> Part:
    """Reports the changes of the sums, and the selected energy, (n_views,)."""
    with _samples(rows, part, n_clusters) as samples:
        samples.select(thresholds, pace)
    return Part(state=samples.state, report=(samples.clusters, samples.energy))


def loss_of_selected(
    rows: tuple[Rows, ...], part: Part, v: int, centers: FloatArray
) -> float:
    with _samples(rows, part, len(centers)) as samples:
        return samples.loss_of_selected(v, centers)


def sweep(
    rows: tuple[Rows, ...],
    part: Part,
    path: Path | None,
    step: tuple[Centers, FloatArray, FloatArray],
) -> Part:
    """The majorizing step; with a `path` the new state is written there as well.

    step : centres, view losses and exponents.
    """
    centers, view_losses, exponents = step
    with _samples(rows, part, len(centers[0])) as samples:
        report = samples.sweep_at_once(centers, view_losses, exponents)
    if path is not None:
        write_state(path, samples.state)
    return Part(state=samples.state, report=report)


def begin_nearest(rows: tuple[Rows, ...], model: NSMVC) -> Part:
    """Labels of the nearest centres of a fitted model."""
    return Part(state=SampleState.begin(model._nearest(rows), len(rows)))


def embed(
    rows: tuple[Rows, ...],
    model: tuple[GraphModel, tuple[ViewScale, ...], tuple[str, ...]],
    store: Callable[[ViewSet], ViewSet],
) -> ViewSet:
    """Embeddings of a part; model : graphs, scales and names of the views."""
    graph, scales, names = model
    placed = place_views(graph, rows, scales, names, np.float32)
    for view in rows:
        view.release()
    return store(placed)


def open_checked(views: ViewSet, model: NSMVC) -> tuple[Rows, ...]:
    """The rows that a fitted model takes distances of."""
    return model._open_checked(views)


def predict(views: ViewSet, model: NSMVC) -> IntArray:
    return model._nearest(model._open_checked(views))


def transform(views: ViewSet, model: NSMVC) -> FloatArray:
    rows = model._open_checked(views)
    found = fused_scores(rows, model._centers, model._score_weights)
    return np.concatenate([np.sqrt(scores) for _, scores in found])


@contextmanager
def _samples(
    rows: tuple[Rows, ...], part: Part, n_clusters: int
) -> Iterator[LocalSamples]:
    """The part's samples, with a copy of their state and sums that start at 0."""
    yield LocalSamples(rows, part.state.copy(), n_clusters)
    for view in rows:
        view.release()
