"""Read annotated single-cell files: h5ad (one view) and h5mu (one per modality)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from manyview.datasets._guards import Budget, clean_values, import_extra
from manyview.datasets._hdf5 import open_hdf5, total_bytes
from manyview.datasets._source import (
    ReadOptions,
    Source,
    SourceLabels,
    SourceView,
    TextArray,
    as_text,
    check_text,
    text_array,
)
from manyview.exceptions import DatasetError


def read_omics(path: Path, options: ReadOptions, budget: Budget) -> Source:
    """Read the matrices X, the sample names and a column of `obs` as labels."""
    read_elem = import_extra("anndata.io", "omics", path).read_elem
    with open_hdf5(path, "an annotated HDF5 file") as content:
        budget.take(path, total_bytes(content))
        groups = _modalities(path, content, options)
        views, labels = [], None
        for name, group in groups.items():
            origin = str(path) if len(groups) == 1 else f"{path}, modality {name!r}"
            obs = read_elem(group["obs"])
            ids = text_array(
                [str(name).strip() for name in obs.index], f"Names in {origin}", budget
            )
            if "X" not in group:
                msg = f"{origin} has no matrix X."
                raise DatasetError(msg)
            matrix = read_elem(group["X"])
            if not isinstance(matrix, np.ndarray):
                budget.take_sparse(origin, *matrix.shape)
            values = clean_values(matrix, origin)
            features = tuple(str(f) for f in read_elem(group["var"]).index)
            views.append(
                SourceView(
                    name=name,
                    origin=origin,
                    values=values,
                    ids=ids,
                    feature_names=features,
                )
            )
            labels = labels or _labels(origin, obs, ids, options, budget)
        if labels is None and options.labels is not None and "mod" in content:
            obs = read_elem(content["obs"])
            ids = text_array([str(name) for name in obs.index], str(path), budget)
            labels = _labels(str(path), obs, ids, options, budget)
        return Source(views=tuple(views), labels=labels)


def _modalities(path: Path, content: Any, options: ReadOptions) -> dict[str, Any]:
    if "mod" not in content:
        if options.variables is not None:
            msg = f"{path} has a single matrix; variables= does not apply."
            raise DatasetError(msg)
        return {path.stem: content}
    modalities = content["mod"]
    # Groups come back sorted by name; mudata keeps the order of the user.
    names = [str(name) for name in modalities.attrs.get("mod-order", list(modalities))]
    for name in options.variables or ():
        if name not in names:
            msg = f"{path} has no modality {name!r}; it has {names}."
            raise DatasetError(msg)
    return {name: modalities[name] for name in options.variables or names}


def _labels(
    origin: str, obs: Any, ids: TextArray, options: ReadOptions, budget: Budget
) -> SourceLabels | None:
    if options.labels is None or options.labels not in obs.columns:
        return None
    column = obs[options.labels]
    what = f"Labels of {origin}"
    if column.dtype.kind in "biuf":
        text = as_text(column.to_numpy(), what, budget)
    else:
        cells = np.where(column.isna(), "", column.astype(str)).tolist()
        text = text_array(cells, what, budget)
    return SourceLabels(origin=origin, values=check_text(text, what), ids=ids)
