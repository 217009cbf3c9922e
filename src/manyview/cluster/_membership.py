"""Soft membership and outlier scores, from the distances of samples to the centres.

Membership is a softmax of the fused distances. Its temperature is the spread of the
samples' distances to their own centres, so no labels are needed; docs/membership.md
says why, and how far it can be believed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from manyview._typing import FloatArray, IntArray

if TYPE_CHECKING:
    from manyview._rows import Rows

# The temperature is at least this share of the mean distance to all centres: below it,
# rounding would decide between centres that are equally near.
LEAST_TEMPERATURE = 1e-6
# Makes the median absolute deviation of a normal distribution its standard deviation.
NORMAL_MAD = 1.4826


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Spread:
    """What the samples of a fit say about how far members lie from their centres.

    temperature : scale of the fused distances in the softmax.
    typical : (n_spaces, n_clusters), median distance of a cluster's members to its
        centre in each space; that of all samples where a cluster has no members.
    deviation : (n_spaces,), robust standard deviation of the distances from `typical`.
    """

    temperature: float
    typical: FloatArray
    deviation: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Measured:
    """Distances of samples to the clusters.

    labels : (n_samples,), cluster of each sample.
    scores : (n_samples, n_clusters), fused distances; the label is the smallest.
    own : (n_spaces, n_samples), distance to the own centre in each space, NaN where
        the sample lacks it.
    about_mean : whether the spread is that of the distances less their mean. Most of a
        distance between features is noise that all centres are equally far from; how
        much it varies is what members differ by. A spectral embedding has no such
        noise, and the whole distance counts.
    """

    labels: IntArray
    scores: FloatArray
    own: FloatArray
    about_mean: bool

    def spread(self) -> Spread:
        """The spread of these samples."""
        # Imported here: the kernels load Numba, and importing manyview should not.
        from manyview._numerics._medians import spread_of_groups

        labels, n_clusters = self.labels, self.scores.shape[1]
        fused = self.scores[np.arange(len(labels)), labels]
        reference = fused.mean() if self.about_mean else 0.0
        temperature = float(np.sqrt(np.mean((fused - reference) ** 2)))
        floor = LEAST_TEMPERATURE * float(self.scores.mean())
        typical = np.empty((len(self.own), n_clusters))
        deviation = np.empty(len(self.own))
        for space, own in enumerate(self.own):
            everyone, middle, mean = spread_of_groups(own, labels, typical[space])
            # More than half of the samples may lie at their median: then their mean
            # deviation serves, and 1 where nothing deviates.
            found, small = (NORMAL_MAD * middle, mean), LEAST_TEMPERATURE * everyone
            deviation[space] = next((d for d in found if d > small), 1.0)
        return Spread(
            temperature=max(temperature, floor, np.finfo(np.float64).tiny),
            typical=typical,
            deviation=deviation,
        )

    def assess(self, spread: Spread, n_views: int) -> tuple[FloatArray, FloatArray]:
        """Membership and outlier scores by the spread of a fit.

        n_views : the first so many spaces belong to views.
        """
        return self.membership(spread), self.outlier_scores(spread, n_views)

    def membership(self, spread: Spread) -> FloatArray:
        """(n_samples, n_clusters), rows that add up to 1 and are largest at the label.

        It takes the place of the scores, which are as many numbers. A sample may have
        another label than the nearest cluster, if centres are equally near or the fit
        was stopped: its own cluster then gets the largest membership.
        """
        nearest: FloatArray = self.scores.min(axis=1, keepdims=True)
        membership = np.subtract(nearest, self.scores, out=self.scores)
        membership /= spread.temperature
        np.exp(membership, out=membership)
        membership /= membership.sum(axis=1, keepdims=True)
        odd = np.flatnonzero(membership.argmax(axis=1) != self.labels)
        if odd.size:
            part = membership[odd]
            rows, own = np.arange(odd.size), self.labels[odd]
            rest = 1.0 - part[rows, own]
            part[rows, own] = np.nextafter(part.max(axis=1), 2.0)
            largest = part[rows, own]
            part *= ((1.0 - largest) / rest)[:, None]
            part[rows, own] = largest
            membership[odd] = part
        return membership

    def outlier_scores(self, spread: Spread, n_views: int) -> FloatArray:
        """(n_samples,), how far out a sample lies in its views, on average.

        In each view, the distance to the own centre less the typical one, in robust
        standard deviations; the mean over the views that the sample has. A sample with
        none of these is measured in the other spaces.
        """
        typical = spread.typical[:, self.labels]
        standard = (self.own - typical) / spread.deviation[:, None]
        has = ~np.isnan(standard)
        of_view = np.arange(len(standard)) < n_views
        alone = ~has[:n_views].any(axis=0)
        counted = has & (of_view[:, None] | alone)
        sums = np.where(counted, standard, 0.0).sum(axis=0)
        return np.asarray(sums / counted.sum(axis=0))


def measure(
    rows: tuple[Rows, ...],
    centers: tuple[FloatArray, ...],
    weights: FloatArray,
    labels: IntArray,
    *,
    plain: bool,
    about_mean: bool,
) -> Measured:
    """Distances of `rows` to `centers`.

    plain : fuse distances rather than squared distances.
    """
    from manyview._solvers._nearest import use_distances, view_shares

    scores = np.empty((len(labels), len(centers[0])))
    own = np.full((len(rows), len(labels)), np.nan)
    present = np.stack([view.present for view in rows])
    shares = view_shares(rows, weights)

    def fill_in(block: slice, squared: FloatArray) -> None:
        fused = np.sqrt(squared) if plain else squared
        np.einsum("vi,vij->ij", shares[:, block], fused, out=scores[block])
        nearest = squared[:, np.arange(squared.shape[1]), labels[block]]
        np.sqrt(nearest, out=own[:, block], where=present[:, block])

    for _ in use_distances(rows, centers, fill_in):
        pass
    return Measured(labels=labels, scores=scores, own=own, about_mean=about_mean)
