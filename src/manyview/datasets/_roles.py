"""Which columns of a table are features, sample names and labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from manyview._typing import FloatArray
from manyview.datasets._source import ID_NAMES, ReadOptions, TextArray
from manyview.exceptions import DatasetError


@dataclass(frozen=True, kw_only=True, slots=True)
class Roles:
    """Which columns of a table are what, by position."""

    ids: int | None
    labels: int | None
    features: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table taken apart.

    names : of the feature columns. named : whether the file says so; columns of a table
    without a header are numbered.
    """

    names: tuple[str, ...]
    named: bool
    values: FloatArray
    ids: TextArray | None
    labels: TextArray | None


def assign_roles(
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
