"""Bring frames to the same samples in the same order."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

from manyview.exceptions import DatasetError


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
    rows = {name: _row_of(name, found) for name, (_, found) in split.items()}
    if not rows:
        msg = "views is empty; pass at least one frame."
        raise DatasetError(msg)
    target = list(dict.fromkeys(name for found in rows.values() for name in found))
    if align == "intersection":
        target = [name for name in target if all(name in own for own in rows.values())]
    if not target:
        msg = f"No sample is in all of the {len(rows)} views; look at their ids."
        raise DatasetError(msg)
    aligned = {
        name: _take(name, view, [rows[name].get(i) for i in target], target)
        for name, (view, _) in split.items()
    }
    if isinstance(views, Mapping):
        return aligned, target
    return list(aligned.values()), target


def _split_ids(name: str, view: Any, column: str | None) -> tuple[Any, list[Any]]:
    """A view without its ids, and the ids."""
    if hasattr(view, "obs_names"):
        return view, list(view.obs_names)
    if not hasattr(view, "columns"):
        msg = (
            f"View {name!r} is a {type(view).__name__}, whose rows have no names. Pass "
            "pandas or polars frames."
        )
        raise DatasetError(msg)
    if column is not None:
        if column not in view.columns:
            msg = f"View {name!r} has no column {column!r}, which ids= names."
            raise DatasetError(msg)
        found = view[column].to_list()
        is_pandas = hasattr(view, "iloc")
        return view.drop(columns=column) if is_pandas else view.drop(column), found
    if not hasattr(view, "index"):
        msg = f"View {name!r} has no index. Name the column with the samples by ids=."
        raise DatasetError(msg)
    return view, list(view.index)


def _row_of(name: str, ids: Sequence[Hashable]) -> dict[Any, int]:
    """Row of every sample."""
    row_of: dict[Any, int] = {}
    for row, sample in enumerate(ids):
        # NaN, as only it differs from itself.
        if sample is None or sample != sample:
            msg = f"View {name!r}: the sample in row {row} has no id."
            raise DatasetError(msg)
        if row_of.setdefault(sample, row) != row:
            msg = (
                f"View {name!r}: sample id {sample!r} occurs twice, in rows "
                f"{row_of[sample]} and {row}. Ids must be unique."
            )
            raise DatasetError(msg)
    return row_of


def _take(name: str, view: Any, rows: list[int | None], ids: list[Any]) -> Any:
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
