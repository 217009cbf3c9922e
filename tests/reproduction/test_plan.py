from dataclasses import replace

import pytest

from manyview.exceptions import DatasetError
from reproduction.plan import (
    LABELS,
    VIEW_LABELS,
    canonical,
    confirmations,
    find_estimator,
    seed_for,
)
from reproduction.protocols import (
    ABLATION,
    FIXED,
    GRID,
    LIKE,
    MORE_SETS,
    PAPER,
    PROTOCOLS,
    RECONSTRUCTED,
    SIX_SETS,
)
from tests.reproduction.conftest import protocol_of, runs_of, toy
from tests.reproduction.toys import Steady


def test_seed_is_fixed_for_ever():
    # The first eight hex digits of `printf handwritten/0 | sha256sum`, halved.
    assert seed_for("handwritten", 0) == 169544989


def test_seed_differs_between_repeats_and_datasets_and_fits_numpy():
    seeds = [seed_for(d, r) for d in ("handwritten", "texas") for r in range(30)]
    assert len(set(seeds)) == 60
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_every_method_gets_the_same_seeds(data):
    plan = runs_of(protocol_of(toy("Steady"), toy("Failing")), data)
    by_method = {}
    for run in plan:
        by_method.setdefault(run.method, []).append(run.seed)
    first, second = by_method.values()
    assert first == second == [seed_for("pairs", r) for r in range(4)]


def test_parameters_do_not_depend_on_their_order():
    assert canonical({"b": 1, "a": 0.5}) == canonical({"a": 0.5, "b": 1})
    assert canonical({"b": 1, "a": 0.5}) == '{"a":0.5,"b":1}'


def test_paper_protocol_tunes_nsmvc_over_the_papers_grid_only():
    tuned = {m.label: m for m in PAPER.methods if m.grid}
    assert list(tuned) == ["NSMVC", "NSMVC from samples"]
    assert tuned["NSMVC"].grid == tuned["NSMVC from samples"].grid == GRID
    settings = [params for _, params in tuned["NSMVC"].settings(n_views=2)]
    grid = {(s["pace_start"], s["n_paces"]) for s in settings}
    alphas = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
    assert grid == {(a, t) for a in alphas for t in (3, 4, 5, 6, 7, 8)}
    assert len(settings) == 36


def test_paper_protocol_runs_every_method_from_a_single_start():
    assert PAPER.repeats == 30
    for method in PAPER.methods:
        assert method.params["n_init"] == 1


def test_paper_protocol_names_the_scaling_of_every_method():
    scalings = {m.label: m.params["scale"] for m in PAPER.methods}
    assert [label for label, scale in scalings.items() if scale is None] == [
        "KM",
        "KM(All)",
        "Co-train (averaged)",
        "Co-train (concatenated)",
        "Co-reg",
        "AMGL",
    ]
    assert scalings["MVKKM"] == "zscore"
    rest = [
        m for m in PAPER.methods if m.estimator in (*RECONSTRUCTED, "DMVC", "NSMVC")
    ]
    assert {scalings[m.label] for m in rest} == {"minmax"}


def test_paper_protocol_repeats_nsmvcs_own_rows_a_hundred_times(data):
    for method in PAPER.methods:
        own = method.estimator == "NSMVC"
        assert max(method.repeats or 0, method.confirm) == (100 if own else 0)
    labels = [e.label for e in PAPER.entries(data)]
    assert labels.count("NSMVC (0.5, 6)") == 100
    assert labels.count("AMGL") == 30


def test_confirmations_go_on_where_tuning_stopped(data):
    tuned = next(m for m in PAPER.methods if m.grid)
    *_, last = replace(PAPER, methods=(tuned,), repeats=3).entries(data)
    more = confirmations(last)
    assert [entry.run.repeat for entry in more] == list(range(3, 100))
    assert [entry.run.seed for entry in more[:2]] == [
        seed_for("pairs", 3),
        seed_for("pairs", 4),
    ]
    assert {entry.run.params for entry in more} == {last.run.params}


def test_like_for_like_protocol_touches_no_parameter_and_is_not_compared(data):
    assert LIKE.datasets == (*SIX_SETS, *MORE_SETS)
    assert len(LIKE.datasets) == 16
    for method in LIKE.methods:
        assert method.params == {}
        assert method.grid == {}
        parameters = find_estimator(method.estimator)().get_params()
        assert parameters.get("scale", "auto") == "auto"
        assert parameters.get("n_init", 10) in (2, 10)
    assert {entry.printed for entry in LIKE.entries(data)} == {""}


def test_ablation_changes_one_thing_at_a_time(data):
    whole, *others = ABLATION.methods
    published = next(m for m in PAPER.methods if m.label == "NSMVC (0.5, 6)")
    assert whole.params == published.params
    changes = [dict(m.params.items() - whole.params.items()) for m in others]
    assert changes == [
        {"fusion": "linear"},
        {"n_paces": 1},
        {"fusion": "linear", "n_paces": 1},
    ]
    # The same runs as those of the table.
    first = replace(ABLATION, methods=(whole,)).entries(data)
    second = replace(PAPER, methods=(published,)).entries(data)
    assert [e.run for e in first] == [e.run for e in second]


def test_co_training_is_scored_in_both_ways(data):
    scored = {m.label: m.scored for m in PAPER.methods if m.estimator == "CoTrain"}
    assert scored == {
        "Co-train (averaged)": VIEW_LABELS,
        "Co-train (concatenated)": LABELS,
    }
    entries = PAPER.entries(data)
    printed = {e.printed for e in entries if e.run.method == "CoTrain"}
    assert printed == {"Co-train"}


def test_method_for_each_view_makes_one_row_per_view(data):
    entries = replace(PAPER, methods=PAPER.methods[:1], repeats=1).entries(data)
    assert [e.label for e in entries] == [e.printed for e in entries]
    assert [(e.label, e.run.params) for e in entries] == [
        ("KM(1)", '{"n_init":1,"n_local_trials":1,"scale":null,"view":0}'),
        ("KM(2)", '{"n_init":1,"n_local_trials":1,"scale":null,"view":1}'),
    ]


def test_untuned_nsmvc_is_one_of_the_grids_settings(data):
    for pair in (PAPER.methods[-4:-2], PAPER.methods[-2:]):
        tuned, fixed = (replace(PAPER, methods=(m,)) for m in pair)
        assert set(runs_of(fixed, data)[:30]) < set(runs_of(tuned, data))
        assert len(runs_of(tuned, data)) == 36 * 30
        assert {entry.printed for entry in fixed.entries(data)} == {"NSMVC"}
        assert FIXED.items() <= pair[1].params.items()


def test_noise_experiment_shares_the_clean_runs_with_the_tables(data):
    noise = replace(PAPER.noise, views={"pairs": "left"}, shares=(0.0, 0.5))
    runs = [e.run for e in replace(PAPER, noise=noise).noise_entries(data)]
    # Neither k-means on single views nor tuned methods nor second readings.
    assert len(runs) == 10 * 2 * 5
    clean = {run for run in runs if not run.noise}
    assert clean <= set(runs_of(PAPER, data))
    assert {run.noise for run in set(runs) - clean} == {"left:0.5"}
    assert (
        replace(PAPER, noise=noise, repeats=2).noise_entries(data)[-1].run.repeat == 1
    )


def test_noise_experiment_needs_the_data_set(data):
    assert PAPER.noise_entries(data) == []


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_setting_of_a_protocol_is_one_its_estimator_knows(name):
    for method in PROTOCOLS[name].methods:
        known = find_estimator(method.estimator)().get_params()
        for _, params in method.settings(n_views=2):
            assert params.keys() <= known.keys()


def test_find_estimator_takes_an_import_path():
    assert find_estimator("tests.reproduction.toys:Steady") is Steady


@pytest.mark.parametrize(
    "path", ["no.such.module:Method", "tests.reproduction.toys:Sturdy", "NSMCV"]
)
def test_find_estimator_says_what_cannot_be_imported(path):
    with pytest.raises(DatasetError, match=f"Cannot import the method '{path}'.*NSMVC"):
        find_estimator(path)
