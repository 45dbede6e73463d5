"""`best_factor` and `best_codes`: least squares for one factor, under a constraint."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import nnls

from laminar._engine.constraints import Free, NonNegative
from laminar._engine.data.wrap import wrap
from laminar._engine.regression import best_codes, best_factor
from reference import kernels as plain

ORACLES = {"free": (Free(), lambda X, M: X @ np.linalg.pinv(M).T), "non-negative": (NonNegative(), plain.nnls)}


@pytest.fixture
def case():
    """X in unit scale, the other factor, a start."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 12))
    return X / np.abs(X).max(), rng.normal(size=(12, 4)), rng.uniform(size=(30, 4))


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("function", [best_factor, best_codes])
def test_best_factor_equals_oracle(name, form, function, case):
    (constraint, oracle), (X, M, start) = ORACLES[name], case
    for begin in (None, start):
        assert_allclose(function(wrap(form(X)), M, constraint, begin), oracle(X, M), atol=1e-9)


@pytest.mark.parametrize("name", ORACLES)
def test_codes_of_dependent_components_do_not_depend_on_start(name, case):
    constraint, (X, M, start) = ORACLES[name][0], case
    M[:, 3] = M[:, 0]
    assert_array_equal(best_codes(wrap(X), M, constraint, start), best_codes(wrap(X), M, constraint))
    assert (best_factor(wrap(X), M, Free(), start) != best_factor(wrap(X), M, Free())).any()


def test_best_components_are_best_factor_of_transpose(case):
    X, _, H = case
    assert_allclose(best_factor(wrap(X).T, H, Free()), np.linalg.lstsq(H, X, rcond=None)[0].T, atol=1e-9)


@pytest.mark.parametrize("condition", [1e3, 1e7, 1e9, 1e11, 1e13, 1e16])
@pytest.mark.parametrize("in_cone", [True, False])
def test_codes_as_good_as_active_sets_on_any_basis(condition, in_cone):
    draw = np.random.default_rng(int(np.log10(condition)))
    left, right = np.linalg.qr(draw.normal(size=(12, 12)))[0], np.linalg.qr(draw.normal(size=(30, 12)))[0]
    basis = left @ np.diag(np.geomspace(1, 1 / condition, 12)) @ right.T
    X = draw.gamma(1.0, size=(60, 12)) @ basis if in_cone else draw.normal(size=(60, 30))
    data = wrap(X)
    H = best_codes(data, np.ascontiguousarray(basis.T), NonNegative(), np.zeros((60, 12))) * data.scale
    best = np.array([nnls(basis.T, x, maxiter=1200)[1] for x in X])
    assert (H >= 0).all()
    assert (np.linalg.norm(X - H @ basis, axis=1) <= best + 1e-6 * np.linalg.norm(X, axis=1)).all()
