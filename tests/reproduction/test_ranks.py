"""Ranks over data sets: known critical values, ties, groups."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from reproduction import plots
from reproduction.ranks import (
    critical_difference,
    indistinct_groups,
    rank_methods,
    ranking_table,
)


@pytest.mark.parametrize(
    ("n_methods", "quantile"), [(2, 1.960), (5, 2.728), (10, 3.164)]
)
def test_critical_difference_has_the_published_quantiles(n_methods, quantile):
    # Demsar (2006), table 5a: q at 5 % divided by the root of 2.
    spread = np.sqrt(n_methods * (n_methods + 1) / (6 * 16))
    found = critical_difference(n_methods, 16)
    assert found == pytest.approx(quantile * spread, abs=1e-3)


def cells_of(scores):
    return pd.DataFrame(
        {
            "protocol": "p",
            "metric": "nmi",
            "dataset": dataset,
            "label": label,
            "reconstructed": label == "c",
            "mean": value,
        }
        for label, values in scores.items()
        for dataset, value in zip(("u", "v", "w"), values, strict=True)
    )


def test_ranks_by_hand():
    # Ranks of a: 1, 2, 1.5; of b: 2, 1, 1.5; of c: 3 throughout. Set w differs between
    # a and b by rounding only.
    cells = cells_of({"c": [1, 2, 3], "b": [5, 9, 7], "a": [6, 8, 7 + 1e-12]})
    ranking = rank_methods(cells, "p", "nmi")
    assert ranking.mean_ranks.to_dict() == {"b": 1.5, "a": 1.5, "c ‡": 3.0}
    assert list(ranking.scores) == ["b", "a", "c ‡"]
    assert ranking.p_value < 0.2
    table = ranking_table(ranking)
    assert table.rows[-1] == ["Mean rank", 1.5, 1.5, 3.0]
    assert_allclose(table.rows[-2][1:], [7.0, 7.0, 2.0])


def test_a_data_set_without_all_methods_is_left_out():
    cells = cells_of({"a": [1, 2, 3], "b": [5, np.nan, 7]})
    ranking = rank_methods(cells, "p", "nmi")
    assert list(ranking.scores.index) == ["u", "w"]
    assert np.isnan(ranking.p_value)
    assert rank_methods(cells_of({"a": [1, 2, 3]}), "p", "nmi") is None


def test_groups_are_the_largest_that_fit():
    ranks = pd.Series({"d": 4.0, "a": 1.0, "b": 1.5, "c": 2.4, "e": 6.0})
    assert indistinct_groups(ranks, 1.0) == [["a", "b"], ["b", "c"]]
    assert indistinct_groups(ranks, 2.0) == [["a", "b", "c"], ["c", "d"], ["d", "e"]]
    assert indistinct_groups(ranks, 0.1) == []
    assert indistinct_groups(ranks, 9.0) == [["a", "b", "c", "d", "e"]]


def test_rank_diagram_puts_bars_and_names_at_the_ranks():
    ranks = pd.Series({"a": 1.0, "b": 1.5, "c": 2.5})
    with plots.paper_style():
        figure = plots.plot_ranks(ranks, 0.7, [["a", "b"]], "t")
    spans = [list(np.round(line.get_xdata(), 9)) for line in figure.axes[0].lines]
    assert [1, 1.7] in spans
    assert [0.95, 1.55] in spans
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert {"a  1.0", "b  1.5", "c  2.5"} <= texts
