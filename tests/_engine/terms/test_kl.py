"""`KL`: the divergence, its majoriser by Jensen's inequality, and the contract of a term."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from laminar._engine.data.wrap import wrap
from laminar._engine.terms import KL
from laminar.testing import check_term

N, P, K = 40, 15, 3
ALL = slice(0, N)
FORMS = {"C": np.asarray, "F": np.asfortranarray, "csr": sp.csr_matrix, "csc": sp.csc_matrix}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def sample(n=N):
    rng = np.random.default_rng(0)
    X = rng.gamma(1.0, size=(n, P)) * (rng.random((n, P)) < 0.8)
    return X / X.max(), rng.uniform(0.2, 1, (n, K)), rng.uniform(0.2, 1, (P, K))


@pytest.fixture
def case():
    """X with zeros, in unit scale, F and M."""
    return sample()


def divergence(X, Y):
    return (X * np.log(np.where(X > 0, X, 1) / Y) - X + Y).sum()


# Definition


@every_form
def test_value_is_divergence(form, case):
    X, F, M = case
    assert KL.of(wrap(form(X)), M).value(F) == pytest.approx(divergence(X, F @ M.T))


def test_gradient_is_that_of_divergence(case):
    X, F, M = case
    gradient = KL.of(wrap(X), M).majoriser(F).gradient(ALL, F, None)
    assert_allclose(gradient, (1 - X / (F @ M.T)) @ M, atol=1e-12)


def test_majoriser_is_jensens_bound(case):
    """Lee and Seung's auxiliary function: minimised by ``F R / s``."""
    X, F, M = case
    majoriser = KL.of(wrap(X), M).majoriser(F)
    assert_allclose(majoriser.ratio(ALL), X / (F @ M.T) @ M)
    assert_allclose(np.broadcast_to(-majoriser.B(ALL), F.shape), np.tile(M.sum(0), (N, 1)))


def test_both_factors_see_same_value(case):
    X, F, M = case
    assert KL.of(wrap(X).T, F).value(M) == pytest.approx(KL.of(wrap(X), M).value(F))


def test_factor_times_scale_has_same_value(case):
    X, F, M = case
    S = np.array([1e-4, 1.0, 1e3])
    assert KL.of(wrap(X), M / S).value(F * S) == pytest.approx(KL.of(wrap(X), M).value(F))


# Contract


@every_form
def test_contract_holds(form, case):
    X, F, M = case
    check_term(KL.of(wrap(form(X)), M), F)


def test_contract_holds_for_components(case):
    X, F, M = case
    check_term(KL.of(wrap(X).T, F), M)


def test_contract_holds_with_zero_component(case):
    X, F, M = case
    M[:, 1] = 0
    check_term(KL.of(wrap(X), M), F)


@pytest.mark.usefixtures("two_threads")
def test_contract_holds_on_two_threads():
    X, F, M = sample(3000)
    term = KL.of(wrap(X), M)
    assert len(term.groups[0]) > 1
    check_term(term, F)


# Digits


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_error_bounds_rounding(dtype, case):
    X, F, M = (A.astype(dtype) for A in case)
    F = F * dtype(0.2)  # the size a fit has
    term = KL.of(wrap(X), M)
    exact = divergence(X.astype(float), F.astype(float) @ M.T.astype(float))
    assert abs(term.value(F) - exact) <= term.rounding_error(exact) < 1e-4 * exact


def test_nan_is_not_hidden(case):
    X, F, M = case
    F[3, 1] = np.nan
    assert np.isnan(KL.of(wrap(X), M).value(F))
