"""Tables by pyarrow: Parquet files, and text tables as fast as they can be parsed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from manyview._extras import import_extra
from manyview._typing import FloatArray
from manyview.datasets._guards import Budget
from manyview.datasets._source import ReadOptions, Source
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
    numeric = sorted({*range(len(names))} - {*texts})
    found = _collect(table, [parsed], parsed.num_rows, numeric, texts)
    if any("\n" in cell for cells in found.columns.values() for cell in cells):
        return None
    return found


def read_parquet(path: Path, options: ReadOptions) -> Source:
    """Read the view(s) and labels of a Parquet file; a pandas index names samples."""
    parquet = import_extra("pyarrow.parquet", "io", f"Reading {path}")
    import pyarrow as pa

    with parquet.ParquetFile(path) as stream:
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
        kinds = [schema.field(i).type for i in order]
        texts, numeric = _sort_features(table, kinds, options)
        texts += [i for i in (table.ids, table.labels) if i is not None]
        small = all(kinds[i].equals(pa.float32()) for i in numeric)
        # Beside the matrix, one group of rows is in memory.
        groups = range(stream.num_row_groups)
        found = _collect(
            table,
            (stream.read_row_group(i).select(order) for i in groups),
            stream.metadata.num_rows,
            numeric,
            texts,
            np.float32 if small else np.float64,
        )
    return split_views(path, found, options)


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


def _sort_features(
    table: Table, kinds: Sequence[Any], options: ReadOptions
) -> tuple[list[int], list[int]]:
    """The features that are text and those that are numbers, by their types."""
    from pyarrow import types

    features = table.features
    if options.only_labels:
        # Beside known labels, other columns may hold anything.
        return (features if table.labels is None else []), []
    is_number = (types.is_boolean, types.is_integer, types.is_floating)
    numeric = [i for i in features if any(is_kind(kinds[i]) for is_kind in is_number)]
    texts = sorted({*features} - {*numeric})
    for i in texts:
        kind = kinds[i].value_type if types.is_dictionary(kinds[i]) else kinds[i]
        if not types.is_string(kind) and not types.is_large_string(kind):
            raise not_a_number(table, i, 0, f"a value of type {kind}")
    return texts, numeric


def _collect(
    table: Table,
    parts: Iterable[Any],
    n_rows: int,
    numeric: Sequence[int],
    texts: Sequence[int],
    dtype: type[np.floating[Any]] = np.float64,
) -> Table:
    """The table with the cells of Arrow tables that follow each other."""
    numbers = np.empty((n_rows, len(numeric)), dtype)
    columns: dict[int, list[Any]] = {i: [] for i in texts}
    n_read = 0
    for part in parts:
        _fill(numbers[n_read:], part, numeric)
        n_read += part.num_rows
        for i, cells in columns.items():
            found = part.column(i).to_pylist()
            cells += ["" if cell is None else cell for cell in found]
    if n_read != n_rows:
        msg = f"{table.origin} promises {n_rows} rows, has {n_read}."
        raise DatasetError(msg)
    return replace(table, columns=columns, numeric=tuple(numeric), numbers=numbers)


def _fill(out_values: FloatArray, table: Any, columns: Sequence[int]) -> None:
    """Copy columns to the first rows."""
    import pyarrow as pa

    def copy(batch: Any, out_rows: FloatArray) -> None:
        for at, i in enumerate(columns):
            column = batch.column(i)
            if pa.types.is_boolean(column.type):
                column = column.cast(pa.int8())
            out_rows[:, at] = column.to_numpy(zero_copy_only=False)

    # Columns to rows takes as long as to unpack them, so it has as many threads.
    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        copies, first = [], 0
        for batch in table.to_batches(max_chunksize=COPY_ROWS):
            out_rows = out_values[first : first + batch.num_rows]
            copies.append(pool.submit(copy, batch, out_rows))
            first += batch.num_rows
        for done in copies:
            done.result()
