"""However the rows are cut, a cluster finds what one machine finds."""

import pickle
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from manyview import NSMVC, ViewError, load_model, save_model
from manyview._scaling import feature_moments, feature_range
from manyview._solvers._local import LocalSamples
from manyview.distributed import DaskNSMVC, _blocks
from tests.distributed.problems import chunked, cuts, make_views

N_SAMPLES = 120


def assert_same_fit(cluster, local, rtol=1e-9):
    """Equal up to rounding, also where nothing but rounding is left of a loss.

    Each view's scatter is 1 after scaling (or more, unscaled), so `rtol` serves as the
    absolute tolerance too.
    """
    tolerance = {"rtol": rtol, "atol": rtol}
    labels, joined = dask.compute(cluster.labels_, cluster.joined_pace_)
    assert_array_equal(labels, local.labels_)
    assert_array_equal(joined, local.joined_pace_)
    assert cluster.n_iter_ == local.n_iter_
    assert cluster.view_names_ == local.view_names_
    assert cluster.n_features_in_ == local.n_features_in_
    for name in ("exponents_", "thresholds_", "view_losses_", "unexplained_"):
        mine, theirs = getattr(cluster, name), getattr(local, name)
        assert_allclose(mine, theirs, **tolerance, err_msg=name)
    assert_allclose(cluster.objective_, local.objective_, **tolerance)
    for mine, theirs in zip(
        cluster.cluster_centers_, local.cluster_centers_, strict=True
    ):
        assert_allclose(mine, theirs, **tolerance)
    for mine, theirs in zip(cluster.scales_, local.scales_, strict=True):
        assert mine.mode == theirs.mode
        assert_allclose(mine.factor, theirs.factor, rtol=rtol)
        assert_allclose(mine.shift, theirs.shift, **tolerance)
    for mine, theirs in zip(cluster.history_, local.history_, strict=True):
        assert (mine.stage, mine.iteration) == (theirs.stage, theirs.iteration)
        assert mine.n_moved == theirs.n_moved
        assert_array_equal(mine.n_selected, theirs.n_selected)
        assert_allclose(mine.objective, theirs.objective, **tolerance)


@given(
    seed=st.integers(0, 2**32 - 1),
    cut=cuts(N_SAMPLES, 3),
    scale=st.sampled_from(["auto", "range", "minmax", "zscore", "l2", "energy", None]),
    n_paces=st.integers(1, 5),
)
def test_any_chunking_equals_the_local_fit(seed, cut, scale, n_paces):
    views, labels = make_views(seed, N_SAMPLES)
    options = {"init": labels, "scale": scale, "n_paces": n_paces, "pace_start": 0.4}
    local = NSMVC(4, assignment="majorize", **options).fit(views)
    assert_same_fit(DaskNSMVC(4, **options).fit(chunked(views, cut)), local)


@given(seed=st.integers(0, 2**32 - 1), cut=cuts(N_SAMPLES, 3))
def test_any_chunking_equals_the_local_fit_in_float32(seed, cut):
    views, labels = make_views(seed, N_SAMPLES, dtype=np.float32)
    local = NSMVC(4, assignment="majorize", init=labels).fit(views)
    cluster = DaskNSMVC(4, init=labels).fit(chunked(views, cut))
    assert_same_fit(cluster, local, rtol=1e-5)


# There, sums of zero rows keep what other rows left in them, in a view without loss.
@example(seed=1316, cut=[(120,)])
# A view's loss falls to nothing, within a sweep and but for rounding of the centres.
@example(seed=283, cut=[15])
@example(seed=39, cut=[15])
@example(seed=363, cut=[40])
@given(seed=st.integers(0, 2**32 - 1), cut=cuts(N_SAMPLES, 1))
def test_sparse_chunks_equal_the_local_fit(seed, cut):
    views, labels = make_views(seed, N_SAMPLES)
    views = [np.where(view > 0.5, view, 0.0) for view in views]
    (rows,) = cut
    lazy = [
        da.from_array(view, chunks=(rows, -1)).map_blocks(sparse.csr_array)
        for view in views
    ]
    given_views = [sparse.csr_array(view) for view in views]
    local = NSMVC(4, assignment="majorize", init=labels).fit(given_views)
    assert_same_fit(DaskNSMVC(4, init=labels).fit(lazy), local)


@pytest.mark.parametrize("init", ["k-means++", "labels", "dask labels", "function"])
@pytest.mark.parametrize("persist", ["auto", "memory", "disk", None])
def test_starts_and_storage_equal_the_local_fit(init, persist):
    views, labels = make_views(3)

    def draw(_views, n_clusters, random_state):
        drawn = random_state.randint(n_clusters, size=len(labels))
        drawn[:n_clusters] = np.arange(n_clusters)
        return drawn

    inits = {
        "k-means++": ("k-means++", "k-means++"),
        "labels": (labels, labels),
        "dask labels": (labels, da.from_array(labels, chunks=17)),
        "function": (draw, draw),
    }
    for_local, for_cluster = inits[init]
    local = NSMVC(
        4, assignment="majorize", init=for_local, n_init=3, random_state=0
    ).fit(views)
    cluster = DaskNSMVC(
        4, init=for_cluster, n_init=3, random_state=0, persist=persist
    ).fit(chunked(views, (50, 31, 240)))
    assert_same_fit(cluster, local)


def test_start_from_a_sample_of_the_rows_equals_the_local_one(monkeypatch):
    from manyview._solvers import _start

    monkeypatch.setattr(_start, "SEEDING_SAMPLES", 50)
    monkeypatch.setattr(_start, "SEEDING_SAMPLES_PER_CLUSTER", 1)
    views, _ = make_views(5)
    local = NSMVC(4, assignment="majorize", n_init=2, random_state=1).fit(views)
    lazy = chunked(views, (33, 100, 7))
    assert_same_fit(DaskNSMVC(4, n_init=2, random_state=1).fit(lazy), local)


def test_start_in_leading_directions_equals_the_local_one():
    rng = np.random.default_rng(0)
    truth = rng.integers(4, size=600)
    views = [
        rng.normal(size=(4, width))[truth] + 2.0 * rng.normal(size=(600, width))
        for width in (30, 50)
    ]
    local = NSMVC(4, assignment="majorize", n_init=2, random_state=1).fit(views)
    lazy = chunked(views, (33, 100))
    assert_same_fit(DaskNSMVC(4, n_init=2, random_state=1).fit(lazy), local)


def test_random_start_does_not_depend_on_the_chunks(monkeypatch):
    monkeypatch.setattr(_blocks, "PANEL_ROWS", 32)
    views, _ = make_views(1)
    fits = [
        DaskNSMVC(4, init="random", n_init=1, random_state=0).fit(chunked(views, cut))
        for cut in ((240, 240, 240), (7, 50, 240), (100, 33, 64))
    ]
    for other in fits[1:]:
        assert_same_fit(other, fits[0])


def test_random_labels_are_spread_evenly():
    labels = _blocks.random_labels(100_000, 4000, seed=7, n_clusters=4)
    shares = np.bincount(labels, minlength=4) / 4000
    assert_allclose(shares, 0.25, atol=0.03)


def _scaled(views):
    from manyview._scaling import learn_scales
    from manyview._views import check_views

    checked = check_views(views)
    return checked, learn_scales(checked, "minmax")


def test_perfect_views_are_measured_on_the_cluster():
    # Nothing is left of the losses by subtraction, so the parts measure them.
    points = np.array([[0.1, 0.2], [0.3, 0.7], [5.0, 1.1]])
    truth = np.repeat([0, 1, 2], 30)
    views = [points[truth], 3 * points[truth][:, :1]]
    lazy = chunked(views, (13, 40))
    cluster = DaskNSMVC(3, init=truth).fit(lazy)
    assert_array_equal(cluster.labels_.compute(), truth)
    assert cluster.objective_ == 0


def test_predict_transform_and_score_are_those_of_the_local_model():
    views, labels = make_views(2)
    lazy = chunked(views, (60, 50, 240))
    cluster = DaskNSMVC(4, init=labels).fit(lazy)
    local = NSMVC(4, assignment="majorize", init=labels).fit(views)
    new, _ = make_views(9, n_samples=100)
    lazy_new = chunked(new, (30, 40, 100))
    predicted = cluster.predict(lazy_new)
    assert isinstance(predicted, da.Array)
    assert_array_equal(predicted.compute(), local.predict(new))
    assert_allclose(cluster.transform(lazy_new).compute(), local.transform(new))
    assert_allclose(cluster.score(lazy_new), local.score(new))
    # Arrays of this machine are answered here.
    assert_array_equal(cluster.predict(new), local.predict(new))
    assert_allclose(cluster.transform(new), local.transform(new))
    assert_allclose(cluster.score(new), local.score(new))


def test_predict_with_a_view_that_nobody_has():
    views, labels = make_views(2)
    names = dict(zip("abc", views, strict=True))
    lazy = {name: da.from_array(view, chunks=(50, -1)) for name, view in names.items()}
    cluster = DaskNSMVC(4, init=labels).fit(lazy)
    local = NSMVC(4, assignment="majorize", init=labels).fit(names)
    some = {"c": names["c"], "a": names["a"]}
    lazy_some = {name: lazy[name] for name in some}
    assert_array_equal(cluster.predict(lazy_some).compute(), local.predict(some))
    assert_array_equal(
        cluster.predict([lazy["a"], None, lazy["c"]]).compute(), local.predict(some)
    )


def test_model_goes_to_one_machine(tmp_path):
    views, labels = make_views(2)
    cluster = DaskNSMVC(4, init=labels).fit(chunked(views, (50, 60, 70)))
    local = cluster.to_local()
    assert type(local) is NSMVC
    assert local.assignment == "majorize"
    assert isinstance(local.labels_, np.ndarray)
    again = load_model(save_model(local, tmp_path / "model.mvz"))
    assert_array_equal(again.labels_, local.labels_)
    assert_array_equal(again.predict(views), cluster.predict(views))


def test_fit_clustering_of_views_in_memory_is_that_of_the_model():
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(60, width)) for width in (4, 5)]
    model = DaskNSMVC(3, n_init=1, random_state=0)
    clustering = model.fit_clustering(views)
    assert_array_equal(clustering.labels, np.asarray(model.labels_))
    assert_array_equal(clustering.view_weights, model.view_weights_)


def test_estimator_clones_and_reports(capsys):
    views, labels = make_views(2)
    model = DaskNSMVC(4, init=labels, n_paces=2, verbose=1)
    assert clone(model).get_params().keys() == model.get_params().keys()
    seen = []
    model.fit(
        chunked(views, (50, 60, 70)), on_iteration=lambda *told: seen.append(told)
    )
    assert [restart for restart, _ in seen] == [0] * model.n_iter_
    assert tuple(record for _, record in seen) == model.history_
    model.fit(chunked(views, (50, 60, 70)))
    assert capsys.readouterr().err.count("iteration") == model.n_iter_


def test_operations_leave_their_arguments_alone():
    # Dask may run a task twice, after a worker was lost or stolen from.
    views, labels = make_views(8)
    rows = _blocks.open_rows(*_scaled(views), True, len(labels))
    part = _blocks.begin(rows, labels, 4)
    for operation, arguments in _operations(part.report.means()):
        before = pickle.dumps(part)
        first = _blocks.operate(rows, part, 0, operation, arguments, 4, None)
        assert pickle.dumps(part) == before
        second = _blocks.operate(rows, part, 0, operation, arguments, 4, None)
        assert pickle.dumps(second) == pickle.dumps(first)
        part = first
    assert part.report.n_moved > 0


def _operations(centers):
    """What an iteration does with the samples, in order."""
    ones = np.ones(3)
    return (
        (LocalSamples.measure, (centers,)),
        (_blocks.select, (np.full(3, 0.5), 1)),
        (LocalSamples.loss_of_selected, (0, centers[0])),
        (LocalSamples.sweep_at_once, (centers, ones, ones)),
    )


def scratch_bytes():
    """Resident bytes of scratch files that this process has mapped."""
    found, inside = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split(maxsplit=1)[0]:
            inside = line.endswith("(deleted)")
        elif inside and line.startswith("Rss:"):
            found += 1024 * int(line.split()[1])
    return found


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs Linux")
def test_parts_on_disk_leave_nothing_in_memory():
    views, labels = make_views(8, n_samples=20_000)
    checked, scales = _scaled(views)
    spooled = _blocks.store(checked, on_disk=True)
    before = scratch_bytes()
    found = _blocks.per_view(spooled, feature_range)
    assert scratch_bytes() <= before
    _blocks.per_view(spooled, feature_moments, found, ("minmax",) * 3)
    assert scratch_bytes() <= before
    rows = _blocks.open_rows(spooled, scales, False, 20_000)
    _blocks.pick_scaled(rows, np.arange(0, 20_000, 7))
    assert scratch_bytes() <= before
    part = _blocks.begin(rows, labels, 4)
    for operation, arguments in _operations(part.report.means()):
        part = _blocks.operate(rows, part, 0, operation, arguments, 4, None)
        assert scratch_bytes() <= before


def test_mistakes_are_those_of_one_machine():
    views, labels = make_views(3, N_SAMPLES)
    lazy = chunked(views, (40, 60, 120))
    with pytest.raises(ViewError, match="'view1' is None, and fit learns from every"):
        DaskNSMVC(4).fit([lazy[0], None, lazy[2]])
    with pytest.raises(ValueError, match="'n_clusters' parameter of DaskNSMVC is True"):
        DaskNSMVC(True).fit(lazy)
    expected = DaskNSMVC(4, init=labels).fit(lazy)
    foreign = da.from_array(labels.astype(">i8"), chunks=30)
    assert_same_fit(DaskNSMVC(4, init=foreign).fit(lazy), expected)


def test_n_clusters_set_after_fit_changes_nothing_that_is_fitted():
    views, labels = make_views(3, N_SAMPLES)
    lazy = chunked(views, (40, 60, 120))
    model = DaskNSMVC(4, init=labels).fit(lazy)
    distances, score = model.transform(lazy).compute(), model.score(lazy)
    model.set_params(n_clusters=2)
    assert_array_equal(model.transform(lazy).compute(), distances)
    assert model.transform(lazy).shape == distances.shape
    assert model.score(lazy) == score
