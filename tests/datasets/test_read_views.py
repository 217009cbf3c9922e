"""Files of every kind come back as the views that were written."""

import sys

import anndata
import h5py
import mudata
import numpy as np
import pandas as pd
import pytest
import scipy.io
from numpy.testing import assert_array_equal
from scipy import sparse

from manyview.datasets import MultiViewData, read_views
from manyview.datasets import _read_arrays as arrays_module
from manyview.exceptions import DatasetError

A = np.array([[1.0, 2.5], [3.0, -4.0], [5.0, 6e-3]])
B = np.array([[0.0, 7.0, 0.0], [8.0, 0.0, 0.0], [0.0, 0.0, 9.0]])
IDS = ["s1", "s2", "s3"]
FRAME = pd.DataFrame(A, index=IDS, columns=["x", "y"])


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


# Text tables


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "x,y\n1,2.5\n3,-4\n5,6e-3\n"),
        ("a.csv", "\ufeffx,y\r\n1,2.5\r\n3,-4\r\n5,6e-3"),
        ("a.csv", '"x","y"\n"1","2.5"\n\n3, -4\n5,.006\n\n'),
        ("a.csv", "0,1\n1,2.5\n3,-4\n5,6e-3\n"),
        ("a.csv", "1,2.5\n3,-4\n5,6e-3\n"),
        ("a.tsv", "x\ty\n1\t2.5\n3\t-4\n5\t6e-3\n"),
        ("a.TXT", "x\ty\n1\t2.5\n3\t-4\n5\t6e-3\n"),
    ],
)
def test_read_text_table(tmp_path, name, text):
    data = read_views([write(tmp_path / name, text)])
    assert_array_equal(data.views[0], A)
    assert data.views[0].dtype == np.float64
    assert data.view_names == ("a",)
    assert data.target is None
    assert data.sample_ids is None


def test_read_text_table_header_can_be_forced(tmp_path):
    path = write(tmp_path / "a.csv", "1,2\n3,4\n")
    assert_array_equal(read_views([path]).views[0], [[1, 2], [3, 4]])
    assert_array_equal(read_views([path], header=True).views[0], [[3, 4]])
    path = write(tmp_path / "b.csv", "0,1\n3,4\n")
    assert_array_equal(read_views([path], header=False).views[0], [[0, 1], [3, 4]])
    path = write(tmp_path / "c.csv", "p,1\nq,4\n")
    data = read_views([path], header=False, ids="1")
    assert_array_equal(data.views[0], [[1], [4]])
    assert_array_equal(data.sample_ids, ["p", "q"])


@pytest.mark.parametrize("name", ["", "id", "Sample_ID", "index"])
def test_read_text_table_finds_sample_ids(tmp_path, name):
    path = write(tmp_path / "a.csv", f"{name},x\nq,1\np,2\n")
    data = read_views([path])
    assert_array_equal(data.sample_ids, ["q", "p"])
    assert_array_equal(data.views[0], [[1], [2]])


def test_read_text_table_ids_and_labels_by_name(tmp_path):
    path = write(tmp_path / "a.csv", "x,who,y,kind\n1,q,2,dog\n3,p,4,cat\n5,r,6,dog\n")
    data = read_views([path], ids="who", labels="kind")
    assert_array_equal(data.views[0], [[1, 2], [3, 4], [5, 6]])
    assert_array_equal(data.sample_ids, ["q", "p", "r"])
    assert data.target_names == ("cat", "dog")
    assert_array_equal(data.target, [1, 0, 1])


def test_read_text_table_longer_than_a_block(tmp_path):
    expected = np.random.default_rng(0).normal(size=(9000, 3))
    path = tmp_path / "a.csv"
    pd.DataFrame(expected).to_csv(path)
    data = read_views([path])
    assert_array_equal(data.views[0], expected)
    assert_array_equal(data.sample_ids, [str(i) for i in range(9000)])


@pytest.mark.parametrize("digits", [1, 6, 12, 13, 14, 17, 20])
@pytest.mark.parametrize("letter", "fe")
def test_read_text_table_is_exact(tmp_path, digits, letter):
    """Also where pandas would be quicker and wrong by a thousand last places."""
    rng = np.random.default_rng(digits)
    values = rng.normal(size=(200, 3)) * 10.0 ** rng.integers(-6, 3, size=(200, 3))
    rows = [[f"{x:.{digits}{letter}}" for x in row] for row in values]
    lines = [f"sample {i}," + ",".join(row) for i, row in enumerate(rows)]
    path = write(tmp_path / "a.csv", "id,one,two,three\n" + "\n".join(lines))
    expected = [[float(cell) for cell in row] for row in rows]
    assert_array_equal(read_views([path]).views[0], expected)


@pytest.mark.parametrize("empty", ["", "NA", "nan", "NULL", " n/a "])
def test_read_text_table_empty_row_is_a_missing_view(tmp_path, empty):
    path = write(tmp_path / "a.csv", f"id,x,y\np,1,2\nq,{empty},{empty}\n")
    assert_array_equal(read_views([path]).views[0], [[1, 2], [np.nan, np.nan]])


def test_read_one_table_split_by_column_names(tmp_path):
    path = write(
        tmp_path / "all.csv",
        "id,rna.a,prot.a,rna.b.c,kind\np,1,2,3,1\nq,4,5,6,0\n",
    )
    data = read_views(path, labels="kind")
    assert data.name == "all"
    assert data.view_names == ("rna", "prot")
    assert_array_equal(data.views[0], [[1, 3], [4, 6]])
    assert_array_equal(data.views[1], [[2], [5]])
    assert_array_equal(data.target, [1, 0])
    # In a list the same file is one view.
    assert read_views([path], labels="kind").views[0].shape == (2, 3)


def test_read_parquet(tmp_path):
    frame = FRAME.assign(kind=pd.Categorical(["u", "v", "u"]), flag=[True, False, True])
    frame.to_parquet(tmp_path / "a.parquet")
    data = read_views([tmp_path / "a.parquet"], labels="kind")
    assert_array_equal(data.views[0], np.column_stack([A, [1, 0, 1]]))
    assert_array_equal(data.sample_ids, IDS)
    assert_array_equal(data.target, [0, 1, 0])


def test_read_parquet_without_index_and_with_nulls(tmp_path):
    frame = pd.DataFrame({"name": IDS, "a.x": [1, None, 3], "b.y": [1, 2, 3]})
    frame.to_parquet(tmp_path / "a.parquet", index=False)
    data = read_views(tmp_path / "a.parquet", ids="name")
    assert data.view_names == ("a", "b")
    assert_array_equal(data.views[0], [[1], [np.nan], [3]])
    assert_array_equal(data.sample_ids, IDS)


# Arrays


@pytest.mark.parametrize("dtype", ["float64", "float32", ">f8", "uint8", "bool", "f2"])
def test_read_npy_types(tmp_path, dtype):
    values = np.array([[1, 0], [0, 1], [1, 1]]).astype(dtype)
    np.save(tmp_path / "a.npy", values)
    (view,) = read_views([tmp_path / "a.npy"]).views
    assert view.dtype == (np.float32 if dtype == "float32" else np.float64)
    assert view.dtype.isnative
    assert_array_equal(view, values)


def test_read_npy_big_stays_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays_module, "MAP_BYTES", 200)
    np.save(tmp_path / "small.npy", np.eye(2, dtype=np.uint8)[:, :1])
    np.save(tmp_path / "big.npy", np.ones((2, 50)))
    small, big = read_views([tmp_path / "small.npy", tmp_path / "big.npy"]).views
    assert not isinstance(small, np.memmap)
    assert isinstance(big, np.memmap)
    assert not big.flags.writeable


def test_read_npz_matrices_are_views_and_vectors_are_not(tmp_path):
    path = tmp_path / "both.npz"
    np.savez(path, b=B, a=A, truth=[3, 1, 3], ids=IDS, column=np.ones((3, 1)))
    data = read_views(path, labels="truth")
    assert data.view_names == ("b", "a")
    assert_array_equal(data.views[0], B)
    assert_array_equal(data.target, [1, 0, 1])
    assert data.target_names == ("1", "3")
    assert_array_equal(data.sample_ids, IDS)
    assert read_views(path, variables=["a"]).view_names == ("a",)
    assert read_views(path, variables=["column"]).views[0].shape == (3, 1)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia"])
def test_read_sparse_npz(tmp_path, kind):
    sparse.save_npz(tmp_path / "b.npz", sparse.coo_matrix(B).asformat(kind))
    (view,) = read_views([tmp_path / "b.npz"]).views
    assert isinstance(view, sparse.csr_array)
    assert_array_equal(view.toarray(), B)


def test_read_mtx(tmp_path):
    scipy.io.mmwrite(tmp_path / "b.mtx", sparse.coo_matrix(B))
    scipy.io.mmwrite(tmp_path / "a.mtx", A)
    b, a = read_views([tmp_path / "b.mtx", tmp_path / "a.mtx"]).views
    assert isinstance(b, sparse.csr_array)
    assert_array_equal(b.toarray(), B)
    assert_array_equal(a, A)


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
def test_read_mtx_agrees_with_scipy(tmp_path, symmetry, field):
    path = write(
        tmp_path / "a.mtx",
        f"%%MatrixMarket matrix coordinate {field} {symmetry}\n% note\n\n3 3 2\n"
        + ("2 1\n3 2\n" if field == "pattern" else "2 1 7\n3 2 -4\n"),
    )
    (view,) = read_views([path]).views
    assert_array_equal(view.toarray(), scipy.io.mmread(path).toarray())


# MATLAB


def cell_of(*entries):
    cell = np.empty((len(entries), 1), dtype=object)
    cell[:, 0] = entries
    return cell


@pytest.mark.parametrize("compressed", [True, False])
def test_read_mat_cell_of_views(tmp_path, compressed):
    path = tmp_path / "set.mat"
    scipy.io.savemat(
        path,
        {
            "X": cell_of(A, sparse.csc_matrix(B), np.uint8([[1, 2]] * 3)),
            "y": [[2], [1], [2]],
            "info": "text",
        },
        do_compression=compressed,
    )
    data = read_views(path, labels="y")
    assert data.view_names == ("X_0", "X_1", "X_2")
    assert_array_equal(data.views[0], A)
    assert_array_equal(data.views[1].toarray(), B)
    assert data.views[2].dtype == np.float64
    assert_array_equal(data.target, [1, 0, 1])


def test_read_mat_matrices_and_choice(tmp_path):
    path = tmp_path / "set.mat"
    scipy.io.savemat(path, {"X1": A, "X2": B, "gt": [1, 2, 1]})
    assert read_views(path).view_names == ("X1", "X2")
    assert read_views(path, variables=["X2"]).view_names == ("X2",)
    scipy.io.savemat(path, {"P": cell_of(A, B), "Q": cell_of(B)})
    with pytest.raises(DatasetError, match=r"several cell arrays, \['P', 'Q'\]"):
        read_views(path)
    assert_array_equal(read_views(path, variables=["Q"]).views[0], B)


def test_read_mat_published_file(shared_data):
    data = read_views(shared_data / "webkb_texas.mat", labels="y")
    assert [view.shape for view in data.views] == [(187, 1703), (187, 561)]
    assert_array_equal(np.bincount(data.target), [34, 18, 103, 31, 1])


def write_mat73(path, **labels):
    """A MATLAB 7.3 file as MATLAB lays it out: HDF5 behind a 512-byte text block."""
    with h5py.File(path, "w", userblock_size=512) as content:
        refs = content.create_group("#refs#")
        dense = refs.create_dataset("a", data=A.T)
        dense.attrs["MATLAB_class"] = np.bytes_("double")
        packed = sparse.csc_matrix(B)
        group = refs.create_group("b")
        group.attrs["MATLAB_sparse"] = np.uint64(3)
        group["data"], group["ir"] = packed.data, packed.indices.astype(np.uint64)
        group["jc"] = packed.indptr.astype(np.uint64)
        cell = content.create_dataset("X", (1, 2), dtype=h5py.ref_dtype)
        cell[0, 0], cell[0, 1] = dense.ref, group.ref
        cell.attrs["MATLAB_class"] = np.bytes_("cell")
        for name, values in labels.items():
            content[name] = np.array([values], dtype=float)
    with path.open("r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def test_read_mat73(tmp_path):
    write_mat73(tmp_path / "set.mat", gt=[5, 7, 5])
    data = read_views(tmp_path / "set.mat", labels="gt")
    assert_array_equal(data.views[0], A)
    assert_array_equal(data.views[1].toarray(), B)
    assert data.target_names == ("5", "7")


def test_read_mat73_refuses_links_to_other_files(tmp_path):
    np.save(tmp_path / "a.npy", A)
    with h5py.File(tmp_path / "secret.h5", "w") as content:
        content["V"] = B
    with h5py.File(tmp_path / "set.mat", "w") as content:
        content["U"] = A.T
        content["V"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "/V")
    with pytest.raises(DatasetError, match="V is a link to another file"):
        read_views(tmp_path / "set.mat")


# Annotated files


def annotated(values, ids, **obs):
    return anndata.AnnData(values, obs=pd.DataFrame(obs, index=ids))


def test_read_h5ad(tmp_path):
    annotated(sparse.csr_matrix(B), IDS, kind=["u", "v", "u"]).write_h5ad(
        tmp_path / "b.h5ad"
    )
    annotated(A, IDS).write_h5ad(tmp_path / "a.h5ad")
    paths = {"words": tmp_path / "b.h5ad", "colour": tmp_path / "a.h5ad"}
    data = read_views(paths, labels="kind")
    assert data.view_names == ("words", "colour")
    assert_array_equal(data.views[0].toarray(), B)
    assert_array_equal(data.views[1], A)
    assert_array_equal(data.sample_ids, IDS)
    assert_array_equal(data.target, [0, 1, 0])


@pytest.mark.filterwarnings("ignore::FutureWarning:mudata")
@pytest.mark.filterwarnings("ignore:Cannot join columns:UserWarning")
def test_read_h5mu(tmp_path):
    first = annotated(A, IDS)
    second = annotated(sparse.csr_matrix(B), ["s3", "s4", "s1"])
    both = mudata.MuData({"rna": first, "adt": second})
    both.obs["batch"] = pd.Series({"s1": 2, "s2": 1, "s3": 2, "s4": 1})
    both.write(tmp_path / "m.h5mu")
    path = tmp_path / "m.h5mu"
    common = read_views(path, align="intersection", labels="batch")
    assert common.view_names == ("rna", "adt")
    assert_array_equal(common.sample_ids, ["s1", "s3"])
    assert_array_equal(common.views[0], A[[0, 2]])
    assert_array_equal(common.views[1].toarray(), B[[2, 0]])
    # As in the MuData, samples are those of all modalities.
    every = read_views(path, labels="batch")
    assert_array_equal(every.sample_ids, ["s1", "s2", "s3", "s4"])
    assert_array_equal(every.target, [1, 0, 1, 0])
    assert_array_equal(np.isnan(every.views[0]).all(axis=1), [False] * 3 + [True])
    # A missing row of a sparse view stores NaN and nothing else.
    assert_array_equal(every.views[1][[1]].data, [np.nan])
    assert_array_equal(every.views[1].toarray()[[0, 2, 3]], B[[2, 0, 1]])
    second_alone = read_views(path, variables=["adt"])
    assert second_alone.view_names == ("adt",)
    assert_array_equal(second_alone.sample_ids, ["s1", "s3", "s4"])


# Alignment


@pytest.fixture
def two(tmp_path):
    """Views with samples p, q, r and r, s, p."""
    first = write(tmp_path / "one.csv", "id,x\np,1\nq,2\nr,3\n")
    second = write(tmp_path / "two.csv", "id,y\nr,30\ns,40\np,10\n")
    return [first, second]


def test_align_strict_refuses(two, tmp_path):
    with pytest.raises(
        DatasetError, match=r"other samples than .*row 1 is 'r', not 'p"
    ):
        read_views(two)
    shuffled = write(tmp_path / "three.csv", "id,y\nq,2\np,1\nr,3\n")
    with pytest.raises(DatasetError, match="the same samples in another order"):
        read_views([two[0], shuffled])
    short = write(tmp_path / "four.csv", "id,y,z\nq,2,3\np,1,3\n")
    with pytest.raises(DatasetError, match=r"rows \(.*\(3, 1\).*align='intersection'"):
        read_views([two[0], short])


def test_align_intersection(two):
    data = read_views(two, align="intersection")
    assert_array_equal(data.sample_ids, ["p", "r"])
    assert_array_equal(data.views[0], [[1], [3]])
    assert_array_equal(data.views[1], [[10], [30]])


def test_align_missing(two):
    data = read_views(two, align="missing")
    assert_array_equal(data.sample_ids, ["p", "q", "r", "s"])
    assert_array_equal(data.views[0].ravel(), [1, 2, 3, np.nan])
    assert_array_equal(data.views[1].ravel(), [10, np.nan, 30, 40])


def test_align_without_common_samples(two, tmp_path):
    other = write(tmp_path / "x.csv", "id,y\n1,30\n2,40\n3,10\n")
    with pytest.raises(DatasetError, match=r"one\.csv has \['p'\], .* has \['1'\]"):
        read_views([two[0], other], align="intersection")


def test_align_needs_ids_everywhere(two, tmp_path):
    np.save(tmp_path / "a.npy", A)
    with pytest.raises(DatasetError, match=r"align='missing' needs .*a\.npy has none"):
        read_views([*two, tmp_path / "a.npy"], align="missing")
    # By position, the names of the view that has them are kept.
    data = read_views([two[0], tmp_path / "a.npy"])
    assert_array_equal(data.sample_ids, ["p", "q", "r"])


def test_align_hints_at_transposed_views(tmp_path):
    np.savez(tmp_path / "t.npz", a=A.T, b=np.ones((4, 3)))
    with pytest.raises(DatasetError, match="transpose the views so that samples are"):
        read_views(tmp_path / "t.npz")


def test_align_unknown_choice(two):
    with pytest.raises(DatasetError, match="align='inner' is not one of strict, inter"):
        read_views(two, align="inner")


# Labels


def test_labels_file_by_id(two, tmp_path):
    path = write(tmp_path / "y.csv", "id,k,n\ns,10,a\nr,2,b\nq,2,c\np,10,d\nz,3,e\n")
    data = read_views(two, align="missing", labels_file=path, labels="k")
    assert_array_equal(data.target, [1, 0, 0, 1])
    # Numbers in their order, not "10" before "2".
    assert data.target_names == ("2", "10")
    with pytest.raises(DatasetError, match="2 columns that could be the labels"):
        read_views(two, align="missing", labels_file=path)
    with pytest.raises(DatasetError, match=r"y\.csv has no column 'q'"):
        read_views(two, align="missing", labels_file=path, labels="q")


@pytest.mark.parametrize("suffix", ["csv", "npy", "npz", "mat", "parquet"])
def test_labels_file_by_position(tmp_path, suffix):
    np.save(tmp_path / "a.npy", A)
    path = tmp_path / f"y.{suffix}"
    if suffix == "csv":
        write(path, "kind\n4\n2\n4\n")
    elif suffix == "npy":
        np.save(path, [4, 2, 4])
    elif suffix == "npz":
        np.savez(path, kind=[4.0, 2.0, 4.0], other=A)
    elif suffix == "mat":
        scipy.io.savemat(path, {"kind": [4, 2, 4], "X": A})
    else:
        pd.DataFrame({"kind": [4, 2, 4]}).to_parquet(path)
    data = read_views([tmp_path / "a.npy"], labels_file=path)
    assert_array_equal(data.target, [1, 0, 1])
    assert data.target_names == ("2", "4")


def test_labels_that_cannot_be_placed(two, tmp_path):
    np.save(tmp_path / "y.npy", [1, 2, 3, 4])
    with pytest.raises(DatasetError, match="labels without sample ids"):
        read_views(two, align="missing", labels_file=tmp_path / "y.npy")
    with pytest.raises(DatasetError, match="has 4 labels for 3 samples"):
        read_views([two[0]], labels_file=tmp_path / "y.npy")
    path = write(tmp_path / "y.csv", "id,k\np,1\nq,1\n")
    with pytest.raises(DatasetError, match=r"1 sample\(s\) have no label, first 'r'"):
        read_views([two[0]], labels_file=path)
    with pytest.raises(DatasetError, match=r"None of the files has .* called 'kind'"):
        read_views(two, align="missing", labels="kind")


def test_labels_in_two_files_must_agree(tmp_path):
    first = write(tmp_path / "one.csv", "id,x,k\np,1,u\nq,2,v\n")
    second = write(tmp_path / "two.csv", "id,y,k\nq,3,v\ns,4,w\n")
    data = read_views([first, second], align="missing", labels="k")
    assert_array_equal(data.target, [0, 1, 2])
    write(second, "id,y,k\nq,3,u\ns,4,w\n")
    with pytest.raises(DatasetError, match=r"two\.csv calls sample 'q' 'u', .* 'v'"):
        read_views([first, second], align="missing", labels="k")
    write(first, "x,k\n1,u\n2,v\n")
    write(second, "y,k\n1,u\n2,u\n")
    with pytest.raises(DatasetError, match="calls the sample in row 2"):
        read_views([first, second], labels="k")


def test_several_views_do_not_fit_a_list(tmp_path):
    np.savez(tmp_path / "both.npz", a=A, b=B)
    with pytest.raises(DatasetError, match="holds 2 views; a list takes one file per"):
        read_views([tmp_path / "both.npz"])


@pytest.mark.parametrize(
    ("module", "name", "extra"),
    [
        ("pyarrow.parquet", "a.parquet", "io"),
        ("h5py", "a.mat", "io"),
        ("anndata.io", "a.h5ad", "omics"),
    ],
)
def test_missing_extra_is_named(tmp_path, monkeypatch, module, name, extra):
    (tmp_path / name).write_bytes(b"MATLAB 7.3 MAT-file")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DatasetError, match=rf'pip install "manyview\[{extra}\]"'):
        read_views(tmp_path / name)


def test_feature_names_follow_their_columns(tmp_path):
    (tmp_path / "genes.csv").write_text("id,TP53,BRCA1\na,1,2\nb,3,4\n")
    np.save(tmp_path / "image.npy", np.eye(2))
    data = read_views([tmp_path / "genes.csv", tmp_path / "image.npy"])
    assert data.feature_names == (("TP53", "BRCA1"), ("0", "1"))
    (tmp_path / "all.csv").write_text("x.a,x.b,y.c\n1,2,3\n4,5,6\n")
    assert read_views(tmp_path / "all.csv").feature_names == (("a", "b"), ("c",))
    assert read_views([tmp_path / "image.npy"]).feature_names == ()


def test_feature_names_must_fit_the_views():
    with pytest.raises(DatasetError, match=r"has \(2,\) names for views of \(3,\)"):
        MultiViewData(
            name="x",
            views=(np.ones((2, 3)),),
            view_names=("v",),
            feature_names=(("a", "b"),),
        )


def test_read_zarr_arrays_and_groups(tmp_path):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "both.zarr"), mode="w")
    for name, view in (("a", A), ("b", B)):
        stored = group.create_array(name, shape=view.shape, dtype=view.dtype)
        stored[:] = view
    data = read_views(tmp_path / "both.zarr")
    assert data.view_names == ("a", "b")
    for found, expected in zip(data.views, (A, B), strict=True):
        assert_array_equal(found, expected)
    (view,) = read_views(tmp_path / "both.zarr", variables=["a"]).views
    assert_array_equal(view, A)


def test_folder_that_is_no_zarr_is_refused(tmp_path):
    (tmp_path / "empty.zarr").mkdir()
    with pytest.raises(DatasetError, match=r"empty\.zarr"):
        read_views(tmp_path / "empty.zarr")
