"""What the readers of single files take and give."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from manyview._annotated import Layer, UseRep
from manyview.datasets._guards import Budget
from manyview.datasets._model import View
from manyview.exceptions import DatasetError

# Compressed text tables have one of these behind the suffix of their own.
PACKED = (".gz", ".zst")

TextArray = npt.NDArray[np.str_]
Encode = Literal["onehot"]
Drop = Literal["text"]

# Headers that announce sample names rather than a feature; pandas leaves its index
# unnamed.
ID_NAMES = frozenset({"", "id", "ids", "index", "sample", "sample_id", "sample_ids"})


def suffix_of(path: Path) -> str:
    """The suffix in lower case, of compressed files together with the one before."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes[-1:] and suffixes[-1] in PACKED
    return "".join(suffixes[-2:] if packed else suffixes[-1:])


def stem_of(path: Path) -> str:
    """The name of a file without its suffix."""
    return path.name[: len(path.name) - len(suffix_of(path))]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadOptions:
    """The options of ``read_views`` that concern a single file."""

    # Read the classes of the samples and nothing else.
    only_labels: bool = False
    labels: str | None = None
    ids: str | None = None
    header: bool | None = None
    variables: tuple[str, ...] | None = None
    # One file for all views: split a table by `view.feature` column names.
    several_views: bool = False
    # Which matrices of annotated files are views.
    use_rep: UseRep = None
    layer: Layer = None
    # What becomes of text among the features; without either it is refused.
    encode: Encode | None = None
    drop: Drop | None = None
    # Whether cells may be missing while others in their row are not.
    holes: bool = False
    # Shared by all files of a call.
    budget: Budget = field(default_factory=Budget)

    def check_variables(self, path: Path, what: str, there: Collection[str]) -> None:
        """Refuse `variables` that are not `there`; `what` is said of each of them."""
        for name in self.variables or ():
            if name not in there:
                msg = f"{path} has no {what} {name!r}; it has {list(there)}."
                raise DatasetError(msg)


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

    def __post_init__(self) -> None:
        """Refuse a sample without a class and say where it is."""
        empty = np.flatnonzero(self.values == "")
        if empty.size:
            msg = (
                f"Labels of {self.origin} are empty in row {empty[0] + 1}; every "
                "sample needs one."
            )
            raise DatasetError(msg)


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Everything one file gave.

    samples : all samples in order, where views of the file may lack some.
    """

    views: tuple[SourceView, ...] = ()
    labels: SourceLabels | None = None
    samples: TextArray | None = None


def make_source(
    origin: str,
    views: Iterable[SourceView],
    options: ReadOptions,
    *,
    ids: Iterable[Any] | None = None,
    labels: Iterable[Any] | None = None,
) -> Source:
    """A source whose views and labels belong to the samples `ids`."""
    names = found = None
    if ids is not None:
        names = text_array(ids, f"Sample ids of {origin}", options.budget)
    if labels is not None:
        classes = text_array(labels, f"Labels of {origin}", options.budget)
        found = SourceLabels(origin=origin, values=classes, ids=names)
    return Source(views=tuple(replace(view, ids=names) for view in views), labels=found)


def text_array(values: Iterable[Any], what: str, budget: Budget) -> TextArray:
    """Sample names or class names as an array; `what` names them in messages."""
    try:
        if isinstance(values, np.ndarray):
            _check_code_points(values)
            values = values.ravel().tolist()
        texts = [_spell(value) for value in values]
    except (TypeError, UnicodeError) as error:
        msg = f"{what} are not Unicode text or numbers ({error})."
        raise DatasetError(msg) from error
    check_unicode(texts, what)
    # Every text takes the room of the longest.
    budget.take(what, 4 * max(map(len, texts), default=0) * len(texts))
    return np.array(texts, dtype=np.str_)


def check_unicode(texts: Iterable[str], what: str) -> None:
    """Refuse text that could be neither shown nor written again."""
    try:
        "".join(texts).encode("utf-8")
    except UnicodeError as error:
        msg = f"{what} are not Unicode text ({error})."
        raise DatasetError(msg) from error


def _check_code_points(texts: npt.NDArray[Any]) -> None:
    """NumPy lets any number pass for a character; Python must not see those."""
    if texts.dtype.kind != "U" or not texts.nbytes:
        return
    codes = np.ascontiguousarray(texts, dtype=texts.dtype.newbyteorder("="))
    if codes.view(np.uint32).max() > sys.maxunicode:
        msg = f"code point {codes.view(np.uint32).max():#x} is beyond Unicode"
        raise UnicodeError(msg)


def _spell(value: object) -> str:
    """A name as text: that of a whole number has no decimal point."""
    match value:
        case None:
            return ""
        case bytes():
            return value.decode("utf-8").strip()
        case float():
            return "" if np.isnan(value) else f"{value:.17g}"
        case str() | int():
            return str(value).strip()
    raise TypeError(type(value).__name__)
