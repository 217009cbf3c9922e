"""Bring views to the same samples in the same order, from files and in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
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
    all_ids = [view.ids for view in views if view.ids is not None]
    for view, ids in zip(named, all_ids, strict=True):
        _check_ids(view.origin, ids, view.values.shape[0])
    if how == "strict" and samples is None:
        _check_same_rows(views)
        for other, ids in zip(named[1:], all_ids[1:], strict=True):
            _check_same_ids(named[0].origin, all_ids[0], other.origin, ids)
        return tuple(v.values for v in views), all_ids[0] if named else None
    nameless = [view.origin for view in views if view.ids is None]
    if nameless:
        msg = (
            f"align={how!r} needs sample ids in every view, and {nameless[0]} has "
            "none. Name its id column with ids=, or use align='strict'."
        )
        raise DatasetError(msg)
    rows = [
        _row_of(view.origin, ids.tolist(), 1)
        for view, ids in zip(views, all_ids, strict=True)
    ]
    target = _common_samples(rows, how)
    if samples is not None and how != "intersection":
        known = {name for own in rows for name in own}
        target = [name for name in samples.tolist() if name in known]
        _row_of(views[0].origin, target, 1)
    if not target:
        starts = (
            f"{view.origin} starts with {next(iter(own))!r}"
            for view, own in zip(views, rows, strict=True)
        )
        msg = f"No sample id occurs in all views: {', '.join(starts)}."
        raise DatasetError(msg)
    values = tuple(
        take_rows(view.values, np.array([own.get(name, -1) for name in target]))
        for view, own in zip(views, rows, strict=True)
    )
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
    if ids is None or nameless:
        return _labels_by_position(found, n_samples)
    by_id: dict[str, str] = {}
    for labels in found:
        assert labels.ids is not None
        _check_ids(labels.origin, labels.ids, labels.values.size)
        for name, label in zip(
            labels.ids.tolist(), labels.values.tolist(), strict=True
        ):
            if by_id.setdefault(name, label) != label:
                msg = (
                    f"{labels.origin} calls sample {name!r} {label!r}, "
                    f"another file calls it {by_id[name]!r}."
                )
                raise DatasetError(msg)
    unknown = [name for name in ids.tolist() if name not in by_id]
    if unknown:
        msg = (
            f"{len(unknown)} sample(s) have no label, first {unknown[0]!r}. "
            "Add them to the labels, or leave labels= out."
        )
        raise DatasetError(msg)
    return np.array([by_id[name] for name in ids.tolist()], dtype=np.str_)


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


def _labels_by_position(found: Sequence[SourceLabels], n_samples: int) -> TextArray:
    first = found[0]
    for labels in found:
        if labels.values.size != n_samples:
            msg = (
                f"{labels.origin} has {labels.values.size} labels for {n_samples} "
                "samples. Give it an id column when the views have one; a first line "
                "that is no header needs header=False."
            )
            raise DatasetError(msg)
        differs = np.flatnonzero(labels.values != first.values)
        if differs.size:
            msg = (
                f"{labels.origin} and {first.origin} have different labels in row "
                f"{differs[0] + 1}."
            )
            raise DatasetError(msg)
    return first.values


def _check_ids(origin: str, ids: TextArray, n_rows: int) -> None:
    if ids.size != n_rows:
        msg = f"{origin} has {ids.size} sample ids for {n_rows} rows."
        raise DatasetError(msg)
    # Mostly in order, so that sorting takes a tenth of the time of a dictionary.
    ordered = np.sort(ids, kind="stable")
    if (ordered[1:] == ordered[:-1]).any() or (ordered[:1] == "").any():
        _row_of(origin, ids.tolist(), 1)


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


def _check_same_ids(
    first_origin: str, first: TextArray, origin: str, ids: TextArray
) -> None:
    differs = np.flatnonzero(first != ids)
    if not differs.size:
        return
    row = differs[0]
    same_set = not np.setxor1d(first, ids).size
    trouble = "the same samples in another order" if same_set else "other samples"
    msg = (
        f"{origin} has {trouble} than {first_origin}: row {row + 1} is "
        f"{str(ids[row])!r}, not {str(first[row])!r}. Pass align='intersection' to "
        "keep the common samples in the order of the first view, or align='missing' "
        "to keep all."
    )
    raise DatasetError(msg)


def _common_samples(all_ids: Sequence[Collection[Any]], how: Alignment) -> list[Any]:
    """Samples of all views in the order of the first, or of any by first appearance."""
    if how == "missing":
        return list(dict.fromkeys(name for ids in all_ids for name in ids))
    first, *others = all_ids
    common = set(first).intersection(*others)
    return [name for name in first if name in common]


def _row_of(origin: str, ids: Iterable[Any], first_row: int) -> dict[Any, int]:
    """Rows by sample; messages count them from `first_row` on."""
    row_of: dict[Any, int] = {}
    for row, name in enumerate(ids):
        # NaN alone differs from itself.
        if name is None or name != name or name == "":
            msg = f"{origin}: the sample in row {row + first_row} has no id."
            raise DatasetError(msg)
        if row_of.setdefault(name, row) != row:
            msg = (
                f"{origin}: sample id {name!r} occurs twice, in rows "
                f"{row_of[name] + first_row} and {row + first_row}. Ids must be unique."
            )
            raise DatasetError(msg)
    return row_of


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
    named = views
    if not isinstance(named, Mapping):
        named = {f"view{v}": view for v, view in enumerate(named)}
    split = {name: _split_ids(name, view, ids) for name, view in named.items()}
    rows = {n: _row_of(f"View {n!r}", own, 0) for n, (_, own) in split.items()}
    if not rows:
        msg = "views is empty; pass at least one frame."
        raise DatasetError(msg)
    target = _common_samples(list(rows.values()), align)
    if not target:
        msg = f"No sample is in all of the {len(rows)} views; look at their ids."
        raise DatasetError(msg)
    aligned = {
        name: _take_frame(name, view, [rows[name].get(i) for i in target], target)
        for name, (view, _) in split.items()
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


def _take_frame(name: str, view: Any, rows: list[int | None], ids: list[Any]) -> Any:
    """Rows of a view, NaN where there is none."""
    if hasattr(view, "obs_names"):
        if None in rows:
            lacking = ids[rows.index(None)]
            msg = (
                f"View {name!r} is an AnnData that lacks sample {lacking!r}. Use "
                "align='intersection', or a MuData, which knows such samples."
            )
            raise DatasetError(msg)
        return view[rows]
    if hasattr(view, "iloc"):
        numbered = view.set_axis(range(len(view)), axis=0)
        # A row that is not there comes back as NaN.
        taken = numbered.reindex([-1 if row is None else row for row in rows])
        return taken.set_axis(ids, axis=0)
    import polars as pl

    return view.select(pl.all().gather(pl.Series(rows, dtype=pl.UInt32)))
