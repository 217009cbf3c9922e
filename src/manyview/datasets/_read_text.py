"""Read csv and tsv tables: by pyarrow what is quick, by pandas all the rest.

pandas fills short rows up and takes long ones for an index, so rows are counted before.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from manyview.datasets._arrow import parse_csv
from manyview.datasets._source import ReadOptions, Source
from manyview.datasets._tables import (
    MISSING_CELLS,
    Table,
    as_float,
    find_columns,
    name_columns,
    split_views,
)
from manyview.datasets._text_file import TextFile, open_text
from manyview.exceptions import DatasetError

# Other spellings are found on the slow road.
QUICK_MISSING = sorted(
    {spell(cell) for cell in MISSING_CELLS for spell in (str, str.upper, str.title)}
    | {"NaN"}
)
CHUNK_BYTES = 1 << 24


def read_text(path: Path, options: ReadOptions) -> Source:
    """Read the view(s), sample names and labels of a text table."""
    file = open_text(path, options.budget)
    rows = _rows(file)
    _, first = next(rows, (0, None))
    if first is None:
        msg = f"{path} has no rows."
        raise DatasetError(msg)
    names, named = name_columns(first, options)
    table = find_columns(str(path), names, options, named=named)
    _, below = next(rows, (0, None)) if named else (0, first)
    if below is None:
        msg = f"{path} has a header and no rows below it."
        raise DatasetError(msg)

    def line_of(row: int) -> int:
        return next(itertools.islice(_rows(file), row + named, None), (0, []))[0]

    table = replace(table, line_of=line_of)
    return split_views(path, _read_cells(file, table, below, options), options)


def _read_cells(
    file: TextFile, table: Table, first: list[str], options: ReadOptions
) -> Table:
    """The table with the cells of the columns that are needed."""
    others = [i for i in (table.ids, table.labels) if i is not None]
    wanted = list(range(len(table.names)))
    if options.only_labels:
        wanted = sorted(others) if len(others) == 2 else wanted
        return _parse_by_pandas(file, table, wanted, wanted)
    # The first row tells which columns hold text; if a later one does not agree, all
    # cells are looked at one by one.
    pairs = zip(wanted, first, strict=False)
    texts = [i for i, cell in pairs if i in others or as_float(cell) is None]
    try:
        with file.open() as stream:
            return parse_csv(stream, file.delimiter, table, texts, QUICK_MISSING)
    except (ImportError, ValueError):
        return _parse_by_pandas(file, table, wanted, texts)


def _rows(file: TextFile) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and cells, blank lines left out."""
    # utf-8-sig: spreadsheets put a byte order mark before the first name.
    with io.TextIOWrapper(file.open(), encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, delimiter=file.delimiter)
        try:
            for cells in reader:
                # A quoted empty cell is a row of one column; blanks alone are none.
                if cells and (len(cells) > 1 or not cells[0] or cells[0].strip()):
                    yield reader.line_num, cells
        except UnicodeDecodeError as error:
            msg = (
                f"{file} is not UTF-8 text: byte 0x{error.object[error.start]:02x} "
                f"after line {reader.line_num}. Save it as UTF-8."
            )
            raise DatasetError(msg) from error
        except csv.Error as error:
            msg = f"{file}, line {reader.line_num}: {error}."
            raise DatasetError(msg) from error


def _count_rows(file: TextFile, n_columns: int, named: bool) -> int:
    """Number of rows below the header, all of them as wide as the table."""
    plain = _count_plain(file, n_columns)
    if plain is not None:
        return plain - named
    n_rows = 0
    for line, cells in itertools.islice(_rows(file), int(named), None):
        n_rows += 1
        if len(cells) != n_columns:
            msg = (
                f"{file}: row {n_rows} (line {line}) has {len(cells)} cells, "
                f"but the table has {n_columns} columns."
            )
            raise DatasetError(msg)
    return n_rows


def _count_plain(file: TextFile, n_columns: int) -> int | None:
    """Number of lines, if no cell is quoted and all of them are equally wide.

    Ten times faster than to take the cells apart.
    """
    n_lines, delimiter = 0, file.delimiter.encode()
    if n_columns == 1:
        # A blank line looks like a cell.
        return None
    with file.open() as stream:
        for lines in iter(lambda: stream.readlines(CHUNK_BYTES), []):
            block = b"".join(lines)
            if b'"' in block or block.count(b"\r") != block.count(b"\r\n"):
                return None
            try:
                block.decode()
            except UnicodeDecodeError:
                return None
            if {line.count(delimiter) for line in lines} != {n_columns - 1}:
                return None
            n_lines += len(lines)
    return n_lines


def _parse_by_pandas(
    file: TextFile, table: Table, wanted: Sequence[int], texts: Sequence[int]
) -> Table:
    """Columns `wanted`: all as text, if those not in `texts` are not numbers only."""
    n_rows = _count_rows(file, len(table.names), table.named)
    numeric = tuple(sorted({*wanted} - {*texts}))
    try:
        try:
            frame = _read_frame(file, table, wanted, numeric)
        except (ValueError, OverflowError):
            numeric = ()
            frame = _read_frame(file, table, wanted, numeric)
    except (ValueError, OverflowError) as error:
        reason = " ".join(str(error).split())
        msg = f"{file} is not a sound table: {reason}."
        raise DatasetError(msg) from error
    if n_rows != len(frame):
        msg = (
            f"{file} is not a sound table: {n_rows} rows were counted and {len(frame)} "
            "were read. Look for a quote that is never closed, or a byte 0."
        )
        raise DatasetError(msg)
    return replace(
        table,
        columns={i: frame[i].tolist() for i in {*wanted} - {*numeric}},
        numeric=numeric,
        numbers=frame[list(numeric)].to_numpy(dtype=np.float64),
    )


def _read_frame(
    file: TextFile, table: Table, wanted: Sequence[int], numeric: Sequence[int]
) -> Any:
    import pandas as pd

    types: dict[str, Any] = {
        "dtype": dict.fromkeys(wanted, str) | dict.fromkeys(numeric, np.float64),
        "na_values": dict.fromkeys(numeric, QUICK_MISSING),
    }
    if tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1):
        # Later versions always convert to the nearest number.
        types["float_precision"] = "round_trip"
    with file.open() as stream:
        return pd.read_csv(
            stream,
            sep=file.delimiter,
            header=0 if table.named else None,
            names=range(len(table.names)),
            usecols=list(wanted),
            index_col=False,
            encoding="utf-8",
            keep_default_na=False,
            **types,
        )
