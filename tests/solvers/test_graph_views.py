"""Graph views against the written-out embeddings, and their invariants."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from manyview import GraphNSMVC
from manyview._numerics._diffusion import diffusion_vectors
from manyview._rows import open_views
from manyview._scaling import learn_scales
from manyview._solvers import _graph_views
from manyview._solvers._graph_learning import learn_graphs
from manyview._solvers._graph_views import place, usable_views
from manyview._views import check_views
from manyview.metrics import clustering_accuracy
from tests import reference_graph_views as reference

SIZES = (3, 6)


@dataclass(frozen=True)
class Opened:
    """Views as the solver gets them."""

    rows: tuple
    usable: list
    scales: tuple

    @classmethod
    def of(cls, views, scale=None, scales=None):
        checked = check_views(views)
        scales = learn_scales(checked, scale) if scales is None else scales
        rows = open_views(checked, scales)
        return cls(rows, usable_views(rows, scales), scales)

    def learn(self, *args, **options):
        model, _ = self.learn_and_locate(*args, **options)
        return model

    def learn_and_locate(self, n_components=3, n_neighbors=SIZES, n_anchors=2000):
        return learn_graphs(
            self.rows,
            self.usable,
            n_components=n_components,
            n_neighbors=n_neighbors,
            n_anchors=n_anchors,
            random_state=np.random.RandomState(0),
            n_threads=2,
        )

    def place(self, model, placement=None):
        return place(model, self.rows, self.usable, np.float64, placement)

    def dense(self):
        everyone = np.arange(self.rows[0].n_samples)
        return [view.dense_rows(everyone) for view in self.rows]


def embed(views, scale=None, **options):
    opened = Opened.of(views, scale)
    return opened.place(opened.learn(**options))


def grams(embeddings):
    """Inner products of rows: what is left when signs and rotations do not count."""
    return [np.nan_to_num(part) @ np.nan_to_num(part).T for part in embeddings]


@st.composite
def problems(draw):
    """Views in which no distance ties; some with missing rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_samples, n_views = draw(st.integers(8, 30)), draw(st.integers(1, 3))
    truth = rng.integers(3, size=n_samples)
    spread = draw(st.sampled_from([0.0, 1.0, 2.0]))
    views = [
        spread * rng.normal(size=(3, width))[truth]
        + rng.normal(size=(n_samples, width))
        for width in rng.integers(2, 5, size=n_views)
    ]
    if n_views > 1 and draw(st.booleans()):
        present = rng.random((n_views, n_samples)) > 0.2
        present[rng.integers(n_views, size=n_samples), np.arange(n_samples)] = True
        present[:, :4] = True
        for view, mask in zip(views, present, strict=True):
            view[~mask] = np.nan
    return views


@given(problems(), st.integers(2, 4), st.integers(0, 100))
def test_embeddings_match_reference(views, n_components, seed):
    opened = Opened.of(views)
    dense = opened.dense()
    expected = reference.learn(dense, opened.usable, n_components, SIZES)
    # Where eigenvalues tie, vectors follow from rules that the reference lacks.
    assume(expected["gap"] > 1e-4)
    model, placement = opened.learn_and_locate(n_components)
    assert_allclose(model.weights, expected["weights"], atol=1e-7)
    placed = opened.place(model)
    for found, known in zip(placed, opened.place(model, placement), strict=True):
        assert_allclose(found, known, atol=1e-9)
    written = reference.place(expected, dense, opened.usable)
    for ours, theirs in zip(grams(placed), grams(written), strict=True):
        assert_allclose(ours, theirs, atol=1e-6)
    for ours, theirs in zip(placed, written, strict=True):
        assert_array_equal(np.isnan(ours), np.isnan(theirs))

    rng = np.random.default_rng(seed)
    new = Opened.of(
        [rng.normal(size=(5, view.shape[1])) for view in views], scales=opened.scales
    )
    written = reference.place(expected, new.dense(), new.usable)
    for ours, theirs in zip(grams(new.place(model)), grams(written), strict=True):
        assert_allclose(ours, theirs, atol=1e-5)


@given(problems())
def test_rows_have_unit_length_and_weights_sum_to_one(views):
    opened = Opened.of(views)
    # A graph in more pieces than components has rows of zeros: its eigenvalues tie.
    gap = reference.learn(opened.dense(), opened.usable, 3, SIZES)["gap"]
    assume(gap > 1e-4)
    model = opened.learn()
    assert model.weights.sum() == pytest.approx(1.0)
    assert (model.weights >= 0.0).all()
    *own, joint, diffusion = opened.place(model)
    for part, mask in zip(own, opened.usable, strict=True):
        assert_allclose(np.linalg.norm(part[mask], axis=1), 1.0)
        assert np.isnan(part[~mask]).all()
    assert_allclose(np.linalg.norm(joint, axis=1), 1.0)
    assert np.isfinite(diffusion).all()


@given(problems(), st.integers(0, 100))
def test_order_of_samples_does_not_matter(views, seed):
    opened = Opened.of(views)
    gap = reference.learn(opened.dense(), opened.usable, 3, SIZES)["gap"]
    assume(gap > 1e-4)
    order = np.random.default_rng(seed).permutation(len(views[0]))
    moved = grams(embed([view[order] for view in views]))
    for before, after in zip(grams(opened.place(opened.learn())), moved, strict=True):
        assert_allclose(after, before[np.ix_(order, order)], atol=1e-6)


def blob_views(n_samples=90, seed=0, distance=8.0, widths=(4, 3)):
    rng = np.random.default_rng(seed)
    truth = np.arange(n_samples) % 3
    views = [
        distance * rng.normal(size=(3, width))[truth]
        + rng.normal(size=(n_samples, width))
        for width in widths
    ]
    return views, truth


def test_duplicates_get_equal_rows():
    views, _ = blob_views(60)
    repeat = np.concatenate([np.arange(60), np.arange(0, 60, 2), np.zeros(9, int)])
    for part in embed([view[repeat] for view in views]):
        assert_allclose(part[60:], part[repeat[60:]], atol=1e-9)


def test_training_rows_are_placed_where_they_were():
    views, _ = blob_views(70)
    opened = Opened.of(views)
    model = opened.learn()
    whole = opened.place(model)
    for first, again in zip(whole, opened.place(model), strict=True):
        assert_array_equal(again, first)
    part = Opened.of([view[11:40] for view in views], scales=opened.scales)
    for all_rows, some_rows in zip(whole, part.place(model), strict=True):
        assert_allclose(some_rows, all_rows[11:40], atol=1e-9)


def test_zero_row_of_a_unit_length_view_is_missing():
    rng = np.random.default_rng(0)
    words = rng.poisson(0.4, size=(40, 12)).astype(float)
    words[:, 0] += 1.0
    words[[3, 17]] = 0.0
    numbers = rng.normal(size=(40, 2))
    missing = words.copy()
    missing[[3, 17]] = np.nan
    blank = embed([words, numbers], "auto")
    assert np.isnan(blank[0][[3, 17]]).all()
    assert np.isfinite(np.delete(blank[0], [3, 17], axis=0)).all()
    for zero, nan in zip(blank, embed([missing, numbers], "auto"), strict=True):
        assert_allclose(zero, nan, atol=1e-9)


def test_sample_without_a_view_has_a_joint_row():
    views, _ = blob_views()
    views[1][5] = np.nan
    first, second, joint, diffusion = embed(views)
    assert np.isfinite(first).all()
    assert np.isnan(second[5]).all()
    assert np.isfinite(np.delete(second, 5, axis=0)).all()
    assert np.isfinite(joint).all()
    assert np.isfinite(diffusion).all()


def test_sample_with_nothing_usable_is_at_the_origin():
    words = np.random.default_rng(0).poisson(0.4, size=(30, 9)).astype(float)
    words[:, 0] += 1.0
    words[4] = 0.0
    own, joint, diffusion = embed([words], "l2")
    assert np.isnan(own[4]).all()
    assert_array_equal(joint[4], 0.0)
    assert_array_equal(diffusion[4], 0.0)


@pytest.mark.parametrize("n_components", [1, 3])
def test_constant_view_changes_nothing_for_the_others(n_components):
    views, _ = blob_views()
    constant = np.full((90, 2), 7.0)
    constant[:10] = np.nan
    alone = embed(views, n_components=n_components)
    first, second, same, joint, diffusion = embed(
        [*views, constant], n_components=n_components
    )
    assert np.isnan(same).all()
    for ours, expected in zip((first, second, joint, diffusion), alone, strict=True):
        assert_allclose(ours, expected, atol=1e-9)


def test_constant_view_takes_no_share_from_a_view_without_strength():
    # Two samples have no clusters among them: their view has strength 0, but is all
    # that they have.
    many = np.random.default_rng(0).normal(size=(40, 3))
    few = np.full((40, 1), np.nan)
    few[:2] = [[0.0], [1.0]]
    many[:2] = np.nan
    assert_array_equal(Opened.of([many, few]).learn().weights, [1.0, 0.0])
    *_, alone = embed([many, few])
    *_, diffusion = embed([many, few, np.ones((40, 1))])
    assert np.abs(alone[:2]).max() > 0.1
    assert_allclose(diffusion, alone, atol=1e-9)


def test_all_rows_equal_everywhere():
    opened = Opened.of([np.ones((6, 2)), np.full((6, 1), 3.0)])
    model = opened.learn()
    assert_allclose(model.weights, [0.5, 0.5])
    first, second, joint, diffusion = opened.place(model)
    assert np.isnan(first).all()
    assert np.isnan(second).all()
    assert_array_equal(joint, 0.0)
    assert_array_equal(diffusion, 0.0)


@pytest.mark.parametrize("n_samples", [2, 3, 5])
def test_fewer_samples_than_neighbours(n_samples):
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(n_samples, 2)), rng.normal(size=(n_samples, 3))]
    *own, joint, diffusion = embed(views, n_components=4, n_neighbors=(5, 10, 20))
    for part in (*own, joint):
        # No neighbourhood is larger than a cluster, but for the smallest one.
        assert part.shape == (n_samples, 4)
        assert_allclose(np.linalg.norm(part, axis=1), 1.0)
    assert diffusion.shape == (n_samples, 5)
    assert np.isfinite(diffusion).all()


def test_more_components_than_distinct_rows():
    rows = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]])[np.repeat(np.arange(3), 6)]
    for part in embed([rows], n_components=5):
        assert np.isfinite(part).all()
        assert len(np.unique(part.round(9), axis=0)) == 3


def test_part_of_the_samples_as_anchors():
    views, truth = blob_views(200)
    opened = Opened.of(views)
    model = opened.learn(n_anchors=40, n_neighbors=(5, 10))
    assert model.n_anchors == 40
    *own, joint, _ = opened.place(model)
    for part in (*own, joint):
        assert_allclose(np.linalg.norm(part, axis=1), 1.0)
    model = GraphNSMVC(3, n_anchors=40, random_state=0).fit(views)
    assert clustering_accuracy(truth, model.labels_) == 1.0


def test_trivial_direction_is_left_out_where_eigenvalues_tie():
    # Two groups joined by next to nothing: any mixture of their indicators is an
    # eigenvector of 1, and a solver may return any of them first.
    blocks = np.kron(np.eye(2), np.ones((4, 4))) - np.eye(8)
    blocks[3, 4] = blocks[4, 3] = 1e-40
    _, vectors, scaling, _ = diffusion_vectors(sparse.csr_array(blocks), 2)
    (coordinates,) = (vectors * scaling[:, None]).T
    assert_allclose(coordinates[:4], -coordinates[4:], atol=1e-9)
    assert_allclose(np.abs(coordinates), 1.0 / np.sqrt(24.0), atol=1e-9)


def test_joint_embedding_of_one_view_is_its_own():
    (view,), _ = blob_views(widths=(4,))
    own, joint, _ = embed([view])
    assert_allclose(joint, own, atol=1e-9)


def test_forms_of_the_same_numbers_give_the_same_labels():
    views, truth = blob_views(distance=3.0)
    # Whole numbers of eighths are exact in single precision.
    views = [np.round(8 * view) / 8 for view in views]
    expected = GraphNSMVC(3, random_state=0).fit(views)
    assert clustering_accuracy(truth, expected.labels_) > 0.9
    forms = {
        "fortran": [np.asfortranarray(view) for view in views],
        "single": [view.astype(np.float32) for view in views],
        "csr": [sparse.csr_array(view) for view in views],
        "csc": [sparse.csc_array(view) for view in views],
    }
    for name, form in forms.items():
        found = GraphNSMVC(3, random_state=0).fit(form)
        assert_array_equal(found.labels_, expected.labels_, err_msg=name)
        # A model takes new samples in any form, whatever it was fitted on.
        assert_array_equal(expected.predict(form), expected.labels_, err_msg=name)
        assert_array_equal(found.predict(views), expected.labels_, err_msg=name)


def test_joint_eigenvalues_fall_after_the_number_of_clusters(blobs):
    values = Opened.of(blobs[0]).learn(6, (5, 10)).eigenvalues
    assert values[0] == pytest.approx(1.0)
    assert (np.diff(values) <= 1e-12).all()
    assert np.argmax(values[:-1] - values[1:]) + 1 == 3


def test_blocks_and_threads_do_not_change_where_samples_lie(monkeypatch):
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(700, 4)), rng.normal(size=(700, 6))]
    views[0][::9] = np.nan
    opened = Opened.of(views)
    model = opened.learn(n_anchors=100)
    known = [np.ones(700, dtype=bool) for _ in range(2)]
    whole = place(model, opened.rows, opened.usable, np.float64, None, known[0])
    monkeypatch.setattr(_graph_views, "SCAN_ELEMENTS", 5000)
    parts = place(
        model, opened.rows, opened.usable, np.float64, None, known[1], n_threads=3
    )
    for one, other in zip(whole, parts, strict=True):
        assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    assert_array_equal(known[0], known[1])
