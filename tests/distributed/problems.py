"""Views to cluster, here and on a cluster."""

import dask.array as da
import numpy as np
from hypothesis import strategies as st


def make_views(seed, n_samples=240, n_clusters=4, widths=(3, 5, 2), dtype=np.float64):
    """Overlapping clusters, with gaps in the second view, and labels to start from."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_clusters, size=n_samples)
    views = [
        1.5 * rng.normal(size=(n_clusters, width))[truth]
        + rng.normal(size=(n_samples, width))
        for width in widths
    ]
    views[1][rng.random(n_samples) < 0.15] = np.nan
    labels = rng.integers(n_clusters, size=n_samples)
    labels[:n_clusters] = np.arange(n_clusters)
    return [view.astype(dtype) for view in views], labels


def chunked(views, rows):
    """Dask arrays, each view cut its own way; columns are cut as well."""
    return [
        da.from_array(view, chunks=(cut, max(1, view.shape[1] - v)))
        for v, (view, cut) in enumerate(zip(views, rows, strict=True))
    ]


@st.composite
def cuts(draw, n_samples, n_views):
    """A row chunking per view: equal pieces, or any pieces at all."""
    found = []
    for _ in range(n_views):
        if draw(st.booleans()):
            found.append(draw(st.integers(n_samples // 8, n_samples)))
            continue
        edges = draw(st.sets(st.integers(1, n_samples - 1), max_size=12))
        found.append(tuple(int(n) for n in np.diff([0, *sorted(edges), n_samples])))
    return found
