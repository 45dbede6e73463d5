import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from laminar._engine.linalg import elementwise as passes
from reference import passes as plain

both_floats = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def close(a, b, dtype):
    assert a.dtype == dtype
    assert_allclose(a, b, rtol=1e-5 if dtype == np.float32 else 1e-12)


def random(*shapes, dtype, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


@both_floats
@pytest.mark.parametrize("codes", [[0, 2, -1, 2, 0, 1], [-1] * 6, [5, 5, -1, 0, 0, 0]], ids=str)
def test_class_sums(codes, dtype):
    H = np.random.default_rng(0).normal(size=(6, 3)).astype(dtype)
    codes = np.array(codes)
    sums = passes.class_sums(codes, H)
    assert sums.dtype == np.float64
    assert_allclose(sums, plain.class_sums(codes, H.astype(float)), rtol=1e-5)


def test_class_sums_of_nobody():
    assert_array_equal(passes.class_sums(np.zeros(0, int), np.zeros((0, 3))), np.zeros((1, 3)))


@both_floats
def test_class_rest(dtype):
    codes, (H,) = np.array([0, 2, -1, 2, 0, 1]), random((6, 3), dtype=dtype)
    loops = np.where(codes >= 0, 0.5, 0).astype(dtype)
    sums = (0.5 * passes.class_sums(codes, np.abs(H))).astype(dtype)
    rest = passes.class_rest(codes, sums, loops, np.abs(H))
    assert_allclose(rest, plain.class_rest(codes, sums, loops, np.abs(H)), rtol=1e-5, atol=1e-6)
    assert_array_equal(passes.class_rest(codes, 0 * sums, loops, np.abs(H)), np.zeros((6, 3)))


@both_floats
def test_by_sign(dtype):
    both, B = random((7, 10), (7, 5), dtype=dtype)
    for found, expected in zip(passes.by_sign(both, B), plain.by_sign(both, B), strict=True):
        close(found, expected, dtype)


@both_floats
def test_add_columns(dtype):
    out, F, columns = random((7, 5), (7, 5), (5,), dtype=dtype)
    expected = out + F * columns
    passes.add_columns(out, F, columns)
    assert_allclose(out, expected, rtol=1e-4, atol=1e-6)


@both_floats
@pytest.mark.parametrize("eta", [1, 0.5, 0.25])
@pytest.mark.parametrize("rows", [1, 7])
def test_multiply(dtype, eta, rows):
    F, plus, minus = (np.abs(A) for A in random((7, 5), (rows, 5), (7, 5), dtype=dtype))
    plus[0, 0] = 0  # the floor is what it is divided by
    expected = plain.multiply(F, plus, minus, eta)
    passes.multiply(F, plus, minus, dtype(eta))
    close(F, expected, dtype)


def test_multiply_nothing_by_nothing():
    F = np.zeros((3, 2))
    passes.multiply(F, np.zeros((3, 2)), np.zeros((3, 2)), 1.0)
    assert_array_equal(F, np.zeros((3, 2)))
