"""Read csv and tsv tables with pandas, and say where a bad one is bad.

pandas fills short rows up and takes long ones for an index, so rows are counted before.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from manyview._typing import FloatArray
from manyview.datasets._guards import Budget
from manyview.datasets._roles import Roles, Table, assign_roles
from manyview.datasets._source import ReadOptions, TextArray, text_array
from manyview.exceptions import DatasetError

DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
MISSING_CELLS = frozenset({"", "na", "n/a", "nan", "null", "none"})
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
    first = next(_rows(path), None)
    if first is None:
        msg = f"{path} has no rows."
        raise DatasetError(msg)
    _, cells = first
    has_header = _is_header(cells) if options.header is None else options.header
    # Without a header columns are counted as a reader of the file would.
    names = [cell.strip() if has_header else str(i + 1) for i, cell in enumerate(cells)]
    roles = assign_roles(path, names, options, features=features)
    n_rows, exact = _count_rows(path, len(names), roles, has_header)
    if not n_rows:
        msg = f"{path} has a header and no rows below it."
        raise DatasetError(msg)
    values, texts = _parse(path, names, roles, n_rows, has_header, exact)

    def text(column: int | None, what: str) -> TextArray | None:
        if column is None:
            return None
        return text_array(texts[column], f"{what} of {path}", budget)

    return Table(
        names=tuple(names[i] for i in roles.features),
        named=has_header,
        values=values,
        ids=text(roles.ids, "Sample ids"),
        labels=text(roles.labels, "Labels"),
    )


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
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
            # A quoted empty cell is a row of one column; blanks alone are none.
            if cells and (len(cells) > 1 or not cells[0] or cells[0].strip()):
                yield reader.line_num, cells


def _is_header(cells: list[str]) -> bool:
    """Whether a first row names columns; 0, 1, 2, ... are names as well."""
    if [cell.strip() for cell in cells] == [str(i) for i in range(len(cells))]:
        return len(cells) > 1
    return not all(cell.strip() and _as_float(cell) is not None for cell in cells)


def _as_float(cell: str) -> float | None:
    """A cell as a number, NaN where it is missing, None where it is neither."""
    if cell.strip().lower() in MISSING_CELLS:
        return np.nan
    try:
        return float(cell)
    except ValueError:
        return None


def _count_rows(
    path: Path, n_columns: int, roles: Roles, has_header: bool
) -> tuple[int, bool]:
    """Number of rows below the header, all of them as wide as the table.

    Also whether pandas reads every number of the features exactly.
    """
    plain = _scan_plain(path, n_columns, roles.features, has_header)
    if plain is not None:
        return plain
    n_rows = 0
    for line, cells in itertools.islice(_rows(path), int(has_header), None):
        n_rows += 1
        if len(cells) != n_columns:
            msg = (
                f"{path}: row {n_rows} (line {line}) has {len(cells)} cells, "
                f"but the table has {n_columns} columns."
            )
            raise DatasetError(msg)
    return n_rows, False


def _scan_plain(
    path: Path, n_columns: int, features: tuple[int, ...], has_header: bool
) -> tuple[int, bool] | None:
    """As ``_count_rows``, if no cell is quoted and all lines are equally wide.

    Ten times faster than to take the cells apart.
    """
    delimiter = DELIMITERS[path.suffix.lower()]
    n_rows, exact = 0, True
    with path.open("rb") as stream:
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


def _parse(
    path: Path,
    names: list[str],
    roles: Roles,
    n_rows: int,
    has_header: bool,
    exact: bool,
) -> tuple[FloatArray, dict[int, list[str]]]:
    """Numbers of the feature columns, and the cells of the others by column."""
    import pandas as pd

    others = [i for i in (roles.ids, roles.labels) if i is not None]
    options: dict[str, Any] = {
        "sep": DELIMITERS[path.suffix.lower()],
        "header": 0 if has_header else None,
        "names": range(len(names)),
        "usecols": sorted([*roles.features, *others]),
        "index_col": False,
        "encoding": "utf-8",
        "keep_default_na": False,
    }
    kinds: dict[int, Any] = dict.fromkeys(roles.features, np.float64)
    types: dict[str, Any] = {
        "dtype": kinds | dict.fromkeys(others, str),
        "na_values": dict.fromkeys(roles.features, QUICK_MISSING),
        # The exact conversion takes three times as long.
        "float_precision": "high" if exact else "round_trip",
    }
    try:
        frame = pd.read_csv(path, **types, **options)
        values = frame[list(roles.features)].to_numpy(dtype=np.float64)
    except (ValueError, OverflowError):
        try:
            frame = pd.read_csv(path, dtype=str, **options)
        except (ValueError, OverflowError) as error:
            reason = " ".join(str(error).split())
            msg = f"{path} is not a sound table: {reason}."
            raise DatasetError(msg) from error
        values = _numbers(path, frame, names, roles, has_header)
    if len(frame) != n_rows:
        msg = (
            f"{path} is not a sound table: {n_rows} rows were counted and {len(frame)} "
            "were read. Look for a quote that is never closed, or a byte 0."
        )
        raise DatasetError(msg)
    texts = {i: [cell.strip() for cell in frame[i].tolist()] for i in others}
    return values, texts


def _numbers(
    path: Path, frame: Any, names: list[str], roles: Roles, has_header: bool
) -> FloatArray:
    """Cells as numbers, one by one; the first that is none is an error."""
    columns = [[_as_float(cell) for cell in frame[i].tolist()] for i in roles.features]
    bad = [
        (cells.index(None), column)
        for cells, column in zip(columns, roles.features, strict=True)
        if None in cells
    ]
    if not bad:
        return np.array(columns, dtype=np.float64).T
    row, column = min(bad)
    line = next(itertools.islice(_rows(path), row + has_header, None), (0, []))[0]
    msg = (
        f"{path}: row {row + 1} (line {line}), column {names[column]!r} holds "
        f"{frame[column].iloc[row][:40]!r}, not a number. If that column names samples "
        "or classes, say so with ids= or labels=."
    )
    raise DatasetError(msg)
