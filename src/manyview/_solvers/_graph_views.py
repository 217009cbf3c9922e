"""Graph views: spectral embeddings of each view's anchor graph and of all together.

Everything is learned from the anchors, at most a few thousand samples. All samples,
those of the fit and new ones, are then placed by their nearest anchors, so cost and
memory are linear in the number of samples and a new sample is placed as one of the fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components

from manyview._numerics import _anchors
from manyview._numerics._eigen import TIED, Eigenpairs, top_eigenvectors
from manyview._numerics._gram import Points
from manyview._numerics._graphs import inverse_root_degrees, unit_rows
from manyview._rows import Rows
from manyview._typing import BoolArray, FloatArray, IntArray
from manyview._views import SCAN_ELEMENTS, row_blocks

# Neighbours in the graph that views are weighed and diffusion coordinates taken by, and
# the one whose distance is the local width (Zelnik-Manor and Perona, 2004).
DIFFUSION_NEIGHBORS = 20
WIDTH_NEIGHBOR = 7
# Diffusion coordinates beyond the n_components - 1 that tell that many clusters apart:
# the first ones may be spent on a few samples that hardly anything connects.
SPARE_COORDINATES = 2
# Eigenvalues below this are zero: the graph has fewer directions than were asked for.
SMALLEST_EIGENVALUE = 1e-10


@dataclass(frozen=True, kw_only=True, slots=True)
class AnchorGraph:
    """One view's anchors and what they map samples to.

    anchors : (n_anchors, n_features), scaled rows, no two of them equal.
    widths : per neighbourhood size (n_anchors,), local widths.
    smallest : per neighbourhood size, the width of samples with many equals.
    maps, joint_maps : per neighbourhood size (n_anchors, n_components).
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
    n_neighbors : neighbourhood sizes, ascending.
    n_components : columns per neighbourhood size.
    """

    views: tuple[AnchorGraph | None, ...]
    weights: FloatArray
    n_neighbors: tuple[int, ...]
    n_components: int

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
        columns = self.n_components * len(self.n_neighbors)
        return (*(columns for _ in self.views), columns, self.n_coordinates)


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


def usable_rows(view: Rows, *, unit_rows: bool) -> BoolArray:
    """(n_samples,), samples that the view says something about.

    A row of zeros among rows of unit length (a text without words) is nearer to every
    other row than most of them are to each other. It would join what has nothing in
    common, so it counts as missing.
    """
    present = view.present
    return np.asarray(present & (view.sq_norms > 0.0) if unit_rows else present)


def learn_graphs(
    views: tuple[Rows, ...],
    usable: Sequence[BoolArray],
    *,
    n_components: int,
    n_neighbors: tuple[int, ...],
    n_anchors: int,
    random_state: np.random.RandomState,
) -> GraphModel:
    """Anchor graphs of the views and of all together.

    usable : per view (n_samples,), see `usable_rows`. Up to `n_anchors` samples all
    serve as anchors, of more a random part.
    """
    n_samples = views[0].n_samples
    drawn = np.arange(n_samples)
    if n_samples > n_anchors:
        drawn = np.sort(random_state.choice(n_samples, n_anchors, replace=False))
    drafts = [
        _draft(view, drawn, np.flatnonzero(mask[drawn]), n_components, n_neighbors)
        for view, mask in zip(views, usable, strict=True)
    ]
    weights = _view_weights(drafts)
    joint = _joint_maps(drafts, weights, len(drawn), n_components)
    diffusion = _joint_diffusion(drafts, weights, len(drawn), n_components)
    graphs = tuple(
        None
        if draft is None
        else AnchorGraph(
            anchors=draft.anchors,
            widths=draft.widths,
            smallest=draft.smallest,
            maps=tuple(_spectral_map(graph, n_components) for graph in draft.graphs),
            joint_maps=joint[v],
            diffusion=diffusion[draft.rows[draft.first]],
        )
        for v, draft in enumerate(drafts)
    )
    return GraphModel(
        views=graphs,
        weights=weights,
        n_neighbors=n_neighbors,
        n_components=n_components,
    )


def place(
    model: GraphModel,
    views: tuple[Rows, ...],
    usable: Sequence[BoolArray],
    dtype: type[np.float32] | type[np.float64],
) -> tuple[FloatArray, ...]:
    """Embeddings of samples: one per view, the joint one, the diffusion coordinates.

    The embedding of a view that a sample lacks is a row of NaN. A sample without any
    usable view is at the origin of the joint ones.
    """
    n_samples = views[0].n_samples
    out = tuple(np.zeros((n_samples, width), dtype=dtype) for width in model.widths)
    known = np.array([graph is not None for graph in model.views])
    for rows in row_blocks(n_samples, model.n_anchors, SCAN_ELEMENTS):
        has = np.stack([mask[rows] for mask in usable]) & known[:, None]
        _place_block(model, views, rows, has, tuple(part[rows] for part in out))
    return out


def _place_block(
    model: GraphModel,
    views: tuple[Rows, ...],
    rows: slice,
    has: BoolArray,
    out: tuple[FloatArray, ...],
) -> None:
    """`place` for one block; has : (n_views, n_rows), False in views without graph."""
    *own, joint, diffusion = out
    shares = _shares(model.weights, has)
    sums = np.zeros((len(model.n_neighbors), len(joint), model.n_components))
    for v, (graph, view) in enumerate(zip(model.views, views, strict=True)):
        own[v][:] = np.nan
        here = np.flatnonzero(has[v])
        if graph is None or not here.size:
            continue
        weights = _weights_to_anchors(graph, view, rows, here, model.n_neighbors)
        parts = [w @ m for w, m in zip(weights, graph.maps, strict=True)]
        own[v][here] = _side_by_side(parts)
        share = shares[v, here, None]
        for total, w, m in zip(sums, weights, graph.joint_maps, strict=True):
            total[here] += share * (w @ m)
        diffusion[here] += share * (weights[-1] @ graph.diffusion)
    joint[:] = _side_by_side(list(sums))


def _draft(
    view: Rows,
    drawn: IntArray,
    rows: IntArray,
    n_components: int,
    n_neighbors: tuple[int, ...],
) -> _Draft | None:
    if len(rows) < 2:
        return None
    points = view.points(drawn[rows])
    block = view.read(drawn[rows], view.buffer(len(rows)))
    distances = view.distances_to(block, drawn[rows], points)
    np.fill_diagonal(distances, 0.0)
    first = np.flatnonzero((distances == 0.0).argmax(axis=1) == np.arange(len(rows)))
    if len(first) < 2:
        return None
    nearest, found = _nearest(distances[:, first], max(n_neighbors) + 1)
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
    affinity = _neighbor_affinity(distances)
    values, vectors, degrees = _diffusion(affinity, n_components)
    return _Draft(
        rows=rows,
        first=first,
        anchors=points[first],
        widths=tuple(width[first] for width in widths),
        smallest=smallest,
        graphs=graphs,
        affinity=affinity,
        strength=_strength(values, vectors * degrees[:, None]),
    )


def _nearest(distances: FloatArray, n_nearest: int) -> tuple[IntArray, FloatArray]:
    n_nearest = min(n_nearest, distances.shape[1])
    nearest = np.empty((len(distances), n_nearest), dtype=np.int32)
    found = np.empty((len(distances), n_nearest))
    _anchors.nearest_anchors(distances, nearest, found)
    return nearest, found


def _neighbor_affinity(distances: FloatArray) -> sparse.csr_array:
    """Self-tuning weights of each sample's nearest others, made symmetric."""
    n_samples = len(distances)
    others = distances.copy()
    np.fill_diagonal(others, np.inf)
    n_neighbors = min(DIFFUSION_NEIGHBORS, n_samples - 1)
    nearest, found = _nearest(others, n_neighbors)
    place = min(WIDTH_NEIGHBOR, n_neighbors) - 1
    width = _anchors.local_widths(found, place, _anchors.smallest_width(found, place))
    weights = np.exp(-found / (width[:, None] * width[nearest]))
    graph = _anchors.neighbor_matrix(nearest, weights, n_samples)
    return sparse.csr_array((graph + graph.T) / 2.0)


def _diffusion(
    affinity: sparse.csr_array, n_vectors: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Eigenpairs of the normalised affinity without the trivial one, root degrees."""
    scaling = inverse_root_degrees(np.asarray(affinity.sum(axis=1), dtype=np.float64))
    n_vectors = min(n_vectors, affinity.shape[0])
    pairs = top_eigenvectors(affinity, n_vectors, scaling=scaling)
    _, pieces = connected_components(affinity, directed=False)
    largest = pieces == np.bincount(pieces).argmax()
    vectors = _without_direction(pairs, np.where(largest, 1.0 / scaling, 0.0))
    return np.maximum(pairs.values[1:], 0.0), vectors, scaling


def _without_direction(pairs: Eigenpairs, direction: FloatArray) -> FloatArray:
    """The vectors but for one, of the largest eigenvalue, along `direction`.

    Parts of a graph that hardly anything joins tie with the whole, and a solver returns
    any basis of their eigenspace: which vector comes first says nothing.
    """
    tied = pairs.values >= pairs.values[0] * (1.0 - TIED)
    space = pairs.vectors[:, tied]
    turned, _ = linalg.qr((direction @ space)[:, None])
    return np.hstack([space @ turned[:, 1:], pairs.vectors[:, ~tied]])


def _strength(values: FloatArray, vectors: FloatArray) -> float:
    """Mean squared eigenvalue times the participation ratio of the coordinates."""
    if not len(values):
        return 0.0
    spread = _anchors.participation(values * vectors)
    return float((values**2).mean()) * spread


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


def _spectral_map(graph: sparse.csr_array, n_components: int) -> FloatArray:
    """(n_anchors, n_components) that takes rows of weights to the embedding.

    With columns divided by the roots of their sums, the graph Z has Z Z' as affinity of
    the samples; its eigenvectors follow from the smaller of Z Z' and Z' Z.
    """
    sums = np.asarray(graph.sum(axis=0), dtype=np.float64)
    scaling = 1.0 / np.sqrt(np.where(sums > 0.0, sums, 1.0))
    normal = sparse.csr_array(graph @ sparse.diags_array(scaling))
    n_rows, n_anchors = normal.shape
    n_found = min(n_components, n_rows, n_anchors)
    if n_rows < n_anchors:
        pairs = top_eigenvectors(sparse.csr_array(normal @ normal.T), n_found)
        directions, power = normal.T @ pairs.vectors, 1.0
    else:
        pairs = top_eigenvectors(sparse.csr_array(normal.T @ normal), n_found)
        directions, power = pairs.vectors, 0.5
    real = pairs.values > SMALLEST_EIGENVALUE
    divisor = np.where(real, pairs.values, 1.0) ** power
    spectral = np.zeros((n_anchors, n_components))
    spectral[:, :n_found] = scaling[:, None] * directions * (real / divisor)
    return spectral


def _joint_maps(
    drafts: Sequence[_Draft | None],
    weights: FloatArray,
    n_drawn: int,
    n_components: int,
) -> dict[int, tuple[FloatArray, ...]]:
    """Per view and neighbourhood size, the part of the joint map for its anchors."""
    known = {v: draft for v, draft in enumerate(drafts) if draft is not None}
    if not known:
        return {}
    shares = _drawn_shares(drafts, weights, n_drawn)
    cuts = np.cumsum([len(draft.first) for draft in known.values()])[:-1]
    maps: list[list[FloatArray]] = []
    for size in range(len(next(iter(known.values())).graphs)):
        spread = [
            sparse.diags_array(shares[v])
            @ _spread(draft.graphs[size], draft.rows, n_drawn)
            for v, draft in known.items()
        ]
        joint = _spectral_map(sparse.csr_array(sparse.hstack(spread)), n_components)
        maps.append(np.split(joint, cuts))
    return {v: tuple(part[i] for part in maps) for i, v in enumerate(known)}


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
    _, vectors, scaling = _diffusion(sparse.csr_array(total), n_coordinates + 1)
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
    rows: slice,
    here: IntArray,
    n_neighbors: tuple[int, ...],
) -> list[sparse.csr_array]:
    """Per neighbourhood size, weights of some rows of a block to the anchors."""
    block = view.read(rows, view.buffer(rows.stop - rows.start))
    distances = view.distances_to(block, rows, graph.anchors)[here]
    nearest, found = _nearest(distances, max(n_neighbors) + 1)
    last = found.shape[1] - 1
    return [
        _anchors.self_tuning_weights(
            nearest,
            found,
            _anchors.local_widths(found, min(size, last), least),
            widths,
            min(size, last),
        )
        for size, widths, least in zip(
            n_neighbors, graph.widths, graph.smallest, strict=True
        )
    ]


def _side_by_side(parts: Sequence[FloatArray]) -> FloatArray:
    """Rows of unit length from every neighbourhood size, of unit length together."""
    return np.asarray(
        np.hstack([unit_rows(part) for part in parts]) / np.sqrt(len(parts))
    )
