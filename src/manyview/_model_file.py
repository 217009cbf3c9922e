"""Fitted models in one file, without pickle.

A model file is a zip archive of three members: ``header.json`` says what the file is
and holds the checksums of the other two; ``model.json`` has parameters and names;
``arrays.npz`` has the numbers.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from manyview import cluster
from manyview._files import whole_file
from manyview._graph_file import check_graph, pack_graph, restore_graph
from manyview._imputer_file import pack_imputer, restore_imputer, restore_layout
from manyview._model_check import check_model
from manyview._results import pack_history, unpack_history
from manyview._scaling import ViewScale
from manyview.cluster import GraphNSMVC, ViewKMeans
from manyview.cluster._membership import Spread
from manyview.cluster._predictor import PredictingClusterer
from manyview.datasets._guards import Budget
from manyview.datasets._read_arrays import load_npz
from manyview.exceptions import DatasetError

if TYPE_CHECKING:
    from manyview.impute import ViewImputer

Restored = TypeVar("Restored")

FORMAT = "manyview-model"
FORMAT_VERSION = 3
MEMBERS = ("header.json", "model.json", "arrays.npz")
# The members are stored as they are: what unpacks to far more is not ours.
MOST_EXPANSION = 2
HARMLESS_BYTES = 64 << 20

# What reading a file can raise whose checksums are right but whose content is not.
UNREADABLE = (
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    OverflowError,
    MemoryError,
    EOFError,
    RuntimeError,
    zlib.error,
    zipfile.BadZipFile,
)

Arrays = dict[str, npt.NDArray[Any]]

# Fitted arrays that need nothing but to be stored, where an estimator has them.
PLAIN_ARRAYS = (
    "labels_",
    "exponents_",
    "thresholds_",
    "view_losses_",
    "unexplained_",
    "view_weights_",
    "joined_pace_",
    "membership_",
    "outlier_score_",
)
# Parts of the spread, see `cluster/_membership.py`.
SPREAD = ("temperature", "typical", "deviation")

# Estimators that can be stored, by the name in the file: all that can predict.
KINDS: dict[str, type[PredictingClusterer]] = {
    name: getattr(cluster, name)
    for name in cluster.__all__
    if issubclass(getattr(cluster, name), PredictingClusterer)
}


def can_save(model: Any) -> bool:
    """Whether `save_model` takes a model of this kind."""
    return type(model) in KINDS.values()


def save_model(
    model: PredictingClusterer,
    path: str | os.PathLike[str],
    *,
    imputer: ViewImputer | None = None,
) -> Path:
    """Write a fitted model to one file, to be read by `load_model`.

    The file holds no code and is never unpickled. It appears under its name only when
    it is complete. That of a `GraphNSMVC` contains its anchors: up to ``n_anchors``
    rows of every view.

    Parameters
    ----------
    model : fitted estimator
        One that has `predict`. A callable ``init`` cannot be stored.
    path : path-like
        Where to write; an existing file is replaced. ``.mvz`` is the usual suffix.
    imputer : ViewImputer, default=None
        What filled in the views of the fit, to be read by `load_imputer`. One with
        ``strategy="knn"`` is stored with all its rows.

    Returns
    -------
    path : Path
        The file.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> from manyview import NSMVC, load_model, save_model
    >>> views = [np.array([[0.0], [0.1], [5.0]]), np.array([[1.0], [1.2], [9.0]])]
    >>> path = os.path.join(tempfile.mkdtemp(), "model.mvz")
    >>> model = NSMVC(n_clusters=2, random_state=0).fit(views)
    >>> bool((load_model(save_model(model, path)).labels_ == model.labels_).all())
    True
    """
    if not can_save(model) or not hasattr(model, "labels_"):
        msg = (
            f"save_model got {type(model).__name__}, expected a fitted estimator that "
            "can predict, such as GraphNSMVC. Call fit first; others cannot be stored."
        )
        raise DatasetError(msg)
    n_fitted = len(model._centers[0])
    if model.n_clusters != n_fitted:
        msg = (
            f"The model has n_clusters={model.n_clusters}, but was fitted with "
            f"{n_fitted}. Fit it again, or call set_params(n_clusters={n_fitted})."
        )
        raise DatasetError(msg)
    arrays: Arrays = {}
    content = _to_json(model, arrays)
    if imputer is not None:
        content["imputer"] = pack_imputer(imputer, arrays)
    text = json.dumps(content)
    buffer = io.BytesIO()
    # The stubs take a name among the arrays for a flag; ours never has that name.
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    members = {"model.json": text.encode("utf-8"), "arrays.npz": buffer.getvalue()}
    header = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "sha256": {name: _sha256(data) for name, data in members.items()},
    }
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("header.json", json.dumps(header))
        for name, data in members.items():
            file.writestr(name, data)
    path = Path(path)
    with whole_file(path) as out:
        out.write(archive.getvalue())
    return path


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model written by `save_model`.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    model : fitted estimator
        Parameters, attributes and predictions are those of the one that was saved.

    Raises
    ------
    DatasetError
        When the file is missing, not a model, damaged, or of another version.
    """
    return _read_model(path, _from_json)


def load_imputer(path: str | os.PathLike[str]) -> ViewImputer | None:
    """Read the imputer that was saved together with a model.

    Parameters
    ----------
    path : path-like
        A file written by `save_model`.

    Returns
    -------
    imputer : ViewImputer or None
        Fitted; None if the model was saved without one.

    Raises
    ------
    DatasetError
        As in `load_model`.
    """
    return _read_model(path, restore_imputer)


def _read_model(
    path: str | os.PathLike[str], restore: Callable[[dict[str, Any], Arrays], Restored]
) -> Restored:
    """What `restore` makes of the checked parts of a model file."""
    path = Path(path)
    content = _read_members(path)
    header = _parse(path, content["header.json"])
    if header.get("format") != FORMAT:
        msg = f"{path} is not a manyview model: its header names another format."
        raise DatasetError(msg)
    if header.get("version") != FORMAT_VERSION:
        msg = (
            f"{path} has model format version {header.get('version')!r}, but this "
            f"manyview reads version {FORMAT_VERSION}. Fit and save the model anew, or "
            "install the manyview that wrote it."
        )
        raise DatasetError(msg)
    checksums = header.get("sha256")
    if not isinstance(checksums, dict):
        msg = f"{path} is not a manyview model: its header has no checksums."
        raise DatasetError(msg)
    for name in MEMBERS[1:]:
        found, expected = _sha256(content[name]), checksums.get(name)
        if found != expected:
            msg = (
                f"{path} is damaged: {name} has sha256 {found}, but its header says "
                f"{expected}. Copy or save the model anew."
            )
            raise DatasetError(msg)
    try:
        packed = content["arrays.npz"]
        arrays = load_npz(io.BytesIO(packed), str(path), Budget(stored=len(packed)))
        parsed = _parse(path, content["model.json"])
        check_model(parsed, arrays, check_graph)
        return restore(parsed, arrays)
    except UNREADABLE as error:
        msg = (
            f"{path} is not a complete manyview model ({type(error).__name__}: "
            f"{_short(error)}). Save the model anew."
        )
        raise DatasetError(msg) from error


def _to_json(model: Any, arrays: Arrays) -> dict[str, Any]:
    """Everything but arrays as JSON values; arrays go to `arrays` under their name."""
    for name in PLAIN_ARRAYS:
        if hasattr(model, name):
            arrays[name] = getattr(model, name)
    if hasattr(model, "_spread"):
        for name in SPREAD:
            arrays[f"spread_{name}"] = np.asarray(getattr(model._spread, name))
    if hasattr(model, "_score_weights"):
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
    content: dict[str, Any] = {
        "estimator": type(model).__name__,
        "params": {
            name: _plain_param(name, value, arrays)
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


def _from_json(content: dict[str, Any], arrays: Arrays) -> Any:
    params = {
        name: _restored_param(value, arrays)
        for name, value in content["params"].items()
    }
    model = KINDS[content["estimator"]](**params)
    model._validate_params()
    model._layout = restore_layout(content["layout"])
    model.view_names_ = list(model._layout.names)
    model.n_features_in_ = sum(model._layout.n_features)
    if "feature_names_in_" in arrays:
        model.feature_names_in_ = arrays["feature_names_in_"].astype(object)
    model.scales_ = tuple(
        ViewScale(
            mode=scale["mode"],
            shift=arrays[f"shift_{v}"],
            factor=arrays[f"factor_{v}"],
            unit_rows=scale["unit_rows"],
        )
        for v, scale in enumerate(content["scales"])
    )
    for name in PLAIN_ARRAYS:
        if name in arrays:
            setattr(model, name, arrays[name])
    _restore_parts(model, content, arrays)
    model.objective_ = float.fromhex(content["objective"])
    model.history_ = unpack_history(arrays)
    model.n_iter_ = len(model.history_)
    if isinstance(model, GraphNSMVC):
        restore_graph(model, content["graph"], arrays)
    scales = (
        model._center_scales() if hasattr(model, "_center_scales") else model.scales_
    )
    model._centers = tuple(arrays[f"centers_{space}"] for space in range(len(scales)))
    model.cluster_centers_ = [
        scale.to_user_units(centers)
        for scale, centers in zip(scales, model._centers, strict=True)
    ]
    return model


def _restore_parts(model: Any, content: dict[str, Any], arrays: Arrays) -> None:
    """What only some models have."""
    if "spread_temperature" in arrays:
        model._spread = Spread(
            temperature=float(arrays["spread_temperature"]),
            typical=arrays["spread_typical"],
            deviation=arrays["spread_deviation"],
        )
    if "score_weights" in arrays:
        model._score_weights = arrays["score_weights"]
    if content.get("cluster_names") is not None:
        model.cluster_names_ = list(content["cluster_names"])
    if isinstance(model, ViewKMeans):
        model.view_ = content["view"]


def _plain_param(name: str, value: Any, arrays: Arrays) -> Any:
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


def _restored_param(value: Any, arrays: Arrays) -> Any:
    if not isinstance(value, dict):
        return value
    if "random_state" in value:
        algorithm, position, has_gauss, cached = value["rest"]
        keys = arrays[value["random_state"]]
        source = np.random.RandomState()
        source.set_state((algorithm, keys, position, has_gauss, float.fromhex(cached)))
        return source
    array = arrays[value["array"]]
    if value["kind"] == "list":
        return array.tolist()
    return tuple(array.tolist()) if value["kind"] == "tuple" else array


def _read_members(path: Path) -> dict[str, bytes]:
    try:
        size = path.stat().st_size
        with zipfile.ZipFile(path) as file:
            infos = {info.filename: info for info in file.infolist()}
            if set(infos) != set(MEMBERS):
                msg = (
                    f"{path} is not a manyview model: it holds {sorted(infos)[:3]}, "
                    f"expected {list(MEMBERS)}."
                )
                raise DatasetError(msg)
            unpacked = sum(info.file_size for info in infos.values())
            if unpacked > max(HARMLESS_BYTES, MOST_EXPANSION * size):
                msg = f"{path} is not a manyview model: it unpacks to {unpacked} bytes."
                raise DatasetError(msg)
            return {name: file.read(name) for name in MEMBERS}
    except DatasetError:
        raise
    except FileNotFoundError as error:
        msg = f"{path} does not exist; expected a model written by save_model."
        raise DatasetError(msg) from error
    except IsADirectoryError as error:
        msg = f"{path} is a folder; pass the model file in it, e.g. model.mvz."
        raise DatasetError(msg) from error
    except (*UNREADABLE, OSError) as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        msg = (
            f"{path} is not a manyview model, or was cut short ({_short(error)}). "
            "Expected a file written by save_model."
        )
        raise DatasetError(msg) from error


def _parse(path: Path, data: bytes) -> dict[str, Any]:
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        msg = f"{path} is not a manyview model: {error}."
        raise DatasetError(msg) from error
    if not isinstance(content, dict):
        msg = f"{path} is not a manyview model: a JSON object was expected inside."
        raise DatasetError(msg)
    return content


def _short(error: Exception) -> str:
    """Its message on one line; that of a damaged archive may hold the archive."""
    return " ".join(str(error).split())[:300]


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
