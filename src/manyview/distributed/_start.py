"""Where runs on a cluster begin."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
from sklearn.utils.random import sample_without_replacement

from manyview._solvers._nsmvc import LoopState
from manyview._solvers._start import N_DRAFTS, draft_seeds, seeding_rows, seeds_at
from manyview.distributed import _blocks
from manyview.distributed._data import gather_rows
from manyview.distributed._samples import (
    DaskRows,
    DaskSamples,
    Run,
    map_parts,
    run_parts,
)
from manyview.exceptions import ViewError

RandomState = np.random.RandomState


def start_kmeans_plusplus(
    data: DaskRows, n_clusters: int, random_state: RandomState, n_drafts: int
) -> Run:
    """Seeds from a sample of the rows that fits this machine, as without a cluster."""
    rows = seeding_rows(data.n_samples, n_clusters, random_state)
    some = gather_rows(data, np.arange(data.n_samples) if rows is None else rows)
    n_drafts = n_drafts if rows is None else N_DRAFTS
    seeds = draft_seeds(some, n_clusters, random_state, n_drafts)
    parts = map_parts(_blocks.begin_at_seeds, data.rows, same=[seeds])
    kept, sums = run_parts(parts)
    centers = sums.means(seeds.centers(data.means_and_scatter[0]))
    return DaskSamples(data, kept, n_clusters), LoopState(centers=centers)


def start_random(data: DaskRows, n_clusters: int, random_state: RandomState) -> Run:
    """The paper's start. Not the draws of `NSMVC`: those take memory for all rows."""
    rows = sample_without_replacement(
        data.n_samples, n_clusters, random_state=random_state
    )
    seeds = seeds_at(
        gather_rows(data, np.sort(rows)), random_state.permutation(len(rows))
    )
    first_rows = np.cumsum([0, *data.lengths[:-1]]).tolist()
    same = [int(random_state.randint(2**31 - 1)), n_clusters]
    parts = map_parts(_blocks.begin_at_random, data.rows, first_rows, same=same)
    centers = seeds.centers(data.means_and_scatter[0])
    return DaskSamples(data, parts, n_clusters), LoopState(centers=centers)


def start_from_labels(data: DaskRows, labels: Any, n_clusters: int) -> Run:
    """Centres are the means of the given clusters, none of which may be empty."""
    pieces = _cut_labels(labels, data)
    kept, sums = run_parts(
        map_parts(_blocks.begin, data.rows, pieces, same=[n_clusters])
    )
    n_used = np.count_nonzero(sums.masses.sum(axis=0))
    if n_used < n_clusters:
        msg = (
            f"init labels use {n_used} of n_clusters={n_clusters} clusters. "
            "Every cluster needs a first member."
        )
        raise ViewError(msg)
    return DaskSamples(data, kept, n_clusters), LoopState(centers=sums.means())


def labels_digest(labels: Any, data: DaskRows) -> str:
    """What tells starting labels from others."""
    digests = map_parts(_blocks.content_digest, _cut_labels(labels, data))
    return "".join(dask.compute(*digests))


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
