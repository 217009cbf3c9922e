"""Graph views: spectral embeddings of each view's anchor graph and of all together.

Everything is learned from the anchors, at most a few thousand samples. All samples,
those of the fit and new ones, are then placed by their nearest anchors, so cost and
memory are linear in the number of samples and a new sample is placed as one of the fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np
from scipy import sparse

from manyview._numerics import _anchors
from manyview._numerics._diffusion import (
    DIFFUSION_NEIGHBORS,
    diffusion_vectors,
    neighbor_affinity,
    structure_strength,
)
from manyview._numerics._gram import Points
from manyview._numerics._graphs import unit_rows
from manyview._rows import Rows, distances_between
from manyview._scaling import ViewScale
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


@dataclass(frozen=True, kw_only=True, slots=True)
class _Draft:
    """One view while its graph is being learned.

    rows : (n_here,), positions among the drawn samples of those that have the view.
    first : (n_anchors,), positions among `rows` of the anchors.
    graphs : per neighbourhood size (n_here, n_anchors), weights that sum to 1.
    affinity : (n_here, n_here), symmetric neighbour graph; strength : how much of its
    structure concerns how many samples.
    """

    rows: IntArray
    first: IntArray
    anchors: Points
    widths: tuple[FloatArray, ...]
    smallest: tuple[float, ...]
    graphs: tuple[sparse.csr_array, ...]
    affinity: sparse.csr_array
    strength: float


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


def draw_anchors(
    n_samples: int, n_anchors: int, random_state: np.random.RandomState
) -> IntArray:
    """Samples that graphs are learned from, in ascending order."""
    if n_samples <= n_anchors:
        return np.arange(n_samples)
    return np.sort(random_state.choice(n_samples, n_anchors, replace=False))


def learn_graphs(
    views: tuple[Rows, ...],
    usable: Sequence[BoolArray],
    *,
    n_components: int,
    n_neighbors: tuple[int, ...],
    n_anchors: int,
    random_state: np.random.RandomState,
    n_threads: int,
) -> tuple[GraphModel, Placement | None]:
    """Anchor graphs of the views and of all together.

    usable : per view (n_samples,), see `usable_views`. Up to `n_anchors` samples all
    serve as anchors, and where they lie comes with the model; of more samples a random
    part are anchors. Threads learn the views' graphs side by side.
    """
    n_samples = views[0].n_samples
    drawn = draw_anchors(n_samples, n_anchors, random_state)
    n_neighbors = _within_clusters(n_neighbors, len(drawn) // n_components)
    known = [np.flatnonzero(mask[drawn]) for mask in usable]
    # Of many samples, finding their nearest anchors takes longer than learning, and
    # memory is scarce: every thread holds distances between all anchors.
    all_drawn = len(drawn) == n_samples
    with ThreadPoolExecutor(n_threads if all_drawn else 1) as pool:
        draft = partial(
            _draft, drawn=drawn, n_components=n_components, n_neighbors=n_neighbors
        )
        # The widest views begin first, so that threads end together.
        order = sorted(range(len(views)), key=lambda v: -views[v].n_features)
        running = {v: pool.submit(draft, views[v], known[v]) for v in order}
        drafts = [running[v].result() for v in range(len(views))]
        weights = _view_weights(drafts)
        together = (drafts, weights, len(drawn), n_components)
        joint_maps = pool.submit(_joint_maps, *together)
        joint_diffusion = pool.submit(_joint_diffusion, *together)
        own = list(pool.map(partial(_own_maps, n_components=n_components), drafts))
        joint, eigenvalues = joint_maps.result()
        diffusion = joint_diffusion.result()
    model = GraphModel(
        views=tuple(
            None
            if draft is None
            else AnchorGraph(
                anchors=draft.anchors,
                widths=draft.widths,
                smallest=draft.smallest,
                maps=own[v],
                joint_maps=joint[v],
                diffusion=diffusion[draft.rows[draft.first]],
            )
            for v, draft in enumerate(drafts)
        ),
        weights=weights,
        eigenvalues=eigenvalues,
        n_neighbors=n_neighbors,
        n_components=n_components,
        complete=all_drawn,
    )
    if not all_drawn:
        return model, None
    return model, [
        None if draft is None else (draft.rows, draft.graphs) for draft in drafts
    ]


def _within_clusters(n_neighbors: tuple[int, ...], mean_size: int) -> tuple[int, ...]:
    """Neighbourhood sizes of at most a cluster's mean size, and at least one.

    A larger neighbourhood joins clusters. The smallest size stays as it is.
    """
    most = max(mean_size, n_neighbors[0])
    return tuple(sorted({min(size, most) for size in n_neighbors}))


def place(
    model: GraphModel,
    views: tuple[Rows, ...],
    usable: Sequence[BoolArray],
    dtype: type[np.float32] | type[np.float64],
    placement: Placement | None = None,
    out_known: BoolArray | None = None,
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
    for block in row_blocks(n_samples, model.n_anchors, SCAN_ELEMENTS):
        known = None if out_known is None else out_known[block]
        found = [
            None
            if graph is None
            else _weights_to_anchors(graph, view, block, mask, model.n_neighbors, known)
            for graph, view, mask in zip(model.views, views, usable, strict=True)
        ]
        _embed(model, found, tuple(part[block] for part in out))
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
    shares = _shares(model.weights, has)
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


def _draft(
    view: Rows,
    rows: IntArray,
    *,
    drawn: IntArray,
    n_components: int,
    n_neighbors: tuple[int, ...],
) -> _Draft | None:
    if len(rows) < 2:
        return None
    points = view.points(drawn[rows])
    distances = distances_between(points, view.precision)
    np.fill_diagonal(distances, 0.0)
    equals = np.empty(len(rows), dtype=np.intp)
    _anchors.first_equals(distances, equals)
    first = np.flatnonzero(equals == np.arange(len(rows)))
    if len(first) < 2:
        return None
    nearest, found = _nearest(distances, first, max(n_neighbors) + 1)
    sizes = [min(size, len(first) - 1) for size in n_neighbors]
    smallest = tuple(_anchors.smallest_width(found[first], size) for size in sizes)
    widths = [
        _anchors.local_widths(found, size, least)
        for size, least in zip(sizes, smallest, strict=True)
    ]
    graphs = tuple(
        _anchors.self_tuning_weights(nearest, found, width, width[first], size)
        for size, width in zip(sizes, widths, strict=True)
    )
    others = _nearest_others(distances, first, equals, nearest, found)
    affinity = neighbor_affinity(*others)
    values, vectors, degrees = diffusion_vectors(affinity, n_components)
    return _Draft(
        rows=rows,
        first=first,
        anchors=points[first],
        widths=tuple(width[first] for width in widths),
        smallest=smallest,
        graphs=graphs,
        affinity=affinity,
        strength=structure_strength(values, vectors * degrees[:, None]),
    )


def _own_maps(draft: _Draft | None, n_components: int) -> tuple[FloatArray, ...]:
    if draft is None:
        return ()
    return tuple(_anchors.spectral_maps(ends(draft.graphs), n_components)[0])


def _nearest(
    distances: FloatArray, anchors: IntArray, n_nearest: int
) -> tuple[IntArray, FloatArray]:
    """Nearest of the anchors, columns of `distances`, and how far they are."""
    n_nearest = min(n_nearest, len(anchors))
    nearest = np.empty((len(distances), n_nearest), dtype=np.int32)
    found = np.empty((len(distances), n_nearest))
    _anchors.nearest_anchors(distances, anchors, nearest, found)
    return nearest, found


def _nearest_others(
    distances: FloatArray,
    anchors: IntArray,
    equals: IntArray,
    nearest: IntArray,
    found: FloatArray,
) -> tuple[IntArray, FloatArray]:
    """Nearest other samples, and how far they are.

    anchors : positions of the anchors; equals : the anchor that each sample equals;
    nearest, found : nearest anchors of each sample, and how far they are.
    """
    n_samples = len(distances)
    n_neighbors = min(DIFFUSION_NEIGHBORS, n_samples - 1)
    others = np.empty((n_samples, n_neighbors), dtype=np.int32)
    apart = np.empty((n_samples, n_neighbors))
    known = np.zeros(n_samples, dtype=bool)
    if n_neighbors < nearest.shape[1]:
        # The nearest anchor of a sample without equals is the sample itself. Where none
        # of its neighbours has equals either, the others are its neighbours.
        unique = (np.bincount(equals, minlength=n_samples) == 1)[anchors]
        known = unique[nearest].all(axis=1)
        others[known] = anchors[nearest[known, 1 : n_neighbors + 1]]
        apart[known] = found[known, 1 : n_neighbors + 1]
    rest = np.flatnonzero(~known)
    to_others = distances[rest]
    to_others[np.arange(len(rest)), rest] = np.inf
    others[rest], apart[rest] = _nearest(to_others, np.arange(n_samples), n_neighbors)
    return others, apart


def _view_weights(drafts: Sequence[_Draft | None]) -> FloatArray:
    """(n_views,), how much structure each view has, and how widely it is spread.

    Leading diffusion eigenvalues near 1 tell of clusters, small ones of noise. The
    coordinates of a view in which samples form clusters are carried by all of them;
    those of a view that is a web of loose ends are carried by a few: it has structure,
    but says nothing about most samples.
    """
    weights = np.array([0.0 if draft is None else draft.strength for draft in drafts])
    if not weights.any():
        weights = np.array([float(draft is not None) for draft in drafts])
    return weights / weights.sum() if weights.any() else weights + 1.0 / len(drafts)


def _joint_maps(
    drafts: Sequence[_Draft | None],
    weights: FloatArray,
    n_drawn: int,
    n_components: int,
) -> tuple[dict[int, tuple[FloatArray, ...]], FloatArray]:
    """Per view and neighbourhood size, the part of the joint map for its anchors.

    Also the eigenvalues of the joint graph, the mean over neighbourhood sizes.
    """
    known = {v: draft for v, draft in enumerate(drafts) if draft is not None}
    if not known:
        return {}, np.zeros(n_components)
    shares = _drawn_shares(drafts, weights, n_drawn)
    cuts = np.cumsum([len(draft.first) for draft in known.values()])[:-1]
    side_by_side = [
        sparse.csr_array(
            sparse.hstack(
                [
                    sparse.diags_array(shares[v])
                    @ _spread(draft.graphs[size], draft.rows, n_drawn)
                    for v, draft in known.items()
                ]
            )
        )
        for size in range(len(next(iter(known.values())).graphs))
    ]
    joint, spectra = _anchors.spectral_maps(side_by_side, n_components)
    maps = [np.split(of_all, cuts) for of_all in joint]
    parts = {v: tuple(part[i] for part in maps) for i, v in enumerate(known)}
    return parts, np.mean(spectra, axis=0)


def _joint_diffusion(
    drafts: Sequence[_Draft | None],
    weights: FloatArray,
    n_drawn: int,
    n_components: int,
) -> FloatArray:
    """(n_drawn, n_coordinates), diffusion coordinates of the weighted mean graph."""
    shares = _drawn_shares(drafts, weights, n_drawn)
    total = sparse.csr_array((n_drawn, n_drawn))
    for v, draft in enumerate(drafts):
        if draft is None:
            continue
        # Every view's graph has a mean degree of 1, whatever its distances are.
        even = draft.affinity * (len(draft.rows) / float(draft.affinity.sum()))
        place = sparse.csr_array(
            (np.sqrt(shares[v, draft.rows]), (draft.rows, np.arange(len(draft.rows)))),
            shape=(n_drawn, len(draft.rows)),
        )
        total = total + place @ even @ place.T
    n_coordinates = n_components - 1 + SPARE_COORDINATES
    _, vectors, scaling = diffusion_vectors(sparse.csr_array(total), n_coordinates + 1)
    coordinates = np.zeros((n_drawn, n_coordinates))
    coordinates[:, : vectors.shape[1]] = vectors * scaling[:, None]
    return coordinates


def _drawn_shares(
    drafts: Sequence[_Draft | None], weights: FloatArray, n_drawn: int
) -> FloatArray:
    has = np.zeros((len(drafts), n_drawn), dtype=bool)
    for v, draft in enumerate(drafts):
        if draft is not None:
            has[v, draft.rows] = True
    return _shares(weights, has)


def _shares(weights: FloatArray, has: BoolArray) -> FloatArray:
    """(n_views, n_samples), shares of the views in a sample; they sum to 1, or 0."""
    shares = weights[:, None] * has
    shares = np.where(shares.sum(axis=0) > 0.0, shares, has)
    return np.asarray(shares / np.maximum(shares.sum(axis=0), np.finfo(float).tiny))


def _spread(graph: sparse.csr_array, rows: IntArray, n_rows: int) -> sparse.csr_array:
    """The same rows among `n_rows`, the others empty."""
    counts = np.zeros(n_rows, dtype=graph.indptr.dtype)
    counts[rows] = np.diff(graph.indptr)
    edges = np.concatenate([[0], np.cumsum(counts)])
    return sparse.csr_array(
        (graph.data, graph.indices, edges), shape=(n_rows, graph.shape[1])
    )


def _weights_to_anchors(
    graph: AnchorGraph,
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
    values = view.read(block, view.buffer(block.stop - block.start))
    distances = view.distances_to(values, block, graph.anchors)
    if len(rows) < len(distances):
        distances = distances[rows]
    everyone = np.arange(distances.shape[1])
    most = max(n_neighbors)
    nearest, found = _nearest(distances, everyone, CANDIDATES * most + 1)
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
    places, _ = _nearest(relative, np.arange(relative.shape[1]), n_preferred)
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
