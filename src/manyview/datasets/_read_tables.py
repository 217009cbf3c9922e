"""Read tables: text by pandas, parquet by pyarrow, each as one view or several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from manyview._typing import FloatArray
from manyview.datasets._guards import Budget, clean_values, import_extra, reading
from manyview.datasets._read_text import read_text
from manyview.datasets._roles import (
    RawTable,
    Roles,
    Table,
    assign_roles,
    not_a_number,
    take_apart,
)
from manyview.datasets._source import (
    ReadOptions,
    Source,
    SourceLabels,
    SourceView,
    as_text,
    check_text,
)
from manyview.datasets._text_file import stem_of
from manyview.exceptions import DatasetError


def read_table(path: Path, options: ReadOptions, budget: Budget) -> Source:
    """Read the view(s), sample names and labels of one table."""
    table = _read(path, options, budget, features=True)
    return Source(views=_split_views(path, table, options), labels=_labels(path, table))


def read_label_table(path: Path, options: ReadOptions, budget: Budget) -> SourceLabels:
    """Read only a column of labels, and sample names when there are any."""
    found = _labels(path, _read(path, options, budget, features=False))
    assert found is not None
    return found


def _read(path: Path, options: ReadOptions, budget: Budget, *, features: bool) -> Table:
    if path.suffix.lower() == ".parquet":
        return _read_parquet(path, options, budget, features=features)
    return read_text(path, options, budget, features=features)


def _labels(path: Path, table: Table) -> SourceLabels | None:
    if table.labels is None:
        return None
    values = check_text(table.labels, f"Labels of {path}")
    return SourceLabels(origin=str(path), values=values, ids=table.ids)


def _split_views(
    path: Path, table: Table, options: ReadOptions
) -> tuple[SourceView, ...]:
    """One view, or one per prefix of ``view.feature`` column names."""
    names = table.names
    prefixes = [name.partition(".")[0] if "." in name else None for name in names]
    if not options.several_views or not any(prefixes):
        values = clean_values(table.values, str(path))
        view = SourceView(
            name=stem_of(path),
            origin=str(path),
            values=values,
            ids=table.ids,
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
                values=clean_values(table.values[:, columns], origin),
                ids=table.ids,
                feature_names=tuple(name.partition(".")[2] for name in own),
            )
        )
    return tuple(views)


def _read_parquet(
    path: Path, options: ReadOptions, budget: Budget, *, features: bool
) -> Table:
    """As ``read_text``; a pandas index serves as sample names."""
    parquet = import_extra("pyarrow.parquet", "io", path)
    with reading(path, "parquet"):
        with parquet.ParquetFile(path) as stream:
            footer = stream.metadata
            groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
            n_bytes = sum(group.total_byte_size for group in groups)
            # Repeated values are stored once: count what they become as floats too.
            n_bytes = max(n_bytes, 8 * footer.num_rows * footer.num_columns)
            budget.take(path, n_bytes)
            _refuse_extensions(path, stream.schema_arrow)
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
        roles = assign_roles(path, names, options, features=features)
        raw = _arrow_table(path, table, roles, budget, features=features)

    def refuse(column: int, row: int, cell: str) -> DatasetError:
        return not_a_number(f"{path}: row {row + 1}", names[column], cell)

    return take_apart(path, raw, roles, options, budget, refuse, features=features)


def _arrow_table(
    path: Path, table: Any, roles: Roles, budget: Budget, *, features: bool
) -> RawTable:
    """Numbers where all features are; else cells, of text columns at least."""
    names = table.column_names
    others = [i for i in (roles.ids, roles.labels) if i is not None]
    texts = [i for i in roles.features if _is_text(table.column(i))]
    columns = {i: _cells(path, names[i], table.column(i), budget) for i in others}
    if not features or texts:
        # Beside known labels, other columns may hold anything.
        wanted = roles.features if features or roles.labels is None else texts
        columns |= {i: _cells(path, names[i], table.column(i), budget) for i in wanted}
        return RawTable(names=names, named=True, columns=columns)
    values = np.empty((table.num_rows, len(roles.features)))
    for at, column in enumerate(roles.features):
        values[:, at] = _arrow_numbers(path, names[column], table.column(column))
    return RawTable(names=names, named=True, columns=columns, numbers=values)


def _refuse_extensions(path: Path, schema: Any) -> None:
    """Types that bring code of their own have no place in a view."""
    import pyarrow as pa

    for field in schema:
        if isinstance(field.type, pa.BaseExtensionType):
            msg = (
                f"{path}: column {field.name!r} has the extension type {field.type}; "
                "expected plain numbers or text."
            )
            raise DatasetError(msg)


def _is_text(column: Any) -> bool:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _arrow_numbers(path: Path, name: str, column: Any) -> FloatArray:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        cells = column.to_pylist()
        row = next((i for i, cell in enumerate(cells) if cell is not None), 0)
        where, cell = f"{path}: row {row + 1}", f"{cells[row]} ({kind})"
        raise not_a_number(where, name, cell)
    return np.asarray(column.to_numpy(), dtype=np.float64)


def _cells(path: Path, name: str, column: Any, budget: Budget) -> list[str]:
    """Text of a column; that of missing cells is empty."""
    cells = ["" if cell is None else cell for cell in column.to_pylist()]
    if all(isinstance(cell, str) for cell in cells):
        return cells
    text = as_text(np.array(cells), f"Column {name!r} of {path}", budget)
    return [str(cell) for cell in text.tolist()]
