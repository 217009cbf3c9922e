"""Names of features and samples: what views carry beside their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

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
    """The index that all views with an index agree on; None without any.

    One that counts 0, 1, 2, ... says nothing and agrees with any other, except with the
    same numbers in another order: those are the rows of a shuffled frame.
    """
    found = {name: sample_index(view) for name, view in views.items()}
    found = {name: index for name, index in found.items() if index is not None}
    if not found:
        return None
    telling = [name for name, index in found.items() if not _counts_up(index)]
    first = telling[0] if telling else next(iter(found))
    for name, index in found.items():
        _check_index(first, found[first], name, index)
    return found[first]


def _check_index(first_name: str, first: Any, name: str, index: Any) -> None:
    if index is first or index.equals(first):
        return
    pairs = zip(index, first, strict=True)
    row = next((row for row, (here, there) in enumerate(pairs) if here != there), None)
    # Indices of different types can still hold equal values.
    if row is None:
        return
    # The cheap question first: most indices that differ have nothing in common.
    same_samples = first[row] in index and Counter(index) == Counter(first)
    if _counts_up(index) and not same_samples:
        return
    trouble = "the same samples in another order" if same_samples else "other samples"
    msg = (
        f"View {name!r} has {trouble} than view {first_name!r}: row {row} is "
        f"{str(index[row])!r}, not {str(first[row])!r}, by their indices. Line them up "
        "with manyview.datasets.align_views; if rows do belong together as they stand, "
        "drop the indices with reset_index(drop=True)."
    )
    raise ViewError(msg)


def column_order(
    view: str, given: FeatureNames, fitted: FeatureNames
) -> list[int] | None:
    """Where the columns of fit are among the given ones; None if they need not move.

    Columns that count 0, 1, 2, ... have no names, unless the other side has the same
    numbers in another order.
    """
    if given is None or fitted is None or given == fitted:
        return None
    if Counter(given) != Counter(fitted):
        if _counts_up(given) or _counts_up(fitted):
            return None
        _reject_columns(view, given, fitted)
    position = {name: column for column, name in enumerate(given)}
    if len(position) < len(given):
        twice = next(name for name, count in Counter(given).items() if count > 1)
        msg = (
            f"View {view!r} has its columns in another order than in fit, and "
            f"{twice!r} occurs more than once. Pass the order of fit, or rename them."
        )
        raise ViewError(msg)
    return [position[name] for name in fitted]


def _reject_columns(view: str, given: Sequence[str], fitted: Sequence[str]) -> None:
    missing = list((Counter(fitted) - Counter(given)).elements())
    foreign = list((Counter(given) - Counter(fitted)).elements())
    parts = []
    if missing:
        parts.append(f"lacks {_listed(missing)} of fit")
    if foreign:
        parts.append(f"has {_listed(foreign)} that fit did not see")
    msg = f"View {view!r} {' and '.join(parts)}. Pass the columns of fit, in any order."
    raise ViewError(msg)


def _listed(names: Sequence[str]) -> str:
    what = "feature" if len(names) == 1 else "features"
    shown = ", ".join(map(repr, names[:SHOWN_NAMES]))
    more = len(names) - SHOWN_NAMES
    return f"{what} {shown}" + (f" and {more} more" if more > 0 else "")


def _counts_up(names: Iterable[Any]) -> bool:
    """Whether names are 0, 1, 2, ...: what pandas and anndata give unasked."""
    # A RangeIndex need not be spelled out.
    if getattr(names, "step", None) == 1:
        return bool(getattr(names, "start", None) == 0)
    return all(str(name) == str(i) for i, name in enumerate(names))
