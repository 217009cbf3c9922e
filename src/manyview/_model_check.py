"""Hold the parts of a model file against each other before anything computes with them.

Kernels trust the shapes they are given: centres of another width would have them write
beyond their arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from manyview._results import IterationRecord, PaceRecord
from manyview._scaling import SCALES

Arrays = Mapping[str, npt.NDArray[Any]]
CheckGraph = Callable[[Mapping[str, Any], Arrays, list[int], int], list[int]]

# Numbers in the state of NumPy's Mersenne twister.
STATE_SIZE = 624
# Estimators with paces, and what they have per view.
PACED = ("NSMVC", "GraphNSMVC")
PACED_PER_VIEW = ("exponents_", "thresholds_", "view_losses_")
MEMBERSHIP = (
    "membership_",
    "outlier_score_",
    "spread_temperature",
    "spread_typical",
    "spread_deviation",
)
HISTORY_PER_VIEW = frozenset({"view_losses", "exponents", "n_selected"})
HISTORY_WHOLE = frozenset({"stage", "iteration", "n_moved", "n_selected"})


def check_model(
    content: Mapping[str, Any], arrays: Arrays, check_graph: CheckGraph
) -> None:
    """Raise ValueError, with what is wrong, unless all parts belong together.

    check_graph : checks the graphs of a model that has some, see `_graph_file.py`.
    """
    n_features = check_layout(content)
    params = content["params"]
    need(isinstance(params, dict), "params is no object")
    n_clusters = params.get("n_clusters")
    need(
        type(n_clusters) is int and n_clusters > 0,
        f"n_clusters is {n_clusters!r}, not a positive whole number",
    )
    for value in params.values():
        _check_param(value, arrays)
    n_views = len(n_features)
    used = _used_views(content, n_features)
    paced = content["estimator"] in PACED
    widths = used
    need(paced or "graph" not in content, "graphs belong to another estimator")
    if "graph" in content:
        widths = check_graph(content["graph"], arrays, n_features, n_clusters)
    for space, width in enumerate(widths):
        check_array(arrays, f"centers_{space}", "f", (n_clusters, width), finite=True)
    for v, width in enumerate(used):
        check_array(arrays, f"shift_{v}", "f", (width,), finite=True)
        check_array(arrays, f"factor_{v}", "f", (width,), finite=True)
    check_array(arrays, "view_weights_", "f", (n_views,), finite=True)
    check_array(arrays, "unexplained_", "f", (len(used),))
    for name in PACED_PER_VIEW if paced else ():
        check_array(arrays, name, "f", (n_views,), finite=True)
    if not paced:
        check_array(arrays, "score_weights", "f", (len(used),), finite=True)
    labels = arrays["labels_"]
    check_array(arrays, "labels_", "iu", (labels.size,))
    least = 0 if params.get("outlier_threshold") is None else -1
    need(
        labels.size > 0 and labels.min() >= least and labels.max() < n_clusters,
        f"labels_ has labels outside {least}..{n_clusters - 1}",
    )
    if paced:
        check_array(arrays, "joined_pace_", "iu", (n_views, labels.size))
    _check_history(arrays, len(widths), PaceRecord if paced else IterationRecord)
    _check_membership(arrays, labels.size, n_clusters, len(widths))
    _check_cluster_names(content.get("cluster_names"), n_clusters)
    if "feature_names_in_" in arrays:
        check_array(arrays, "feature_names_in_", "U", (sum(n_features),))
        "".join(arrays["feature_names_in_"].tolist()).encode("utf-8")


def _used_views(content: Mapping[str, Any], n_features: list[int]) -> list[int]:
    """Numbers of features of the views that take part."""
    if content["estimator"] != "ViewKMeans":
        used = n_features
    else:
        view = content["view"]
        need(
            type(view) is int and 0 <= view < len(n_features),
            f"view is {view!r}, not one of {len(n_features)} views",
        )
        used = [n_features[view]]
    need(len(content["scales"]) == len(used), "scales are not one per view")
    return used


def _check_membership(
    arrays: Arrays, n_samples: int, n_clusters: int, n_spaces: int
) -> None:
    """Models that were fitted on a Dask cluster have no membership of their samples;
    files of old have nothing of this."""
    if any(name in arrays for name in MEMBERSHIP[:2]):
        check_array(arrays, "membership_", "f", (n_samples, n_clusters), finite=True)
        check_array(arrays, "outlier_score_", "f", (n_samples,), finite=True)
    elif not any(name in arrays for name in MEMBERSHIP):
        return
    check_array(arrays, "spread_temperature", "f", (), finite=True)
    check_array(arrays, "spread_typical", "f", (n_spaces, n_clusters), finite=True)
    check_array(arrays, "spread_deviation", "f", (n_spaces,), finite=True)
    for name in ("spread_temperature", "spread_deviation"):
        need(bool((arrays[name] > 0.0).all()), f"{name} is not positive")


def _check_cluster_names(names: Any, n_clusters: int) -> None:
    if names is None:
        return
    need(
        isinstance(names, list)
        and len(names) == n_clusters
        and all(isinstance(name, str) and name.strip() for name in names),
        "cluster_names are not one text per cluster",
    )
    "".join(names).encode("utf-8")


def check_layout(content: Mapping[str, Any]) -> list[int]:
    """Number of features of every view."""
    layout, scales = content["layout"], content["scales"]
    names, n_features = layout["names"], layout["n_features"]
    need(
        isinstance(names, list)
        and all(isinstance(name, str) for name in names)
        and len(set(names)) == len(names) > 0,
        "names of views are not distinct texts",
    )
    # Half a surrogate pair could be neither shown nor written.
    "".join(names).encode("utf-8")
    need(isinstance(layout["named"], bool), "named is neither true nor false")
    need(
        isinstance(n_features, list)
        and all(type(width) is int and width > 0 for width in n_features),
        "n_features holds no positive whole numbers",
    )
    need(
        isinstance(scales, list) and len(names) == len(n_features),
        "names and n_features differ in length",
    )
    _check_feature_names(layout.get("feature_names", []), n_features)
    for scale in scales:
        need(
            scale["mode"] in (None, *SCALES) and isinstance(scale["unit_rows"], bool),
            f"no scale is called {scale!r}",
        )
    return list(n_features)


def _check_feature_names(names: Any, n_features: list[int]) -> None:
    """Per view one text per feature, or none at all; files of old have no names."""
    need(
        isinstance(names, list) and len(names) in (0, len(n_features)),
        "feature_names are not one list per view",
    )
    for own, width in zip(names, n_features, strict=False):
        need(
            own is None
            or (
                isinstance(own, list)
                and len(own) == width
                and all(isinstance(name, str) for name in own)
            ),
            "feature_names are not one text per feature",
        )
        "".join(own or ()).encode("utf-8")


def _check_param(value: Any, arrays: Arrays) -> None:
    """A tagged parameter must refer to an array of its kind."""
    if not isinstance(value, dict):
        need(not isinstance(value, list), f"a parameter is {value!r}")
        return
    if "random_state" in value:
        algorithm, position, has_gauss, _ = value["rest"]
        check_array(arrays, value["random_state"], "u", (STATE_SIZE,))
        need(
            algorithm == "MT19937"
            and type(position) is int
            and 0 <= position <= STATE_SIZE
            and has_gauss in (0, 1),
            "the state of random_state is out of range",
        )
        return
    need(isinstance(value["kind"], str), "the kind of a parameter is no text")
    need(arrays[value["array"]].dtype.kind in "biuf", "a parameter holds no numbers")


def _check_history(arrays: Arrays, n_views: int, kind: type[IterationRecord]) -> None:
    n_records = len(arrays["history_stage"])
    for name in kind.__dataclass_fields__:
        shape = (n_records, n_views) if name in HISTORY_PER_VIEW else (n_records,)
        kinds = "iu" if name in HISTORY_WHOLE else "f"
        check_array(arrays, f"history_{name}", kinds, shape)


def check_array(
    arrays: Arrays,
    name: str,
    kinds: str,
    shape: tuple[int, ...],
    *,
    finite: bool = False,
) -> None:
    array = arrays[name]
    need(
        array.dtype.kind in kinds and array.dtype.isnative and array.shape == shape,
        f"{name} has type {array.dtype} and shape {array.shape}, expected {shape}",
    )
    if kinds == "f":
        need(array.dtype == np.float64, f"{name} has type {array.dtype}, not float64")
    if finite:
        need(bool(np.isfinite(array).all()), f"{name} holds NaN or infinity")


def need(condition: bool, trouble: str) -> None:
    if not condition:
        raise ValueError(trouble)
