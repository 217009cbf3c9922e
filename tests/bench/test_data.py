import numpy as np
import pytest
from numpy.testing import assert_array_equal

from manyview.bench import Corruption, corrupt, describe_data, find_dataset, load_data
from manyview.exceptions import DatasetError


def test_folder_is_read_as_a_data_set(folder):
    ref = find_dataset(str(folder))
    data = load_data(ref)
    assert ref.name == data.name == "pairs"
    assert data.view_names == ("left", "right")
    assert data.target_names == ("even", "odd")
    assert_array_equal(data.target, np.repeat([0, 1], 40))


def test_describe_data_counts_views_samples_and_classes(data):
    assert data.n_samples == 80
    assert data.view_names == ("left", "right")
    assert data.n_clusters == 2


@pytest.mark.parametrize("file", ["left.npy", "labels.csv"])
def test_checksum_changes_with_views_and_classes(folder, data, file):
    if file == "left.npy":
        values = np.load(folder / file)
        values[3, 1] += 1e-9
        np.save(folder / file, values)
    else:
        text = (folder / file).read_text()
        (folder / file).write_text(text.replace("even", "odd", 1))
    assert describe_data(data.ref).checksum != data.checksum


def test_folder_without_labels_is_refused(folder):
    (folder / "labels.csv").unlink()
    with pytest.raises(DatasetError, match="2 view files and 0 files called labels"):
        load_data(find_dataset(str(folder)))


def test_find_dataset_names_the_known_ones():
    with pytest.raises(DatasetError, match=r"called 'texsa'. Known data sets: handwri"):
        find_dataset("texsa")


def test_corrupt_hits_the_share_and_keeps_everything_else(folder):
    data = load_data(find_dataset(str(folder)))
    noisy = corrupt(data, Corruption(view="left", share=0.25), seed=3)
    changed = (noisy.views[0] != data.views[0]).any(axis=1)
    # 20 rows are hit; one may by chance draw its own three values again.
    assert 19 <= changed.sum() <= 20
    assert noisy.views[1] is data.views[1]
    for column in range(3):
        assert set(noisy.views[0][:, column]) <= set(data.views[0][:, column])


def test_corrupt_with_a_larger_share_contains_the_smaller(folder):
    data = load_data(find_dataset(str(folder)))
    some, all_rows = (
        corrupt(data, Corruption(view="left", share=share), seed=3).views[0]
        for share in (0.5, 1.0)
    )
    touched = (some != data.views[0]).any(axis=1)
    assert_array_equal(some[touched], all_rows[touched])


def test_corrupt_with_share_one_leaves_no_trace_of_the_classes(folder):
    data = load_data(find_dataset(str(folder)))
    noisy = corrupt(data, Corruption(view="left", share=1.0), seed=3).views[0]
    gap = noisy[:40].mean() - noisy[40:].mean()
    assert abs(gap) < 0.5
    assert abs(data.views[0][:40].mean() - data.views[0][40:].mean()) > 1.8


def test_corrupt_names_the_views(folder):
    data = load_data(find_dataset(str(folder)))
    with pytest.raises(DatasetError, match="no view 'middle'; its views are left"):
        corrupt(data, Corruption(view="middle", share=0.5), seed=0)
