"""Which columns of a table are features, sample names and labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, TypeAlias

import numpy as np

from manyview._typing import FloatArray
from manyview.datasets._encode import one_hot
from manyview.datasets._guards import Budget, clean_values
from manyview.datasets._source import (
    ID_NAMES,
    ReadOptions,
    SourceLabels,
    SourceView,
    TextArray,
    check_text,
    text_array,
)
from manyview.exceptions import DatasetError

LETTER = re.compile(r"[^\W\d_]")
MISSING_CELLS = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none"})

# Numbers, or cells that are text or NaN, or a mixture.
Column: TypeAlias = "FloatArray | list[str | float]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Roles:
    """Which columns of a table are what, by position; features are all others."""

    ids: int | None
    labels: int | None
    features: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class RawTable:
    """A table as its file has it.

    origin : the file, for messages.
    names : of all columns; `named` says whether the file has a header.
    columns : cells by position, of those columns that were read as text.
    numeric : positions of the columns that were read as numbers.
    numbers : (n_rows, n_numeric), those columns.
    line_of : the line of a row, in files that have lines.
    """

    origin: str
    names: list[str]
    named: bool
    columns: Mapping[int, list[str]] = field(default_factory=dict)
    numeric: tuple[int, ...] = ()
    numbers: FloatArray | None = None
    line_of: Callable[[int], int] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table taken apart.

    names : of the feature columns; None if the file has no header.
    """

    origin: str
    names: tuple[str, ...] | None
    values: FloatArray
    ids: TextArray | None
    labels: SourceLabels | None

    def view(self, name: str) -> SourceView:
        """All features as one view."""
        return SourceView(
            name=name,
            origin=self.origin,
            values=clean_values(self.values, self.origin),
            ids=self.ids,
            feature_names=self.names,
        )


def assign_roles(
    path: Path | str, names: list[str], options: ReadOptions, *, features: bool
) -> Roles:
    """Find the sample names and the labels among the columns, by their names."""
    ids = _position(path, names, options.ids)
    # Only the first column can be taken for names without being asked for.
    if options.ids is None and len(names) > 1 and names[0].strip().lower() in ID_NAMES:
        ids = 0
    labels = _position(path, names, options.labels)
    rest = tuple(i for i in range(len(names)) if i not in (ids, labels))
    if features and not rest:
        _refuse_without_features(path, names)
    if not features and options.labels is not None and labels is None:
        msg = f"{path} has no column {options.labels!r}; it has {_shorten(names)}."
        raise DatasetError(msg)
    return Roles(ids=ids, labels=labels, features=rest)


def take_apart(
    table: RawTable,
    roles: Roles,
    options: ReadOptions,
    budget: Budget,
    *,
    features: bool,
) -> Table:
    """Sample names, labels and, if they are asked for, features of a table."""
    ids, labels = roles.ids, roles.labels
    read = {*table.columns, *table.numeric}
    rest = [i for i in roles.features if i in read]
    # A lone column holds the labels, or the feature, whatever it looks like.
    if ids is None and options.ids is None and len(table.names) > 1:
        texts = [i for i in rest if i in table.columns]
        ids = next((i for i in texts if _names_rows(table.columns[i])), None)
        rest = [i for i in rest if i != ids]
    names: tuple[str, ...] = ()
    values: FloatArray = np.empty((0, 0))
    if features:
        names, values = _as_features(table, rest, options, budget)
    elif labels is None:
        labels = _only_label(table, rest)

    def text(column: int | None, what: str) -> TextArray | None:
        if column is None:
            return None
        cells = [cell.strip() for cell in table.columns[column]]
        return text_array(cells, f"{what} of {table.origin}", budget)

    sample_ids = text(ids, "Sample ids")
    found = text(labels, "Labels")
    return Table(
        origin=table.origin,
        names=names if table.named else None,
        values=values,
        ids=sample_ids,
        labels=None
        if found is None
        else SourceLabels(
            origin=table.origin,
            values=check_text(found, f"Labels of {table.origin}"),
            ids=sample_ids,
        ),
    )


def is_header(cells: list[str]) -> bool:
    """Whether a first row names columns; 0, 1, 2, ... are names as well."""
    if [cell.strip() for cell in cells] == [str(i) for i in range(len(cells))]:
        return len(cells) > 1
    return not all(cell.strip() and as_float(cell) is not None for cell in cells)


def as_float(cell: str) -> float | None:
    """A cell as a number, NaN where it is missing, None where it is neither."""
    if cell.strip().lower() in MISSING_CELLS:
        return np.nan
    try:
        return float(cell)
    except ValueError:
        return None


def not_a_number(table: RawTable, column: int, row: int, cell: str) -> DatasetError:
    """The error about a cell of text among the features."""
    line = f" (line {table.line_of(row)})" if table.line_of else ""
    msg = (
        f"{table.origin}: row {row + 1}{line}, column {table.names[column]!r} holds "
        f"{cell[:40]!r}, not a number. If that column names samples or classes, say "
        "so with ids= or labels=; a column of text is made numbers with "
        "encode='onehot' and left out with drop='text'."
    )
    return DatasetError(msg)


def _names_rows(cells: list[str]) -> bool:
    """Whether all cells are words, there, and different from each other.

    Text without a letter is more likely a number that was spelled another way.
    """
    is_text = all(as_float(cell) is None and LETTER.search(cell) for cell in cells)
    return is_text and len({*cells}) == len(cells)


def _is_text(cells: list[str | float]) -> bool:
    """Whether no cell is a number: where some are, the others are mistakes."""
    return all(isinstance(cell, str) or np.isnan(cell) for cell in cells)


def _only_label(table: RawTable, rest: list[int]) -> int:
    """The column of labels where nobody named it."""
    if len(rest) != 1:
        msg = (
            f"{table.origin} has {len(rest)} columns that could be the labels "
            f"({_shorten([table.names[i] for i in rest])}); say which with labels=."
        )
        raise DatasetError(msg)
    return rest[0]


def _as_features(
    table: RawTable, rest: list[int], options: ReadOptions, budget: Budget
) -> tuple[tuple[str, ...], FloatArray]:
    """Names and values of the features, with text encoded or left out."""
    if table.numbers is not None and tuple(rest) == table.numeric:
        return tuple(table.names[i] for i in rest), table.numbers
    parts: list[FloatArray] = []
    names: list[str] = []
    place = {position: at for at, position in enumerate(table.numeric)}
    for position in rest:
        name = table.names[position]
        if table.numbers is not None and position in place:
            parts.append(table.numbers[:, [place[position]]])
            names.append(name)
            continue
        cells = _as_column(table.columns[position])
        if not isinstance(cells, list):
            parts.append(cells[:, None])
            names.append(name)
        elif _is_text(cells) and options.encode == "onehot":
            budget.take(table.origin, 8 * len(cells) * len({*cells}))
            added, encoded = one_hot(name, cells)
            parts.append(encoded)
            names += added
        elif not _is_text(cells) or options.drop != "text":
            row = next(i for i, cell in enumerate(cells) if isinstance(cell, str))
            raise not_a_number(table, position, row, str(cells[row]))
    if not parts:
        _refuse_without_features(table.origin, table.names)
    return tuple(names), np.hstack(parts)


def _as_column(cells: list[str]) -> Column:
    """Numbers if all cells are; else a list, with NaN for missing cells."""
    numbers = [as_float(cell) for cell in cells]
    if None not in numbers:
        return np.array(numbers, dtype=np.float64)
    return [
        cell.strip() if number is None else number
        for cell, number in zip(cells, numbers, strict=True)
    ]


def _refuse_without_features(origin: object, names: list[str]) -> NoReturn:
    msg = f"{origin} has no feature columns; its columns are {_shorten(names)}."
    raise DatasetError(msg)


def _position(path: Path | str, names: list[str], wanted: str | None) -> int | None:
    if wanted is None or wanted not in names:
        return None
    if names.count(wanted) > 1:
        msg = f"{path} has {names.count(wanted)} columns called {wanted!r}."
        raise DatasetError(msg)
    return names.index(wanted)


def _shorten(names: list[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
