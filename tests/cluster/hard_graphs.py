"""Views whose graphs fall into pieces, repeat rows or leave samples alone.

Run as a script, it prints the labels of the graph methods on some of them, to compare
what different processors make of it.
"""

import json
import warnings

import numpy as np

from manyview import cluster
from manyview.cluster._pairs import PairwiseClusterer

# The methods of graphs and kernels between all samples, and those of kernels.
ESTIMATORS = [
    getattr(cluster, name)
    for name in cluster.__all__
    if issubclass(getattr(cluster, name), PairwiseClusterer)
]
KERNEL_METHODS = [
    Estimator for Estimator in ESTIMATORS if Estimator is not cluster.AMGL
]


def word_counts(n_samples, widths=(180, 300), lengths=(80, 3), seed=1):
    """Sparse counts with frequent words, 5 empty rows and groups of equal rows."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n_samples) < 0.22
    order = rng.permutation(n_samples)
    views = []
    for width, length in zip(widths, lengths, strict=True):
        frequencies = rng.gamma(0.5, 2.0, (2, width)) / np.arange(1, width + 1) ** 1.1
        frequencies /= frequencies.sum(axis=1, keepdims=True)
        sizes = np.maximum(rng.lognormal(np.log(length), 0.7, n_samples), 1.0)
        view = rng.multinomial(sizes.astype(int), frequencies[truth.astype(int)])
        for i in range(45):
            view[order[i]] = view[order[45 + i // 5]]
        view[order[-5:]] *= width == widths[0]
        views.append(view.astype(float))
    return views


def pieces(n_pieces, size, seed=0):
    """Groups so far apart that no neighbour is in another one."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_pieces), size)
    return [
        1e3 * rng.normal(size=(n_pieces, width))[groups]
        + rng.normal(size=(n_pieces * size, width))
        for width in (3, 4)
    ], groups


def problems():
    """name, views, number of clusters, parameters."""
    words = word_counts(200)
    yield "words", words, 2, {}
    yield "words of unit length", words, 5, {"scale": "l2"}
    yield "more pieces than clusters", pieces(12, 20)[0], 4, {}
    yield "large pieces", pieces(7, 75)[0], 3, {}
    rng = np.random.default_rng(0)
    distinct = rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
    yield "equal rows", [np.repeat(view, 40, axis=0) for view in distinct], 3, {}
    yield "fewer kinds", [np.repeat(view, 40, axis=0) for view in distinct], 5, {}


def labels_of_all():
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, views, n_clusters, parameters in problems():
            for Estimator in ESTIMATORS:
                model = Estimator(n_clusters, random_state=0, n_init=2, **parameters)
                labels = model.fit(views).labels_
                found[f"{Estimator.__name__}: {name}"] = labels.tolist()
                if Estimator in KERNEL_METHODS:
                    labels = model.set_params(n_anchors=60).fit(views).labels_
                    found[f"{Estimator.__name__}: {name}, anchors"] = labels.tolist()
    return found


if __name__ == "__main__":
    print(json.dumps(labels_of_all()))  # noqa: T201 - for the test that reads it
