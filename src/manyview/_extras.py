"""Packages that come with an extra, imported when they are needed."""

from __future__ import annotations

import importlib
from typing import Any


class MissingExtraError(ImportError):
    """Something was asked for that needs a package which is not installed."""


def import_extra(module: str, extra: str, purpose: str) -> Any:
    """Import an optional module, or say which extra brings it.

    `purpose` starts the message, e.g. ``"A report"``.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        msg = (
            f"{purpose} needs {package}, which is not installed. "
            f'Install it with: pip install "manyview[{extra}]"'
        )
        raise MissingExtraError(msg) from error
