"""Read annotated single-cell files: h5ad (one modality) and h5mu (several)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from manyview._annotated import Pick, pick_matrices
from manyview._names import feature_names
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
from manyview.exceptions import DatasetError, ViewError

OMICS = frozenset({".h5ad", ".h5mu"})


def read_omics(path: Path, options: ReadOptions, budget: Budget) -> Source:
    """Read the chosen matrices, the sample names and a column of `obs` as labels."""
    read_elem = import_extra("anndata.io", "omics", path).read_elem
    with open_hdf5(path, "an annotated HDF5 file") as content:
        budget.take(path, total_bytes(content))
        groups = _modalities(path, content, options)
        names = list(groups) if "mod" in content else None
        try:
            picks = pick_matrices(names, options.use_rep, options.layer)
        except ViewError as error:
            msg = f"{path}: {error}"
            raise DatasetError(msg) from error
        tables = {name: read_elem(group["obs"]) for name, group in groups.items()}
        ids = {
            name: _sample_names(obs, f"Names in {_origin(path, content, name)}", budget)
            for name, obs in tables.items()
        }
        views = []
        for pick in picks:
            name = pick.modality or path.stem
            origin = _origin(path, content, name)
            matrix = read_elem(_stored(origin, groups[name], pick))
            features = feature_names(matrix)
            if pick.slot != "obsm":
                features = tuple(map(str, read_elem(groups[name]["var"]).index))
            # A list of files goes by the names of the files.
            alone = options.several_views or "mod" in content or len(picks) > 1
            views.append(
                SourceView(
                    name=pick.view if alone else path.stem,
                    origin=origin,
                    values=_values(matrix, origin, budget),
                    ids=ids[name],
                    feature_names=features,
                )
            )
        samples = None
        if "mod" in content and "obs" in content:
            tables = {"": read_elem(content["obs"]), **tables}
            samples = ids[""] = _sample_names(tables[""], f"Names in {path}", budget)
        labels = None
        for name, obs in tables.items():
            origin = _origin(path, content, name) if name else str(path)
            labels = labels or _labels(origin, obs, ids[name], options, budget)
        return Source(views=tuple(views), labels=labels, samples=samples)


def _modalities(path: Path, content: Any, options: ReadOptions) -> dict[str, Any]:
    if "mod" not in content:
        if options.variables is not None:
            msg = (
                f"{path} has no modalities for variables= to choose; choose its "
                "matrices with use_rep= and layer=."
            )
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


def _origin(path: Path, content: Any, name: str) -> str:
    return f"{path}, modality {name!r}" if "mod" in content else str(path)


def _sample_names(obs: Any, what: str, budget: Budget) -> TextArray:
    return text_array([str(name).strip() for name in obs.index], what, budget)


def _stored(origin: str, group: Any, pick: Pick) -> Any:
    """The item of the file that a pick names."""
    if pick.slot == "X":
        if "X" in group:
            return group["X"]
        msg = f"{origin} has no matrix X. Choose one with use_rep= or layer=."
        raise DatasetError(msg)
    entries = group.get(pick.slot, {})
    if pick.key not in entries:
        msg = (
            f"{origin} has no {pick.slot}[{pick.key!r}]; {pick.slot} has "
            f"{sorted(entries)}. Choose with use_rep= (X or a key of obsm) and layer=."
        )
        raise DatasetError(msg)
    return entries[pick.key]


def _values(matrix: Any, origin: str, budget: Budget) -> Any:
    if hasattr(matrix, "to_numpy"):
        matrix = matrix.to_numpy()
    if not isinstance(matrix, np.ndarray):
        budget.take_sparse(origin, *matrix.shape)
    return clean_values(matrix, origin)


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
