from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils._param_validation import InvalidParameterError

from laminar import NMF, SemiNMF
from laminar._engine import updates
from laminar._engine.constraints import Free, NonNegative
from laminar._engine.data.matrix import wrap
from laminar._engine.terms import KL, Quad
from laminar.testing import check_update
from reference import kernels as plain

MU = {f"multiplicative {eta}": partial(updates.multiplicative, eta=eta) for eta in (0.25, 0.5, 1.0)}
RULES = {
    "hals": updates.hals,
    "exact": updates.exact,
    "accelerated": updates.accelerated_gradient,
    **MU,
}
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
every_mu = pytest.mark.parametrize("rule", MU.values(), ids=MU)
both_floats = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def sample(mixed=False, n=60, p=20, k=4, seed=0, dtype=np.float64):
    """Data in unit scale, a positive F, the other factor."""
    rng = np.random.default_rng(seed)
    X, F, M = rng.gamma(1.0, size=(n, p)), rng.uniform(0.2, 1, (n, k)), rng.uniform(0.2, 1, (p, k))
    if mixed:
        X, M = rng.normal(size=(n, p)), rng.normal(size=(p, k))
    return (X / np.abs(X).max()).astype(dtype), F.astype(dtype), M.astype(dtype)


@every_rule
@both_floats
@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_squared_error(rule, dtype, mixed, seed):
    X, F, M = sample(mixed, seed=seed, dtype=dtype)
    check_update(rule, F, Quad.fit(wrap(X), M))


@every_mu
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix])
@both_floats
def test_divergence(rule, form, dtype):
    X, F, M = sample(dtype=dtype)
    check_update(rule, F, KL(wrap(form(X)), M))


@pytest.mark.usefixtures("two_threads")
@every_rule
def test_on_two_threads(rule):
    X, F, M = sample(n=2500)
    term = Quad.fit(wrap(X), M)
    assert len(term.blocks) > 1
    check_update(rule, F, term)


@every_mu
def test_the_lemma_on_many_problems(rule):
    """Semi-NMF with data and components of any sign: never up, whatever the exponent up to one."""
    for seed in range(20):
        X, F, M = sample(mixed=True, n=20, p=8, k=5, seed=seed)
        term = Quad.fit(wrap(X), M)
        values = [term.value(F)]
        for _ in range(20):
            F = rule(F, term)
            values.append(term.value(F))
        assert np.diff(values).max() <= 1e-12 * values[0]


@pytest.mark.parametrize("model", [NMF, SemiNMF])
@pytest.mark.parametrize("eta", [0, -0.5, 1.0001, 2])
def test_exponents_the_lemma_does_not_cover_are_refused(model, eta):
    with pytest.raises(InvalidParameterError, match="eta"):
        model(2, solver="mu", eta=eta).fit(np.ones((4, 3)))


def test_an_exponent_above_one_would_fail():
    """Why they are: the rule itself goes up."""
    rises = 0
    for seed in range(10):
        X, F, M = sample(mixed=True, n=20, p=8, k=5, seed=seed)
        term = Quad.fit(wrap(X), M)
        values = [term.value(F)]
        for _ in range(30):
            F = updates.multiplicative(F, term, eta=2.0)
            values.append(term.value(F))
        rises += np.nanmax(np.diff(values)) > 1e-9
    assert rises > 0


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("k", [1, 4, 9])
def test_exact_equals_scipy(mixed, k):
    X, F, M = sample(mixed, k=k)
    expected = plain.nnls(X, M)
    assert_allclose(updates.exact(F, Quad.fit(wrap(X), M)), expected, atol=1e-9)
    assert_allclose(updates.exact(0 * F, Quad.fit(wrap(sp.csr_matrix(X)), M)), expected, atol=1e-9)


@pytest.mark.parametrize("mixed", [False, True])
def test_exact_with_many_components(mixed):
    """Hundreds of them, nearly parallel."""
    rng = np.random.default_rng(0)
    M = rng.normal(size=(320, 260)) if mixed else rng.gamma(0.3, size=(320, 260))
    M = M + (1.0 if mixed else 0.3)  # a common part
    codes = np.maximum(rng.normal(size=(6, 260)) + mixed, 0)
    X = codes @ M.T
    X = X + 0.1 * np.abs(X).mean() * rng.normal(size=X.shape)
    term = Quad.fit(wrap(X), M)
    H = updates.exact(np.zeros_like(codes), term)
    assert (H >= 0).all()
    U = X / np.abs(X).max()
    best = ((U - plain.nnls(U, M) @ M.T) ** 2).sum(1)
    assert (((U - H @ M.T) ** 2).sum(1) <= best * (1 + 1e-8) + 1e-14).all()
    assert_allclose(updates.exact(H, term) @ M.T, H @ M.T, atol=1e-8)  # and rests there


@pytest.mark.parametrize("rank", [1, 3, 6])
def test_exact_when_components_depend_on_each_other(rank):
    X, F, _ = sample(mixed=True, k=8)
    rng = np.random.default_rng(rank)
    term = Quad.fit(wrap(X), rng.normal(size=(20, rank)) @ rng.normal(size=(rank, 8)))
    for start in (F, 0 * F):
        assert term.residual(updates.exact(start, term), NonNegative()) < 1e-7


def test_repeated_hals_and_accelerated_gradient_reach_the_optimum():
    X, F, M = sample(mixed=True)
    term = Quad.fit(wrap(X), M)
    best = term.value(updates.exact(F, term))
    for rule in (updates.hals, updates.accelerated_gradient):
        new = F
        for _ in range(50):
            new = rule(new, term, NonNegative())
        assert term.value(new) == pytest.approx(best, rel=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_accelerated_gradient_goes_down_from_near_the_optimum_of_a_stiff_problem(seed):
    X, F, M = sample(k=6, seed=seed)
    M = M @ np.diag([1, 1, 1, 1e-1, 1e-2, 1e-3]) + 0.5
    term = Quad.fit(wrap(X), M)
    rng = np.random.default_rng(seed)
    for size in (1e-1, 1e-3, 1e-6):
        near = np.maximum(updates.exact(F, term) * (1 + size * rng.normal(size=F.shape)), 0)
        new = updates.accelerated_gradient(near, term, NonNegative())
        assert term.value(new) <= term.value(near) * (1 + 1e-12)


@every_rule
def test_zero_curvature(rule):
    X, F, M = sample()
    new = rule(F, Quad.fit(wrap(X), 0 * M), NonNegative())
    assert np.isfinite(new).all()
    assert (new >= 0).all()


# ---- least squares -----------------------------------------------------------------------------------------------


@both_floats
def test_least_squares(dtype):
    X, F, M = sample(mixed=True, dtype=dtype)
    check_update(updates.least_squares, F, Quad.fit(wrap(X), M), Free())
    expected = np.linalg.lstsq(M.astype(float), X.T.astype(float), rcond=None)[0].T
    got = updates.least_squares(F, Quad.fit(wrap(X), M))
    assert_allclose(got, expected, atol=1e-3 if dtype == np.float32 else 1e-9)


def bad_gram(case, M):
    rng = np.random.default_rng(3)
    if case == "dependent":
        M[:, 3] = M[:, 0] + M[:, 1]
    if case == "nearly dependent":
        M[:, 3] = M[:, 0] + 1e-7 * M[:, 1]
    if case == "dead":
        M[:, 2] = 0
    if case == "badly scaled":
        M *= np.array([1e-9, 1, 1e6, 1e-3])
    if case == "rank one":
        M[:] = np.outer(M[:, 0], rng.normal(size=4))
    if case == "zero":
        M[:] = 0
    return M


@pytest.mark.parametrize("case", ["dependent", "nearly dependent", "dead", "badly scaled", "rank one", "zero"])
@both_floats
def test_least_squares_of_a_bad_gram(case, dtype):
    X, F, M = sample(mixed=True)
    X, F, M = X.astype(dtype), F.astype(dtype), bad_gram(case, M).astype(dtype)
    term = Quad.fit(wrap(X), M)
    noise = 50 * np.finfo(dtype).eps * term.constant
    new = updates.least_squares(F, term)
    inverse = np.linalg.pinv(M.astype(float), rcond=0 if case == "badly scaled" else 1e-5)
    best = ((X - X @ inverse.T @ M.T.astype(float)) ** 2).sum() / 2
    assert np.isfinite(new).all()
    assert term.value(new) <= term.value(F) + noise
    assert term.value(new) <= best * (1 + (1e-3 if dtype == np.float32 else 1e-6)) + noise
    assert abs(term.value(updates.least_squares(new, term)) - term.value(new)) <= noise
    if case == "dead":
        assert_array_equal(new[:, 2], F[:, 2])


def test_a_free_factor_has_a_closed_form_whatever_the_solver():
    assert updates.for_constraint(updates.hals, Free()) is updates.least_squares
    assert updates.for_constraint(updates.hals, NonNegative()) is updates.hals


# ---- components that nearly depend on each other ------------------------------------------------------------------


def collinear(seed=0):
    """A fit on components that are nearly the same."""
    X, F, M = sample(mixed=True, seed=seed)
    M = M[:, :1] + 1e-3 * M
    return F, Quad.fit(wrap(X), M)


@pytest.mark.parametrize("seed", range(3))
def test_careful_is_exact_there(seed):
    F, term = collinear(seed)
    assert_array_equal(updates.Careful(0)(F, term), updates.exact(F, term))


def test_careful_begins_with_coordinate_descent():
    F, term = collinear()
    update = updates.Careful(2)
    for expected in (updates.hals, updates.hals, updates.exact):
        assert_array_equal(update(F, term), expected(F, term))


def test_careful_is_coordinate_descent_elsewhere():
    X, F, M = sample(mixed=True)
    term = Quad.fit(wrap(X), M)
    assert_array_equal(updates.Careful(0)(F, term), updates.hals(F, term))
    M[:, 2] = 0  # a dead component is not a dependent one
    term = Quad.fit(wrap(X), M)
    assert_array_equal(updates.Careful(0)(F, term), updates.hals(F, term))
