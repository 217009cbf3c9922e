import pytest

from manyview.bench import printed_tables
from manyview.bench._published import METRICS
from manyview.datasets import dataset_info


def test_printed_tables_numbers_and_datasets():
    assert [(t.number, t.dataset) for t in printed_tables().values()] == [
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
def test_printed_tables_values_as_in_the_paper(dataset, label, metric, mean, std):
    cell = printed_tables()[dataset].rows[label][metric]
    assert (cell.mean, cell.std) == (mean, std)


def test_printed_tables_have_one_row_per_view_and_method():
    for table in printed_tables().values():
        views = [f"KM({v + 1})" for v in range(len(dataset_info(table.dataset).views))]
        assert list(table.rows) == [
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


def test_printed_tables_bold_nsmvc_in_all_18_cells():
    cells = [t.rows["NSMVC"][m] for t in printed_tables().values() for m in METRICS]
    assert len(cells) == 18
    assert all(cell.bold for cell in cells)


def test_every_impossible_purity_is_marked_as_a_slip():
    for table in printed_tables().values():
        for label, row in table.rows.items():
            impossible = row["purity"].mean <= row["acc"].mean
            assert bool(row["purity"].slip) == impossible or label == "KM(4)"
    marked = {
        (table.number, label)
        for table in printed_tables().values()
        for label, row in table.rows.items()
        if any(cell.slip for cell in row.values())
    }
    assert marked == {
        (3, "KM(4)"),
        (3, "KM(All)"),
        (4, "KM(All)"),
        (5, "MSPL"),
        (5, "DMVC"),
        (6, "Co-reg"),
        (7, "SAMVC"),
    }
