import numpy as np
import pytest
import scipy.sparse as sp

from laminar._engine.constraints import Free, NonNegative
from laminar._engine.data.matrix import wrap
from laminar._engine.problem import Chain, Problem
from laminar._engine.terms import KL, Quad
from laminar.testing import check_term

SIGNS = {"H": NonNegative(), "Z": NonNegative()}


def sample(n=30, p=12, k=3, seed=0):
    rng = np.random.default_rng(seed)
    factors = {"H": rng.uniform(0.1, 1, (n, k)), "Z": rng.uniform(0.1, 1, (p, k))}
    return rng.gamma(1.0, size=(n, p)), factors


def direct(X, F, loss):
    U, Y = X / X.max(), F["H"] @ F["Z"].T
    return ((U - Y) ** 2).sum() / 2 if loss == "frobenius" else (U * np.log(U / Y) - U + Y).sum()


@pytest.mark.parametrize("loss", ["frobenius", "kl"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_every_factor_sees_the_same_objective(loss, form):
    X, F = sample()
    problem = Problem(Chain(wrap(form(X)), loss=loss), SIGNS)
    expected = direct(X, F, loss)
    assert problem.value(F) == pytest.approx(expected)
    for name in problem.order:
        term = problem.term(name, F)
        assert isinstance(term, Quad if loss == "frobenius" else KL)
        assert term.value(F[name]) == pytest.approx(expected)
        check_term(term, F[name])


def test_factors_may_have_any_name():
    X, F = sample()
    problem = Problem(Chain(wrap(X), "codes", "parts"), {"parts": Free(), "codes": NonNegative()})
    renamed = {"codes": F["H"], "parts": F["Z"]}
    assert problem.order == ("parts", "codes")
    assert problem.value(renamed) == pytest.approx(direct(X, F, "frobenius"))


@pytest.mark.parametrize("loss", ["frobenius", "kl"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_noise_covers_the_rounding_of_the_objective(loss, dtype):
    X, F = sample(n=500)
    F["H"] *= (X / X.max()).mean() / (F["H"] @ F["Z"].T).mean()  # the size a fit has
    X, F = X.astype(dtype), {name: factor.astype(dtype) for name, factor in F.items()}
    problem = Problem(Chain(wrap(X), loss=loss), SIGNS)
    exact = direct(X.astype(float), {name: factor.astype(float) for name, factor in F.items()}, loss)
    assert abs(problem.value(F) - exact) <= problem.term("Z", F).noise(exact) < 1e-5 * exact


def test_the_objective_is_free_of_scale():
    X, F = sample()
    values = [Problem(Chain(wrap(c * X)), SIGNS).value(F) for c in (1e-200, 1.0, 1e100)]
    assert values == pytest.approx([values[1]] * 3)


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_matrix, sp.csc_matrix])
def test_a_near_perfect_fit_is_measured_by_its_residual(form):
    _, F = sample()
    X = F["H"] @ F["Z"].T
    X[3, 2] += 1e-9
    data = wrap(form(X))
    value = Problem(Chain(data), SIGNS).value({"H": F["H"] / data.scale, "Z": F["Z"]})
    assert np.sqrt(2 * value) * data.scale == pytest.approx(1e-9, rel=1e-3)  # Grams would give 0, or 1e-7
