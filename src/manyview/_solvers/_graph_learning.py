"""Learning graph views: anchor graphs of each view and of all together."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

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
from manyview._rows import Rows, distances_between
from manyview._solvers._graph_views import (
    SPARE_COORDINATES,
    AnchorGraph,
    GraphModel,
    Placement,
    ends,
    nearest_anchors,
    sample_shares,
)
from manyview._typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True)
class _Draft:
    """One view while its graph is being learned.

    rows : (n_here,), positions among the drawn samples of those that have the view.
    first : (n_anchors,), positions among `rows` of the anchors.
    graphs : per neighbourhood size (n_here, n_anchors), weights that sum to 1.
    affinity : (n_here, n_here), symmetric neighbour graph; strength : how much of its
    structure concerns how many samples.
    start : (n_anchors, any), vectors like those of the graphs.
    """

    rows: IntArray
    first: IntArray
    anchors: Points
    widths: tuple[FloatArray, ...]
    smallest: tuple[float, ...]
    graphs: tuple[sparse.csr_array, ...]
    affinity: sparse.csr_array
    strength: float
    start: FloatArray


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
        together = pool.submit(_learn_joint, drafts, weights, len(drawn), n_components)
        own = list(pool.map(partial(_own_maps, n_components=n_components), drafts))
        joint, eigenvalues, diffusion = together.result()
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
    nearest, found = _nearest_of_some(distances, first, max(n_neighbors) + 1)
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
    values, vectors, degrees, start = diffusion_vectors(affinity, n_components)
    return _Draft(
        rows=rows,
        first=first,
        anchors=points[first],
        widths=tuple(width[first] for width in widths),
        smallest=smallest,
        graphs=graphs,
        affinity=affinity,
        strength=structure_strength(values, vectors * degrees[:, None]),
        start=start[first],
    )


def _own_maps(draft: _Draft | None, n_components: int) -> tuple[FloatArray, ...]:
    if draft is None:
        return ()
    graphs = ends(draft.graphs)
    return tuple(_anchors.spectral_maps(graphs, n_components, draft.start)[0])


def _nearest_of_some(
    distances: FloatArray, anchors: IntArray, n_nearest: int
) -> tuple[IntArray, FloatArray]:
    """`nearest_anchors` where some of the columns are anchors."""
    others = np.delete(np.arange(distances.shape[1]), anchors)
    # Put out of reach for a moment: a matrix without them would be one more large one.
    to_others = distances[:, others]
    distances[:, others] = np.inf
    nearest, found = nearest_anchors(distances, min(n_nearest, len(anchors)))
    distances[:, others] = to_others
    return np.searchsorted(anchors, nearest).astype(np.int32), found


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
    others[rest], apart[rest] = nearest_anchors(to_others, n_neighbors)
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


def _learn_joint(
    drafts: Sequence[_Draft | None],
    weights: FloatArray,
    n_drawn: int,
    n_components: int,
) -> tuple[dict[int, tuple[FloatArray, ...]], FloatArray, FloatArray]:
    """Per view and neighbourhood size, the part of the joint map for its anchors.

    Also the eigenvalues of the joint graph, the mean over neighbourhood sizes, and the
    diffusion coordinates (n_drawn, n_coordinates).
    """
    n_coordinates = n_components - 1 + SPARE_COORDINATES
    coordinates = np.zeros((n_drawn, n_coordinates))
    known = {v: draft for v, draft in enumerate(drafts) if draft is not None}
    if not known:
        return {}, np.zeros(n_components), coordinates
    shares = _drawn_shares(drafts, weights, n_drawn)
    _, vectors, scaling, start = diffusion_vectors(
        _mean_affinity(known, shares), n_coordinates + 1
    )
    coordinates[:, : vectors.shape[1]] = vectors * scaling[:, None]
    cuts = np.cumsum([len(draft.first) for draft in known.values()])
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
    # Vectors are those of the samples, which the start is for, or of fewer anchors.
    joint, spectra = _anchors.spectral_maps(
        side_by_side, n_components, start if n_drawn < cuts[-1] else None
    )
    maps = [np.split(of_all, cuts[:-1]) for of_all in joint]
    parts = {v: tuple(part[i] for part in maps) for i, v in enumerate(known)}
    return parts, np.mean(spectra, axis=0), coordinates


def _mean_affinity(known: dict[int, _Draft], shares: FloatArray) -> sparse.csr_array:
    """(n_drawn, n_drawn), weighted mean of the views' neighbour graphs."""
    n_drawn = shares.shape[1]
    total = sparse.csr_array((n_drawn, n_drawn))
    for v, draft in known.items():
        # Every view's graph has a mean degree of 1, whatever its distances are.
        even = draft.affinity * (len(draft.rows) / float(draft.affinity.sum()))
        place = sparse.csr_array(
            (np.sqrt(shares[v, draft.rows]), (draft.rows, np.arange(len(draft.rows)))),
            shape=(n_drawn, len(draft.rows)),
        )
        total = total + place @ even @ place.T
    return sparse.csr_array(total)


def _drawn_shares(
    drafts: Sequence[_Draft | None], weights: FloatArray, n_drawn: int
) -> FloatArray:
    has = np.zeros((len(drafts), n_drawn), dtype=bool)
    for v, draft in enumerate(drafts):
        if draft is not None:
            has[v, draft.rows] = True
    return sample_shares(weights, has)


def _spread(graph: sparse.csr_array, rows: IntArray, n_rows: int) -> sparse.csr_array:
    """The same rows among `n_rows`, the others empty."""
    counts = np.zeros(n_rows, dtype=graph.indptr.dtype)
    counts[rows] = np.diff(graph.indptr)
    edges = np.concatenate([[0], np.cumsum(counts)])
    return sparse.csr_array(
        (graph.data, graph.indices, edges), shape=(n_rows, graph.shape[1])
    )
