"""Least-squares updates of a deep factorisation ``Q = Z_1 Z_2 ... Z_r``."""

from __future__ import annotations

from functools import reduce

import numpy as np
from scipy.linalg import pinv

from manyview._typing import FloatArray

# A misfit below this share of what is fitted is rounding: nothing is left to update.
NOTHING_LEFT = 1e-12
# So are directions weaker than this share of the strongest one: rows that depend on
# each other leave singular values of a few units in the last place.
NO_RANK = 1e-10


def product(layers: tuple[FloatArray, ...]) -> FloatArray:
    """``Z_1 Z_2 ... Z_r``, (n_features, n_clusters): one column per centre."""
    return reduce(np.matmul, layers)


def refit_layers(
    layers: tuple[FloatArray, ...], means: FloatArray, masses: FloatArray
) -> tuple[FloatArray, ...]:
    """Refit each layer in turn, the others fixed, to the weighted cluster means.

    layers : Z_i of shape (p_{i-1}, p_i), with p_0 = n_features and p_r = n_clusters.
    means : (n_clusters, n_features); masses : (n_clusters,), summed sample weights.

    For one-hot memberships ``sum_i s_i ||x_i - Q h_i||^2`` and
    ``sum_j mass_j ||mean_j - Q_j||^2`` differ by a constant, so the samples
    themselves are not needed. A layer wider than the rank at hand has many
    minimisers; the one nearest to its present value is taken, because the one of
    least norm loses rank for good as soon as the means are linearly dependent
    (centred views are, in the first round).
    """
    fitted = list(layers)
    heaviest = masses.max(initial=0.0)
    if heaviest == 0.0:
        return layers
    root = np.sqrt(masses / heaviest)
    target = means.T * root
    enough = NOTHING_LEFT * np.linalg.norm(target)
    for i, layer in enumerate(layers):
        misfit = target - product(tuple(fitted)) * root
        if np.linalg.norm(misfit) <= enough:
            break
        tail = np.eye(len(masses)) if i + 1 == len(layers) else product(layers[i + 1 :])
        step = misfit @ pinv(tail * root, rtol=NO_RANK)
        if i > 0:
            step = pinv(product(tuple(fitted[:i])), rtol=NO_RANK) @ step
        fitted[i] = layer + step
    return tuple(fitted)
