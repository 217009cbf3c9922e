"""Read annotated single-cell files: h5ad (one modality) and h5mu (several)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from manyview._annotated import Pick, pick_matrices
from manyview._names import feature_names
from manyview.datasets._guards import clean_values, import_extra
from manyview.datasets._hdf5 import open_hdf5, total_bytes
from manyview.datasets._source import (
    ReadOptions,
    Source,
    SourceLabels,
    SourceView,
    TextArray,
    as_text,
    text_array,
)
from manyview.exceptions import DatasetError, ViewError

OMICS = frozenset({".h5ad", ".h5mu"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A modality, or all of the file: its group, and what `obs` says of samples."""

    origin: str
    group: Any
    obs: Any
    ids: TextArray


def read_omics(path: Path, options: ReadOptions) -> Source:
    """Read the chosen matrices, the sample names and a column of `obs` as labels."""
    read_elem = import_extra("anndata.io", "omics", path).read_elem

    def open_part(origin: str, group: Any) -> Part:
        obs = read_elem(group["obs"])
        cells = [str(name).strip() for name in obs.index]
        ids = text_array(cells, f"Names in {origin}", options.budget)
        return Part(origin=origin, group=group, obs=obs, ids=ids)

    with open_hdf5(path, "an annotated HDF5 file") as content:
        options.budget.take(path, total_bytes(content))
        groups = _modalities(path, content, options)
        # The whole file is the part None; only in an h5mu it may be without `obs`.
        parts: dict[str | None, Part] = {}
        if groups is None or "obs" in content:
            parts[None] = open_part(str(path), content)
        for name, group in (groups or {}).items():
            parts[name] = open_part(f"{path}, modality {name!r}", group)
        views = [
            _read_view(pick, parts[pick.modality], read_elem, options)
            for pick in _picks(path, groups, options)
        ]
        if groups is None and len(views) == 1 and not options.several_views:
            # A list of files goes by the names of the files.
            views = [replace(views[0], name=path.stem)]
        labels = (_labels(part, options) for part in parts.values())
        return Source(
            views=tuple(views),
            labels=next((found for found in labels if found is not None), None),
            samples=parts[None].ids if groups and None in parts else None,
        )


def _modalities(
    path: Path, content: Any, options: ReadOptions
) -> dict[str, Any] | None:
    """Groups of the modalities that were chosen, or of all; None in an h5ad."""
    if "mod" not in content:
        if options.variables is not None:
            msg = (
                f"{path} has no modalities for variables= to choose; choose its "
                "matrices with use_rep= and layer=."
            )
            raise DatasetError(msg)
        return None
    modalities = content["mod"]
    # Groups come back sorted by name; mudata keeps the order of the user.
    names = [str(name) for name in modalities.attrs.get("mod-order", list(modalities))]
    options.check_variables(path, "modality", names)
    return {name: modalities[name] for name in options.variables or names}


def _picks(
    path: Path, groups: dict[str, Any] | None, options: ReadOptions
) -> tuple[Pick, ...]:
    try:
        names = None if groups is None else list(groups)
        return pick_matrices(names, options.use_rep, options.layer)
    except ViewError as error:
        msg = f"{path}: {error}"
        raise DatasetError(msg) from error


def _read_view(
    pick: Pick, part: Part, read_elem: Callable[[Any], Any], options: ReadOptions
) -> SourceView:
    matrix = read_elem(_stored(pick, part))
    features = feature_names(matrix)
    if pick.slot != "obsm":
        features = tuple(str(name) for name in read_elem(part.group["var"]).index)
    if hasattr(matrix, "to_numpy"):
        matrix = matrix.to_numpy()
    if not isinstance(matrix, np.ndarray):
        options.budget.take_sparse(part.origin, *matrix.shape)
    return SourceView(
        name=pick.view,
        origin=part.origin,
        values=clean_values(matrix, part.origin),
        ids=part.ids,
        feature_names=features,
    )


def _stored(pick: Pick, part: Part) -> Any:
    """The item of the file that a pick names."""
    if pick.slot == "X":
        if "X" in part.group:
            return part.group["X"]
        msg = f"{part.origin} has no matrix X. Choose one with use_rep= or layer=."
        raise DatasetError(msg)
    entries = part.group.get(pick.slot, {})
    if pick.key not in entries:
        msg = (
            f"{part.origin} has no {pick.slot}[{pick.key!r}]; {pick.slot} has "
            f"{sorted(entries)}. Choose with use_rep= (X or a key of obsm) and layer=."
        )
        raise DatasetError(msg)
    return entries[pick.key]


def _labels(part: Part, options: ReadOptions) -> SourceLabels | None:
    if options.labels is None or options.labels not in part.obs.columns:
        return None
    column = part.obs[options.labels]
    what = f"Labels of {part.origin}"
    if column.dtype.kind in "biuf":
        text = as_text(column.to_numpy(), what, options.budget)
    else:
        cells = np.where(column.isna(), "", column.astype(str)).tolist()
        text = text_array(cells, what, options.budget)
    return SourceLabels(origin=part.origin, values=text, ids=part.ids)
