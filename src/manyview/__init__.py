"""Multi-view clustering: NSMVC and the methods it is compared with."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from manyview._version import __version__ as __version__
from manyview.exceptions import DatasetError as DatasetError
from manyview.exceptions import ViewError as ViewError

if TYPE_CHECKING:
    from manyview._model_file import load_imputer as load_imputer
    from manyview._model_file import load_model as load_model
    from manyview._model_file import save_model as save_model
    from manyview.cluster import *  # noqa: F403 - every clusterer, by the list below
    from manyview.embedding import GraphViews as GraphViews
    from manyview.impute import ViewImputer as ViewImputer
    from manyview.model_selection import choose_n_clusters as choose_n_clusters
    from manyview.reporting import report as report

# Imported when they are asked for: scikit-learn takes a second to import, and
# `manyview --version` needs none of it. The clusterers are in `cluster.__all__`.
_HOMES = {
    "GraphViews": "embedding",
    "ViewImputer": "impute",
    "choose_n_clusters": "model_selection",
    "load_imputer": "_model_file",
    "load_model": "_model_file",
    "report": "reporting",
    "save_model": "_model_file",
}
_PACKAGES = (
    "cluster",
    "datasets",
    "distributed",
    "embedding",
    "explain",
    "impute",
    "metrics",
    "model_selection",
    "omics",
    "plotting",
    "reporting",
)


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"manyview.{name}")
    if name == "__all__":
        return _public_names()
    home = _HOMES.get(name, "cluster")
    # Python asks for names such as __path__ that no clusterer has.
    if home != "cluster" or (name[:1] != "_" and name in _clusterers()):
        return getattr(importlib.import_module(f"manyview.{home}"), name)
    msg = f"module 'manyview' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PACKAGES, *_public_names()})


def _clusterers() -> list[str]:
    return list(importlib.import_module("manyview.cluster").__all__)


def _public_names() -> list[str]:
    own = ["DatasetError", "ViewError", "__version__"]
    return [*own, *_HOMES, *_clusterers()]
