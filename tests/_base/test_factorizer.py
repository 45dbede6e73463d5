"""`Factorizer`: the path of X through the four hooks, given starts, and what a fit leaves behind."""

import gc
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from laminar import GNMF, NMF, DeepSemiNMF, SemiNMF
from laminar._base.factorizer import Factorizer
from laminar._engine.constraints import Free, NonNegative
from laminar._engine.data.wrap import wrap
from laminar._engine.problem import Problem
from reference import kernels as plain

N, P, K = 30, 8, 3
MODELS = {
    "NMF": NMF(K, random_state=0),
    "NMF, kl": NMF(K, loss="kl", random_state=0),
    "SemiNMF": SemiNMF(K, random_state=0),
}


@pytest.fixture
def X():
    return np.random.default_rng(0).gamma(1.0, size=(N, P))


@pytest.fixture(params=MODELS)
def model(request):
    return clone(MODELS[request.param])


@pytest.fixture
def start():
    rng = np.random.default_rng(1)
    return rng.uniform(0.1, 1, (N, K)), rng.uniform(0.1, 1, (K, P))


# Hooks


def test_problem_has_order_of_rule(model, X):
    problem = model._problem(X, None, None)
    assert list(problem.constraints) == list(model._rule.order)
    assert problem.n_components == K
    assert not problem.penalised


def test_start_respects_constraints(model, X):
    problem = model._problem(X, None, None)
    for name, F in model._start(problem, X).items():
        assert_array_equal(problem.constraints[name].project(F.copy()), F)


def test_history_is_objective_in_units_of_data(model, X):
    fitted = model.set_params(tol=1e-9, max_iter=3000).fit(100 * X)
    problem = model._problem(100 * X, None, None)
    factors = {"H": fitted.layers_[0].representation / problem.data.scale, "Z": fitted.components_.T.copy()}
    value = problem.in_units(Problem(problem.constraints, problem.addends).value(factors))
    assert fitted.objective_history_[-1] == pytest.approx(value, rel=1e-4)  # codes of the last sweep are made exact


class AnyCodes(Factorizer):
    _constraints = {"H": Free(), "Z": NonNegative()}


def test_constraints_alone_make_model(X):
    model = AnyCodes(K, random_state=0).fit(X - 1)
    assert (model.components_ >= 0).all()
    assert (model.layers_[0].representation < 0).any()
    assert model.converged_


# Given starts


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_given_start_is_used(model, X, start):
    H, Z = start
    problem = model._problem(X, None, None)
    factors = model.set_params(init=(H, Z))._start(problem, X)
    assert_allclose(factors["H"], H)
    assert_allclose(factors["Z"] * problem.data.scale, Z.T)


def test_missing_components_are_fitted_to_codes(X, start):
    H, _ = start
    for model, expected in (
        (NMF(K), plain.nnls(X.T, H)),
        (SemiNMF(K), np.linalg.lstsq(H, X, rcond=None)[0].T),
    ):
        problem = model._problem(X, None, None)
        factors = model.set_params(init=(H, None))._start(problem, X)
        assert_allclose(factors["Z"] * problem.data.scale, expected, atol=1e-9)


def test_fitted_model_is_start(model, X):
    fitted = clone(model).fit(X)
    again = model.set_params(init=fitted).fit(X)
    assert again.objective_history_[0] <= fitted.objective_history_[-1] * (1 + 1e-6)
    assert again.n_iter_ <= (20 if model.get_params().get("loss") == "kl" else 4)


# Afterwards


def test_codes_of_squared_error_are_exact(X):
    for model in (NMF(K, random_state=0), SemiNMF(K, random_state=0)):
        model.fit(X)
        H = model.layers_[0].representation
        assert_allclose(H @ model.components_, plain.nnls(X, model.components_.T) @ model.components_, atol=1e-6)


def test_components_have_unit_size(model, X):
    Z = model.fit(X).components_
    sizes = Z.sum(1) if model.get_params().get("loss") == "kl" else np.linalg.norm(Z, axis=1)
    assert_allclose(sizes, 1)


# Lifetime of the data

RELEASED = {
    "nmf": NMF(3, random_state=0),
    "kl": NMF(3, loss="kl", max_iter=20, tol=0, random_state=0),
    "semi-nmf": SemiNMF(3, random_state=0),
    "gnmf": GNMF(3, n_neighbors=3, random_state=0),
    "deep": DeepSemiNMF((4, 2), random_state=0),
}
FORMATS = {"dense": np.asarray, "columns": np.asfortranarray, "csr": sp.csr_array, "csc": sp.csc_array}


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def stored(X):
    return X.data if sp.issparse(X) else X


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", RELEASED)
def test_fit_releases_data(name, form, no_collector):
    X = FORMATS[form](np.random.default_rng(0).random((30, 8)))
    alive = weakref.ref(stored(X))
    RELEASED[name].fit(X)
    del X
    assert alive() is None


@pytest.mark.parametrize("form", FORMATS)
def test_transpose_is_made_once(form):
    data = wrap(FORMATS[form](np.random.default_rng(0).random((30, 8))))
    assert data.T is data.T
    assert data.T.T is data


@pytest.mark.parametrize("form", FORMATS)
def test_transpose_outlives_matrix(form, no_collector):
    X = FORMATS[form](np.random.default_rng(0).random((30, 8)))
    transpose = wrap(X).T
    assert transpose.T.shape == X.shape
    assert transpose.T is transpose.T
    assert transpose.T.T is transpose


# KKT residual


def test_kkt_residual_small_where_converged(model, X):
    fitted = model.set_params(tol=1e-6, max_iter=3000).fit(X)
    assert fitted.converged_
    assert 0 <= fitted.kkt_residual_ <= 1e-3


def test_kkt_residual_free_of_scale(model, X):
    residuals = [clone(model).set_params(tol=1e-6, max_iter=3000).fit(c * X).kkt_residual_ for c in (1.0, 1024.0)]
    assert_allclose(*residuals)


def test_kkt_residual_known_at_max_iter(model, X, start):
    early, late = (clone(model).set_params(init=start, tol=0, max_iter=n).fit(X).kkt_residual_ for n in (2, 60))
    assert 0 <= late < early
