"""Estimators and imputers as the arrays and the JSON of a model file, and back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from manyview import cluster
from manyview._arrays import are_counts, check_sparse
from manyview._model_arrays import Arrays, check_arrays, check_characters, need
from manyview._numerics._pacing import view_slopes
from manyview._results import PaceRecord, pack_history, unpack_history
from manyview._scaling import SCALES, ViewScale
from manyview._views import ViewLayout
from manyview.cluster import NSMVC, GraphNSMVC, ViewKMeans
from manyview.cluster._centroids import CentroidClusterer
from manyview.cluster._membership import Spread
from manyview.embedding._graph_views import embedding_names
from manyview.exceptions import DatasetError
from manyview.impute import ViewImputer

Content: TypeAlias = dict[str, Any]

# Estimators that can be stored, by the name in the file: all that can predict.
KINDS: dict[str, type[CentroidClusterer]] = {
    name: getattr(cluster, name)
    for name in cluster.__all__
    if issubclass(getattr(cluster, name), CentroidClusterer)
}
# Attributes of one object that are stored under their own names.
OF_SCALE = ("shift", "factor")
OF_SPREAD = ("temperature", "typical", "deviation")
OF_VIEW_GRAPH = ("widths", "smallest", "maps", "joint_maps", "diffusion")
OF_SPARSE = ("data", "indices", "indptr")
# Numbers in the state of NumPy's Mersenne twister.
STATE_SIZE = 624


def pack_model(model: Any, arrays: Arrays) -> Content:
    """Everything but arrays as JSON values; arrays go to `arrays` under their name."""
    _pack(arrays, "*", model, _own_arrays(model))
    if hasattr(model, "membership_"):
        _pack(arrays, "*", model, ("membership_", "outlier_score_"))
    if hasattr(model, "_spread"):
        _pack(arrays, "spread_*", model._spread, OF_SPREAD)
    for space, centers in enumerate(model._centers):
        arrays[f"centers_{space}"] = centers
    for v, scale in enumerate(model.scales_):
        _pack(arrays, f"*_{v}", scale, OF_SCALE)
    arrays.update(pack_history(model.history_))
    if hasattr(model, "feature_names_in_"):
        arrays["feature_names_in_"] = model.feature_names_in_.astype(np.str_)
    content: Content = {
        "estimator": type(model).__name__,
        "params": {
            name: _pack_param(name, value, arrays)
            for name, value in model.get_params().items()
        },
        "layout": asdict(model._layout),
        "scales": [{"mode": s.mode, "unit_rows": s.unit_rows} for s in model.scales_],
        # Hexadecimal text keeps every bit, as JSON numbers need not.
        "objective": float(model.objective_).hex(),
    }
    if hasattr(model, "cluster_names_"):
        content["cluster_names"] = model.cluster_names_
    if isinstance(model, ViewKMeans):
        content["view"] = model.view_
    if isinstance(model, GraphNSMVC):
        content["graph"] = _pack_graph(model, arrays)
    return content


def restore_model(content: Content, stored: Arrays) -> Any:
    """The estimator; ValueError, or what else unsound parts raise, if there is none."""
    params = {
        name: _restore_param(value, stored) for name, value in content["params"].items()
    }
    model: Any = KINDS[content["estimator"]](**params)
    model._validate_params()
    _set_layout(model, content["layout"])
    if isinstance(model, ViewKMeans):
        model.view_ = content["view"]
        known = type(model.view_) is int and 0 <= model.view_ < len(model.view_names_)
        need(known, "no such view")
    arrays = check_arrays(stored, _sizes(model, content))
    if "feature_names_in_" in arrays:
        model.feature_names_in_ = arrays["feature_names_in_"].astype(object)
        check_characters(model.feature_names_in_.tolist())
    vars(model).update(_fields(arrays, "*", _own_arrays(model)))
    model.scales_ = tuple(
        _restore_scale(arrays, f"*_{v}", **scale)
        for v, scale in enumerate(content["scales"])
    )
    need(len(model.scales_) == len(model.unexplained_), "it has too few scales")
    model.objective_ = float.fromhex(content["objective"])
    if isinstance(model, GraphNSMVC):
        _restore_graph(model, content["graph"], arrays)
    elif isinstance(model, NSMVC):
        model._score_weights = view_slopes(model.view_losses_, model.exponents_)
    least = 0 if model.outlier_threshold is None else -1
    need(
        model.labels_.min() >= least and model.labels_.max() < model.n_clusters,
        f"labels_ has labels outside {least}..{model.n_clusters - 1}",
    )
    scales = model._center_scales()
    model._centers = tuple(arrays[f"centers_{space}"] for space in range(len(scales)))
    model.cluster_centers_ = [
        scale.to_user_units(centers)
        for scale, centers in zip(scales, model._centers, strict=True)
    ]
    if "cluster_names" in content:
        model.cluster_names_ = names = content["cluster_names"]
        need(
            _are_texts(names, model.n_clusters) and all(name.strip() for name in names),
            f"cluster_names are not {model.n_clusters} texts",
        )
    model.history_ = unpack_history(arrays)
    has_paces = isinstance(model.history_[0], PaceRecord)
    need(has_paces == isinstance(model, NSMVC), "its history is of another method")
    model.n_iter_ = len(model.history_)
    # Models that were fitted on a Dask cluster have no membership of their samples;
    # files of earlier versions have nothing of this.
    if "membership_" in arrays or "outlier_score_" in arrays:
        model.membership_ = arrays["membership_"]
        model.outlier_score_ = arrays["outlier_score_"]
    if "spread_temperature" in arrays or hasattr(model, "membership_"):
        spread = _fields(arrays, "spread_*", OF_SPREAD)
        model._spread = Spread(**spread | {"temperature": float(spread["temperature"])})
    return model


def _sizes(model: Any, content: Content) -> dict[str, int]:
    """The sizes in `ARRAYS` that are known before the arrays."""
    widths, n_clusters = model._layout.n_features, model.n_clusters
    scaled = (widths[model.view_],) if isinstance(model, ViewKMeans) else widths
    sizes = {"views": len(widths), "clusters": n_clusters, "all_features": sum(widths)}
    columns = scaled
    if isinstance(model, GraphNSMVC):
        n_neighbors = content["graph"]["n_neighbors"]
        ascending = are_counts(n_neighbors) and n_neighbors == sorted({*n_neighbors})
        need(ascending, f"n_neighbors is {n_neighbors!r}, expected ascending numbers")
        n_sizes, n_ends = len(n_neighbors), min(len(n_neighbors), 2)
        own, n_coordinates = [n_ends * n_clusters] * len(widths), n_clusters + 1
        columns = (*own, n_sizes * n_clusters, n_coordinates)
        sizes |= {"neighborhoods": n_sizes, "ends": n_ends}
        sizes["coordinates"] = n_coordinates
    sizes |= {"scales": len(scaled), "spaces": len(columns)}
    sizes |= {f"features_{v}": width for v, width in enumerate(widths)}
    sizes |= {f"scaled_{v}": width for v, width in enumerate(scaled)}
    return sizes | {f"columns_{space}": width for space, width in enumerate(columns)}


def _own_arrays(model: Any) -> tuple[str, ...]:
    """Attributes that every estimator of this kind has, however it was fitted."""
    names = ("labels_", "unexplained_", "view_weights_")
    if isinstance(model, NSMVC):
        return (*names, "exponents_", "thresholds_", "view_losses_", "joined_pace_")
    return (*names, "_score_weights")


def _pack(arrays: Arrays, key: str, source: Any, names: Iterable[str]) -> None:
    """Store attributes under a key with their names in place of the asterisk."""
    for name in names:
        arrays[key.replace("*", name.lstrip("_"))] = np.asarray(getattr(source, name))


def _fields(arrays: Arrays, key: str, names: Iterable[str]) -> dict[str, Any]:
    """What `_pack` stored, by attribute."""
    return {name: arrays[key.replace("*", name.lstrip("_"))] for name in names}


def _restore_scale(arrays: Arrays, key: str, *, mode: Any, unit_rows: Any) -> ViewScale:
    known = mode in (None, *SCALES) and isinstance(unit_rows, bool)
    need(known, f"no scale is called {mode!r}")
    return ViewScale(mode=mode, unit_rows=unit_rows, **_fields(arrays, key, OF_SCALE))


def _set_layout(model: Any, layout: Content) -> None:
    """Set what an estimator remembers of the views of its fit."""
    names, n_features, named = layout["names"], layout["n_features"], layout["named"]
    # Files of earlier versions have no names of features.
    features = layout.get("feature_names", [])
    need(
        are_counts(n_features)
        and _are_texts(names, len(n_features))
        and len(set(names)) == len(names)
        and isinstance(named, bool)
        and len(features) in (0, len(names))
        and all(
            own is None or _are_texts(own, width)
            for own, width in zip(features, n_features, strict=False)
        ),
        "names and numbers of features do not describe views",
    )
    model._remember_layout(
        ViewLayout(
            names=tuple(names),
            n_features=tuple(n_features),
            named=named,
            feature_names=tuple(own and tuple(own) for own in features),
        )
    )


def _pack_param(name: str, value: Any, arrays: Arrays) -> Any:
    """A constructor parameter as JSON; what JSON lacks is tagged as a dict."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.random.RandomState):
        algorithm, keys, position, has_gauss, cached = value.get_state(legacy=True)
        arrays[f"param_{name}"] = np.asarray(keys)
        rest = [algorithm, int(position), int(has_gauss), float(cached).hex()]
        return {"random_state": f"param_{name}", "rest": rest}
    if callable(value):
        msg = (
            f"{name} is a function, which a model file cannot hold. Call "
            f"set_params({name}='k-means++') before saving; the fit stays as it is."
        )
        raise DatasetError(msg)
    arrays[f"param_{name}"] = np.asarray(value)
    return {"array": f"param_{name}", "kind": type(value).__name__}


def _restore_param(value: Any, stored: Arrays) -> Any:
    need(not isinstance(value, list), f"a parameter is {value!r}")
    if not isinstance(value, dict):
        return value
    if "random_state" in value:
        algorithm, position, has_gauss, cached = value["rest"]
        keys = stored[value["random_state"]]
        need(
            (algorithm == "MT19937" and has_gauss in (0, 1))
            and (type(position) is int and 0 <= position <= STATE_SIZE)
            and (keys.dtype == np.uint32 and keys.shape == (STATE_SIZE,)),
            "the state of random_state is out of range",
        )
        source = np.random.RandomState()
        source.set_state((algorithm, keys, position, has_gauss, float.fromhex(cached)))
        return source
    array, kind = stored[value["array"]], value["kind"]
    need(array.dtype.kind in "biuf", "a parameter holds no numbers")
    if kind in ("list", "tuple"):
        return array.tolist() if kind == "list" else tuple(array.tolist())
    return array


def _pack_graph(model: GraphNSMVC, arrays: Arrays) -> Content:
    graph = model._graph
    _pack(arrays, "graph_*", graph, ("weights", "eigenvalues"))
    arrays["slopes"] = model._score_weights
    for e, scale in enumerate(model._embedding_scales):
        _pack(arrays, f"embedding_*_{e}", scale, OF_SCALE)
    kinds: list[str | None] = [None] * len(graph.views)
    for v, view in enumerate(graph.views):
        if view is None:
            continue
        _pack(arrays, f"*_{v}", view, OF_VIEW_GRAPH)
        if isinstance(view.anchors, np.ndarray):
            kinds[v] = "dense"
            arrays[f"anchors_{v}"] = view.anchors
        else:
            kinds[v] = "sparse"
            _pack(arrays, f"anchors_{v}_*", view.anchors, OF_SPARSE)
    return {
        "anchors": kinds,
        "n_neighbors": graph.n_neighbors,
        "complete": graph.complete,
    }


def _restore_graph(model: Any, content: Content, arrays: Arrays) -> None:
    # Imported here: the solvers bring numba, which takes a while.
    from manyview._solvers._graph_views import AnchorGraph, GraphModel

    # Files of old do not say whether all samples are anchors.
    complete = content.get("complete", False)
    need(isinstance(complete, bool), "complete is neither true nor false")
    views: list[AnchorGraph | None] = []
    for v, kind in enumerate(content["anchors"]):
        if kind is None:
            views.append(None)
            continue
        fields = _fields(arrays, f"*_{v}", OF_VIEW_GRAPH)
        diffusion = fields.pop("diffusion")
        need(len(diffusion) > 1, f"view {v} has {len(diffusion)} anchors")
        per_size = {name: tuple(array) for name, array in fields.items()}
        anchors = _restore_anchors(arrays, v, kind, len(diffusion), model)
        views.append(AnchorGraph(anchors=anchors, diffusion=diffusion, **per_size))
    need(len(views) == len(model.view_names_), f"it has {len(views)} graphs")
    model._graph = GraphModel(
        views=tuple(views),
        n_neighbors=tuple(content["n_neighbors"]),
        n_components=model.n_clusters,
        complete=complete,
        **_fields(arrays, "graph_*", ("weights", "eigenvalues")),
    )
    model._embedding_scales = tuple(
        _restore_scale(arrays, f"embedding_*_{e}", mode="energy", unit_rows=False)
        for e in range(len(views) + 2)
    )
    model._score_weights = arrays["slopes"]
    model.graph_weights_ = model._graph.weights
    model.embedding_names_ = list(embedding_names(model.view_names_))


def _restore_anchors(arrays: Arrays, v: int, kind: Any, n: int, model: Any) -> Any:
    if kind == "dense":
        return arrays[f"anchors_{v}"]
    need(kind == "sparse", f"no anchors are called {kind!r}")
    parts = _fields(arrays, f"anchors_{v}_*", OF_SPARSE)
    shape = (n, model._layout.n_features[v])
    # scipy compares the lengths of the parts with the shape.
    return check_sparse(sparse.csr_array(tuple(parts.values()), shape=shape))


def pack_imputer(imputer: ViewImputer, arrays: Arrays) -> Content:
    """The imputer as JSON values; what it learned goes to `arrays`."""
    if not hasattr(imputer, "imputers_"):
        msg = "imputer is not fitted. Call its fit with the views of the model."
        raise DatasetError(msg)
    for v, rows in enumerate(imputer._learned):
        if rows is not None:
            arrays[f"imputer_{v}"] = rows
    return {
        "strategy": imputer.strategy,
        "n_neighbors": int(imputer.n_neighbors),
        "n_imputed": imputer.n_imputed_,
    }


def restore_imputer(content: Content, stored: Arrays) -> ViewImputer | None:
    """The imputer of a model with this content; None if it has none."""
    packed = content.get("imputer")
    if packed is None:
        return None
    imputer = ViewImputer(packed["strategy"], n_neighbors=packed["n_neighbors"])
    imputer._validate_params()
    _set_layout(imputer, content["layout"])
    imputer.n_imputed_ = {
        str(name): int(count) for name, count in packed["n_imputed"].items()
    }
    names = [f"imputer_{v}" for v in range(len(imputer.view_names_))]
    widths = enumerate(imputer._layout.n_features)
    sizes = {f"features_{v}": width for v, width in widths}
    arrays = check_arrays({n: stored[n] for n in names if n in stored}, sizes)
    # Of a sparse view, "knn" learns nothing.
    if imputer.strategy != "knn":
        need(len(arrays) == len(names), "imputer lacks values of a view")
    imputer._learn([arrays.get(name) for name in names])
    return imputer


def _are_texts(values: Any, count: int) -> bool:
    is_list = isinstance(values, list) and len(values) == count
    return is_list and all(isinstance(value, str) for value in values)
