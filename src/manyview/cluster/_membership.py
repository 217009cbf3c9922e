"""Soft membership and outlier scores, from the distances of samples to the centres.

Membership is a softmax of the fused distances. Its temperature is the spread of the
samples' distances to their own centres, so no labels are needed; docs/membership.md
says why, and how far it can be believed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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

    scores : (n_samples, n_clusters), fused distances; the label is the smallest.
    own : (n_spaces, n_samples), distance to the own centre in each space, NaN where
        the sample lacks it.
    """

    scores: FloatArray
    own: FloatArray


def measure(
    rows: tuple[Rows, ...],
    centers: tuple[FloatArray, ...],
    weights: FloatArray,
    labels: IntArray,
    *,
    plain: bool,
) -> Measured:
    """Distances of `rows` to `centers`.

    plain : fuse distances rather than squared distances.
    """
    from manyview._solvers._nearest import distance_blocks, view_shares

    scores = np.empty((len(labels), len(centers[0])))
    own = np.full((len(rows), len(labels)), np.nan)
    present = np.stack([view.present for view in rows])
    shares = view_shares(rows, weights)
    for block, squared in distance_blocks(rows, centers):
        fused = np.sqrt(squared) if plain else squared
        np.einsum("vi,vij->ij", shares[:, block], fused, out=scores[block])
        nearest = np.take_along_axis(squared, labels[None, block, None], axis=2)
        np.sqrt(nearest[:, :, 0], out=own[:, block], where=present[:, block])
    return Measured(scores=scores, own=own)


def learn_spread(measured: Measured, labels: IntArray, *, about_mean: bool) -> Spread:
    """The spread of the samples of a fit.

    about_mean : take the temperature from distances less their mean. Most of a
        distance between features is noise that all centres are equally far from; how
        much it varies is what members differ by. A spectral embedding has no such
        noise, and the whole distance counts.
    """
    scores = measured.scores
    fused = np.take_along_axis(scores, labels[:, None], axis=1)[:, 0]
    reference = fused.mean() if about_mean else 0.0
    temperature = float(np.sqrt(np.mean((fused - reference) ** 2)))
    floor = LEAST_TEMPERATURE * float(scores.mean())
    n_clusters = scores.shape[1]
    typical = np.empty((len(measured.own), n_clusters))
    deviation = np.empty(len(measured.own))
    by_cluster = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels, minlength=n_clusters))[:-1]
    for space, own in enumerate(measured.own):
        has = ~np.isnan(own)
        everyone = float(np.median(own[has])) if has.any() else 0.0
        for cluster, found in enumerate(np.split(own[by_cluster], ends)):
            members = found[~np.isnan(found)]
            typical[space, cluster] = np.median(members) if len(members) else everyone
        off = np.abs(own[has] - typical[space, labels[has]])
        # More than half of the samples may lie at their median: then their mean
        # deviation serves, and 1 where nothing deviates.
        middle = NORMAL_MAD * float(np.median(off)) if has.any() else 0.0
        small = LEAST_TEMPERATURE * everyone
        mean = float(off.mean()) if has.any() else 0.0
        deviation[space] = next((d for d in (middle, mean) if d > small), 1.0)
    return Spread(
        temperature=max(temperature, floor, np.finfo(np.float64).tiny),
        typical=typical,
        deviation=deviation,
    )


def soft_membership(
    scores: FloatArray, labels: IntArray, temperature: float
) -> FloatArray:
    """(n_samples, n_clusters), rows that add up to 1 and are largest at the label.

    A sample may have another label than the nearest cluster, if centres are equally
    near or the fit was stopped: its own cluster then gets the largest membership.
    """
    from scipy.special import softmax

    membership = np.asarray(softmax(-scores / temperature, axis=1))
    odd = np.flatnonzero(membership.argmax(axis=1) != labels)
    if odd.size:
        part = membership[odd]
        rows, own = np.arange(odd.size), labels[odd]
        rest = 1.0 - part[rows, own]
        part[rows, own] = np.nextafter(part.max(axis=1), 2.0)
        largest = part[rows, own]
        part *= ((1.0 - largest) / rest)[:, None]
        part[rows, own] = largest
        membership[odd] = part
    return membership


def outlier_scores(
    measured: Measured, labels: IntArray, spread: Spread, n_views: int
) -> FloatArray:
    """(n_samples,), how far out a sample lies in its views, on average.

    In each view, the distance to the own centre less the typical one, in robust
    standard deviations; the mean over the views that the sample has. The first
    `n_views` spaces belong to views; a sample with none of these is measured in the
    others.
    """
    typical = spread.typical[:, labels]
    standard = (measured.own - typical) / spread.deviation[:, None]
    has = ~np.isnan(standard)
    of_view = np.arange(len(standard)) < n_views
    alone = ~has[:n_views].any(axis=0)
    counted = has & (of_view[:, None] | alone)
    sums = np.where(counted, standard, 0.0).sum(axis=0)
    return np.asarray(sums / counted.sum(axis=0))


def confidence_of(membership: FloatArray, labels: IntArray) -> FloatArray:
    """(n_samples,), the membership in the own cluster."""
    own: Any = np.take_along_axis(membership, labels[:, None], axis=1)
    return np.asarray(own[:, 0])
