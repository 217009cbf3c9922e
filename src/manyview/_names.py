"""Names of features and samples: what views carry beside their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal, TypeAlias

from manyview.exceptions import ViewError

FeatureNames: TypeAlias = "tuple[str, ...] | None"

# Names that a message lists before it only counts.
SHOWN_NAMES = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedView:
    """A view whose array has no room for names.

    array : anything that is a view by itself.
    columns : one name per feature; None if they have none.
    index : the samples as a pandas Index; None if they have no names.
    """

    array: Any
    columns: FeatureNames
    index: Any = None


def is_annotated(X: Any) -> bool:
    """Whether X is an AnnData or a MuData."""
    # By name, as neither need be installed; their arrays are of their packages too.
    kinds = {(k.__module__.split(".")[0], k.__name__) for k in type(X).__mro__}
    return not kinds.isdisjoint({("anndata", "AnnData"), ("mudata", "MuData")})


def feature_names(view: Any) -> FeatureNames:
    """Names of the features, as text, of a frame, an AnnData or a `NamedView`."""
    columns = view.var_names if is_annotated(view) else getattr(view, "columns", None)
    return None if columns is None else tuple(str(name) for name in columns)


def sample_index(view: Any) -> Any:
    """The pandas Index of a view, or None: arrays and polars frames have none."""
    index = view.obs_names if is_annotated(view) else getattr(view, "index", None)
    # A list has an `index` too, and that of a dask frame is not known yet.
    is_pandas = type(index).__module__.split(".")[0] == "pandas"
    return index if is_pandas else None


def common_index(views: Mapping[str, Any]) -> Any:
    """The index that all views with an index agree on; None without any."""
    found = {name: sample_index(view) for name, view in views.items()}
    found = {name: index for name, index in found.items() if index is not None}
    if not found:
        return None
    telling = [name for name, index in found.items() if not _counts_up(index)]
    first = telling[0] if telling else next(iter(found))
    expected = found[first]
    for name, index in found.items():
        if index is expected or index.equals(expected):
            continue
        relation = _relation(index, expected)
        if relation != "same":
            row = next(i for i, own in enumerate(index) if own != expected[i])
            again = "the same samples in another order"
            trouble = again if relation == "reordered" else "other samples"
            msg = (
                f"View {name!r} has {trouble} than view {first!r}: row {row} is "
                f"{str(index[row])!r}, not {str(expected[row])!r}, by their indices. "
                "Line them up with manyview.datasets.align_views; if rows do belong "
                "together as they stand, drop the indices with reset_index(drop=True)."
            )
            raise ViewError(msg)
    return expected


def column_order(
    view: str, given: FeatureNames, fitted: FeatureNames
) -> list[int] | None:
    """Where the columns of fit are among the given ones; None if they need not move."""
    if given is None or fitted is None:
        return None
    relation = _relation(given, fitted)
    if relation == "same":
        return None
    if relation == "other":
        missing = (Counter(fitted) - Counter(given)).elements()
        foreign = (Counter(given) - Counter(fitted)).elements()
        lacks = _listed("lacks {} of fit", [*missing])
        has = _listed("has {} that fit did not see", [*foreign])
        told = " and ".join(filter(None, (lacks, has)))
        msg = f"View {view!r} {told}. Pass the columns of fit, in any order."
        raise ViewError(msg)
    position = {name: column for column, name in enumerate(given)}
    if len(position) < len(given):
        (twice, _), *_ = Counter(given).most_common(1)
        msg = (
            f"View {view!r} has its columns in another order than in fit, and "
            f"{twice!r} occurs more than once. Pass the order of fit, or rename them."
        )
        raise ViewError(msg)
    return [position[name] for name in fitted]


def _relation(given: Any, expected: Any) -> Literal["same", "reordered", "other"]:
    """How names of rows or columns stand to those that are expected.

    Names that count 0, 1, 2, ... say nothing and pass for any others, except for the
    same numbers in another order: those belong to a shuffled frame.
    """
    if all(own == other for own, other in zip_longest(given, expected)):
        return "same"
    # The cheap question first: most names that differ have nothing in common.
    if expected[0] in given and Counter(given) == Counter(expected):
        return "reordered"
    return "same" if _counts_up(given) or _counts_up(expected) else "other"


def _listed(sentence: str, names: list[str]) -> str:
    """The sentence about some features; nothing if there are none."""
    shown = ", ".join(map(repr, names[:SHOWN_NAMES]))
    more = f" and {len(names) - SHOWN_NAMES} more" if names[SHOWN_NAMES:] else ""
    what = "feature" if len(names) == 1 else "features"
    return sentence.format(f"{what} {shown}{more}") if names else ""


def _counts_up(names: Iterable[Any]) -> bool:
    """Whether names are 0, 1, 2, ...: what pandas and anndata give unasked."""
    # A RangeIndex need not be spelled out.
    if getattr(names, "step", None) == 1:
        return bool(getattr(names, "start", None) == 0)
    return all(str(name) == str(i) for i, name in enumerate(names))
