import csv
import io
import math

import pytest
from scipy.stats import t as student
from scipy.stats import ttest_ind, ttest_ind_from_stats

from manyview.bench import (
    BenchData,
    DataRef,
    MethodEntry,
    Outcome,
    build_table,
    printed_tables,
)
from manyview.bench._plan import runs_of, table_rows
from manyview.bench._summary import shortfalls, summarise, summary_sentences
from manyview.bench._table_text import (
    setting,
    signed,
    table_notes,
    to_csv,
    to_latex,
    to_markdown,
    write_table,
)
from tests.bench.conftest import protocol_of, toy

# Stands for Texas, so that the paper's table 5 applies.
TEXAS = BenchData(
    ref=DataRef(name="texas", kind="registered", location="texas"),
    checksum="c",
    n_samples=187,
    view_names=("citation", "content"),
    n_clusters=5,
)


def finish(protocol, scores):
    """Outcomes with the given ACC per row label and setting; Purity and NMI follow."""
    outcomes = {}
    for row in table_rows(protocol, TEXAS):
        settings = runs_of(TEXAS, row, protocol.repeats)
        for runs, values in zip(settings, scores[row.label], strict=True):
            for run, acc in zip(runs, values, strict=True):
                outcomes[run.key] = (
                    Outcome(status="failed", error="it broke")
                    if acc is None
                    else Outcome(
                        status="ok",
                        acc=acc / 100,
                        purity=(acc + 1) / 100,
                        nmi=acc / 200,
                        seconds=acc,
                        peak_mb=1.0,
                    )
                )
    return outcomes


def test_cell_is_mean_and_sample_deviation_in_per_cent():
    protocol = protocol_of(toy("Steady"))
    table = build_table(
        protocol, TEXAS, finish(protocol, {"Steady": [[50, 60, 40, 50]]})
    )
    cell = table.rows[0].cells["acc"]
    assert cell.mean == pytest.approx(50)
    # Squared deviations 0, 100, 100, 0 over n - 1 = 3.
    assert cell.std == pytest.approx(math.sqrt(200 / 3))
    assert table.rows[0].cells["purity"].mean == pytest.approx(51)
    assert table.rows[0].cells["nmi"].mean == pytest.approx(25)
    assert table.rows[0].seconds == pytest.approx(50)


def test_bold_is_the_best_and_what_a_t_test_cannot_tell_from_it():
    protocol = protocol_of(
        toy("Steady", "best"),
        toy("Steady", "near", wrong=0.1),
        toy("Steady", "far", wrong=0.3),
    )
    # Variances are 8/3: t = 1 / sqrt(2 * 8/3 / 4) = 0.87 for near, 34.6 for far.
    scores = {
        "best": [[70, 72, 68, 70]],
        "near": [[69, 71, 67, 69]],
        "far": [[30, 32, 28, 30]],
    }
    table = build_table(protocol, TEXAS, finish(protocol, scores))
    assert [row.cells["acc"].bold for row in table.rows] == [True, True, False]


def test_bold_rule_is_welchs_test_on_the_runs():
    # Hand-made so that the p-value lies just below and just above 5 %.
    best = [70.0, 74, 66, 70]
    for shift, bold in ((5.2, True), (5.8, False)):
        other = [value - shift for value in best]
        p = ttest_ind(best, other, equal_var=False).pvalue
        assert (p >= 0.05) == bold
        protocol = protocol_of(toy("Steady", "a"), toy("Steady", "b", wrong=0.1))
        outcomes = finish(protocol, {"a": [best], "b": [other]})
        rows = build_table(protocol, TEXAS, outcomes).rows
        assert rows[1].cells["acc"].bold == bold


def test_bold_needs_equal_means_when_nothing_varies():
    protocol = protocol_of(
        toy("Steady", "a"), toy("Steady", "b", wrong=0.1), toy("Steady", "c", wrong=0.3)
    )
    scores = {"a": [[70] * 4], "b": [[70] * 4], "c": [[69.9] * 4]}
    table = build_table(protocol, TEXAS, finish(protocol, scores))
    assert [row.cells["acc"].bold for row in table.rows] == [True, True, False]


def test_comparison_is_welchs_test_from_summary_statistics():
    protocol = protocol_of(toy("Steady", "AMGL"))
    table = build_table(protocol, TEXAS, finish(protocol, {"AMGL": [[50, 60, 40, 50]]}))
    comparison = table.rows[0].cells["acc"].comparison
    # Printed: 56.13 +- 0.43 over 30 runs.
    assert comparison.difference == pytest.approx(50 - 56.13)
    ours, theirs = 200 / 3 / 4, 0.43**2 / 30
    t = (50 - 56.13) / math.sqrt(ours + theirs)
    df = (ours + theirs) ** 2 / (ours**2 / 3 + theirs**2 / 29)
    assert comparison.p_value == pytest.approx(2 * student.sf(abs(t), df))
    assert comparison.verdict == "equal"
    assert not comparison.meets


@pytest.mark.parametrize(
    ("scores", "verdict", "meets"),
    [
        ([66, 66.1, 65.9, 66], "above", True),
        ([46, 46.1, 45.9, 46], "below", False),
        ([56.13, 56.1, 56.16, 56.13], "equal", True),
    ],
)
def test_comparison_verdicts(scores, verdict, meets):
    protocol = protocol_of(toy("Steady", "AMGL"))
    table = build_table(protocol, TEXAS, finish(protocol, {"AMGL": [scores]}))
    comparison = table.rows[0].cells["acc"].comparison
    assert (comparison.verdict, comparison.meets) == (verdict, meets)


def tuned_protocol():
    entry = MethodEntry(
        label="NSMVC",
        estimator="NSMVC",
        grid={"pace_start": [0.3, 0.5], "n_paces": [3, 6]},
    )
    return protocol_of(entry, repeats=2)


def test_tuned_row_shows_the_setting_with_the_best_mean_acc():
    protocol = tuned_protocol()
    scores = {"NSMVC": [[50, 60], [99, 1], [70, 50], [58, 60]]}
    table = build_table(protocol, TEXAS, finish(protocol, scores))
    (row,) = table.rows
    assert row.tuned
    assert row.params == {"pace_start": 0.5, "n_paces": 3}
    assert row.cells["acc"].mean == pytest.approx(60)
    assert "* NSMVC: tuned with labels, alpha = 0.5, T = 3." in table_notes(table)
    assert setting(row) == "alpha = 0.5, T = 3"


def test_failed_and_missing_runs_are_named():
    protocol = protocol_of(toy("Steady", "a"), toy("Failing", "b"))
    outcomes = finish(protocol, {"a": [[1, 2, 3, None]], "b": [[None] * 4]})
    del outcomes[runs_of(TEXAS, table_rows(protocol, TEXAS)[0], 4)[0][0].key]
    table = build_table(protocol, TEXAS, outcomes)
    assert (table.rows[0].n_runs, table.rows[0].n_failed) == (2, 1)
    assert table.rows[0].cells["acc"].mean == pytest.approx(2.5)
    assert table.rows[1].cells == {}
    notes = table_notes(table)
    assert "a: 1 runs failed. it broke" in notes
    assert "a: 1 runs are not done yet." in notes
    assert "b: 4 runs failed. it broke" in notes
    assert "| b | failed | failed | failed |" in to_markdown(table)


def test_results_of_another_version_never_enter(monkeypatch):
    protocol = protocol_of(toy("Steady"))
    outcomes = finish(protocol, {"Steady": [[50, 60, 40, 50]]})
    monkeypatch.setattr("manyview.bench._plan.code_version", lambda _: "other")
    assert build_table(protocol, TEXAS, outcomes).rows[0].n_runs == 0


@pytest.fixture
def table():
    protocol = protocol_of(toy("Steady", "MSPL"), toy("Steady", "a&b", wrong=0.1))
    scores = {"MSPL": [[50, 60, 40, 50]], "a&b": [[90, 91, 89, 90]]}
    return build_table(protocol, TEXAS, finish(protocol, scores))


def test_markdown_shows_ours_printed_and_difference(table):
    lines = to_markdown(table).splitlines()
    assert lines[0] == "### Table 5. Results on Texas (toy protocol)"
    assert lines[4] == (
        "| MSPL | 50.00 ± 8.16 | **56.68 ± 3.85** † | -6.68 "
        "| 51.00 ± 8.16 | 58.97 ± 2.94 | -7.97 | 25.00 ± 4.08 | 11.30 ± 6.30 | +13.70 |"
    )
    assert lines[5].startswith("| a&b | **90.00 ± 0.82** |  |  | **91.00")


@pytest.mark.parametrize(
    ("difference", "text"), [(-0.001, "+0.00"), (-0.006, "-0.01"), (3.456, "+3.46")]
)
def test_signed_has_no_negative_zero(difference, text):
    assert signed(difference) == text


def test_latex_uses_booktabs_and_escapes(table):
    text = to_latex(table)
    assert r"\toprule" in text
    assert r"\textbf{90.00$\pm$0.82}" in text
    assert r"a\&b & " in text
    assert r"\textbf{56.68$\pm$3.85}$^\dagger$" in text
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {line.count(" & ") for line in rows[1:]} == {6}


def test_csv_has_one_line_per_method_and_metric(table):
    lines = list(csv.DictReader(io.StringIO(to_csv(table))))
    assert [(line["method"], line["metric"]) for line in lines] == [
        (method, metric)
        for method in ("MSPL", "a&b")
        for metric in ("acc", "purity", "nmi")
    ]
    assert float(lines[0]["difference"]) == pytest.approx(-6.68)
    assert lines[0]["verdict"] == "equal"
    assert lines[3]["printed_mean"] == ""


def test_write_table_writes_three_files(table, tmp_path):
    names = [path.name for path in write_table(table, tmp_path / "tables")]
    assert names == ["table5-toy.md", "table5-toy.tex", "table5-toy.csv"]
    assert (tmp_path / "tables" / "table5-toy.md").read_text() == to_markdown(table)


def test_summary_counts_cells_and_lists_gaps(table):
    (summary,) = summarise([table])
    assert summary.label == "MSPL"
    assert (summary.above, summary.equal, summary.below) == (1, 2, 0)
    assert summary.meets == 1
    assert summary.mean_difference == pytest.approx((-6.68 - 7.97 + 13.7) / 3)
    assert [cell.metric for cell in shortfalls(summary)] == ["purity", "acc"]
    assert summary_sentences([table]) == [
        "MSPL: 1 of 3 cells reach the printed mean; by t-test 1 lie above print, 2 "
        "cannot be told from it, 0 lie below (mean difference -0.3 points)."
    ]


def test_welch_rule_agrees_with_the_papers_boldface_but_for_the_marked_cells():
    for table in printed_tables().values():
        for metric in ("acc", "purity", "nmi"):
            cells = {label: row[metric] for label, row in table.rows.items()}
            best = max(cells.values(), key=lambda cell: cell.mean)
            for cell in cells.values():
                p = ttest_ind_from_stats(
                    best.mean, best.std, 30, cell.mean, cell.std, 30, equal_var=False
                ).pvalue
                assert (p >= 0.05) == cell.bold or cell.slip
