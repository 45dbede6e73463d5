"""`safe_divide` and `column_signs`: values, precision, zeros."""

import numpy as np
import pytest

from laminar._engine.linalg.small import column_signs, safe_divide

B = np.array([2.0, 0.0, -1.0, 1e-300])


@pytest.mark.parametrize(
    ("keywords", "expected"),
    [({}, [0.5, 0.0, 0.0, 1e300]), ({"fill": np.inf}, [0.5, np.inf, np.inf, 1e300]), ({"floor": 1e-3}, [0.5, 0, 0, 0])],
)
def test_division_by_number_above_floor(keywords, expected):
    np.testing.assert_allclose(safe_divide(1, B, **keywords), expected)


def test_division_broadcasts():
    A = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(safe_divide(A, np.array([[2.0], [0.0]])), [[0, 0.5, 1], [0, 0, 0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_that_of_numerator(dtype):
    A = np.ones(4, dtype)
    assert safe_divide(A, B[:3].repeat(2)[:4]).dtype == dtype
    assert safe_divide(1, A).dtype == dtype


def test_signs_make_largest_entries_positive():
    F = np.random.default_rng(0).normal(size=(9, 4))
    F[:, 2] = 0
    signs = column_signs(F)
    assert set(signs) <= {-1.0, 1.0}
    signed = F * signs
    assert (signed.max(axis=0) == np.abs(F).max(axis=0)).all()
