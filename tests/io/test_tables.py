"""`TableReader`: formats, names of samples, types of columns, missing values, new files and bad ones."""

import gzip

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from laminar.io import TableReader

FLOWERS = pd.DataFrame(
    {
        "id": ["007", "008", "ä 9"],
        "length": [1.5, 2.5, 4.0],
        "width": [1, 2, 3],
        "wild": [True, False, True],
        "kind": ["rose", None, "iris"],
    }
)
X = np.array([[1.5, 1, 1], [2.5, 2, 0], [4, 3, 1]])


def write_gzip(path):
    with gzip.open(path, "wt", encoding="utf-8") as file:
        FLOWERS.to_csv(file, index=False)


WRITERS = {
    "t.csv": lambda path: FLOWERS.to_csv(path, index=False),
    "t.CSV": lambda path: FLOWERS.to_csv(path, index=False),
    "t.tsv": lambda path: FLOWERS.to_csv(path, index=False, sep="\t"),
    "t.txt": lambda path: FLOWERS.to_csv(path, index=False, sep="\t"),
    "semicolons.csv": lambda path: FLOWERS.to_csv(path, index=False, sep=";"),
    "mark.csv": lambda path: FLOWERS.to_csv(path, index=False, encoding="utf-8-sig"),
    "windows.csv": lambda path: FLOWERS.to_csv(path, index=False, encoding="utf-16"),
    "latin.csv": lambda path: FLOWERS.to_csv(path, index=False, encoding="latin-1"),
    "t.csv.gz": write_gzip,
    "t.parquet": lambda path: FLOWERS.to_parquet(path, index=False),
    "index.parquet": lambda path: FLOWERS.set_index("id").to_parquet(path),
    "t.xlsx": lambda path: FLOWERS.to_excel(path, index=False),
}


@pytest.fixture
def write(tmp_path):
    """Write text to a file of the given name, and return its path."""

    def write(text, name="t.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def skip_without_library(name):
    for ending, library in ((".parquet", "pyarrow"), (".xlsx", "openpyxl")):
        if name.endswith(ending):
            pytest.importorskip(library, reason=f"{ending} files need {library}")


# Formats


@pytest.mark.parametrize("name", WRITERS)
def test_formats_agree(tmp_path, name):
    skip_without_library(name)
    path = tmp_path / name
    WRITERS[name](path)
    data = TableReader(label_columns="kind").read(path)
    assert_allclose(data.X, X)
    assert data.X.dtype == np.float64
    assert data.ids.tolist() == ["007", "008", "ä 9"]
    assert data.feature_names.tolist() == ["length", "width", "wild"]
    assert data.labels["kind"].tolist() == ["rose", None, "iris"]
    assert data.labels.index.tolist() == data.ids.tolist()


@pytest.mark.parametrize("name", WRITERS)
def test_data_read_again_are_identical(tmp_path, name):
    skip_without_library(name)
    path = tmp_path / name
    WRITERS[name](path)
    data = TableReader(label_columns="kind").read(path)
    again = data.reader.read(path)
    assert again.fingerprint() == data.fingerprint()
    assert again.reader == data.reader


@pytest.mark.parametrize(("name", "word"), [("semicolons.csv", "separated by ';'"), ("latin.csv", "read as Latin-1")])
def test_guess_is_noted(tmp_path, name, word):
    WRITERS[name](tmp_path / name)
    assert word in " ".join(TableReader(label_columns="kind").read(tmp_path / name).notes)


def test_single_precision_is_kept(tmp_path):
    pytest.importorskip("pyarrow", reason=".parquet files need pyarrow")
    pd.DataFrame({"a": np.float32([1.25, 2]), "b": [True, False]}).to_parquet(tmp_path / "t.parquet")
    assert TableReader().read(tmp_path / "t.parquet").X.dtype == np.float32


def test_sheet_is_chosen(tmp_path):
    pytest.importorskip("openpyxl", reason=".xlsx files need openpyxl")
    path = tmp_path / "t.xlsx"
    with pd.ExcelWriter(path) as book:
        pd.DataFrame({"a": [1, 2]}).to_excel(book, sheet_name="first", index=False)
        pd.DataFrame({"b": [3, 4]}).to_excel(book, sheet_name="second", index=False)
    first = TableReader().read(path)
    assert first.feature_names.tolist() == ["a"]
    assert "sheets first, second" in " ".join(first.notes)
    for sheet in ("second", 1, "1"):
        assert TableReader(sheet=sheet).read(path).feature_names.tolist() == ["b"]
    with pytest.raises(ValueError, match=r"no sheet 'third': its sheets are first, second"):
        TableReader(sheet="third").read(path)


@pytest.mark.parametrize("separator", ["\t", "\\t", "tab"])
def test_separator_is_given(write, separator):
    assert TableReader(separator=separator).read(write("a\tb,c\n1\t2\n")).feature_names.tolist() == ["a", "b,c"]


def test_decimal_comma(write):
    path = write("a;b\n1,5;2,5\n3;4,25\n")
    with pytest.raises(ValueError, match=r'decimal=","'):
        TableReader().read(path)
    assert_allclose(TableReader(decimal=",").read(path).X, [[1.5, 2.5], [3, 4.25]])


# Names of samples


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Name,x\n01,1\n02,2\n", ["01", "02"]),
        ("x,SAMPLE\n1,a\n2,b\n", ["a", "b"]),
        ("name,id,x\nsame,a,1\nother,b,2\n", None),  # of two the id; the other is text, an error
        (",x\nr1,1\nr2,2\n", ["r1", "r2"]),  # index of pandas
        ("x,y\nr1,1,2\nr2,3,4\n", ["r1", "r2"]),  # row names of R
        ("x,y\n1,2\n3,4\n", ["0", "1"]),
        ("id,x\nNA,1\nnan,2\n", ["NA", "nan"]),
        ('id,"x\n1"\n"a\nb",1\nc,2\n', ["a\nb", "c"]),  # line ends in quotes
        ("id,x,\na,1,\nb,2,\n", ["a", "b"]),  # commas at the ends of lines
        ("id,x\na,1,\nb,2,\n", ["a", "b"]),
        ("\nid|x\r\na|1\r\n\nb|2\r\n", ["a", "b"]),
    ],
)
def test_names_of_samples(write, text, ids):
    path = write(text)
    if ids is None:
        with pytest.raises(ValueError, match="'name'"):
            TableReader().read(path)
    else:
        data = TableReader().read(path)
        assert data.ids.tolist() == ids
        assert data.X[:, 0].tolist() in ([1, 2], [1, 3])


def test_row_numbers_are_noted(write):
    assert "number of their row" in TableReader().read(write("x\n1\n2\n")).notes[0]


def test_column_of_names_is_given(write):
    path = write("id,code,x\n1,0a,5\n2,0b,6\n")
    data = TableReader(id_column="code", drop="id").read(path)
    assert data.ids.tolist() == ["0a", "0b"]
    assert data.feature_names.tolist() == ["x"]


@pytest.mark.parametrize(
    ("text", "reader", "message"),
    [
        ("id,x\na,1\na,2\nb,3\n", {}, r"column 'id' names the samples, but has names more than once: a\."),
        ("id,x\na,1\n,2\n", {}, "is empty in row 2"),
        ("id,x\na,1\n", {"id_column": "key"}, r"no column 'key' \(id_column\)\. Its columns are id, x"),
        ("id,weight\na,1\n", {"id_column": "wieght"}, "Did you mean 'weight'"),
    ],
)
def test_bad_names_are_refused(write, text, reader, message):
    with pytest.raises(ValueError, match=message):
        TableReader(**reader).read(write(text))


# Labels and groups


def test_labels_of_numbers(write):
    path = write("x,grade,room,share\n1,2,007,0.5\n2,,12,0.25\n3,10,?,1\n")
    labels = TableReader(label_columns=("grade", "room", "share")).read(path).labels
    assert labels["grade"].tolist() == [2, None, 10]
    assert labels["room"].tolist() == ["007", "12", None]
    assert labels["share"].tolist() == ["0.5", "0.25", "1"]


def test_groups_are_text(write):
    data = TableReader(group_column="video").read(write("x,video\n1,01\n2,01\n3,2\n"))
    assert data.groups.tolist() == ["01", "01", "2"]
    assert data.feature_names.tolist() == ["x"]


def test_labels_may_be_absent_later(write):
    reader = TableReader(label_columns="kind").read(write("id,x,kind\na,1,rose\nb,2,iris\n")).reader
    assert reader.read(write("id,x\nc,3\n", "new.csv")).labels is None


# Text and dates


def test_text_becomes_columns(write):
    data = TableReader(one_hot=True).read(write("x,colour,y\n1,red,5\n2,blue,6\n3,red,7\n"))
    assert data.feature_names.tolist() == ["x", "colour=blue", "colour=red", "y"]
    assert_array_equal(data.X, [[1, 0, 1, 5], [2, 1, 0, 6], [3, 0, 1, 7]])
    assert data.reader.categories == {"colour": ("blue", "red")}


def test_unknown_category_is_zero(write):
    reader = TableReader(one_hot=True).read(write("x,colour\n1,red\n2,blue\n")).reader
    new = reader.read(write("colour,x\ngreen,3\nblue,4\n", "new.csv"))
    assert_array_equal(new.X, [[3, 0, 0], [4, 1, 0]])
    assert "'colour' has values that are new: green" in " ".join(new.notes)


@pytest.mark.parametrize(
    ("text", "reader", "message"),
    [
        ("x,colour\n1,red\n", {}, r"'colour' \(such as 'red'\).*label_columns=.*drop=.*one_hot=True"),
        ("x,y\n1,2\n3,n.d.\n", {}, r"'y' \(such as 'n\.d\.'\)"),
        ("x,day\n1,2020-01-31\n", {}, r"'day' \(a date, such as '2020-01-31'\)"),
        ("x,day\n1,31.1.2020\n", {"one_hot": True}, r"'day' \(a date"),
    ],
)
def test_text_is_refused(write, text, reader, message):
    with pytest.raises(ValueError, match=message):
        TableReader(**reader).read(write(text))


def test_dates_of_parquet_are_refused(tmp_path):
    pytest.importorskip("pyarrow", reason=".parquet files need pyarrow")
    frame = pd.DataFrame({"x": [1.0], "day": pd.to_datetime(["2020-01-31"])})
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"'day' \(a date"):
        TableReader(one_hot=True).read(tmp_path / "t.parquet")


# Missing values


MISSING = "id,x,y\na,1,2\nb,,4\nc,3,NA\nd,5,6\n"


def test_missing_values_are_counted(write):
    with pytest.raises(ValueError, match=r"1 in 'x', 1 in 'y'.*missing='mean'.*missing='drop'"):
        TableReader().read(write(MISSING))


def test_missing_values_by_mean(write):
    data = TableReader(missing="mean").read(write(MISSING))
    assert_allclose(data.X, [[1, 2], [3, 4], [3, 4], [5, 6]])
    assert data.reader.means == {"x": 3.0, "y": 4.0}
    assert "2 missing values replaced" in " ".join(data.notes)
    new = data.reader.read(write("id,x,y\ne,,100\nf,100,\n", "new.csv"))
    assert_allclose(new.X, [[3, 100], [100, 4]])


def test_rows_with_missing_values_are_dropped(write):
    data = TableReader(missing="drop", label_columns="k").read(write("id,x,k\na,1,u\nb,,v\nc,3,w\n"))
    assert data.ids.tolist() == ["a", "c"]
    assert data.X.tolist() == [[1], [3]]
    assert data.labels["k"].tolist() == ["u", "w"]
    assert "1 row with missing values left out: b." in " ".join(data.notes)


def test_missing_booleans_and_text(write):
    path = write("flag,colour\nTrue,red\n,blue\nFalse,\n")
    data = TableReader(missing="mean", one_hot=True).read(path)
    assert_allclose(data.X, [[1, 0, 1], [0.5, 1, 0], [0, 0.5, 0.5]])


# Notes


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("x,y\n1,5\n2,5\n", "1 constant column kept: y."),
        ("400,410\n1,2\n", "names of the columns in the first line are numbers: 400, 410."),
        ("x,y\n1,1000\n2,2000\n", 'differ by a factor of 1000; scale="standard" (--scale standard)'),
    ],
)
def test_notes_on_columns(write, text, note):
    assert note in " ".join(TableReader().read(write(text)).notes)


# New files


def test_columns_are_matched_by_name(write):
    reader = TableReader().read(write("id,x,y\na,1,2\n")).reader
    new = reader.read(write("y,extra,id,x\n4,0,b,3\n", "new.csv"))
    assert_array_equal(new.X, [[3, 4]])
    assert "1 other column not used: extra." in " ".join(new.notes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,x,z\na,1,2\n", r"lacks 1 column of features: y\. It has x, z"),
        ("id,x,y\na,1,two\n", r"held numbers before.*'y' \(such as 'two'\)"),
        ("x,y\n1,2\n", r"no column 'id' \(id_column\)"),
    ],
)
def test_other_columns_are_refused(write, text, message):
    reader = TableReader().read(write("id,x,y\na,1,2\nb,2,3\n")).reader
    with pytest.raises(ValueError, match=message):
        reader.read(write(text, "new.csv"))


# Bad files


@pytest.mark.parametrize(
    ("text", "reader", "message"),
    [
        ("", {}, "is empty"),
        (" \n\n", {}, "is empty"),
        ("0.5,2,1\n4,5,6\n", {}, r"first line holds numbers \(0\.5, 2, 1\)"),
        ("# made by hand\nid,x\na,1\n", {}, "begins with a comment"),
        ("x\n1\0\n", {}, "bytes that are zero"),
        ("x,y\n", {}, "a header but no rows"),
        ("x,y,x\n1,2,3\n", {}, r"several columns of one name: x\."),
        ("id\na\n", {}, "no column of features"),
        ("x,y\n1,2\n3,4,5,6\n", {}, "not a regular table"),
        ("x,y\n1,inf\n", {}, "infinite values in y"),
        ("x\n1\n", {"label_columns": "kind"}, r"no column 'kind' \(label_columns\)"),
        ("x\n1\n", {"drop": ("kind",)}, r"no column 'kind' \(drop\)"),
        ("x\n1\n", {"group_column": "video"}, r"no column 'video' \(group_column\)"),
        ("x\n1\n", {"missing": "zero"}, "missing='zero' is not one of 'error', 'drop', 'mean'"),
        ("x,y\n,1\n2,\n", {"missing": "drop"}, "every row has a missing value"),
        ("x,y\n1,\n2,\n", {"missing": "mean"}, "column 'y' has no values"),
    ],
)
def test_bad_tables_are_refused(write, text, reader, message):
    path = write(text)
    with pytest.raises(ValueError, match=message) as error:
        TableReader(**reader).read(path)
    assert str(path) in str(error.value) or "missing=" in message


@pytest.mark.parametrize("name", ["t.parquet", "t.xlsx"])
def test_damaged_file_is_named(write, name):
    skip_without_library(name)
    with pytest.raises(ValueError, match=f"{name} is not a readable"):
        TableReader().read(write("x,y\n1,2\n", name))


def test_damaged_archive_is_named(write):
    with pytest.raises(OSError, match=r"t\.csv\.gz cannot be read"):
        TableReader().read(write("x,y\n1,2\n", "t.csv.gz"))


def test_absent_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no\.csv does not exist"):
        TableReader().read(tmp_path / "no.csv")


def test_other_ending_is_refused(write):
    with pytest.raises(ValueError, match=r"is not a table: tables end in \.csv"):
        TableReader().read(write("x\n1\n", "t.doc"))
