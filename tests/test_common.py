"""What holds for every estimator in the package."""

import ast
import inspect
import pickle
import re
from pathlib import Path

import numpy as np
import pandas
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import manyview.cluster
from manyview import ViewError
from manyview.cluster._pairs import PairwiseClusterer
from manyview.metrics import clustering_accuracy

ESTIMATORS = [getattr(manyview.cluster, name) for name in manyview.cluster.__all__]
# Graphs and kernels between samples have no place for a sample that lacks a view.
NEED_EVERY_VIEW = [e for e in ESTIMATORS if issubclass(e, PairwiseClusterer)]


def build(Estimator, n_clusters=3, **params):
    """A quick instance: few restarts, fixed seed."""
    accepted = inspect.signature(Estimator).parameters
    quick = {"n_init": 3, "random_state": 0, **params}
    return Estimator(
        n_clusters, **{name: quick[name] for name in quick if name in accepted}
    )


def expected_failures(estimator):
    """Checks that take everything with predict_proba for a classifier of 4 classes."""
    if not hasattr(estimator, "predict_proba"):
        return {}
    reason = "asks a clusterer for its classifier_tags"
    checks = ("check_estimator_sparse_array", "check_estimator_sparse_matrix")
    return dict.fromkeys(checks, reason)


@parametrize_with_checks(
    [build(Estimator) for Estimator in ESTIMATORS],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(params=ESTIMATORS, ids=lambda Estimator: Estimator.__name__)
def Estimator(request):
    return request.param


def test_separated_blobs_are_recovered(Estimator, blobs):
    views, truth = blobs
    labels = build(Estimator, n_init=10).fit_predict(views)
    assert clustering_accuracy(truth, labels) == 1.0
    assert labels.dtype == np.int32


def test_same_seed_same_result(Estimator, blobs):
    views, _ = blobs
    first = build(Estimator, random_state=7).fit(views)
    second = build(Estimator, random_state=7).fit(views)
    third = build(Estimator, random_state=np.random.RandomState(7)).fit(views)
    assert_array_equal(first.labels_, second.labels_)
    assert_array_equal(first.labels_, third.labels_)


def test_no_seed_works_and_global_state_is_untouched(Estimator, blobs):
    views, truth = blobs
    kind, keys, place, *_ = np.random.get_state()  # noqa: NPY002 - what we guard
    labels = build(Estimator, random_state=None).fit_predict(views)
    after = np.random.get_state()  # noqa: NPY002 - what we guard
    assert (after[0], after[2]) == (kind, place)
    assert_array_equal(after[1], keys)
    assert len(labels) == len(truth)


def test_fit_leaves_parameters_and_input_alone(Estimator, blobs):
    views, _ = blobs
    copies = [view.copy() for view in views]
    estimator = build(Estimator)
    before = {name: repr(value) for name, value in estimator.get_params().items()}
    estimator.fit(views)
    after = {name: repr(value) for name, value in estimator.get_params().items()}
    assert after == before
    for view, copy in zip(views, copies, strict=True):
        assert_array_equal(view, copy)


def test_refit_leaves_nothing_of_the_first_fit(Estimator, blobs):
    views, _ = blobs
    twice = build(Estimator).fit([view[:40] for view in views]).fit(views)
    once = build(Estimator).fit(views)
    assert_array_equal(twice.labels_, once.labels_)
    assert set(vars(twice)) == set(vars(once))


def test_clone_and_pickle_behave_the_same(Estimator, blobs):
    views, _ = blobs
    estimator = build(Estimator).fit(views)
    assert_array_equal(clone(estimator).fit(views).labels_, estimator.labels_)
    again = pickle.loads(pickle.dumps(estimator))
    assert_array_equal(again.labels_, estimator.labels_)
    if hasattr(estimator, "predict"):
        assert_array_equal(again.predict(views), estimator.predict(views))


def test_training_data_is_not_kept(Estimator):
    if Estimator is manyview.cluster.GraphNSMVC:
        pytest.skip("anchors are samples; their number is bounded by n_anchors")
    rng = np.random.default_rng(0)
    wide = [rng.normal(size=(60, 3000)), rng.normal(size=(60, 2000))]
    estimator = build(Estimator).fit(wide)
    # Centres of three clusters are 3/60 of the data; the data itself would be all.
    assert len(pickle.dumps(estimator)) < 0.6 * sum(view.nbytes for view in wide)


def test_every_view_matters(Estimator):
    if Estimator.__name__ == "ViewKMeans":
        pytest.skip("clusters one view by definition")
    # Each view separates another pair of clusters: without any of them, one is lost.
    rng = np.random.default_rng(3)
    truth = np.repeat([0, 1, 2, 3], 25)
    first = 12.0 * (truth // 2)[:, None] + rng.normal(size=(100, 2))
    second = 12.0 * (truth % 2)[:, None] + rng.normal(size=(100, 2))
    both = build(Estimator, 4, n_init=10).fit_predict([first, second])
    for damaged in (
        [first, rng.normal(size=(100, 2))],
        [rng.normal(size=(100, 2)), second],
        [first],
        [second],
    ):
        labels = build(Estimator, 4, n_init=10).fit_predict(damaged)
        assert clustering_accuracy(both, labels) < 0.9


@pytest.mark.parametrize("n_samples", [1, 2, 3, 5])
def test_tiny_inputs_work(Estimator, n_samples):
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(n_samples, 3)), rng.normal(size=(n_samples, 2))]
    for n_clusters in {1, n_samples}:
        labels = build(Estimator, n_clusters).fit_predict(views)
        assert labels.shape == (n_samples,)
        assert set(labels) <= set(range(n_clusters))


def test_one_cluster_is_everybody(Estimator, blobs):
    assert_array_equal(build(Estimator, 1).fit_predict(blobs[0]), np.zeros(90))


@pytest.mark.parametrize(
    "odd_view",
    [
        np.zeros((90, 2)),
        np.ones((90, 1)),
        np.repeat(np.arange(3.0), 30)[:, None],
    ],
    ids=["all-zero", "constant", "three-values"],
)
def test_degenerate_views_do_no_harm(Estimator, blobs, odd_view):
    views, _ = blobs
    labels = build(Estimator).fit_predict([*views, odd_view])
    assert set(labels) <= {0, 1, 2}


def test_duplicate_rows_work(Estimator):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4, 3))[np.repeat(np.arange(4), 10)]
    labels = build(Estimator, 3).fit_predict([rows, rows[:, :2]])
    assert set(labels) <= {0, 1, 2}


def test_every_input_form_gives_the_same_labels(Estimator, blobs):
    views, _ = blobs
    polars = pytest.importorskip("polars")
    expected = build(Estimator).fit_predict(views)
    sizes = [view.shape[1] for view in views]
    frames = [pandas.DataFrame(view).add_prefix("f") for view in views]
    forms = {
        "tuple": tuple(views),
        "dict": {f"view{v}": view for v, view in enumerate(views)},
        "pandas": frames,
        "polars": [polars.from_pandas(frame) for frame in frames],
        "fortran": [np.asfortranarray(view) for view in views],
    }
    for name, form in forms.items():
        assert_array_equal(build(Estimator).fit_predict(form), expected, err_msg=name)
    stacked = build(Estimator, view_sizes=sizes).fit_predict(np.hstack(views))
    assert_array_equal(stacked, expected)


def test_sparse_views_give_the_labels_of_dense_ones(Estimator, blobs):
    views, _ = blobs
    matrices = [sparse.csr_array(view) for view in views]
    dense, thin = build(Estimator).fit(views), build(Estimator).fit(matrices)
    assert clustering_accuracy(dense.labels_, thin.labels_) == 1.0


def test_integers_do_not_wrap_around(Estimator):
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 30)
    means = np.array([[5, 250], [250, 5], [250, 250]])[truth]
    small = (means + rng.integers(-5, 6, size=(90, 2))).astype(np.uint8)
    views = [small, small[:, ::-1]]
    labels = build(Estimator).fit_predict(views)
    cast = build(Estimator).fit_predict([view.astype(float) for view in views])
    assert_array_equal(labels, cast)


def test_float32_gives_the_labels_of_float64(Estimator, blobs):
    views, _ = blobs
    single = build(Estimator).fit_predict([view.astype(np.float32) for view in views])
    double = build(Estimator).fit_predict(views)
    assert clustering_accuracy(double, single) == 1.0


def test_samples_without_a_view_work_or_are_refused(Estimator, blobs):
    views, truth = blobs
    views = [view.copy() for view in views]
    views[1][4] = np.nan
    if Estimator in NEED_EVERY_VIEW:
        names_it_all = f"^(?=.*{Estimator.__name__})(?=.*'view1')(?=.*row 4)"
        with pytest.raises(ViewError, match=names_it_all):
            build(Estimator).fit(views)
        return
    labels = build(Estimator, n_init=10).fit_predict(views)
    assert clustering_accuracy(truth, labels) == 1.0


def test_predict_on_training_data_gives_the_labels(Estimator, blobs):
    if not hasattr(Estimator, "predict"):
        pytest.skip("has no predict")
    views, _ = blobs
    estimator = build(Estimator).fit(views)
    assert_array_equal(estimator.predict(views), estimator.labels_)
    assert_array_equal(estimator.predict([v[:7] for v in views]), estimator.labels_[:7])


def test_history_has_one_record_per_iteration(Estimator, blobs):
    estimator = build(Estimator).fit(blobs[0])
    assert len(estimator.history_) == estimator.n_iter_


def test_callback_hears_every_restart(Estimator, blobs):
    heard = []
    estimator = build(Estimator)
    estimator.fit(blobs[0], on_iteration=lambda *event: heard.append(event))
    records = [record for _, record in heard]
    assert all(record in records for record in estimator.history_)


def test_every_parameter_is_validated(Estimator, blobs):
    for name in inspect.signature(Estimator).parameters:
        nonsense = Estimator(**{name: object()})
        with pytest.raises(ValueError, match=f"'{name}' parameter"):
            nonsense.fit(blobs[0])


def test_documented_parameters_match_the_signature(Estimator):
    _, _, rest = inspect.getdoc(Estimator).partition("Parameters\n----------\n")
    section, _, _ = rest.partition("\n\n")
    parameters = inspect.signature(Estimator).parameters
    documented = []
    for names, shown, text in re.findall(
        r"^(\w[\w, ]*?)(?: : .*default=(.*))?\n((?: .*\n?)+)", section, re.MULTILINE
    ):
        for name in names.split(", "):
            documented.append(name)
            if shown:
                assert parameters[name].default == ast.literal_eval(shown), name
            else:
                other = re.fullmatch(r"As in `(\w+)`\.", text.strip())[1]
                same = inspect.signature(getattr(manyview.cluster, other)).parameters
                assert parameters[name].default == same[name].default, name
    assert documented == list(parameters)


def test_every_method_has_a_page(Estimator):
    pages = Path(__file__).parents[1].glob("docs/methods/*.md")
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert re.search(rf"\b{Estimator.__name__}\b", text)


def test_more_clusters_than_samples_is_refused(Estimator, blobs):
    with pytest.raises(ViewError, match="n_clusters=91 is more than n_samples=90"):
        build(Estimator, 91).fit(blobs[0])


def test_weights_and_embeddings_are_finite(Estimator, blobs):
    estimator = build(Estimator).fit(blobs[0])
    for name in ("view_weights_", "embedding_", "exponents_", "view_losses_"):
        if hasattr(estimator, name):
            assert np.isfinite(np.asarray(getattr(estimator, name))).all(), name


def test_objective_is_that_of_the_last_record(Estimator, blobs):
    estimator = build(Estimator).fit(blobs[0])
    if not hasattr(estimator, "objective_"):
        pytest.skip("minimises nothing")
    assert_allclose(estimator.objective_, estimator.history_[-1].objective)
