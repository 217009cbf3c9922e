"""NSMVC on graph views on a Dask cluster, as a scikit-learn clusterer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from manyview._random import random_source
from manyview._solvers._graph_learning import draw_anchors
from manyview.cluster import NSMVC, GraphNSMVC
from manyview.distributed import _blocks, _data
from manyview.distributed._data import DaskRows
from manyview.distributed._inputs import DaskViews
from manyview.distributed._nsmvc import DaskNSMVC
from manyview.embedding._graph_views import embedding_names


@dataclass(eq=False, repr=False, kw_only=True)
class DaskGraphNSMVC(DaskNSMVC, GraphNSMVC):
    """GraphNSMVC for views that are larger than one machine, on a Dask cluster.

    The graphs are learned here, from the anchors alone; workers place their rows among
    the anchors and keep the embeddings, which NSMVC clusters where they are. From the
    same anchors and start it finds the labels of ``GraphNSMVC(assignment="majorize")``,
    however the rows are cut.

    Parameters
    ----------
    n_clusters, n_init, scale, view_sizes, random_state, verbose, pace_start, \
n_paces, max_iter
        As in `manyview.GraphNSMVC`. Restarts run one after the other.
    init
        As in `DaskNSMVC`, on the embeddings.
    n_neighbors, n_anchors
        As in `manyview.GraphNSMVC`. Graphs are learned on this machine: it must have
        memory for ``n_anchors`` rows of every view.
    persist
        Where workers keep the embeddings between iterations, as in `DaskNSMVC`. The
        views themselves are read three times and not kept.
    checkpoint
        As in `DaskNSMVC`.

    Attributes
    ----------
    labels_, joined_pace_ : dask arrays
        As in `manyview.GraphNSMVC`, in the workers' memory.
    view_weights_, unexplained_, graph_weights_, embedding_names_, cluster_centers_, \
exponents_, thresholds_, view_losses_, objective_, n_iter_, history_, scales_, \
view_names_, n_features_in_
        As in `manyview.GraphNSMVC`.

    See Also
    --------
    manyview.GraphNSMVC : The same on one machine.
    DaskNSMVC : The paper's method, on the features themselves.

    Examples
    --------
    >>> import dask.array as da
    >>> from manyview.distributed import DaskGraphNSMVC
    >>> sound = da.from_array([[0.0, 1.0], [0.1, 1.0], [5.0, 2.0], [5.1, 2.0]], (2, 2))
    >>> light = da.from_array([[3.0], [3.1], [9.0], [9.2]], (3, 1))
    >>> model = DaskGraphNSMVC(n_clusters=2, random_state=0).fit([sound, light])
    >>> model.labels_.compute().tolist()
    [0, 0, 1, 1]
    """

    n_init: int = 2

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GraphNSMVC._parameter_constraints,
        **DaskNSMVC._parameter_constraints,
    }
    _local: ClassVar[type[NSMVC]] = GraphNSMVC

    def _open_data(self, views: DaskViews) -> DaskRows:
        names, lengths = views.layout.names, views.lengths
        identify = self.checkpoint is not None
        raw = _data.open_parts(
            views.parts(), names, lengths, self.scale, None, identify
        )
        self.scales_ = raw.scales
        random_state = random_source(self.random_state)
        drawn = draw_anchors(raw.n_samples, self.n_anchors, random_state)
        self._learn_graphs(raw.gather(drawn), random_state)
        # The anchors are all that was learned from, but may be a part of the samples.
        complete = len(drawn) == raw.n_samples
        self._graph = replace(self._graph, complete=complete)
        nbytes = raw.n_samples * sum(self._graph.widths) * 4
        persist = _data.choose_storage(self.persist, nbytes)
        same = [(self._graph, self.scales_, names), persist == "disk"]
        parts = _data.map_parts(_blocks.embed, raw.rows, same=same)
        names = embedding_names(names)
        data = _data.open_parts(parts, names, lengths, "energy", persist)
        self._embedding_scales = data.scales
        # The embeddings follow from the rows, so these tell one fit from another.
        return replace(data, contents=raw.contents)
