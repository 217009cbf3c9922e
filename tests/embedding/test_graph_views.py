"""The transformer: what goes in and comes out, and scikit-learn's conventions."""

import ast
import inspect
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from manyview import NSMVC, GraphViews, ViewError
from manyview.metrics import clustering_accuracy


@parametrize_with_checks([GraphViews(3), GraphViews(2, n_anchors=20, random_state=0)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_list_in_list_out(blobs):
    views, _ = blobs
    transformer = GraphViews(3).fit(views)
    embeddings = transformer.transform(views)
    assert isinstance(embeddings, list)
    assert [part.shape for part in embeddings] == [(90, 6)] * 3 + [(90, 9), (90, 4)]
    assert transformer.view_sizes_out_ == [6, 6, 6, 9, 4]
    for again, part in zip(
        GraphViews(3).fit_transform(tuple(views)), embeddings, strict=True
    ):
        assert_array_equal(again, part)


def test_dict_in_dict_out(blobs):
    views, _ = blobs
    named = dict(zip(("genes", "proteins", "clinic"), views, strict=True))
    transformer = GraphViews(3).fit(named)
    embeddings = transformer.transform(named)
    names = ["genes", "proteins", "clinic", "joint", "diffusion"]
    assert list(embeddings) == transformer.embedding_names_ == names
    listed = GraphViews(3).fit_transform(views)
    for part, expected in zip(embeddings.values(), listed, strict=True):
        assert_array_equal(part, expected)


def test_one_array_in_one_array_out(blobs):
    views, truth = blobs
    sizes = [view.shape[1] for view in views]
    transformer = GraphViews(3, view_sizes=sizes).fit(np.hstack(views))
    table = transformer.transform(np.hstack(views))
    assert_array_equal(table, np.hstack(GraphViews(3).fit_transform(views)))
    after = NSMVC(3, view_sizes=transformer.view_sizes_out_, random_state=0)
    assert clustering_accuracy(truth, after.fit_predict(table)) == 1.0


def test_feature_names_out(blobs):
    views, _ = blobs
    named = {"genes": views[0], "clinic": views[1]}
    names = GraphViews(2, n_neighbors=(4,)).fit(named).get_feature_names_out()
    assert names.tolist() == [
        *("genes_0", "genes_1", "clinic_0", "clinic_1", "joint_0", "joint_1"),
        *("diffusion_0", "diffusion_1", "diffusion_2"),
    ]
    with pytest.raises(NotFittedError):
        GraphViews().get_feature_names_out()


def test_weights_add_up_to_one(blobs):
    weights = GraphViews(3).fit(blobs[0]).graph_weights_
    assert weights.shape == (3,)
    assert weights.sum() == pytest.approx(1.0)


def test_missing_views_become_missing_rows(blobs):
    views = [view.copy() for view in blobs[0]]
    views[1][[4, 9]] = np.nan
    first, second, third, joint, diffusion = GraphViews(3).fit_transform(views)
    assert_array_equal(np.flatnonzero(np.isnan(second).all(axis=1)), [4, 9])
    assert_array_equal(np.flatnonzero(np.isnan(second).any(axis=1)), [4, 9])
    for part in (first, third, joint, diffusion):
        assert np.isfinite(part).all()


def test_new_samples(blobs):
    views, truth = blobs
    transformer = GraphViews(3).fit([view[:70] for view in views])
    whole = transformer.transform(views)
    alone = transformer.transform([view[70:] for view in views])
    for part, expected in zip(alone, whole, strict=True):
        assert_allclose(part, expected[70:], atol=1e-9)
    # In the joint embedding a new sample lies with those of its cluster.
    joint = whole[-2]
    nearest = (joint[70:] @ joint[:70].T).argmax(axis=1)
    assert_array_equal(truth[:70][nearest], truth[70:])


def test_new_samples_without_a_view(blobs):
    views, _ = blobs
    transformer = GraphViews(3).fit(views)
    first, second, _, joint, _ = transformer.transform([views[0], None, views[2]])
    assert np.isfinite(first).all()
    assert np.isnan(second).all()
    assert np.isfinite(joint).all()


def test_pipeline_of_views(blobs):
    views, truth = blobs
    pipeline = make_pipeline(GraphViews(3), NSMVC(3, random_state=0)).fit(views)
    labels = pipeline.predict(views)
    assert clustering_accuracy(truth, labels) == 1.0
    some = [view[20:50] for view in views]
    assert_array_equal(pipeline.predict(some), labels[20:50])
    some[1] = np.full_like(some[1], np.nan)
    assert clustering_accuracy(truth[20:50], pipeline.predict(some)) > 0.9


def test_pipeline_with_a_constant_view(blobs):
    views, truth = blobs
    views = [*views, np.ones((90, 2))]
    pipeline = make_pipeline(GraphViews(3), NSMVC(3, random_state=0)).fit(views)
    assert clustering_accuracy(truth, pipeline.predict(views)) == 1.0


def test_clone_and_pickle(blobs):
    views, _ = blobs
    transformer = GraphViews(3, n_anchors=30, random_state=5).fit(views)
    expected = transformer.transform(views)
    for other in (
        clone(transformer).fit(views),
        pickle.loads(pickle.dumps(transformer)),
    ):
        for part, same in zip(other.transform(views), expected, strict=True):
            assert_array_equal(part, same)


def test_refit_leaves_nothing_of_the_first_fit(blobs):
    views, _ = blobs
    twice = GraphViews(3).fit(views[:2]).fit(views)
    assert set(vars(twice)) == set(vars(GraphViews(3).fit(views)))
    assert len(twice.embedding_names_) == 5


def test_failed_fit_leaves_the_earlier_one(blobs):
    views, _ = blobs
    transformer = GraphViews(3).fit(views)
    expected = transformer.transform(views)
    with pytest.raises(ViewError):
        transformer.fit([views[0], views[1][:5]])
    for part, same in zip(transformer.transform(views), expected, strict=True):
        assert_array_equal(part, same)


@pytest.mark.parametrize("bad", [(), (0, 5), (5, 2.5), [True], ("5",)])
def test_bad_n_neighbors_are_refused(blobs, bad):
    with pytest.raises(ViewError, match="must be one or more positive whole numbers"):
        GraphViews(3, n_neighbors=bad).fit(blobs[0])


def test_order_and_repeats_of_n_neighbors_do_not_matter(blobs):
    views, _ = blobs
    expected = GraphViews(3, n_neighbors=(5, 10)).fit_transform(views)
    mixed = GraphViews(3, n_neighbors=[10, 5, 10]).fit_transform(views)
    for part, same in zip(mixed, expected, strict=True):
        assert_array_equal(part, same)


@pytest.mark.parametrize("name", ["joint", "diffusion"])
def test_view_with_the_name_of_an_embedding_is_refused(blobs, name):
    views = {"genes": blobs[0][0], name: blobs[0][1]}
    with pytest.raises(ViewError, match=f"'{name}'.* Rename"):
        GraphViews(3).fit(views)


def test_every_parameter_is_validated(blobs):
    for name in inspect.signature(GraphViews).parameters:
        with pytest.raises(ValueError, match=f"'{name}' parameter"):
            GraphViews(**{name: object()}).fit(blobs[0])


def test_documented_defaults_match_the_signature():
    lines = [line.strip() for line in inspect.getdoc(GraphViews).splitlines()]
    for name, parameter in inspect.signature(GraphViews).parameters.items():
        (line,) = [line for line in lines if line.startswith(f"{name} : ")]
        shown = line.rpartition("default=")[2]
        assert ast.literal_eval(shown) == parameter.default, line


def test_single_precision_is_kept(blobs):
    views = [view.astype(np.float32) for view in blobs[0]]
    single = GraphViews(3).fit_transform(views)
    assert {part.dtype for part in single} == {np.dtype(np.float32)}
    mixed = GraphViews(3).fit_transform([views[0], blobs[0][1]])
    assert {part.dtype for part in mixed} == {np.dtype(np.float64)}


def test_sparse_views_are_embedded_as_dense_ones():
    rng = np.random.default_rng(0)
    words = rng.poisson(0.5, size=(60, 30)).astype(float)
    numbers = rng.normal(size=(60, 3))
    dense = GraphViews(3).fit_transform([words, numbers])
    thin = GraphViews(3).fit_transform([sparse.csr_array(words), numbers])
    for part, expected in zip(thin, dense, strict=True):
        assert_allclose(part @ part.T, expected @ expected.T, atol=1e-6)


def test_output_stays_views_whatever_is_configured(blobs):
    views, _ = blobs
    assert not hasattr(GraphViews(), "set_output")
    with config_context(transform_output="pandas"):
        embeddings = GraphViews(3).fit_transform(views)
    assert {type(part) for part in embeddings} == {np.ndarray}
