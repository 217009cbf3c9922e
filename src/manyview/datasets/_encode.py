"""Text as numbers: a column of 0 and 1 for every value of a column of text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from manyview._typing import FloatArray


def one_hot(name: str, cells: Sequence[str | None]) -> tuple[list[str], FloatArray]:
    """Names ``column=value`` and their columns; NaN where the cell is missing."""
    import pandas as pd

    codes, values = pd.factorize(np.array(cells, dtype=object), sort=True)
    encoded = np.eye(len(values))[codes]
    encoded[codes < 0] = np.nan
    return [f"{name}={value}" for value in values], encoded


def match_one_hot(
    values: FloatArray, names: Sequence[str], fitted: Sequence[str]
) -> tuple[FloatArray, tuple[str, ...], list[str]]:
    """New samples with the columns that a fit made of the same text.

    Values that occur among the new samples only have no column: they are left out, and
    returned as the third part. A column of text that the new samples lack altogether is
    not made up.
    """
    position = {name: column for column, name in enumerate(names)}
    encoded = {_column(name) for name in fitted if "=" in name}
    here = ({_column(name) for name in names} & encoded) - {""}
    unseen = [name for name in names if _column(name) in here and name not in fitted]
    kept = [name for name in names if name not in unseen]
    added = [name for name in fitted if _column(name) in here and name not in position]
    parts = [values[:, [position[name] for name in kept]]]
    for name in added:
        siblings = [c for n, c in position.items() if _column(n) == _column(name)]
        # Missing in one of its columns, missing in all.
        parts.append(np.where(np.isnan(values[:, siblings[:1]]), np.nan, 0.0))
    return np.hstack(parts), (*kept, *added), unseen


def _column(name: str) -> str:
    return name.partition("=")[0] if "=" in name else ""
