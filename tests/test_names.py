"""Names of features and samples are believed: order by name, refuse what differs."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from manyview import NSMVC, ViewError, load_model, save_model
from manyview._names import NamedView
from manyview._views import check_views
from manyview.cluster import ConcatKMeans

IDS = [f"s{i}" for i in range(90)]


def fitted(X, **params):
    return NSMVC(3, n_init=2, random_state=0, **params).fit(X)


@pytest.fixture
def frames(blobs):
    """The blobs as frames whose columns and rows have names."""
    return {
        name: pd.DataFrame(
            view, index=IDS, columns=[f"{name}{j}" for j in range(view.shape[1])]
        )
        for name, view in zip(("rna", "protein", "image"), blobs[0], strict=True)
    }


def backwards(frame):
    return frame[frame.columns[::-1]]


def as_dict(frames):
    return frames


def as_list(frames):
    return list(frames.values())


def as_polars(frames):
    return {name: pl.from_pandas(frame) for name, frame in frames.items()}


def as_named_arrays(frames):
    return {
        name: NamedView(array=frame.to_numpy(), columns=tuple(frame.columns))
        for name, frame in frames.items()
    }


def as_sparse(frames):
    return {
        name: NamedView(
            array=sparse.csr_array(frame.to_numpy()), columns=tuple(frame.columns)
        )
        for name, frame in frames.items()
    }


FORMS = [as_dict, as_list, as_polars, as_named_arrays, as_sparse]


@pytest.mark.parametrize("form", FORMS)
def test_columns_in_another_order_are_put_in_order(frames, form):
    model = fitted(form(frames))
    turned = form({name: backwards(frame) for name, frame in frames.items()})
    same = form(frames)
    assert_array_equal(model.predict(turned), model.predict(same))
    assert_array_equal(model.transform(turned), model.transform(same))
    assert model.score(turned) == model.score(same)


@pytest.mark.parametrize("form", FORMS[:3])
def test_missing_and_foreign_columns_are_named(frames, form):
    model = fitted(form(frames))
    short = {**frames, "rna": frames["rna"].drop(columns="rna2")}
    with pytest.raises(ViewError, match="lacks feature 'rna2' of fit"):
        model.predict(form(short))
    more = {**frames, "rna": frames["rna"].assign(age=1.0, sex=0.0)}
    with pytest.raises(ViewError, match="has features 'age', 'sex' that fit did not"):
        model.predict(form(more))
    other = {**frames, "rna": frames["rna"].rename(columns={"rna1": "x"})}
    with pytest.raises(ViewError, match="lacks feature 'rna1' of fit and has feature"):
        model.predict(form(other))


def test_many_foreign_columns_are_counted():
    frame = pd.DataFrame(np.arange(40.0).reshape(4, 10)).rename(columns=str)
    model = NSMVC(2, n_init=1).fit([frame.add_prefix("a")])
    with pytest.raises(ViewError, match="'b0', 'b1', 'b2', 'b3', 'b4' and 5 more that"):
        model.predict([frame.add_prefix("b")])


def test_without_names_on_either_side_only_the_count_matters(frames, blobs):
    arrays = dict(zip(frames, blobs[0], strict=True))
    named, nameless = fitted(frames), fitted(arrays)
    assert_array_equal(named.predict(arrays), named.labels_)
    assert_array_equal(nameless.predict(frames), nameless.labels_)
    # Column labels that only count are no names.
    counted = {name: pd.DataFrame(view) for name, view in arrays.items()}
    assert_array_equal(named.predict(counted), named.labels_)
    assert_array_equal(fitted(counted).predict(frames), named.labels_)
    for model in (named, nameless):
        with pytest.raises(ViewError, match="has 3 features, but it had 4 in fit"):
            model.predict({**arrays, "rna": arrays["rna"][:, :3]})


def test_counted_columns_in_another_order_are_put_in_order(blobs):
    frames = [pd.DataFrame(view) for view in blobs[0]]
    model = fitted(frames)
    turned = [backwards(frame) for frame in frames]
    assert_array_equal(model.predict(turned), model.labels_)


def test_repeated_names_are_fine_in_the_order_of_fit_only():
    # Two clusters far apart: of four samples on a line, one may be between two centres.
    values = np.array([[0.0, 1, 2], [3, 4, 5], [96, 97, 98], [99, 100, 101]])
    frame = pd.DataFrame(values, columns=["a", "a", "b"])
    model = NSMVC(2, n_init=1).fit([frame])
    assert_array_equal(model.predict([frame]), model.labels_)
    with pytest.raises(ViewError, match="'a' occurs more than once"):
        model.predict([frame.iloc[:, ::-1]])


def test_one_frame_follows_the_rules_of_scikit_learn(frames):
    table = pd.concat(frames.values(), axis=1)
    model = fitted(table, view_sizes=[4, 6, 3])
    assert list(model.feature_names_in_) == list(table.columns)
    with pytest.raises(ViewError, match="same order as they were in fit"):
        model.predict(backwards(table))
    # The names of the table hold for views given one by one as well.
    model.set_params(view_sizes=None)
    turned = [backwards(frame) for frame in frames.values()]
    assert_array_equal(model.predict(turned), model.labels_)


def test_columns_that_are_in_order_are_not_copied(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(12.0).reshape(4, 3))
    on_disk = np.load(tmp_path / "a.npy", mmap_mode="r")
    view = NamedView(array=on_disk, columns=("a", "b", "c"))
    model = NSMVC(2, n_init=1).fit({"a": view})
    again = check_views({"a": view}, layout=model._layout)
    assert np.shares_memory(again.arrays[0], on_disk)
    turned = NamedView(array=on_disk[:, ::-1], columns=("c", "b", "a"))
    assert_array_equal(
        check_views({"a": turned}, layout=model._layout).arrays[0], on_disk
    )


def test_model_file_remembers_feature_names(frames, tmp_path):
    model = fitted({**frames, "image": frames["image"].to_numpy()})
    again = load_model(save_model(model, tmp_path / "m.mvz"))
    assert again._layout == model._layout
    turned = {**frames, "rna": backwards(frames["rna"])}
    assert_array_equal(again.predict(turned), model.labels_)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
def test_modalities_of_mudata_go_by_their_var_names(frames):
    anndata = pytest.importorskip("anndata")
    mudata = pytest.importorskip("mudata")

    def wrapped(frames):
        return mudata.MuData(
            {name: anndata.AnnData(frame) for name, frame in frames.items()}
        )

    model = fitted(wrapped(frames))
    turned = wrapped({name: backwards(frame) for name, frame in frames.items()})
    assert_array_equal(model.predict(turned), model.labels_)
    other = {**frames, "rna": frames["rna"].rename(columns={"rna1": "x"})}
    with pytest.raises(ViewError, match="lacks feature 'rna1'"):
        model.predict(wrapped(other))


def test_anndata_objects_as_views(frames):
    anndata = pytest.importorskip("anndata")
    views = [anndata.AnnData(frame) for frame in frames.values()]
    model = fitted(views)
    assert_array_equal(model.labels_, fitted(as_list(frames)).labels_)
    turned = [view[:, ::-1] for view in views]
    assert_array_equal(model.predict(turned), model.labels_)
    with pytest.raises(ViewError, match=r"same samples .* row 0 is 's89', not 's0'"):
        fitted([views[0], views[1][::-1], views[2]])


@pytest.mark.parametrize("form", [as_dict, as_list])
@pytest.mark.parametrize("estimator", [NSMVC, ConcatKMeans])
def test_rows_in_another_order_are_refused(frames, form, estimator):
    swapped = [*IDS[:4], "s5", "s4", *IDS[6:]]
    shuffled = {**frames, "protein": frames["protein"].loc[swapped]}
    message = (
        r"has the same samples in another order than view '\w+': row 4 is 's5', not "
        r"'s4', by their indices\. .*manyview\.datasets\.align_views"
    )
    with pytest.raises(ViewError, match=message):
        estimator(3, n_init=1, random_state=0).fit(form(shuffled))
    model = estimator(3, n_init=1, random_state=0).fit(form(frames))
    with pytest.raises(ViewError, match=message):
        model.predict(form(shuffled))


def test_other_rows_are_refused(frames):
    other = {**frames, "protein": frames["protein"].rename(index={"s7": "t7"})}
    with pytest.raises(ViewError, match="other samples than view 'rna': row 7 is 't7'"):
        fitted(other)


def test_an_index_that_counts_is_none(frames, blobs):
    expected = fitted(frames).labels_
    plain = {**frames, "protein": frames["protein"].reset_index(drop=True)}
    assert_array_equal(fitted(plain).labels_, expected)
    mixed = {**frames, "protein": blobs[0][1]}
    assert_array_equal(fitted(mixed).labels_, expected)
    first = {"rna": plain["protein"], "protein": frames["rna"]}
    assert check_views(first).index.equals(frames["rna"].index)


def test_a_shuffled_frame_that_had_no_index_is_noticed(blobs):
    frames = [pd.DataFrame(view) for view in blobs[0]]
    for v in range(3):
        shuffled = [*frames]
        shuffled[v] = frames[v].sample(frac=1, random_state=0)
        with pytest.raises(ViewError, match="the same samples in another order"):
            fitted(shuffled)


def test_indices_of_other_types_with_equal_values_agree(blobs):
    first = pd.DataFrame(blobs[0][0], index=pd.Index(np.arange(5, 95)))
    second = pd.DataFrame(blobs[0][1], index=pd.Index(np.arange(5.0, 95)))
    third = pd.DataFrame(
        blobs[0][2], index=pd.CategoricalIndex([str(i) for i in range(5, 95)])
    )
    fourth = pd.DataFrame(blobs[0][2], index=[str(i) for i in range(5, 95)])
    assert check_views([first, second]).n_samples == 90
    assert check_views([third, fourth]).n_samples == 90


@pytest.mark.parametrize("form", [as_dict, as_list])
def test_pandas_output_keeps_the_index(frames, form):
    model = NSMVC(3, n_init=1, random_state=0).set_output(transform="pandas")
    distances = model.fit(form(frames)).transform(form(frames))
    assert list(distances.index) == IDS
    assert list(distances.columns) == ["nsmvc0", "nsmvc1", "nsmvc2"]
    some = form({name: frame.iloc[5:9] for name, frame in frames.items()})
    assert list(model.transform(some).index) == IDS[5:9]
    assert list(model.fit_transform(form(frames)).index) == IDS
    table = pd.concat(frames.values(), axis=1)
    model.set_params(view_sizes=[4, 6, 3])
    assert list(model.fit(table).transform(table).index) == IDS
    assert isinstance(fitted(form(frames)).transform(form(frames)), np.ndarray)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_masked_rows_are_missing_and_masked_cells_refused(blobs, dtype):
    views = [(10 * view).astype(dtype) for view in blobs[0]]
    lacking = [view.astype(float) for view in views]
    lacking[0][5] = np.nan
    hidden = [np.ma.masked_array(view) for view in views]
    hidden[0].data[5] = 10**6
    hidden[0][5] = np.ma.masked
    model, expected = fitted(hidden), fitted(lacking)
    assert_array_equal(model.labels_, expected.labels_)
    assert model.joined_pace_[0][5] == 0
    hidden[1][7, 2] = np.ma.masked
    with pytest.raises(ViewError, match="row 7 is NaN in 1 of 6 features"):
        fitted(hidden)
    with pytest.raises(ViewError, match="row 7 is NaN in 1 of 6 features"):
        model.predict(hidden)


def test_masked_table_is_read_by_its_mask(blobs):
    table = np.ma.masked_array(np.hstack(blobs[0]))
    table.data[5, :4] = 1e6
    table[5, :4] = np.ma.masked
    model = fitted(table, view_sizes=[4, 6, 3])
    assert model.joined_pace_[0][5] == 0
    assert model.joined_pace_[1][5] > 0
    assert check_views([np.ma.masked_array(blobs[0][0])]).present[0].all()
