"""`SquaredFit`: half the squared error, its digits near a perfect fit, and the contract of a term."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from laminar._engine.constraints import Free
from laminar._engine.data.wrap import wrap
from laminar._engine.terms import SquaredFit
from laminar.testing import check_term

N, P, K = 40, 15, 3
ALL = slice(0, N)
FORMS = {"C": np.asarray, "F": np.asfortranarray, "csr": sp.csr_matrix, "csc": sp.csc_matrix}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
both_floats = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def sample(mixed, n=N):
    """Data in unit scale, F, the other factor."""
    rng = np.random.default_rng(0)
    X, F, M = rng.gamma(1.0, size=(n, P)), rng.uniform(0.2, 1, (n, K)), rng.uniform(0.2, 1, (P, K))
    X[rng.random(X.shape) < 0.2] = 0
    X, M = (X - 1, M - 0.6) if mixed else (X, M)
    return X / np.abs(X).max(), F, M


@pytest.fixture(params=[False, True], ids=["non-negative", "mixed"])
def case(request):
    """X, F and M, of one sign or of both."""
    return sample(request.param)


# Definition


@every_form
def test_value_is_half_squared_error(form, case):
    X, F, M = case
    term = SquaredFit.of(wrap(form(X)), M)
    assert term.value(F) == pytest.approx(((X - F @ M.T) ** 2).sum() / 2)
    assert term.value(0 * F) == pytest.approx((X**2).sum() / 2)


def test_gradient_is_that_of_squared_error(case):
    X, F, M = case
    term = SquaredFit.of(wrap(X), M)
    assert_allclose(term.majoriser(F).gradient(ALL, F, term.G), (F @ M.T - X) @ M, atol=1e-12)


def test_gram_is_split_not_its_product(case):
    X, F, M = case
    G = M.T @ M
    plus, minus = SquaredFit.of(wrap(X), M).split_gradient(F)(ALL)
    assert_allclose(plus, np.maximum(-X @ M, 0) + F @ np.maximum(G, 0))
    assert_allclose(minus, np.maximum(X @ M, 0) + F @ np.maximum(-G, 0))


def test_both_factors_see_same_value(case):
    X, F, M = case
    assert SquaredFit.of(wrap(X).T, F).value(M) == pytest.approx(SquaredFit.of(wrap(X), M).value(F))


def test_factor_times_scale_has_same_value(case):
    X, F, M = case
    S = np.array([1e-4, 1.0, 1e3])
    assert SquaredFit.of(wrap(X), M / S).value(F * S) == pytest.approx(SquaredFit.of(wrap(X), M).value(F))


# Contract


@every_form
def test_contract_holds(form, case):
    X, F, M = case
    check_term(SquaredFit.of(wrap(form(X)), M), F, Free())


def test_contract_holds_for_components():
    X, F, M = sample(mixed=False)
    check_term(SquaredFit.of(wrap(X).T, F), M)


def test_contract_holds_with_zero_component(case):
    X, F, M = case
    M[:, 1] = 0
    check_term(SquaredFit.of(wrap(X), M), F)


@pytest.mark.usefixtures("two_threads")
def test_contract_holds_on_two_threads():
    X, F, M = sample(mixed=True, n=3000)
    term = SquaredFit.of(wrap(X), M)
    assert len(term.groups[0]) > 1
    check_term(term, F)


# Groups of rows


def test_groups_have_their_own_gram(case):
    X, F, M = case
    even, odd = np.arange(0, N, 2), np.arange(1, N, 2)
    few = M * np.array([1.0, 0.0, 1.0])
    B = np.empty((N, K))
    B[even], B[odd] = X[even] @ M, X[odd] @ few
    term = SquaredFit(B.__getitem__, np.stack([M.T @ M, few.T @ few]), [[even], [odd]], (X**2).sum(), P)
    expected = ((X[even] - F[even] @ M.T) ** 2).sum() + ((X[odd] - F[odd] @ few.T) ** 2).sum()
    assert term.value(F) == pytest.approx(expected / 2)


# Cache


def test_cached_term_is_same_term(case):
    X, F, M = case
    term = SquaredFit.of(wrap(X), M)
    check_term(term.cached(), F)
    assert term.cached().value(F) == term.value(F)


def test_cached_term_computes_blocks_once():
    X, F, M = sample(mixed=False)
    asked = []
    whole = SquaredFit.of(wrap(X), M)
    counting = SquaredFit(lambda b: asked.append(b) or whole.B(b), whole.G, whole.groups, whole.size, P).cached()
    for _ in range(3):
        counting.value(F)
    assert asked == list(whole.groups[0])


# Digits


@both_floats
def test_value_is_summed_in_double_precision(dtype):
    rng = np.random.default_rng(0)
    F, M = rng.uniform(size=(5000, 3)).astype(dtype), rng.uniform(size=(30, 3)).astype(dtype)
    data = wrap(F @ M.T)  # an exact fit: all that is left is rounding
    assert SquaredFit.of(data, M).value(F / dtype(data.scale)) <= 4 * np.finfo(dtype).eps * data.sqnorm


@every_form
def test_near_perfect_fit_keeps_its_digits(form):
    _, F, M = sample(mixed=False)
    X = F @ M.T
    X[3, 2] += 1e-9
    data = wrap(form(X))
    value = SquaredFit.of(data, M).value(F / data.scale)
    assert np.sqrt(2 * value) * data.scale == pytest.approx(1e-9, rel=1e-3)  # Gram matrices would give 0, or 1e-7


@both_floats
def test_rounding_error_bounds_rounding(dtype, case):
    X, F, M = (A.astype(dtype) for A in case)
    F = F * dtype(0.2)  # the size a fit has
    term = SquaredFit.of(wrap(X), M)
    exact = ((X.astype(float) - F.astype(float) @ M.T.astype(float)) ** 2).sum() / 2
    assert abs(term.value(F) - exact) <= term.rounding_error(exact) < 1e-4 * exact


def test_rounding_error_is_small_near_perfect_fit():
    X, _, M = sample(mixed=False)
    term = SquaredFit.of(wrap(X), M)
    assert term.rounding_error(1e-20 * term.size) < 1e-5 * term.rounding_error(term.size)


def test_rounding_error_of_the_residual_is_that_of_double_precision():
    X, F, M = (A.astype(np.float32) for A in sample(mixed=False))
    noise = np.random.default_rng(0).normal(size=X.shape)
    data = wrap((F @ M.T + 1e-4 * noise).astype(np.float32))
    F = F / np.float32(data.scale)
    term = SquaredFit.of(data, M)
    exact = ((data.base.astype(float) / data.scale - F.astype(float) @ M.T.astype(float)) ** 2).sum() / 2
    assert 1e-10 < exact / term.size < 1e-7
    assert abs(term.value(F) - exact) <= term.rounding_error(exact) < 1e-4 * exact


def test_nan_is_not_hidden(case):
    X, F, M = case
    F[3, 1] = np.nan
    assert np.isnan(SquaredFit.of(wrap(X), M).value(F))


def test_float32_majoriser_stays_float32(case):
    X, _F, M = (A.astype(np.float32) for A in case)
    term = SquaredFit.of(wrap(X), M)
    assert term.G.dtype == term.B(ALL).dtype == np.float32
    assert_array_equal(term.cached().B(ALL), term.B(ALL))
