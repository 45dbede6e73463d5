import numpy as np
import pytest

from laminar._utils.labels import Attribute, append_unknown, read_attribute, read_labels, with_classes

NAN = float("nan")


def codes_and_classes(y, n_samples):
    (attribute,) = read_labels(y, n_samples)
    return attribute.codes.tolist(), attribute.classes.tolist()


@pytest.mark.parametrize(
    ("y", "codes", "classes"),
    [
        ([3, -1, 1, 3], [1, -1, 0, 1], [1, 3]),
        (np.array([3, -1, 1, 3], dtype=np.int8), [1, -1, 0, 1], [1, 3]),
        (np.array([3, 255, 1, 3], dtype=np.uint8), [1, 2, 0, 1], [1, 3, 255]),
        (np.array([3.0, NAN, 1.0, -1.0], dtype=np.float32), [1, -1, 0, -1], [1.0, 3.0]),
        ([3.0, NAN, None, 1], [1, -1, -1, 0], [1, 3.0]),
        (np.array([True, False, True, True]), [1, 0, 1, 1], [False, True]),
        (["b", "a", "b", "c"], [1, 0, 1, 2], ["a", "b", "c"]),
        (["b", None, NAN, "a"], [1, -1, -1, 0], ["a", "b"]),
        (["b", -1, "", "a"], [1, -1, -1, 0], ["a", "b"]),
        (np.array(["b", "", "a", "b"]), [1, -1, 0, 1], ["a", "b"]),
        (np.array(["b", None, "a", -1], dtype=object), [1, -1, 0, -1], ["a", "b"]),
        (np.ma.array([3, 5, 1, 3], mask=[0, 1, 0, 0]), [1, -1, 0, 1], [1, 3]),
        (np.array([[2], [1], [-1], [2]]), [1, 0, -1, 1], [1, 2]),
    ],
)
def test_forms_of_labels(y, codes, classes):
    assert codes_and_classes(y, 4) == (codes, classes)


def test_numbers_and_strings_in_lists_get_their_own_dtype():
    assert read_labels([3, None, 1], 3)[0].classes.dtype.kind == "i"
    assert read_labels(["b", None, "a"], 3)[0].classes.dtype.kind == "U"


@pytest.mark.parametrize("y", [[-1, -1], [None, NAN], ["", ""], np.array([NAN, NAN])])
def test_wholly_unknown_attribute_has_no_classes(y):
    (attribute,) = read_labels(y, 2)
    assert attribute.codes.tolist() == [-1, -1]
    assert len(attribute.classes) == 0
    assert attribute.one_hot().shape == (2, 0)
    assert attribute.class_sizes.tolist() == []


def test_several_attributes_are_read_apart():
    pose, person = read_labels([["left", 12], [None, 10], ["right", -1]], 3)
    assert (pose.codes.tolist(), pose.classes.tolist()) == ([0, -1, 1], ["left", "right"])
    assert (person.codes.tolist(), person.classes.tolist()) == ([1, 0, -1], [10, 12])
    assert pose.name is None


def test_codes_point_back_at_the_values():
    y = np.random.default_rng(0).integers(-1, 6, size=50)
    (attribute,) = read_labels(y, 50)
    assert np.array_equal(attribute.classes[attribute.codes[attribute.known]], y[y != -1])
    assert np.array_equal(attribute.known, y != -1)


def test_pandas_series():
    pd = pytest.importorskip("pandas")
    series = pd.Series(["b", None, "a"], name="pose", index=[7, 8, 9])
    (attribute,) = read_labels(series, 3)
    assert (attribute.codes.tolist(), attribute.classes.tolist()) == ([1, -1, 0], ["a", "b"])
    assert attribute.name == "pose"
    assert codes_and_classes(pd.Series([2, pd.NA, 1], dtype="Int64"), 3) == ([1, -1, 0], [1, 2])
    assert codes_and_classes(pd.Series(["x", pd.NA, "x"], dtype="category"), 3) == ([0, -1, 0], ["x"])
    assert codes_and_classes([pd.NA, "b", pd.NaT], 3) == ([-1, 0, -1], ["b"])
    assert read_attribute(pd.Series([2, pd.NA, 1], dtype="Int64"), 3).classes.dtype.kind == "i"


def test_pandas_frame_keeps_names_and_types():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"pose": ["l", "r", None], "person": [4, -1, 2], "score": [0.5, NAN, 0.25]})
    attributes = read_labels(frame, 3)
    assert [a.name for a in attributes] == ["pose", "person", "score"]
    assert [a.codes.tolist() for a in attributes] == [[0, 1, -1], [1, -1, 0], [1, -1, 0]]
    assert [a.classes.dtype.kind for a in attributes] == ["U", "i", "f"]


def test_one_hot_has_zero_rows_where_unknown():
    attribute = Attribute(codes=np.array([1, -1, 0, 1]), classes=np.array(["a", "b"]))
    assert attribute.one_hot().toarray().tolist() == [[0, 1], [0, 0], [1, 0], [0, 1]]
    assert attribute.class_sizes.tolist() == [1, 2]


def test_input_is_not_modified():
    y = np.array([3.0, NAN, -1.0])
    before = y.copy()
    read_labels(y, 3)
    assert np.array_equal(y, before, equal_nan=True)


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        ([0, 1], ValueError, "y has 2 rows but X has 3 samples; give one label per sample"),
        (np.zeros((2, 3)), ValueError, "y has 2 rows.*Transpose it: rows are samples"),
        (np.zeros((3, 1, 1)), ValueError, r"got 3 dimensions, shape \(3, 1, 1\)"),
        ("abc", ValueError, "got 0 dimensions"),
        (None, ValueError, "got 0 dimensions"),
        ([[0, 1], [1], [2, 2]], ValueError, "rows of different lengths"),
        ([0, "a", None], TypeError, "mixes labels of types int, str; make them all strings"),
        (np.array(["a", NAN, "b"]), ValueError, "dtype=object, with None"),
        (np.array(["a", "b", -1]), ValueError, "which numpy turned"),
    ],
)
def test_bad_labels(y, error, message):
    with pytest.raises(error, match=message):
        read_labels(y, 3)


def test_labels_over_given_classes():
    attribute = read_attribute([5, -1, 3, 5], n_samples=4)
    wider = with_classes(attribute, [3, 4, 5])
    assert wider.codes.tolist() == [2, -1, 0, 2]
    assert wider.classes.tolist() == [3, 4, 5]
    assert wider.class_sizes.tolist() == [1, 0, 2]
    with pytest.raises(ValueError, match=r"classes does not name: \[5\]"):
        with_classes(attribute, [3, 4])


@pytest.mark.parametrize("classes", [[3, 5], [0.5, 2.5], ["a", "bc"], [False, True]])
def test_appended_value_is_read_as_unknown(classes):
    labels = append_unknown(np.array(classes))
    assert labels[:-1].tolist() == classes
    assert read_attribute(labels, n_samples=3).codes.tolist() == [0, 1, -1]
