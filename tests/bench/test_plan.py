from dataclasses import replace

import pytest

from manyview.bench import Corruption, load_protocol, plan_tables, seed_for
from manyview.bench._plan import (
    canonical,
    plan_robustness,
    runs_of,
    table_rows,
    unique_runs,
)
from tests.bench.conftest import protocol_of, toy


def test_seed_is_fixed_for_ever():
    # The first eight hex digits of `printf handwritten/0 | sha256sum`, halved.
    assert seed_for("handwritten", 0) == 169544989


def test_seed_differs_between_repeats_and_datasets_and_fits_numpy():
    seeds = [seed_for(d, r) for d in ("handwritten", "texas") for r in range(30)]
    assert len(set(seeds)) == 60
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_plan_gives_every_method_the_same_seeds(data):
    plan = plan_tables(protocol_of(toy("Steady"), toy("Failing")), [data])
    by_method = {}
    for run in plan:
        by_method.setdefault(run.estimator, []).append(run.seed)
    first, second = by_method.values()
    assert first == second == [seed_for("pairs", r) for r in range(4)]


@pytest.mark.parametrize(
    "change",
    [
        {"checksum": "other"},
        {"n_clusters": 3},
        {"estimator": "tests.bench.toys:Failing"},
        {"params": canonical({"wrong": 0.1})},
        {"corruption": Corruption(view="left", share=0.5)},
        {"repeat": 9},
        {"seed": 9},
        {"version": "0.2.0"},
    ],
)
def test_key_changes_with_everything_that_decides_the_outcome(data, change):
    run = plan_tables(protocol_of(toy("Steady")), [data])[0]
    assert replace(run, **change).key != run.key


def test_key_does_not_depend_on_the_order_of_parameters():
    assert canonical({"b": 1, "a": 0.5}) == canonical({"a": 0.5, "b": 1})
    assert canonical({"b": 1, "a": 0.5}) == '{"a":0.5,"b":1}'


def test_untuned_nsmvc_is_one_of_the_grids_settings(data):
    protocol = load_protocol("paper").restrict(methods=["NSMVC", "NSMVC (0.5, 6)"])
    tuned, fixed = table_rows(protocol, data)
    grid = [runs[0].key for runs in runs_of(data, tuned, 1)]
    (fixed_runs,) = runs_of(data, fixed, 1)
    assert fixed_runs[0].key in grid
    assert len(unique_runs(plan_tables(protocol, [data]))) == 36 * 30


def test_unique_runs_puts_cheap_methods_first(data):
    protocol = load_protocol("paper").restrict(methods=["NSMVC (0.5, 6)"], repeats=1)
    protocol = protocol.with_method("slow=tests.bench.toys:Steady")
    names = [run.estimator for run in unique_runs(plan_tables(protocol, [data]))]
    assert names == ["NSMVC", "tests.bench.toys:Steady"]


def test_plan_robustness_shares_the_clean_runs_with_the_tables(data):
    protocol = load_protocol("paper").restrict(methods=["KM", "NSMVC (0.5, 6)"])
    plan = replace(protocol.robustness, views={"pairs": "left"}, shares=(0.0, 0.5))
    protocol = replace(protocol, robustness=plan, methods=protocol.methods[-1:])
    noisy = plan_robustness(protocol, [data])
    assert [run.variant for run in noisy] == [""] * 5 + ["noise in left: 0.5"] * 5
    tables = {run.key for run in plan_tables(protocol, [data])}
    assert {run.key for run in noisy[:5]} <= tables
    assert not {run.key for run in noisy[5:]} & tables
