"""Read tables: csv and tsv with the standard library, parquet with pyarrow."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from manyview._typing import FloatArray
from manyview.datasets._guards import (
    check_expansion,
    clean_values,
    import_extra,
    reading,
)
from manyview.datasets._source import (
    ID_NAMES,
    ReadOptions,
    Source,
    SourceLabels,
    SourceView,
    TextArray,
    as_text,
    check_text,
)
from manyview.exceptions import DatasetError

DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
MISSING_CELLS = frozenset({"", "na", "n/a", "nan", "null", "none"})
# Rows turned into numbers at a time: text takes ten times the room of a float.
BLOCK_ROWS = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class Roles:
    """Which columns of a table are what, by position."""

    ids: int | None
    labels: int | None
    features: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """The content of one table.

    names : of the feature columns. named : whether the file says so; columns of a table
    without a header are numbered.
    """

    names: tuple[str, ...]
    named: bool
    features: FloatArray
    ids: TextArray | None
    labels: TextArray | None


def read_table(path: Path, options: ReadOptions) -> Source:
    """Read the view(s), sample names and labels of one table."""
    if path.suffix.lower() == ".parquet":
        table = _read_parquet(path, options)
    else:
        table = _read_text(path, options)
    return Source(
        views=_split_views(path, table, options),
        labels=_labels(path, table.labels, table.ids),
    )


def read_label_table(path: Path, options: ReadOptions) -> SourceLabels:
    """Read only a column of labels, and sample names when there are any."""
    # Other columns may hold anything: they are not looked at.
    if path.suffix.lower() == ".parquet":
        table = _read_parquet(path, options, features=False)
    else:
        table = _read_text(path, options, features=False)
    found = _labels(path, table.labels, table.ids)
    if found is None:
        msg = f"{path} has no column {options.labels!r}."
        raise DatasetError(msg)
    return found


def _labels(
    path: Path, labels: TextArray | None, ids: TextArray | None
) -> SourceLabels | None:
    if labels is None:
        return None
    values = check_text(labels, f"Labels of {path}")
    return SourceLabels(origin=str(path), values=values, ids=ids)


def _split_views(
    path: Path, table: Table, options: ReadOptions
) -> tuple[SourceView, ...]:
    """One view, or one per prefix of ``view.feature`` column names."""
    names, features, ids = table.names, table.features, table.ids
    prefixes = [name.partition(".")[0] if "." in name else None for name in names]
    if not options.several_views or not any(prefixes):
        values = clean_values(features, str(path), names)
        view = SourceView(
            name=path.stem,
            origin=str(path),
            values=values,
            ids=ids,
            feature_names=names if table.named else None,
        )
        return (view,)
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
        origin = f"{path}, view {prefix!r}"
        own = tuple(names[i] for i in columns)
        views.append(
            SourceView(
                name=str(prefix),
                origin=origin,
                values=clean_values(features[:, columns], origin, own),
                ids=ids,
                feature_names=tuple(name.partition(".")[2] for name in own),
            )
        )
    return tuple(views)


def _assign_roles(
    path: Path, names: list[str], options: ReadOptions, *, features: bool
) -> Roles:
    """Find the sample names and the labels among the columns."""
    ids = _position(path, names, options.ids)
    # Only the first column can be taken for names without being asked for.
    if options.ids is None and len(names) > 1 and names[0].strip().lower() in ID_NAMES:
        ids = 0
    labels = _position(path, names, options.labels)
    rest = [i for i in range(len(names)) if i not in (ids, labels)]
    if not features and options.labels is None:
        if len(rest) != 1:
            msg = (
                f"{path} has {len(rest)} columns that could be the labels "
                f"({_shorten([names[i] for i in rest])}); say which with labels=."
            )
            raise DatasetError(msg)
        labels = rest[0]
    if features and not rest:
        msg = f"{path} has no feature columns; its columns are {_shorten(names)}."
        raise DatasetError(msg)
    return Roles(ids=ids, labels=labels, features=tuple(rest) if features else ())


def _position(path: Path, names: list[str], wanted: str | None) -> int | None:
    if wanted is None or wanted not in names:
        return None
    if names.count(wanted) > 1:
        msg = f"{path} has {names.count(wanted)} columns called {wanted!r}."
        raise DatasetError(msg)
    return names.index(wanted)


def _shorten(names: list[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")


# csv and tsv


def _read_text(path: Path, options: ReadOptions, *, features: bool = True) -> Table:
    rows = _text_rows(path)
    first = next(rows, None)
    if first is None:
        msg = f"{path} has no rows."
        raise DatasetError(msg)
    _, cells = first
    has_header = _is_header(cells) if options.header is None else options.header
    names = [c.strip() for c in cells] if has_header else _numbered(len(cells))
    if not has_header:
        rows = itertools.chain([first], rows)
    roles = _assign_roles(path, names, options, features=features)
    blocks: list[FloatArray] = []
    ids: list[str] = []
    labels: list[str] = []
    n_rows = 0
    while block := list(itertools.islice(rows, BLOCK_ROWS)):
        for line, cells in block:
            _check_width(path, n_rows, line, cells, names)
            n_rows += 1
            if roles.ids is not None:
                ids.append(cells[roles.ids].strip())
            if roles.labels is not None:
                labels.append(cells[roles.labels].strip())
        blocks.append(_numbers(path, n_rows - len(block), block, names, roles.features))
    if not n_rows:
        msg = f"{path} has a header and no rows below it."
        raise DatasetError(msg)
    return Table(
        names=tuple(names[i] for i in roles.features),
        named=has_header,
        features=np.concatenate(blocks),
        ids=np.array(ids, dtype=np.str_) if roles.ids is not None else None,
        labels=np.array(labels, dtype=np.str_) if roles.labels is not None else None,
    )


def _text_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and cells, blank lines left out."""
    delimiter = DELIMITERS[path.suffix.lower()]
    # utf-8-sig: spreadsheets put a byte order mark before the first name.
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, delimiter=delimiter)
        while True:
            try:
                cells = next(reader)
            except StopIteration:
                return
            except UnicodeDecodeError as error:
                msg = (
                    f"{path} is not UTF-8 text: byte 0x{error.object[error.start]:02x} "
                    f"after line {reader.line_num}. Save it as UTF-8."
                )
                raise DatasetError(msg) from error
            except csv.Error as error:
                msg = f"{path}, line {reader.line_num}: {error}."
                raise DatasetError(msg) from error
            if cells:
                yield reader.line_num, cells


def _is_header(cells: list[str]) -> bool:
    """Whether a first row names columns; 0, 1, 2, ... are names as well."""
    if [cell.strip() for cell in cells] == [str(i) for i in range(len(cells))]:
        return len(cells) > 1
    return not all(
        _is_number(cell) or cell.strip().lower() in MISSING_CELLS - {""}
        for cell in cells
    )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _numbered(n_columns: int) -> list[str]:
    """Names for columns without a header, counted as a reader of the file would."""
    return [str(i + 1) for i in range(n_columns)]


def _check_width(
    path: Path, n_before: int, line: int, cells: list[str], names: list[str]
) -> None:
    if len(cells) != len(names):
        msg = (
            f"{path}: row {n_before + 1} (line {line}) has {len(cells)} cells, "
            f"but the table has {len(names)} columns."
        )
        raise DatasetError(msg)


def _numbers(
    path: Path,
    n_before: int,
    block: list[tuple[int, list[str]]],
    names: list[str],
    columns: tuple[int, ...],
) -> FloatArray:
    """A block of rows as floats; the slow road is for missing and wrong cells."""
    texts = [[cells[i] for i in columns] for _, cells in block]
    try:
        return np.array(texts, dtype=np.float64)
    except ValueError:
        pass
    values = np.empty((len(block), len(columns)))
    for row, (line, cells) in enumerate(block):
        for at, column in enumerate(columns):
            cell = cells[column]
            if cell.strip().lower() in MISSING_CELLS:
                values[row, at] = np.nan
                continue
            try:
                values[row, at] = float(cell)
            except ValueError:
                msg = (
                    f"{path}: row {n_before + row + 1} (line {line}), column "
                    f"{names[column]!r} holds {cell[:40]!r}, not a number. If that "
                    "column names samples or classes, say so with ids= or labels=."
                )
                raise DatasetError(msg) from None
    return values


# parquet


def _read_parquet(path: Path, options: ReadOptions, *, features: bool = True) -> Table:
    """As ``_read_text``; a pandas index serves as sample names."""
    parquet = import_extra("pyarrow.parquet", "io", path)
    with reading(path, "parquet"):
        with parquet.ParquetFile(path) as stream:
            footer = stream.metadata
            groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
            n_bytes = sum(group.total_byte_size for group in groups)
            # Repeated values are stored once: count what they become as floats too.
            n_bytes = max(n_bytes, 8 * footer.num_rows * footer.num_columns)
            check_expansion(path, n_bytes, path.stat().st_size)
            table = stream.read()
        names = table.column_names
        index = (table.schema.pandas_metadata or {}).get("index_columns", [])
        stored_index = [name for name in index if isinstance(name, str)]
        if options.ids is None and len(stored_index) == 1:
            # Moved to the front under the name that announces sample names.
            at = names.index(stored_index[0])
            order = [at, *(i for i in range(len(names)) if i != at)]
            table = table.select(order).rename_columns(
                ["", *(names[i] for i in order[1:])]
            )
            names = table.column_names
        if not table.num_rows:
            msg = f"{path} has no rows."
            raise DatasetError(msg)
        roles = _assign_roles(path, names, options, features=features)
        values = np.empty((table.num_rows, len(roles.features)))
        for at, column in enumerate(roles.features):
            values[:, at] = _arrow_numbers(path, names[column], table.column(column))
        ids = _arrow_text(path, table, roles.ids, "Sample ids")
        labels = _arrow_text(path, table, roles.labels, "Labels")
    return Table(
        names=tuple(names[i] for i in roles.features),
        named=True,
        features=values,
        ids=ids,
        labels=labels,
    )


def _arrow_numbers(path: Path, name: str, column: Any) -> FloatArray:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        cells = column.to_pylist()
        row = next((i for i, cell in enumerate(cells) if cell is not None), 0)
        msg = (
            f"{path}: row {row + 1}, column {name!r} holds {str(cells[row])[:40]!r} "
            f"({kind}), not a number. If that column names samples or classes, say so "
            "with ids= or labels=."
        )
        raise DatasetError(msg)
    return np.asarray(column.to_numpy(), dtype=np.float64)


def _arrow_text(
    path: Path, table: Any, column: int | None, what: str
) -> TextArray | None:
    if column is None:
        return None
    cells = ["" if cell is None else cell for cell in table.column(column).to_pylist()]
    return as_text(np.array(cells), f"{what} of {path}")
