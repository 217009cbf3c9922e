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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from manyview._extras import import_extra
from manyview._files import whole_file
from manyview._version import __version__

# A Plotly figure as plain data: {"data": [...], "layout": {...}}. A colour may be
# "theme:ink", "theme:muted", "theme:line", "theme:card", "theme:accent",
# "theme:wash" or "theme:tint": the page
# fills in what fits its light or dark mode.
Figure: TypeAlias = Mapping[str, Any]

TEMPLATES = "templates"
# Pixels of a page's frame in a notebook.
FRAME_HEIGHT = 900
# Smaller p-values are shown as "< 1e-16".
SMALLEST_P = 1e-16


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """One column of a `Table`.

    format : a format specification for numbers, such as ".3f" or ",d", or "p".
    numeric : aligned right and sorted by value.
    hint : explanation shown on hovering over the heading.
    swatches : colours; cells are then indices of clusters.
    names : names of the clusters, where cells are indices.
    """

    name: str
    numeric: bool = False
    format: str = ""
    hint: str = ""
    swatches: Sequence[str] = ()
    names: Sequence[str] = ()


def number(name: str, spec: str = "", hint: str = "") -> Column:
    """A column of numbers, written by a format specification."""
    return Column(name=name, numeric=True, format=spec, hint=hint)


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table that can be sorted by clicking a heading.

    caption : says what it shows, to everyone.
    rows : cells in column order; None and NaN are shown as a dash.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: Sequence[Sequence[Any]]


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


def render_page(
    template: str,
    *,
    templates: Path | None = None,
    figures: Mapping[str, Figure] | None = None,
    data: Mapping[str, Any] | None = None,
    scripts: Sequence[str] = (),
    **context: Any,
) -> str:
    """The HTML of a page.

    template : file in ``reporting/templates`` that extends ``base.html``.
    templates : another folder in which `template` may be.
    figures : by the name that the template's ``figure`` macro refers to.
    data : further JSON, for the page's own scripts, found under ``data-<name>``.
    scripts : JavaScript files in ``reporting/templates`` that this page adds.
    context : variables of the template.
    """
    jinja2 = import_extra("jinja2", "report", "A report")
    plotly = import_extra("plotly.offline", "report", "A report")
    safe = import_extra("markupsafe", "report", "A report").Markup
    loaders = [jinja2.PackageLoader("manyview.reporting", TEMPLATES)]
    if templates is not None:
        loaders.append(jinja2.FileSystemLoader(templates))
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(loaders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "cell": format_cell,
        "sort_key": sort_key,
        "number": format_number,
        "p": p_text,
        "plural": plural,
    }
    code = [_asset("page.js"), *(_asset(name) for name in scripts)]
    if figures:
        code = [plotly.get_plotlyjs(), *code, _asset("export.js")]
    code = [_inline(text) for text in code]
    blocks = {f"figure-{name}": spec for name, spec in (figures or {}).items()}
    blocks |= {f"data-{name}": values for name, values in (data or {}).items()}
    rendered: str = environment.get_template(template).render(
        **context,
        version=__version__,
        style=safe(_asset("page.css")),
        code=[safe(text) for text in code],
        code_hashes=[_csp_hash(text) for text in code],
        json_blocks={name: safe(script_json(value)) for name, value in blocks.items()},
    )
    return rendered


def write_page(path: str | os.PathLike[str], content: str) -> Path:
    """Write a page atomically: readers of `path` see the old file or the new one."""
    target = Path(path)
    with whole_file(target, "w") as file:
        file.write(content)
    return target


def script_json(value: Any) -> str:
    """JSON that can stand inside a script element whatever text it holds."""
    text = json.dumps(_plain(value), allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def figure_text(text: object) -> str:
    """User text for use in a figure, where Plotly would read tags in it."""
    return html.escape(str(text), quote=False)


def format_cell(value: Any, column: Column) -> str:
    """A table cell as text."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if column.names:
        return str(column.names[value])
    if column.format == "p":
        return p_text(value)
    if column.format and not isinstance(value, str):
        return format(value, column.format)
    return str(value)


def p_text(value: float) -> str:
    """A p-value to two digits; those that cannot be told from zero as a bound."""
    if math.isnan(value):
        return "–"
    return f"< {SMALLEST_P:.0e}" if value < SMALLEST_P else f"{value:.2g}"


def sort_key(value: Any) -> str:
    """What a cell is sorted by: numbers in full, missing values last."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, (int, float, np.number)):
        return repr(float(value))
    return str(value)


def format_number(value: float, spec: str = ",") -> str:
    """A number in running text."""
    return format(value, spec)


def plural(count: int, noun: str) -> str:
    """``1 view``, ``3 views``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _asset(name: str) -> str:
    path = files("manyview.reporting") / TEMPLATES / name
    return path.read_text(encoding="utf-8")


def _inline(code: str) -> str:
    """Code that cannot end its own script element. Carriage returns would be dropped
    by the browser's parser and spoil the checksum."""
    return code.replace("</script", "<\\/script").replace("\r", "")


def _csp_hash(code: str) -> str:
    digest = hashlib.sha256(code.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _plain(value: Any) -> Any:
    """Built-in types only; numbers that JSON cannot hold become null."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
