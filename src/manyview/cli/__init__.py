"""The ``manyview`` command."""

from manyview.cli._app import app, main

__all__ = ["app", "main"]
