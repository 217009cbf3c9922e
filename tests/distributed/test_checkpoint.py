"""A fit that was broken off goes on, to the same result."""

import json

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from manyview.distributed import DaskNSMVC
from manyview.exceptions import CheckpointError
from tests.distributed.problems import chunked, make_views
from tests.distributed.test_nsmvc import assert_same_fit


class Stop(Exception):
    """Stands for whatever ends a driver."""


def fit(folder, views, stop_at=None, **options):
    """Fit with a checkpoint, up to the given iteration of the whole fit."""
    seen = []

    def count(*told):
        seen.append(told)
        if len(seen) == stop_at:
            raise Stop

    given_options = {"n_init": 3, "random_state": 0, "n_paces": 3} | options
    model = DaskNSMVC(4, checkpoint=folder, **given_options)
    return model.fit(chunked(views, (60, 50, 240)), on_iteration=count), len(seen)


@pytest.fixture(scope="module")
def views():
    return make_views(6)[0]


@pytest.fixture(scope="module")
def undisturbed(views):
    lazy = chunked(views, (60, 50, 240))
    return DaskNSMVC(4, n_init=3, random_state=0, n_paces=3).fit(lazy)


@given(stops=st.lists(st.integers(1, 25), max_size=4))
def test_broken_off_anywhere_it_ends_the_same(
    views, undisturbed, tmp_path_factory, stops
):
    folder = tmp_path_factory.mktemp("fits") / "checkpoint"
    for stop in stops:
        try:
            fit(folder, views, stop_at=stop)
        except Stop:
            assert (folder / "state.npz").exists()
            # No more samples on disk than the present step's and the best run's.
            assert len(list(folder.glob("step-*"))) <= 2
    model, _ = fit(folder, views)
    assert_same_fit(model, undisturbed)
    assert not folder.exists()


def test_only_what_is_missing_is_done(views, undisturbed, tmp_path):
    _, n_all = fit(tmp_path / "a", views)
    with pytest.raises(Stop):
        fit(tmp_path / "b", views, stop_at=n_all - 2)
    model, n_rest = fit(tmp_path / "b", views)
    assert n_rest == 2
    assert_same_fit(model, undisturbed)


def test_seeds_are_kept_where_there_is_no_random_state(views, tmp_path):
    with pytest.raises(Stop):
        fit(tmp_path / "c", views, stop_at=3, random_state=None)
    seeds = json.loads((tmp_path / "c" / "fit.json").read_text())["seeds"]
    with pytest.raises(Stop):
        fit(tmp_path / "c", views, stop_at=1, random_state=None)
    assert json.loads((tmp_path / "c" / "fit.json").read_text())["seeds"] == seeds


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_paces": 4}, "n_paces was 3 and is 4 now"),
        ({"random_state": 1}, "random_state was 0 and is 1 now"),
        ({"scale": "zscore"}, "scale was 'auto' and is 'zscore' now"),
    ],
)
def test_checkpoint_of_another_fit_is_refused(views, tmp_path, options, message):
    with pytest.raises(Stop):
        fit(tmp_path / "c", views, stop_at=3)
    with pytest.raises(CheckpointError, match=message):
        fit(tmp_path / "c", views, **options)
    with pytest.raises(CheckpointError, match="data was"):
        fit(tmp_path / "c", [2 * views[0] + 1, *views[1:]])


@pytest.mark.parametrize("name", ["fit.json", "state.npz", "step-3/part-0.npz"])
@pytest.mark.parametrize("content", [b"", b"not a file of ours"])
def test_damaged_checkpoint_is_refused(views, tmp_path, name, content):
    with pytest.raises(Stop):
        fit(tmp_path / "c", views, stop_at=3)
    (tmp_path / "c" / name).write_bytes(content)
    with pytest.raises(CheckpointError, match="is damaged"):
        fit(tmp_path / "c", views)


def test_a_best_restart_that_is_gone_is_missed(views, tmp_path):
    """Without it, a later restart would be taken for the best of all."""
    _, n_all = fit(tmp_path / "c", views)
    with pytest.raises(Stop):
        fit(tmp_path / "c", views, stop_at=n_all - 2)
    (tmp_path / "c" / "best.npz").unlink()
    with pytest.raises(CheckpointError, match=r"best\.npz is gone"):
        fit(tmp_path / "c", views)


@pytest.mark.parametrize(
    "seeds", [None, 3, [], [1, 2], [1, 2, "x"], [1, 2, -1], [1, 2, True], {"a": 1}]
)
def test_seeds_changed_by_hand_are_refused(views, tmp_path, seeds):
    with pytest.raises(Stop):
        fit(tmp_path / "c", views, stop_at=3)
    path = tmp_path / "c" / "fit.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"seeds": seeds}))
    with pytest.raises(CheckpointError, match=r"fit\.json is damaged"):
        fit(tmp_path / "c", views)


@pytest.mark.parametrize(
    "text", ["[]", "[[1]]", "3", "null", '{"seeds": 1}', "[" * 100_000]
)
def test_no_object_in_the_file_of_the_fit_is_refused(views, tmp_path, text):
    with pytest.raises(Stop):
        fit(tmp_path / "c", views, stop_at=3)
    (tmp_path / "c" / "fit.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"fit\.json is damaged"):
        fit(tmp_path / "c", views)


@pytest.mark.parametrize("name", ["state.npz", "step-3/part-0.npz"])
@pytest.mark.parametrize("place", [6, 10])
def test_archives_of_another_kind_are_refused(views, tmp_path, name, place):
    """Of a version of zip, or with a compression, that Python does not know."""
    with pytest.raises(Stop):
        fit(tmp_path / "c", views, stop_at=3)
    path = tmp_path / "c" / name
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")
    while at >= 0:
        data[at + place] = 99
        at = data.find(b"PK\x01\x02", at + 1)
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match="is damaged"):
        fit(tmp_path / "c", views)


def test_a_driver_killed_while_it_made_the_folder_can_begin_again(views, tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / ".fit.json.0123abcd.part").write_text('{"half')
    fit(tmp_path / "c", views)
    assert not (tmp_path / "c").exists()


def counts(seed):
    """Word counts, whose rows "auto" scales to unit length."""
    rng = np.random.default_rng(seed)
    means = rng.gamma(0.15, 1.0, size=(4, 12))
    return [rng.poisson(means[np.arange(240) % 4]).astype(float) for _ in range(3)]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_checkpoint_of_other_rows_is_refused(tmp_path, form):
    views = counts(0)

    def lazy(views):
        return [da.from_array(form(view), chunks=(60, 12), asarray=False)
                for view in views]  # fmt: skip

    def start(views, **options):
        model = DaskNSMVC(4, checkpoint=tmp_path / "c", random_state=0)
        return model.fit(lazy(views), **options)

    def stop(*_):
        raise Stop

    with pytest.raises(Stop):
        start(views, on_iteration=stop)
    moved = [views[0], views[1][::-1].copy(), views[2]]
    for others in (counts(1), moved):
        with pytest.raises(CheckpointError, match="data was"):
            start(others)
    model = start(views)
    assert model.scales_[0].mode == "l2"
    plain = DaskNSMVC(4, random_state=0).fit(lazy(views))
    assert_array_equal(model.labels_.compute(), plain.labels_.compute())


def as_dask(labels):
    return da.from_array(labels, chunks=70)


@pytest.mark.parametrize("form", [as_dask, pd.Series, list])
def test_checkpoint_of_other_starting_labels_is_refused(views, tmp_path, form):
    labels = np.arange(240) % 4
    with pytest.raises(Stop):
        fit(tmp_path / "c", views, stop_at=2, init=form(labels))
    with pytest.raises(CheckpointError, match="init was"):
        fit(tmp_path / "c", views, init=form(labels[::-1].copy()))
    model, _ = fit(tmp_path / "c", views, init=form(labels.astype(np.int32)))
    plain = DaskNSMVC(4, init=labels, n_paces=3).fit(chunked(views, (60, 50, 240)))
    assert_array_equal(model.labels_.compute(), plain.labels_.compute())


WRONG_PARTS = {
    "short labels": lambda part: {"labels": part["labels"][:-3]},
    "a label too large": lambda part: {"labels": part["labels"] + np.uint8(200)},
    "negative labels": lambda part: {"labels": -1 - part["labels"].astype(np.int64)},
    "labels of another type": lambda part: {"labels": part["labels"].astype(float)},
    "labels in a table": lambda part: {"labels": part["labels"][:, None]},
    "too few views": lambda part: {"joined_pace": part["joined_pace"][:2]},
    "short paces": lambda part: {"joined_pace": part["joined_pace"][:, :-1]},
    "short selection": lambda part: {"selected": part["selected"][:, :-1]},
    "unpacked selection": lambda part: {"selected": part["selected"] > 0},
}


@pytest.mark.parametrize("change", WRONG_PARTS.values(), ids=WRONG_PARTS.keys())
def test_parts_that_do_not_fit_are_refused(views, tmp_path, change):
    with pytest.raises(Stop):
        fit(tmp_path / "c", views, stop_at=3)
    path = tmp_path / "c" / "step-3" / "part-0.npz"
    with np.load(path) as stored:
        part = dict(stored)
    np.savez(path, **{**part, **change(part)})
    with pytest.raises(CheckpointError, match=r"part-0\.npz is damaged"):
        fit(tmp_path / "c", views)


@pytest.mark.parametrize("name", ["sums0", "centers1", "masses", "exponents"])
@pytest.mark.parametrize("wrong", [np.zeros(1), None], ids=["wrong shape", "missing"])
def test_states_that_do_not_fit_are_refused(views, tmp_path, name, wrong):
    with pytest.raises(Stop):
        fit(tmp_path / "c", views, stop_at=3)
    path = tmp_path / "c" / "state.npz"
    with np.load(path) as stored:
        state = dict(stored)
    state[name] = wrong
    np.savez(path, **{key: array for key, array in state.items() if array is not None})
    with pytest.raises(CheckpointError, match=r"state\.npz is damaged"):
        fit(tmp_path / "c", views)


def test_checkpoint_with_lost_samples_is_refused(views, tmp_path):
    with pytest.raises(Stop):
        fit(tmp_path / "c", views, stop_at=3)
    (tmp_path / "c" / "step-3" / "part-1.npz").unlink()
    with pytest.raises(CheckpointError, match="is gone"):
        fit(tmp_path / "c", views)


def test_folder_with_other_things_is_left_alone(views, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(CheckpointError, match="holds no checkpoint"):
        fit(tmp_path, views)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_folder_that_workers_do_not_share_is_refused(views, tmp_path, monkeypatch):
    from manyview.distributed import _checkpoint

    monkeypatch.setattr(_checkpoint, "write_part", lambda *_: None)
    with pytest.raises(CheckpointError, match="5 of 5 parts are not in"):
        fit(tmp_path / "c", views)


def test_callable_start_goes_on(views, tmp_path):
    def draw(_views, n_clusters, random_state):
        return random_state.permutation(np.arange(240) % n_clusters)

    with pytest.raises(Stop):
        fit(tmp_path / "c", views, stop_at=2, init=draw)
    model, _ = fit(tmp_path / "c", views, init=draw)
    undisturbed, _ = fit(tmp_path / "d", views, init=draw)
    assert_same_fit(model, undisturbed)
