"""Files in the folder that LAMINAR_DATA names."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from laminar import datasets


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LAMINAR_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("value", [None, ""])
def test_unset_folder_names_the_variable(monkeypatch, value):
    if value is None:
        monkeypatch.delenv("LAMINAR_DATA", raising=False)
    else:
        monkeypatch.setenv("LAMINAR_DATA", value)
    assert datasets.available() == []
    with pytest.raises(FileNotFoundError, match="set the environment variable LAMINAR_DATA"):
        datasets.load("mine")
    with pytest.raises(FileNotFoundError, match="set the environment variable LAMINAR_DATA"):
        datasets.load("orl")


def test_absent_file_names_the_variable_and_what_is_there(folder):
    np.savez(folder / "mine.npz", X=np.eye(2))
    assert datasets.available() == ["mine"]
    with pytest.raises(FileNotFoundError, match="LAMINAR_DATA names holds mine"):
        datasets.load("other")


def test_load_faces_like_file(folder):
    np.savez(
        folder / "set.npz",
        X=np.array([[0, 255], [51, 102], [0, 0]], dtype=np.uint8),
        X64=np.full((3, 8), 255, dtype=np.uint8),
        pose=np.array([1, 0, 1], dtype=np.int16),
        pose_names=np.array(["left", "right"]),
        frame=np.array([7, 8, 9], dtype=np.int16),
        crossed_mask=np.array([True, False, True]),
        image_shape=np.array([1, 2]),
    )
    for dtype in (np.float32, np.float64):
        data = datasets.load("set", dtype=dtype)
        assert data.X.dtype == dtype
        assert_allclose(data.X, [[0, 1], [0.2, 0.4], [0, 0]], rtol=1e-6)
    assert data.X64.max() == 1
    assert data.attributes == ["pose"]  # a frame number is no class, a mask no label
    assert data.names == {"pose": ["left", "right"]}
    assert data.image_shape == (1, 2)
    assert_array_equal(data.frame, [7, 8, 9])


def test_bytes_of_few_levels_are_scaled_by_their_largest(folder):
    np.savez(folder / "drawing.npz", X=np.array([[0, 1], [1, 1]], dtype=np.uint8))
    np.savez(folder / "black.npz", X=np.zeros((2, 2), dtype=np.uint8))
    assert_array_equal(datasets.load("drawing").X, [[0, 1], [1, 1]])
    assert_array_equal(datasets.load("black").X, 0)


def test_load_views_keeps_their_order_and_other_numbers(folder):
    views = {f"X{v}": np.full((3, v), v, dtype=np.float32) for v in range(1, 12)}
    np.savez(folder / "views.npz", **views, y=np.array([0, 1, 1], dtype=np.int16), view_names=np.array(["a", "b"]))
    data = datasets.load("views")
    assert [view[0, 0] for view in data.views] == list(range(1, 12))
    assert data.view_names == ["a", "b"]
    assert data.attributes == ["y"]
    assert "X1" not in data


def test_file_without_data_says_so(folder):
    np.savez(folder / "empty.npz", y=np.arange(3))
    with pytest.raises(ValueError, match="'empty' holds no data"):
        datasets.load("empty")


@pytest.mark.skipif(not datasets.available(), reason="LAMINAR_DATA names no folder with data sets")
@pytest.mark.parametrize("name", datasets.available())
def test_every_real_set_loads(name):
    data = datasets.load(name)
    arrays = data.get("views") or [data.X]
    n_samples = len(arrays[0])
    assert all(array.shape[0] == n_samples and array.dtype == np.float32 for array in arrays)
    assert all(np.isfinite(array).all() for array in arrays)
    assert all(data[attribute].shape == (n_samples,) for attribute in data.attributes)
    if "image_shape" in data:
        assert np.prod(data.image_shape) == data.X.shape[1]
        assert data.X.min() >= 0
        assert 0.9 < data.X.max() <= 1
    for attribute, names in data.names.items():
        assert data[attribute].max() < len(names)
