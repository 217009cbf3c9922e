"""Lloyd's k-means on one view or on several at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from manyview._results import OnIteration
from manyview._rows import Rows
from manyview._solvers._history import History
from manyview._solvers._local import LocalSamples
from manyview._solvers._nsmvc import unexplained_shares
from manyview._solvers._start import Start
from manyview._solvers._state import SampleState
from manyview._solvers._weighted import CentroidResult


@dataclass(frozen=True, kw_only=True, slots=True)
class KMeansResult(CentroidResult):
    """One run of Lloyd's algorithm, compared with others by its inertia.

    inertia_share : inertia as a share of the summed scatter of all views.
    """

    inertia_share: float

    @property
    def criterion(self) -> float:
        return self.inertia_share


def solve_kmeans(
    views: tuple[Rows, ...],
    start: Start,
    *,
    max_iter: int,
    on_iteration: OnIteration | None = None,
) -> KMeansResult:
    """Lloyd's algorithm on the views side by side, from a given start.

    Squared distances add up over views, so this is k-means on the concatenation; a
    sample that lacks views is compared in the ones it has.
    """
    n_views, n_clusters = len(views), len(start.centers[0])
    state = SampleState.begin(start.labels, n_views)
    samples = LocalSamples(views, state, n_clusters)
    samples.select(np.full(n_views, np.inf), pace=1)
    centers, ones = start.centers, np.ones(n_views)
    history = History(on_iteration)
    for _ in range(max_iter):
        centers = samples.clusters.means(centers)
        view_losses = samples.view_losses(centers)
        outcome = samples.sweep(centers, view_losses, ones)
        history.add(float(outcome.view_losses.sum()), outcome.n_moved)
        if outcome.n_moved == 0:
            break
    scatter = float(samples.scatter.sum())
    return KMeansResult(
        labels=samples.labels,
        **history.fields(converged=outcome.n_moved == 0),
        centers=centers,
        view_weights=ones / n_views,
        score_weights=ones,
        unexplained=unexplained_shares(views, centers, samples.labels),
        inertia_share=history.objective / scatter if scatter > 0.0 else 0.0,
    )
