from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from manyview.bench import MethodEntry, Outcome, Robustness, seed_for
from manyview.bench._experiments import (
    robustness_curves,
    sensitivity,
    trace_convergence,
)
from manyview.bench._export import runs_to_csv
from manyview.bench._plan import (
    corruption_for,
    plan_robustness,
    plan_tables,
    runs_of,
    table_rows,
)
from tests.bench.conftest import protocol_of, toy


def ok(acc):
    return Outcome(status="ok", acc=acc, purity=acc, nmi=acc / 2)


def test_sensitivity_puts_means_where_their_setting_is(data):
    entry = MethodEntry(
        label="NSMVC",
        estimator="NSMVC",
        grid={"pace_start": [0.3, 0.5], "n_paces": [3, 6, 8]},
    )
    protocol = protocol_of(entry, repeats=2)
    (row,) = table_rows(protocol, data)
    outcomes = {}
    for position, runs in enumerate(runs_of(data, row, 2)):
        for shift, run in zip((-0.01, 0.01), runs, strict=True):
            outcomes[run.key] = ok(position / 10 + shift)
    del (
        outcomes[runs_of(data, row, 2)[5][0].key],
        outcomes[runs_of(data, row, 2)[5][1].key],
    )
    grid = sensitivity(protocol, data, outcomes)
    assert_allclose(grid.scores["acc"], [[0, 10, 20], [30, 40, np.nan]], atol=1e-9)
    assert_allclose(grid.scores["nmi"], [[0, 5, 10], [15, 20, np.nan]], atol=1e-9)


def test_sensitivity_is_none_without_a_grid(data):
    assert sensitivity(protocol_of(toy("Steady")), data, {}) is None


@pytest.fixture
def noisy_protocol():
    noise = Robustness(
        views={"pairs": "left"}, shares=(0.0, 0.5), repeats=2, skip=("b",)
    )
    protocol = protocol_of(toy("Steady", "a"), toy("Steady", "b", wrong=0.1))
    return replace(protocol, robustness=noise)


def test_robustness_curves_are_means_per_share(data, noisy_protocol):
    (row,) = [r for r in table_rows(noisy_protocol, data) if r.label == "a"]
    outcomes = {}
    for share, scores in ((0.0, (0.8, 1.0)), (0.5, (0.4, 0.5))):
        corruption = corruption_for(noisy_protocol, "pairs", share)
        (runs,) = runs_of(data, row, 2, corruption)
        outcomes |= {r.key: ok(s) for r, s in zip(runs, scores, strict=True)}
    assert outcomes.keys() == {r.key for r in plan_robustness(noisy_protocol, [data])}
    curves = robustness_curves(noisy_protocol, data, outcomes)
    assert list(curves.means) == ["a"]
    assert_allclose(curves.means["a"], [90, 45])
    # Two values d apart deviate by d / sqrt(2).
    assert_allclose(curves.stds["a"], [20 / 2**0.5, 10 / 2**0.5])


def test_robustness_curves_need_the_experiment_on_this_set(data, noisy_protocol):
    other = replace(noisy_protocol.robustness, views={"texas": "content"})
    protocol = replace(noisy_protocol, robustness=other)
    assert robustness_curves(protocol, data, {}) is None
    assert plan_robustness(protocol, [data]) == []


def test_trace_convergence_falls_within_every_pace(data):
    traces = trace_convergence(data, repeats=2)
    assert [trace.repeat for trace in traces] == [0, 1]
    for trace in traces:
        assert {record.pace for record in trace.history} == set(range(1, 7))
        for pace in range(1, 7):
            values = [r.objective for r in trace.history if r.pace == pace]
            assert np.all(np.diff(values) <= 1e-12)


def test_runs_to_csv_has_a_line_per_finished_run(data):
    plan = plan_tables(protocol_of(toy("Steady"), repeats=3), [data])
    outcomes = {
        plan[0].key: replace(ok(0.5), ari=0.25, seconds=1.23456, peak_mb=10.04),
        plan[2].key: Outcome(status="failed", error="it, broke"),
    }
    lines = runs_to_csv(plan + plan, outcomes).splitlines()
    version = plan[0].version
    checksum = data.checksum[:12]
    head = f"pairs,{checksum},tests.bench.toys:Steady,{{}},,"
    assert lines[1:] == [
        f"{head}0,{seed_for('pairs', 0)},0.500000,0.500000,0.250000,0.250000,1.2346,"
        f"10.0,,ok,,,{version}",
        f'{head}2,{seed_for("pairs", 2)},,,,,,,,failed,,"it, broke",{version}',
    ]
