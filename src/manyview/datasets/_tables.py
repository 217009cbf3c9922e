"""What the columns of a table are: features, sample names, labels."""

from __future__ import annotations

import itertools
import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from manyview._typing import FloatArray
from manyview.datasets._encode import one_hot
from manyview.datasets._source import (
    ID_NAMES,
    ReadOptions,
    Source,
    SourceView,
    make_source,
    stem_of,
)
from manyview.exceptions import DatasetError

LETTER = re.compile(r"[^\W\d_]")
MISSING_CELLS = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none"})

# Line numbers and cells of all rows, from the first one on whenever it is called.
Rows: TypeAlias = Callable[[], Iterator[tuple[int, list[str]]]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table as its file has it.

    origin : the file, for messages.
    names : of all columns; `named` says whether the file has a header.
    ids, labels : positions of the sample names and the labels, where columns say so.
    columns : cells by position, of those columns that were not read as numbers.
    numeric : positions of the columns that were read as numbers.
    numbers : (n_rows, n_numeric), those columns.
    line_of : the line of a row, in files that have lines.
    """

    origin: str
    names: list[str]
    named: bool
    ids: int | None
    labels: int | None
    columns: Mapping[int, list[Any]] = field(default_factory=dict)
    numeric: tuple[int, ...] = ()
    numbers: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    line_of: Callable[[int], int] | None = None

    @property
    def features(self) -> list[int]:
        """All columns but sample names and labels."""
        return [i for i in range(len(self.names)) if i not in (self.ids, self.labels)]


def find_columns(
    origin: str, names: list[str], options: ReadOptions, *, named: bool = True
) -> Table:
    """A table without cells yet, in which names tell what the columns are."""
    ids = _position(origin, names, options.ids)
    # Only the first column can be taken for names without being asked for.
    if options.ids is None and len(names) > 1 and names[0].strip().lower() in ID_NAMES:
        ids = 0
    labels = _position(origin, names, options.labels)
    if options.only_labels and options.labels is not None and labels is None:
        msg = f"{origin} has no column {options.labels!r}; it has {_shorten(names)}."
        raise DatasetError(msg)
    return Table(origin=origin, names=names, named=named, ids=ids, labels=labels)


def start_table(
    origin: str, rows: Rows, options: ReadOptions
) -> tuple[Table, Sequence[int]]:
    """A table of text without cells yet, and the columns that are not numbers.

    The first row below the header tells those; later ones need not agree.
    """
    start = [cells for _, cells in itertools.islice(rows(), 2)]
    if not start:
        msg = f"{origin} has no rows."
        raise DatasetError(msg)
    first, below = start[0], start[-1]
    named = _is_header(first) if options.header is None else options.header
    if named and len(start) == 1:
        msg = f"{origin} has a header and no rows below it."
        raise DatasetError(msg)
    # Without a header columns are counted as a reader of the file would.
    names = [cell.strip() if named else str(i + 1) for i, cell in enumerate(first)]
    table = find_columns(origin, names, options, named=named)
    others = [i for i in (table.ids, table.labels) if i is not None]
    if options.only_labels:
        # Beside known labels, other columns are not needed.
        return table, others if len(others) == 2 else range(len(names))
    cells = zip(range(len(names)), below if named else first, strict=False)
    return table, [i for i, cell in cells if i in others or as_float(cell) is None]


def read_cells(
    table: Table, rows: Rows, texts: Sequence[int], options: ReadOptions
) -> Table:
    """The table with columns `texts` as they are, and those others that are numbers."""
    n_columns, columns = len(table.names), {i: list[str]() for i in texts}
    numeric = [i for i in range(n_columns) if i not in columns]
    numeric = [] if options.only_labels else numeric
    numbers, mistaken, n_rows = array("d"), set[int](), 0
    for line, cells in itertools.islice(rows(), int(table.named), None):
        n_rows += 1
        if len(cells) != n_columns:
            msg = (
                f"{table.origin}: row {n_rows} (line {line}) has {len(cells)} cells, "
                f"but the table has {n_columns} columns."
            )
            raise DatasetError(msg)
        for i, column in columns.items():
            column.append(cells[i])
        own = [cells[i] for i in numeric]
        try:
            parsed = [float(cell) for cell in own]
        except ValueError:
            found = [as_float(cell) for cell in own]
            pairs = zip(numeric, found, strict=True)
            mistaken |= {i for i, number in pairs if number is None}
            parsed = [np.nan if number is None else number for number in found]
        numbers.extend(parsed)
    if mistaken:
        return read_cells(table, rows, [*texts, *mistaken], options)
    return replace(
        table,
        columns=columns,
        numeric=tuple(numeric),
        numbers=np.asarray(numbers).reshape(n_rows, len(numeric)),
    )


def split_views(path: Path, table: Table, options: ReadOptions) -> Source:
    """What a table holds: one view, or one per prefix of ``view.feature`` names."""
    source = take_apart(table, stem_of(path), options)
    if not source.views or not options.several_views:
        return source
    (whole,) = source.views
    names = whole.feature_names or ()
    prefixes = [name.partition(".")[0] if "." in name else None for name in names]
    if not any(prefixes):
        return source
    if None in prefixes:
        msg = (
            f"{path}: column {names[prefixes.index(None)]!r} has no view in its name "
            "while others are called view.feature. Rename it, or put the path in a "
            "list to read the file as one view."
        )
        raise DatasetError(msg)
    views = []
    for prefix in dict.fromkeys(prefixes):
        columns = [i for i, other in enumerate(prefixes) if other == prefix]
        view = replace(
            whole,
            name=str(prefix),
            origin=f"{path}, view {prefix!r}",
            values=whole.values[:, columns],
            feature_names=tuple(names[i].partition(".")[2] for i in columns),
        )
        views.append(view)
    return replace(source, views=tuple(views))


def take_apart(table: Table, name: str, options: ReadOptions) -> Source:
    """Sample names, labels and, unless only these are asked for, one view."""
    ids, labels = table.ids, table.labels
    read = {*table.columns, *table.numeric}
    rest = [i for i in table.features if i in read]
    # A lone column holds the labels, or the feature, whatever it looks like.
    if ids is None and options.ids is None and len(table.names) > 1:
        texts = [i for i in rest if i in table.columns]
        ids = next((i for i in texts if _names_rows(table.columns[i])), None)
        rest = [i for i in rest if i != ids]
    views = []
    if options.only_labels:
        labels = _only_label(table, rest) if labels is None else labels
    else:
        features, values = _as_features(table, rest, options)
        names = tuple(features) if table.named else None
        views.append(
            SourceView(
                name=name, origin=table.origin, values=values, feature_names=names
            )
        )
    return make_source(
        table.origin,
        views,
        options,
        ids=None if ids is None else table.columns[ids],
        labels=None if labels is None else table.columns[labels],
    )


def as_float(cell: str) -> float | None:
    """A cell as a number, NaN where it is missing, None where it is neither."""
    if cell.strip().lower() in MISSING_CELLS:
        return np.nan
    try:
        return float(cell)
    except ValueError:
        return None


def not_a_number(table: Table, column: int, row: int, cell: str) -> DatasetError:
    """The error about a cell of text among the features."""
    line = f" (line {table.line_of(row)})" if table.line_of else ""
    msg = (
        f"{table.origin}: row {row + 1}{line}, column {table.names[column]!r} holds "
        f"{cell[:40]!r}, not a number. If that column names samples or classes, say "
        "so with ids= or labels=; a column of text is made numbers with "
        "encode='onehot' and left out with drop='text'."
    )
    return DatasetError(msg)


def _is_header(cells: list[str]) -> bool:
    """Whether a first row names columns; 0, 1, 2, ... are names as well."""
    if [cell.strip() for cell in cells] == [str(i) for i in range(len(cells))]:
        return len(cells) > 1
    return not all(cell.strip() and as_float(cell) is not None for cell in cells)


def _names_rows(cells: list[Any]) -> bool:
    """Whether all cells are words, there, and different from each other.

    Text without a letter is more likely a number that was spelled another way.
    """
    if not all(isinstance(cell, str) for cell in cells):
        return False
    is_text = all(as_float(cell) is None and LETTER.search(cell) for cell in cells)
    return is_text and len({*cells}) == len(cells)


def _only_label(table: Table, rest: list[int]) -> int:
    """The column of labels where nobody named it."""
    if len(rest) != 1:
        msg = (
            f"{table.origin} has {len(rest)} columns that could be the labels "
            f"({_shorten([table.names[i] for i in rest])}); say which with labels=."
        )
        raise DatasetError(msg)
    return rest[0]


def _as_features(
    table: Table, rest: list[int], options: ReadOptions
) -> tuple[list[str], FloatArray]:
    """Names and values of the features, with text encoded or left out."""
    if rest and tuple(rest) == table.numeric:
        return [table.names[i] for i in rest], table.numbers
    names: list[str] = []
    parts: list[FloatArray] = []
    place = {column: at for at, column in enumerate(table.numeric)}
    for column in rest:
        if column in place:
            names.append(table.names[column])
            parts.append(table.numbers[:, [place[column]]])
        else:
            added, values = _as_numbers(table, column, options)
            names += added
            parts.append(values)
    if not names:
        shown = _shorten(table.names)
        msg = f"{table.origin} has no feature columns; its columns are {shown}."
        raise DatasetError(msg)
    return names, np.hstack(parts)


def _as_numbers(
    table: Table, column: int, options: ReadOptions
) -> tuple[list[str], FloatArray]:
    """The features that a column of cells becomes; none if its text is left out."""
    name, cells = table.names[column], table.columns[column]
    numbers = [as_float(cell) for cell in cells]
    if None not in numbers:
        return [name], np.array(numbers, dtype=np.float64)[:, None]
    # Where some cells are numbers, the others are mistakes.
    is_text = all(number is None or np.isnan(number) for number in numbers)
    if is_text and options.drop == "text":
        return [], np.empty((len(cells), 0))
    if is_text and options.encode == "onehot":
        pairs = zip(cells, numbers, strict=True)
        words = [cell.strip() if number is None else None for cell, number in pairs]
        options.budget.take(table.origin, 8 * len(words) * len({*words}))
        return one_hot(name, words)
    row = numbers.index(None)
    raise not_a_number(table, column, row, cells[row].strip())


def _position(origin: str, names: list[str], wanted: str | None) -> int | None:
    if wanted is None or wanted not in names:
        return None
    if names.count(wanted) > 1:
        msg = f"{origin} has {names.count(wanted)} columns called {wanted!r}."
        raise DatasetError(msg)
    return names.index(wanted)


def _shorten(names: list[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
