"""`join_views` and `ViewsReader`: rows matched by id, missing samples, merged labels and sequences."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from laminar.io.dataset import Dataset
from laminar.io.views import ViewsReader, join_views


def view(ids, *, sparse=False, dtype=np.float64, **fields):
    """A view whose rows hold the code of the first letter of their id."""
    ids = list(ids)
    X = np.array([[ord(name[0])] * 2 for name in ids], dtype)
    return Dataset(sp.csr_array(X) if sparse else X, np.array(ids), **fields)


def labelled(ids, **columns):
    return view(ids, labels=pd.DataFrame(columns, index=list(ids), dtype=object))


# Rows


def test_rows_matched_by_id():
    data = join_views({"a": view("xyz"), "b": view("zxy")})
    assert data.ids.tolist() == ["x", "y", "z"]
    np.testing.assert_array_equal(data.X["a"], data.X["b"])
    assert data.observed is None


def test_same_order_not_copied():
    a, b = view("xyz"), view("xyz", sparse=True)
    data = join_views({"a": a, "b": b})
    assert data.X["a"] is a.X
    assert data.X["b"] is b.X


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_missing_samples_stay(sparse, dtype):
    data = join_views({"a": view("xy"), "b": view("zy", sparse=sparse, dtype=dtype)})
    assert data.ids.tolist() == ["x", "y", "z"]
    assert data.observed.tolist() == [[True, False], [True, True], [False, True]]
    X = data.X["b"].toarray() if sparse else data.X["b"]
    np.testing.assert_array_equal(X[:, 0], [0 if sparse else np.nan, ord("y"), ord("z")])
    assert sp.issparse(data.X["b"]) == sparse
    assert X.dtype == (dtype if sparse or dtype != np.int32 else np.float64)


def test_missing_samples_counted():
    data = join_views({"a": view("wxyz"), "b": view("wx"), "c": view("w")})
    assert data.notes == ("b: lacks 2 of 4 samples.", "c: lacks 3 of 4 samples.", "2 samples in one view only.")


def test_frames_return_to_their_time():
    a = view(["f/1", "f/3", "g/1"], groups=np.array(["f", "f", "g"]))
    b = view(["f/1", "f/2", "f/10", "g/1"], groups=np.array(["f", "f", "f", "g"]))
    data = join_views({"a": a, "b": b})
    assert data.ids.tolist() == ["f/1", "f/2", "f/3", "f/10", "g/1"]
    assert data.groups.tolist() == ["f"] * 4 + ["g"]
    assert data.observed[:, 0].tolist() == [True, False, True, False, True]


def test_order_of_time_unknown_noted():
    a = view(["late", "early"], groups=np.array(["f", "f"]))
    data = join_views({"a": a, "b": view(["late", "middle"], groups=np.array(["f", "f"]))})
    assert data.ids.tolist() == ["late", "early", "middle"]
    assert "not in order of time" in data.notes[-1]


# Descriptions


def test_descriptions_by_view():
    a = view("xy", image_shape=(1, 2), notes=("resized.",), sources=np.array(["x.png", "y.png"]))
    b = view("xy", feature_names=np.array(["height", "width"]), frame_rate=5.0)
    data = join_views({"a": a, "b": b})
    assert data.image_shape == {"a": (1, 2)}
    assert data.feature_names["b"].tolist() == ["height", "width"]
    assert data.notes == ("a: resized.",)
    assert data.sources.tolist() == ["x.png", "y.png"]
    assert data.frame_rate == 5


def test_labels_merged():
    a = labelled("xy", identity=["anna", None])
    b = labelled("yz", identity=["ben", "carl"], pose=[1, None])
    labels = join_views({"a": a, "b": b}).labels
    assert labels.index.tolist() == ["x", "y", "z"]
    assert labels["identity"].tolist() == ["anna", "ben", "carl"]
    assert labels["pose"].tolist() == [None, 1, None]


def test_conflicting_labels_named():
    with pytest.raises(ValueError, match=r"disagree on the label 'who' of y \(ben, in b carl\)"):
        join_views({"a": labelled("xy", who=["anna", "ben"]), "b": labelled("xy", who=["anna", "carl"])})


def test_groups_merged():
    data = join_views({"a": view("xy", groups=np.array(["f", "f"])), "b": view("xz")})
    assert data.groups.tolist() == ["f", "f", "z"]


def test_conflicting_groups_named():
    with pytest.raises(ValueError, match="disagree on the sequence of x"):
        join_views({"a": view("xy", groups=np.array(["f", "f"])), "b": view("xy", groups=np.array(["g", "f"]))})


def test_different_rates_noted():
    data = join_views({"a": view("xy", frame_rate=10.0), "b": view("xy", frame_rate=25.0)})
    assert data.frame_rate == 10
    assert "different frame rates (10.0, 25.0)" in data.notes[0]


def test_one_view():
    assert list(join_views({"a": view("xy")}).X) == ["a"]


# Wrong input


WRONG = {
    "nothing": ({}, "at least one view"),
    "repeated": ({"a": view("xyxy"), "b": view("xy")}, "view 'a' has ids that occur more than once: x, y"),
    "apart": ({"a": view("xy"), "b": view("vw")}, "no id in common .*a: x, y; b: v, w.*column of ids"),
    "one apart": ({"a": view("xy"), "b": view("xy"), "c": view("vw")}, "view 'c' has no id in common"),
    "nested": ({"a": Dataset({"p": np.eye(2), "q": np.eye(2)}, np.array(["x", "y"]))}, "view 'a' itself has views"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_views_refused(case):
    datasets, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        join_views(datasets)


# Reader


@dataclass(frozen=True)
class Letters:
    """Reader whose samples are the letters of the path."""

    is_new: bool = True

    def read(self, path, **options):
        return view(path, reader=Letters(is_new=False), notes=tuple(f"{k}={v}" for k, v in options.items()))


READER = ViewsReader({"a": Letters(), "b": Letters()})


@pytest.mark.parametrize("paths", [["xy", "yx"], ("xy", "yx"), {"b": "yx", "a": "xy"}])
def test_views_read(paths):
    data = READER.read(paths)
    assert list(data.X) == ["a", "b"]
    np.testing.assert_array_equal(data.X["a"], data.X["b"])
    assert data.reader == ViewsReader({"a": Letters(is_new=False), "b": Letters(is_new=False)})


def test_options_passed_on():
    data = READER.read(["xy", "xy"], skip_bad=True, n_jobs=2, verbose=1)
    assert data.notes[:3] == ("a: skip_bad=True", "a: n_jobs=2", "a: verbose=1")


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ("xy", "xy is one path: give one for each view, a, b"),
        (["xy"], "1 path for 2 views"),
        (["x", "y", "z"], "3 paths for 2 views"),
        ({"a": "xy"}, "no path for b"),
        ({"a": "x", "b": "x", "c": "x"}, "unknown c"),
    ],
)
def test_wrong_paths_refused(paths, message):
    with pytest.raises(ValueError, match=message):
        READER.read(paths)
