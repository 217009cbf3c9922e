"""What the k-means family shares: the state of a run, and its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from manyview._results import ExplainingResult
from manyview._rows import Rows
from manyview._solvers._cluster_sums import cluster_sums
from manyview._solvers._history import History
from manyview._solvers._local import LocalSamples
from manyview._solvers._nearest import nearest_by_distance
from manyview._solvers._nsmvc import unexplained
from manyview._solvers._start import Start
from manyview._solvers._state import SampleState
from manyview._typing import BoolArray, FloatArray, IntArray

# Squared distances carry about sixteen digits, so a distance below this share of its
# view's spread is rounding; weights of the form 1 / e stop growing there.
SMALLEST_DISTANCE = 1e-8


@dataclass(frozen=True, kw_only=True, slots=True)
class CentroidResult(ExplainingResult):
    """One run of a method of the k-means family.

    centers : per view (n_clusters, n_features_v), in scaled units.
    view_weights : (n_views,), they add up to 1.
    score_weights : (n_views,), factors of the views' distances when a sample, of the
    fit or a new one, is assigned to a cluster.
    """

    centers: tuple[FloatArray, ...]
    view_weights: FloatArray
    score_weights: FloatArray


class CentroidRun:
    """State of one run.

    labels : (n_samples,); centers : per view (n_clusters, n_features_v).
    losses : (n_views, n_samples), squared distances to the samples' own centres.
    takes_part : (n_views, n_samples), False where a sample lacks a view, and
    throughout a constant view, in which all distances are rounding.
    informative : (n_views,), views in which any sample takes part.
    floors : (n_views,), the smallest distance that can be told from zero.
    """

    def __init__(self, views: tuple[Rows, ...], start: Start) -> None:
        self.views = views
        self.centers = start.centers
        self.n_clusters = len(start.centers[0])
        state = SampleState.begin(start.labels, len(views))
        self._samples = LocalSamples(views, state, self.n_clusters)
        scatter = self._samples.scatter
        self.takes_part: BoolArray = np.stack(
            [view.present & (view.scatter > 0.0) for view in views]
        )
        self.losses: FloatArray = np.zeros(self.takes_part.shape)
        self.informative: BoolArray = np.asarray(self.takes_part.any(axis=1))
        counts = np.maximum(self.takes_part.sum(axis=1), 1)
        spread = np.where(self.informative, np.sqrt(scatter / counts), 1.0)
        self.floors = SMALLEST_DISTANCE * spread
        self._loss_floors = self.floors * counts

    @property
    def labels(self) -> IntArray:
        return self._samples.labels

    def distances(self) -> FloatArray:
        """(n_views, n_samples), e_vi: distances to the samples' own centres.

        A distance that cannot be told from zero is zero: thresholds are distances of
        samples, and one made of rounding would let rounding select.
        """
        distances = np.sqrt(self.losses)
        return np.where(distances < self.floors[:, None], 0.0, distances)

    def per_view(
        self, values: FloatArray, summary: Callable[[FloatArray], float], default: float
    ) -> FloatArray:
        """(n_views, 1), of the values (n_views, n_samples) of samples that take part.

        default : for a view in which none does.
        """
        found = np.full((len(values), 1), default)
        for v in np.flatnonzero(self.informative):
            found[v] = summary(values[v, self.takes_part[v]])
        return found

    def safe(self, distances: FloatArray) -> FloatArray:
        """Distances that may be divided by."""
        return np.asarray(np.maximum(distances, self.floors[:, None]))

    def safe_totals(self, totals: FloatArray) -> FloatArray:
        """(n_views,) sums of distances that may be divided by."""
        return np.asarray(np.maximum(totals, self._loss_floors))

    def root_weights(self, totals: FloatArray) -> FloatArray:
        """(n_views,), a_v: slopes of ``sqrt(h_v)`` at summed distances h_v.

        A view in which nobody takes part gets no weight.
        """
        return np.where(self.informative, 0.5 / np.sqrt(self.safe_totals(totals)), 0.0)

    def step(self, weights: FloatArray) -> int:
        """Centroid step, then assignment step; returns how many labels moved.

        weights : (n_views, n_samples), s_vi; those that take no part count as 0.
        """
        weights = np.where(self.takes_part, weights, 0.0)
        sums = cluster_sums(self.views, self.labels, tuple(weights), self.n_clusters)
        self.centers = sums.means(self.centers)
        return self.assign(weights)

    def assign(self, weights: FloatArray) -> int:
        """Move every sample to the cluster of least weighted squared distance.

        The majorizing step with all exponents at 1 is exactly that. Losses follow the
        new labels. Returns how many labels moved.
        """
        self._samples.weigh(np.where(self.takes_part, weights, 0.0))
        ones = np.ones(len(self.views))
        moves = self._samples.sweep_at_once(self.centers, ones, ones, self.losses)
        self.losses *= self.takes_part
        return moves.n_moved

    def measure(self) -> None:
        """Take the losses around the current centres."""
        self._samples.measure(self.centers)
        losses = self._samples.state.losses
        assert losses is not None
        self.losses = losses * self.takes_part

    def result(
        self,
        history: History,
        view_weights: FloatArray,
        *,
        converged: bool,
        nearest: Callable[..., IntArray] = nearest_by_distance,
        exponent: float = 1.0,
    ) -> CentroidResult:
        """Result of the run; `view_weights` are normalised to add up to 1.

        The iterations assign by weights that bound the objective around the labels of
        the iteration before, so a sample may stay in a cluster although another one is
        nearer. In the end every sample goes to the `nearest` cluster by the view
        weights, raised to an exponent: the score that new samples are given.
        """
        total = float(view_weights.sum())
        if total == 0.0:
            view_weights, total = np.ones(len(self.views)), float(len(self.views))
        score_weights = (view_weights / total) ** exponent
        self.labels[:] = nearest(self.views, self.centers, score_weights)
        return CentroidResult(
            labels=self.labels,
            **history.fields(converged=converged),
            centers=self.centers,
            view_weights=view_weights / total,
            score_weights=score_weights,
            unexplained=unexplained(self._samples, self.centers),
        )
