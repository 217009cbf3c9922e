"""Figures show the numbers they are given, where they are told to."""

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose

from manyview import NSMVC, ViewError
from manyview._extras import MissingExtraError
from manyview.explain import explain, map_samples
from manyview.model_selection import ClusterCountChoice
from manyview.plotting import (
    cluster_colors,
    plot_agreement,
    plot_cluster_count,
    plot_convergence,
    plot_exponents,
    plot_map,
    plot_sensitivity,
)

mpl.use("Agg")


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure().subplots()


@pytest.fixture
def model(blobs):
    views = dict(zip(("sound", "light", "words"), blobs[0], strict=True))
    return NSMVC(3, n_init=1, random_state=0).fit(views)


def test_plot_convergence_draws_the_objectives(model, ax):
    assert plot_convergence(model, ax=ax) is ax
    drawn = np.concatenate([np.atleast_1d(line.get_ydata()) for line in ax.lines])
    objectives = [record.objective for record in model.history_]
    assert set(objectives) <= set(drawn.tolist())
    n_paces = len({record.stage for record in model.history_})
    # One line per pace, and a rule before every pace but the first.
    assert len(ax.lines) == 2 * n_paces - 1


def test_plot_exponents_draws_one_line_per_view(model, ax):
    plot_exponents(model, ax=ax)
    assert [line.get_label() for line in ax.lines] == ["sound", "light", "words"]
    ends = [line.get_ydata()[-1] for line in ax.lines]
    assert_allclose(ends, model.exponents_)


def test_plot_map_draws_every_sample_in_its_cluster(model, blobs, ax):
    views = dict(zip(("sound", "light", "words"), blobs[0], strict=True))
    found = map_samples(views, model.labels_, estimator=model)
    plot_map(found, model.labels_, view=1, ax=ax)
    counts = [len(points.get_offsets()) for points in ax.collections]
    assert counts == np.bincount(model.labels_).tolist()
    inside = found.views[1][model.labels_ == 2]
    assert_allclose(ax.collections[2].get_offsets(), inside)
    assert (ax.get_xlabel(), ax.get_ylabel()) == found.view_axes[1]


def test_plot_map_draws_noise_in_grey(model, blobs, ax):
    views = dict(zip(("sound", "light", "words"), blobs[0], strict=True))
    found = map_samples(views, model.labels_, estimator=model)
    labels = np.where(np.arange(90) < 4, -1, model.labels_)
    plot_map(found, labels, ax=ax)
    assert len(ax.collections[3].get_offsets()) == 4
    assert ax.get_legend_handles_labels()[1][-1] == "noise"


def test_plot_agreement_writes_the_shares(model, blobs, ax):
    views = dict(zip(("sound", "light", "words"), blobs[0], strict=True))
    explanation = explain(model, views)
    plot_agreement(explanation, ax=ax)
    written = [text.get_text() for text in ax.texts]
    assert written == [f"{v:.2f}" for v in explanation.view_agreement.ravel()]


def test_plot_sensitivity_draws_curves_and_bands(ax):
    scores = {"ACC": [0.1, 0.5], "NMI": [0.2, 0.3]}
    plot_sensitivity([1, 2], scores, name="alpha", spread={"ACC": [0.1, 0.1]}, ax=ax)
    assert ax.get_xlabel() == "alpha"
    assert [line.get_ydata().tolist() for line in ax.lines] == list(scores.values())
    (band,) = ax.collections
    assert_allclose(band.get_paths()[0].get_extents().ymax, 0.6)


def test_plot_cluster_count_marks_the_choice(ax):
    choice = ClusterCountChoice(
        n_clusters=3,
        candidates=(2, 3, 4),
        weakest=(0.9, 0.8, 0.4),
        agreement=(0.9, 0.8, 0.4),
        threshold=0.75,
        reached=True,
    )
    plot_cluster_count(choice, ax=ax)
    curve, level, mark = ax.lines
    assert curve.get_ydata().tolist() == [0.9, 0.8, 0.4]
    assert set(level.get_ydata()) == {0.75}
    assert set(mark.get_xdata()) == {3}


def test_plots_make_a_figure_when_none_is_given(model):
    from matplotlib import pyplot

    made = plot_convergence(model)
    assert made.figure.number == pyplot.gcf().number
    pyplot.close(made.figure)


def test_plots_refuse_unfitted_estimators():
    with pytest.raises(ViewError, match="NSMVC has no history"):
        plot_convergence(NSMVC())


def test_plots_name_the_missing_extra(model, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r'pip install "manyview\[plot\]"'):
        plot_convergence(model)


@pytest.mark.parametrize("n_clusters", [1, 12, 40])
def test_cluster_colors_are_distinct(n_clusters):
    colors = cluster_colors(n_clusters)
    assert len(set(colors)) == n_clusters
    assert all(mpl.colors.is_color_like(color) for color in colors)
    assert cluster_colors(5) == cluster_colors(40)[:5]
