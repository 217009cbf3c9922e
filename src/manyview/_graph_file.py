"""The graphs of a GraphNSMVC as the arrays and the JSON of a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from manyview._arrays import check_sparse
from manyview._model_check import check_array, need
from manyview._scaling import ViewScale
from manyview.cluster import GraphNSMVC
from manyview.embedding._graph_views import embedding_names

Arrays = dict[str, npt.NDArray[Any]]

# Stored index arrays and values of sparse anchors.
CSR = ("data", "indices", "indptr")


def pack_graph(model: GraphNSMVC, arrays: Arrays) -> dict[str, Any]:
    """What JSON holds of the graphs; arrays go to `arrays` under their name."""
    graph = model._graph
    arrays["graph_weights"] = graph.weights
    arrays["graph_eigenvalues"] = graph.eigenvalues
    arrays["slopes"] = model._slopes
    for e, scale in enumerate(model._embedding_scales):
        arrays[f"embedding_shift_{e}"] = scale.shift
        arrays[f"embedding_factor_{e}"] = scale.factor
    kinds: list[str | None] = []
    for v, view in enumerate(graph.views):
        if view is None:
            kinds.append(None)
            continue
        kinds.append("sparse" if sparse.issparse(view.anchors) else "dense")
        if isinstance(view.anchors, np.ndarray):
            arrays[f"anchors_{v}"] = view.anchors
        else:
            for name in CSR:
                arrays[f"anchors_{v}_{name}"] = getattr(view.anchors, name)
        arrays[f"widths_{v}"] = np.array(view.widths)
        arrays[f"smallest_{v}"] = np.array(view.smallest)
        arrays[f"maps_{v}"] = np.array(view.maps)
        arrays[f"joint_maps_{v}"] = np.array(view.joint_maps)
        arrays[f"diffusion_{v}"] = view.diffusion
    return {
        "anchors": kinds,
        "n_neighbors": graph.n_neighbors,
        "complete": graph.complete,
    }


def restore_graph(
    model: GraphNSMVC, content: Mapping[str, Any], arrays: Arrays
) -> None:
    """Set what `pack_graph` stored, after `check_graph`."""
    # Imported here: the solvers bring numba, which takes a while.
    from manyview._solvers._graph_views import AnchorGraph, GraphModel

    views: list[AnchorGraph | None] = []
    for v, kind in enumerate(content["anchors"]):
        if kind is None:
            views.append(None)
            continue
        width = model._layout.n_features[v]
        views.append(
            AnchorGraph(
                anchors=_anchors(kind, v, width, arrays),
                widths=tuple(arrays[f"widths_{v}"]),
                smallest=tuple(float(x) for x in arrays[f"smallest_{v}"]),
                maps=tuple(arrays[f"maps_{v}"]),
                joint_maps=tuple(arrays[f"joint_maps_{v}"]),
                diffusion=arrays[f"diffusion_{v}"],
            )
        )
    model._graph = GraphModel(
        views=tuple(views),
        weights=arrays["graph_weights"],
        eigenvalues=arrays["graph_eigenvalues"],
        n_neighbors=tuple(content["n_neighbors"]),
        n_components=model.n_clusters,
        # Files of old do not say so.
        complete=content.get("complete", False),
    )
    model._slopes = arrays["slopes"]
    model._embedding_scales = tuple(
        ViewScale(
            mode="energy",
            shift=arrays[f"embedding_shift_{e}"],
            factor=arrays[f"embedding_factor_{e}"],
            unit_rows=False,
        )
        for e in range(len(views) + 2)
    )
    model.graph_weights_ = model._graph.weights
    model.embedding_names_ = list(embedding_names(model.view_names_))


def check_graph(
    content: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    n_features: list[int],
    n_clusters: int,
) -> list[int]:
    """Widths of the embeddings; ValueError unless all parts belong together."""
    kinds, sizes = content["anchors"], content["n_neighbors"]
    need(
        isinstance(sizes, list)
        and len(sizes) > 0
        and all(type(size) is int and size > 0 for size in sizes)
        and sizes == sorted(set(sizes)),
        f"n_neighbors is {sizes!r}, not ascending positive whole numbers",
    )
    need(
        isinstance(content.get("complete", False), bool),
        "complete is neither true nor false",
    )
    need(
        isinstance(kinds, list)
        and len(kinds) == len(n_features)
        and all(kind in (None, "dense", "sparse") for kind in kinds),
        "anchors are not told for every view",
    )
    n_sizes, n_own, n_coordinates = len(sizes), min(len(sizes), 2), n_clusters + 1
    for v, (kind, width) in enumerate(zip(kinds, n_features, strict=True)):
        if kind is None:
            continue
        n_anchors = len(arrays[f"diffusion_{v}"])
        need(n_anchors > 1, f"view {v} has {n_anchors} anchors")
        if kind == "dense":
            check_array(arrays, f"anchors_{v}", "f", (n_anchors, width), finite=True)
        else:
            n_stored = arrays[f"anchors_{v}_indices"].size
            check_array(arrays, f"anchors_{v}_data", "f", (n_stored,), finite=True)
            check_array(arrays, f"anchors_{v}_indices", "iu", (n_stored,))
            check_array(arrays, f"anchors_{v}_indptr", "iu", (n_anchors + 1,))
            check_sparse(_anchors(kind, v, width, arrays))
        per_size = (n_sizes, n_anchors)
        check_array(arrays, f"widths_{v}", "f", per_size, finite=True)
        need(bool((arrays[f"widths_{v}"] > 0.0).all()), f"widths_{v} has zeros")
        check_array(arrays, f"smallest_{v}", "f", (n_sizes,), finite=True)
        need(bool((arrays[f"smallest_{v}"] > 0.0).all()), f"smallest_{v} has zeros")
        for name, n_maps in ((f"maps_{v}", n_own), (f"joint_maps_{v}", n_sizes)):
            per_map = (n_maps, n_anchors, n_clusters)
            check_array(arrays, name, "f", per_map, finite=True)
        shape = (n_anchors, n_coordinates)
        check_array(arrays, f"diffusion_{v}", "f", shape, finite=True)
    check_array(arrays, "graph_weights", "f", (len(kinds),), finite=True)
    check_array(arrays, "graph_eigenvalues", "f", (n_clusters,), finite=True)
    own, joint = n_own * n_clusters, n_sizes * n_clusters
    widths = [*(own for _ in kinds), joint, n_coordinates]
    check_array(arrays, "slopes", "f", (len(widths),), finite=True)
    for e, width in enumerate(widths):
        check_array(arrays, f"embedding_shift_{e}", "f", (width,), finite=True)
        check_array(arrays, f"embedding_factor_{e}", "f", (width,), finite=True)
    return widths


def _anchors(
    kind: str, v: int, width: int, arrays: Mapping[str, npt.NDArray[Any]]
) -> Any:
    if kind == "dense":
        return arrays[f"anchors_{v}"]
    data, indices, indptr = (arrays[f"anchors_{v}_{name}"] for name in CSR)
    return sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, width))
