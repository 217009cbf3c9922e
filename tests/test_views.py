"""Every form of input becomes the same checked views, without needless copies."""

import numpy as np
import pandas
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from manyview import NSMVC
from manyview._views import check_views

A = np.arange(12.0).reshape(6, 2)
B = np.arange(18.0).reshape(6, 3)


def test_list_tuple_and_dict():
    for X, names in (
        ([A, B], ("view0", "view1")),
        ((A, B), ("view0", "view1")),
        ({"a": A, 7: B}, ("a", "7")),
    ):
        views = check_views(X)
        assert views.names == names
        assert views.n_features == (2, 3)
        assert views.n_samples == 6
        assert all(mask.all() for mask in views.present)


def test_arrays_are_not_copied():
    fortran, strided = np.asfortranarray(A), np.hstack([B, B])[:, ::2]
    views = check_views([A, fortran, strided, A.astype(np.uint8)])
    for array, original in zip(views.arrays[:3], (A, fortran, strided), strict=True):
        assert np.shares_memory(array, original)
    assert views.arrays[3].dtype == np.uint8


def test_one_table_is_split_into_columns():
    views = check_views(np.hstack([A, B]), view_sizes=[2, 3])
    assert_array_equal(views.arrays[0], A)
    assert_array_equal(views.arrays[1], B)
    assert check_views(A).names == ("view0",)
    assert_array_equal(check_views(A.tolist()).arrays[0], A)


def test_nested_lists_are_views():
    views = check_views([A.tolist(), B.tolist()])
    assert views.n_features == (2, 3)


def test_sparse_table_is_split_into_columns():
    table = sparse.csr_matrix(np.hstack([A, B]))
    views = check_views(table, view_sizes=[2, 3])
    assert_array_equal(views.arrays[1].toarray(), B)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
def test_sparse_forms(form):
    array = sparse.csr_array(B).asformat(form)
    matrix = sparse.csr_matrix(B).asformat(form)
    for X in ([array, A], [matrix, A]):
        assert_array_equal(check_views(X).arrays[0].toarray(), B)


def test_sparse_duplicates_are_summed_without_touching_the_input():
    given = sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2)).tocsr()
    given = sparse.csr_array(
        (np.array([1.0, 2.0, 5.0]), np.array([1, 1, 0]), np.array([0, 2, 3])),
        shape=(2, 2),
    )
    views = check_views([given])
    assert_array_equal(views.arrays[0].toarray(), [[0, 3], [5, 0]])
    assert_array_equal(given.data, [1, 2, 5])


def test_missing_rows_are_found():
    first, second = A.copy(), B.astype(np.float32)
    first[[1, 4]] = np.nan
    thin = sparse.lil_array((6, 4))
    thin[0, 1] = 1.0
    thin[2, :] = np.nan
    thin[3, 2] = np.nan  # one stored NaN is enough in a sparse row
    views = check_views([first, second, thin.tocsr()])
    assert_array_equal(np.flatnonzero(~views.present[0]), [1, 4])
    assert views.present[1].all()
    assert_array_equal(np.flatnonzero(~views.present[2]), [2, 3])


def test_overflowing_row_sum_is_not_an_error():
    large = np.full((3, 4), 1e308)
    assert check_views([large]).present[0].all()


def test_pandas_frames_and_nullable_columns():
    frame = pandas.DataFrame(
        {
            "a": pandas.array([1, None, 3], dtype="Int64"),
            "b": pandas.array([0.5, None, 2.5], dtype="Float64"),
        }
    )
    views = check_views([frame, A[:3]])
    assert_array_equal(views.arrays[0], [[1, 0.5], [np.nan, np.nan], [3, 2.5]])
    assert_array_equal(views.present[0], [True, False, True])
    single = pandas.DataFrame(A.astype(np.float32))
    assert check_views([single]).arrays[0].dtype == np.float32
    flags = pandas.DataFrame({"x": [True, False], "y": [False, False]})
    assert_array_equal(check_views([flags]).arrays[0], [[1, 0], [0, 0]])


def test_polars_frames():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1, 2], "b": [True, False]})
    assert_array_equal(check_views([frame]).arrays[0], [[1, 1], [2, 0]])


def test_memmap_is_read_in_place(tmp_path, blobs):
    views, _ = blobs
    maps = []
    for v, view in enumerate(views):
        np.save(tmp_path / f"{v}.npy", view)
        maps.append(np.load(tmp_path / f"{v}.npy", mmap_mode="r"))
    checked = check_views(maps)
    assert all(isinstance(array, np.memmap) for array in checked.arrays)
    expected = NSMVC(3, random_state=0).fit(views)
    assert_array_equal(NSMVC(3, random_state=0).fit(maps).labels_, expected.labels_)


def test_anndata_gives_its_matrix(blobs):
    anndata = pytest.importorskip("anndata")
    views, _ = blobs
    data = anndata.AnnData(views[0])
    data.obsm["X_umap"] = np.zeros((90, 2))
    estimator = NSMVC(3, random_state=0).fit(data)
    assert estimator.view_names_ == ["X"]
    expected = NSMVC(3, random_state=0).fit(views[:1])
    assert_array_equal(estimator.labels_, expected.labels_)
    assert_array_equal(estimator.predict(data), estimator.labels_)


# MuData warns about its own plans while it is built.
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_mudata_gives_its_modalities_with_missing_samples(blobs, kind):
    anndata = pytest.importorskip("anndata")
    mudata = pytest.importorskip("mudata")
    views, _ = blobs
    names = pandas.Index([f"cell{i}" for i in range(90)])
    store = sparse.csr_matrix if kind == "sparse" else np.asarray
    first = anndata.AnnData(store(views[0]), obs=pandas.DataFrame(index=names))
    # The second modality lacks ten cells and lists the others backwards.
    kept = np.arange(89, 9, -1)
    second = anndata.AnnData(
        store(views[1][kept]), obs=pandas.DataFrame(index=names[kept])
    )
    data = mudata.MuData({"rna": first, "atac": second})
    position = data.obs_names.get_indexer(names)
    estimator = NSMVC(3, random_state=0).fit(data)
    assert estimator.view_names_ == ["rna", "atac"]
    lacking = views[1].copy()
    lacking[:10] = np.nan
    expected = NSMVC(3, random_state=0).fit([views[0], lacking])
    assert (estimator.joined_pace_[1][position[:10]] == 0).all()
    assert (estimator.joined_pace_[1][position[10:]] > 0).all()
    from manyview.metrics import clustering_accuracy

    assert clustering_accuracy(expected.labels_, estimator.labels_[position]) == 1.0
