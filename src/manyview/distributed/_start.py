"""Where runs on a cluster begin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dask
import dask.array as da
import numpy as np
from sklearn.utils.random import sample_without_replacement

from manyview._solvers._nsmvc import LoopState
from manyview._solvers._start import N_DRAFTS, draft_seeds, seeding_rows, seeds_at
from manyview._typing import FloatArray
from manyview.distributed import _blocks
from manyview.distributed._data import gather_rows
from manyview.distributed._samples import DaskRows, DaskSamples, map_parts, run_parts
from manyview.exceptions import ViewError

RandomState = np.random.RandomState


def start_samples(
    data: DaskRows,
    X: Any,
    init: Any,
    n_clusters: int,
    random_state: RandomState,
    *,
    n_drafts: int,
) -> tuple[DaskSamples, LoopState]:
    """Samples and first centres by the `init` parameter of the estimator."""
    if isinstance(init, str):
        if init == "random":
            return _random(data, n_clusters, random_state)
        return _kmeans_plusplus(data, n_clusters, random_state, n_drafts)
    labels = init(X, n_clusters, random_state) if callable(init) else init
    pieces = _cut_labels(labels, data)
    parts = map_parts(_blocks.begin, data.rows, pieces, same=[n_clusters])
    return _from_parts(data, parts, n_clusters, None)


def identify_start(init: Any, data: DaskRows) -> str:
    """A name for the `init` parameter; labels are told apart by their values."""
    if isinstance(init, str):
        return init
    if callable(init):
        return "callable"
    pieces = _cut_labels(init, data)
    return "".join(dask.compute(*map_parts(_blocks.content_digest, pieces)))


def _kmeans_plusplus(
    data: DaskRows, n_clusters: int, random_state: RandomState, n_drafts: int
) -> tuple[DaskSamples, LoopState]:
    """Seeds from a sample of the rows that fits this machine, as without a cluster."""
    rows = seeding_rows(data.n_samples, n_clusters, random_state)
    some = gather_rows(data, np.arange(data.n_samples) if rows is None else rows)
    n_drafts = n_drafts if rows is None else N_DRAFTS
    seeds = draft_seeds(some, n_clusters, random_state, n_drafts)
    parts = map_parts(_blocks.begin_at_seeds, data.rows, same=[seeds])
    return _from_parts(data, parts, n_clusters, seeds.centers(data.means))


def _random(
    data: DaskRows, n_clusters: int, random_state: RandomState
) -> tuple[DaskSamples, LoopState]:
    """The paper's start. Not the draws of `NSMVC`: those take memory for all rows."""
    rows = sample_without_replacement(
        data.n_samples, n_clusters, random_state=random_state
    )
    seeds = seeds_at(
        gather_rows(data, np.sort(rows)), random_state.permutation(len(rows))
    )
    same = [int(random_state.randint(2**31 - 1)), n_clusters]
    parts = map_parts(_blocks.begin_at_random, data.rows, data.starts, same=same)
    samples = DaskSamples(data, dask.persist(*parts), n_clusters)
    return samples, LoopState(centers=seeds.centers(data.means))


def _cut_labels(labels: Any, data: DaskRows) -> list[Any]:
    """The labels of each part, lazily."""
    if not isinstance(labels, da.Array):
        labels = da.from_array(np.asarray(labels))
    if labels.shape != (data.n_samples,):
        msg = (
            f"init labels have shape {labels.shape}, expected ({data.n_samples},): one "
            "label per sample."
        )
        raise ViewError(msg)
    return list(labels.rechunk((data.lengths,)).to_delayed().ravel())


def _from_parts(
    data: DaskRows,
    parts: Sequence[Any],
    n_clusters: int,
    fallback: tuple[FloatArray, ...] | None,
) -> tuple[DaskSamples, LoopState]:
    kept, sums = run_parts(parts)
    empty = np.flatnonzero(sums.masses.sum(axis=0) == 0)
    if fallback is None and empty.size:
        msg = (
            f"init labels use {n_clusters - empty.size} of n_clusters={n_clusters} "
            "clusters. Every cluster needs a first member."
        )
        raise ViewError(msg)
    return DaskSamples(data, kept, n_clusters), LoopState(centers=sums.means(fallback))
