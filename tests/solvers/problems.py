"""Random multi-view problems, and how to hand them to solver and reference."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from manyview._rows import open_views
from manyview._scaling import learn_scales
from manyview._solvers._start import Start
from manyview._views import check_views
from tests import reference


@dataclass(frozen=True)
class Problem:
    """Raw views (NaN rows where missing), a start in raw units, and parameters."""

    views: list
    present: list
    labels: np.ndarray
    centers: list
    pace_start: float
    n_paces: int

    @property
    def parameters(self):
        return {"pace_start": self.pace_start, "n_paces": self.n_paces}

    @property
    def rounding(self):
        """An objective or loss this small is all rounding, in the finest view too."""
        sizes = [np.abs(view).max() ** 2 for view in self.scaled_views()]
        return 1e-12 * min((size for size in sizes if size > 0), default=0.0)

    def rows(self, **changes):
        views = check_views(changes.get("views", self.views))
        return open_views(views, learn_scales(views, None))

    def scaled_views(self):
        """Views as the solver sees them: shifted to mean zero, missing rows zero."""
        everyone = np.arange(len(self.labels))
        return [view.dense_rows(everyone) for view in self.rows()]

    def start(self):
        """The start in the solver's coordinates."""
        scales = learn_scales(check_views(self.views), None)
        centers = tuple(
            (center - scale.shift) * scale.factor
            for center, scale in zip(self.centers, scales, strict=True)
        )
        return Start(centers=centers, labels=self.labels)

    def reference(self, assignment, max_iter=50, **changes):
        return reference.nsmvc(
            self.scaled_views(),
            self.start().centers,
            self.labels,
            assignment=assignment,
            max_iter=max_iter,
            present=self.present,
            **self.parameters,
            **changes,
        )


@st.composite
def problems(draw, max_views=4, missing=True, max_samples=24):
    """Continuous problems of every shape: decisions are never exact ties.

    Start centres lie a little off the samples: the mean of a cluster of one would
    coincide with an empty cluster's centre on that sample. In a view whose weight is
    beyond all others this is a tie for all that rounding can tell, whatever they say.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_clusters = draw(st.integers(1, 5))
    n_samples = draw(st.integers(max(n_clusters, 2), max_samples))
    n_views = draw(st.integers(1, max_views))
    spread = draw(st.sampled_from([0.0, 1.0, 3.0]))
    truth = rng.integers(n_clusters, size=n_samples)
    seeds = rng.permutation(n_samples)[:n_clusters]
    views, centers = [], []
    for _ in range(n_views):
        width = draw(st.integers(1, 6))
        unit = draw(st.sampled_from([1e-8, 1e-2, 1.0, 1.0, 1e6]))
        offset = draw(st.sampled_from([0.0, 10.0]))
        means = spread * rng.normal(size=(n_clusters, width))
        noise = rng.normal(size=(n_samples, width))
        views.append(unit * (means[truth] + noise + offset))
        aside = 0.1 * unit * rng.normal(size=(n_clusters, width))
        centers.append(views[-1][seeds] + aside)
    present = np.ones((n_views, n_samples), dtype=bool)
    if missing and n_views > 1 and draw(st.booleans()):
        present = rng.random((n_views, n_samples)) > 0.25
        present[rng.integers(n_views, size=n_samples), np.arange(n_samples)] = True
    for view, mask in zip(views, present, strict=True):
        view[~mask] = np.nan
    return Problem(
        views=views,
        present=list(present),
        labels=rng.integers(n_clusters, size=n_samples),
        centers=centers,
        pace_start=draw(st.sampled_from([0.0, 0.3, 0.5, 1.0])),
        n_paces=draw(st.integers(1, 6)),
    )


def as_sparse(views):
    """The same views as CSR; a missing row keeps its NaN as its only entries."""
    return [sparse.csr_array(view) for view in views]
