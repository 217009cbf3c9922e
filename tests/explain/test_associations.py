"""Associations against literal transcriptions, SciPy, lifelines and statsmodels."""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from manyview import ViewError
from manyview._extras import MissingExtraError
from manyview.explain import associate
from manyview.explain._features import adjust_p_values
from tests.explain.test_features import adjusted


@pytest.fixture
def clinic():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, size=120)
    columns = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], size=120),
            "stage": np.where(rng.random(120) < 0.6, labels, rng.integers(0, 3, 120)),
            "age": rng.normal(60, 8, size=120) + 4 * labels,
            "days": rng.exponential(100 * (1 + labels)),
            "dead": rng.random(120) < 0.7,
        }
    )
    columns["stage"] = columns["stage"].map({0: "I", 1: "II", 2: "III"})
    columns.loc[[3, 7], "age"] = np.nan
    columns.loc[5, "sex"] = None
    return labels, columns


def chi_square_by_hand(labels, values):
    statistic = 0.0
    for cluster in np.unique(labels):
        for kind in np.unique(values):
            seen = ((labels == cluster) & (values == kind)).sum()
            expected = (labels == cluster).sum() * (values == kind).sum() / len(labels)
            statistic += (seen - expected) ** 2 / expected
    return statistic


def kruskal_by_hand(labels, values):
    ranks = stats.rankdata(values)
    n = len(values)
    total = sum(
        ranks[labels == cluster].sum() ** 2 / (labels == cluster).sum()
        for cluster in np.unique(labels)
    )
    return 12 / (n * (n + 1)) * total - 3 * (n + 1)


def log_rank_by_hand(times, groups, events):
    """The quadratic form of observed less expected events, over all event times."""
    kinds = np.unique(groups)
    excess, covariance = np.zeros(len(kinds)), np.zeros((len(kinds), len(kinds)))
    for time in np.unique(times[events]):
        at_risk = np.array([((groups == g) & (times >= time)).sum() for g in kinds])
        dying = np.array(
            [((groups == g) & (times == time) & events).sum() for g in kinds]
        )
        n, d = at_risk.sum(), dying.sum()
        excess += dying - at_risk * d / n
        if n > 1:
            share = at_risk / n
            spread = d * (n - d) / (n - 1)
            covariance += spread * (np.diag(share) - np.outer(share, share))
    inverse = np.linalg.pinv(covariance)
    return float(excess @ inverse @ excess)


def test_categories_are_tested_by_chi_square(clinic):
    labels, columns = clinic
    found = {one.column: one for one in associate(labels, columns[["sex", "stage"]])}
    for name, one in found.items():
        has = columns[name].notna().to_numpy()
        values = columns[name][has].to_numpy(dtype=str)
        expected = chi_square_by_hand(labels[has], values)
        freedom = 2 * (len(np.unique(values)) - 1)
        assert one.test == "chi-square"
        assert_allclose(one.statistic, expected)
        assert_allclose(one.p_value, stats.chi2.sf(expected, freedom))
        smaller = min(3, len(np.unique(values))) - 1
        assert_allclose(one.effect, math.sqrt(expected / has.sum() / smaller))
        assert one.n_samples == has.sum()
    assert found["stage"].p_value < 1e-6 < found["sex"].p_value
    assert found["stage"].per_cluster[1].startswith("II (")


def test_a_table_of_two_by_two_is_not_corrected():
    labels = np.repeat([0, 1], 20)
    values = np.array(["f", "m"])[np.r_[np.arange(20) < 14, np.arange(20) < 6] * 1]
    (one,) = associate(labels, {"sex": values})
    assert_allclose(one.statistic, chi_square_by_hand(labels, values))
    assert_allclose(one.p_value, stats.chi2.sf(one.statistic, 1))


def test_numbers_are_tested_by_kruskal_wallis(clinic):
    labels, columns = clinic
    (one,) = associate(labels, {"age": columns["age"]})
    has = columns["age"].notna().to_numpy()
    expected = kruskal_by_hand(labels[has], columns["age"][has].to_numpy())
    assert one.test == "Kruskal-Wallis"
    assert_allclose(one.statistic, expected)
    assert_allclose(one.p_value, stats.chi2.sf(expected, 2))
    assert_allclose(one.effect, expected / (has.sum() - 1))
    median = np.nanmedian(columns["age"][labels == 2])
    assert one.per_cluster[2] == f"{median:.4g}"


def test_two_numbers_and_truth_values_are_categories(clinic):
    labels, columns = clinic
    found = associate(labels, {"code": labels % 2, "dead": columns["dead"]})
    assert [one.test for one in found] == ["chi-square", "chi-square"]


def test_p_values_are_adjusted_over_all_columns(clinic):
    labels, columns = clinic
    found = associate(labels, columns.assign(constant=1, name=range(120)))
    tested = [one for one in found if one.test]
    assert_allclose([o.fdr for o in tested], adjusted([o.p_value for o in tested]))
    assert {one.column: one.note for one in found if not one.test} == {
        "constant": "all values are the same"
    }


def test_columns_that_cannot_be_tested_say_why():
    labels = [0, 0, 1, 1]
    found = associate(
        labels, {"id": ["a", "b", "c", "d"], "half": [1.0, 2.0, np.nan, np.nan]}
    )
    assert [one.note for one in found] == [
        "all values differ",
        "fewer than two clusters have values",
    ]
    assert all(np.isnan([one.p_value, one.fdr]).all() for one in found)


def test_small_tables_are_called_rough():
    (one,) = associate([0, 0, 1, 1], {"sex": ["f", "f", "m", "m"]})
    assert one.note.startswith("rough")


def test_noise_is_left_out(clinic):
    labels, columns = clinic
    noisy = np.where(np.arange(120) < 20, -1, labels)
    kept = associate(labels[20:], columns[20:])
    assert [o.p_value for o in associate(noisy, columns)] == [o.p_value for o in kept]


def test_survival_without_lifelines_names_the_extra(clinic, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "lifelines.statistics", None)
    with pytest.raises(MissingExtraError, match=r"lifelines.*manyview\[survival\]"):
        associate(*clinic, survival=("days", "dead"))


@pytest.mark.parametrize(
    ("columns", "survival", "message"),
    [
        ({"a": [1, 2, 3]}, None, "Column 'a' has 3 values for 4 samples"),
        (pd.DataFrame({"a": [1, 2]}), None, "'a' has 2 values for 4 samples"),
        ({"a": [1, 2, 3, 4]}, ("a", "b"), r"No column is called 'b'; .*\['a'\]"),
        ({"a": [1, 2, 3, 4], "b": list("xyxy")}, ("a", "b"), "must be numbers"),
        ({"a": [1, 2, 3, -4], "b": [0, 1, 0, 1]}, ("a", "b"), "times from 0 in 'a'"),
        ({"a": [1, 2, 3, 4], "b": [0, 2, 0, 1]}, ("a", "b"), "events 0 or 1 in 'b'"),
    ],
)
def test_columns_that_do_not_fit_are_refused(columns, survival, message):
    with pytest.raises(ViewError, match=message):
        associate([0, 0, 1, 1], columns, survival=survival)


@pytest.mark.companions
@pytest.mark.filterwarnings("ignore")
def test_survival_is_tested_by_log_rank(clinic):
    pytest.importorskip("lifelines")
    labels, columns = clinic
    first, *others = associate(labels, columns, survival=("days", "dead"))
    times, events = columns["days"].to_numpy(), columns["dead"].to_numpy()
    expected = log_rank_by_hand(times, labels, events)
    assert (first.column, first.test) == ("days, dead", "log-rank")
    assert_allclose(first.statistic, expected)
    assert_allclose(first.p_value, stats.chi2.sf(expected, 2))
    deaths = events[labels == 1].sum()
    assert first.per_cluster[1] == f"{deaths} of {(labels == 1).sum()}"
    assert [one.column for one in others] == ["sex", "stage", "age"]


@pytest.mark.companions
@pytest.mark.filterwarnings("ignore")
def test_adjusted_p_values_are_those_of_statsmodels():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    rng = np.random.default_rng(0)
    for n in (1, 2, 50):
        p_values = rng.random(n) ** 3
        expected = multitest.multipletests(p_values, method="fdr_bh")[1]
        assert_allclose(adjust_p_values(p_values), expected)
