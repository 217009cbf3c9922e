"""Read tables: text and Parquet, each as one view or several."""

from __future__ import annotations

from pathlib import Path

from manyview.datasets._arrow import read_parquet
from manyview.datasets._guards import Budget, clean_values
from manyview.datasets._read_text import read_text
from manyview.datasets._roles import Table, take_apart
from manyview.datasets._source import ReadOptions, Source, SourceLabels, SourceView
from manyview.datasets._text_file import stem_of
from manyview.exceptions import DatasetError


def read_table(path: Path, options: ReadOptions, budget: Budget) -> Source:
    """Read the view(s), sample names and labels of one table."""
    table = _read(path, options, budget, features=True)
    return Source(views=_split_views(path, table, options), labels=table.labels)


def read_label_table(path: Path, options: ReadOptions, budget: Budget) -> SourceLabels:
    """Read only a column of labels, and sample names when there are any."""
    found = _read(path, options, budget, features=False).labels
    assert found is not None
    return found


def _read(path: Path, options: ReadOptions, budget: Budget, *, features: bool) -> Table:
    read = read_parquet if path.suffix.lower() == ".parquet" else read_text
    table, roles = read(path, options, budget, features=features)
    return take_apart(table, roles, options, budget, features=features)


def _split_views(
    path: Path, table: Table, options: ReadOptions
) -> tuple[SourceView, ...]:
    """One view, or one per prefix of ``view.feature`` column names."""
    names = table.names or ()
    prefixes = [name.partition(".")[0] if "." in name else None for name in names]
    if not options.several_views or not any(prefixes):
        return (table.view(stem_of(path)),)
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
        views.append(
            SourceView(
                name=str(prefix),
                origin=origin,
                values=clean_values(table.values[:, columns], origin),
                ids=table.ids,
                feature_names=tuple(names[i].partition(".")[2] for i in columns),
            )
        )
    return tuple(views)
