"""Read annotated single-cell files: h5ad (one modality) and h5mu (several)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from manyview._annotated import matrix_of, pick_matrices
from manyview._extras import import_extra
from manyview._names import feature_names
from manyview.datasets._guards import check_hdf5
from manyview.datasets._source import (
    ReadOptions,
    Source,
    SourceLabels,
    SourceView,
    TextArray,
    text_array,
)
from manyview.exceptions import DatasetError


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A modality, or all of the file, with the matrices that an AnnData has."""

    origin: str
    X: Any
    layers: Any
    obsm: Any
    var: Any
    obs: Any
    ids: TextArray


def read_omics(path: Path, options: ReadOptions) -> Source:
    """Read the chosen matrices, the sample names and a column of `obs` as labels."""
    read_elem = import_extra("anndata.io", "omics", f"Reading {path}").read_elem
    import h5py

    def open_part(origin: str, group: Any) -> Part:
        obs = read_elem(group["obs"])
        return Part(
            origin=origin,
            X=group.get("X"),
            layers=group.get("layers", {}),
            obsm=group.get("obsm", {}),
            var=group.get("var"),
            obs=obs,
            ids=text_array(map(str, obs.index), f"Names in {origin}", options.budget),
        )

    with h5py.File(path, "r") as content:
        options.budget.take(path, check_hdf5(path, content))
        groups = _modalities(path, content, options)
        # The whole file is the part None; only in an h5mu it may be without `obs`.
        parts: dict[str | None, Part] = {}
        if groups is None or "obs" in content:
            parts[None] = open_part(str(path), content)
        for name, group in (groups or {}).items():
            parts[name] = open_part(f"{path}, modality {name!r}", group)
        names = None if groups is None else list(groups)
        views = []
        for pick in pick_matrices(names, options.use_rep, options.layer):
            part = parts[pick.modality]
            matrix = read_elem(matrix_of(part, pick))
            features = feature_names(matrix)
            if pick.slot != "obsm":
                features = tuple(str(name) for name in read_elem(part.var).index)
            if hasattr(matrix, "to_numpy"):
                matrix = matrix.to_numpy()
            if not isinstance(matrix, np.ndarray):
                options.budget.take_sparse(part.origin, *matrix.shape)
            view = SourceView(
                name=pick.view,
                origin=part.origin,
                values=matrix,
                ids=part.ids,
                feature_names=features,
            )
            views.append(view)
    if groups is None and len(views) == 1 and not options.several_views:
        # A list of files goes by the names of the files.
        views = [replace(views[0], name=path.stem)]
    return Source(
        views=tuple(views),
        labels=_labels(list(parts.values()), options),
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


def _labels(parts: list[Part], options: ReadOptions) -> SourceLabels | None:
    """The column of `obs`, of the first part that has it."""
    for part in parts:
        if options.labels in part.obs.columns:
            what = f"Labels of {part.origin}"
            text = text_array(part.obs[options.labels], what, options.budget)
            return SourceLabels(origin=part.origin, values=text, ids=part.ids)
    return None
