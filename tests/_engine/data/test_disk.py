"""`Disk`: products, norms and distances of an array on disk are those of the array; blocks follow chunks and memory."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import laminar
from laminar._engine.data.disk import Disk
from laminar._engine.data.svd import truncated_svd
from laminar._engine.data.wrap import wrap
from laminar._utils import threads
from laminar._utils.stored import Stored, is_streamed

N, P, K = 700, 12, 3
MEMORY = "32kB"  # blocks of 20 rows in float64


@pytest.fixture(params=["float64", "float32"])
def pair(request, tmp_path):
    """The matrix in memory and on disk, and two factors."""
    rng = np.random.default_rng(0)
    X = rng.gamma(0.5, size=(N, P)).astype(request.param)
    np.save(tmp_path / "X.npy", X)
    with laminar.config_context(max_memory=MEMORY):
        disk = wrap(Stored(np.load(tmp_path / "X.npy", mmap_mode="r")))
    return wrap(X), disk, rng.random((N, K)).astype(request.param), rng.random((P, K)).astype(request.param)


def tolerance(dense):
    return {"rtol": 1e-12 if dense.dtype == np.float64 else 2e-5}


# Products


def test_blocks_cover_the_rows(pair):
    blocks = pair[1].source.blocks
    assert len(blocks) > 10
    assert_array_equal(np.concatenate([np.arange(N)[b] for b in blocks]), np.arange(N))


def test_products_equal_those_in_memory(pair):
    dense, disk, H, Z = pair
    assert isinstance(disk, Disk)
    assert (disk.shape, disk.T.shape) == ((N, P), (P, N))
    with threads.own_threads():
        assert_allclose(disk.product(Z), dense.product(Z), **tolerance(dense))
        assert_allclose(disk.T.product(H), dense.T.product(H), **tolerance(dense))
        assert_allclose(disk.gram(), dense.gram(), **tolerance(dense))
        assert_allclose(disk.T.gram(), dense.T.gram(), **tolerance(dense))


def test_rows_equal_those_in_memory(pair):
    dense, disk, _, _ = pair
    assert_array_equal(disk.rows(slice(15, 60)), dense.rows(slice(15, 60)))
    assert_array_equal(disk.T.rows(slice(2, 5)), dense.T.rows(slice(2, 5)))
    assert_array_equal(disk.every(9, 2).base, dense.every(9, 2).base)


def test_norms_equal_those_in_memory(pair):
    dense, disk, H, Z = pair
    for name in ("scale", "sqnorm", "total", "nonnegative", "stored"):
        assert_allclose(getattr(disk, name), getattr(dense, name), rtol=1e-6)
    assert disk.dtype == dense.dtype
    assert_allclose(disk.distance(H, Z), dense.distance(H, Z), **tolerance(dense))
    assert_allclose(disk.T.distance(Z, H), dense.T.distance(Z, H), **tolerance(dense))
    assert_allclose(disk.divergence(H, Z), dense.divergence(H, Z), **tolerance(dense))


def test_ratios_equal_those_in_memory(pair):
    dense, disk, H, Z = pair
    for mine, theirs, F, M in ((disk, dense, H, Z), (disk.T, dense.T, Z, H)):
        rows, expected = mine.ratio_times(M), theirs.ratio_times(M)
        found = np.vstack([rows(b, F[b]) for b in mine.ratio_blocks(K)])
        assert_allclose(found, np.vstack([expected(b, F[b]) for b in theirs.blocks(K)]), **tolerance(dense))


def test_singular_triplets_equal_those_in_memory(pair):
    dense, disk, _, _ = pair
    found, expected = (truncated_svd(data, K, np.random.RandomState(0)) for data in (disk, dense))
    for mine, theirs in zip(found, expected, strict=True):
        assert_allclose(mine, theirs, atol=1e-10 if dense.dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_extreme_scales_do_not_overflow(scale, tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 4)) * scale
    np.save(tmp_path / "X.npy", X)
    disk = wrap(Stored(np.load(tmp_path / "X.npy", mmap_mode="r")))
    assert_allclose([disk.sqnorm, disk.total], [wrap(X).sqnorm, wrap(X).total])
    assert_allclose(disk.product(np.eye(4)), X / disk.scale)


# Files


@pytest.mark.parametrize(("rows", "expected"), [(10, 20), (7, 14), (1000, 20)])
def test_blocks_are_whole_chunks_that_fit(rows, expected, tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "X.h5", "w") as file, laminar.config_context(max_memory=MEMORY):
        X = file.create_dataset("X", data=np.ones((2000, P)), chunks=(rows, P))
        assert Stored(X).blocks[0] == slice(0, expected)


@pytest.mark.parametrize("rows", [slice(None), slice(3, None), slice(None, None, 2)])
def test_parts_of_maps_are_read_from_the_file(rows, tmp_path):
    X = np.random.default_rng(0).random((90, 6))
    np.save(tmp_path / "X.npy", X)
    part = np.load(tmp_path / "X.npy", mmap_mode="r")[rows, 1:5]
    with laminar.config_context(max_memory=1000):
        assert is_streamed(part)
        assert_array_equal(Stored(part).read(slice(4, 20)), X[rows, 1:5][4:20])


@pytest.mark.parametrize("change", [lambda X: X.T, lambda X: X[:, ::2], np.asarray, np.asfortranarray])
def test_other_maps_stay_arrays(change, tmp_path):
    np.save(tmp_path / "X.npy", np.ones((90, 6)))
    with laminar.config_context(max_memory=1000):
        assert not is_streamed(change(np.load(tmp_path / "X.npy", mmap_mode="r")))


def test_changed_copies_of_maps_stay_arrays(tmp_path):
    np.save(tmp_path / "X.npy", np.ones((90, 6)))
    with laminar.config_context(max_memory=1000):
        assert not is_streamed(np.load(tmp_path / "X.npy", mmap_mode="c"))


def test_cut_files_are_named(tmp_path):
    path = tmp_path / "X.npy"
    np.save(path, np.ones((900, 6)))
    stored = Stored(np.load(path, mmap_mode="r"))
    with path.open("r+b") as file:
        file.truncate(2000)
    with pytest.raises(ValueError, match=r"X\.npy ends before the array"):
        stored.block(0)
