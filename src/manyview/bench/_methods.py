"""Estimators by name: those of manyview, of installed plug-ins, of an import path."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from typing import Any, TypeAlias

import manyview.cluster
from manyview.exceptions import DatasetError

METHOD_GROUP = "manyview.methods"
Factory: TypeAlias = Callable[..., Any]


@cache
def find_estimator(name: str) -> Factory:
    """The class (or factory) that `name` stands for.

    Parameters
    ----------
    name : str
        A class of `manyview.cluster`, the name of an entry point in the group
        ``manyview.methods``, or an import path ``package.module:Class``.

    Returns
    -------
    factory : callable
        Called as ``factory(n_clusters=..., random_state=..., **params)``; the result
        has ``fit(views)`` and then ``labels_``.
    """
    if name in manyview.cluster.__all__:
        factory: Factory = getattr(manyview.cluster, name)
        return factory
    if ":" in name:
        return _import_path(name)
    plugged = entry_points(group=METHOD_GROUP)
    if name in plugged.names:
        loaded: Factory = plugged[name].load()
        return loaded
    known = sorted({*manyview.cluster.__all__, *plugged.names})
    msg = (
        f"No method is called {name!r}. Known: {', '.join(known)}; or give an import "
        "path like my_package.my_module:MyClass."
    )
    raise DatasetError(msg)


def plugged_methods() -> tuple[str, ...]:
    """Names of the methods that installed packages offer."""
    return tuple(sorted(entry_points(group=METHOD_GROUP).names))


def _import_path(path: str) -> Factory:
    module_name, _, attribute = path.partition(":")
    try:
        factory: Factory = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        msg = (
            f"Cannot import the method {path!r}: {error}. Expected "
            "package.module:Class, with the module on PYTHONPATH or installed."
        )
        raise DatasetError(msg) from error
    return factory
