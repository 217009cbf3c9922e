"""Read Excel workbooks: every sheet is a view."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from manyview._extras import import_extra
from manyview.datasets._source import ReadOptions, Source, SourceView
from manyview.datasets._tables import Table, read_cells, start_table, take_apart
from manyview.exceptions import DatasetError

# What a cell takes in memory while its sheet is read.
CELL_BYTES = 64


def read_excel(path: Path, options: ReadOptions) -> Source:
    """Read every sheet with cells as a view; one with nothing but labels is none.

    Labels alone are read from the first sheet with cells.
    """
    sheets = _read_sheets(path, options)
    views: list[SourceView] = []
    labels = None
    for title, rows in sheets.items():
        table = _as_table(f"{path}, sheet {title!r}", rows, options)
        if options.only_labels:
            return take_apart(table, title, options)
        only_labels = table.labels is not None and len(table.names) <= 2
        # A list of files goes by the names of the files.
        name = title if options.several_views or len(sheets) > 1 else path.stem
        found = take_apart(table, name, replace(options, only_labels=only_labels))
        views += found.views
        labels = labels or found.labels
    if not views:
        msg = f"{path} has no sheet with features."
        raise DatasetError(msg)
    return Source(views=tuple(views), labels=labels)


def _read_sheets(path: Path, options: ReadOptions) -> dict[str, list[list[str]]]:
    """The cells of the chosen sheets, or of all that have any."""
    openpyxl = import_extra("openpyxl", "excel", f"Reading {path}")
    with zipfile.ZipFile(path) as archive:
        n_bytes = sum(member.file_size for member in archive.infolist())
    options.budget.take(path, n_bytes)
    with closing(openpyxl.load_workbook(path, read_only=True, data_only=True)) as book:
        found = {sheet.title: sheet for sheet in book.worksheets}
        options.check_variables(path, "sheet", found)
        chosen = options.variables or found
        sheets = {name: list(_rows(path, found[name], options)) for name in chosen}
    sheets = {name: rows for name, rows in sheets.items() if rows or options.variables}
    if not sheets:
        msg = f"{path} has no cells."
        raise DatasetError(msg)
    return sheets


def _rows(path: Path, sheet: Any, options: ReadOptions) -> Iterator[list[str]]:
    """Cells of the rows that have any."""
    # A sheet may claim any size; rows tell their own.
    sheet.reset_dimensions()
    for row in sheet.iter_rows(values_only=True):
        options.budget.take(path, CELL_BYTES * (1 + len(row)))
        cells = [_spell(value) for value in row]
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield cells


def _spell(value: Any) -> str:
    if isinstance(value, (bool, float)):
        # repr keeps every digit.
        return repr(float(value))
    return "" if value is None else str(value).strip()


def _as_table(origin: str, sheet: list[list[str]], options: ReadOptions) -> Table:
    width = max((len(row) for row in sheet), default=0)
    padded = [row + [""] * (width - len(row)) for row in sheet]

    def rows() -> Iterator[tuple[int, list[str]]]:
        return enumerate(padded, start=1)

    table, texts = start_table(origin, rows, options)
    return read_cells(table, rows, texts, options)
