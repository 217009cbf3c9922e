from pathlib import Path

import pytest

from manyview.bench import find_estimator, list_protocols, load_protocol
from manyview.exceptions import DatasetError


def test_list_protocols():
    assert list_protocols() == ("default", "paper", "quick")


def test_paper_protocol_tunes_nsmvc_over_the_papers_grid_only():
    rows = [row for e in load_protocol("paper").methods for row in e.rows(2)]
    tuned = {row.label: row for row in rows if row.tuned}
    assert list(tuned) == ["NSMVC"]
    grid = {(s["pace_start"], s["n_paces"]) for s in tuned["NSMVC"].settings}
    alphas = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
    assert grid == {(a, t) for a in alphas for t in (3, 4, 5, 6, 7, 8)}
    assert len(tuned["NSMVC"].settings) == 36


def test_paper_protocol_runs_every_method_from_a_single_start():
    protocol = load_protocol("paper")
    assert protocol.repeats == 30
    for entry in protocol.methods:
        assert entry.params["n_init"] == 1


def test_default_protocol_touches_no_parameter():
    for entry in load_protocol("default").methods:
        assert entry.params == {}
        assert entry.grid == {}


def test_entry_for_each_view_makes_one_row_per_view():
    km = load_protocol("paper").methods[0]
    rows = km.rows(3)
    assert [row.label for row in rows] == ["KM(1)", "KM(2)", "KM(3)"]
    assert [row.settings for row in rows] == [
        ({"n_init": 1, "view": v},) for v in range(3)
    ]


def test_restrict_keeps_the_protocols_order():
    protocol = load_protocol("paper").restrict(
        methods=["NSMVC", "AMGL"], datasets=["texas"], repeats=2
    )
    assert [entry.label for entry in protocol.methods] == ["AMGL", "NSMVC"]
    assert protocol.datasets == ("texas",)
    assert protocol.repeats == 2


@pytest.mark.parametrize(("repeats", "noise"), [(2, 2), (30, 5), (None, 5)])
def test_restrict_repeats_the_noise_experiment_no_more_than_it_says(repeats, noise):
    protocol = load_protocol("paper").restrict(repeats=repeats)
    assert protocol.robustness.repeats == noise


def test_restrict_names_the_known_methods():
    with pytest.raises(DatasetError, match=r"no method 'DBSCAN'. Known: KM, KM\(All\)"):
        load_protocol("paper").restrict(methods=["DBSCAN"])


def test_with_method_takes_label_and_path():
    protocol = load_protocol("quick")
    assert protocol.with_method("a.b:Mine").methods[-1].label == "Mine"
    named = protocol.with_method("Ours=a.b:Mine").methods[-1]
    assert (named.label, named.estimator) == ("Ours", "a.b:Mine")


def test_with_method_refuses_a_label_twice():
    with pytest.raises(DatasetError, match="already has a method 'NSMVC'"):
        load_protocol("quick").with_method("a.b:NSMVC")


def test_load_protocol_reads_a_users_file(tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'title="t"\ndescription="d"\nrepeats=3\ndatasets=["texas"]\n'
        '[[methods]]\nlabel="X"\nestimator="a:B"\n'
    )
    protocol = load_protocol(str(path))
    assert (protocol.name, protocol.repeats) == ("mine", 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("repeats = ", "Invalid value"),
        ("repeats = 3", "KeyError"),
        (
            'title="t"\ndescription="d"\nrepeats=3\ndatasets=[]\n'
            '[[methods]]\nlable="X"\nestimator="a:B"\n',
            "lable",
        ),
    ],
)
def test_load_protocol_says_what_is_wrong_with_a_file(tmp_path, text, message):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(DatasetError, match=message):
        load_protocol(str(path))


def test_load_protocol_names_the_known_ones():
    with pytest.raises(DatasetError, match="Known: default, paper, quick"):
        load_protocol("papre")


@pytest.mark.parametrize("name", ["default", "paper", "quick"])
def test_every_setting_of_a_protocol_is_one_its_estimator_knows(name):
    for entry in load_protocol(name).methods:
        known = find_estimator(entry.estimator)().get_params()
        for row in entry.rows(n_views=2):
            for setting in row.settings:
                assert setting.keys() <= known.keys()
