import pytest
from scipy.stats import ttest_ind_from_stats

from manyview.datasets import dataset_info
from reproduction.tables import METRICS, printed_cells, titles


def test_printed_tables_numbers_and_datasets():
    assert [(number, dataset) for dataset, (number, _) in titles().items()] == [
        (2, "handwritten"),
        (3, "msrcv1"),
        (4, "cornell"),
        (5, "texas"),
        (6, "washington"),
        (7, "wisconsin"),
    ]


@pytest.mark.parametrize(
    ("dataset", "label", "metric", "mean", "std"),
    [
        ("handwritten", "KM(1)", "acc", 57.71, 4.98),
        ("handwritten", "NSMVC", "nmi", 89.10, 2.25),
        ("msrcv1", "DMVC", "acc", 62.57, 10.49),
        ("cornell", "AMGL", "nmi", 3.74, 0.37),
        ("texas", "KM(2)", "nmi", 16.18, 10.90),
        ("washington", "AMGL", "purity", 48.26, 0.00),
        ("wisconsin", "NSMVC", "purity", 73.70, 1.73),
    ],
)
def test_printed_values_as_in_the_paper(dataset, label, metric, mean, std):
    cells = printed_cells().set_index(["dataset", "printed", "metric"])
    cell = cells.loc[(dataset, label, metric)]
    assert (cell["printed_mean"], cell["printed_std"]) == (mean, std)


def test_printed_tables_have_one_row_per_view_and_method():
    for dataset, table in printed_cells().groupby("dataset"):
        views = [f"KM({v + 1})" for v in range(len(dataset_info(dataset).views))]
        assert list(table["printed"].unique()) == [
            *views,
            "KM(All)",
            "Co-train",
            "Co-reg",
            "MVKKM",
            "AMGL",
            "CAMVC",
            "MSPL",
            "SAMVC",
            "DMVC",
            "NSMVC",
        ]
        assert len(table) == len(METRICS) * (len(views) + 10)


def test_printed_tables_bold_nsmvc_in_all_18_cells():
    bold = printed_cells().query("printed == 'NSMVC'")["printed_bold"]
    assert len(bold) == 18
    assert bold.all()


def test_every_impossible_purity_is_marked_as_a_slip():
    cells = printed_cells().set_index(["table", "printed", "metric"])
    means = cells["printed_mean"].unstack("metric")
    impossible = means[means["purity"] <= means["acc"]].index
    slips = cells["slip"].unstack("metric")
    assert (slips.loc[impossible, "purity"] != "").all()
    assert set(slips.index[(slips != "").any(axis=1)]) == {
        (3, "KM(4)"),
        (3, "KM(All)"),
        (4, "KM(All)"),
        (5, "MSPL"),
        (5, "DMVC"),
        (6, "Co-reg"),
        (7, "SAMVC"),
    }


def test_welch_rule_agrees_with_the_papers_boldface_but_for_the_marked_cells():
    for _, column in printed_cells().groupby(["table", "metric"]):
        best = column.loc[column["printed_mean"].idxmax()]
        for _, cell in column.iterrows():
            p = ttest_ind_from_stats(
                best["printed_mean"],
                best["printed_std"],
                30,
                cell["printed_mean"],
                cell["printed_std"],
                30,
                equal_var=False,
            ).pvalue
            assert (p >= 0.05) == cell["printed_bold"] or cell["slip"]
