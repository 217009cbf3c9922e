"""Self-contained HTML pages: one file, no network, nothing of the user's executed.

A page template extends ``base.html`` and gets everything through `render_page`. Text
reaches the page only through Jinja's autoescaping, data only as JSON in script elements
that browsers do not run, and the content security policy admits no script but the
page's own, by checksum, and no connection at all.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from manyview._extras import import_extra
from manyview._files import whole_file
from manyview._version import __version__
from manyview.plotting import cluster_colors

# A Plotly figure as plain data: {"data": [...], "layout": {...}}. page.js adds what all
# figures have in common, and fills in colours that depend on the theme: "theme:ink",
# "theme:muted", "theme:line", "theme:card", "theme:accent", "theme:wash", "theme:tint".
Figure: TypeAlias = Mapping[str, Any]

TEMPLATES = Path(__file__).parent / "templates"
# Pixels of a page's frame in a notebook.
FRAME_HEIGHT = 900
# Smaller p-values are shown as "< 1e-16".
SMALLEST_P = 1e-16


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a `Table`.

    cells : its contents, for `table_of`.
    format : a format specification for numbers, such as ".3f" or ",d", or "p".
    hint : explanation shown on hovering over the heading.
    clusters : names of the clusters; cells are then their indices, -1 for none.
    numeric : aligned right and sorted by value, as all columns with a format.
    """

    name: str
    cells: Iterable[Any] = ()
    format: str = ""
    hint: str = ""
    clusters: Sequence[str] = ()
    numeric: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table that can be sorted by clicking a heading.

    caption : says what it shows, to everyone.
    rows : cells in column order; None and NaN are shown as a dash.
    """

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]


def table_of(caption: str, columns: Sequence[Column]) -> Table:
    """A table by its columns."""
    rows = list(zip(*(column.cells for column in columns), strict=True))
    return Table(caption=caption, columns=columns, rows=rows)


class ReportPage:
    """A finished page, which notebooks show in a frame.

    Parameters
    ----------
    content : str
        The page as HTML.
    """

    def __init__(self, content: str) -> None:
        self.html = content

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file; an existing one is replaced.

        Parameters
        ----------
        path : path-like
            Where to write.

        Returns
        -------
        path : pathlib.Path
            Where it was written.
        """
        return write_page(path, self.html)

    def __repr__(self) -> str:
        return f"<manyview report, {len(self.html) / 1e6:.1f} MB; save(path) writes it>"

    def _repr_html_(self) -> str:
        # A frame of its own: scripts and styles of page and notebook stay apart.
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" title="manyview report" '
            'sandbox="allow-scripts allow-downloads allow-modals" '
            f'style="width:100%;height:{FRAME_HEIGHT}px;border:0"></iframe>'
        )


def render_page(template: str, *, templates: Path = TEMPLATES, **context: Any) -> str:
    """The HTML of a page.

    template : file in ``reporting/templates`` that extends ``base.html``.
    templates : another folder in which `template` may be.
    context : variables of the template.
    """
    jinja2 = import_extra("jinja2", "report", "A report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([TEMPLATES, templates]),
        extensions=["jinja2.ext.do"],
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "cell": format_cell,
        "sort_key": sort_key,
        "number": format_number,
        "plural": plural,
        "checksum": checksum,
        "json": script_json,
    }
    environment.globals |= {
        "version": __version__,
        "asset": _asset,
        "page_code": page_code,
        "cluster_colors": cluster_colors,
        "column": Column,
        "table_of": table_of,
    }
    # Sections enter themselves, for the table of contents.
    rendered: str = environment.get_template(template).render(sections=[], **context)
    return rendered


def page_code(content: str) -> list[str]:
    """The scripts of a page; one without figures does not need those that draw."""
    code = [_asset("page.js")]
    if "data-figure=" in content:
        plotly = import_extra("plotly.offline", "report", "A report")
        code = [plotly.get_plotlyjs(), *code, _asset("export.js"), _asset("map.js")]
    # Code must not end its own script element. Carriage returns would be dropped by the
    # browser's parser and spoil the checksum.
    return [c.replace("</script", "<\\/script").replace("\r", "") for c in code]


def write_page(path: str | os.PathLike[str], content: str) -> Path:
    """Write a page atomically: readers of `path` see the old file or the new one."""
    target = Path(path)
    with whole_file(target, "w") as file:
        file.write(content)
    return target


def script_json(value: Any) -> str:
    """JSON that can stand inside a script element whatever text it holds.

    Arrays become lists; numbers that JSON cannot hold become null.
    """
    encoder = import_extra("plotly.utils", "report", "A report").PlotlyJSONEncoder
    text = json.dumps(value, cls=encoder, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def figure_text(text: object) -> str:
    """User text for use in a figure, where Plotly would read tags in it."""
    return html.escape(str(text), quote=False)


def format_cell(value: Any, column: Column) -> str:
    """A table cell as text."""
    if column.clusters:
        return "–" if value < 0 else column.clusters[value]
    return value if isinstance(value, str) else format_number(value, column.format)


def format_number(value: Any, spec: str = ",") -> str:
    """A number as text, by a format specification, or "p" for a p-value."""
    if _is_missing(value):
        return "–"
    if spec != "p":
        return format(value, spec)
    # Smaller ones cannot be told from zero.
    return f"< {SMALLEST_P:.0e}" if value < SMALLEST_P else f"{value:.2g}"


def sort_key(value: Any) -> str:
    """What a cell is sorted by: numbers in full, missing values last."""
    if _is_missing(value):
        return ""
    if isinstance(value, (int, float, np.number)):
        return repr(float(value))
    return str(value)


def plural(count: int, noun: str) -> str:
    """``1 view``, ``3 views``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def checksum(code: str) -> str:
    """By which the content security policy admits a script."""
    digest = hashlib.sha256(code.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _asset(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")
