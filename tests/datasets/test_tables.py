"""Tables as people have them: spreadsheets, compressed, with text and holes."""

import gzip
import io
import sys
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pytest
import zstandard
from numpy.testing import assert_array_equal

from manyview.datasets import _arrow, _read_text, read_views
from manyview.datasets._encode import match_one_hot
from manyview.exceptions import DatasetError

NAN = np.nan
PATIENTS = "patient,age,sex,site\nP1,50,f,lung\nP2,61,m,\nP3,47,f,skin\n"


def table(folder, text, name="clinic.csv"):
    path = folder / name
    path.write_text(text)
    return path


def workbook(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


# Ids


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("patient,age\nP1,50\nP2,61\n", ["P1", "P2"]),
        ("age,patient\n50,P1\n61,P2\n", ["P1", "P2"]),
        ("code,name,age\nA,Ann,1\nB,Bob,2\n", None),
        # Numbers in another spelling are no names.
        ('dose,age\n"1,5",50\n"2,5",61\n', None),
        # Nor is text that repeats.
        ("site,age\nlung,50\nlung,61\n", None),
    ],
)
def test_a_unique_text_column_names_the_samples(tmp_path, text, ids):
    path = table(tmp_path, text)
    if ids is None:
        with pytest.raises(DatasetError, match=r"not a number.*ids=.*encode='onehot'"):
            read_views(path)
        return
    data = read_views(path)
    assert_array_equal(data.sample_ids, ids)
    assert data.feature_names == (("age",),)


def test_a_named_id_column_comes_first(tmp_path):
    text = "id,name,age\n7,Ann,1\n8,Bob,2\n"
    data = read_views(table(tmp_path, text), drop="text")
    assert_array_equal(data.sample_ids, ["7", "8"])
    data = read_views(table(tmp_path, text), ids="name")
    assert_array_equal(data.sample_ids, ["Ann", "Bob"])
    assert data.feature_names == (("id", "age"),)


def test_ids_of_labels_are_found_by_what_they_hold(tmp_path):
    labels = table(tmp_path, "patient,type\nP3,x\nP1,y\nP2,x\n", "types.csv")
    clinic = table(tmp_path, PATIENTS)
    data = read_views(clinic, labels_file=labels, drop="text")
    assert_array_equal(data.sample_ids, ["P1", "P2", "P3"])
    assert [data.target_names[c] for c in data.target] == ["y", "x", "x"]
    data = read_views(clinic, labels_file=labels, labels="type", drop="text")
    assert [data.target_names[c] for c in data.target] == ["y", "x", "x"]


# Text


@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx"])
def test_text_is_encoded_or_dropped(tmp_path, kind):
    path = table(tmp_path, PATIENTS)
    frame = pd.read_csv(path)
    if kind == "parquet":
        path = tmp_path / "clinic.parquet"
        frame.to_parquet(path, index=False)
    elif kind == "xlsx":
        path = tmp_path / "clinic.xlsx"
        frame.to_excel(path, index=False)
    with pytest.raises(DatasetError, match=r"row 1.*'sex' holds 'f', not a number"):
        read_views(path)
    data = read_views(path, encode="onehot", missing="keep")
    assert data.feature_names == (("age", "sex=f", "sex=m", "site=lung", "site=skin"),)
    assert_array_equal(
        data.views[0],
        [[50, 1, 0, 1, 0], [61, 0, 1, NAN, NAN], [47, 1, 0, 0, 1]],
    )
    assert_array_equal(data.sample_ids, ["P1", "P2", "P3"])
    data = read_views(path, drop="text")
    assert_array_equal(data.views[0], [[50], [61], [47]])


def test_a_mistake_among_numbers_is_no_text(tmp_path):
    path = table(tmp_path, "id,a\np,1\nq,2\nr,<0.1\n")
    for choice in ({"encode": "onehot"}, {"drop": "text"}):
        with pytest.raises(DatasetError, match=r"row 3 .line 4.* 'a' holds '<0.1'"):
            read_views(path, **choice)


def test_text_choices_exclude_each_other(tmp_path):
    path = table(tmp_path, PATIENTS)
    with pytest.raises(DatasetError, match="exclude each other"):
        read_views(path, encode="onehot", drop="text")
    with pytest.raises(DatasetError, match="encode='label' is not one of"):
        read_views(path, encode="label")
    with pytest.raises(DatasetError, match="no feature columns"):
        read_views(table(tmp_path, "sex,site\nf,a\nf,a\n"), drop="text")


def test_new_samples_get_the_columns_of_the_fit():
    fitted = ("age", "sex=f", "sex=m", "site=lung", "site=skin")
    values = np.array([[1.0, 1, 0, 1], [2, 0, NAN, NAN]])
    names = ("age", "sex=m", "site=bone", "site=lung")
    matched, found, unseen = match_one_hot(values, names, fitted)
    columns = dict(zip(found, matched.T, strict=True))
    assert set(found) == set(fitted)
    assert unseen == ["site=bone"]
    assert_array_equal(columns["sex=f"], [0, 0])
    assert_array_equal(columns["sex=m"], [1, 0])
    assert_array_equal(columns["site=skin"], [0, NAN])
    # A column that is not there is not made up.
    _, found, _ = match_one_hot(np.ones((2, 1)), ("age",), fitted)
    assert found == ("age",)


# Holes


def test_holes_are_refused_or_kept(tmp_path):
    path = table(tmp_path, "id,a,b\np,1,\nq,2,3\nr,,\n")
    with pytest.raises(DatasetError, match=r"row 1, column 'b' is missing.*='keep'"):
        read_views(path)
    data = read_views(path, missing="keep")
    assert_array_equal(data.views[0], [[1, NAN], [2, 3], [NAN, NAN]])
    infinite = table(tmp_path, "id,a,b\np,inf,\nq,2,3\n")
    with pytest.raises(DatasetError, match="column 'a' is inf"):
        read_views(infinite, missing="keep")


# Compressed text


def pack(data, suffix):
    if suffix == ".gz":
        return gzip.compress(data)
    return zstandard.ZstdCompressor().compress(data)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_tables(tmp_path, suffix):
    text = "id,a,b\np,1,2\nq,3,4\n"
    path = tmp_path / f"rna.csv{suffix}"
    path.write_bytes(pack(text.encode(), suffix))
    other = tmp_path / f"image.TSV{suffix.upper()}"
    other.write_bytes(pack(text.replace(",", "\t").encode(), suffix))
    data = read_views([path, other])
    assert data.view_names == ("rna", "image")
    assert_array_equal(data.views[0], [[1, 2], [3, 4]])
    assert_array_equal(data.views[1], data.views[0])
    labels = tmp_path / f"types.csv{suffix}"
    labels.write_bytes(pack(b"id,type\nq,x\np,y\n", suffix))
    assert_array_equal(read_views(path, labels_file=labels).target, [1, 0])


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_bombs_are_not_unpacked(tmp_path, suffix):
    path = tmp_path / f"bomb.csv{suffix}"
    path.write_bytes(pack(b"a,b\n" + b"1,2\n" * (20 << 20), suffix))
    with pytest.raises(DatasetError, match=r"bytes of memory for .* not opened"):
        read_views(path)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_damaged_compressed_tables(tmp_path, suffix):
    path = tmp_path / f"a.csv{suffix}"
    path.write_bytes(b"id,a\np,1\n")
    with pytest.raises(DatasetError, match="cannot be read as a text table"):
        read_views(path)
    numbers = np.random.default_rng(0).integers(10**6, size=9999)
    text = "a\n" + "\n".join(map(str, numbers)) + "\n"
    path.write_bytes(pack(text.encode(), suffix)[:-9])
    with pytest.raises(DatasetError, match=r"as a text table.*(EOFError|Truncated)"):
        read_views(path)


def test_zstd_frames_follow_each_other(tmp_path):
    path = tmp_path / "a.csv.zst"
    path.write_bytes(pack(b"a,b\n1,2\n", ".zst") + pack(b"3,4\n", ".zst"))
    assert_array_equal(read_views(path).views[0], [[1, 2], [3, 4]])


# Excel


def test_sheets_are_views(tmp_path):
    path = workbook(
        tmp_path / "study.xlsx",
        rna=[["patient", "g1", "g2"], ["P1", 0.1, 2], ["P2", 1e-3, True]],
        protein=[["patient", "p"], ["P1", 5], [], ["P2", None]],
        classes=[["patient", "type"], ["P2", "x"], ["P1", "y"]],
        empty=[],
    )
    data = read_views(path, labels="type")
    assert data.view_names == ("rna", "protein")
    assert_array_equal(data.views[0], [[0.1, 2], [1e-3, 1]])
    assert_array_equal(data.views[1], [[5], [NAN]])
    assert_array_equal(data.sample_ids, ["P1", "P2"])
    assert data.feature_names == (("g1", "g2"), ("p",))
    assert [data.target_names[c] for c in data.target] == ["y", "x"]
    assert read_views(path, variables=["protein"]).view_names == ("protein",)
    with pytest.raises(DatasetError, match="no sheet 'atac'; it has"):
        read_views(path, variables=["atac"])
    with pytest.raises(DatasetError, match=r"'classes'.* 'type' holds 'x'"):
        read_views(path)


def test_a_workbook_of_one_sheet_goes_by_its_name_in_a_list(tmp_path):
    sheet = [["id", "a"], ["p", 1], ["q", 2]]
    first = workbook(tmp_path / "rna.xlsx", Sheet1=sheet)
    second = workbook(tmp_path / "adt.xlsx", Sheet1=sheet)
    assert read_views([first, second]).view_names == ("rna", "adt")
    labels = workbook(tmp_path / "y.xlsx", S=[["id", "y"], ["q", "u"], ["p", "v"]])
    assert_array_equal(read_views([first], labels_file=labels).target, [1, 0])


def test_sheets_without_header_or_cells(tmp_path):
    path = workbook(tmp_path / "a.xlsx", one=[[1, 2], [3, 4]])
    assert_array_equal(read_views(path).views[0], [[1, 2], [3, 4]])
    assert read_views(path).feature_names == ()
    with pytest.raises(DatasetError, match="has no cells"):
        read_views(workbook(tmp_path / "b.xlsx", one=[]))
    with pytest.raises(
        DatasetError, match="sheet 'one' has a header and no rows below it"
    ):
        read_views(workbook(tmp_path / "c.xlsx", one=[["a", "b"]]))


def test_cells_of_a_sheet_are_named(tmp_path):
    path = workbook(tmp_path / "a.xlsx", s=[["id", "a"], ["p", 1], ["q", "#DIV/0!"]])
    with pytest.raises(DatasetError, match="sheet 's': row 2, column 'a' holds '#DIV/"):
        read_views(path)


def rewrite(path, name, change):
    """Replace a member of a workbook."""
    with zipfile.ZipFile(path) as archive:
        members = {n: archive.read(n) for n in archive.namelist()}
    members[name] = change(members[name])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)


SHEET = "xl/worksheets/sheet1.xml"


def test_a_workbook_that_unpacks_to_too_much_is_not_opened(tmp_path):
    path = workbook(tmp_path / "a.xlsx", s=[["id", "a"], ["p", 1]])
    rewrite(path, SHEET, lambda xml: xml + b" " * (100 << 20))
    with pytest.raises(DatasetError, match="so it was not opened"):
        read_views(path)


def test_cells_far_out_do_not_fill_memory(tmp_path):
    """One cell in the last column per row claims 16,384 cells each."""
    path = workbook(tmp_path / "a.xlsx", s=[["id", "a"], ["p", 1]])
    row = b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>'
    far = b"".join(row % (i, i) for i in range(3, 3000))
    end = b"</sheetData>"
    rewrite(path, SHEET, lambda xml: xml.replace(end, far + end))
    with pytest.raises(DatasetError, match="so it was not opened"):
        read_views(path)


def test_entities_are_refused(tmp_path):
    path = workbook(tmp_path / "a.xlsx", s=[["id", "a"], ["p", 1]])
    head = b'<!DOCTYPE x [<!ENTITY e "1">]>'
    rewrite(path, SHEET, lambda xml: head + xml.replace(b"<v>1</v>", b"<v>&e;</v>"))
    with pytest.raises(DatasetError, match="cannot be read as an Excel workbook"):
        read_views(path)


def test_what_is_no_workbook(tmp_path):
    path = tmp_path / "a.xlsx"
    path.write_text("id,a\np,1\n")
    with pytest.raises(DatasetError, match="cannot be read as an Excel workbook"):
        read_views(path)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("hello", "world")
    path.write_bytes(buffer.getvalue())
    with pytest.raises(DatasetError, match="cannot be read as an Excel workbook"):
        read_views(path)


# Two parsers


TRICKY = (
    '\ufeffpatient,"dose, mg",site,b\r\n'
    '"P 1",0.1,lung,1e-3\r\n'
    "P2, 2 ,,\r\n"
    "\r\n"
    'P3,"-3.5",NA,NaN\r\n'
    "P4,123456789012345678,skin,1.7976931348623157e308\r\n"
    "P5,0.30000000000000004,skin,5e-324"
)


@pytest.mark.parametrize("arrow", [True, False])
def test_text_is_read_alike_with_and_without_pyarrow(tmp_path, monkeypatch, arrow):
    if not arrow:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    else:
        monkeypatch.setattr(_read_text, "read_cells", None)
    data = read_views(table(tmp_path, TRICKY), encode="onehot", missing="keep")
    names = ("dose, mg", "site=lung", "site=skin", "b")
    assert data.feature_names == (names,)
    assert_array_equal(data.sample_ids, ["P 1", "P2", "P3", "P4", "P5"])
    assert_array_equal(
        data.views[0],
        [
            [0.1, 1, 0, 1e-3],
            [2, NAN, NAN, NAN],
            [-3.5, NAN, NAN, NAN],
            [123456789012345678.0, 0, 1, 1.7976931348623157e308],
            [0.30000000000000004, 0, 1, 5e-324],
        ],
    )


@pytest.mark.parametrize("arrow", [True, False])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n", r"row 2 .line 3. has 1 cells, but the table has 2"),
        ("a,b\n1,2,9\n3,4\n", r"row 1 .line 2. has 3 cells"),
        ("id,b\np,2,x\nq,4\n", r"row 1 .line 2. has 3 cells"),
        # As many delimiters as a sound table, in other lines.
        ("a,b\n1,2,9\n3\n", r"row 1 .line 2. has 3 cells"),
        ("a,b\n1,2\n3,x\n", r"row 2 .line 3., column 'b' holds 'x'"),
        ('id,b\np,"u\nq,v\n', "not a sound table"),
    ],
)
def test_bad_rows_are_found_with_and_without_pyarrow(
    tmp_path, monkeypatch, arrow, text, message
):
    if not arrow:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DatasetError, match=message):
        read_views(table(tmp_path, text))


def test_line_breaks_in_cells_are_kept_wherever_a_block_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(_arrow, "CSV_BLOCK_BYTES", 64)
    rng = np.random.default_rng(0)
    for _ in range(100):
        values = rng.integers(1000, size=(int(rng.integers(2, 40)), 2))
        breaks = rng.random(len(values)) < 0.1
        names = [f"s{i}" + "\nx" * int(b) for i, b in enumerate(breaks)]
        rows = zip(names, values.tolist(), strict=True)
        lines = [f'"{name}",{a},"{b}"\n' for name, (a, b) in rows]
        data = read_views(table(tmp_path, "id,a,b\n" + "".join(lines)))
        assert_array_equal(data.sample_ids, names)
        assert_array_equal(data.views[0], values)


@pytest.mark.parametrize(
    ("row", "values"),
    [
        ('"3\n4",5\n', None),
        ('5,"3\n4"\n', None),
        ('"3\n",5\n', [3, 5]),
        ('5,"\n4"\n', [5, 4]),
    ],
)
def test_line_breaks_beside_numbers_wherever_a_block_ends(
    tmp_path, monkeypatch, row, values
):
    monkeypatch.setattr(_arrow, "CSV_BLOCK_BYTES", 64)
    for n_rows in range(2, 30):
        lines = "12,345\n" * n_rows
        path = table(tmp_path, f"a,b\n{lines}{row}{lines}")
        if values is not None:
            assert_array_equal(read_views(path).views[0][n_rows], values)
            continue
        with pytest.raises(DatasetError, match=r"holds '3\\n4', not a number"):
            read_views(path)


# Parquet


def test_parquet_is_read_by_groups_of_rows(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(25, 3)), columns=["a", "b", "c"])
    frame.loc[7, "b"] = None
    frame["flag"], frame["n"] = frame["a"] > 0, np.arange(25)
    frame["patient"] = [f"P{i}" for i in range(25)]
    path = tmp_path / "a.parquet"
    frame.to_parquet(path, index=False, row_group_size=10)
    data = read_views(path, missing="keep")
    assert data.feature_names == (("a", "b", "c", "flag", "n"),)
    assert_array_equal(data.sample_ids, frame["patient"])
    assert_array_equal(data.views[0], frame.iloc[:, :5].astype(float))
    assert data.views[0].flags.c_contiguous


def test_parquet_keeps_single_precision(tmp_path):
    frame = pd.DataFrame(np.eye(3, dtype=np.float32), columns=list("abc"))
    frame.to_parquet(tmp_path / "a.parquet")
    assert read_views(tmp_path / "a.parquet").views[0].dtype == np.float32
    frame["c"] = frame["c"].astype(np.float64)
    frame.to_parquet(tmp_path / "a.parquet")
    assert read_views(tmp_path / "a.parquet").views[0].dtype == np.float64
