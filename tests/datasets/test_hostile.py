"""Files made to do harm: code, other files' content, memory, time."""

import errno
import gzip
import io
import json
import os
import pickle
import struct
import time
import tracemalloc
import zlib
from functools import cache
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
import zarr
from scipy import sparse

from manyview import NSMVC, ViewError
from manyview._files import whole_file
from manyview._zarr import check_zarr
from manyview.datasets import _probe, read_views
from manyview.exceptions import DatasetError

pytestmark = pytest.mark.usefixtures("tracing")

A = np.arange(12.0).reshape(4, 3)
MOST_BYTES = 80 * 2**20


class Bomb:
    """Runs code when unpickled."""

    def __reduce__(self):
        return os.mkdir, ("exploded",)


def refused(path, match, **options):
    """Assert that the file is refused, at once and without much memory."""
    began = time.monotonic()
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    with pytest.raises(DatasetError, match=match) as caught:
        read_views(path, **options)
    assert tracemalloc.get_traced_memory()[1] - before < MOST_BYTES
    assert time.monotonic() - began < 20
    assert len(str(caught.value)) < 1000


# zarr


def old_zarr(folder, chunk=b"", **changes):
    """A zarr array of format 2 with metadata changed, and its first chunk."""
    folder.mkdir()
    content = {
        "zarr_format": 2,
        "shape": [4, 3],
        "chunks": [4, 3],
        "dtype": "<f8",
        "compressor": None,
        "fill_value": 0,
        "order": "C",
        "filters": None,
    }
    (folder / ".zarray").write_text(json.dumps(content | changes))
    (folder / "0.0").write_bytes(chunk)
    return folder


def test_zarr_with_pickles_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = old_zarr(
        tmp_path / "a.zarr",
        pickle.dumps(Bomb()),
        dtype="|O",
        compressor={"id": "pickle"},
        filters=[{"id": "vlen-utf8"}],
    )
    refused(folder, r"data of type '\|O', which is not read")
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"compressor": {"id": "pickle"}}, "the codecs .*'pickle'"),
        ({"filters": [{"id": "pickle"}]}, "the filters"),
        ({"dtype": [["a", "<f8"]]}, "data of type"),
        ({"dtype": "<M8[s]"}, "data of type '<M8"),
        ({"shape": [4, -3]}, "sizes"),
        ({"chunks": [0, 3]}, "sizes"),
        ({"chunks": [4]}, "sizes"),
        ({"dimension_separator": "/../"}, "the separator"),
        ({"shape": [4000, 4000], "chunks": [1, 1]}, "claims 16000000 chunks"),
        ({"shape": [10**6, 10**6], "chunks": [10**6, 10**6]}, "more than 200 times"),
        # A chunk is unpacked whole, however small the array.
        ({"chunks": [10**6, 10**4]}, "more than 200 times"),
        ({"compressor": []}, "unsound zarr metadata"),
    ],
)
def test_zarr_metadata_are_checked(tmp_path, changes, message):
    refused(old_zarr(tmp_path / "a.zarr", bytes(96), **changes), message)


def test_zarr_deep_metadata_are_refused(tmp_path):
    folder = old_zarr(tmp_path / "a.zarr")
    (folder / ".zarray").write_text("[" * 200_000)
    refused(folder, "unsound zarr metadata")


@pytest.mark.parametrize("codec", ["numcodecs.pickle", "vlen-utf8", "sharding_indexed"])
def test_zarr_codecs_of_format_3_are_checked(tmp_path, codec):
    group = zarr.open_group(str(tmp_path / "a.zarr"), mode="w")
    group.create_array("x", shape=A.shape, dtype="f8")[:] = A
    note = tmp_path / "a.zarr" / "x" / "zarr.json"
    content = json.loads(note.read_text())
    content["codecs"].append({"name": codec, "configuration": {}})
    note.write_text(json.dumps(content))
    refused(tmp_path / "a.zarr", f"the codecs .*'{codec}'")


@pytest.mark.parametrize("format", [2, 3])
def test_zarr_copies_of_metadata_are_not_used(tmp_path, format):
    path = tmp_path / "a.zarr"
    group = zarr.open_group(str(path), mode="w", zarr_format=format)
    group.create_array("x", shape=A.shape, dtype="f8")[:] = A
    own = path / "x" / (".zarray" if format == 2 else "zarr.json")
    content = json.loads(own.read_text())
    if format == 2:
        content["filters"] = [{"id": "pickle"}]
        copies = {"metadata": {"x/.zarray": content}, "zarr_consolidated_format": 1}
        (path / ".zmetadata").write_text(json.dumps(copies))
    else:
        content["codecs"].append({"name": "numcodecs.pickle", "configuration": {}})
        top = json.loads((path / "zarr.json").read_text())
        kept = {"kind": "inline", "must_understand": False, "metadata": {"x": content}}
        (path / "zarr.json").write_text(
            json.dumps(top | {"consolidated_metadata": kept})
        )
    np.testing.assert_array_equal(read_views([path]).views[0], A)
    from manyview.distributed._inputs import open_lazy_views

    lazy = open_lazy_views(str(path))
    np.testing.assert_array_equal(lazy.arrays["x"].compute(), A)


@cache
def bomb_chunks():
    zeros = bytes(300 * 2**20)
    blosc = struct.pack("<BBBBIII", 2, 1, 0, 8, 2**31 - 1, 2**20, 32) + bytes(16)
    zstd = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", 2**31) + bytes(8)
    unknown = b"\x28\xb5\x2f\xfd\x00\x58" + bytes(8)
    return {
        "gzip": gzip.compress(zeros, 1),
        "gzip in two": gzip.compress(b"x") + gzip.compress(zeros, 1),
        "zlib": zlib.compress(zeros, 1),
        "lz4": struct.pack("<I", 2**31 - 1) + bytes(20),
        "blosc": blosc,
        "zstd": zstd,
        "zstd of unknown size": unknown,
    }


@pytest.mark.parametrize("case", list(bomb_chunks()))
def test_zarr_chunk_that_unpacks_to_more_is_refused(tmp_path, case):
    codec = case.split()[0]
    folder = old_zarr(
        tmp_path / "a.zarr", bomb_chunks()[case], compressor={"id": codec, "level": 1}
    )
    refused(folder, "unpacks to more than the 96 bytes of a chunk")


@pytest.mark.parametrize("format", [2, 3])
@pytest.mark.parametrize("codec", ["gzip", "zstd", "blosc", "lz4", "zlib", None])
def test_zarr_of_every_codec_is_read(tmp_path, format, codec):
    import numcodecs

    if format == 2:
        known = {"gzip": "GZip", "zstd": "Zstd", "blosc": "Blosc", "lz4": "LZ4"}
        name = known.get(codec, "Zlib")
        compressor = getattr(numcodecs, name)() if codec else None
    else:
        new = {"gzip": "GzipCodec", "zstd": "ZstdCodec", "blosc": "BloscCodec"}
        if codec in ("lz4", "zlib"):
            pytest.skip("not a codec of format 3")
        compressor = getattr(zarr.codecs, new[codec])() if codec else None
    # Long enough for every width of the size in a header.
    values = np.arange(3 * 20_000.0).reshape(-1, 3)
    for n_rows in (4, 20, 20_000):
        path = tmp_path / f"{n_rows}.zarr"
        array = zarr.create_array(
            store=str(path),
            shape=(n_rows, 3),
            chunks=(n_rows, 3),
            dtype="f8",
            zarr_format=format,
            compressors=compressor,
        )
        array[:] = values[:n_rows]
        np.testing.assert_array_equal(read_views([path]).views[0], values[:n_rows])


def test_zarr_does_not_follow_links(tmp_path):
    (tmp_path / "secret").write_bytes(A.tobytes())
    folder = old_zarr(tmp_path / "a.zarr")
    (folder / "0.0").unlink()
    (folder / "0.0").symlink_to(tmp_path / "secret")
    refused(folder, "holds the link '0.0'")


def test_zarr_is_checked_before_dask_opens_it(tmp_path):
    pytest.importorskip("dask.array")
    from manyview.distributed import DaskNSMVC

    folder = old_zarr(tmp_path / "a.zarr", dtype="|O", filters=[{"id": "pickle"}])
    with pytest.raises(DatasetError, match=r"data of type '\|O'"):
        DaskNSMVC(2).fit([str(folder)])


def test_zarr_file_and_folder_without_metadata(tmp_path):
    (tmp_path / "a.zarr").write_bytes(b"x")
    refused(tmp_path / "a.zarr", "it is no folder")
    with pytest.raises(DatasetError, match=r"neither zarr\.json nor \.zarray"):
        check_zarr(tmp_path)


# HDF5


def external_storage(content, secret):
    space = h5py.h5s.create_simple((3, 4))
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_external(os.fsencode(secret), 0, 96)
    h5py.h5d.create(content.id, b"X", h5py.h5t.IEEE_F64LE, space, plan)


def virtual(content, secret):
    layout = h5py.VirtualLayout(shape=(3, 4), dtype="f8")
    layout[...] = h5py.VirtualSource(str(secret), "V", shape=(3, 4))
    content.create_virtual_dataset("X", layout)


def link(content, secret):
    content["X"] = h5py.ExternalLink(str(secret), "V")


def nameless(content, secret):
    """A cell whose entry only a reference leads to."""
    external_storage(content, secret)
    cell = content.create_dataset("C", (1, 1), dtype=h5py.ref_dtype)
    cell[0, 0] = content["X"].ref
    cell.attrs["MATLAB_class"] = np.bytes_("cell")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (external_storage, "X keeps its data in another file"),
        (virtual, "X is a virtual data set"),
        (link, "X is a link to another file"),
        (nameless, "X keeps its data in another file"),
    ],
)
@pytest.mark.parametrize("suffix", ["mat", "h5ad"])
def test_hdf5_does_not_read_other_files(tmp_path, make, message, suffix):
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as content:
        content["V"] = A.T
    path = tmp_path / f"a.{suffix}"
    with h5py.File(path, "w") as content:
        make(content, secret)
    refused(path, message)


def test_hdf5_cell_of_references_to_one_matrix_is_refused(tmp_path):
    with h5py.File(tmp_path / "a.mat", "w") as content:
        matrix = content.create_dataset(
            "#m", data=np.zeros((1000, 1000)), chunks=True, compression="gzip"
        )
        cell = content.create_dataset("X", (1, 5000), dtype=h5py.ref_dtype)
        cell[:] = matrix.ref
        cell.attrs["MATLAB_class"] = np.bytes_("cell")
    refused(tmp_path / "a.mat", "more than 200 times its size")


def test_probe_ends_a_reader_that_hangs(tmp_path, monkeypatch):
    """As HDF5 does on a damaged heap of names."""
    monkeypatch.setattr(_probe, "BASE_SECONDS", 2.0)
    monkeypatch.setattr(_probe, "CHILD", "tests.datasets.endless")
    root = str(Path(__file__).parents[2])
    paths = [root, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    from manyview.datasets._source import ReadOptions

    began = time.monotonic()
    (tmp_path / "a.mat").write_bytes(b"x")
    with pytest.raises(DatasetError, match="could not be read within 2 s"):
        _probe.probe(tmp_path / "a.mat", ReadOptions())
    assert time.monotonic() - began < 60


def test_probe_tells_what_the_reader_says(tmp_path):
    (tmp_path / "a.mat").write_bytes(b"hello" * 100)
    with pytest.raises(DatasetError, match="not a MATLAB file of version"):
        read_views(tmp_path / "a.mat", isolate=True)


def test_probe_imports_nothing_from_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "h5py.py").write_text("import os; os.mkdir('exploded')")
    monkeypatch.chdir(tmp_path)
    from scipy.io import savemat

    savemat("a.mat", {"X": A})
    data = read_views("a.mat", isolate=True)
    np.testing.assert_array_equal(data.views[0], A)
    assert not (tmp_path / "exploded").exists()


def test_parquet_extension_types_are_refused(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    period = pd.DataFrame({"x": pd.period_range("2020", periods=3, freq="D")})
    parquet.write_table(pa.Table.from_pandas(period), tmp_path / "a.parquet")
    refused(tmp_path / "a.parquet", "column 'x' has the extension type")


# One budget for all that a call reads


def mat_of_zeros(path, n_variables):
    """Compressed variables, each of 60 MB of zeros."""
    n = 60 * 2**20 // 8
    head = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"
    parts = [head]
    for v in range(n_variables):
        body = struct.pack("<IIII", 6, 8, 6, 0)
        body += struct.pack("<IIii", 5, 8, n // 4, 4)
        body += struct.pack("<HH", 1, 1) + bytes([97 + v, 0, 0, 0])
        body += struct.pack("<II", 9, 8 * n)
        squeeze = zlib.compressobj(9)
        packed = squeeze.compress(struct.pack("<II", 14, len(body) + 8 * n) + body)
        packed += squeeze.compress(bytes(8 * n)) + squeeze.flush()
        parts.append(struct.pack("<II", 15, len(packed)) + packed)
    path.write_bytes(b"".join(parts))


def test_mat_budget_is_for_all_variables(tmp_path):
    mat_of_zeros(tmp_path / "a.mat", 3)
    began = time.monotonic()
    with pytest.raises(DatasetError, match="more than 200 times its size"):
        read_views(tmp_path / "a.mat")
    assert time.monotonic() - began < 20


def test_budget_is_for_all_files(tmp_path):
    paths = []
    for name in "abc":
        paths.append(tmp_path / f"{name}.npz")
        np.savez_compressed(paths[-1], x=np.zeros((2500, 1000)))
    read_views(paths[:1])
    read_views(paths[:3])
    for name in "defg":
        paths.append(tmp_path / f"{name}.npz")
        np.savez_compressed(paths[-1], x=np.zeros((2500, 1000)))
    with pytest.raises(DatasetError, match="more than 200 times its size"):
        read_views(paths)


def test_one_long_id_does_not_widen_all(tmp_path):
    lines = ["id,x", "p" * 100_000 + ",1", *(f"q{i},2" for i in range(50_000))]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    refused(tmp_path / "a.csv", r"Sample ids of .* more than 200 times")


# Text that is none


@pytest.mark.parametrize("code", [0x110000, 0x7FFFFFFF, 0xD800])
def test_npz_ids_beyond_unicode(tmp_path, code):
    ids = np.array(["ab", "cd"])
    ids.view(np.uint32)[1] = code
    np.savez(tmp_path / "a.npz", x=np.eye(2), ids=ids)
    refused(tmp_path / "a.npz", "Sample ids of .* are not Unicode text")


def test_npz_ids_that_are_not_utf8(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.eye(2), ids=np.array([b"\xff", b"b"]))
    refused(tmp_path / "a.npz", "Sample ids of .* are not Unicode text")


def test_mtx_half_an_index(tmp_path):
    text = "%%MatrixMarket matrix coordinate real general\n3 3 1\n1.5 1 7\n"
    (tmp_path / "a.mtx").write_text(text)
    refused(tmp_path / "a.mtx", "entry 1 lies at row 1.5, column 1")


def test_files_that_crash_scipy(tmp_path):
    """``mmread`` reads beyond its buffer, ``loadmat`` takes any type code."""
    (tmp_path / "a.mtx").write_text(
        "%%MatrixMarket matrix array real general\n%\n2 1\n2.5\n1.15E1C"
    )
    refused(tmp_path / "a.mtx", "could not convert|1.15E1C")
    from scipy.io import savemat

    savemat(tmp_path / "a.mat", {"X": A})
    data = bytearray((tmp_path / "a.mat").read_bytes())
    at = data.index(struct.pack("<II", 9, A.nbytes))
    data[at : at + 4] = struct.pack("<I", 128)
    (tmp_path / "a.mat").write_bytes(data)
    refused(tmp_path / "a.mat", "data of the unknown type 128")


# Sparse matrices from Python


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo"])
def test_corrupt_sparse_indices_are_refused(kind):
    view = sparse.coo_array(np.eye(6)).asformat(kind)
    if kind == "coo":
        view.row[2] = 10**6
    else:
        view.indices[2] = 10**6
    with pytest.raises(ViewError, match="View 'view0' is not a sound sparse matrix"):
        NSMVC(2).fit([view])


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_pointers_that_go_back_are_refused(kind, tmp_path):
    """scipy's own check passes these when the last pointer is 0."""
    view = sparse.coo_array(np.zeros((3, 3))).asformat(kind)
    view.indptr[1] = 10**7
    view.check_format(full_check=True)
    with pytest.raises(ViewError, match="indptr must be a non-decreasing sequence"):
        NSMVC(2).fit([view])
    sparse.save_npz(tmp_path / "a.npz", view)
    refused(tmp_path / "a.npz", "not a sound sparse matrix: indptr must be")


def test_sparse_columns_claim(tmp_path):
    view = sparse.coo_array(([1.0], ([0], [0])), shape=(2, 10**9))
    sparse.save_npz(tmp_path / "a.npz", view)
    refused(tmp_path / "a.npz", "claims 1000000000 columns")


# Writing


def test_whole_file_leaves_nothing_when_it_fails(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")

    def interrupted():
        with whole_file(path, "w") as file:
            file.write("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_whole_file_names_the_path_when_the_disk_is_full(tmp_path):
    path = tmp_path / "a.txt"
    full = OSError(errno.ENOSPC, "No space left on device")
    with (
        pytest.raises(OSError, match=r"No space left on device: .*a\.txt"),
        whole_file(path, "w"),
    ):
        raise full
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_npy_bytes_on_a_full_disk_name_the_path(tmp_path, monkeypatch):
    from manyview.datasets import write_views

    real = io.open

    def full(path, mode="r", *options):
        return real("/dev/full" if mode == "wb" else path, mode, *options)

    monkeypatch.setattr("pathlib.io.open", full)
    with pytest.raises(OSError, match=r"No space left on device: .*out"):
        write_views(tmp_path / "out", 100, random_state=0)
