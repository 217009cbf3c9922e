import csv
import io
import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import t as student
from scipy.stats import ttest_1samp, ttest_ind

from reproduction.data import DataInfo
from reproduction.plan import Method
from reproduction.store import Outcome
from reproduction.tables import (
    build_cells,
    collect,
    confirm_settings,
    half_width,
    holm,
    sentences,
    summarise,
)
from reproduction.text import (
    setting,
    signed,
    table_notes,
    to_csv,
    to_latex,
    to_markdown,
    write_tables,
)
from tests.reproduction.conftest import protocol_of, toy

# Stands for Texas, so that the paper's table 5 applies.
TEXAS = DataInfo(source="texas", checksum="c", view_names=("citation", "content"))


def cells_of(protocol, scores):
    """Cells of runs with the given ACC by row label; Purity and NMI follow from it."""
    left = {label: list(values) for label, values in scores.items()}
    outcomes = {}
    entries = protocol.entries(TEXAS)
    for entry in entries:
        acc = left[entry.label].pop(0)
        outcomes[entry.run] = (
            Outcome(error="it broke")
            if acc is None
            else Outcome(
                acc=acc / 100,
                purity=(acc + 1) / 100,
                nmi=acc / 200,
                seconds=acc,
                peak_mb=1.0,
            )
        )
    return build_cells(collect(entries, outcomes))


def cell(cells, label, metric="acc"):
    (found,) = cells[
        (cells["label"] == label) & (cells["metric"] == metric)
    ].itertuples()
    return found


def bold(cells):
    return list(cells[cells["metric"] == "acc"]["bold"])


def test_cell_is_mean_and_sample_deviation_in_per_cent():
    cells = cells_of(protocol_of(toy("Steady")), {"Steady": [50, 60, 40, 50]})
    assert cell(cells, "Steady").mean == pytest.approx(50)
    # Squared deviations 0, 100, 100, 0 over n - 1 = 3.
    assert cell(cells, "Steady").std == pytest.approx(math.sqrt(200 / 3))
    assert cell(cells, "Steady", "purity").mean == pytest.approx(51)
    assert cell(cells, "Steady", "nmi").mean == pytest.approx(25)
    assert cell(cells, "Steady").seconds == pytest.approx(50)


def test_bold_is_the_best_and_what_a_t_test_cannot_tell_from_it():
    protocol = protocol_of(
        toy("Steady", "best"),
        toy("Steady", "near", wrong=0.1),
        toy("Steady", "far", wrong=0.3),
    )
    # Variances are 8/3: t = 1 / sqrt(2 * 8/3 / 4) = 0.87 for near, 34.6 for far.
    scores = {
        "best": [70, 72, 68, 70],
        "near": [69, 71, 67, 69],
        "far": [30, 32, 28, 30],
    }
    assert bold(cells_of(protocol, scores)) == [True, True, False]


@pytest.mark.parametrize(("shift", "is_bold"), [(5.2, True), (5.8, False)])
def test_bold_rule_is_welchs_test_on_the_runs(shift, is_bold):
    # Hand-made so that the p-value lies just above and just below 5 %.
    best = [70.0, 74, 66, 70]
    other = [value - shift for value in best]
    assert (ttest_ind(best, other, equal_var=False).pvalue >= 0.05) == is_bold
    protocol = protocol_of(toy("Steady", "a"), toy("Steady", "b", wrong=0.1))
    assert bold(cells_of(protocol, {"a": best, "b": other})) == [True, is_bold]


def test_bold_needs_equal_means_when_nothing_varies():
    protocol = protocol_of(
        toy("Steady", "a"), toy("Steady", "b", wrong=0.1), toy("Steady", "c", wrong=0.3)
    )
    scores = {"a": [70] * 4, "b": [70] * 4, "c": [69.9] * 4}
    assert bold(cells_of(protocol, scores)) == [True, True, False]


def test_comparison_is_welchs_test_from_summary_statistics():
    found = cell(
        cells_of(protocol_of(toy("Steady", "AMGL")), {"AMGL": [50, 60, 40, 50]}), "AMGL"
    )
    # Printed: 56.13 +- 0.43 over 30 runs.
    assert found.difference == pytest.approx(50 - 56.13)
    ours, theirs = 200 / 3 / 4, 0.43**2 / 30
    t = (50 - 56.13) / math.sqrt(ours + theirs)
    df = (ours + theirs) ** 2 / (ours**2 / 3 + theirs**2 / 29)
    assert found.p_value == pytest.approx(2 * student.sf(abs(t), df))
    assert found.verdict == "equal"
    assert not found.meets


@pytest.mark.parametrize(
    ("scores", "verdict", "meets"),
    [
        ([66, 66.1, 65.9, 66], "above", True),
        ([46, 46.1, 45.9, 46], "below", False),
        ([56.13, 56.1, 56.16, 56.13], "equal", True),
    ],
)
def test_comparison_verdicts(scores, verdict, meets):
    cells = cells_of(protocol_of(toy("Steady", "AMGL")), {"AMGL": scores})
    found = cell(cells, "AMGL")
    assert (found.verdict, found.meets) == (verdict, meets)


def test_tuned_row_shows_the_setting_with_the_best_mean_acc():
    method = Method(
        "NSMVC", "NSMVC", grid={"pace_start": (0.3, 0.5), "n_paces": (3, 6)}
    )
    scores = {"NSMVC": [50, 60, 99, 1, 70, 50, 58, 60]}
    cells = cells_of(protocol_of(method, repeats=2), scores)
    found = cell(cells, "NSMVC")
    # Means 55, 50, 60, 59.
    assert found.tuned
    assert setting(found.params) == "alpha = 0.5, T = 3"
    assert found.mean == pytest.approx(60)
    assert "* NSMVC: tuned with labels, alpha = 0.5, T = 3." in table_notes(cells)


def test_failed_runs_are_named():
    protocol = protocol_of(toy("Steady", "a"), toy("Failing", "b"))
    cells = cells_of(protocol, {"a": [1, 2, 3, None], "b": [None] * 4})
    assert (cell(cells, "a").runs, cell(cells, "a").failed) == (3, 1)
    assert cell(cells, "a").mean == pytest.approx(2)
    notes = table_notes(cells)
    assert "a: 1 runs failed. it broke" in notes
    assert "b: 4 runs failed. it broke" in notes
    assert "| b | failed | failed | failed |" in to_markdown("toy", "texas", cells)
    lines = list(csv.DictReader(io.StringIO(to_csv("texas", cells))))
    assert (lines[3]["mean"], lines[3]["bold"], lines[3]["failed"]) == ("", "", "4")


@pytest.fixture
def cells():
    protocol = protocol_of(toy("Steady", "MSPL"), toy("Steady", "a&b", wrong=0.1))
    return cells_of(protocol, {"MSPL": [50, 60, 40, 50], "a&b": [90, 91, 89, 90]})


def test_markdown_shows_ours_printed_and_difference(cells):
    lines = to_markdown("toy", "texas", cells).splitlines()
    assert lines[0] == "### Table 5. Results on Texas (toy protocol)"
    assert lines[4] == (
        "| MSPL | 50.00 ± 8.16 | **56.68 ± 3.85** † | -6.68 [-19.5, +6.1] "
        "| 51.00 ± 8.16 | 58.97 ± 2.94 | -7.97 [-20.8, +4.9] "
        "| 25.00 ± 4.08 | 11.30 ± 6.30 | +13.70 [+7.7, +19.7] |"
    )
    assert lines[5].startswith("| a&b | **90.00 ± 0.82** |  |  | **91.00")


@pytest.mark.parametrize(
    ("difference", "text"), [(-0.001, "+0.00"), (-0.006, "-0.01"), (3.456, "+3.46")]
)
def test_signed_has_no_negative_zero(difference, text):
    assert signed(difference) == text


def test_latex_uses_booktabs_and_escapes(cells):
    text = to_latex("toy", "texas", cells)
    assert r"\toprule" in text
    assert r"\textbf{90.00$\pm$0.82}" in text
    assert r"a\&b & " in text
    assert r"\textbf{56.68$\pm$3.85}$^\dagger$" in text
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {line.count(" & ") for line in rows[1:]} == {6}


def test_csv_has_one_line_per_method_and_metric(cells):
    lines = list(csv.DictReader(io.StringIO(to_csv("texas", cells))))
    assert [(line["method"], line["metric"]) for line in lines] == [
        (method, metric)
        for method in ("MSPL", "a&b")
        for metric in ("acc", "purity", "nmi")
    ]
    assert float(lines[0]["difference"]) == pytest.approx(-6.68)
    assert lines[0]["verdict"] == "equal"
    assert lines[3]["printed_mean"] == lines[3]["difference"] == ""


def test_write_tables_writes_three_files_and_a_summary(cells, tmp_path):
    write_tables(cells, tmp_path)
    names = {path.name for path in (tmp_path / "tables").iterdir()}
    assert names == {"table5-toy.md", "table5-toy.tex", "table5-toy.csv"}
    table = (tmp_path / "tables" / "table5-toy.md").read_text()
    assert table == to_markdown("toy", "texas", cells)
    assert table in (tmp_path / "summary.md").read_text()


def test_summary_counts_cells(cells):
    (summary,) = summarise(cells).itertuples()
    assert summary.label == "MSPL"
    assert (summary.above, summary.equal, summary.below) == (1, 2, 0)
    assert summary.meets == 1
    assert summary.mean_difference == pytest.approx((-6.68 - 7.97 + 13.7) / 3)
    assert sentences(cells) == [
        "MSPL: 1 of 3 cells reach the printed mean, 0 lie within one printed standard "
        "deviation of it; by t-test 1 lie above print, 2 cannot be told from it, 0 lie "
        "below (mean difference -0.3 points). After Holm's correction over the 3 cells "
        "1 differ."
    ]


def test_summary_takes_k_means_on_single_views_together():
    protocol = protocol_of(Method("KM", "ViewKMeans", each_view=True), repeats=2)
    cells = cells_of(protocol, {"KM(1)": [50, 60], "KM(2)": [40, 50]})
    (summary,) = summarise(cells).itertuples()
    assert (summary.label, summary.cells) == ("KM(v)", 6)


def test_holm_by_hand():
    # Sorted 0.01, 0.03, 0.04 times 3, 2, 1: 0.03, 0.06 and, as none may fall, 0.06.
    assert_allclose(holm(np.array([0.04, 0.01, 0.03])), [0.06, 0.03, 0.06])
    assert_allclose(holm(np.array([0.9, np.nan, 0.6])), [1.0, np.nan, 1.0])


def test_correction_is_over_the_cells_of_a_row():
    protocol = protocol_of(toy("Steady", "MSPL"), toy("Steady", "AMGL", wrong=0.1))
    scores = {"MSPL": [50, 60, 40, 50], "AMGL": [50, 52, 48, 50]}
    cells = cells_of(protocol, scores)
    for label in scores:
        own = cells[cells["label"] == label]
        assert_allclose(own["p_holm"], holm(own["p_value"].to_numpy()))


def test_half_width_is_that_of_students_and_welchs_interval():
    one, other = [70.0, 74, 66, 71], [60.0, 61, 65]
    columns = ["mean", "std", "runs"]
    frames = [
        pd.DataFrame([[np.mean(x), np.std(x, ddof=1), len(x)]], columns=columns)
        for x in (one, other)
    ]
    interval = ttest_1samp(one, 0).confidence_interval(0.95)
    assert_allclose(half_width(frames[0]), (interval.high - interval.low) / 2)
    interval = ttest_ind(one, other, equal_var=False).confidence_interval(0.95)
    assert_allclose(half_width(*frames), (interval.high - interval.low) / 2)
    alone = pd.DataFrame([[50.0, 0.0, 1], [50.0, 0.0, 5]], columns=columns)
    assert_allclose(half_width(alone), [np.nan, 0.0])


def test_chosen_setting_is_confirmed_and_stays_chosen():
    method = Method("NSMVC", "NSMVC", grid={"pace_start": (0.3, 0.5)}, confirm=4)
    entries = protocol_of(method, repeats=2).entries(TEXAS)
    scores = [0.5, 0.6, 0.7, 0.5]
    outcomes = {
        entry.run: Outcome(acc=acc, purity=acc, nmi=acc, seconds=1.0, peak_mb=1.0)
        for entry, acc in zip(entries, scores, strict=True)
    }
    more = confirm_settings(entries, outcomes)
    assert [(e.run.params, e.run.repeat) for e in more] == [
        ('{"pace_start":0.5}', 2),
        ('{"pace_start":0.5}', 3),
    ]
    # Further repeats are worse than the rejected setting, which had no such chance.
    low = Outcome(acc=0.1, purity=0.1, nmi=0.1, seconds=1.0, peak_mb=1.0)
    outcomes |= {entry.run: low for entry in more}
    assert confirm_settings(entries, outcomes) == more
    found = cell(build_cells(collect([*entries, *more], outcomes)), "NSMVC")
    assert found.params == '{"pace_start":0.5}'
    assert found.runs == 4
    assert found.mean == pytest.approx(100 * (0.7 + 0.5 + 0.1 + 0.1) / 4)


def test_reconstructions_are_marked_in_every_form():
    protocol = protocol_of(Method("SAMVC", "SAMVC"), Method("AMGL", "AMGL"))
    cells = cells_of(protocol, {"SAMVC": [50, 60, 40, 50], "AMGL": [50] * 4})
    text = to_markdown("toy", "texas", cells)
    assert "| SAMVC ‡ |" in text
    assert "| AMGL |" in text
    assert "‡ SAMVC: a reconstruction" in text
    assert r"SAMVC$^\ddagger$" in to_latex("toy", "texas", cells)
    lines = csv.DictReader(io.StringIO(to_csv("texas", cells)))
    assert {(x["method"], x["reconstructed"]) for x in lines} == {
        ("SAMVC", "True"),
        ("AMGL", "False"),
    }
    assert sentences(cells)[0].startswith("SAMVC (reconstruction): ")


def test_rows_with_other_numbers_of_runs_are_named():
    few = Method("AMGL", "AMGL", repeats=2)
    protocol = protocol_of(Method("DMVC", "DMVC"), Method("MSPL", "MSPL"), few)
    scores = {"DMVC": [50] * 4, "MSPL": [50] * 4, "AMGL": [50] * 2}
    assert "over 4 runs (AMGL: 2);" in table_notes(cells_of(protocol, scores))[0]
