"""The number of clusters, by gaps in the spectrum of the graph views and by how well
clusters are found again on subsamples."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from manyview._random import random_source
from manyview._typing import FloatArray, IntArray
from manyview._views import ViewSet, check_views
from manyview.cluster import GraphNSMVC
from manyview.embedding import GraphViews
from manyview.exceptions import ViewError

__all__ = ["ClusterCountChoice", "choose_n_clusters", "recovery"]

OnProgress = Callable[[int, int], None]

# A cluster that is found again with a mean Jaccard index of this counts as stable
# (Hennig, 2007).
STABLE = 0.75
# Candidates with the widest gaps after their eigenvalue that stability is tried on,
# beside one cluster less and one more than the widest gap of all speaks for.
WIDEST_GAPS = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterCountChoice:
    """Outcome of `choose_n_clusters`.

    Parameters
    ----------
    n_clusters : int
        The chosen number.
    candidates : tuple of int
        Numbers that were tried, in rising order: with graph views, those with the
        widest gaps.
    gaps : tuple of float
        For each candidate, the gap after its eigenvalue in the spectrum of the joint
        graph; empty if the estimator has no graph.
    weakest : tuple of float
        For each candidate, how well its least stable cluster is found again: the mean
        Jaccard index over subsamples.
    agreement : tuple of float
        For each candidate, the mean adjusted Rand index between the labels of all
        samples and those of the subsamples.
    threshold : float
        What ``weakest`` must reach.
    reached : bool
        Whether the chosen number reaches it; if not, none does.
    """

    n_clusters: int
    candidates: tuple[int, ...]
    gaps: tuple[float, ...] = ()
    weakest: tuple[float, ...]
    agreement: tuple[float, ...]
    threshold: float
    reached: bool


def choose_n_clusters(
    X: Any,
    candidates: Iterable[int] = range(2, 16),
    *,
    estimator: Any = None,
    n_subsamples: int = 6,
    subsample: float = 0.8,
    max_samples: int = 1000,
    threshold: float = STABLE,
    random_state: int | np.random.RandomState | None = None,
    on_progress: OnProgress | None = None,
) -> ClusterCountChoice:
    """Choose the number of clusters by eigengaps and by the stability of clusters.

    A graph that falls into k clusters has k eigenvalues near 1 and a gap after them, so
    with graph views only the candidates with the widest gaps, and the two beside the
    very widest, are looked at. For each the data is clustered once as a whole and once
    on each of several random subsamples. A cluster is stable if the subsamples find it
    again. The largest number whose clusters are all stable wins; if there is none, the
    number whose weakest cluster is most stable. Known classes play no part.

    Parameters
    ----------
    X : views in any form that ``fit`` takes
        The samples.
    candidates : iterable of int, default=range(2, 16)
        Numbers of clusters to try, from 2. A single cluster is always stable, so
        stability cannot tell whether there is any structure at all.
    estimator : estimator, default=None
        What clusters; its ``n_clusters`` and ``random_state`` are replaced, and
        ``n_init`` is raised to the number of clusters where it is lower. None means
        ``GraphNSMVC(n_init=5)``. Estimators other than `manyview.GraphNSMVC` have no
        graph, and all candidates are tried.
    n_subsamples : int, default=6
        Subsamples per candidate.
    subsample : float in (0, 1), default=0.8
        Share of the samples in each.
    max_samples : int, default=1000
        Most samples to work on; of more, a random part is drawn.
    threshold : float, default=0.75
        Mean Jaccard index from which a cluster counts as stable.
    random_state : int, RandomState instance or None, default=None
        Draws samples and starts.
    on_progress : callable, default=None
        Called as ``on_progress(n_done, n_fits)`` after every fit.

    Returns
    -------
    choice : ClusterCountChoice
        The number and the curve behind it.

    References
    ----------
    C. Hennig. Cluster-wise assessment of cluster stability. Computational Statistics &
    Data Analysis, 2007.

    Examples
    --------
    >>> from manyview.datasets import make_views
    >>> from manyview.model_selection import choose_n_clusters
    >>> data = make_views(300, 5, random_state=0)
    >>> choose_n_clusters(data.views, range(3, 7), random_state=0).n_clusters
    5
    """
    # Imported here: scikit-learn's metrics take a while, and few who import manyview
    # choose a number of clusters.
    from sklearn.metrics import adjusted_rand_score

    if estimator is None:
        estimator = GraphNSMVC(n_init=5)
    views = check_views(X, view_sizes=estimator.view_sizes)
    source = random_source(random_state)
    everyone = _draw(views.n_samples, min(max_samples, views.n_samples), source)
    n_drawn = int(subsample * len(everyone))
    tried = _check_candidates(candidates, n_drawn)
    gaps: dict[int, float] = {}
    if isinstance(estimator, GraphNSMVC):
        gaps = _eigengaps(estimator, tried, _part(views, everyone), source)
        tried = _shortlist(tried, gaps)
    # The same subsamples and seeds for every candidate: the curve is paired.
    draws = [_draw(len(everyone), n_drawn, source) for _ in range(n_subsamples)]
    seeds = [int(seed) for seed in source.randint(2**31 - 1, size=n_subsamples + 1)]
    samples = [everyone, *(everyone[rows] for rows in draws)]
    n_done = 0
    weakest, agreement = [], []
    for n_clusters in tried:
        labellings = []
        for sample, seed in zip(samples, seeds, strict=True):
            labellings.append(
                _cluster(estimator, n_clusters, seed, _part(views, sample))
            )
            n_done += 1
            if on_progress is not None:
                on_progress(n_done, len(tried) * len(seeds))
        whole, *parts = labellings
        pairs = [(whole[rows], part) for rows, part in zip(draws, parts, strict=True)]
        found = [recovery(*pair, n_clusters) for pair in pairs]
        weakest.append(float(np.mean(found, axis=0).min()))
        agreement.append(float(np.mean([adjusted_rand_score(*pair) for pair in pairs])))
    n_clusters, reached = _choose(tried, weakest, threshold)
    return ClusterCountChoice(
        n_clusters=n_clusters,
        candidates=tuple(tried),
        gaps=tuple(gaps[k] for k in tried if k in gaps),
        weakest=tuple(weakest),
        agreement=tuple(agreement),
        threshold=threshold,
        reached=reached,
    )


def recovery(reference: Any, labels: Any, n_clusters: int) -> FloatArray:
    """How well each reference cluster is found again in another labelling.

    Parameters
    ----------
    reference : array-like of shape (n_samples,)
        Labels from 0 to ``n_clusters - 1``.
    labels : array-like of shape (n_samples,)
        Another labelling of the same samples.
    n_clusters : int
        Number of reference clusters.

    Returns
    -------
    recovered : ndarray of shape (n_clusters,)
        Jaccard index with the most similar cluster, 0 for a cluster without samples.

    Examples
    --------
    >>> from manyview.model_selection import recovery
    >>> recovery([0, 0, 0, 1], [1, 1, 0, 0], 2).round(2).tolist()
    [0.67, 0.5]
    """
    # Imported here, as in `choose_n_clusters`.
    from sklearn.metrics.cluster import contingency_matrix

    shared = contingency_matrix(reference, labels).astype(np.float64)
    union = shared.sum(axis=1, keepdims=True) + shared.sum(axis=0) - shared
    recovered = np.zeros(n_clusters)
    recovered[np.unique(reference)] = (shared / union).max(axis=1)
    return recovered


def _choose(
    tried: Sequence[int], weakest: Sequence[float], threshold: float
) -> tuple[int, bool]:
    """The chosen number, and whether all of its clusters are stable."""
    stable = [k for k, value in zip(tried, weakest, strict=True) if value >= threshold]
    if stable:
        return stable[-1], True
    return tried[int(np.argmax(weakest))], False


def _check_candidates(candidates: Iterable[int], n_drawn: int) -> list[int]:
    tried = sorted(set(candidates))
    if not tried or tried[0] < 2 or tried[-1] > n_drawn:
        msg = (
            f"candidates are {tried}, but must be numbers of clusters from 2, below "
            f"which stability says nothing, to {n_drawn}, the samples of a subsample."
        )
        raise ViewError(msg)
    return tried


def _draw(n_samples: int, n_drawn: int, source: np.random.RandomState) -> IntArray:
    return np.sort(source.permutation(n_samples)[:n_drawn])


def _part(views: ViewSet, rows: IntArray) -> dict[str, Any]:
    pairs = zip(views.names, views.arrays, strict=True)
    return {name: array[rows] for name, array in pairs}


def _cluster(
    estimator: Any, n_clusters: int, seed: int, part: dict[str, Any]
) -> IntArray:
    """Labels by a copy of the estimator; its views come by name."""
    model = clone(estimator)
    model.set_params(n_clusters=n_clusters, random_state=seed, view_sizes=None)
    if "n_init" in model.get_params():
        # The more clusters, the more ways to be stuck: a start that is would look like
        # a cluster that is not there.
        model.set_params(n_init=max(model.n_init, n_clusters))
    with warnings.catch_warnings():
        # A run cut short is as good a test of stability as any other.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(model.fit(part).labels_)


def _eigengaps(
    estimator: GraphNSMVC,
    tried: Sequence[int],
    part: dict[str, Any],
    source: np.random.RandomState,
) -> dict[int, float]:
    """Per candidate, the fall from its eigenvalue to the next."""
    graphs = GraphViews(
        n_components=tried[-1] + 1,
        n_neighbors=estimator.n_neighbors,
        n_anchors=estimator.n_anchors,
        scale=estimator.scale,
        random_state=source,
    )
    values = graphs.fit(part).joint_eigenvalues_
    return {k: float(values[k - 1] - values[k]) for k in tried}


def _shortlist(tried: Sequence[int], gaps: dict[int, float]) -> list[int]:
    by_gap = sorted(tried, key=lambda k: -gaps[k])
    widest = by_gap[0]
    beside = {widest - 1, widest + 1}.intersection(tried)
    return sorted(beside.union(by_gap[:WIDEST_GAPS]))
