"""Views made up from known clusters, for tests, examples and benchmarks.

Rows are generated in blocks of a fixed size, each from its own seed. So ten million
rows can be written without being held, and the same seed gives the same rows whether
they are written or held, in whatever portions.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from manyview._typing import BoolArray, FloatArray, IntArray
from manyview.datasets._model import MultiViewData
from manyview.exceptions import DatasetError

# Part of the definition of the data: another size would be other data.
SEED_ROWS = 8192
# How much farther than a cluster's own samples an outlier lies.
OUTLIER_SPREAD = 10.0

# Some consecutive rows: views, target, outliers and missing as in `SyntheticData`.
Block = tuple[tuple[FloatArray, ...], IntArray, BoolArray, BoolArray]
RandomState = int | np.random.RandomState | np.random.Generator | None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class SyntheticData(MultiViewData):
    """Made-up views, with all that is true about them.

    Parameters
    ----------
    name, views, view_names, target, target_names, description, source, license, \
sample_ids, feature_names
        As in `MultiViewData`.
    centers : tuple of ndarray of shape (n_clusters, n_features_v)
        True cluster centres; zero in corrupt views.
    corrupt : tuple of int
        Views that say nothing about the clusters.
    outliers : ndarray of bool of shape (n_views, n_samples)
        Where a sample was thrown far from its cluster.
    missing : ndarray of bool of shape (n_views, n_samples)
        Where a view lacks the sample.
    """

    centers: tuple[FloatArray, ...]
    corrupt: tuple[int, ...]
    outliers: BoolArray
    missing: BoolArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """The parameters that ``make_views`` and ``write_views`` share."""

    n_samples: int
    n_clusters: int
    n_features: tuple[int, ...]
    separation: float
    corrupt: frozenset[int]
    outliers: float
    missing: float
    seed: int

    def __post_init__(self) -> None:
        """Refuse parameters that make no views."""
        widths, n_views = self.n_features, len(self.n_features)
        strangers = sorted(self.corrupt - {*range(n_views)})
        msg = ""
        if not widths or min(widths) < 1:
            msg = f"n_features={widths} must give at least one feature to each view."
        elif not 1 <= self.n_clusters <= self.n_samples:
            limits = f"between 1 and n_samples={self.n_samples}"
            msg = f"n_clusters={self.n_clusters} must lie {limits}."
        elif self.separation < 0:
            msg = f"separation={self.separation} must not be negative."
        elif strangers:
            msg = (
                f"corrupt names view {strangers[0]}; the views are 0 to {n_views - 1}."
            )
        elif self.missing and n_views == 1:
            msg = "missing needs two views or more: with one, a sample has nothing."
        for name in ("outliers", "missing"):
            share = getattr(self, name)
            if not 0 <= share < 1:
                msg = f"{name}={share} must be a share of the samples, in [0, 1)."
        if msg:
            raise DatasetError(msg)

    @property
    def view_names(self) -> tuple[str, ...]:
        """Names that say which views are bad."""
        return tuple(
            f"{'noise' if v in self.corrupt else 'view'}_{v}"
            for v in range(len(self.n_features))
        )

    def centers(self) -> tuple[FloatArray, ...]:
        """Cluster centres per view, `separation` apart on average."""
        rng = np.random.default_rng([self.seed, 0])
        scaled = [
            # Two standard normal points in d dimensions are about sqrt(2 d) apart.
            rng.standard_normal((self.n_clusters, d)) * self.separation / np.sqrt(2 * d)
            for d in self.n_features
        ]
        return tuple(
            np.zeros_like(c) if v in self.corrupt else c for v, c in enumerate(scaled)
        )

    def blocks(self) -> Iterator[Block]:
        """All rows, SEED_ROWS at a time."""
        centers = self.centers()
        for start in range(0, self.n_samples, SEED_ROWS):
            n_rows = min(SEED_ROWS, self.n_samples - start)
            yield self._block(start, n_rows, centers)

    def _block(self, start: int, n_rows: int, centers: tuple[FloatArray, ...]) -> Block:
        rng = np.random.default_rng([self.seed, 1 + start // SEED_ROWS])
        # Balanced over all rows, in random order within the block.
        target = rng.permutation(np.arange(start, start + n_rows) % self.n_clusters)
        shape = (len(self.n_features), n_rows)
        outliers = rng.random(shape) < self.outliers
        missing = rng.random(shape) < self.missing
        # A sample keeps one view at least.
        missing[rng.integers(shape[0], size=n_rows), np.arange(n_rows)] &= ~(
            missing.all(axis=0)
        )
        views = []
        for v, d in enumerate(self.n_features):
            noise = rng.standard_normal((n_rows, d))
            if v in self.corrupt:
                # As wide as a good view, so that its scale does not give it away.
                noise *= np.sqrt(1 + self.separation**2 / (2 * d))
            noise[outliers[v]] *= OUTLIER_SPREAD
            values = centers[v][target] + noise
            values[missing[v]] = np.nan
            views.append(values)
        return tuple(views), target, outliers, missing


def make_views(
    n_samples: int = 300,
    n_clusters: int = 3,
    n_features: Sequence[int] = (10, 20),
    *,
    separation: float = 6.0,
    corrupt: Sequence[int] = (),
    outliers: float = 0.0,
    missing: float = 0.0,
    random_state: RandomState = None,
) -> SyntheticData:
    """Make up views of known clusters.

    In each view a cluster is a normal cloud of unit variance around its own centre.

    Parameters
    ----------
    n_samples : int, default=300
        Number of samples.
    n_clusters : int, default=3
        Number of clusters, of equal size up to one sample.
    n_features : sequence of int, default=(10, 20)
        Number of features of each view.
    separation : float, default=6.0
        Mean distance of two centres, in standard deviations of a cluster.
    corrupt : sequence of int, default=()
        Views that hold noise only, of the same variance as the others.
    outliers : float, default=0.0
        Share of samples, drawn anew in each view, that lie ten times as far from their
        centre.
    missing : float, default=0.0
        Share of samples, drawn anew in each view, that the view lacks: rows of NaN. No
        sample is missing from all views.
    random_state : int, RandomState, Generator or None, default=None
        Seed. The same one gives the rows that ``write_views`` writes.

    Returns
    -------
    data : SyntheticData
        Views with their true labels, centres, corrupt views, outliers and missing rows.

    Examples
    --------
    >>> from manyview.datasets import make_views
    >>> make_views(100, 4, (5, 8), corrupt=[1], random_state=0)
    MultiViewData('synthetic', 100 samples, views: view_0 5, noise_1 8)
    """
    recipe = Recipe(
        n_samples=n_samples,
        n_clusters=n_clusters,
        n_features=tuple(n_features),
        separation=separation,
        corrupt=frozenset(corrupt),
        outliers=outliers,
        missing=missing,
        seed=seed_of(random_state),
    )
    views, target, is_outlier, is_missing = zip(*recipe.blocks(), strict=True)
    return SyntheticData(
        name="synthetic",
        views=tuple(np.concatenate(parts) for parts in zip(*views, strict=True)),
        view_names=recipe.view_names,
        target=np.concatenate(target),
        target_names=tuple(str(c) for c in range(recipe.n_clusters)),
        description="Normal clouds around random centres.",
        source="manyview.datasets.make_views",
        license="CC0 1.0",
        centers=recipe.centers(),
        corrupt=tuple(sorted(recipe.corrupt)),
        outliers=np.concatenate(is_outlier, axis=1),
        missing=np.concatenate(is_missing, axis=1),
    )


def seed_of(random_state: RandomState) -> int:
    """A seed that is drawn, or the one that was given."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, numbers.Integral) and int(random_state) >= 0:
        return int(random_state)
    msg = (
        f"random_state={random_state!r} is not a non-negative integer, a RandomState, "
        "a Generator or None."
    )
    raise DatasetError(msg)
