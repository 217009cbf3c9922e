"""The imputer of a model as part of its file, see `_model_file.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from manyview._model_check import need
from manyview._views import ViewLayout
from manyview.exceptions import DatasetError
from manyview.impute import ViewImputer

Arrays = dict[str, npt.NDArray[Any]]


def pack_imputer(imputer: ViewImputer, arrays: Arrays) -> dict[str, Any]:
    """The imputer as JSON values; what it learned goes to `arrays`."""
    if not hasattr(imputer, "imputers_"):
        msg = "imputer is not fitted. Call its fit with the views of the model."
        raise DatasetError(msg)
    for v, rows in enumerate(imputer._learned):
        if rows is not None:
            arrays[f"imputer_{v}"] = rows
    return {
        "strategy": imputer.strategy,
        "n_neighbors": int(imputer.n_neighbors),
        "n_imputed": imputer.n_imputed_,
    }


def restore_imputer(content: dict[str, Any], arrays: Arrays) -> ViewImputer | None:
    """The imputer of a model with this content; None if it has none."""
    stored = content.get("imputer")
    if stored is None:
        return None
    imputer = ViewImputer(stored["strategy"], n_neighbors=stored["n_neighbors"])
    imputer._validate_params()
    layout = restore_layout(content["layout"])
    rows = [arrays.get(f"imputer_{v}") for v in range(len(layout.names))]
    for own, width in zip(rows, layout.n_features, strict=True):
        sound = own is None or (own.dtype.kind == "f" and own.shape[1:] == (width,))
        need(sound and not np.isinf(0 if own is None else own).any(), "imputer is odd")
        need(own is None or len(own) > 0, "imputer has no rows")
        need(own is not None or imputer.strategy == "knn", "imputer has no values")
    counts = stored["n_imputed"]
    need(isinstance(counts, dict), "n_imputed is no object")
    imputer._layout = layout
    imputer.view_names_ = list(layout.names)
    imputer.n_features_in_ = sum(layout.n_features)
    imputer.n_imputed_ = {str(name): int(count) for name, count in counts.items()}
    imputer._learn(rows)
    return imputer


def restore_layout(layout: dict[str, Any]) -> ViewLayout:
    """The layout of the views in a model file."""
    return ViewLayout(
        names=tuple(layout["names"]),
        n_features=tuple(layout["n_features"]),
        named=layout["named"],
        # Files of earlier versions have none.
        feature_names=tuple(
            None if names is None else tuple(names)
            for names in layout.get("feature_names", ())
        ),
    )
