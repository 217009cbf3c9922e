"""Tables by pyarrow: Parquet files, and text tables as fast as they can be parsed."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from manyview._typing import FloatArray
from manyview.datasets._guards import Budget, import_extra, reading
from manyview.datasets._source import ReadOptions, Source, as_text
from manyview.datasets._tables import Table, find_columns, not_a_number, split_views
from manyview.exceptions import DatasetError

CSV_BLOCK_BYTES = 1 << 21
# Rows that one thread copies at a time.
COPY_ROWS = 1 << 14


def parse_csv(
    stream: IO[bytes],
    delimiter: str,
    table: Table,
    texts: Sequence[int],
    missing: Sequence[str],
) -> Table | None:
    """The cells of a text table: columns `texts` as they are, all others as numbers.

    None without pyarrow, for a row of another width than the table, for a cell that is
    neither a number nor one of `missing`, and for text with line breaks, as behind a
    quote that is never closed.
    """
    try:
        import pyarrow as pa
        from pyarrow import csv
    except ImportError:
        return None
    names = [str(i) for i in range(len(table.names))]
    types = dict.fromkeys(names, pa.float64()) | {names[i]: pa.string() for i in texts}
    read_options = csv.ReadOptions(
        column_names=names,
        skip_rows_after_names=int(table.named),
        block_size=CSV_BLOCK_BYTES,
    )
    # Numbers have no line breaks, and blocks are cut faster where no cell has one.
    # Without this option pyarrow loses parts of cells that have.
    parse_options = csv.ParseOptions(
        delimiter=delimiter, newlines_in_values=bool(texts)
    )
    convert_options = csv.ConvertOptions(column_types=types, null_values=missing)
    try:
        parsed = csv.read_csv(stream, read_options, parse_options, convert_options)
    except ValueError:
        return None
    numeric = tuple(sorted({*range(len(names))} - {*texts}))
    numbers = np.empty((parsed.num_rows, len(numeric)))
    _fill(numbers, 0, parsed, numeric)
    columns = {i: parsed.column(i).to_pylist() for i in texts}
    if any("\n" in cell for cells in columns.values() for cell in cells):
        return None
    return replace(table, columns=columns, numeric=numeric, numbers=numbers)


def read_parquet(path: Path, options: ReadOptions) -> Source:
    """Read the view(s) and labels of a Parquet file; a pandas index names samples."""
    parquet = import_extra("pyarrow.parquet", "io", path)
    with reading(path, "parquet"), parquet.ParquetFile(path) as stream:
        _check_footer(path, stream, options.budget)
        schema = stream.schema_arrow
        names, order = list(schema.names), list(range(len(schema.names)))
        index = (schema.pandas_metadata or {}).get("index_columns", [])
        stored_index = [name for name in index if isinstance(name, str)]
        if options.ids is None and len(stored_index) == 1:
            # Moved to the front under the name that announces sample names.
            order.insert(0, order.pop(names.index(stored_index[0])))
            names = ["", *(names[i] for i in order[1:])]
        table = find_columns(str(path), names, options)
        table = _read_groups(stream, order, table, options)
    return split_views(path, table, options)


def _check_footer(path: Path, stream: Any, budget: Budget) -> None:
    """Refuse a file that would unpack to too much, or with code in its types."""
    import pyarrow as pa

    footer = stream.metadata
    groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
    n_bytes = sum(group.total_byte_size for group in groups)
    # Repeated values are stored once: count what they become as floats too.
    n_bytes = max(n_bytes, 8 * footer.num_rows * footer.num_columns)
    budget.take(path, n_bytes)
    for field in stream.schema_arrow:
        if isinstance(field.type, pa.BaseExtensionType):
            msg = (
                f"{path}: column {field.name!r} has the extension type {field.type}; "
                "expected plain numbers or text."
            )
            raise DatasetError(msg)
    if not footer.num_rows:
        msg = f"{path} has no rows."
        raise DatasetError(msg)


def _read_groups(
    stream: Any, order: list[int], table: Table, options: ReadOptions
) -> Table:
    """Features as numbers where they are; text, sample names and labels as text.

    Beside the matrix, one group of rows is in memory.
    """
    import pyarrow as pa

    # Made anew by every access to `schema_arrow`.
    schema = stream.schema_arrow
    kinds = [schema.field(i).type for i in order]
    features = table.features
    texts = [i for i in features if _is_text(kinds[i])]
    numeric = () if options.only_labels else tuple(sorted({*features} - {*texts}))
    is_number = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating)
    for i in numeric:
        if not any(is_kind(kinds[i]) for is_kind in is_number):
            cells = stream.read_row_group(0).column(order[i]).to_pylist()
            row = next((at for at, cell in enumerate(cells) if cell is not None), 0)
            raise not_a_number(table, i, row, f"{cells[row]} ({kinds[i]})")
    if options.only_labels and table.labels is None:
        # Beside known labels, other columns may hold anything.
        texts = features
    texts += [i for i in (table.ids, table.labels) if i is not None]
    n_rows, n_read = stream.metadata.num_rows, 0
    small = all(pa.types.is_float32(kinds[i]) for i in numeric)
    numbers = np.empty((n_rows, len(numeric)), np.float32 if small else np.float64)
    kept = []
    for i in range(stream.num_row_groups):
        group = stream.read_row_group(i).select(order)
        n_read = _fill(numbers, n_read, group, numeric)
        kept.append(group.select(texts))
    if n_read != n_rows:
        msg = f"{table.origin} promises {n_rows} rows, has {n_read}."
        raise DatasetError(msg)
    text = pa.concat_tables(kept)
    columns = {
        i: _cells(table, i, text.column(at), options) for at, i in enumerate(texts)
    }
    return replace(table, columns=columns, numeric=numeric, numbers=numbers)


def _fill(
    out_values: FloatArray, first: int, table: Any, columns: Sequence[int]
) -> int:
    """Copy columns to the rows from `first` on; returns the row behind the last."""
    import pyarrow as pa

    def copy(batch: Any, out_rows: FloatArray) -> None:
        for at, i in enumerate(columns):
            column = batch.column(i)
            if pa.types.is_boolean(column.type):
                column = column.cast(pa.int8())
            out_rows[:, at] = column.to_numpy(zero_copy_only=False)

    # Columns to rows takes as long as to unpack them, so it has as many threads.
    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        copies = []
        for batch in table.to_batches(max_chunksize=COPY_ROWS):
            out_rows = out_values[first : first + batch.num_rows]
            copies.append(pool.submit(copy, batch, out_rows))
            first += batch.num_rows
        for done in copies:
            done.result()
    return first


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _cells(table: Table, position: int, column: Any, options: ReadOptions) -> list[str]:
    """Text of a column; that of missing cells is empty."""
    cells = ["" if cell is None else cell for cell in column.to_pylist()]
    if all(isinstance(cell, str) for cell in cells):
        return cells
    what = f"Column {table.names[position]!r} of {table.origin}"
    text: list[str] = as_text(np.array(cells), what, options.budget).tolist()
    return text
