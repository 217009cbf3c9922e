from dataclasses import replace

import pytest

from manyview.exceptions import DatasetError
from reproduction.plan import (
    DEFAULT,
    PAPER,
    PROTOCOLS,
    Noise,
    canonical,
    find_estimator,
    seed_for,
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
    assert list(tuned) == ["NSMVC"]
    settings = [params for _, params in tuned["NSMVC"].settings(n_views=2)]
    grid = {(s["pace_start"], s["n_paces"]) for s in settings}
    alphas = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
    assert grid == {(a, t) for a in alphas for t in (3, 4, 5, 6, 7, 8)}
    assert len(settings) == 36


def test_paper_protocol_runs_every_method_from_a_single_start():
    assert PAPER.repeats == 30
    for method in PAPER.methods:
        assert method.params["n_init"] == 1


def test_default_protocol_touches_no_parameter_and_is_not_compared(data):
    for method in DEFAULT.methods:
        assert method.params == {}
        assert method.grid == {}
    assert {entry.printed for entry in DEFAULT.entries(data)} == {""}


def test_method_for_each_view_makes_one_row_per_view(data):
    entries = replace(PAPER, methods=PAPER.methods[:1], repeats=1).entries(data)
    assert [e.label for e in entries] == [e.printed for e in entries]
    assert [(e.label, e.run.params) for e in entries] == [
        ("KM(1)", '{"n_init":1,"scale":null,"view":0}'),
        ("KM(2)", '{"n_init":1,"scale":null,"view":1}'),
    ]


def test_untuned_nsmvc_is_one_of_the_grids_settings(data):
    tuned, fixed = (replace(PAPER, methods=(m,)) for m in PAPER.methods[-2:])
    assert set(runs_of(fixed, data)) < set(runs_of(tuned, data))
    assert len(runs_of(tuned, data)) == 36 * 30
    assert {entry.printed for entry in fixed.entries(data)} == {"NSMVC"}


def test_noise_experiment_shares_the_clean_runs_with_the_tables(data):
    noise = Noise(views={"pairs": "left"}, shares=(0.0, 0.5), repeats=5)
    runs = [e.run for e in replace(PAPER, noise=noise).noise_entries(data)]
    # Neither k-means on single views nor the tuned method.
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
