"""`TextReader`: folders and columns of texts, choice of words, encodings, new texts and bad files."""

import os

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import TfidfVectorizer

from laminar.io import TextReader

TEXTS = {
    "wine/a": "Red wine and the white wine of the valley.",
    "wine/b": "The wine of the valley, red as roses",
    "flowers/c": "Roses are red, lilies white; the garden is full",
    "flowers/d": "the garden of lilies and roses",
    "flowers/e": "the full moon over the valley",
}
ALL = {"min_df": 1, "max_df": 1.0}


@pytest.fixture
def folder(tmp_path):
    """A folder of the texts, two subfolders."""
    top = tmp_path / "talks"
    for name, text in TEXTS.items():
        path = top / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return top


@pytest.fixture
def table(tmp_path):
    """The texts in a table."""
    path = tmp_path / "talks.csv"
    rows = [f'{name},{name[0]},"{text}"' for name, text in TEXTS.items()]
    path.write_text("\n".join(["id,letter,talk", *rows]), encoding="utf-8")
    return path


def in_order(data):
    return [TEXTS[name] for name in data.ids]


# Weights


@pytest.mark.parametrize(
    ("reader", "vectorizer"),
    [
        ({}, {"min_df": 2, "max_df": 0.5}),
        (ALL, {}),
        ({"max_features": 1, **ALL}, {"max_features": 1}),  # more have ties
        ({"stop_words": "english", **ALL}, {"stop_words": "english"}),
        ({"stop_words": ("The", "of"), **ALL}, {"stop_words": ["the", "of"]}),
    ],
)
def test_weights_equal_those_of_sklearn(folder, reader, vectorizer):
    data = TextReader(**reader).read(folder)
    reference = TfidfVectorizer(**vectorizer).fit(in_order(data))
    assert data.feature_names.tolist() == reference.get_feature_names_out().tolist()
    assert_allclose(data.X.toarray(), reference.transform(in_order(data)).toarray(), rtol=1e-6)
    assert data.X.dtype == np.float32
    assert data.X.format == "csr"


def test_folder_and_table_agree(folder, table):
    by_file, by_row = TextReader().read(folder), TextReader(column="talk").read(table)
    rows = [by_row.ids.tolist().index(name) for name in by_file.ids]
    assert_array_equal(by_row.X.toarray()[rows], by_file.X.toarray())


# Names and labels


def test_names_are_paths(folder):
    (folder / ".hidden.txt").write_text("x")
    (folder / "notes.doc").write_text("x")
    data = TextReader(labels_from="folders").read(folder)
    assert sorted(data.ids) == sorted(TEXTS)
    assert data.sources.tolist() == [f"{name}.txt" for name in data.ids]
    assert data.labels["folder"].tolist() == [name.partition("/")[0] for name in data.ids]
    assert "1 file of another kind not read: notes.doc." in data.notes


def test_columns_of_table(table):
    data = TextReader(column="talk", label_columns="letter").read(table)
    assert data.ids.tolist() == list(TEXTS)
    assert data.labels["letter"].tolist() == ["w", "w", "f", "f", "f"]
    assert TextReader(label_columns="letter").read(table).reader.column == "talk"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,a,b\n1,one word,two words\n", r"2 columns of text: a, b\. Name the one to read by column="),
        ("id,a\n1,2\n", "no column of text"),
    ],
)
def test_column_must_be_clear(tmp_path, text, message):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        TextReader(**ALL).read(tmp_path / "t.csv")


def test_column_called_text_is_taken(tmp_path):
    (tmp_path / "t.csv").write_text("id,title,Text\n1,one,red wine\n2,two,red rose\n")
    assert TextReader(**ALL).read(tmp_path / "t.csv").reader.column == "Text"


def test_long_texts_of_table(tmp_path):
    (tmp_path / "t.csv").write_text("id,text\na," + "long words " * 20_000 + "\nb,short words\n")
    assert_allclose(TextReader(**ALL).read(tmp_path / "t.csv").X.toarray()[0], [0.815, 0, 0.580], atol=1e-3)


# New texts


@pytest.mark.parametrize("source", ["folder", "table"])
def test_data_read_again_are_identical(source, request):
    path = request.getfixturevalue(source)
    data = TextReader(label_columns=("letter",) if source == "table" else ()).read(path)
    assert data.reader.read(path).fingerprint() == data.fingerprint()


def test_new_texts_have_same_words(folder, tmp_path):
    data = TextReader(**ALL, labels_from="folders").read(folder)
    (tmp_path / "new.txt").write_text("red red moon and unseen words")
    new = data.reader.read(tmp_path / "new.txt")
    reference = TfidfVectorizer().fit(in_order(data))
    assert new.ids.tolist() == ["new"]
    assert new.labels is None
    assert_array_equal(new.feature_names, data.feature_names)
    assert_allclose(new.X.toarray(), reference.transform(["red red moon and unseen words"]).toarray(), rtol=1e-6)


# Empty texts, encodings, bad files


def test_empty_texts_are_zero_rows(folder):
    (folder / "empty.txt").write_text("")
    (folder / "blank.txt").write_text(" \n")
    data = TextReader().read(folder)
    is_zero = np.isin(data.ids, ["empty", "blank"])
    assert_array_equal(data.X.toarray().any(axis=1), ~is_zero)
    assert "2 texts without any of the words: blank, empty; the rows are zero." in data.notes


@pytest.mark.parametrize(
    ("encoding", "note"),
    [
        ("utf-8", None),
        ("utf-8-sig", None),
        ("utf-16", None),
        ("latin-1", "1 text not in UTF-8, read as Latin-1: x.txt."),
    ],
)
def test_encodings_are_found(tmp_path, encoding, note):
    (tmp_path / "x.txt").write_bytes("Käse über".encode(encoding))
    (tmp_path / "y.txt").write_bytes(b"Wein")
    data = TextReader(**ALL).read(tmp_path)
    assert data.feature_names.tolist() == ["käse", "wein", "über"]
    assert [each for each in data.notes if "Latin-1" in each] == ([note] if note else [])


def test_encoding_is_given(tmp_path):
    (tmp_path / "x.txt").write_bytes("Käse".encode("latin-1"))
    assert TextReader(**ALL, encoding="latin-1").read(tmp_path).feature_names.tolist() == ["käse"]
    with pytest.raises(ValueError, match=r"1 file cannot be read: x\.txt .*skip_bad=True \(--skip-bad\)"):
        TextReader(**ALL, encoding="utf-8").read(tmp_path)


@pytest.fixture
def broken(folder):
    """The folder with a file that is no text, and one that does not exist."""
    (folder / "binary.txt").write_bytes(b"\x00\x01\x02")
    os.symlink(folder / "nowhere", folder / "link.txt")
    return folder


def test_bad_files_are_named(broken):
    with pytest.raises(ValueError, match=r"2 files cannot be read: binary\.txt \(it is no text.*link\.txt"):
        TextReader().read(broken)


def test_bad_files_are_skipped(broken):
    data = TextReader().read(broken, skip_bad=True)
    assert sorted(data.ids) == sorted(TEXTS)
    assert data.X.shape[0] == len(TEXTS)
    assert "2 files that cannot be read left out: binary.txt, link.txt." in data.notes
    assert sorted(data.reader.read(broken, skip_bad=True).ids) == sorted(TEXTS)


def test_bad_files_alone_are_refused(folder, tmp_path):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "x.txt").write_bytes(b"\x00")
    for reader in (TextReader(), TextReader().read(folder).reader):
        with pytest.raises(ValueError, match="1 file cannot be read"):
            reader.read(tmp_path / "bad", skip_bad=True)


@pytest.mark.parametrize(
    ("reader", "message"),
    [
        ({"min_df": 9}, r"none is in at least min_df=9 texts.*Lower min_df="),
        ({"labels_from": "names"}, "labels_from='names' is not None or 'folders'"),
        ({"vocabulary": ["a", "b"], "idf": np.ones(3)}, "idf has 3 values, but vocabulary has 2"),
    ],
)
def test_bad_options_are_refused(folder, reader, message):
    with pytest.raises(ValueError, match=message):
        TextReader(**reader).read(folder)


def test_folder_without_texts_is_refused(tmp_path):
    (tmp_path / "a.doc").write_text("x")
    with pytest.raises(ValueError, match=r"holds no texts \(\.txt\); it holds 1 x \.doc"):
        TextReader().read(tmp_path)


def test_texts_without_words_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text("! ?")
    with pytest.raises(ValueError, match="have no words"):
        TextReader(**ALL).read(tmp_path)


def test_folders_are_needed_for_labels(tmp_path):
    (tmp_path / "a.txt").write_text("one word")
    with pytest.raises(ValueError, match="no subfolders to take labels from"):
        TextReader(**ALL, labels_from="folders").read(tmp_path)


def test_common_words_are_noted(folder):
    notes = " ".join(TextReader(max_df=0.5).read(folder).notes)
    assert "words in more than 50% of the texts left out (max_df): the," in notes
