import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from manyview._results import PaceRecord
from manyview.bench._experiments import RobustnessCurves, Sensitivity, Trace
from manyview.plotting import _paper
from manyview.plotting._paper_style import save_figure, spread_labels


def trace(objectives, repeat=0):
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
    return Trace(dataset="d", view_names=("u", "v"), repeat=repeat, history=history)


@pytest.fixture
def traces():
    return {"D": [trace([[3, 2, 1], [9, 8]]), trace([[4, 3], [7]], repeat=1)]}


def lines_of(figure, panel=0):
    return [np.array(line.get_xydata()) for line in figure.axes[panel].lines]


def test_first_pace_shows_every_start(traces):
    lines = lines_of(_paper.plot_first_pace(traces))
    assert_array_equal(lines[0], [[1, 3], [2, 2], [3, 1]])
    assert_array_equal(lines[1], [[1, 4], [2, 3]])


def test_all_paces_are_drawn_apart(traces):
    lines = lines_of(_paper.plot_all_paces(traces))
    assert_array_equal(lines[0], [[1, 3], [2, 2], [3, 1]])
    assert_array_equal(lines[1], [[4, 9], [5, 8]])


def test_exponents_have_one_line_per_view(traces):
    figure = _paper.plot_exponents(traces)
    lines = lines_of(figure)
    assert_array_equal(lines[0], [[1, 1], [2, 1]])
    assert_array_equal(lines[1], [[1, 0.5], [2, 0.25]])
    assert [text.get_text() for text in figure.axes[0].texts] == ["v", "u"]


def test_pacing_curve_falls_to_zero_beyond_the_threshold():
    rising, flat = lines_of(_paper.plot_pacing())[:2]
    assert_array_equal(rising, [[0, 0], [1, 1]])
    assert_array_equal(flat[:, 1], [0, 0])


def test_sensitivity_map_writes_every_number_and_outlines_the_best():
    scores = np.array([[50.0, 60.04], [70.0, np.nan]])
    grid = Sensitivity(
        dataset="d",
        alphas=(0.3, 0.5),
        n_paces=(3, 6),
        scores=dict.fromkeys(("acc", "purity", "nmi"), scores),
    )
    figure = _paper.plot_sensitivity_maps(grid, "D")
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.texts] == ["50.0", "60.0", "70.0"]
    assert axes.get_title() == "ACC  50.0 to 70.0"
    (outline,) = axes.patches
    # Row 1 (alpha 0.5), column 0 (T 3).
    assert_allclose(outline.get_xy(), [-0.47, 0.53])
    assert len(_paper.plot_sensitivity_surfaces(grid, "D").axes) == 3


def test_digits_are_upright_images():
    pixels = np.zeros((4, 240))
    pixels[:, :15] = 6  # the first row of each image
    figure = _paper.plot_digits(pixels, np.array([0, 0, 1, 1]), n_each=2)
    sheet = figure.axes[0].images[0].get_array()
    assert sheet.shape == (2 * 18, 2 * 17)
    assert_array_equal(sheet[1, 1:16], 6)
    assert sheet[2:18].sum() == 0


def test_robustness_leaves_out_unfinished_methods():
    curves = RobustnessCurves(
        dataset="d",
        title="D",
        view="left",
        shares=(0.0, 0.5, 1.0),
        repeats=2,
        means={
            "NSMVC": np.array([90.0, 80, 70]),
            "AMGL": np.array([80.0, 60, 40]),
            "DMVC": np.array([80.0, np.nan, 40]),
        },
        stds={},
    )
    figure = _paper.plot_robustness([curves])
    lines = lines_of(figure)
    assert_array_equal(lines[0], [[0, 90], [50, 80], [100, 70]])
    assert len(lines) == 2
    assert {text.get_text() for text in figure.axes[0].texts} == {"NSMVC", "AMGL"}


def test_spread_labels_keeps_order_and_distance():
    placed = spread_labels({"a": 1.0, "b": 1.2, "c": 5.0}, gap=1.0)
    assert placed["a"] + 1.0 <= placed["b"]
    assert placed["c"] == 5.0
    assert placed["a"] + placed["b"] == pytest.approx(2.2)


def test_save_figure_is_reproducible(tmp_path, traces):
    for name in ("one", "two"):
        png, svg = save_figure(_paper.plot_first_pace(traces), tmp_path, name)
        assert png.read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in svg.read_bytes()
    for suffix in ("png", "svg"):
        one, two = (tmp_path / f"{name}.{suffix}" for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
