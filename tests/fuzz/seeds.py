"""Sound files of every format, made by code; the mutator damages them."""

import gzip
import struct
import zlib

import numpy as np

A = np.arange(12.0).reshape(4, 3) + 0.5
B = np.array([[0.0, 7, 0], [8, 0, 0], [0, 0, 9], [1, 0, 0]])
IDS = np.array(["s1", "s2", "s3", "s4"])


def csv(path):
    path.write_text("id,x,y\np,1,2.5\nq,3,-4\nr,,\ns,5,6e-3\n")


def csv_quoted(path):
    path.write_text('\ufeff"rna.a","rna.b","prot.c"\r\n"1",2,3\r\n\r\n4,5,"6"\r\n')


def tsv(path):
    path.write_text("x\ty\n1\t2\n3\t4\n")


def gz(path):
    path.write_bytes(gzip.compress(b"id,x,y\np,1,2.5\nq,3,-4\n", mtime=0))


def zst(path):
    import zstandard

    text = b"id,x,y\n" + b"".join(b"s%d,%d,1\n" % (i, i * i) for i in range(40))
    path.write_bytes(zstandard.ZstdCompressor(write_checksum=True).compress(text))


def xlsx(path):
    import openpyxl

    book = openpyxl.Workbook()
    for name, values in (("rna", A), ("adt", B)):
        sheet = book.create_sheet(name)
        sheet.append(["id", "x", "y", "z"])
        for sample, row in zip(IDS, values, strict=True):
            sheet.append([str(sample), *row.tolist()])
    book.save(path)


def npy(path):
    np.save(path, A)


def npy_ints(path):
    np.save(path, A.astype("<i2"))


def npz(path):
    np.savez(path, a=A, b=B, ids=IDS, kind=IDS.astype("S"), y=[1, 2, 1, 2])


def npz_sparse(path):
    from scipy import sparse

    sparse.save_npz(path, sparse.csr_matrix(B))


def npz_bsr(path):
    from scipy import sparse

    sparse.save_npz(path, sparse.bsr_matrix(np.kron(B, np.ones((2, 2)))))


def mtx(path):
    import scipy.io
    from scipy import sparse

    scipy.io.mmwrite(path, sparse.coo_matrix(B))


def mtx_array(path):
    import scipy.io

    scipy.io.mmwrite(path, A)


def mtx_symmetric(path):
    path.write_text(
        "%%MatrixMarket matrix coordinate integer symmetric\n% note\n3 3 2\n2 1 7\n"
        "3 2 -4\n"
    )


def _mat(path, *, compressed):
    import scipy.io
    from scipy import sparse

    cell = np.empty((2, 1), dtype=object)
    cell[:, 0] = [A, sparse.csc_matrix(B)]
    scipy.io.savemat(
        path,
        {"X": cell, "y": [[2], [1], [2], [1]], "t": "text", "s": {"f": A}},
        do_compression=compressed,
    )


def mat(path):
    _mat(path, compressed=False)


def mat_compressed(path):
    _mat(path, compressed=True)


def mat73(path):
    import h5py

    with h5py.File(path, "w", userblock_size=512) as content:
        refs = content.create_group("#refs#")
        dense = refs.create_dataset("a", data=A.T, chunks=(3, 2), compression="gzip")
        group = refs.create_group("b")
        group.attrs["MATLAB_sparse"] = np.uint64(4)
        group["data"] = np.array([8.0, 1, 7, 9])
        group["ir"] = np.array([1, 3, 0, 2], dtype=np.uint64)
        group["jc"] = np.array([0, 2, 3, 4], dtype=np.uint64)
        cell = content.create_dataset("X", (1, 2), dtype=h5py.ref_dtype)
        cell[0, 0], cell[0, 1] = dense.ref, group.ref
        cell.attrs["MATLAB_class"] = np.bytes_("cell")
        content["gt"] = np.ones((1, 4))
    with path.open("r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def h5ad(path):
    import anndata
    import pandas as pd
    from scipy import sparse

    obs = pd.DataFrame({"kind": pd.Categorical(list("uvuv"))}, index=IDS)
    anndata.AnnData(sparse.csr_matrix(B), obs=obs).write_h5ad(path)


def h5mu(path):
    """Laid out as mudata does."""
    import anndata
    import h5py
    from anndata.io import write_elem

    with h5py.File(path, "w") as content:
        group = content.create_group("mod")
        for name, values in (("rna", A), ("adt", B)):
            write_elem(group, name, anndata.AnnData(values))


def parquet(path):
    import pandas as pd

    frame = pd.DataFrame(A, index=IDS, columns=["a.x", "a.y", "b.z"])
    frame.to_parquet(path)


def parquet_plain(path):
    import pandas as pd

    frame = pd.DataFrame({"x": [1, 2, 3], "flag": [True, False, True]})
    frame.to_parquet(path, index=False, compression=None)


def zarr3(path):
    import zarr

    group = zarr.open_group(str(path), mode="w")
    for name, values in (("a", A), ("b", B)):
        array = group.create_array(name, shape=values.shape, chunks=(2, 3), dtype="f8")
        array[:] = values


def zarr2(path):
    import zarr

    array = zarr.create_array(
        store=str(path), shape=A.shape, chunks=(2, 2), dtype="f8", zarr_format=2
    )
    array[:] = A


def zarr_gzip(path):
    import zarr

    array = zarr.create_array(
        store=str(path),
        shape=A.shape,
        chunks=(4, 3),
        dtype="f4",
        compressors=zarr.codecs.GzipCodec(),
    )
    array[:] = A


def model(path):
    from manyview import NSMVC, save_model

    rng = np.random.default_rng(0)
    views = [
        rng.normal(size=(12, d)) + 9 * (np.arange(12) % 2)[:, None] for d in (2, 3)
    ]
    fitted = NSMVC(2, n_init=1, random_state=np.random.RandomState(0)).fit(views)
    save_model(fitted, path)


def model_named(path):
    from pandas import DataFrame

    from manyview import NSMVC, save_model

    views = {"a": DataFrame(A).add_prefix("x"), "b": B}
    save_model(NSMVC(2, n_init=1, init=[0, 1, 0, 1]).fit(views), path)


def model_graph(path):
    from scipy import sparse

    from manyview import GraphNSMVC, save_model

    rng = np.random.default_rng(0)
    groups = (np.arange(16) % 2)[:, None]
    views = {
        "a": rng.normal(size=(16, 2)) + 9 * groups,
        "b": sparse.csr_array(rng.poisson(1 + 5 * groups, size=(16, 3))),
        "c": np.ones((16, 1)),
    }
    save_model(
        GraphNSMVC(2, n_neighbors=(2, 4), n_init=1, random_state=0).fit(views), path
    )


MAT_HEADER = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"


def model_imputer(path):
    from manyview import NSMVC, ViewImputer, save_model

    rng = np.random.default_rng(0)
    views = [rng.normal(size=(12, d)) for d in (2, 3)]
    views[0][3, 1] = np.nan
    imputer = ViewImputer("knn").fit(views)
    fitted = NSMVC(2, n_init=1, random_state=0).fit(imputer.transform(views))
    save_model(fitted, path, imputer=imputer)


def repack_mat(data, rng, mutate):
    """Damage what is inside the first compressed element of a MATLAB file."""
    kind, size = struct.unpack_from("<II", data, 128)
    if kind != 15:
        return mutate(data, rng)
    packed = zlib.compress(mutate(zlib.decompress(data[136 : 136 + size]), rng))
    return (
        data[:128] + struct.pack("<II", 15, len(packed)) + packed + data[136 + size :]
    )


# Format: file name and makers of sound files.
SEEDS = {
    "csv": ("a.csv", [csv, csv_quoted]),
    "tsv": ("a.tsv", [tsv]),
    "gz": ("a.csv.gz", [gz]),
    "zst": ("a.csv.zst", [zst]),
    "xlsx": ("a.xlsx", [xlsx]),
    "npy": ("a.npy", [npy, npy_ints]),
    "npz": ("a.npz", [npz, npz_sparse, npz_bsr]),
    "mtx": ("a.mtx", [mtx, mtx_array, mtx_symmetric]),
    "mat": ("a.mat", [mat, mat_compressed]),
    "mat73": ("a.mat", [mat73]),
    "h5ad": ("a.h5ad", [h5ad]),
    "h5mu": ("a.h5mu", [h5mu]),
    "parquet": ("a.parquet", [parquet, parquet_plain]),
    "zarr": ("a.zarr", [zarr3, zarr2, zarr_gzip]),
    "mvz": ("a.mvz", [model, model_named, model_graph, model_imputer]),
}
