"""Read annotated single-cell files: h5ad (one view) and h5mu (one per modality)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from manyview.datasets._guards import (
    check_expansion,
    clean_values,
    import_extra,
    reading,
)
from manyview.datasets._source import (
    ReadOptions,
    Source,
    SourceLabels,
    SourceView,
    as_text,
    check_text,
)
from manyview.exceptions import DatasetError


def read_omics(path: Path, options: ReadOptions) -> Source:
    """Read the matrices X, the sample names and a column of `obs` as labels."""
    h5py = import_extra("h5py", "io", path)
    read_elem = import_extra("anndata.io", "omics", path).read_elem
    with reading(path, "an annotated HDF5 file"), h5py.File(path, "r") as content:
        _check_size(path, content)
        groups = _modalities(path, content, options)
        views, labels = [], None
        for name, group in groups.items():
            origin = str(path) if len(groups) == 1 else f"{path}, modality {name!r}"
            obs = read_elem(group["obs"])
            ids = as_text(np.array(obs.index, dtype=np.str_), f"Names in {origin}")
            if "X" not in group:
                msg = f"{origin} has no matrix X."
                raise DatasetError(msg)
            values = clean_values(read_elem(group["X"]), origin)
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
            labels = labels or _labels(origin, obs, options)
        if labels is None and "mod" in content:
            labels = _labels(str(path), read_elem(content["obs"]), options)
        return Source(views=tuple(views), labels=labels)


def _check_size(path: Path, content: Any) -> None:
    sizes: list[int] = []

    # Visits what is stored in this file; links elsewhere are not followed.
    def add(_: str, item: Any) -> None:
        sizes.append(getattr(item, "nbytes", 0))

    content.visititems(add)
    check_expansion(path, sum(sizes), path.stat().st_size)


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


def _labels(origin: str, obs: Any, options: ReadOptions) -> SourceLabels | None:
    if options.labels is None or options.labels not in obs.columns:
        return None
    column = obs[options.labels]
    text = np.where(column.isna(), "", column.astype(str))
    if column.dtype.kind in "biuf":
        text = as_text(column.to_numpy(), f"Labels of {origin}")
    return SourceLabels(
        origin=origin,
        values=check_text(text.astype(np.str_), f"Labels of {origin}"),
        ids=np.array(obs.index, dtype=np.str_),
    )
