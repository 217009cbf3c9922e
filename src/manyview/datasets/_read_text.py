"""Read csv and tsv tables with pandas, and say where a bad one is bad.

pandas fills short rows up and takes long ones for an index, so rows are counted before.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from manyview.datasets._guards import Budget
from manyview.datasets._roles import (
    MISSING_CELLS,
    RawTable,
    Roles,
    Table,
    assign_roles,
    is_header,
    not_a_number,
    take_apart,
)
from manyview.datasets._source import ReadOptions
from manyview.datasets._text_file import TextFile, open_text
from manyview.exceptions import DatasetError

# Other spellings are found on the slow road.
QUICK_MISSING = sorted(
    {spell(cell) for cell in MISSING_CELLS for spell in (str, str.upper, str.title)}
    | {"NaN"}
)
CHUNK_BYTES = 1 << 24
# So many characters hold at most 15 digits: less than 2**53, over a power of ten.
EXACT_WIDTH = 15


def read_text(
    path: Path, options: ReadOptions, budget: Budget, *, features: bool
) -> Table:
    """The columns of a text table; only ids and labels without `features`."""
    file = open_text(path, budget)
    first = next(_rows(file), None)
    if first is None:
        msg = f"{path} has no rows."
        raise DatasetError(msg)
    _, cells = first
    has_header = is_header(cells) if options.header is None else options.header
    # Without a header columns are counted as a reader of the file would.
    names = [cell.strip() if has_header else str(i + 1) for i, cell in enumerate(cells)]
    roles = assign_roles(path, names, options, features=features)
    n_rows, exact = _count_rows(file, len(names), roles.features, has_header)
    if not n_rows:
        msg = f"{path} has a header and no rows below it."
        raise DatasetError(msg)
    table = RawTable(names=names, named=has_header, columns={})
    parsed = _parse_numbers(file, table, roles, exact) if features else None
    if parsed is None:
        parsed = _parse_cells(file, table, roles, features=features)
    _check_count(file, n_rows, parsed)

    def refuse(column: int, row: int, cell: str) -> DatasetError:
        line = next(itertools.islice(_rows(file), row + has_header, None), (0, []))[0]
        return not_a_number(f"{path}: row {row + 1} (line {line})", names[column], cell)

    return take_apart(path, parsed, roles, options, budget, refuse, features=features)


def _rows(file: TextFile) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and cells, blank lines left out."""
    # utf-8-sig: spreadsheets put a byte order mark before the first name.
    with io.TextIOWrapper(file.open(), encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, delimiter=file.delimiter)
        while True:
            try:
                cells = next(reader)
            except StopIteration:
                return
            except UnicodeDecodeError as error:
                msg = (
                    f"{file} is not UTF-8 text: byte 0x{error.object[error.start]:02x} "
                    f"after line {reader.line_num}. Save it as UTF-8."
                )
                raise DatasetError(msg) from error
            except csv.Error as error:
                msg = f"{file}, line {reader.line_num}: {error}."
                raise DatasetError(msg) from error
            # A quoted empty cell is a row of one column; blanks alone are none.
            if cells and (len(cells) > 1 or not cells[0] or cells[0].strip()):
                yield reader.line_num, cells


def _count_rows(
    file: TextFile, n_columns: int, features: tuple[int, ...], has_header: bool
) -> tuple[int, bool]:
    """Number of rows below the header, all of them as wide as the table.

    Also whether pandas reads every number of the features exactly.
    """
    plain = _scan_plain(file, n_columns, features, has_header)
    if plain is not None:
        return plain
    n_rows = 0
    for line, cells in itertools.islice(_rows(file), int(has_header), None):
        n_rows += 1
        if len(cells) != n_columns:
            msg = (
                f"{file}: row {n_rows} (line {line}) has {len(cells)} cells, "
                f"but the table has {n_columns} columns."
            )
            raise DatasetError(msg)
    return n_rows, False


def _scan_plain(
    file: TextFile, n_columns: int, features: tuple[int, ...], has_header: bool
) -> tuple[int, bool] | None:
    """As ``_count_rows``, if no cell is quoted and all lines are equally wide.

    Ten times faster than to take the cells apart.
    """
    delimiter = file.delimiter
    n_rows, exact = 0, True
    with file.open() as stream:
        if has_header and stream.readline().count(delimiter.encode()) != n_columns - 1:
            return None
        # A last line without an end gets one; whole lines at a time.
        for lines in iter(lambda: stream.readlines(CHUNK_BYTES), []):
            block = b"".join(lines)
            block += b"" if block.endswith(b"\n") else b"\n"
            columns = _split_block(block, ord(delimiter), n_columns)
            if columns is None:
                return None
            n_rows += len(lines)
            exact = exact and _is_exact(block, columns, features)
    return n_rows, exact


def _split_block(
    block: bytes, delimiter: int, n_columns: int
) -> npt.NDArray[np.intp] | None:
    """Where every cell ends, (n_lines, n_columns); None if that takes a closer look."""
    if n_columns == 1 or b'"' in block or block.count(b"\r") != block.count(b"\r\n"):
        return None
    if not block.isascii():
        try:
            block.decode()
        except UnicodeDecodeError:
            return None
    codes = np.frombuffer(block, dtype=np.uint8)
    ends = np.flatnonzero((codes == ord("\n")) | (codes == delimiter))
    if ends.size % n_columns:
        return None
    table = ends.reshape(-1, n_columns)
    is_end = codes[table] == ord("\n")
    return table if is_end[:, -1].all() and not is_end[:, :-1].any() else None


def _is_exact(
    block: bytes, ends: npt.NDArray[np.intp], features: tuple[int, ...]
) -> bool:
    """Whether all numbers are short and without exponents.

    pandas counts digits from the first zero on and forgets those after the 17th.
    """
    widths = np.diff(ends.ravel(), prepend=-1).reshape(ends.shape) - 1
    if widths[:, features].max(initial=0) > EXACT_WIDTH:
        return False
    letters = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) | 32 == ord("e"))
    columns = np.searchsorted(ends.ravel(), letters) % ends.shape[1]
    return not np.isin(columns, features).any()


def _parse_numbers(
    file: TextFile, table: RawTable, roles: Roles, exact: bool
) -> RawTable | None:
    """The table with all features as numbers; None if some are not."""
    others = [i for i in (roles.ids, roles.labels) if i is not None]
    import pandas as pd

    kinds: dict[int, Any] = dict.fromkeys(roles.features, np.float64)
    precision: dict[str, Any] = {}
    if tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1):
        # The exact conversion takes three times as long. Later versions always make it.
        precision = {"float_precision": "high" if exact else "round_trip"}
    try:
        frame = _read_frame(
            file,
            table,
            dtype=kinds | dict.fromkeys(others, str),
            na_values=dict.fromkeys(roles.features, QUICK_MISSING),
            **precision,
        )
        values = frame[list(roles.features)].to_numpy(dtype=np.float64)
    except (ValueError, OverflowError):
        return None
    columns = {i: frame[i].tolist() for i in others}
    return replace(table, columns=columns, numbers=values)


def _parse_cells(
    file: TextFile, table: RawTable, roles: Roles, *, features: bool
) -> RawTable:
    """The table with all columns as text; without `features`, those that matter."""
    wanted = list(range(len(table.names)))
    if not features and roles.ids is not None and roles.labels is not None:
        wanted = sorted([roles.ids, roles.labels])
    try:
        frame = _read_frame(file, table, dtype=str, usecols=wanted)
    except (ValueError, OverflowError) as error:
        reason = " ".join(str(error).split())
        msg = f"{file} is not a sound table: {reason}."
        raise DatasetError(msg) from error
    return replace(table, columns={i: frame[i].tolist() for i in wanted})


def _read_frame(file: TextFile, table: RawTable, **types: Any) -> Any:
    import pandas as pd

    with file.open() as stream:
        return pd.read_csv(
            stream,
            sep=file.delimiter,
            header=0 if table.named else None,
            names=range(len(table.names)),
            index_col=False,
            encoding="utf-8",
            keep_default_na=False,
            **types,
        )


def _check_count(file: TextFile, counted: int, table: RawTable) -> None:
    if table.numbers is None:
        read = len(next(iter(table.columns.values())))
    else:
        read = len(table.numbers)
    if counted != read:
        msg = (
            f"{file} is not a sound table: {counted} rows were counted and {read} "
            "were read. Look for a quote that is never closed, or a byte 0."
        )
        raise DatasetError(msg)
