"""What the reproduction needs beyond manyview itself, told before any work."""

from __future__ import annotations

import sys

from manyview._extras import MissingExtraError, import_extra

for module, extra in (
    ("matplotlib", "plot"),
    ("plotly", "report"),
    ("jinja2", "report"),
):
    try:
        import_extra(module, extra, "The reproduction")
    except MissingExtraError as error:
        sys.exit(f"error: {error}")
