"""The registered data sets are what the registry and the paper say."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.io import loadmat

from manyview.datasets import (
    MultiViewData,
    dataset_info,
    fetch_msrcv1,
    fetch_webkb,
    list_datasets,
    load_dataset,
    load_handwritten,
)
from manyview.datasets import _load as load_module
from manyview.exceptions import DatasetError

# name: samples per class, features per view, non-zero entries per view.
PUBLISHED = {
    "msrcv1": ([30] * 7, [24, 576, 512, 256, 254], None),
    "cornell": ([83, 19, 42, 19, 32], [195, 1703], [569, 18496]),
    "texas": ([34, 18, 103, 31, 1], [187, 1703], [578, 15437]),
    "washington": ([21, 66, 107, 27, 9], [230, 1703], [783, 19953]),
    "wisconsin": ([22, 35, 76, 122, 10], [265, 1703], [938, 25479]),
}


def test_load_handwritten_shapes_order_and_types():
    data = load_handwritten()
    assert data.view_names == ("fac", "fou", "kar", "mor", "pix", "zer")
    assert [view.shape for view in data.views] == [
        (2000, d) for d in (216, 76, 64, 6, 240, 47)
    ]
    assert all(view.dtype == np.float64 for view in data.views)
    assert all(view.flags.c_contiguous and view.flags.writeable for view in data.views)
    assert_array_equal(data.target, np.repeat(np.arange(10), 200))
    assert data.target_names == tuple("0123456789")
    assert data.license == "CC BY 4.0"
    assert "10.24432/C5HC70" in data.source


def test_load_handwritten_first_cells():
    fac, fou, kar, mor, pix, zer = (view[0] for view in load_handwritten().views)
    assert_array_equal(fac[:4], [98, 236, 531, 673])
    assert_array_equal(fou[:3], [0.065882, 0.19731, 0.10383])
    assert_array_equal(kar[:3], [-10.297, -11.667, 11.561])
    assert_array_equal(mor, [1, 0, 0, 133.15, 1.3117, 1620.2])
    assert_array_equal(pix[:5], [0, 3, 4, 4, 6])
    assert_array_equal(zer[:3], [0.011033, 0.83147, 15.352])


def test_load_handwritten_agrees_with_published_mat(shared_data):
    published = loadmat(shared_data / "handwritten.mat")
    data = load_handwritten()
    assert_array_equal(data.target, published["y"].ravel() - 1)
    for name, ours, theirs in zip(
        data.view_names, data.views, published["X"].ravel(), strict=True
    ):
        if name in ("fac", "pix"):
            assert_array_equal(ours, theirs)
        elif name == "kar":
            # Rounded to five characters, so small values have fewer digits.
            assert_allclose(ours, theirs, rtol=0, atol=5.1e-4)
        else:
            assert_allclose(ours, theirs, rtol=5e-5)


def test_load_handwritten_needs_no_network_and_no_data_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("MANYVIEW_DATA", str(tmp_path / "absent"))
    monkeypatch.setattr("socket.socket", None)
    assert load_handwritten().n_samples == 2000
    assert not (tmp_path / "absent").exists()


def test_load_handwritten_refuses_damaged_file(monkeypatch, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "handwritten.npz").write_bytes(b"PK damaged")
    monkeypatch.setattr(load_module, "files", lambda _: tmp_path)
    with pytest.raises(DatasetError, match=r"handwritten\.npz is damaged.*Reinstall"):
        load_handwritten()


@pytest.mark.parametrize("name", PUBLISHED)
def test_load_dataset_published_sets(name, shared_data):
    counts, n_features, n_nonzero = PUBLISHED[name]
    data = load_dataset(name, data_home=shared_data)
    info = dataset_info(name)
    assert_array_equal(np.bincount(data.target), counts)
    assert [view.shape for view in data.views] == [(sum(counts), d) for d in n_features]
    assert [view.n_features for view in info.views] == n_features
    assert data.view_names == tuple(view.name for view in info.views)
    assert info.n_samples == sum(counts)
    assert len(data.target_names) == len(counts)
    assert info.size == (shared_data / info.file).stat().st_size
    if n_nonzero:
        assert [np.count_nonzero(view) for view in data.views] == n_nonzero


def test_fetch_msrcv1_does_not_wrap_around(shared_data):
    data = fetch_msrcv1(data_home=shared_data)
    assert data.view_names == ("cm", "hog", "gist", "lbp", "centrist")
    lbp, centrist = data.views[3], data.views[4]
    assert (lbp.min(), lbp.max()) == (24, 77526)
    # uint16 on disk: an unsigned difference would be huge instead of negative.
    assert (centrist.min(), centrist.max()) == (1, 3597)
    assert (centrist - centrist.max()).min() == -3596


def test_fetch_webkb_citation_view_is_symmetric_counts(shared_data):
    data = fetch_webkb("cornell", data_home=shared_data)
    citation, content = data.views
    assert data.view_names == ("citation", "content")
    assert_array_equal(citation, citation.T)
    assert set(np.unique(citation)) == {0, 1, 2}
    assert set(np.unique(content)) == {0, 1}
    blocks = loadmat(shared_data / "webkb_cornell.mat")["X"].ravel()[1].astype(int)
    assert_array_equal(citation, blocks[:, 195:390] + blocks[:, 390:])


def test_load_dataset_uses_environment_folder(shared_data, monkeypatch):
    monkeypatch.setenv("MANYVIEW_DATA", str(shared_data))
    assert load_dataset("texas").n_samples == 187


def test_load_dataset_unknown_names():
    with pytest.raises(DatasetError, match=r"'iris'\. Known: handwritten, msrcv1"):
        load_dataset("iris")
    with pytest.raises(DatasetError, match="university='yale' is not one of cornell"):
        fetch_webkb("yale")


def test_registry_is_complete():
    assert set(list_datasets()) == {"handwritten", *PUBLISHED}
    for name in list_datasets():
        info = dataset_info(name)
        assert len(info.sha256) == 64
        assert info.citation
        assert info.license
        if info.url is not None:
            assert info.url.endswith("/" + info.upstream)
            assert "300b5178c5e7f55b8baa247269ee4c566aeb4356" in info.url


def test_multi_view_data_refuses_parts_that_do_not_fit():
    two, three = np.zeros((2, 1)), np.zeros((3, 1))
    with pytest.raises(DatasetError, match="view 'a': 2, view 'b': 3"):
        MultiViewData(name="x", views=(two, three), view_names=("a", "b"))
    with pytest.raises(DatasetError, match="view 'a': 2, target: 3"):
        MultiViewData(name="x", views=(two,), view_names=("a",), target=np.arange(3))
    with pytest.raises(DatasetError, match="2 view names were given for 1 views"):
        MultiViewData(name="x", views=(two,), view_names=("a", "b"))


def test_multi_view_data_repr_is_short():
    assert repr(load_handwritten()) == (
        "MultiViewData('handwritten', 2000 samples, views: "
        "fac 216, fou 76, kar 64, mor 6, pix 240, zer 47)"
    )


def test_import_leaves_optional_packages_alone():
    code = (
        "import sys, manyview.datasets; "
        "print(*{'pooch', 'requests', 'h5py', 'zarr', 'anndata'} & set(sys.modules))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == ""
