"""A page that would load something from another place ends the build."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError

# What browsers load by themselves. A link that a reader may follow is no such thing.
LOADED = re.compile(
    r"<(?:script|img|iframe|source|link)\b[^>]*?\b(?:src|href)=[\"'](?:https?:)?//[^>]*>"
)


def check_pages(app: Any, exception: Exception | None) -> None:
    """Look for foreign scripts, styles, fonts and pictures in all pages."""
    if exception is not None or app.builder.format != "html":
        return
    for page in sorted(Path(app.outdir).rglob("*.html")):
        found = LOADED.search(page.read_text(encoding="utf-8"))
        if found and 'rel="canonical"' not in found.group():
            msg = f"{page.name} would load {found.group()}. Put a copy into _static."
            raise ExtensionError(msg)


def setup(app: Any) -> dict[str, bool]:
    app.connect("build-finished", check_pages)
    return {"parallel_read_safe": True}
