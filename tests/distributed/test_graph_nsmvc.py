"""GraphNSMVC on Dask against GraphNSMVC on one machine."""

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from manyview import GraphNSMVC
from manyview.distributed import DaskGraphNSMVC
from manyview.exceptions import CheckpointError

N_SAMPLES = 600
OPTIONS = {"n_clusters": 4, "n_anchors": 200, "n_init": 2, "random_state": 0}
CHUNKS = [
    (N_SAMPLES, N_SAMPLES),
    (150, 250),
    ((1, 300, 299), (77, 500, 23)),
]


@pytest.fixture(scope="module")
def views():
    rng = np.random.default_rng(0)
    truth = rng.integers(4, size=N_SAMPLES)
    found = [
        1.5 * rng.normal(size=(4, width))[truth] + rng.normal(size=(N_SAMPLES, width))
        for width in (5, 8)
    ]
    found[0][:40] = np.nan
    return found


@pytest.fixture(scope="module")
def local(views):
    return GraphNSMVC(assignment="majorize", **OPTIONS).fit(views)


def lazy(views, chunks=(150, 250)):
    pairs = zip(views, chunks, strict=True)
    return [da.from_array(view, (rows, -1)) for view, rows in pairs]


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("persist", ["memory", "disk", None])
def test_any_chunking_gives_the_local_labels(views, local, chunks, persist):
    if persist is None and chunks != CHUNKS[1]:
        pytest.skip("once is enough: everything is computed anew each time")
    model = DaskGraphNSMVC(persist=persist, **OPTIONS).fit(lazy(views, chunks))
    assert_array_equal(model.labels_.compute(), local.labels_)
    assert_array_equal(model.joined_pace_.compute(), local.joined_pace_)
    for name in ("view_weights_", "unexplained_", "graph_weights_", "exponents_"):
        assert_allclose(getattr(model, name), getattr(local, name), atol=1e-9)


def test_all_samples_as_anchors(views):
    options = OPTIONS | {"n_anchors": 2000}
    model = DaskGraphNSMVC(**options).fit(lazy(views))
    whole = GraphNSMVC(assignment="majorize", **options).fit(views)
    assert_array_equal(model.labels_.compute(), whole.labels_)


def test_new_samples_lazily_and_here(views, local):
    model = DaskGraphNSMVC(**OPTIONS).fit(lazy(views))
    some = [view[100:400] for view in views]
    parts = lazy(some, (100, 70))
    assert_array_equal(model.predict(parts).compute(), local.predict(some))
    assert_array_equal(model.predict(some), local.predict(some))
    assert_allclose(model.transform(parts).compute(), local.transform(some), atol=1e-9)
    assert model.score(parts) == pytest.approx(local.score(some))


def test_to_local_is_a_graph_model(views, local):
    model = DaskGraphNSMVC(**OPTIONS).fit(lazy(views)).to_local()
    assert type(model) is GraphNSMVC
    assert_array_equal(model.labels_, local.labels_)
    assert_array_equal(model.predict(views), local.labels_)


def test_words_without_a_word_count_as_missing():
    rng = np.random.default_rng(1)
    truth = np.arange(120) % 3
    topics = rng.dirichlet(np.full(60, 0.05), size=3)
    words = np.array([rng.multinomial(40, topics[t]) for t in truth])
    words[5] = 0
    numbers = 4.0 * np.eye(3)[truth] + rng.normal(size=(120, 3))
    options = OPTIONS | {"n_clusters": 3}
    whole = GraphNSMVC(assignment="majorize", **options).fit(
        [sparse.csr_array(words), numbers]
    )
    blocks = da.from_array(words, ((50, 70), -1)).map_blocks(sparse.csr_array)
    model = DaskGraphNSMVC(**options).fit([blocks, da.from_array(numbers, (70, -1))])
    assert_array_equal(model.labels_.compute(), whole.labels_)
    assert whole.joined_pace_[0, 5] == model.joined_pace_[0, 5].compute() == 0


class Broken(Exception):
    pass


def break_off(restart, _):
    if restart == 1:
        raise Broken


def test_checkpoint_goes_on_and_refuses_other_settings(views, local, tmp_path):
    options = OPTIONS | {"checkpoint": tmp_path / "saved"}
    with pytest.raises(Broken):
        DaskGraphNSMVC(**options).fit(lazy(views), on_iteration=break_off)
    for other in ({"n_anchors": 150}, {"n_neighbors": (5, 10)}):
        with pytest.raises(CheckpointError, match=next(iter(other))):
            DaskGraphNSMVC(**options | other).fit(lazy(views))
    moved = [view + 0.01 * np.arange(N_SAMPLES)[:, None] for view in views]
    with pytest.raises(CheckpointError, match="data"):
        DaskGraphNSMVC(**options).fit(lazy(moved))
    model = DaskGraphNSMVC(**options).fit(lazy(views))
    assert_array_equal(model.labels_.compute(), local.labels_)
