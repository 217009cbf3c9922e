"""Table 1, iterations, deviations, and what moves between machines."""

import numpy as np
import pandas as pd
import pytest

from manyview.datasets import dataset_info
from manyview.exceptions import DatasetError
from reproduction import __main__ as command
from reproduction import machines
from reproduction.claims import (
    ROW,
    _printed_data,
    data_table,
    deviation_table,
    iteration_table,
)
from reproduction.data import describe_data
from reproduction.text import sheet_to_markdown


def test_table_one_shows_ours_beside_print(data):
    (row,) = data_table([describe_data("handwritten"), data]).rows
    sizes = "216, 76, 64, 6, 240, 47"
    assert row == [
        *("Handwritten Numerals", 2000, 2000, 10, 10, sizes, sizes, "as printed")
    ]


def test_printed_table_one_differs_from_the_files_in_two_sizes():
    differing = []
    for name, printed in _printed_data().items():
        sizes = [view.n_features for view in dataset_info(name).views]
        if sizes != printed["features"]:
            differing.append((name, sizes, printed["features"]))
    assert differing == [
        ("texas", [187, 1703], [187, 1398]),
        ("washington", [230, 1703], [230, 2000]),
    ]


def test_iterations_of_the_first_pace_beside_the_claim():
    results = pd.DataFrame(
        {
            "dataset": ["texas"] * 4,
            "label": [ROW, ROW, ROW, "AMGL"],
            "n_iter_first": [10, 15, 20, 1],
            "n_iter": [30, 40, 50, 1],
        }
    )
    (row,) = iteration_table(results).rows
    assert row == ["Texas", 3, 15, 15, 20, pytest.approx(200 / 3), 40]


def test_deviations_count_the_cells_in_which_ours_is_smaller():
    cells = pd.DataFrame(
        {
            "dataset": ["u", "v", "u", "v", "u"],
            "metric": "acc",
            "label": [ROW, ROW, "SAMVC", "SAMVC", "NSMVC"],
            "std": [1.0, 2.0, 3.0, 1.0, 0.0],
            "printed_std": [1.0, 1.0, 0.5, 0.5, 0.0],
            "printed_mean": 50.0,
            "reconstructed": [False, False, True, True, False],
        }
    )
    table = deviation_table(cells)
    assert table.rows == [["SAMVC ‡", 2, 1, 0], ["All", 2, 1, 0]]
    assert sheet_to_markdown(table).splitlines()[-1] == "| All | 2 | 1 | 0 |"


def test_movement_is_the_largest_change_of_a_run_and_of_the_mean():
    lines = [
        ("A", "Haswell", 0, 50.0),
        ("A", "Nehalem", 0, 50.0),
        ("A", "Haswell", 1, 60.0),
        ("A", "Nehalem", 1, 64.0),
        ("B", "Haswell", 0, 70.0),
        ("B", "Nehalem", 0, 70.0 + 1e-12),
    ]
    results = pd.DataFrame(lines, columns=["label", "core", "repeat", "acc"])
    results = results.assign(
        dataset="texas",
        purity=results["acc"],
        nmi=1.0,
        reconstructed=results["label"] == "B",
    )
    table = machines.movement_table(results, ["Haswell", "Nehalem"])
    assert table.rows[0] == ["Texas", "A", 2, 1, 4, 4, 0, 2, 2, 0]
    assert table.rows[1][:4] == ["Texas", "B ‡", 1, 0]
    assert np.allclose(table.rows[1][4:], 0)


def test_machines_run_the_published_protocol_without_the_grid():
    protocol = machines.cut_down(2)
    labels = [method.label for method in protocol.methods]
    assert "NSMVC (0.5, 6)" in labels
    assert "DMVC" in labels
    assert not any(m.grid or m.repeats or m.confirm for m in protocol.methods)
    assert protocol.repeats == 2


def test_machines_command_runs_both_core_types(source, tmp_path, capfd):
    out = tmp_path / "out"
    given = ["machines", "--datasets", source, "--repeats", "1", "--out", str(out)]
    code = command.main(given)
    said = capfd.readouterr()
    if "chose the same kernels" in said.err:
        pytest.skip("this processor has no second core type")
    assert code == 0
    text = (out / "tables" / "machines.md").read_text()
    assert text in said.out
    assert "| pairs | NSMVC (0.5, 6) | 1 | 0 |" in text


def test_machines_refuse_to_compare_a_machine_with_itself():
    machines.check_kernels(pd.Series(["a", "b", "a"]), ["Haswell", "Nehalem"])
    with pytest.raises(DatasetError, match="Haswell and Nehalem chose the same"):
        machines.check_kernels(pd.Series(["a", "a"]), ["Haswell", "Nehalem"])
