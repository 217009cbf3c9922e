"""Read Excel workbooks: every sheet is a view."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from manyview.datasets._guards import Budget, import_extra, reading
from manyview.datasets._roles import (
    RawTable,
    Table,
    assign_roles,
    is_header,
    take_apart,
)
from manyview.datasets._source import ReadOptions, Source, SourceLabels
from manyview.exceptions import DatasetError

# What a cell takes in memory while its sheet is read.
CELL_BYTES = 64


def read_excel(path: Path, options: ReadOptions, budget: Budget) -> Source:
    """Read every sheet with cells as a view; one with nothing but labels is none."""
    sheets = _read_sheets(path, options, budget)
    views, labels = [], None
    for name, sheet in sheets.items():
        only_labels = options.labels in sheet.names and len(sheet.names) <= 2
        table = _take_apart(sheet, options, budget, features=not only_labels)
        labels = labels or table.labels
        if not only_labels:
            # A list of files goes by the names of the files.
            alone = options.several_views or len(sheets) > 1
            views.append(table.view(name if alone else path.stem))
    if not views:
        msg = f"{path} has no sheet with features."
        raise DatasetError(msg)
    return Source(views=tuple(views), labels=labels)


def read_label_excel(path: Path, options: ReadOptions, budget: Budget) -> SourceLabels:
    """Read a column of labels from the first sheet with cells."""
    sheets = _read_sheets(path, replace(options, variables=None), budget)
    first = next(iter(sheets.values()))
    labels = _take_apart(first, options, budget, features=False).labels
    assert labels is not None
    return labels


def _take_apart(
    sheet: RawTable, options: ReadOptions, budget: Budget, *, features: bool
) -> Table:
    roles = assign_roles(sheet.origin, sheet.names, options, features=features)
    return take_apart(sheet, roles, options, budget, features=features)


def _read_sheets(
    path: Path, options: ReadOptions, budget: Budget
) -> dict[str, RawTable]:
    """The chosen sheets, or all that have cells."""
    openpyxl = import_extra("openpyxl", "excel", path)
    with reading(path, "an Excel workbook"):
        with zipfile.ZipFile(path) as archive:
            budget.take(path, sum(member.file_size for member in archive.infolist()))
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            found = {sheet.title: sheet for sheet in book.worksheets}
            for name in options.variables or ():
                if name not in found:
                    msg = f"{path} has no sheet {name!r}; it has {list(found)}."
                    raise DatasetError(msg)
            rows = {
                name: list(_rows(path, found[name], budget))
                for name in options.variables or found
            }
        finally:
            book.close()
    tables = {
        name: _table(f"{path}, sheet {name!r}", cells, options)
        for name, cells in rows.items()
        if cells or options.variables
    }
    if not tables:
        msg = f"{path} has no cells."
        raise DatasetError(msg)
    return tables


def _rows(path: Path, sheet: Any, budget: Budget) -> Iterator[list[str]]:
    """Cells of the rows that have any."""
    # A sheet may claim any size; rows tell their own.
    sheet.reset_dimensions()
    for row in sheet.iter_rows(values_only=True):
        budget.take(path, CELL_BYTES * (1 + len(row)))
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


def _table(origin: str, rows: list[list[str]], options: ReadOptions) -> RawTable:
    width = max((len(row) for row in rows), default=0)
    rows = [row + [""] * (width - len(row)) for row in rows]
    has_header = bool(rows) and is_header(rows[0])
    if options.header is not None:
        has_header = options.header
    below = rows[1:] if has_header else rows
    if not below:
        msg = f"{origin} has no rows{' below its header' if has_header else ''}."
        raise DatasetError(msg)
    names = rows[0] if has_header else [str(i + 1) for i in range(width)]
    columns = {i: [row[i] for row in below] for i in range(width)}
    return RawTable(origin=origin, names=names, named=has_header, columns=columns)
