"""NSMVC on graph views, as a scikit-learn clusterer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from manyview._numerics._pacing import separation_shares, view_slopes
from manyview._random import random_source
from manyview._results import NSMVCResult
from manyview._scaling import ViewScale, learn_scales
from manyview._sklearn_compat import Interval
from manyview._threads import available_threads
from manyview._typing import BoolArray, FloatArray
from manyview._view_input import scaled_rows
from manyview._views import ViewSet
from manyview.cluster._base import RandomState, RowSet
from manyview.cluster._nsmvc import NSMVC
from manyview.embedding._graph_views import (
    embedding_names,
    learn_view_graphs,
    open_embedded,
    open_in_turn,
    place_views,
    split_views,
)

if TYPE_CHECKING:
    from manyview._solvers._graph_views import GraphModel, Placement


@dataclass(eq=False, repr=False, kw_only=True)
class GraphNSMVC(NSMVC):
    """NSMVC on spectral embeddings of the views' neighbour graphs.

    Each view becomes a graph of nearest neighbours, at several neighbourhood sizes, and
    all views together become one more. NSMVC then clusters the embeddings of these
    graphs. Clusters may have any shape, and features may have any units.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, and of columns in each embedding.
    n_init : int, default=2
        Number of restarts, as in `NSMVC`. With k-means++, each begins at the better one
        of two drafts, so that few are needed.
    scale, view_sizes, random_state, verbose, pace_start, n_paces, max_iter
        As in `NSMVC`.
    init : str, array of labels or callable, default="k-means++"
        As in `NSMVC`, on the embeddings. A callable gets the views themselves.
    assignment, outlier_threshold, n_jobs
        As in `NSMVC`.
    n_neighbors : tuple of int, default=(5, 10, 20)
        Neighbourhood sizes, from local to global structure. Those above the mean size
        of a cluster are lowered to it.
    n_anchors : int, default=2000
        Samples that graphs are learned from. Up to this many, all samples are anchors;
        of more, a random part is, and the others are placed by their nearest anchors.

    Attributes
    ----------
    view_weights_ : ndarray of shape (n_views,)
        Effective weight of each view, its share in what separates the clusters; they
        add up to 1. A view counts by its own embedding and by its share in the joint
        ones, both times the scatter that the clusters explain in its embedding. A view
        of noise has the smallest one.
    unexplained_ : ndarray of shape (n_views,)
        Share of the scatter of each view's embedding left within clusters, near 1 for a
        view that knows nothing of them, and 1 for a constant one.
    graph_weights_ : ndarray of shape (n_views,)
        Shares of the views in the joint graph; they add up to 1.
    embedding_names_ : list of str
        Names of the embeddings: the views, ``"joint"`` and ``"diffusion"``.
    cluster_centers_ : list of ndarray of shape (n_clusters, n_columns)
        Centres in each of the embeddings.
    exponents_, thresholds_, view_losses_ : ndarray of shape (n_views,)
        Those of each view's embedding.
    objective_, history_ : float and tuple of PaceRecord
        Over all embeddings: those of the views, the joint one and the diffusion
        coordinates.
    labels_, membership_, outlier_score_, joined_pace_, n_iter_, scales_, view_names_, \
n_features_in_, feature_names_in_
        As in `NSMVC`.

    See Also
    --------
    GraphViews : The embeddings alone, for use in front of any estimator.
    NSMVC : The paper's method, on the features themselves.

    Notes
    -----
    1. Features are scaled; each sample is joined to its nearest anchors in each view
       with self-tuning weights [1]_ that add up to 1, at every neighbourhood size.
    2. A view's embedding holds the leading eigenvectors of its anchor graph [2]_, one
       set for the smallest and one for the largest neighbourhood, in rows of unit
       length.
    3. The joint embedding comes from all views' anchor graphs side by side, one set of
       eigenvectors per neighbourhood size. A view's
       share in it is the participation ratio of its diffusion coordinates: the leading
       eigenvectors of a view in which samples form clusters are spread over all
       samples, those of a web of loose ends sit on a few.
    4. Diffusion coordinates of the weighted mean of the views' neighbour graphs come
       last, without unit rows: samples that hardly anything connects lie far out.
    5. `NSMVC` clusters these embeddings, each centred and divided by its norm.

    A row of zeros in a view with unit-length rows counts as missing. New samples are
    placed by their nearest anchors, as those of the fit are. An anchor is the first of
    its own neighbours; a sample that equals none has one neighbour less, and of twice
    as many nearest anchors those with the largest weights. Where all
    samples of the fit are anchors, a new sample's own embeddings of the views together
    count as one in its distance to a cluster, by the views' shares in the joint graph:
    each of them rests on a few neighbours in one view.

    References
    ----------
    .. [1] L. Zelnik-Manor, P. Perona. Self-tuning spectral clustering. NIPS, 2004.
    .. [2] X. Chen, D. Cai. Large scale spectral clustering with landmark-based
       representation. AAAI, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview import GraphNSMVC
    >>> rng = np.random.default_rng(0)
    >>> angles = rng.uniform(0, 6.3, size=120)
    >>> radius = np.repeat([1.0, 3.0], 60)
    >>> rings = np.column_stack([radius * np.cos(angles), radius * np.sin(angles)])
    >>> views = [rings, radius[:, None] + rng.normal(scale=0.1, size=(120, 1))]
    >>> labels = GraphNSMVC(n_clusters=2, random_state=0).fit_predict(views)
    >>> bool(len(set(labels[:60])) == len(set(labels[60:])) == 1)
    True
    """

    n_init: int = 2
    n_neighbors: Sequence[int] = (5, 10, 20)
    n_anchors: int = 2000
    # The exponents of embeddings are always learned.
    fusion: str = field(default="nonlinear", init=False)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NSMVC._parameter_constraints,
        "n_neighbors": [list, tuple],
        "n_anchors": [Interval(Integral, 2, None, closed="left")],
    }
    _private_fitted: ClassVar[frozenset[str]] = NSMVC._private_fitted | {
        "_graph",
        "_embedding_scales",
    }

    _spread_about_mean = False
    # Clusters stand apart in embeddings: what goes wrong is mostly two seeds in one of
    # them, which shows at once.
    _n_drafts = 2
    # Spectral embeddings are such directions.
    _project = False

    _graph: GraphModel = field(init=False)

    def _open_for_fit(self, views: ViewSet) -> RowSet:
        self.scales_, rows = scaled_rows(views, self.scale)
        placement = self._learn_graphs(rows, random_source(self.random_state))
        placed = place_views(
            self._graph,
            rows,
            self.scales_,
            views.names,
            np.float32,
            placement,
            n_threads=available_threads(),
        )
        self._embedding_scales = learn_scales(placed, "energy")
        parts = split_views(placed)
        del placed
        return open_in_turn(parts, self._embedding_scales)

    def _learn_graphs(
        self, rows: RowSet, random_state: RandomState
    ) -> Placement | None:
        """Learn from the rows; returns where the graphs put them."""
        self._graph, placement = learn_view_graphs(
            rows,
            self.scales_,
            n_components=self.n_clusters,
            n_neighbors=self.n_neighbors,
            n_anchors=self.n_anchors,
            random_state=random_state,
        )
        return placement

    def _open_checked(self, views: ViewSet) -> RowSet:
        return open_embedded(views, self.scales_, self._graph, self._embedding_scales)

    def _center_scales(self) -> tuple[ViewScale, ...]:
        return self._embedding_scales

    def _weights(self, best: NSMVCResult) -> tuple[FloatArray, FloatArray]:
        n_views = len(self.view_names_)
        slopes = view_slopes(best.view_losses, best.exponents)
        # A view takes part in the joint embeddings by its share in the joint graph.
        own = slopes[:n_views] + self._graph.weights * slopes[n_views:].sum()
        scatter = best.scatter[:n_views] * self._known_views()
        return separation_shares(own, scatter, best.unexplained[:n_views]), slopes

    def _known_views(self) -> BoolArray:
        """(n_views,), False without two different samples: nothing of it counts."""
        return np.array([graph is not None for graph in self._graph.views])

    def _store(self, best: NSMVCResult) -> None:
        super()._store(best)
        n_views = len(self.view_names_)
        self.graph_weights_ = self._graph.weights
        self.embedding_names_ = list(embedding_names(self.view_names_))
        # Attributes of views, not of what all of them make together.
        for name in ("exponents", "thresholds", "view_losses", "joined_pace"):
            setattr(self, f"{name}_", getattr(best, name)[:n_views])
        known, left = self._known_views(), best.unexplained[:n_views]
        self.unexplained_ = np.where(known, left, 1.0)
