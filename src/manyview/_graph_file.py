"""The graphs of a GraphNSMVC as the arrays and the JSON of a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from manyview._arrays import check_sparse
from manyview._model_check import StoredArrays, check_counts, need
from manyview._scaling import ViewScale
from manyview.cluster import GraphNSMVC
from manyview.embedding._graph_views import embedding_names


def pack_graph(
    model: GraphNSMVC, arrays: dict[str, npt.NDArray[Any]]
) -> dict[str, Any]:
    """What JSON holds of the graphs; arrays go to `arrays` under their name."""
    graph = model._graph
    arrays["graph_weights"] = graph.weights
    arrays["graph_eigenvalues"] = graph.eigenvalues
    arrays["slopes"] = model._score_weights
    for e, scale in enumerate(model._embedding_scales):
        arrays[f"embedding_shift_{e}"] = scale.shift
        arrays[f"embedding_factor_{e}"] = scale.factor
    kinds: list[str | None] = []
    for v, view in enumerate(graph.views):
        if view is None:
            kinds.append(None)
            continue
        if isinstance(view.anchors, np.ndarray):
            kinds.append("dense")
            arrays[f"anchors_{v}"] = view.anchors
        else:
            kinds.append("sparse")
            for name in ("data", "indices", "indptr"):
                arrays[f"anchors_{v}_{name}"] = getattr(view.anchors, name)
        for name in ("widths", "smallest", "maps", "joint_maps", "diffusion"):
            arrays[f"{name}_{v}"] = np.array(getattr(view, name))
    return {
        "anchors": kinds,
        "n_neighbors": graph.n_neighbors,
        "complete": graph.complete,
    }


def restore_graph(
    model: GraphNSMVC, content: Mapping[str, Any], stored: StoredArrays
) -> None:
    """Set what `pack_graph` stored; ValueError unless all parts belong together."""
    # Imported here: the solvers bring numba, which takes a while.
    from manyview._solvers._graph_views import AnchorGraph, GraphModel

    kinds, n_features = content["anchors"], model._layout.n_features
    n_views, n_clusters = len(n_features), model.n_clusters
    sizes = check_counts(content["n_neighbors"], "n_neighbors")
    need(list(sizes) == sorted(set(sizes)), f"n_neighbors is {sizes}, not ascending")
    need(
        isinstance(kinds, list) and len(kinds) == n_views,
        "anchors are not told for every view",
    )
    # Files of old do not say whether all samples are anchors.
    complete = content.get("complete", False)
    need(isinstance(complete, bool), "complete is neither true nor false")
    n_sizes, n_own, n_coordinates = len(sizes), min(len(sizes), 2), n_clusters + 1
    views: list[AnchorGraph | None] = []
    for v, kind in enumerate(kinds):
        if kind is None:
            views.append(None)
            continue
        n = len(stored[f"diffusion_{v}"])
        need(n > 1, f"view {v} has {n} anchors")
        smallest = stored.floats(f"smallest_{v}", n_sizes, positive=True)
        views.append(
            AnchorGraph(
                anchors=_restore_anchors(kind, v, (n, n_features[v]), stored),
                widths=tuple(stored.floats(f"widths_{v}", n_sizes, n, positive=True)),
                smallest=tuple(float(width) for width in smallest),
                maps=tuple(stored.floats(f"maps_{v}", n_own, n, n_clusters)),
                joint_maps=tuple(
                    stored.floats(f"joint_maps_{v}", n_sizes, n, n_clusters)
                ),
                diffusion=stored.floats(f"diffusion_{v}", n, n_coordinates),
            )
        )
    model._graph = GraphModel(
        views=tuple(views),
        weights=stored.floats("graph_weights", n_views),
        eigenvalues=stored.floats("graph_eigenvalues", n_clusters),
        n_neighbors=sizes,
        n_components=n_clusters,
        complete=complete,
    )
    widths = [n_own * n_clusters] * n_views + [n_sizes * n_clusters, n_coordinates]
    model._score_weights = stored.floats("slopes", len(widths))
    model._embedding_scales = tuple(
        ViewScale(
            mode="energy",
            shift=stored.floats(f"embedding_shift_{e}", width),
            factor=stored.floats(f"embedding_factor_{e}", width),
            unit_rows=False,
        )
        for e, width in enumerate(widths)
    )
    model.graph_weights_ = model._graph.weights
    model.embedding_names_ = list(embedding_names(model.view_names_))


def _restore_anchors(
    kind: Any, v: int, shape: tuple[int, int], stored: StoredArrays
) -> Any:
    if kind == "dense":
        return stored.floats(f"anchors_{v}", *shape)
    need(kind == "sparse", f"no anchors are called {kind!r}")
    n_entries = stored[f"anchors_{v}_indices"].size
    data = stored.floats(f"anchors_{v}_data", n_entries)
    indices = stored.whole(f"anchors_{v}_indices", n_entries)
    indptr = stored.whole(f"anchors_{v}_indptr", shape[0] + 1)
    return check_sparse(sparse.csr_array((data, indices, indptr), shape=shape))
