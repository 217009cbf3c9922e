"""What the k-means family shares: weighted centroids, weighted assignment, starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyview._numerics import _weighted as kernels
from manyview._results import ExplainingResult, IterationRecord, OnIteration
from manyview._rows import Rows, SparseRows
from manyview._solvers._nearest import nearest_by_distance
from manyview._solvers._start import (
    DrawStart,
    Start,
    start_kmeans_plusplus,
    start_random_labels,
)
from manyview._solvers._table import DistanceTable, sample_blocks
from manyview._typing import BoolArray, FloatArray, IntArray

# Squared distances carry about sixteen digits, so a distance below this share of its
# view's spread is rounding; weights of the form 1 / e stop growing there.
SMALLEST_DISTANCE = 1e-8


@dataclass(frozen=True, kw_only=True, slots=True)
class CentroidResult(ExplainingResult):
    """One run of a method of the k-means family.

    centers : per view (n_clusters, n_features_v), in scaled units.
    view_weights : (n_views,), each view's share of the say; they add up to 1.
    score_weights : (n_views,), what multiplies the distances of each view when a
    sample, one of the fit or a new one, is given its cluster.
    """

    centers: tuple[FloatArray, ...]
    view_weights: FloatArray
    score_weights: FloatArray


class History:
    """Records of a run, passed on as they come."""

    def __init__(self, on_iteration: OnIteration | None) -> None:
        self.records: list[IterationRecord] = []
        self._tell = on_iteration

    def add(
        self, *, stage: int, iteration: int, objective: float, n_moved: int
    ) -> None:
        record = IterationRecord(
            stage=stage, iteration=iteration, objective=objective, n_moved=n_moved
        )
        self.records.append(record)
        if self._tell is not None:
            self._tell(record)

    @property
    def objective(self) -> float:
        return self.records[-1].objective

    @property
    def change(self) -> float:
        """Relative change of the objective by the last iteration; inf after one."""
        if len(self.records) < 2:
            return np.inf
        before, after = (record.objective for record in self.records[-2:])
        return abs(before - after) / max(abs(before), np.finfo(np.float64).tiny)

    def settled(self, tol: float) -> bool:
        """Whether the run had come to rest: the objective, or at least the labels.

        Centres of plain distances may creep on for long after the last label moved;
        a limit that ends that costs nothing.
        """
        return self.change < tol or self.records[-1].n_moved == 0


class WeightedSamples:
    """State of one run: labels, centres and losses, worked on block by block.

    labels : (n_samples,); centers : per view (n_clusters, n_features_v).
    losses : (n_views, n_samples), squared distances to the samples' own centres.
    takes_part : (n_views, n_samples), False where a sample lacks a view, and
    throughout a constant view, which has nothing to say but rounding.
    informative : (n_views,), views in which anybody takes part.
    floors : (n_views,), the smallest distance that is told from zero.
    """

    def __init__(self, views: tuple[Rows, ...], start: Start) -> None:
        self.views = views
        self.labels = start.labels.astype(np.int32)
        self.centers = start.centers
        self.losses = np.zeros((len(views), len(self.labels)))
        self.takes_part = _taking_part(views)
        self.informative: BoolArray = np.asarray(self.takes_part.any(axis=1))
        counts = np.maximum(self.takes_part.sum(axis=1), 1)
        scatter = np.array([view.scatter for view in views])
        spread = np.where(self.informative, np.sqrt(scatter / counts), 1.0)
        self.floors = SMALLEST_DISTANCE * spread
        self._loss_floors = self.floors * counts
        self._blocks = sample_blocks(views)
        n_clusters = len(self.centers[0])
        self._table = DistanceTable(views, self._blocks[0].stop, n_clusters)

    @property
    def n_clusters(self) -> int:
        return len(self.centers[0])

    def distances(self) -> FloatArray:
        """(n_views, n_samples), e_vi: distances to the samples' own centres.

        What is not told from zero is zero: thresholds are distances of samples, and one
        made of rounding would let rounding select.
        """
        distances = np.sqrt(self.losses)
        return np.where(distances < self.floors[:, None], 0.0, distances)

    def safe(self, distances: FloatArray) -> FloatArray:
        """Distances that may be divided by."""
        return np.asarray(np.maximum(distances, self.floors[:, None]))

    def safe_totals(self, totals: FloatArray) -> FloatArray:
        """(n_views,) sums of distances that may be divided by."""
        return np.asarray(np.maximum(totals, self._loss_floors))

    def step(self, weights: FloatArray) -> int:
        """Centroid step, then assignment step; returns how many labels moved.

        weights : (n_views, n_samples), s_vi, of those that take part.
        """
        self.fit_centers(weights)
        return self.assign(weights)

    def fit_centers(self, weights: FloatArray) -> None:
        """CENT: centres become the weighted means of their samples."""
        self.centers = tuple(
            kernels.weighted_means(*self.sums(v, self.labels, weights[v]), centers)
            for v, centers in enumerate(self.centers)
        )

    def sums(
        self, v: int, labels: IntArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Weighted sums and masses of the clusters in view v.

        labels, weights : (n_samples,).
        """
        view = self.views[v]
        weights = np.where(self.takes_part[v], weights, 0.0)
        sums = np.zeros((self.n_clusters, view.n_features))
        for rows in self._blocks:
            block = self._table.read(v, rows)
            _add_weighted(view, block, labels[rows], weights[rows], sums)
        return sums, cluster_totals(labels, weights, self.n_clusters)

    def assign(self, weights: FloatArray) -> int:
        """ASSIGN: every sample to the cluster of least weighted squared distance.

        Losses follow the new labels.
        """
        weights = np.where(self.takes_part, weights, 0.0)
        prepared = [
            view.prepare(c) for view, c in zip(self.views, self.centers, strict=True)
        ]
        table, n_moved = self._table, 0
        for rows in self._blocks:
            table.load(rows, prepared)
            labels = self.labels[rows]
            before = labels.copy()
            pending = np.ones(len(labels), dtype=bool)
            while kernels.assign_weighted(
                table.distances,
                table.rounding,
                table.exact,
                weights[:, rows],
                pending,
                labels,
            ):
                table.refine(np.flatnonzero(pending))
            n_moved += int(np.count_nonzero(labels != before))
            for v, view in enumerate(self.views):
                out = self.losses[v, rows]
                view.losses(table.blocks[v], rows, prepared[v], labels, out)
        self.losses *= self.takes_part
        return n_moved

    def measure(self) -> None:
        """Losses around the present centres, labels as they are."""
        for v, view in enumerate(self.views):
            prepared = view.prepare(self.centers[v])
            for rows in self._blocks:
                block = self._table.read(v, rows)
                out = self.losses[v, rows]
                view.losses(block, rows, prepared, self.labels[rows], out)
        self.losses *= self.takes_part

    def result(
        self,
        history: History,
        view_weights: FloatArray,
        *,
        converged: bool,
        nearest: Callable[..., IntArray] = nearest_by_distance,
        exponent: float = 1.0,
    ) -> CentroidResult:
        """What the run has come to; `view_weights` are made to add up to 1.

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
        self.measure()
        scatter = np.array([view.scatter for view in self.views])
        left = self.losses.sum(axis=1) / np.where(self.informative, scatter, 1.0)
        return CentroidResult(
            labels=self.labels,
            objective=history.objective,
            n_iter=len(history.records),
            converged=converged,
            history=tuple(history.records),
            centers=self.centers,
            view_weights=view_weights / total,
            score_weights=score_weights,
            unexplained=np.where(self.informative, left, 1.0),
        )


def cluster_totals(
    labels: IntArray, weights: FloatArray, n_clusters: int
) -> FloatArray:
    """(n_clusters,), summed weights of the samples of each cluster."""
    totals = np.bincount(labels, weights=weights, minlength=n_clusters)
    return totals.astype(np.float64, copy=False)


def draw_start(
    init: str,
    views: tuple[Rows, ...],
    n_clusters: int,
    random_state: np.random.RandomState,
) -> Start:
    """The start named by the `init` parameter of the estimators."""
    draws: dict[str, DrawStart] = {
        "random": start_random_labels,
        "k-means++": start_kmeans_plusplus,
    }
    return draws[init](views, n_clusters, random_state)


def _present(view: Rows) -> BoolArray:
    if view.present is None:
        return np.ones(view.n_samples, dtype=bool)
    return view.present


def _taking_part(views: tuple[Rows, ...]) -> BoolArray:
    return np.stack([_present(view) & (view.scatter > 0.0) for view in views])


def _add_weighted(
    view: Rows,
    block: Any,
    clusters: IntArray,
    weights: FloatArray,
    out_sums: FloatArray,
) -> None:
    """Add the weighted rows of a block to their clusters' sums."""
    if isinstance(view, SparseRows):
        kernels.sparse_add_weighted_rows(
            *view.entries, block, clusters, weights, out_sums
        )
    else:
        kernels.add_weighted_rows(block, clusters, weights, out_sums)
