"""Clusterers that need every sample in every view."""

from __future__ import annotations

from typing import Any

import numpy as np

from manyview._views import ViewSet
from manyview.cluster._base import BaseMultiViewClusterer
from manyview.exceptions import ViewError


class CompleteViewsClusterer(BaseMultiViewClusterer):
    """Base of the methods that compare all pairs of samples within each view."""

    def _check_views(self, X: Any, *, reset: bool) -> ViewSet:
        views = super()._check_views(X, reset=reset)
        for name, present in zip(views.names, views.present, strict=True):
            if not present.all():
                row = int(np.flatnonzero(~present)[0])
                msg = (
                    f"{type(self).__name__} needs every sample in every view, but row "
                    f"{row} of view {name!r} is missing (NaN throughout). Drop or "
                    "impute such rows, or use a method that takes them, e.g. NSMVC."
                )
                raise ViewError(msg)
        return views
