"""Estimators and imputers as the arrays and the JSON of a model file."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from manyview import cluster
from manyview._graph_file import pack_graph, restore_graph
from manyview._model_check import StoredArrays, check_counts, check_texts, need
from manyview._numerics._pacing import view_slopes
from manyview._results import IterationRecord, PaceRecord, pack_history, unpack_history
from manyview._scaling import SCALES, ViewScale
from manyview._views import ViewLayout
from manyview.cluster import NSMVC, GraphNSMVC, ViewKMeans
from manyview.cluster._centroids import CentroidClusterer
from manyview.cluster._membership import Spread
from manyview.exceptions import DatasetError
from manyview.impute import ViewImputer

Arrays = dict[str, npt.NDArray[Any]]
Content = dict[str, Any]

# Estimators that can be stored, by the name in the file: all that can predict.
KINDS: dict[str, type[CentroidClusterer]] = {
    name: getattr(cluster, name)
    for name in cluster.__all__
    if issubclass(getattr(cluster, name), CentroidClusterer)
}
# Fitted arrays that need nothing but to be stored, where an estimator has them.
OF_PACES = ("exponents_", "thresholds_", "view_losses_")
PLAIN_ARRAYS = (
    *OF_PACES,
    *("labels_", "unexplained_", "view_weights_", "joined_pace_"),
    *("membership_", "outlier_score_"),
)
HISTORY_PER_VIEW = frozenset({"view_losses", "exponents", "n_selected"})
HISTORY_WHOLE = frozenset({"stage", "iteration", "n_moved", "n_selected"})
# Numbers in the state of NumPy's Mersenne twister.
STATE_SIZE = 624


def pack_model(model: Any, arrays: Arrays) -> Content:
    """Everything but arrays as JSON values; arrays go to `arrays` under their name."""
    for name in PLAIN_ARRAYS:
        if hasattr(model, name):
            arrays[name] = getattr(model, name)
    if hasattr(model, "_spread"):
        for name in ("temperature", "typical", "deviation"):
            arrays[f"spread_{name}"] = np.asarray(getattr(model._spread, name))
    if not isinstance(model, NSMVC):
        arrays["score_weights"] = model._score_weights
    for space, centers in enumerate(model._centers):
        arrays[f"centers_{space}"] = centers
    for v, scale in enumerate(model.scales_):
        arrays[f"shift_{v}"] = scale.shift
        arrays[f"factor_{v}"] = scale.factor
    arrays.update(pack_history(model.history_))
    if hasattr(model, "feature_names_in_"):
        arrays["feature_names_in_"] = model.feature_names_in_.astype(np.str_)
    layout = model._layout
    content: Content = {
        "estimator": type(model).__name__,
        "params": {
            name: _pack_param(name, value, arrays)
            for name, value in model.get_params().items()
        },
        "layout": {
            "names": layout.names,
            "n_features": layout.n_features,
            "named": layout.named,
            "feature_names": layout.feature_names,
        },
        "scales": [{"mode": s.mode, "unit_rows": s.unit_rows} for s in model.scales_],
        # Hexadecimal text keeps every bit, as JSON numbers need not.
        "objective": float(model.objective_).hex(),
    }
    if hasattr(model, "cluster_names_"):
        content["cluster_names"] = model.cluster_names_
    if isinstance(model, ViewKMeans):
        content["view"] = model.view_
    if isinstance(model, GraphNSMVC):
        content["graph"] = pack_graph(model, arrays)
    return content


def restore_model(content: Content, stored: StoredArrays) -> Any:
    """The estimator; ValueError, or what else unsound parts raise, if there is none."""
    params = {
        name: _restore_param(value, stored) for name, value in content["params"].items()
    }
    model: Any = KINDS[content["estimator"]](**params)
    model._validate_params()
    _set_layout(model, content["layout"])
    if "feature_names_in_" in stored:
        names = stored.take("feature_names_in_", "U", (model.n_features_in_,))
        "".join(names.tolist()).encode("utf-8")
        model.feature_names_in_ = names.astype(object)
    n_views = len(model.view_names_)
    widths = model._layout.n_features
    if isinstance(model, ViewKMeans):
        model.view_ = content["view"]
        need(type(model.view_) is int and 0 <= model.view_ < n_views, "no such view")
        widths = (widths[model.view_],)
    model.scales_ = tuple(
        _restore_scale(scale, v, width, stored)
        for v, (scale, width) in enumerate(zip(content["scales"], widths, strict=True))
    )
    model.objective_ = float.fromhex(content["objective"])
    model.view_weights_ = stored.floats("view_weights_", n_views)
    model.unexplained_ = stored.floats("unexplained_", len(widths), finite=False)
    model.labels_ = _restore_labels(model, stored)
    if isinstance(model, NSMVC):
        for name in OF_PACES:
            setattr(model, name, stored.floats(name, n_views))
        model.joined_pace_ = stored.whole("joined_pace_", n_views, len(model.labels_))
        model._score_weights = view_slopes(model.view_losses_, model.exponents_)
    else:
        model._score_weights = stored.floats("score_weights", len(widths))
    if isinstance(model, GraphNSMVC):
        restore_graph(model, content["graph"], stored)
    _restore_clusters(model, content.get("cluster_names"), stored)
    return model


def _restore_clusters(model: Any, names: Any, stored: StoredArrays) -> None:
    """Centres and what follows from the distances to them."""
    n_clusters, scales = model.n_clusters, model._center_scales()
    model._centers = tuple(
        stored.floats(f"centers_{space}", n_clusters, len(scale.factor))
        for space, scale in enumerate(scales)
    )
    model.cluster_centers_ = [
        scale.to_user_units(centers)
        for scale, centers in zip(scales, model._centers, strict=True)
    ]
    if names is not None:
        model.cluster_names_ = list(check_texts(names, n_clusters, "cluster_names"))
        need(all(name.strip() for name in names), "a cluster has an empty name")
    kind = PaceRecord if isinstance(model, NSMVC) else IterationRecord
    model.history_ = _restore_history(kind, len(scales), stored)
    model.n_iter_ = len(model.history_)
    # Models that were fitted on a Dask cluster have no membership of their samples;
    # files of earlier versions have nothing of this.
    if "membership_" in stored or "outlier_score_" in stored:
        n_samples = len(model.labels_)
        model.membership_ = stored.floats("membership_", n_samples, n_clusters)
        model.outlier_score_ = stored.floats("outlier_score_", n_samples)
    if "spread_temperature" in stored or hasattr(model, "membership_"):
        model._spread = Spread(
            temperature=float(stored.floats("spread_temperature", positive=True)),
            typical=stored.floats("spread_typical", len(scales), n_clusters),
            deviation=stored.floats("spread_deviation", len(scales), positive=True),
        )


def _restore_labels(model: Any, stored: StoredArrays) -> npt.NDArray[Any]:
    labels = stored.whole("labels_", stored["labels_"].size)
    least = 0 if model.outlier_threshold is None else -1
    need(
        labels.size > 0 and labels.min() >= least and labels.max() < model.n_clusters,
        f"labels_ has labels outside {least}..{model.n_clusters - 1}",
    )
    return labels


def _restore_history(
    kind: type[IterationRecord], n_spaces: int, stored: StoredArrays
) -> tuple[Any, ...]:
    n_records = len(stored["history_stage"])
    arrays = {}
    for name in kind.__dataclass_fields__:
        shape = (n_records, n_spaces) if name in HISTORY_PER_VIEW else (n_records,)
        key, kinds = f"history_{name}", "iu" if name in HISTORY_WHOLE else "f"
        arrays[key] = stored.take(key, kinds, shape)
    return unpack_history(arrays)


def _restore_scale(
    scale: dict[str, Any], v: int, width: int, stored: StoredArrays
) -> ViewScale:
    mode, unit_rows = scale["mode"], scale["unit_rows"]
    need(
        mode in (None, *SCALES) and isinstance(unit_rows, bool),
        f"no scale is called {scale!r}",
    )
    return ViewScale(
        mode=mode,
        shift=stored.floats(f"shift_{v}", width),
        factor=stored.floats(f"factor_{v}", width),
        unit_rows=unit_rows,
    )


def _set_layout(model: Any, layout: dict[str, Any]) -> None:
    """Set what an estimator remembers of the views of its fit."""
    n_features = check_counts(layout["n_features"], "n_features")
    names = check_texts(layout["names"], len(n_features), "names of views")
    need(len(set(names)) == len(names), "two views have the same name")
    need(isinstance(layout["named"], bool), "named is neither true nor false")
    # Files of earlier versions have no names of features.
    features = layout.get("feature_names", [])
    need(
        isinstance(features, list) and len(features) in (0, len(names)),
        "feature_names are not one list per view",
    )
    own = zip(features, n_features, strict=False)
    model._remember_layout(
        ViewLayout(
            names=names,
            n_features=n_features,
            named=layout["named"],
            feature_names=tuple(
                None if texts is None else check_texts(texts, width, "feature_names")
                for texts, width in own
            ),
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


def _restore_param(value: Any, stored: StoredArrays) -> Any:
    need(not isinstance(value, list), f"a parameter is {value!r}")
    if not isinstance(value, dict):
        return value
    if "random_state" in value:
        algorithm, position, has_gauss, cached = value["rest"]
        need(
            algorithm == "MT19937"
            and type(position) is int
            and 0 <= position <= STATE_SIZE
            and has_gauss in (0, 1),
            "the state of random_state is out of range",
        )
        keys = stored.take(value["random_state"], "u", (STATE_SIZE,))
        source = np.random.RandomState()
        source.set_state((algorithm, keys, position, has_gauss, float.fromhex(cached)))
        return source
    array, kind = stored[value["array"]], value["kind"]
    need(array.dtype.kind in "biuf", "a parameter holds no numbers")
    if kind in ("list", "tuple"):
        return array.tolist() if kind == "list" else tuple(array.tolist())
    return array


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


def restore_imputer(content: Content, stored: StoredArrays) -> ViewImputer | None:
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
    learned: list[Any] = []
    for v, width in enumerate(imputer._layout.n_features):
        # Of a sparse view, "knn" learns nothing.
        rows = stored.get(f"imputer_{v}")
        need(rows is not None or imputer.strategy == "knn", "imputer has no values")
        if rows is not None:
            rows = stored.take(f"imputer_{v}", "f", (len(rows), width))
            need(len(rows) > 0 and not np.isinf(rows).any(), "imputer is odd")
        learned.append(rows)
    imputer._learn(learned)
    return imputer
