"""What the readers of single files take and give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from manyview.datasets._model import View
from manyview.exceptions import DatasetError

TextArray = npt.NDArray[np.str_]

# Headers that announce sample names rather than a feature; pandas leaves its index
# unnamed.
ID_NAMES = frozenset({"", "id", "ids", "index", "sample", "sample_id", "sample_ids"})


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadOptions:
    """The options of ``read_views`` that concern a single file."""

    labels: str | None = None
    ids: str | None = None
    header: bool | None = None
    variables: tuple[str, ...] | None = None
    # One file for all views: split a table by `view.feature` column names.
    several_views: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceView:
    """One view as it stands in its file; `origin` names it in messages."""

    name: str
    origin: str
    values: View
    ids: TextArray | None = None
    feature_names: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceLabels:
    """Class names per sample, with the sample names when the file has them."""

    origin: str
    values: TextArray
    ids: TextArray | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Everything one file gave."""

    views: tuple[SourceView, ...]
    labels: SourceLabels | None = None


def as_text(values: npt.NDArray[Any], what: str) -> TextArray:
    """Sample names or class names as text; whole numbers without a decimal point.

    `what` names the array in messages: labels and ids must all be there.
    """
    flat = np.asarray(values).ravel()
    if flat.dtype.kind == "S":
        flat = np.char.decode(flat, "utf-8")
    if flat.dtype.kind not in "biufUT":
        msg = f"{what} hold {flat.dtype} values; expected text or numbers."
        raise DatasetError(msg)
    # Few distinct values as a rule: spell each of them once.
    distinct, position = np.unique(flat, return_inverse=True)
    return np.array([_spell(value) for value in distinct.tolist()], dtype=np.str_)[
        position
    ]


def _spell(value: object) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.17g}"
    return str(value).strip()


def check_text(values: TextArray, what: str) -> TextArray:
    """Refuse an empty name and say where it is."""
    empty = np.flatnonzero(values == "")
    if empty.size:
        msg = f"{what} are empty in row {empty[0] + 1}; every sample needs one."
        raise DatasetError(msg)
    return values
