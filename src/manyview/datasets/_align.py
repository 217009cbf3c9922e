"""Bring the views of several files to the same samples in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

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
    for view in views:
        if view.ids is not None:
            _check_ids(view.origin, view.ids, view.values.shape[0])
    named = [view for view in views if view.ids is not None]
    nameless = [view for view in views if view.ids is None]
    if how != "strict" and nameless:
        msg = (
            f"align={how!r} needs sample ids in every view, and {nameless[0].origin} "
            "has none. Name its id column with ids=, or use align='strict'."
        )
        raise DatasetError(msg)
    if samples is not None and how != "intersection":
        found = {name for view in views for name in _ids(view)}
        ids = np.array([name for name in samples.tolist() if name in found])
        _check_ids(views[0].origin, ids, ids.size)
        return tuple(_take(view, ids) for view in views), ids
    if how == "strict":
        _check_same_rows(views)
        for other in named[1:]:
            _check_same_ids(named[0], other)
        return tuple(v.values for v in views), named[0].ids if named else None
    ids = _target_ids([view.ids for view in views if view.ids is not None], how)
    if not ids.size:
        msg = (
            f"No sample id occurs in all of {', '.join(v.origin for v in views)}; "
            f"{views[0].origin} starts with {_ids(views[0])[0]!r}, "
            f"{views[1].origin} with {_ids(views[1])[0]!r}."
        )
        raise DatasetError(msg)
    return tuple(_take(view, ids) for view in views), ids


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
    empty = np.flatnonzero(ids == "")
    if empty.size:
        msg = f"{origin}: the sample id in row {empty[0] + 1} is empty."
        raise DatasetError(msg)
    order = np.argsort(ids, kind="stable")
    again = np.flatnonzero(ids[order][1:] == ids[order][:-1])
    if again.size:
        first, second = order[again[0]], order[again[0] + 1]
        msg = (
            f"{origin}: sample id {str(ids[first])!r} occurs twice, in rows "
            f"{first + 1} and {second + 1}. Ids must be unique."
        )
        raise DatasetError(msg)


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


def _check_same_ids(first: SourceView, other: SourceView) -> None:
    assert first.ids is not None
    assert other.ids is not None
    differs = np.flatnonzero(first.ids != other.ids)
    if not differs.size:
        return
    row = differs[0]
    same_set = not np.setxor1d(first.ids, other.ids).size
    trouble = "the same samples in another order" if same_set else "other samples"
    msg = (
        f"{other.origin} has {trouble} than {first.origin}: row {row + 1} is "
        f"{str(other.ids[row])!r}, not {str(first.ids[row])!r}. Pass "
        "align='intersection' to keep the common samples in the order of the first "
        "view, or align='missing' to keep all."
    )
    raise DatasetError(msg)


def _target_ids(all_ids: Sequence[TextArray], how: Alignment) -> TextArray:
    """Common samples in the order of the first view, or all by first appearance."""
    if how == "intersection":
        common = set(all_ids[0].tolist()).intersection(*(i.tolist() for i in all_ids))
        names = [name for name in all_ids[0].tolist() if name in common]
    else:
        names = list(dict.fromkeys(name for ids in all_ids for name in ids.tolist()))
    return np.array(names, dtype=np.str_)


def _take(view: SourceView, ids: TextArray) -> View:
    """Rows of `view` in the order of `ids`, NaN where it lacks the sample."""
    row_of = {name: row for row, name in enumerate(_ids(view))}
    return take_rows(view.values, np.array([row_of.get(i, -1) for i in ids.tolist()]))


def _ids(view: SourceView) -> list[str]:
    assert view.ids is not None
    return [str(name) for name in view.ids.tolist()]
