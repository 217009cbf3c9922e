"""Graph views as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from manyview._arrays import are_counts
from manyview._random import random_source
from manyview._scaling import SCALES, ViewScale
from manyview._sklearn_compat import Interval, StrOptions, _fit_context
from manyview._threads import available_threads, one_blas_thread
from manyview._typing import BoolArray
from manyview._view_input import ViewInput, scaled_rows
from manyview._views import ViewSet, has_named_views, is_single_array
from manyview.exceptions import ViewError

if TYPE_CHECKING:
    from manyview._rows import Rows
    from manyview._solvers._graph_views import GraphModel, Placement

JOINT = "joint"
DIFFUSION = "diffusion"


# A list of views has no place in one frame, so there is no `set_output`.
class GraphViews(  # type: ignore[call-arg]  # scikit-learn has no types
    ViewInput, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    """Spectral embeddings of the views' neighbour graphs, and of all together.

    Every view becomes one embedding; a joint one and diffusion coordinates of all views
    follow. Views in, views out: the result can be passed to any estimator that takes
    views.

    Parameters
    ----------
    n_components : int, default=8
        Columns per neighbourhood size; as many as clusters are looked for.
    n_neighbors : tuple of int, default=(5, 10, 20)
        Neighbourhood sizes, from local to global structure. The joint embedding takes
        all of them, a view's own the smallest and the largest. Those above the mean
        size of a cluster, samples per component, are lowered to it.
    n_anchors : int, default=2000
        Samples that graphs are learned from. Up to this many, all samples are anchors;
        of more, a random part is, and the others are placed by their nearest anchors.
    scale : str or None, default="auto"
        How features are made comparable before distances are taken, as in `NSMVC`.
    view_sizes : list of int or None, default=None
        Splits one 2-D array into views: features per view, in column order.
    random_state : int, RandomState instance or None, default=None
        Source of the anchors, where not all samples are.

    Attributes
    ----------
    graph_weights_ : ndarray of shape (n_views,)
        Shares of the views in the joint graph; they add up to 1.
    joint_eigenvalues_ : ndarray of shape (n_components,)
        Leading eigenvalues of the joint graph, descending from 1; the mean over
        neighbourhood sizes. A wide gap after the k-th speaks for k clusters.
    view_sizes_out_ : list of int
        Columns of each embedding, for the ``view_sizes`` of what follows when X is one
        array.
    embedding_names_ : list of str
        Names of the embeddings: the views, ``"joint"`` and ``"diffusion"``.
    scales_, view_names_, n_features_in_, feature_names_in_
        As in `NSMVC`.

    See Also
    --------
    GraphNSMVC : Embeddings and clustering in one estimator, where the method is told.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview import GraphViews, MSPL
    >>> rng = np.random.default_rng(0)
    >>> groups = np.repeat([0.0, 5.0, 10.0], 20)[:, None]
    >>> views = [groups + rng.normal(size=(60, 2)), groups + rng.normal(size=(60, 3))]
    >>> embeddings = GraphViews(n_components=3).fit_transform(views)
    >>> [embedding.shape for embedding in embeddings]
    [(60, 6), (60, 6), (60, 9), (60, 4)]
    >>> MSPL(n_clusters=3, random_state=0).fit(embeddings).labels_.shape
    (60,)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [list, tuple],
        "n_anchors": [Interval(Integral, 2, None, closed="left")],
        "scale": [StrOptions(set(SCALES)), None],
        "view_sizes": ["array-like", None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 8,
        *,
        n_neighbors: Sequence[int] = (5, 10, 20),
        n_anchors: int = 2000,
        scale: str | None = "auto",
        view_sizes: Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.n_anchors = n_anchors
        self.scale = scale
        self.view_sizes = view_sizes
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the graphs of X.

        Parameters
        ----------
        X : list, tuple or dict of 2-D arrays, or one 2-D array
            The views, in any form that the clusterers take.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        fresh = self._unfitted()
        views = fresh._check_views(X, reset=True)
        _reject_taken_names(views.names)
        fresh.scales_, rows = scaled_rows(views, self.scale)
        fresh._graph, _ = learn_view_graphs(
            rows,
            fresh.scales_,
            n_components=self.n_components,
            n_neighbors=self.n_neighbors,
            n_anchors=self.n_anchors,
            random_state=random_source(self.random_state),
        )
        fresh.graph_weights_ = fresh._graph.weights
        fresh.joint_eigenvalues_ = fresh._graph.eigenvalues
        fresh.view_sizes_out_ = list(fresh._graph.widths)
        fresh.embedding_names_ = list(embedding_names(fresh.view_names_))
        self.__dict__ = fresh.__dict__
        return self

    def transform(self, X: Any) -> Any:
        """Embeddings of samples, those of the fit or new ones.

        Parameters
        ----------
        X : same forms as in `fit`
            Samples. A view may be None, or left out of a dict, if no sample has it.

        Returns
        -------
        embeddings : list or dict of ndarray, or one ndarray
            One array per name in ``embedding_names_``: a dict if X is one (or an
            annotated object), a list if X is a list of views. One 2-D array becomes
            one, of ``view_sizes_out_`` columns. Rows of NaN mark views that a sample
            lacks.
        """
        from manyview._rows import open_views

        views = self._check_views(X, reset=False)
        rows = open_views(views, self.scales_)
        single = all(array.dtype == np.float32 for array in views.arrays)
        dtype = np.float32 if single else np.float64
        placed = place_views(
            self._graph,
            rows,
            self.scales_,
            views.names,
            dtype,
            n_threads=available_threads(),
        ).arrays
        if is_single_array(X):
            return np.hstack([np.asarray(part) for part in placed])
        if has_named_views(X):
            return dict(zip(self.embedding_names_, placed, strict=True))
        return list(placed)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Names of the columns of all embeddings, side by side.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : ndarray of str
            The embedding's name and the column's number, e.g. ``"joint_0"``.
        """
        check_is_fitted(self)
        sizes = zip(self.embedding_names_, self.view_sizes_out_, strict=True)
        names = [f"{name}_{column}" for name, size in sizes for column in range(size)]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    _graph: GraphModel
    _private_fitted: ClassVar[frozenset[str]] = frozenset({"_layout", "_graph"})


def check_neighbors(n_neighbors: Sequence[int]) -> tuple[int, ...]:
    """Neighbourhood sizes, ascending, or a ViewError."""
    if not are_counts(n_neighbors):
        msg = (
            f"n_neighbors={n_neighbors!r} must be one or more positive whole numbers, "
            "e.g. (5, 10, 20)."
        )
        raise ViewError(msg)
    return tuple(sorted({int(size) for size in n_neighbors}))


def learn_view_graphs(
    rows: tuple[Rows, ...],
    scales: tuple[ViewScale, ...],
    *,
    n_neighbors: Sequence[int],
    **options: Any,
) -> tuple[GraphModel, Placement | None]:
    """Graphs of views and where they put the samples; options of `learn_graphs`."""
    from manyview._solvers._graph_learning import learn_graphs
    from manyview._solvers._graph_views import usable_views

    # Products with a vector are too small to share between threads.
    with one_blas_thread():
        return learn_graphs(
            rows,
            usable_views(rows, scales),
            n_neighbors=check_neighbors(n_neighbors),
            n_threads=available_threads(),
            **options,
        )


def place_views(
    graph: GraphModel,
    rows: tuple[Rows, ...],
    scales: tuple[ViewScale, ...],
    names: tuple[str, ...],
    dtype: type[np.float32] | type[np.float64],
    placement: Placement | None = None,
    out_known: BoolArray | None = None,
    *,
    n_threads: int,
) -> ViewSet:
    """Embeddings of samples as views of their own; parameters of `place`."""
    from manyview._solvers._graph_views import place, usable_views

    usable = usable_views(rows, scales)
    arrays = place(graph, rows, usable, dtype, placement, out_known, n_threads)
    everyone = np.ones(rows[0].n_samples, dtype=bool)
    known = [
        mask if view is not None else ~everyone
        for mask, view in zip(usable, graph.views, strict=True)
    ]
    present = (*known, everyone, everyone)
    return ViewSet(arrays=arrays, present=present, names=embedding_names(names))


def open_embedded(
    views: ViewSet,
    scales: tuple[ViewScale, ...],
    graph: GraphModel,
    embedding_scales: tuple[ViewScale, ...],
) -> tuple[Rows, ...]:
    """Scaled rows of the embeddings of samples.

    If the graphs know all samples of the fit, a sample that they do not know is new.
    Where it lies in a view's own embedding rests on its few neighbours in that view
    alone, so that there all views together count as one, by their shares in the joint
    graph.
    """
    from manyview._rows import open_views

    rows = open_views(views, scales)
    known = np.ones(views.n_samples, dtype=bool)
    placed = place_views(
        graph,
        rows,
        scales,
        views.names,
        np.float32,
        out_known=known,
        n_threads=available_threads(),
    )
    embeddings = open_views(placed, embedding_scales)
    if graph.complete:
        for weight, embedding in zip(graph.weights, embeddings, strict=False):
            embedding.shares = np.where(known, 1.0, weight)
    return embeddings


def split_views(views: ViewSet) -> list[ViewSet]:
    """Every view by itself."""
    parts = zip(views.arrays, views.present, views.names, strict=True)
    return [
        ViewSet(arrays=(array,), present=(present,), names=(name,))
        for array, present, name in parts
    ]


def open_in_turn(
    parts: list[ViewSet], scales: tuple[ViewScale, ...]
) -> tuple[Rows, ...]:
    """Scaled rows of views that nobody else holds.

    Each leaves the list once it is scaled, so that few are held twice.
    """
    from manyview._rows import open_views

    return tuple(open_views(parts.pop(0), (scale,))[0] for scale in scales)


def embedding_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names of the embeddings of some views."""
    return (*names, JOINT, DIFFUSION)


def _reject_taken_names(names: tuple[str, ...]) -> None:
    taken = [name for name in names if name in (JOINT, DIFFUSION)]
    if taken:
        msg = (
            f"View {taken[0]!r} has the name of an embedding of all views; in the "
            "result one would replace the other. Rename the view."
        )
        raise ViewError(msg)
