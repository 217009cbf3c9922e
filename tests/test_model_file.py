"""Model files: exact round trip, and nothing but our own files is read."""

import io
import json
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from manyview import (
    NSMVC,
    DatasetError,
    GraphNSMVC,
    ViewError,
    ViewImputer,
    ViewKMeans,
    cluster,
)
from manyview._model_arrays import ARRAYS, NUMBER
from manyview._model_content import KINDS
from manyview._model_file import load_imputer, load_model, save_model
from tests.fuzz.mutate import sealed_model


def assert_same(a, b):
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        assert_array_equal(a, b)
    elif isinstance(a, np.random.RandomState):
        assert a.randint(2**31) == b.randint(2**31)
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_same(one, other)
    elif hasattr(a, "__dataclass_fields__"):
        for name in a.__dataclass_fields__:
            assert_same(getattr(a, name), getattr(b, name))
    else:
        assert a == b


def rewrite(path, **changes):
    """The file with members replaced (or removed, for None)."""
    with zipfile.ZipFile(path) as file:
        content = {name: file.read(name) for name in file.namelist()}
    for name, data in changes.items():
        content[name.replace("__", ".")] = data
    with zipfile.ZipFile(path, "w") as file:
        for name, data in content.items():
            if data is not None:
                file.writestr(name, data)


def read_json(path, name):
    with zipfile.ZipFile(path) as file:
        return json.loads(file.read(name))


@pytest.fixture
def saved(blobs, tmp_path):
    model = NSMVC(3, n_init=2, random_state=0).fit(blobs[0])
    return model, save_model(model, tmp_path / "model.mvz")


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"scale": None, "assignment": "majorize", "n_paces": 2},
        {"scale": "l2", "random_state": np.random.RandomState(3)},
        {"n_clusters": np.int64(3), "pace_start": np.float64(0.3)},
    ],
    ids=["defaults", "unscaled", "random state", "numpy scalars"],
)
def test_round_trip_keeps_every_attribute(blobs, tmp_path, params):
    views = dict(zip(("sound", "light", "words"), blobs[0], strict=True))
    model = NSMVC(**{"n_clusters": 3, "n_init": 2, "random_state": 0, **params})
    model.fit(views)
    again = load_model(save_model(model, tmp_path / "m.mvz"))
    assert vars(again).keys() == vars(model).keys()
    for name, value in vars(model).items():
        if not isinstance(value, np.generic):
            assert_same(vars(again)[name], value)
        else:
            assert vars(again)[name] == value
    assert_array_equal(again.predict(views), model.predict(views))
    assert_array_equal(again.transform(views), model.transform(views))
    partial = {"light": views["light"]}
    assert_array_equal(again.predict(partial), model.predict(partial))


@pytest.fixture(scope="module")
def graph_views():
    rng = np.random.default_rng(0)
    truth = np.arange(90) % 3
    groups = np.eye(3)[truth]
    return {
        "numbers": 3.0 * groups + rng.normal(size=(90, 3)),
        "words": sparse.csr_array(rng.poisson(2.0 * groups.repeat(4, axis=1) + 0.05)),
        "constant": np.ones((90, 2)),
    }


@pytest.fixture
def saved_graph(graph_views, tmp_path):
    model = GraphNSMVC(3, n_neighbors=(4, 8), n_anchors=60, n_init=2, random_state=0)
    model.fit(graph_views)
    return model, save_model(model, tmp_path / "graph.mvz")


def test_graphs_keep_every_attribute(graph_views, saved_graph):
    model, path = saved_graph
    again = load_model(path)
    assert type(again) is GraphNSMVC
    assert vars(again).keys() == vars(model).keys()
    for name, value in vars(model).items():
        if name == "_graph":
            value, other = pickle.dumps(value), pickle.dumps(again._graph)
            assert len(value) == pytest.approx(len(other), rel=0.1)
        elif name != "n_neighbors":
            assert_same(vars(again)[name], value)
    assert tuple(again.n_neighbors) == model.n_neighbors
    assert_array_equal(again.predict(graph_views), model.labels_)
    assert_array_equal(again.transform(graph_views), model.transform(graph_views))


def test_load_model_refuses_graphs_that_do_not_fit(saved_graph):
    _, path = saved_graph
    with zipfile.ZipFile(path) as file:
        arrays = dict(np.load(io.BytesIO(file.read("arrays.npz"))))
    parts = [name for name in arrays if name[-1].isdigit() or "anchors" in name]
    parts += ["slopes", "graph_weights", "graph_eigenvalues"]
    whole = path.read_bytes()
    for name in parts:
        array = arrays[name]
        for forged in (array[:-1], np.concatenate([array, array]), array.astype("U5")):
            path.write_bytes(whole)
            forge(path, **{name: forged})
            with pytest.raises(DatasetError, match="not a complete manyview model"):
                load_model(path)
    path.write_bytes(whole)
    forge(path, anchors_1_indices=arrays["anchors_1_indices"] + 100)
    with pytest.raises(DatasetError, match="not a complete manyview model"):
        load_model(path)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("anchors", ["dense", "sparse"]),
        ("anchors", ["dense", "other", None]),
        ("n_neighbors", [8, 4]),
        ("n_neighbors", []),
        ("n_neighbors", [4, 8.5]),
    ],
)
def test_load_model_refuses_graph_content_that_does_not_fit(saved_graph, where, value):
    _, path = saved_graph
    content = read_json(path, "model.json")
    content["graph"][where] = value
    forge(path, content)
    with pytest.raises(DatasetError, match="not a complete manyview model"):
        load_model(path)


@pytest.mark.parametrize("estimator", ["AMGL", "NSMVC", None])
def test_load_model_refuses_another_kind_of_model(saved_graph, estimator):
    _, path = saved_graph
    content = read_json(path, "model.json") | {"estimator": estimator}
    forge(path, content)
    with pytest.raises(DatasetError, match="not a complete manyview model"):
        load_model(path)


@pytest.mark.parametrize("Estimator", sorted(KINDS.values(), key=str))
def test_every_estimator_that_predicts_can_be_stored(Estimator, blobs, tmp_path):
    views = dict(zip("abc", blobs[0], strict=True))
    named = {"view": "b"} if Estimator is ViewKMeans else {}
    model = Estimator(3, random_state=0, **named).fit(views)
    model.rename_clusters({1: "middle"})
    again = load_model(save_model(model, tmp_path / "m.mvz"))
    assert set(vars(again)) == set(vars(model))
    for name, value in vars(model).items():
        if name != "_graph":
            assert_same(getattr(again, name), value)
    assert_array_equal(again.predict_proba(views), model.predict_proba(views))
    assert_array_equal(again.named_labels(), model.named_labels())


def test_every_array_of_a_file_is_described(saved_graph, graph_views, tmp_path):
    model = GraphNSMVC(3, n_init=1, random_state=np.random.RandomState(0))
    table = pd.DataFrame(graph_views["numbers"]).add_prefix("f")
    named = save_model(model.fit(table), tmp_path / "named.mvz")
    centers = ViewKMeans(3, random_state=0).fit(graph_views)
    other = save_model(centers, tmp_path / "other.mvz")
    written = set()
    for path in (saved_graph[1], named, other):
        with zipfile.ZipFile(path) as file:
            arrays = np.load(io.BytesIO(file.read("arrays.npz")))
        written |= {NUMBER.sub("#", name) for name in arrays.files}
    written -= {"param_n_neighbors", "param_random_state"}
    assert written == set(ARRAYS) - {"imputer_#"}


@pytest.mark.parametrize("strategy", ["knn", "median"])
def test_imputer_is_stored_with_a_model(blobs, tmp_path, strategy):
    views = [np.round(10 * view) for view in blobs[0]]
    whole = [view.astype(int) for view in views]
    imputer = ViewImputer(strategy).fit(whole)
    model = NSMVC(3, n_init=1, random_state=0).fit(whole)
    path = save_model(model, tmp_path / "m.mvz", imputer=imputer)
    views[1][4, 2] = np.nan
    for found, expected in zip(
        load_imputer(path).transform(views), imputer.transform(views), strict=True
    ):
        assert_array_equal(found, expected)
    for forged in (np.ones((3, 7)), np.full((3, 6), np.inf), np.full((3, 6), "a")):
        forge(path, imputer_1=forged)
        with pytest.raises(DatasetError, match="not a complete manyview model"):
            load_imputer(path)


def test_kinds_are_all_that_predict():
    predicting = {n for n in cluster.__all__ if hasattr(getattr(cluster, n), "predict")}
    assert set(KINDS) == predicting


def test_a_file_from_before_memberships_is_read(saved, blobs):
    model, path = saved
    spread = ("temperature", "typical", "deviation")
    unknown = ["membership_", "outlier_score_", *(f"spread_{part}" for part in spread)]
    forge(path, **dict.fromkeys(unknown))
    again = load_model(path)
    assert not hasattr(again, "membership_")
    with pytest.raises(ViewError, match="does not know the spread of its samples"):
        again.predict_proba(blobs[0])
    # The spread of the samples of the fit is that of the fit.
    assert_allclose(again.clustering(blobs[0]).membership, model.membership_, atol=1e-9)
    few = [view[:3] for view in blobs[0]]
    found = again.learn_spread(blobs[0]).predict_proba(few)
    assert_allclose(found, model.membership_[:3], atol=1e-9)
    once_more = load_model(save_model(again, path))
    assert_array_equal(once_more.predict_proba(few), found)


def test_noise_is_stored_where_the_threshold_allows_it(blobs, tmp_path):
    model = NSMVC(3, n_init=1, random_state=0, outlier_threshold=1.0).fit(blobs[0])
    assert (model.labels_ < 0).any()
    again = load_model(save_model(model, tmp_path / "m.mvz"))
    assert_array_equal(again.labels_, model.labels_)


def test_round_trip_keeps_an_array_as_start_and_column_names(blobs, tmp_path):
    table = pd.DataFrame(np.hstack(blobs[0])).rename(columns=lambda c: f"f{c}")
    model = NSMVC(3, init=blobs[1], view_sizes=[4, 6, 3]).fit(table)
    again = load_model(save_model(model, tmp_path / "m.mvz"))
    assert_same(again.feature_names_in_, model.feature_names_in_)
    assert again.view_sizes == [4, 6, 3]
    assert_array_equal(again.init, blobs[1])
    assert_array_equal(again.predict(table), model.predict(table))
    with pytest.raises(ValueError, match="feature names"):
        again.predict(table.rename(columns={"f0": "other"}))


def test_a_file_from_before_feature_names_is_read(saved):
    model, path = saved
    content = read_json(path, "model.json")
    del content["layout"]["feature_names"]
    forge(path, content)
    again = load_model(path)
    assert again._layout.feature_names == ()
    frames = [pd.DataFrame(c).add_prefix("f") for c in model.cluster_centers_]
    assert_array_equal(again.predict(frames), model.predict(frames))


def test_save_model_refuses_what_it_cannot_store(blobs, tmp_path):
    with pytest.raises(DatasetError, match="expected a fitted estimator"):
        save_model(NSMVC(3), tmp_path / "m.mvz")
    model = NSMVC(3, n_init=1, init=lambda _v, _k, _r: blobs[1]).fit(blobs[0])
    with pytest.raises(DatasetError, match="init is a function"):
        save_model(model, tmp_path / "m.mvz")
    assert list(tmp_path.iterdir()) == []


def test_save_model_refuses_another_number_of_clusters_than_fitted(saved, tmp_path):
    model, _ = saved
    model.set_params(n_clusters=5)
    with pytest.raises(DatasetError, match="n_clusters=5, but was fitted with 3"):
        save_model(model, tmp_path / "other.mvz")


def test_save_model_leaves_the_old_file_when_writing_fails(saved, monkeypatch):
    model, path = saved
    before = path.read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        save_model(model, path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["model.mvz"]


def test_load_model_refuses_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(DatasetError, match="does not exist"):
        load_model(tmp_path / "nothing.mvz")
    with pytest.raises(DatasetError, match="is a folder"):
        load_model(tmp_path)


class Bomb:
    """Pickles to something that would fail the test if it were ever unpickled."""

    def __reduce__(self):
        return (pytest.fail, ("a model file was unpickled",))


def test_load_model_never_unpickles(saved):
    _, path = saved
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(DatasetError, match="is not a manyview model"):
        load_model(path)


def test_load_model_never_unpickles_object_arrays(saved):
    _, path = saved
    forge(path, labels_=np.array([Bomb()], dtype=object))
    with pytest.raises(DatasetError, match="not a complete manyview model"):
        load_model(path)


def forge(path, content=None, **arrays):
    """The file with other content and arrays (None removes one), checksums right."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    with np.load(io.BytesIO(members["arrays.npz"])) as stored:
        changed = {**stored, **arrays}
    buffer = io.BytesIO()
    np.savez(buffer, **{n: a for n, a in changed.items() if a is not None})
    text = members["model.json"] if content is None else json.dumps(content).encode()
    path.write_bytes(sealed_model(text, buffer.getvalue(), members))


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("centers_1", np.zeros((100, 3))),
        ("centers_1", np.zeros((3, 5))),
        ("centers_0", np.zeros((3, 4), dtype=">f8")),
        ("centers_0", np.full((3, 4), np.nan)),
        ("centers_0", np.zeros((3, 4), dtype=complex)),
        ("shift_2", np.zeros(2)),
        ("factor_0", np.zeros((4, 1))),
        ("factor_0", np.full(4, np.inf)),
        ("exponents_", np.ones(2)),
        ("view_losses_", np.ones((3, 3))),
        ("thresholds_", np.ones(3, dtype=int)),
        ("unexplained_", np.ones(4)),
        ("labels_", np.full(90, 3)),
        ("labels_", np.full(90, -1)),
        ("labels_", np.zeros((90, 1), dtype=int)),
        ("labels_", np.zeros(0, dtype=int)),
        ("joined_pace_", np.zeros((3, 91), dtype=int)),
        ("joined_pace_", np.zeros((3, 89), dtype=int)),
        ("history_n_selected", np.zeros((1, 3), dtype=int)),
        ("history_exponents", np.zeros(4)),
        ("history_stage", None),
        ("membership_", np.ones((90, 4))),
        ("membership_", None),
        ("outlier_score_", np.full(90, np.nan)),
        ("spread_temperature", np.array(0.0)),
        ("spread_typical", np.ones((3, 2))),
        ("spread_deviation", np.zeros(3)),
        ("centers_2", None),
    ],
    ids=str,
)
def test_load_model_refuses_arrays_that_do_not_fit(saved, name, array):
    _, path = saved
    forge(path, **{name: array})
    with pytest.raises(DatasetError, match=f"not a complete manyview model .*{name}"):
        load_model(path)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("params",), ["n_clusters", 3]),
        (("params", "n_clusters"), 4),
        (("params", "n_clusters"), True),
        (("params", "n_clusters"), "3"),
        (("params", "n_init"), -1),
        (("params", "pace_start"), [1]),
        (("params", "no_such_thing"), 1),
        (("params", "random_state"), {"array": "labels_"}),
        (("layout",), None),
        (("layout", "names"), ["a", "a", "b"]),
        (("layout", "names"), ["a", "b"]),
        (("layout", "names"), ["a", "b", "\ud800"]),
        (("layout", "n_features"), [4, 6, 300]),
        (("layout", "n_features"), [4, 6, -3]),
        (("layout", "named"), 1),
        (("layout", "feature_names"), None),
        (("layout", "feature_names"), {"a": 1}),
        (("layout", "feature_names"), [None]),
        (("layout", "feature_names"), [["a"], None, None]),
        (("layout", "feature_names"), [["a", "b", "c", 1], None, None]),
        (("layout", "feature_names"), ["abcd", None, None]),
        (("layout", "feature_names"), [["a", "b", "c", "\ud800"], None, None]),
        (("scales",), []),
        (("scales", 0, "mode"), "other"),
        (("scales", 0), 5),
        (("cluster_names",), ["a", "b"]),
        (("cluster_names",), ["a", "b", ""]),
        (("cluster_names",), ["a", "b", "\ud800"]),
        (("objective",), None),
        (("objective",), "much"),
    ],
    ids=str,
)
def test_load_model_refuses_content_that_does_not_fit(saved, where, value):
    _, path = saved
    content = read_json(path, "model.json")
    place = content
    for key in where[:-1]:
        place = place[key]
    place[where[-1]] = value
    forge(path, content)
    with pytest.raises(DatasetError, match="not a complete manyview model"):
        load_model(path)


@pytest.mark.parametrize("rest", [["MT19937", 10**6, 0, "0x0"], ["PCG64", 1, 0, "0x0"]])
def test_load_model_refuses_a_random_state_out_of_range(blobs, tmp_path, rest):
    model = NSMVC(3, n_init=1, random_state=np.random.RandomState(0)).fit(blobs[0])
    path = save_model(model, tmp_path / "m.mvz")
    content = read_json(path, "model.json")
    content["params"]["random_state"]["rest"] = rest
    forge(path, content)
    with pytest.raises(DatasetError, match="state of random_state is out of range"):
        load_model(path)


def test_load_model_reads_arrays_in_any_order(saved):
    model, path = saved
    forge(path, centers_0=np.asfortranarray(model._centers[0]))
    views = [np.ones((2, width)) for width in (4, 6, 3)]
    assert_array_equal(load_model(path).predict(views), model.predict(views))


def test_load_model_refuses_a_bomb_inside(saved):
    _, path = saved
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, labels_=np.zeros(40_000_000))
    sealed = sealed_model(members["model.json"], buffer.getvalue(), members)
    path.write_bytes(sealed)
    with pytest.raises(DatasetError, match="more than 200 times its size"):
        load_model(path)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": ' * 100_000])
def test_load_model_refuses_deep_json(saved, text):
    _, path = saved
    rewrite(path, header__json=text)
    with pytest.raises(DatasetError, match="is not a manyview model"):
        load_model(path)


@pytest.mark.parametrize("checksums", [None, [], "x", 1])
def test_load_model_refuses_a_header_without_checksums(saved, checksums):
    _, path = saved
    header = read_json(path, "header.json") | {"sha256": checksums}
    rewrite(path, header__json=json.dumps(header))
    with pytest.raises(DatasetError, match="its header has no checksums"):
        load_model(path)


@pytest.mark.parametrize("keep", [0, 10, 0.5, 0.99])
def test_load_model_refuses_truncated_files(saved, keep):
    _, path = saved
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data)) if keep < 1 else keep])
    with pytest.raises(DatasetError, match="is not a manyview model"):
        load_model(path)


def test_load_model_is_brief_about_an_archive_whose_names_have_no_end(saved):
    _, path = saved
    data = bytearray(path.read_bytes())
    # The length of the first member's name, which zipfile quotes whole.
    data[26:28] = (4000).to_bytes(2, "little")
    path.write_bytes(data)
    with pytest.raises(DatasetError, match="or was cut short") as caught:
        load_model(path)
    assert len(str(caught.value)) < 1000


def test_load_model_refuses_a_changed_payload(saved):
    _, path = saved
    text = json.dumps(read_json(path, "model.json")).replace('"named"', '"named" ')
    rewrite(path, model__json=text)
    with pytest.raises(DatasetError, match=r"is damaged: model\.json has sha256"):
        load_model(path)


def test_load_model_refuses_every_flipped_byte_it_can_see(saved):
    _, path = saved
    data = path.read_bytes()
    model, _ = saved
    refused = 0
    for position in range(0, len(data), 97):
        changed = bytearray(data)
        changed[position] ^= 0xFF
        path.write_bytes(changed)
        try:
            again = load_model(path)
        except DatasetError:
            refused += 1
        else:
            # Dates and the like in the archive's directory carry nothing of the model.
            assert_same(again.labels_, model.labels_)
            assert_same(again._centers, model._centers)
    assert refused > 0.9 * len(range(0, len(data), 97))


def test_load_model_refuses_another_version(saved):
    _, path = saved
    header = read_json(path, "header.json") | {"version": 99}
    rewrite(path, header__json=json.dumps(header))
    with pytest.raises(DatasetError, match="format version 99, but this"):
        load_model(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"header__json": '{"format": "other"}'}, "header names another format"),
        ({"header__json": "[]"}, "a JSON object was expected"),
        ({"header__json": "{"}, "is not a manyview model"),
        ({"arrays__npz": None}, r"expected \['header.json'"),
        ({"extra__txt": "x"}, r"expected \['header.json'"),
    ],
    ids=["format", "list", "no json", "member missing", "member too many"],
)
def test_load_model_refuses_foreign_archives(saved, changes, message):
    _, path = saved
    rewrite(path, **changes)
    with pytest.raises(DatasetError, match=message):
        load_model(path)


def test_load_model_refuses_a_zip_bomb(saved):
    _, path = saved
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.json", "{}")
        file.writestr("model.json", "{}")
        file.writestr("arrays.npz", bytes(200 << 20))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(DatasetError, match="unpacks to 209715204 bytes"):
        load_model(path)
