"""Read csv and tsv tables: by pyarrow what is quick, row by row all the rest."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from manyview._extras import import_extra
from manyview.datasets._arrow import parse_csv
from manyview.datasets._source import ReadOptions, Source, suffix_of
from manyview.datasets._tables import (
    MISSING_CELLS,
    read_cells,
    split_views,
    start_table,
)
from manyview.exceptions import DatasetError

DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
# Other spellings are found on the slow road.
QUICK_MISSING = sorted(
    {spell(cell) for cell in MISSING_CELLS for spell in (str, str.upper, str.title)}
    | {"NaN"}
)
CHUNK_BYTES = 1 << 20


def read_text(path: Path, options: ReadOptions) -> Source:
    """Read the view(s), sample names and labels of a text table."""
    suffix = suffix_of(path)
    delimiter = DELIMITERS[Path(suffix).stem]
    unpacked = None if suffix in DELIMITERS else _unpack(path, options)

    def open_text() -> IO[bytes]:
        return path.open("rb") if unpacked is None else io.BytesIO(unpacked)

    def rows() -> Iterator[tuple[int, list[str]]]:
        # utf-8-sig: spreadsheets put a byte order mark before the first name.
        with io.TextIOWrapper(open_text(), encoding="utf-8-sig", newline="") as text:
            yield from _parse_rows(path, text, delimiter)

    def line_of(row: int) -> int:
        return next(itertools.islice(rows(), row + table.named, None), (0, []))[0]

    table, texts = start_table(str(path), rows, options)
    table = replace(table, line_of=line_of)
    quick = None
    if not options.only_labels:
        with open_text() as stream:
            quick = parse_csv(stream, delimiter, table, texts, QUICK_MISSING)
    return split_views(path, quick or read_cells(table, rows, texts, options), options)


def _parse_rows(
    path: Path, text: IO[str], delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and cells, blank lines left out."""
    ended = False

    def lines() -> Iterator[str]:
        nonlocal ended
        yield from text
        ended = True

    reader = csv.reader(lines(), delimiter=delimiter)
    try:
        for cells in reader:
            if ended:
                # Only a row with an open quote asks for a line behind the last one.
                msg = f"{path} is not a sound table: a quote is never closed."
                raise DatasetError(msg)
            # A quoted empty cell is a row of one column; blanks alone are none.
            if cells and (len(cells) > 1 or not cells[0] or cells[0].strip()):
                yield reader.line_num, cells
    except UnicodeDecodeError as error:
        msg = (
            f"{path} is not UTF-8 text: byte 0x{error.object[error.start]:02x} "
            f"after line {reader.line_num}. Save it as UTF-8."
        )
        raise DatasetError(msg) from error
    except csv.Error as error:
        msg = f"{path}, line {reader.line_num}: {error}."
        raise DatasetError(msg) from error


def _unpack(path: Path, options: ReadOptions) -> bytes:
    """The text of a compressed table, as far as the budget goes."""
    content = io.BytesIO()
    with _open_packed(path) as stream:
        for chunk in iter(lambda: stream.read(CHUNK_BYTES), b""):
            options.budget.take(path, len(chunk))
            content.write(chunk)
    return content.getvalue()


def _open_packed(path: Path) -> Any:
    if path.suffix.lower() == ".gz":
        return gzip.open(path)
    # pyarrow notices a file that is cut short, and refuses to look back too far.
    pyarrow = import_extra("pyarrow", "io", f"Reading {path}")
    return pyarrow.input_stream(str(path), compression="zstd")
