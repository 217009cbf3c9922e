"""Clusterers whose labels come from eigenvectors."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, cast

from sklearn.exceptions import ConvergenceWarning

from manyview._results import SolverResult
from manyview.cluster._base import BaseMultiViewClusterer

if TYPE_CHECKING:
    from manyview._solvers._spectral import SpectralResult


class SpectralClusterer(BaseMultiViewClusterer):
    """Base of the methods that cluster an embedding."""

    _needs_every_view = True

    def _store(self, best: Any) -> None:
        super()._store(best)
        self.embedding_ = best.embedding

    def _warn_unless_converged(self, result: SolverResult) -> None:
        super()._warn_unless_converged(result)
        if not cast("SpectralResult", result).settled:
            msg = (
                f"The eigenvectors behind {type(self).__name__}'s labels are "
                "approximate: the eigensolver stopped at its iteration limit. The "
                "graph may be close to falling into more pieces than n_clusters; try "
                "another n_clusters, scale or number of neighbours."
            )
            warnings.warn(msg, ConvergenceWarning, stacklevel=4)
