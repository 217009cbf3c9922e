"""A public name that the API reference leaves out ends the build.

Also leaves out of the reference what estimators inherit from scikit-learn, which has
documentation of its own.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from sphinx.util import logging

import manyview

logger = logging.getLogger(__name__)

# The command line is documented as such.
NOT_IMPORTED = {"manyview.cli", "manyview.__main__"}


def public_names() -> dict[str, Any]:
    """Full name -> object, for every name that a public module exports."""
    modules = [manyview.__name__] + [
        found.name
        for found in pkgutil.walk_packages(manyview.__path__, "manyview.")
        if "._" not in found.name and found.name not in NOT_IMPORTED
    ]
    names = {}
    for module in map(importlib.import_module, modules):
        defined = [
            name
            for name, value in vars(module).items()
            if getattr(value, "__module__", None) == module.__name__
        ]
        for name in getattr(module, "__all__", defined):
            if not name.startswith("_"):
                names[f"{module.__name__}.{name}"] = getattr(module, name)
    return names


def check_reference(app: Any, env: Any) -> None:
    """Warn of every public object that no page of the reference describes."""
    described = []
    for entry in env.get_domain("py").objects:
        module, _, name = entry.rpartition(".")
        try:
            described.append(getattr(importlib.import_module(module), name))
        except (ImportError, AttributeError, ValueError):
            continue  # a method, an attribute
    for name, value in public_names().items():
        if not any(value is other for other in described):
            logger.warning("%s is public, but the API reference leaves it out.", name)


def skip_foreign(
    app: Any, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out members that scikit-learn defines."""
    origin = getattr(obj, "__module__", None) or ""
    return True if origin.startswith("sklearn.") else None


def setup(app: Any) -> dict[str, bool]:
    app.connect("env-check-consistency", check_reference)
    app.connect("autodoc-skip-member", skip_foreign)
    return {"parallel_read_safe": True}
