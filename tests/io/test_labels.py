"""`read_labels` and `match_labels`: what a file may contain, and which sample a row belongs to."""

import numpy as np
import pandas as pd
import pytest

from laminar.io._matching import find_samples
from laminar.io.dataset import Dataset
from laminar.io.labels import match_labels, read_labels

IDS = ("anna_1", "anna_2", "ben_1", "ben_2")


def data_of(*ids, **fields):
    return Dataset(np.eye(len(ids)), np.array(ids), **fields)


def write(folder, text, name="few.csv", encoding="utf-8"):
    path = folder / name
    path.write_text(text, encoding=encoding)
    return path


def frame(labels, name="who"):
    return pd.DataFrame({name: list(labels.values())}, index=list(labels), dtype=object)


def noted(data, text):
    return any(text in note for note in data.notes)


# Reading


@pytest.mark.parametrize(
    ("name", "separator"), [("a.csv", ","), ("a.csv", ";"), ("a.csv", "\t"), ("a.tsv", "\t"), ("A.TXT", ",")]
)
def test_separators(tmp_path, name, separator):
    path = write(tmp_path, "id,who,pose\nx,anna,1\ny,ben,2\n".replace(",", separator), name)
    labels = read_labels(path)
    assert labels.index.tolist() == ["x", "y"]
    assert labels.to_dict("list") == {"who": ["anna", "ben"], "pose": ["1", "2"]}


ID_COLUMNS = {  # header, rows, column chosen
    "first": ("who,pose", ["a,1", "b,2"], "who"),
    "named": ("who,Sample", ["a,1", "b,2"], "Sample"),
    "unique of two": ("name,file", ["anna,1", "anna,2"], "file"),
    "first of two": ("file,name", ["1,anna", "2,ben"], "file"),
    "repeated": ("who,FileName", ["a,1", "b,1"], "FileName"),
}


@pytest.mark.parametrize("case", ID_COLUMNS)
def test_id_column_found(tmp_path, case):
    header, rows, column = ID_COLUMNS[case]
    assert read_labels(write(tmp_path, "\n".join([header, *rows]))).index.name == column


def test_id_column_can_be_chosen(tmp_path):
    path = write(tmp_path, "id,who\n1,anna\n2,ben")
    assert read_labels(path, id_column="who").index.tolist() == ["anna", "ben"]


def test_text_kept_as_it_is(tmp_path):
    labels = read_labels(write(tmp_path, "id,who\n007,01\n1e3,None\n"))
    assert labels["who"].to_dict() == {"007": "01", "1e3": "None"}


@pytest.mark.parametrize("cell", ["", " ", "?", "NA", "nan", "NaN"])
def test_unknown_cells(tmp_path, cell):
    labels = read_labels(write(tmp_path, f"id,who,pose\nx,{cell},1\ny,ben,2"))
    assert labels["who"].tolist() == [None, "ben"]


def test_quotes_and_blank_lines(tmp_path):
    labels = read_labels(write(tmp_path, '\nid , who\n\nx," Smith, J. "\n,\ny,"two\nlines"\n'))
    assert labels["who"].to_dict() == {"x": "Smith, J.", "y": "two\nlines"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_encodings(tmp_path, encoding):
    labels = read_labels(write(tmp_path, "id,who\nx,Zoë", encoding=encoding))
    assert labels["who"].to_dict() == {"x": "Zoë"}


WRONG_FILES = {  # name, text, message
    "empty": ("a.csv", " \n", "is empty: its first line"),
    "header only": ("a.csv", "id,who\n", "no rows below its header id, who"),
    "one column": ("a.csv", "id\nx", "one column, 'id'"),
    "ragged": ("a.csv", "id,who\nx,anna,1\ny,b", "2 columns, and 1 row with another number .* 'x' with 3"),
    "repeated column": ("a.csv", "id,who,who\nx,a,b", "several columns called 'who'"),
    "row without id": ("a.csv", "id,who\nx,a\n,b", "labels without an id in column 'id', in row 3"),
    "open quote": ("a.csv", 'id,who\nx,"a\n' + "y,b\n" * 40_000, "a quote may lack"),
    "ending": ("a.docx", "id,who\nx,a", r"not a table of labels: save it as \.csv"),
}


@pytest.mark.parametrize("case", WRONG_FILES)
def test_wrong_file_refused(tmp_path, case):
    name, text, message = WRONG_FILES[case]
    with pytest.raises(ValueError, match=message):
        read_labels(write(tmp_path, text, name))


def test_unknown_id_column_refused(tmp_path):
    with pytest.raises(ValueError, match="no column 'key': it has id, who"):
        read_labels(write(tmp_path, "id,who\nx,a"), id_column="key")


def test_missing_file_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"few\.csv"):
        read_labels(tmp_path / "few.csv")


# Which sample


MATCHES = {  # ids of samples, files of samples, name in the labels, row
    "equal": (["a", "b"], None, "b", 1),
    "with ending": (["a", "b"], None, "b.png", 1),
    "with folder": (["a", "b"], None, "faces/b.png", 1),
    "without folder": (["s/a", "s/b"], None, "b", 1),
    "folder twice": (["s/a", "t/a"], None, "a", -1),
    "folder and ending": (["s/a", "t/a"], None, "t/a.jpg", 1),
    "other folder": (["s/a", "t/b"], None, "u/b.jpg", 1),
    "backslash": (["s/a", "t/a"], None, "t\\a.jpg", 1),
    "leading dot": (["s/a", "t/a"], None, "./t/a", 1),
    "number is no ending": (["v1", "v2"], None, "v1.2", -1),
    "file": (["a.png", "a.jpg"], ["a.png", "a.jpg"], "a.jpg", 1),
    "file without ending": (["a.png", "a.jpg"], ["a.png", "a.jpg"], "a", -1),
    "decomposed": (["Zo\u00eb", "b"], None, "Zoe\u0308", 0),
    "other case": (["a", "b"], None, "A", -1),
}


@pytest.mark.parametrize("case", MATCHES)
def test_sample_of_name(case):
    ids, sources, name, row = MATCHES[case]
    assert find_samples([name], data_of(*ids, sources=None if sources is None else np.array(sources))).tolist() == [row]


def test_two_files_are_not_one_sample():
    assert find_samples(["s/a.png", "t/a.png"], data_of("a", "b")).tolist() == [-1, -1]


def test_exact_name_has_precedence():
    assert find_samples(["a", "a.png"], data_of("a", "b")).tolist() == [0, -1]


# Matching


def test_few_labels_matched(tmp_path):
    labels = read_labels(write(tmp_path, "file,who\nben_1.png,ben\nanna_2.png,anna"))
    data = match_labels(data_of(*IDS), labels)
    assert data.labels["who"].tolist() == [None, "anna", "ben", None]
    assert data.labels.index.tolist() == list(IDS)
    assert data.notes == ("few.csv: labels for 2 of 4 samples (who 2).",)


def test_unmatched_ids_noted(tmp_path):
    labels = read_labels(write(tmp_path, "id,who\nanna_1,anna\nben_1,ben\nbne_2,ben"))
    data = match_labels(data_of(*IDS), labels)
    assert noted(data, "1 of 3 ids in few.csv belong to no sample: bne_2.")


def test_no_match_shows_both():
    with pytest.raises(
        ValueError, match=r"no id of the labels \(x\) belongs to a sample \(anna_1, anna_2, ben_1 and \d more"
    ):
        match_labels(data_of(*IDS), frame({"x": "anna"}))


def test_missing_header_found(tmp_path):
    labels = read_labels(write(tmp_path, "anna_1.png,anna\nanna_2.png,anna\nben_1.png,ben"))
    with pytest.raises(ValueError, match=r"few\.csv has no header: 'anna_1\.png'"):
        match_labels(data_of(*IDS), labels)


def test_sample_named_like_header(tmp_path):
    labels = read_labels(write(tmp_path, "image,who\nx,a\nimage,b"))
    assert match_labels(data_of("x", "image"), labels).labels["who"].tolist() == ["a", "b"]


def test_repeated_equal_labels_noted():
    ids = ["anna_1", "anna_1", "ben_1", "ben_1"]
    labels = pd.DataFrame({"who": ["a", "a", "b", None], "pose": [1, None, 2, 2]}, index=ids)
    data = match_labels(data_of(*IDS), labels)
    assert data.labels.loc["ben_1"].to_dict() == {"who": "b", "pose": 2}
    assert noted(data, "2 samples more than once, alike: anna_1, ben_1")


def test_repeated_different_labels_named():
    labels = pd.DataFrame({"who": ["a", "b", "c"]}, index=["anna_1", "anna_1", "ben_1"])
    with pytest.raises(ValueError, match=r"different labels of 'who' for the same sample, anna_1 \(a, b\)"):
        match_labels(data_of(*IDS), labels)


COLUMNS = {  # labels, result (None: left out), note
    "constant": (["a", "a", "a", None], None, "who is a for all samples"),
    "unknown": ([None, "?", "", np.nan], None, "who has no label for these samples"),
    "all different": (["a", "b", "c", "d"], ["a", "b", "c", "d"], "a different label for each sample"),
    "whole numbers": (["1", "2", None, "2"], [1, 2, None, 2], "(who 3"),
    "negative": (["-1", "0", "10", "0"], [-1, 0, 10, 0], "(who 4"),
    "leading zeros": (["01", "02", "02", "1"], ["01", "02", "02", "1"], "(who 4"),
    "decimals": (["1.5", "2", "2", "2"], ["1.5", "2", "2", "2"], "(who 4"),
    "mixed": (["1", "x", "x", "1"], ["1", "x", "x", "1"], "(who 4"),
    "floats of pandas": ([1.0, 2.0, np.nan, 2.0], [1, 2, None, 2], "(who 3"),
    "numpy": (np.array([1, 2, 2, 1]), [1, 2, 2, 1], "(who 4"),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_columns(case):
    values, expected, note = COLUMNS[case]
    labels = pd.DataFrame({"who": values, "room": ["r", "r", "s", "s"]}, index=list(IDS))
    data = match_labels(data_of(*IDS), labels)
    assert noted(data, note)
    assert ("who" in data.labels) == (expected is not None)
    if expected is not None:
        assert data.labels["who"].tolist() == expected
        assert [type(value) for value in data.labels["who"]] == [type(value) for value in expected]


def test_no_useful_column_refused():
    with pytest.raises(ValueError, match=r"no attribute that distinguishes samples\. the labels: who is a for all"):
        match_labels(data_of(*IDS), frame({"anna_1": "a", "ben_1": "a"}))


def test_existing_labels_stay_or_are_replaced():
    old = pd.DataFrame({"who": list("wxyz"), "pose": [1, 2, 1, 2]}, index=list(IDS), dtype=object)
    data = match_labels(data_of(*IDS, labels=old, notes=("first.",)), frame({"anna_1": "a", "ben_1": "b"}))
    assert data.labels["who"].tolist() == ["a", None, "b", None]
    assert data.labels["pose"].tolist() == [1, 2, 1, 2]
    assert data.notes[0] == "first."
    assert noted(data, "who replaced")


def test_numbered_frame_uses_its_id_column():
    labels = pd.DataFrame({"who": ["b", "a"], "id": ["ben_1", "anna_1"]})
    assert match_labels(data_of(*IDS), labels).labels["who"].tolist() == ["a", None, "b", None]


def test_numbered_samples():
    labels = pd.DataFrame({"who": ["a", "b"]})
    assert match_labels(data_of("0", "1", "2"), labels).labels["who"].tolist() == ["a", "b", None]
