"""``manyview methods``: what ``--method`` may be."""

from __future__ import annotations

import inspect

from manyview.cli import _options as opt
from manyview.cli import _render

PAGE = "https://manyview.github.io/manyview/api/generated/manyview.{}.html"


def methods_command(
    as_json: opt.AsJson = False,
    _debug: opt.Debug = False,
) -> None:
    """List the clustering methods, with one line and a link each.

    [bold]Examples[/bold]

      manyview methods

      manyview methods --json
    """
    rows = [_row(name, class_name) for name, class_name in opt.method_names().items()]
    if as_json:
        _render.as_json(rows)
    else:
        width = max(len(row["name"]) for row in rows) + 2
        for row in rows:
            _render.line(row["name"].ljust(width) + row["summary"])
            _render.line(" " * width + row["page"])


def _row(name: str, class_name: str) -> dict[str, str]:
    from manyview import cluster

    about = inspect.getdoc(getattr(cluster, class_name)) or ""
    return {
        "name": name,
        "class": class_name,
        "summary": about.partition("\n")[0],
        "page": PAGE.format(class_name),
    }
