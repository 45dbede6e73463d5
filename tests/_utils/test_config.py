"""Settings: `set_config`, `config_context`, sizes in words; tall arrays in memory and in temporary files."""

import gc
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import laminar
from laminar._utils import config, tall

SIZES = {"2GB": 2 * 10**9, "64 mb": 64 * 10**6, "1.5GiB": 3 * 2**29, "10kB": 10_000, "512": 512, 4096: 4096}
WRONG = ["two", "", "-1GB", "1XB", 0, -5, 1.5, True, "1.2.3MB"]


@pytest.fixture(autouse=True)
def default_settings():
    yield
    laminar.set_config(max_memory=None, temp_folder=None)


# Settings


@pytest.mark.parametrize("size", SIZES)
def test_sizes_are_bytes(size):
    with laminar.config_context(max_memory=size):
        assert config.memory_limit() == SIZES[size]


@pytest.mark.parametrize("size", WRONG)
def test_wrong_sizes_are_refused(size):
    with pytest.raises(ValueError, match="max_memory must be a number of bytes"):
        laminar.set_config(max_memory=size)
    assert laminar.get_config()["max_memory"] is None


def test_missing_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match="is no folder"):
        laminar.set_config(temp_folder=tmp_path / "none")


def test_context_restores_settings(tmp_path):
    laminar.set_config(max_memory="2GB")
    with laminar.config_context(max_memory="1GB", temp_folder=tmp_path):
        assert laminar.get_config() == {"max_memory": "1GB", "temp_folder": tmp_path}
    assert laminar.get_config() == {"max_memory": "2GB", "temp_folder": None}


def test_context_leaves_other_settings(tmp_path):
    with laminar.config_context(temp_folder=tmp_path), laminar.config_context(max_memory=5):
        assert laminar.get_config() == {"max_memory": 5, "temp_folder": tmp_path}


def test_global_settings_hold_in_threads():
    laminar.set_config(max_memory=12345)
    found = []
    thread = threading.Thread(target=lambda: found.append(config.memory_limit()))
    thread.start()
    thread.join()
    assert found == [12345]


def test_default_limit_is_part_of_available_memory():
    assert 10**6 < config.memory_limit() < config.available_memory()


# Tall arrays


def mapped(array):
    return array.base is not None


def test_small_arrays_are_in_memory():
    with laminar.config_context(max_memory="1MB"):
        assert not mapped(tall.empty((100, 10), np.float32))
    assert not mapped(tall.empty((1000, 10), np.float64))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_arrays_are_in_files(dtype, tmp_path):
    with laminar.config_context(max_memory="8kB", temp_folder=tmp_path):
        F = tall.zeros((1000, 3), dtype)
    assert mapped(F)
    assert type(F) is np.ndarray
    assert F.dtype == dtype
    assert not F.any()
    F[:] = 2
    assert F[::2].sum() == 3000


def test_copies_are_equal_and_contiguous():
    F = np.asfortranarray(np.random.default_rng(0).random((40_000, 3)))
    with laminar.config_context(max_memory="8kB"):
        copy = tall.copy(F, np.float32)
    assert_array_equal(copy, F.astype(np.float32))
    assert mapped(copy)
    assert copy.flags.c_contiguous


def test_files_are_used_again_inside_a_block():
    with laminar.config_context(max_memory="8kB"), tall.recycling():
        first = tall.empty((1000, 3), np.float64)
        address, view = first.ctypes.data, first[::2]
        del first
        gc.collect()
        other = tall.empty((1000, 3), np.float64)
        assert other.ctypes.data != address  # the view holds the first
        view[:] = 7
        del view
        gc.collect()
        again = tall.empty((1000, 3), np.float64)
        assert again.ctypes.data == address
        del again
        gc.collect()
        assert not tall.zeros((1000, 3), np.float64).any()
