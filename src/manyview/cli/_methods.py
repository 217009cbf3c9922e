"""Clustering methods by name, with the settings they understand."""

from __future__ import annotations

from typing import Any

from manyview import cluster
from manyview.exceptions import ViewError


def method_names() -> dict[str, str]:
    """Lower-case name -> class name, for every estimator there is."""
    return {name.lower(): name for name in cluster.__all__}


def make_estimator(method: str, settings: dict[str, Any]) -> Any:
    """An estimator with these settings; one it does not have is an error."""
    known = method_names()
    try:
        estimator = getattr(cluster, known[method.lower()])()
    except KeyError:
        msg = f"--method {method!r} is not one of {', '.join(known)}."
        raise ViewError(msg) from None
    unknown = sorted(set(settings) - set(estimator.get_params()))
    if unknown:
        option = unknown[0].replace("_", "-")
        msg = f"{type(estimator).__name__} has no --{option}. Leave the option out."
        raise ViewError(msg)
    return estimator.set_params(**settings)


def understood(estimator: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """The part of the settings that an estimator has."""
    names = estimator.get_params()
    return {name: value for name, value in settings.items() if name in names}
