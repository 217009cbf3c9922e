"""Graph views: spectral embeddings of each view's anchor graph and of all together.

Everything is learned from the anchors, at most a few thousand samples
(`_graph_learning.py`). All samples, those of the fit and new ones, are then placed by
their nearest anchors, so cost and memory are linear in the number of samples and a new
sample is placed as one of the fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
from scipy import sparse

from manyview._numerics import _anchors
from manyview._numerics._gram import Points
from manyview._numerics._graphs import unit_rows
from manyview._rows import PreparedPoints, Rows, n_rows
from manyview._scaling import ViewScale
from manyview._threads import map_threads, one_blas_thread
from manyview._typing import BoolArray, FloatArray, IntArray
from manyview._views import SCAN_ELEMENTS, row_blocks

# Diffusion coordinates beyond the n_components - 1 that tell that many clusters apart:
# the first ones may be spent on a few samples that hardly anything connects.
SPARE_COORDINATES = 2
# Candidates for the neighbours of a new sample, per neighbour.
CANDIDATES = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class AnchorGraph:
    """One view's anchors and what they map samples to.

    anchors : (n_anchors, n_features), scaled rows, no two of them equal.
    widths : per neighbourhood size (n_anchors,), local widths.
    smallest : per neighbourhood size, the width of samples with many equals.
    maps : for the smallest and the largest neighbourhood size (n_anchors,
    n_components); joint_maps : the same for every size.
    diffusion : (n_anchors, n_coordinates), of all views together.
    """

    anchors: Points
    widths: tuple[FloatArray, ...]
    smallest: tuple[float, ...]
    maps: tuple[FloatArray, ...]
    joint_maps: tuple[FloatArray, ...]
    diffusion: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphModel:
    """What `learn_graphs` learns and `place` needs.

    views : one graph per view, None for a view without two different samples.
    weights : (n_views,), shares of the views in the joint graph; they add up to 1.
    eigenvalues : (n_components,), of the joint graph, mean over neighbourhood sizes.
    n_neighbors : neighbourhood sizes, ascending.
    n_components : columns per neighbourhood size.
    complete : whether all samples of the fit are anchors.
    """

    views: tuple[AnchorGraph | None, ...]
    weights: FloatArray
    eigenvalues: FloatArray
    n_neighbors: tuple[int, ...]
    n_components: int
    complete: bool

    @property
    def n_coordinates(self) -> int:
        return self.n_components - 1 + SPARE_COORDINATES

    @property
    def n_anchors(self) -> int:
        """Anchors of the view that has most."""
        counts = [graph.anchors.shape[0] for graph in self.views if graph is not None]
        return max(counts, default=1)

    @property
    def widths(self) -> tuple[int, ...]:
        """Columns of each embedding: the views', the joint one, the diffusion."""
        own = self.n_components * len(ends(self.n_neighbors))
        joint = self.n_components * len(self.n_neighbors)
        return (*(own for _ in self.views), joint, self.n_coordinates)


Size = TypeVar("Size")

# Per view, samples that have it (positions) and, per neighbourhood size, their weights
# to the view's anchors; None for a view without graph.
Placement: TypeAlias = "Sequence[tuple[IntArray, Sequence[sparse.csr_array]] | None]"


def ends(sizes: Sequence[Size]) -> list[Size]:
    """The first and the last, or the only one.

    A view's own embedding takes two neighbourhood sizes: a third one between them adds
    little but time. The joint embedding takes all.
    """
    return [sizes[0], sizes[-1]] if len(sizes) > 1 else [sizes[0]]


def usable_views(
    rows: tuple[Rows, ...], scales: Sequence[ViewScale]
) -> list[BoolArray]:
    """Per view (n_samples,), samples that the view says something about.

    A row of zeros among rows of unit length (a text without words) is nearer to every
    other row than most of them are to each other. It would join what has nothing in
    common, so it counts as missing.
    """
    return [
        np.asarray(view.present & (view.sq_norms > 0.0))
        if scale.unit_rows
        else view.present
        for view, scale in zip(rows, scales, strict=True)
    ]


def place(
    model: GraphModel,
    views: tuple[Rows, ...],
    usable: Sequence[BoolArray],
    dtype: type[np.float32] | type[np.float64],
    placement: Placement | None = None,
    out_known: BoolArray | None = None,
    n_threads: int = 1,
) -> tuple[FloatArray, ...]:
    """Embeddings of samples: one per view, the joint one, the diffusion coordinates.

    The embedding of a view that a sample lacks is a row of NaN. A sample without any
    usable view is at the origin of the joint ones. placement : of these samples, if
    `learn_graphs` returned it. out_known : (n_samples,), cleared for samples that equal
    no anchor of one of their views.
    """
    n_samples = views[0].n_samples
    out = tuple(np.zeros((n_samples, width), dtype=dtype) for width in model.widths)
    if placement is not None:
        _embed(model, placement, out)
        return out
    anchors = [
        None if graph is None else view.prepare_points(graph.anchors)
        for graph, view in zip(model.views, views, strict=True)
    ]

    def place_block(block: slice) -> None:
        known = None if out_known is None else out_known[block]
        found = [
            None
            if graph is None or points is None
            else _weights_to_anchors(
                graph, points, view, block, mask, model.n_neighbors, known
            )
            for graph, points, view, mask in zip(
                model.views, anchors, views, usable, strict=True
            )
        ]
        _embed(model, found, tuple(part[block] for part in out))

    blocks = list(row_blocks(n_samples, model.n_anchors, SCAN_ELEMENTS))
    # Most of a block's time goes into products and kernels, with a block per thread.
    with one_blas_thread() if n_threads > 1 else nullcontext():
        map_threads(place_block, blocks, n_threads, [n_rows(block) for block in blocks])
    return out


def _embed(
    model: GraphModel, placement: Placement, out: tuple[FloatArray, ...]
) -> None:
    """Write the embeddings of samples from their weights to the anchors."""
    *own, joint, diffusion = out
    has = np.zeros((len(placement), len(joint)), dtype=bool)
    for v, known in enumerate(placement):
        if known is not None:
            has[v, known[0]] = True
    shares = sample_shares(model.weights, has)
    sums = np.zeros((len(model.n_neighbors), len(joint), model.n_components))
    for v, (graph, known) in enumerate(zip(model.views, placement, strict=True)):
        own[v][:] = np.nan
        if graph is None or known is None:
            continue
        rows, weights = known
        parts = [w @ m for w, m in zip(ends(weights), graph.maps, strict=True)]
        own[v][rows] = _side_by_side(parts)
        share = shares[v, rows, None]
        for total, w, m in zip(sums, weights, graph.joint_maps, strict=True):
            total[rows] += share * (w @ m)
        diffusion[rows] += share * (weights[-1] @ graph.diffusion)
    joint[:] = _side_by_side(list(sums))


def nearest_anchors(
    distances: FloatArray, n_nearest: int
) -> tuple[IntArray, FloatArray]:
    """Nearest of the anchors, columns of `distances`, and how far they are."""
    n_nearest = min(n_nearest, distances.shape[1])
    nearest = np.empty((len(distances), n_nearest), dtype=np.int32)
    found = np.empty((len(distances), n_nearest))
    _anchors.nearest_anchors(distances, nearest, found)
    return nearest, found


def sample_shares(weights: FloatArray, has: BoolArray) -> FloatArray:
    """(n_views, n_samples), shares of the views in a sample; they sum to 1, or 0."""
    shares = weights[:, None] * has
    shares = np.where(shares.sum(axis=0) > 0.0, shares, has)
    return np.asarray(shares / np.maximum(shares.sum(axis=0), np.finfo(float).tiny))


def _weights_to_anchors(
    graph: AnchorGraph,
    anchors: PreparedPoints,
    view: Rows,
    block: slice,
    usable: BoolArray,
    n_neighbors: tuple[int, ...],
    out_known: BoolArray | None,
) -> tuple[IntArray, list[sparse.csr_array]] | None:
    """One view's part of a placement, for a block of samples."""
    rows = np.flatnonzero(usable[block])
    if not rows.size:
        return None
    values = view.read(block, view.buffer())
    distances = view.distances_to(values, block, anchors)
    if len(rows) < len(distances):
        distances = distances[rows]
    most = max(n_neighbors)
    nearest, found = nearest_anchors(distances, CANDIDATES * most + 1)
    new = found[:, 0] > 0.0
    if out_known is not None:
        out_known[rows[new]] = False
    sizes = [min(size, found.shape[1] - 1) for size in n_neighbors]
    widths = [
        np.where(
            new,
            _anchors.local_widths(found, max(1, size - 1), smallest),
            _anchors.local_widths(found, size, smallest),
        )
        for size, smallest in zip(sizes, graph.smallest, strict=True)
    ]
    if new.any():
        _prefer_heavy(nearest, found, new, graph.widths[-1], max(1, most - 1))
    return rows, [
        _neighborhood(nearest, found, new, width, own, size)
        for size, width, own in zip(sizes, widths, graph.widths, strict=True)
    ]


def _prefer_heavy(
    nearest: IntArray,
    found: FloatArray,
    new: BoolArray,
    anchor_widths: FloatArray,
    n_preferred: int,
) -> None:
    """Put the candidates of largest weight first, for samples that equal no anchor.

    The nearest ones by distance would be those that are near to everything. Updates
    `nearest` and `found`.
    """
    relative = found[new] / anchor_widths[nearest[new]]
    places, _ = nearest_anchors(relative, n_preferred)
    for values in (nearest, found):
        values[new, :n_preferred] = np.take_along_axis(values[new], places, axis=1)


def _neighborhood(
    nearest: IntArray,
    found: FloatArray,
    new: BoolArray,
    widths: FloatArray,
    anchor_widths: FloatArray,
    size: int,
) -> sparse.csr_array:
    """Weights of samples to their neighbours, for one neighbourhood size.

    An anchor is the first of its own neighbours. A sample that equals none has one
    neighbour less.
    """
    found = found[:, :size]
    if size > 1:
        found = np.where(new[:, None] & (np.arange(size) == size - 1), np.inf, found)
    return _anchors.self_tuning_weights(nearest, found, widths, anchor_widths, size)


def _side_by_side(parts: Sequence[FloatArray]) -> FloatArray:
    """Rows of unit length from every neighbourhood size, of unit length together."""
    return np.asarray(
        np.hstack([unit_rows(part) for part in parts]) / np.sqrt(len(parts))
    )
