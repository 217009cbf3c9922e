import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from manyview._results import PaceRecord
from reproduction import plots
from reproduction.figures import robustness, sensitivity, trace_convergence
from reproduction.plan import canonical
from reproduction.plots import Trace, paper_style, spread_labels


@pytest.fixture(autouse=True)
def style():
    with paper_style():
        yield


def trace(objectives):
    """Two paces with the given objectives; exponents 1 and 0.5, then 1 and 0.25."""
    history = tuple(
        PaceRecord(
            stage=pace,
            iteration=iteration,
            objective=value,
            n_moved=0,
            view_losses=np.ones(2),
            exponents=np.array([1.0, 1 / 2**pace]),
            n_selected=np.array([3, 3]),
        )
        for pace, values in enumerate(objectives, start=1)
        for iteration, value in enumerate(values, start=1)
    )
    return Trace(view_names=("u", "v"), history=history)


@pytest.fixture
def traces():
    return {"D": [trace([[3, 2, 1], [9, 8]]), trace([[4, 3], [7]])]}


def lines_of(figure, panel=0):
    return [np.array(line.get_xydata()) for line in figure.axes[panel].lines]


def test_trace_convergence_falls_within_every_pace(data):
    traces = trace_convergence(data, repeats=2)
    assert len(traces) == 2
    for found in traces:
        assert {record.pace for record in found.history} == set(range(1, 7))
        for pace in range(1, 7):
            values = [r.objective for r in found.history if r.pace == pace]
            assert np.all(np.diff(values) <= 1e-12)


def test_first_pace_shows_every_start(traces):
    lines = lines_of(plots.plot_first_pace(traces))
    assert_array_equal(lines[0], [[1, 3], [2, 2], [3, 1]])
    assert_array_equal(lines[1], [[1, 4], [2, 3]])


def test_all_paces_are_drawn_apart(traces):
    lines = lines_of(plots.plot_all_paces(traces))
    assert_array_equal(lines[0], [[1, 3], [2, 2], [3, 1]])
    assert_array_equal(lines[1], [[4, 9], [5, 8]])


def test_exponents_have_one_line_per_view(traces):
    figure = plots.plot_exponents(traces)
    lines = lines_of(figure)
    assert_array_equal(lines[0], [[1, 1], [2, 1]])
    assert_array_equal(lines[1], [[1, 0.5], [2, 0.25]])
    assert [text.get_text() for text in figure.axes[0].texts] == ["v", "u"]


def test_pacing_curve_falls_to_zero_beyond_the_threshold():
    rising, flat = lines_of(plots.plot_pacing())[:2]
    assert_array_equal(rising, [[0, 0], [1, 1]])
    assert_array_equal(flat[:, 1], [0, 0])


def results_of(lines):
    """Runs of NSMVC on the set d: alpha, T, ACC."""
    return pd.DataFrame(
        {
            "dataset": "d",
            "label": "NSMVC",
            "tuned": True,
            "repeat": 0,
            "params": canonical({"pace_start": alpha, "n_paces": paces}),
            "acc": acc,
            "purity": acc,
            "nmi": acc / 2 if acc else acc,
        }
        for alpha, paces, acc in lines
    )


def test_sensitivity_puts_means_where_their_setting_is():
    results = results_of(
        [(0.3, 3, 9.0), (0.3, 3, 11.0), (0.5, 3, 20.0), (0.3, 6, 30.0), (0.5, 6, None)]
    )
    scores = sensitivity(results, "d")
    assert list(scores) == ["acc", "purity", "nmi"]
    assert_array_equal(scores["acc"].index, [0.3, 0.5])
    assert_array_equal(scores["acc"].columns, [3, 6])
    assert_allclose(scores["acc"], [[10, 30], [20, np.nan]])
    assert_allclose(scores["nmi"], [[5, 15], [10, np.nan]])


def test_sensitivity_is_empty_without_a_tuned_method():
    assert sensitivity(results_of([(0.3, 3, 9.0)]), "other") == {}


def test_sensitivity_map_writes_every_number_and_outlines_the_best():
    results = results_of(
        [(0.3, 3, 50.0), (0.3, 6, 60.04), (0.5, 3, 70.0), (0.5, 6, None)]
    )
    scores = sensitivity(results, "d")
    figure = plots.plot_sensitivity_maps(scores, "D")
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.texts] == ["50.0", "60.0", "70.0"]
    assert axes.get_title() == "ACC  50.0 to 70.0"
    (outline,) = axes.patches
    # Row 1 (alpha 0.5), column 0 (T 3).
    assert_allclose(outline.get_xy(), [-0.47, 0.53])
    assert len(plots.plot_sensitivity_surfaces(scores, "D").axes) == 3


def test_digits_are_upright_images():
    pixels = np.zeros((4, 240))
    pixels[:, :15] = 6  # the first row of each image
    figure = plots.plot_digits(pixels, np.array([0, 0, 1, 1]), n_each=2)
    sheet = figure.axes[0].images[0].get_array()
    assert sheet.shape == (2 * 18, 2 * 17)
    assert_array_equal(sheet[1, 1:16], 6)
    assert sheet[2:18].sum() == 0


def test_robustness_is_a_mean_per_share_and_leaves_out_unfinished_methods():
    lines = [
        ("NSMVC", "", 91.0),
        ("NSMVC", "", 89.0),
        ("NSMVC", "left:0.5", 80.0),
        ("AMGL", "", 80.0),
        ("AMGL", "left:0.5", 60.0),
        ("DMVC", "", 80.0),
        ("DMVC", "left:0.5", None),
    ]
    noisy = pd.DataFrame(lines, columns=["label", "noise", "acc"]).assign(dataset="d")
    curves = robustness(noisy)
    assert list(curves) == ["d: view left"]
    assert list(curves["d: view left"].index) == [0.0, 0.5]
    figure = plots.plot_robustness(curves, 2)
    lines = lines_of(figure)
    assert_array_equal(lines[0], [[0, 90], [50, 80]])
    assert_array_equal(lines[1], [[0, 80], [50, 60]])
    assert len(lines) == 2
    assert {text.get_text() for text in figure.axes[0].texts} == {"NSMVC", "AMGL"}


def test_spread_labels_keeps_order_and_distance():
    placed = spread_labels({"a": 1.0, "b": 1.2, "c": 5.0}, gap=1.0)
    assert placed["a"] + 1.0 <= placed["b"]
    assert placed["c"] == 5.0
    assert placed["a"] + placed["b"] == pytest.approx(2.2)
