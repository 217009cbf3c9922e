"""Which matrices of annotated data (AnnData, MuData, their files) are views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal, TypeAlias

import numpy as np

from manyview._arrays import as_array, stored_matrix, take_rows
from manyview._names import NamedView, feature_names
from manyview.exceptions import ViewError

Names: TypeAlias = str | Sequence[str]
UseRep: TypeAlias = "Names | Mapping[str, Names] | None"
Layer: TypeAlias = "str | Mapping[str, str] | None"
Slot: TypeAlias = Literal["X", "layers", "obsm"]

X = "X"


@dataclass(frozen=True, kw_only=True, slots=True)
class Pick:
    """A matrix that becomes a view.

    view : its name. modality : where it is; None in an AnnData by itself.
    slot, key : the matrix X, or an entry of layers or obsm.
    """

    view: str
    modality: str | None
    slot: Slot
    key: str

    @property
    def place(self) -> str:
        """Where the matrix is, for messages."""
        inside = "X" if self.slot == X else f"{self.slot}[{self.key!r}]"
        return inside if self.modality is None else f"{self.modality!r}, {inside}"


def pick_matrices(
    modalities: Sequence[str] | None, use_rep: UseRep, layer: Layer
) -> tuple[Pick, ...]:
    """One pick per view; `modalities` is None for an AnnData by itself."""
    all_reps = _by_modality("use_rep", use_rep, modalities)
    layers = _by_modality("layer", layer, modalities)
    picks: list[Pick] = []
    for modality, chosen in all_reps.items():
        reps = [chosen or X] if isinstance(chosen, str | None) else list(chosen)
        instead = layers[modality]
        for rep in reps:
            slot: Slot = "obsm" if rep != X else "layers" if instead else "X"
            key = instead if slot == "layers" else rep
            view = key if modality is None else modality
            if modality is not None and len(reps) > 1:
                view = f"{modality}:{key}"
            picks.append(Pick(view=view, modality=modality, slot=slot, key=key))
    if layer is not None and not any(pick.slot == "layers" for pick in picks):
        msg = (
            f"layer={layer!r} stands in for X, but use_rep={use_rep!r} takes no X. "
            "Leave one of them out."
        )
        raise ViewError(msg)
    names = [pick.view for pick in picks]
    if not names or len(set(names)) < len(names):
        msg = f"use_rep={use_rep!r} names {names} as views. Name each matrix once."
        raise ViewError(msg)
    return tuple(picks)


def annotated_views(
    data: Any, use_rep: UseRep = None, layer: Layer = None
) -> dict[str, NamedView]:
    """Views of an AnnData, a MuData or a dict of AnnData, by name.

    Modalities may have different samples: the others then lack the view.
    """
    modalities, samples = _split_modalities(data)
    by_modality = modalities is not None
    picks = pick_matrices(list(modalities) if by_modality else None, use_rep, layer)
    views = {}
    for pick in picks:
        own = modalities[pick.modality] if by_modality else data
        matrix = matrix_of(own, pick)
        array = as_array(matrix, pick.view)
        if array is None or array.shape[0] != len(own.obs_names):
            msg = f"{pick.place} is not a matrix with one row per sample."
            raise ViewError(msg)
        if by_modality:
            _check_unique(own)
            rows = own.obs_names.get_indexer(samples)
            if not np.array_equal(rows, np.arange(array.shape[0])):
                array = take_rows(array, rows)
        columns = feature_names(matrix if pick.slot == "obsm" else own)
        views[pick.view] = NamedView(array=array, columns=columns, index=samples)
    return views


def _split_modalities(data: Any) -> tuple[Any, Any]:
    """Modalities by name, None for an AnnData; and the names of all samples."""
    if isinstance(data, Mapping):
        modalities = {str(name): own for name, own in data.items()}
        for own in modalities.values():
            _check_unique(own)
        # By first appearance, as `align_views` does.
        names = (own.obs_names for own in modalities.values())
        return modalities, reduce(lambda all, more: all.union(more, sort=False), names)
    return getattr(data, "mod", None), data.obs_names


def _by_modality(
    name: str, option: Any, modalities: Sequence[str] | None
) -> dict[str | None, Any]:
    """The option of every modality, of an AnnData by itself that of None."""
    if not isinstance(option, Mapping):
        return dict.fromkeys([None] if modalities is None else modalities, option)
    if modalities is None:
        msg = (
            f"{name}={dict(option)!r} goes by modality, and an AnnData has none. "
            f"Pass names of its matrices."
        )
        raise ViewError(msg)
    unknown = [key for key in option if key not in modalities]
    if unknown:
        msg = f"{name} names modality {unknown[0]!r}; there are {list(modalities)}."
        raise ViewError(msg)
    return {modality: option.get(modality) for modality in modalities}


def matrix_of(own: Any, pick: Pick) -> Any:
    """The matrix that a pick names, of an AnnData or of a file that is laid out so."""
    if pick.slot == X and own.X is None:
        msg = f"{pick.place} is empty. Choose a matrix with use_rep= or layer=."
        raise ViewError(msg)
    entries = {X: own.X} if pick.slot == X else getattr(own, pick.slot)
    if pick.key not in entries:
        # Newer versions of anndata call X the layer None.
        there = sorted(key for key in entries if key is not None)
        msg = (
            f"There is no {pick.place}; {pick.slot} has {there}. Choose with "
            "use_rep= (X or a key of obsm) and layer=."
        )
        raise ViewError(msg)
    return stored_matrix(entries[pick.key])


def _check_unique(own: Any) -> None:
    if not own.obs_names.is_unique:
        twice = own.obs_names[own.obs_names.duplicated()][0]
        msg = (
            f"Sample {twice!r} occurs twice in obs_names. Make them unique, e.g. with "
            "obs_names_make_unique()."
        )
        raise ViewError(msg)
