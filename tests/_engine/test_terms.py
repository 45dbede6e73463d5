import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.optimize import nnls

from laminar._engine.constraints import Free, NonNegative
from laminar._engine.data.matrix import wrap
from laminar._engine.terms import KL, Quad, gram_of
from laminar._engine.updates import multiplicative
from laminar.testing import check_term

FORMS = [np.asarray, np.asfortranarray, sp.csr_matrix, sp.csc_matrix]
every_form = pytest.mark.parametrize("form", FORMS, ids=["C", "F", "csr", "csc"])
TERMS = {"quad": Quad.fit, "kl": KL}
every_term = pytest.mark.parametrize("make", TERMS.values(), ids=TERMS)
ALL = slice(0, 40)


def sample(mixed=False, n=40, p=15, k=3, seed=0):
    """X, F and the other factor."""
    rng = np.random.default_rng(seed)
    X, F, M = rng.gamma(1.0, size=(n, p)), rng.uniform(0.2, 1, (n, k)), rng.uniform(0.2, 1, (p, k))
    X[rng.random(X.shape) < 0.2] = 0
    return (X - 1, F, M - 0.6) if mixed else (X, F, M)


@every_form
@pytest.mark.parametrize("mixed", [False, True])
def test_quad_is_half_the_squared_error(form, mixed):
    X, F, M = sample(mixed)
    term, U = Quad.fit(wrap(form(X)), M), X / np.abs(X).max()
    assert term.value(F) == pytest.approx(((U - F @ M.T) ** 2).sum() / 2)
    assert term.value(0 * F) == pytest.approx((U**2).sum() / 2)
    assert_allclose(term.grad(ALL, F), (F @ M.T - U) @ M, atol=1e-12)
    check_term(term, F)
    check_term(term.materialized(), F, Free())


@every_form
def test_kl_is_the_divergence(form):
    X, F, M = sample()
    term, U, Y = KL(wrap(form(X)), M), X / X.max(), F @ M.T
    assert term.value(F) == pytest.approx((U * np.log(np.where(U > 0, U, 1) / Y) - U + Y).sum())
    assert_allclose(term.grad(ALL, F), (1 - U / Y) @ M, atol=1e-12)
    check_term(term, F)


@every_term
def test_from_the_other_side(make):
    X, F, M = sample()
    data = wrap(X)
    assert make(data.T, F).value(M) == pytest.approx(make(data, M).value(F))
    check_term(make(data.T, F), M)


@pytest.mark.usefixtures("two_threads")
@every_term
def test_on_two_threads(make):
    X, F, M = sample(n=3000)
    term = make(wrap(X), M)
    assert len(term.blocks) > 1
    check_term(term, F)


def test_the_gram_is_split_not_the_product():
    X, F, M = sample(mixed=True)
    term = Quad.fit(wrap(X), M)
    U, G = X / np.abs(X).max(), M.T @ M
    plus, minus = term.split(ALL, F)
    assert_allclose(plus, np.maximum(-U @ M, 0) + F @ np.maximum(G, 0))
    assert_allclose(minus, np.maximum(U @ M, 0) + F @ np.maximum(-G, 0))


def kkt_point(make, X, M):
    data = wrap(X)
    if make is not KL:
        return np.array([nnls(M, x / data.scale)[0] for x in X])
    F = np.full((len(X), M.shape[1]), 0.1)
    for _ in range(20000):
        F = multiplicative(F, KL(data, M))
    return F


@every_term
def test_residual_is_zero_at_a_kkt_point_alone(make):
    X, F, M = sample()
    term = make(wrap(X), M)
    rest = kkt_point(make, X, M)
    assert (rest < 1e-9).any()  # some entries are held by the constraint
    assert term.residual(rest, NonNegative()) < 1e-8
    assert term.residual(F, NonNegative()) > 0.05
    stuck = rest.copy()
    stuck[::2] = 0  # at the bound, though the gradient pulls away from it
    assert term.residual(stuck, NonNegative()) > 0.05


def test_residual_of_a_free_factor_is_zero_at_least_squares():
    X, _, M = sample(mixed=True)
    term = Quad.fit(wrap(X), M)
    rest = np.linalg.lstsq(M, X.T / np.abs(X).max(), rcond=None)[0].T
    assert term.residual(rest, Free()) < 1e-14
    assert term.residual(rest, NonNegative()) > 1e-3


@every_term
@pytest.mark.parametrize("c", [1e-6, 1e5])
def test_residual_is_free_of_scale(make, c):
    X, F, M = sample()
    expected = make(wrap(X), M).residual(F, NonNegative())
    assert make(wrap(c * X), M).residual(F, NonNegative()) == pytest.approx(expected)
    S = np.array([1e-4, 1.0, 1e3])
    assert make(wrap(X), M / S).residual(F * S, NonNegative()) == pytest.approx(expected)


@every_term
def test_a_component_of_zero_does_no_harm(make):
    X, F, M = sample()
    M[:, 1] = 0
    assert np.isfinite(make(wrap(X), M).residual(F, NonNegative()))
    check_term(make(wrap(X), M), F)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_quad_value_is_summed_in_double_precision(dtype):
    rng = np.random.default_rng(0)
    F, M = rng.uniform(size=(5000, 3)).astype(dtype), rng.uniform(size=(30, 3)).astype(dtype)
    X = F @ M.T  # an exact fit: all that is left is rounding
    data = wrap(X)
    assert Quad.fit(data, M).value(F / dtype(data.scale)) <= 4 * np.finfo(dtype).eps * data.sqnorm


def test_nan_is_not_hidden():
    X, F, M = sample()
    F[3, 1] = np.nan
    assert np.isnan(Quad.fit(wrap(X), M).value(F))
    assert np.isnan(KL(wrap(X), M).value(F))


def test_gram_of(two_threads):
    F = np.random.default_rng(0).normal(size=(9000, 4))
    assert_allclose(gram_of(F), F.T @ F)
