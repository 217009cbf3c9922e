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
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from manyview._files import UNREADABLE, whole_file
from manyview._model_arrays import Arrays, check_characters, need
from manyview._model_content import (
    KINDS,
    Content,
    pack_imputer,
    pack_model,
    restore_imputer,
    restore_model,
)
from manyview.cluster._centroids import CentroidClusterer
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


def can_save(model: Any) -> bool:
    """Whether `save_model` takes a model of this kind."""
    return type(model) in KINDS.values()


def save_model(
    model: CentroidClusterer,
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
    content = pack_model(model, arrays)
    if imputer is not None:
        content["imputer"] = pack_imputer(imputer, arrays)
    buffer = io.BytesIO()
    # The stubs take a name among the arrays for a flag; ours never has that name.
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    text = json.dumps(content).encode("utf-8")
    members = {"model.json": text, "arrays.npz": buffer.getvalue()}
    header = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "sha256": {name: _sha256(data) for name, data in members.items()},
    }
    with whole_file(path) as out, zipfile.ZipFile(out, "w") as file:
        file.writestr("header.json", json.dumps(header))
        for name, data in members.items():
            file.writestr(name, data)
    return Path(path)


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
    return _read_model(path, restore_model)


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
    path: str | os.PathLike[str], restore: Callable[[Content, Arrays], Restored]
) -> Restored:
    """What `restore` makes of the parts of a model file."""
    path = Path(path)
    header, members = _read_members(path)
    if header.get("version") != FORMAT_VERSION:
        msg = (
            f"{path} has model format version {header.get('version')!r}, but this "
            f"manyview reads version {FORMAT_VERSION}. Fit and save the model anew, or "
            "install the manyview that wrote it."
        )
        raise DatasetError(msg)
    for name in MEMBERS[1:]:
        found, expected = _sha256(members[name]), header["sha256"].get(name)
        if found != expected:
            msg = (
                f"{path} is damaged: {name} has sha256 {found}, but its header says "
                f"{expected}. Copy or save the model anew."
            )
            raise DatasetError(msg)
    try:
        content, packed = json.loads(members["model.json"]), members["arrays.npz"]
        check_characters(content)
        arrays = load_npz(io.BytesIO(packed), str(path), Budget(stored=len(packed)))
        return restore(content, arrays)
    except UNREADABLE as error:
        msg = (
            f"{path} is not a complete manyview model ({type(error).__name__}: "
            f"{_short(error)}). Save the model anew."
        )
        raise DatasetError(msg) from error


def _read_members(path: Path) -> tuple[Content, dict[str, bytes]]:
    """The header and all members of a file that is one of ours."""
    if not path.is_file():
        trouble = "is a folder" if path.is_dir() else "does not exist"
        msg = f"{path} {trouble}; expected a model file written by save_model."
        raise DatasetError(msg)
    try:
        with path.open("rb") as stored, zipfile.ZipFile(stored) as file:
            infos = file.infolist()
            names = sorted({info.filename for info in infos})
            need(names == sorted(MEMBERS), f"holds {names[:3]}, expected {[*MEMBERS]}")
            unpacked = sum(info.file_size for info in infos)
            most = max(HARMLESS_BYTES, MOST_EXPANSION * path.stat().st_size)
            need(unpacked <= most, f"unpacks to {unpacked} bytes")
            members = {name: file.read(name) for name in MEMBERS}
        header = json.loads(members["header.json"])
        need(isinstance(header, dict), "a JSON object was expected inside")
        need(header.get("format") == FORMAT, "its header names another format")
        need(isinstance(header.get("sha256"), dict), "its header has no checksums")
        return header, members
    except (*UNREADABLE, OSError) as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        msg = (
            f"{path} is not a manyview model, or was cut short ({_short(error)}). "
            "Expected a file written by save_model."
        )
        raise DatasetError(msg) from error


def _short(error: Exception) -> str:
    """Its message on one line; that of a damaged archive may hold the archive."""
    return " ".join(str(error).split())[:300]


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
