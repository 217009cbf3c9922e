"""Which arrays a model file holds, and what they must be.

Kernels trust the shapes they are given: centres of another width would have them write
beyond their arrays. So arrays are held against a table before anything is made of them.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]

# All arrays, by name with "#" for a number: what they hold, and names of their sizes.
# "float" and "positive" are finite numbers of double precision, "any" may also be NaN.
ARRAYS = {
    "labels_": "int samples",
    "view_weights_": "float views",
    "unexplained_": "any scales",
    "score_weights": "float scales",
    "exponents_": "float views",
    "thresholds_": "float views",
    "view_losses_": "float views",
    "joined_pace_": "int views samples",
    "membership_": "float samples clusters",
    "outlier_score_": "float samples",
    "spread_temperature": "positive",
    "spread_typical": "float spaces clusters",
    "spread_deviation": "positive spaces",
    "history_stage": "int records",
    "history_iteration": "int records",
    "history_objective": "any records",
    "history_n_moved": "int records",
    "history_view_losses": "any records spaces",
    "history_exponents": "any records spaces",
    "history_n_selected": "int records spaces",
    "shift_#": "float scaled_#",
    "factor_#": "float scaled_#",
    "centers_#": "float clusters columns_#",
    "slopes": "float spaces",
    "graph_weights": "float views",
    "graph_eigenvalues": "float clusters",
    "embedding_shift_#": "float columns_#",
    "embedding_factor_#": "float columns_#",
    "diffusion_#": "float anchors_# coordinates",
    "widths_#": "positive neighborhoods anchors_#",
    "smallest_#": "positive neighborhoods",
    "maps_#": "float ends anchors_# clusters",
    "joint_maps_#": "float neighborhoods anchors_# clusters",
    "anchors_#": "float anchors_# features_#",
    "anchors_#_data": "float entries_#",
    "anchors_#_indices": "int entries_#",
    "anchors_#_indptr": "int pointers_#",
    "feature_names_in_": "text all_features",
    "imputer_#": "number rows_# features_#",
}
NUMBER = re.compile(r"(?<=_)\d+")
DTYPES = {"int": "iu", "text": "U", "number": "biuf"}


def check_arrays(stored: Arrays, sizes: dict[str, int]) -> Arrays:
    """The arrays that `ARRAYS` describes; ValueError if one of them is different.

    A size that is not known is that of the first array in the table which has it.
    """
    patterns = {name: NUMBER.sub("#", name) for name in stored}
    described = [name for name in stored if patterns[name] in ARRAYS]
    order = {pattern: place for place, pattern in enumerate(ARRAYS)}
    arrays = {}
    for name in sorted(described, key=lambda name: order[patterns[name]]):
        arrays[name] = array = stored[name]
        number = NUMBER.search(name)
        expected = ARRAYS[patterns[name]].replace("#", number[0] if number else "")
        kind, *names = expected.split()
        for size, length in zip(names, array.shape, strict=False):
            sizes.setdefault(size, length)
        shape = tuple(sizes.get(size) for size in names)
        dtype = array.dtype
        fits = dtype.kind in DTYPES[kind] if kind in DTYPES else dtype == np.float64
        need(
            fits and dtype.isnative and array.shape == shape and array.size > 0,
            f"{name} has type {dtype} and shape {array.shape}, expected {shape}",
        )
        finite = kind not in ("float", "positive") or np.isfinite(array).all()
        need(finite, f"{name} holds NaN or infinity")
        need(kind != "positive" or (array > 0.0).all(), f"{name} is not positive")
    return arrays


def check_characters(content: Any) -> None:
    """Refuse half a surrogate pair, which could be neither shown nor written."""
    json.dumps(content, ensure_ascii=False).encode("utf-8")


def need(condition: Any, trouble: str) -> None:
    """Raise ValueError, with what is wrong, unless the condition holds."""
    if not condition:
        raise ValueError(trouble)
