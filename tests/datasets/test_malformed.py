"""Damaged and hostile files: one clear error each, and no harm."""

import io
import os
import pickle
import struct
import tracemalloc
import zipfile
import zlib

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io
from scipy import sparse

from manyview.datasets import read_views
from manyview.exceptions import DatasetError

# What reading any of these files may take.
MOST_BYTES = 40 * 2**20


class Bomb:
    """Runs code when unpickled."""

    def __reduce__(self):
        return os.mkdir, ("exploded",)


def npy_bytes(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def npy_header(shape, dtype="<f8"):
    buffer = io.BytesIO()
    header = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue()


def npz_bytes(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def zeros_npz():
    """Half a gigabyte of zeros in half a megabyte."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a.npy", "w", force_zip64=True) as member,
    ):
        member.write(npy_header((2**13, 2**13)))
        for _ in range(512):
            member.write(bytes(2**20))
    return buffer.getvalue()


def written(write, suffix):
    """Bytes of a file that `write` makes at the path it is given."""

    def make(path):
        full = path.with_name("full" + suffix)
        write(full)
        content = full.read_bytes()
        full.unlink()
        return content

    return make


def half(make):
    return lambda path: make(path)[: len(make(path)) // 2]


def parquet(frame):
    return written(lambda p: pd.DataFrame(frame).to_parquet(p), ".parquet")


def mat(**variables):
    return written(lambda p: scipy.io.savemat(p, variables), ".mat")


MAT_HEADER = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"


def mat_compressed(element):
    packed = zlib.compress(element)
    return MAT_HEADER + struct.pack("<II", 15, len(packed)) + packed


def mat_bomb(_):
    """A MATLAB file with a compressed element that unpacks to 300 MB."""
    squeeze = zlib.compressobj(9)
    packed = squeeze.compress(struct.pack("<II", 14, 300 * 2**20))
    packed += b"".join(squeeze.compress(bytes(2**20)) for _ in range(300))
    packed += squeeze.flush()
    return MAT_HEADER + struct.pack("<II", 15, len(packed)) + packed


def mat_huge_cell(_):
    """A cell array that claims 2**40 entries and holds none."""

    def element(kind, content):
        return struct.pack("<II", kind, len(content)) + content

    name = struct.pack("<HH", 1, 1) + b"X\0\0\0"
    body = (
        element(6, struct.pack("<II", 1, 0))
        + element(5, struct.pack("<ii", 2**20, 2**20))
        + name
    )
    return MAT_HEADER + element(14, body)


def hdf5(fill, suffix=".mat"):
    def write(path):
        with h5py.File(path, "w") as content:
            fill(content)

    return written(write, suffix)


def h5ad(values, **obs):
    def write(path):
        anndata.AnnData(values, obs=pd.DataFrame(obs) if obs else None).write_h5ad(path)

    return written(write, ".h5ad")


def never_written(content):
    """A data set of 8 TB that takes no room: nothing was ever stored in it."""
    content.create_dataset("X", (10**6, 10**6), chunks=(1000, 1000), dtype="f8")


def group_without_matrix(content):
    content.create_group("obs")


def sparse_npz(**changes):
    def make(path):
        full = path.with_name("full.npz")
        sparse.save_npz(full, sparse.csr_matrix(np.eye(3)))
        with np.load(full) as arrays:
            parts = dict(arrays) | changes
        full.unlink()
        return npz_bytes(**{name: npy_bytes(part) for name, part in parts.items()})

    return make


MTX = "%%MatrixMarket matrix coordinate real general\n"

# name of the file, content (text, bytes or a maker of bytes), message.
MALFORMED = {
    "empty csv": ("a.csv", "", r"a\.csv is empty \(0 bytes\)"),
    "blank csv": ("a.csv", "\n\n", r"a\.csv has no rows"),
    "header only": ("a.csv", "x,y\n", "a header and no rows below it"),
    "short row": ("a.csv", "x,y\n1,2\n3\n", r"row 2 \(line 3\) has 1 cells, .* 2 col"),
    "long row": ("a.csv", "x,y\n1,2\n\n3,4,5\n", r"row 2 \(line 4\) has 3 cells"),
    "word in a cell": ("a.csv", "x,y\n1,2\n3,oops\n", r"row 2 .* 'y' holds 'oops'"),
    "decimal commas": ("a.tsv", "x\ty\n1,5\t2\n", r"row 1 .* 'x' holds '1,5'"),
    "latin-1": ("a.csv", "x,é\n1,2\n".encode("latin-1"), r"not UTF-8 text: byte 0xe9"),
    "utf-16": ("a.csv", "x,y\n1,2\n".encode("utf-16"), r"not UTF-8 text: byte 0xff"),
    "binary as csv": ("a.csv", b"\x00\x01\x02\n\x03", "holds '.x03', not a number"),
    # pandas.read_csv would take the 4 and leave the rest.
    "byte 0": ("a.csv", "x,y\n1,2\n3,4\0-5\n", r"row 2 .* 'y' holds '4.x00-5'"),
    "hole in a row": ("a.csv", "x,y\n1,2\n3,\n", "row 2, column 'y' is missing while"),
    "infinite cell": ("a.csv", "x,y\n1,2\n3,-inf\n", "row 2, column 'y' is -inf"),
    "duplicate ids": ("a.csv", "id,x\np,1\nq,2\np,3\n", "'p' occurs twice, in rows 1 "),
    "empty id": ("a.csv", "id,x\np,1\n,2\n", "the sample in row 2 has no id"),
    "endless cell": ("a.csv", "x\n" + "1" * 200_000, "line 2: field larger than"),
    "unclosed quote": ("a.csv", 'x,y\n1,"2\n3,4\n', "a quote is never closed"),
    "only ids": ("a.csv", "id,kind\np,1\n", "no feature columns", {"labels": "kind"}),
    "two label columns": (
        "a.csv",
        "k,x,k\n1,2,3\n",
        "2 columns called 'k'",
        {"labels": "k"},
    ),
    "empty label": ("a.csv", "x,k\n1,u\n2,\n", "empty in row 2", {"labels": "k"}),
    "half-named views": ("a.csv", "rna.a,age\n1,2\n", "'age' has no view in its name"),
    "truncated parquet": (
        "a.parquet",
        half(parquet({"x": [1.0]})),
        "as parquet; .* da",
    ),
    "text parquet": (
        "a.parquet",
        parquet({"x": [1, 2], "s": ["u", "u"]}),
        "'s' holds 'u', not a number",
    ),
    "list parquet": ("a.parquet", parquet({"x": [[1, 2]]}), "'x' holds .* not a numb"),
    "empty parquet": ("a.parquet", parquet({"x": np.ones(0)}), "has no rows"),
    "not parquet": ("a.parquet", b"PAR1 nothing PAR1", "cannot be read as parquet"),
    "truncated npy": ("a.npy", npy_bytes(np.eye(9))[:-8], "promises 648 .* 640 are th"),
    "npy header cut": ("a.npy", npy_bytes(np.eye(9))[:40], "cannot be read as npy"),
    "not npy": ("a.npy", b"hello world", "cannot be read as npy"),
    "huge npy claim": ("a.npy", npy_header((2**40, 2**20)) + b"1234", "4 are there"),
    "negative npy": ("a.npy", npy_header((-5, 2)), "read as npy|cut short|is nothing"),
    "pickled npy": ("a.npy", npy_bytes(np.array([[Bomb()]])), "pickled Python objects"),
    "bare pickle": ("a.npy", pickle.dumps(Bomb()), "cannot be read as npy"),
    "text npy": (
        "a.npy",
        npy_bytes(np.array([["u", "v"]])),
        "View 'a' is not numeric: row 0",
    ),
    "complex npy": (
        "a.npy",
        npy_bytes(np.eye(2) * 1j),
        "View 'a' holds complex numbers",
    ),
    "vector npy": ("a.npy", npy_bytes(np.arange(4)), r"1 dimension.* shape \(4,\)"),
    "cube npy": ("a.npy", npy_bytes(np.ones((2, 2, 2))), r"shape \(2, 2, 2\), but"),
    "no columns npy": ("a.npy", npy_bytes(np.ones((3, 0))), r"no features .*\(3, 0\)"),
    "nan in npy": (
        "a.npy",
        npy_bytes([[1, 2], [3, np.nan]]),
        "row 2, column 2 is miss",
    ),
    "inf in npy": ("a.npy", npy_bytes([[1, np.inf], [3, -np.inf]]), "row 1, column 2 "),
    "truncated npz": ("a.npz", npz_bytes(a=npy_bytes(np.eye(9)))[:-30], "read as npz"),
    "not npz": ("a.npz", b"PK\x03\x04 no", "cannot be read as npz"),
    "npz of text": ("a.npz", npz_bytes(a=b"hello"), "cannot be read as npz"),
    "npz bomb": ("a.npz", lambda _: zeros_npz(), "more than 200 times its size"),
    "npz claim": ("a.npz", npz_bytes(a=npy_header((2**40, 9))), "'a.npy' is cut short"),
    "pickled npz": ("a.npz", npz_bytes(a=npy_bytes(np.array([[Bomb()]]))), "pickled P"),
    "npz of vectors": (
        "a.npz",
        npz_bytes(y=npy_bytes(np.arange(3))),
        "no matrix that ",
    ),
    "npz without it": (
        "a.npz",
        npz_bytes(a=npy_bytes(np.eye(2))),
        r"no variable 'b'; it has \['a'\]",
        {"variables": ["b"]},
    ),
    "sparse out of range": (
        "a.npz",
        sparse_npz(indices=np.int32([0, 1, 99])),
        "not a sound sparse matrix: .*< 3",
    ),
    "sparse rows claim": (
        "a.npz",
        sparse_npz(shape=np.int64([2**40, 3])),
        "claims 1099511627776 rows",
    ),
    "sparse infinity": (
        "a.npz",
        sparse_npz(data=np.array([1, np.inf, 1])),
        "row 2, column 2 is inf",
    ),
    "mtx garbage": ("a.mtx", "%%MatrixMarket nothing\n1 2 3\n", "starts with '%%Mat"),
    "mtx complex": ("a.mtx", MTX.replace("real", "complex"), "starts with '%%MatrixM"),
    "mtx sizes": ("a.mtx", MTX + "% note\n3 -3\n", "size as '3 -3.n'; expected 3 num"),
    "mtx without body": ("a.mtx", MTX, "size as ''; expected 3 numbers"),
    "mtx truncated": ("a.mtx", MTX + "3 3 3\n1 1 1.0\n", "promises 3 .*has 1 of 3"),
    "mtx cut in a cell": ("a.mtx", MTX + "3 3 1\n1 1", "promises 1 .*has 1 of 2"),
    "mtx word": ("a.mtx", MTX + "3 3 1\n1 1 1p", "string '1p' to float64 at row 0"),
    "mtx ragged": ("a.mtx", MTX + "3 3 2\n1 1 1\n2 2\n", "number of columns chang"),
    "mtx out of range": ("a.mtx", MTX + "2 2 1\n9 1 1\n", "entry 1 lies at row 9, col"),
    "mtx rows claim": ("a.mtx", MTX + "999999999999 2 1\n1 1 1\n", "claims 9999999999"),
    "mtx entries claim": (
        "a.mtx",
        MTX + "9 9 99999999999\n1 1 1\n",
        "promises 99999999999 entries of 3 numbers, has 1",
    ),
    "mtx array claim": (
        "a.mtx",
        "%%MatrixMarket matrix array real general\n1000000 1000000\n1\n",
        "more than 200 times",
    ),
    "truncated mat": (
        "a.mat",
        half(mat(X=np.eye(20))),
        "is cut short: an element promises 3",
    ),
    "not mat": ("a.mat", b"hello" * 100, "not a MATLAB file of version 5 or 7.3"),
    "mat of text": ("a.mat", mat(t="hello"), "no matrix that could be a view"),
    "mat bomb": ("a.mat", mat_bomb, "more than 200 times its size"),
    "mat cut inside": (
        "a.mat",
        lambda _: mat_compressed(struct.pack("<II", 14, 800) + bytes(80)),
        "is cut short: 80 of 800 bytes are there",
    ),
    "mat checksum": (
        "a.mat",
        lambda _: mat_compressed(struct.pack("<II", 14, 80) + bytes(80))[:-1] + b"x",
        "as a MATLAB file; .*incorrect data check",
    ),
    "mat cell claim": ("a.mat", mat_huge_cell, r"'X' claims \(1048576, 1048576\), has"),
    "mat nan": ("a.mat", mat(X=np.array([[1, np.nan], [1, 2]])), "row 1, column 2 is"),
    "truncated mat 7.3": (
        "a.mat",
        half(hdf5(lambda f: f.create_dataset("X", data=np.eye(50)))),
        "as a MATLAB file",
    ),
    "mat 7.3 never written": ("a.mat", hdf5(never_written), "more than 200 times"),
    "truncated h5ad": ("a.h5ad", half(h5ad(np.eye(3))), "as an annotated HDF5 file"),
    "h5ad never written": (
        "a.h5ad",
        hdf5(never_written, ".h5ad"),
        "more than 200 times its size",
    ),
    "h5ad without parts": (
        "a.h5ad",
        hdf5(group_without_matrix, ".h5ad"),
        "as an annotated HDF5 file",
    ),
    "h5ad duplicate ids": (
        "a.h5ad",
        written(
            lambda p: anndata.AnnData(
                np.eye(2), obs=pd.DataFrame(index=pd.Index(["u", "u"]))
            ).write_h5ad(p),
            ".h5ad",
        ),
        "'u' occurs twice, in rows 1 and 2",
    ),
    "unknown suffix": ("a.xls", "x", r"suffix '\.xls'; expected one of \.csv"),
    "no suffix": ("data", "x", "suffix ''; expected one of"),
}


@pytest.mark.usefixtures("tracing")
@pytest.mark.filterwarnings("ignore:Observation names are not unique:UserWarning")
@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_file(case, tmp_path, monkeypatch):
    name, content, message, *more = MALFORMED[case]
    options = more[0] if more else {}
    path = tmp_path / name
    if callable(content):
        content = content(path)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    monkeypatch.chdir(tmp_path)
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    with pytest.raises(DatasetError, match=message) as caught:
        read_views(path, **options)
    _, peak = tracemalloc.get_traced_memory()
    assert name in str(caught.value)
    assert len(str(caught.value)) < 1000
    assert peak - before < MOST_BYTES
    assert not (tmp_path / "exploded").exists()


def test_malformed_cases_are_many():
    assert len(MALFORMED) >= 30


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(DatasetError, match=r"gone\.csv does not exist"):
        read_views(tmp_path / "gone.csv")
    with pytest.raises(DatasetError, match="is a folder; pass the files in it"):
        read_views(tmp_path)
    with pytest.raises(DatasetError, match="sources is empty"):
        read_views([])


@pytest.mark.parametrize("suffix", ["npy", "npz", "mat", "csv", "parquet", "h5ad"])
def test_any_flipped_byte_is_read_or_refused(tmp_path, suffix):
    """No damage to a small file gives anything but views or a DatasetError."""
    path = tmp_path / f"a.{suffix}"
    values = np.arange(6.0).reshape(3, 2)
    if suffix == "npy":
        np.save(path, values)
    elif suffix == "npz":
        np.savez_compressed(path, a=values, b=values)
    elif suffix == "mat":
        scipy.io.savemat(path, {"X": values, "y": [1, 2, 3]}, do_compression=True)
    elif suffix == "csv":
        pd.DataFrame(values).to_csv(path)
    elif suffix == "parquet":
        pd.DataFrame(values, columns=["x", "y"]).to_parquet(path)
    else:
        anndata.AnnData(values).write_h5ad(path)
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    for at in rng.choice(len(good), size=min(60, len(good)), replace=False):
        bad = bytearray(good)
        bad[at] ^= rng.integers(1, 256, dtype=np.uint8)
        path.write_bytes(bad)
        try:
            data = read_views(path)
        except DatasetError:
            continue
        assert all(view.ndim == 2 for view in data.views)
