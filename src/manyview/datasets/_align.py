"""Bring views to the same samples in the same order, from files and in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from manyview._arrays import take_rows
from manyview._typing import IntArray
from manyview.datasets._model import View
from manyview.datasets._source import SourceLabels, SourceView, TextArray
from manyview.exceptions import DatasetError

Alignment = Literal["strict", "intersection", "missing"]


def align_sources(
    views: Sequence[SourceView], how: Alignment, samples: TextArray | None = None
) -> tuple[tuple[View, ...], TextArray | None]:
    """Matrices with equal rows, and the sample names when there are any.

    Rows move only when every view names its samples and `how` allows it, or when all
    come from one file that says which `samples` there are in which order.
    """
    named = [view for view in views if view.ids is not None]
    if how == "strict" and samples is None:
        _check_same_rows(views)
        if not named:
            return tuple(view.values for view in views), None
        index = _index_of(named[0])
        for view in named[1:]:
            _check_same_ids(named[0], index, view)
        return tuple(view.values for view in views), named[0].ids
    nameless = [view.origin for view in views if view.ids is None]
    if nameless:
        msg = (
            f"align={how!r} needs sample ids in every view, and {nameless[0]} has "
            "none. Name its id column with ids=, or use align='strict'."
        )
        raise DatasetError(msg)
    indices = [_index_of(view) for view in views]
    target = _common_samples([view.origin for view in views], indices, how)
    if samples is not None and how != "intersection":
        known = {*target}
        kept = [name for name in samples.tolist() if name in known]
        target = _index(views[0].origin, kept)
    pairs = zip(views, indices, strict=True)
    values = tuple(take_rows(v.values, index.get_indexer(target)) for v, index in pairs)
    return values, np.array(target, dtype=np.str_)


def align_labels(
    found: Sequence[SourceLabels],
    ids: TextArray | None,
    n_samples: int,
    how: Alignment,
) -> TextArray:
    """One class name per sample; several files must agree."""
    nameless = [labels.origin for labels in found if labels.ids is None]
    if nameless and how != "strict":
        msg = (
            f"align={how!r} may move rows, and {nameless[0]} has labels without sample "
            "ids. Give it an id column."
        )
        raise DatasetError(msg)
    samples = range(n_samples) if ids is None or nameless else ids.tolist()
    by_position = isinstance(samples, range)
    classes: dict[Any, str] = {}
    for labels in found:
        names: Any = samples
        if not by_position:
            names = _index(labels.origin, labels.ids, n_rows=labels.values.size)
        elif labels.values.size != n_samples:
            msg = (
                f"{labels.origin} has {labels.values.size} labels for {n_samples} "
                "samples. Give it an id column when the views have one; a first line "
                "that is no header needs header=False."
            )
            raise DatasetError(msg)
        for name, label in zip(names, labels.values.tolist(), strict=True):
            if classes.setdefault(name, label) != label:
                row = f"the sample in row {name + 1}" if by_position else ""
                msg = (
                    f"{labels.origin} calls {row or f'sample {name!r}'} {label!r}, "
                    f"another file calls it {classes[name]!r}."
                )
                raise DatasetError(msg)
    unknown = [name for name in samples if name not in classes]
    if unknown:
        msg = (
            f"{len(unknown)} sample(s) have no label, first {unknown[0]!r}. "
            "Add them to the labels, or leave labels= out."
        )
        raise DatasetError(msg)
    return np.array([classes[name] for name in samples], dtype=np.str_)


def encode_labels(labels: TextArray) -> tuple[IntArray, tuple[str, ...]]:
    """Codes 0, 1, ... and the class names they stand for, numbers in their order."""
    names, codes = np.unique(labels, return_inverse=True)
    try:
        order = np.argsort(names.astype(np.float64), kind="stable")
    except ValueError:
        order = np.arange(names.size)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return rank[codes].astype(np.int64), tuple(names[order].tolist())


def _index(
    origin: str, ids: Any, *, n_rows: int | None = None, first_row: int = 1
) -> Any:
    """The samples as an Index of different names; `first_row` is for messages."""
    import pandas as pd

    index = pd.Index(ids, dtype=object, tupleize_cols=False)
    nameless, twice = index.isna() | (index == ""), index.duplicated()
    msg = ""
    if n_rows not in (None, index.size):
        msg = f"{origin} has {index.size} sample ids for {n_rows} rows."
    elif nameless.any():
        row = int(nameless.argmax()) + first_row
        msg = f"{origin}: the sample in row {row} has no id."
    elif twice.any():
        row = int(twice.argmax())
        first = index.tolist().index(index[row])
        msg = (
            f"{origin}: sample id {index[row]!r} occurs twice, in rows "
            f"{first + first_row} and {row + first_row}. Ids must be unique."
        )
    if msg:
        raise DatasetError(msg)
    return index


def _common_samples(origins: list[str], indices: list[Any], how: Alignment) -> Any:
    """Samples of all views in the order of the first, or of any by first appearance."""
    target = indices[0]
    for index in indices[1:]:
        merge = target.intersection if how == "intersection" else target.union
        target = merge(index, sort=False)
    if not target.size:
        pairs = zip(origins, indices, strict=True)
        starts = [f"{origin} has {index[:1].tolist()}" for origin, index in pairs]
        msg = f"No sample id occurs in all views; the first are: {', '.join(starts)}."
        raise DatasetError(msg)
    return target


def _check_same_rows(views: Sequence[SourceView]) -> None:
    rows = [view.values.shape[0] for view in views]
    if len(set(rows)) == 1:
        return
    shapes = "; ".join(f"{view.origin}: {view.values.shape}" for view in views)
    if len({view.values.shape[1] for view in views}) == 1:
        hint = "The column counts agree: transpose the views so that samples are rows."
    elif all(view.ids is not None for view in views):
        hint = (
            "Pass align='intersection' to keep the common samples, or "
            "align='missing' to keep all."
        )
    else:
        hint = "Samples must be rows, and every view needs the same ones."
    msg = f"Views have different numbers of rows ({shapes}). {hint}"
    raise DatasetError(msg)


def _index_of(view: SourceView) -> Any:
    return _index(view.origin, view.ids, n_rows=view.values.shape[0])


def _check_same_ids(first: SourceView, expected: Any, other: SourceView) -> None:
    assert first.ids is not None
    assert other.ids is not None
    if np.array_equal(first.ids, other.ids):
        return
    index = _index_of(other)
    row = int((index != expected).argmax())
    same = index.symmetric_difference(expected, sort=False).empty
    trouble = "the same samples in another order" if same else "other samples"
    msg = (
        f"{other.origin} has {trouble} than {first.origin}: row {row + 1} is "
        f"{index[row]!r}, not {expected[row]!r}. Pass align='intersection' to keep the "
        "common samples in the order of the first view, or align='missing' to keep all."
    )
    raise DatasetError(msg)


# Frames in memory


def align_views(
    views: Mapping[str, Any] | Sequence[Any],
    *,
    align: Literal["intersection", "missing"] = "intersection",
    ids: str | None = None,
) -> tuple[Any, list[Any]]:
    """Bring views in memory to the same samples in the same order.

    Parameters
    ----------
    views : list, tuple or dict of frames
        pandas or polars frames, or AnnData objects, one row per sample.
    align : {"intersection", "missing"}, default="intersection"
        Keep the samples that all views have, in the order of the first view; or keep
        all, by first appearance, with a row of NaN (null in polars) where a view lacks
        the sample.
    ids : str, default=None
        The column of the frames that names the samples; it leaves the views. None means
        the index of a pandas frame; a polars frame has none. An AnnData always goes by
        its ``obs_names``.

    Returns
    -------
    aligned : list or dict of frames
        The views, of the kind they came in. Pandas frames have the samples as index.
    sample_ids : list
        What the samples are called, one per row.

    Raises
    ------
    DatasetError
        When samples have no names or the same name twice, or no sample is common.

    Examples
    --------
    >>> import pandas as pd
    >>> from manyview.datasets import align_views
    >>> heights = pd.DataFrame({"m": [1.8, 1.6]}, index=["ann", "bob"])
    >>> ages = pd.DataFrame({"years": [30, 40, 50]}, index=["bob", "cy", "ann"])
    >>> (first, second), people = align_views([heights, ages])
    >>> second["years"].to_list(), people
    ([50, 30], ['ann', 'bob'])
    """
    if align not in {"intersection", "missing"}:
        msg = f"align={align!r} is unknown; expected 'intersection' or 'missing'."
        raise DatasetError(msg)
    if not views:
        msg = "views is empty; pass at least one frame."
        raise DatasetError(msg)
    named = views
    if not isinstance(named, Mapping):
        named = {f"view{v}": view for v, view in enumerate(named)}
    split = [_split_ids(name, view, ids) for name, view in named.items()]
    origins = [f"View {name!r}" for name in named]
    indices = [
        _index(origin, own, first_row=0)
        for origin, (_, own) in zip(origins, split, strict=True)
    ]
    samples = _common_samples(origins, indices, align)
    target = samples.tolist()
    aligned = {
        name: _take_frame(name, view, index.get_indexer(samples), target)
        for name, (view, _), index in zip(named, split, indices, strict=True)
    }
    if isinstance(views, Mapping):
        return aligned, target
    return list(aligned.values()), target


def _split_ids(name: str, view: Any, column: str | None) -> tuple[Any, list[Any]]:
    """A view without its ids, and the ids."""
    is_annotated = hasattr(view, "obs_names")
    if not is_annotated and not hasattr(view, "columns"):
        msg = (
            f"View {name!r} is a {type(view).__name__}, whose rows have no names. Pass "
            "pandas or polars frames."
        )
        raise DatasetError(msg)
    if is_annotated:
        ids = list(view.obs_names)
    elif column is not None:
        if column not in view.columns:
            msg = f"View {name!r} has no column {column!r}, which ids= names."
            raise DatasetError(msg)
        ids = view[column].to_list()
        is_pandas = hasattr(view, "iloc")
        view = view.drop(columns=column) if is_pandas else view.drop(column)
    elif hasattr(view, "index"):
        ids = list(view.index)
    else:
        msg = f"View {name!r} has no index. Name the column with the samples by ids=."
        raise DatasetError(msg)
    return view, ids


def _take_frame(name: str, view: Any, rows: IntArray, ids: list[Any]) -> Any:
    """Rows of a view, NaN where there is none."""
    absent = rows < 0
    if hasattr(view, "obs_names"):
        if absent.any():
            msg = (
                f"View {name!r} is an AnnData that lacks sample "
                f"{ids[int(absent.argmax())]!r}. Use align='intersection', or a "
                "MuData, which knows such samples."
            )
            raise DatasetError(msg)
        return view[rows]
    if hasattr(view, "iloc"):
        # Row -1 is not there and comes back as NaN.
        taken = view.set_axis(range(len(view)), axis=0).reindex(rows)
        return taken.set_axis(ids, axis=0)
    import polars as pl

    places = [None if gone else row for row, gone in zip(rows, absent, strict=True)]
    return view.select(pl.all().gather(pl.Series(places, dtype=pl.UInt32)))
