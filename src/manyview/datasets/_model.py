"""What every loader, reader and generator of this package returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from manyview._typing import IntArray
from manyview.exceptions import DatasetError

View: TypeAlias = npt.NDArray[Any] | csr_array


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class MultiViewData:
    """Several views of the same samples.

    Parameters
    ----------
    name : str
        Short name of the data set.
    views : tuple of {ndarray, csr_array} of shape (n_samples, n_features_v)
        One matrix per view, samples in rows, in the same order; an estimator takes
        ``list(data.views)``. A sample that a view lacks is a row of NaN; in a sparse
        view, a row whose stored entries are all NaN.
    view_names : tuple of str
        One name per view.
    target : ndarray of shape (n_samples,), default=None
        Ground-truth classes 0, 1, ..., for scoring only.
    target_names : tuple of str, default=()
        ``target_names[c]`` is what the source calls class ``c``.
    description : str, default=""
        What the data is.
    source : str, default=""
        Where it comes from.
    license : str, default=""
        The terms it may be used under.
    sample_ids : ndarray of str of shape (n_samples,), default=None
        Names of the samples, when the source has them.
    feature_names : tuple of tuple of str, default=()
        Names of every view's features, when the source has any; the features of a
        view without names are numbered from 0.
    """

    name: str
    views: tuple[View, ...]
    view_names: tuple[str, ...]
    target: IntArray | None = None
    target_names: tuple[str, ...] = ()
    description: str = ""
    source: str = ""
    license: str = ""
    sample_ids: npt.NDArray[np.str_] | None = None
    feature_names: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        """Refuse parts that do not fit together."""
        if len(self.views) != len(self.view_names) or not self.views:
            msg = (
                f"{len(self.view_names)} view names were given for {len(self.views)} "
                "views; at least one view and one name per view are needed."
            )
            raise DatasetError(msg)
        named = tuple(len(names) for names in self.feature_names)
        widths = tuple(view.shape[1] for view in self.views)
        if named and named != widths:
            msg = (
                f"feature_names has {named} names for views of {widths} features; "
                "one name per feature is needed."
            )
            raise DatasetError(msg)
        rows = {"view " + repr(n): v.shape[0] for n, v in self._named_views()}
        if self.target is not None:
            rows["target"] = self.target.shape[0]
        if self.sample_ids is not None:
            rows["sample_ids"] = self.sample_ids.shape[0]
        if len(set(rows.values())) > 1:
            counts = ", ".join(f"{part}: {count}" for part, count in rows.items())
            msg = f"All parts must have one row per sample; rows are {counts}."
            raise DatasetError(msg)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.views[0].shape[0])

    @property
    def n_views(self) -> int:
        """Number of views."""
        return len(self.views)

    def _named_views(self) -> list[tuple[str, View]]:
        return list(zip(self.view_names, self.views, strict=True))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {v.shape[1]}" for name, v in self._named_views())
        return f"MultiViewData({self.name!r}, {self.n_samples} samples, views: {sizes})"
