"""`semi_nmf` and `exact_codes`: the function that pre-trains layers, against the estimator and the optimum."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from laminar import WSF, SemiNMF
from laminar._engine.data.wrap import wrap
from laminar._engine.monitor import Monitor
from laminar._engine.problem import smooth_codes
from laminar._engine.semi_nmf import exact_codes, in_units, semi_nmf
from laminar._engine.updates import hals_or_exact, multiplicative, thorough_hals
from laminar.graphs import Labels
from reference import kernels as plain

N, P, K = 60, 15, 4


@pytest.fixture(params=["non-negative", "mixed"])
def X(request):
    rng = np.random.default_rng(0)
    return rng.gamma(1.0, size=(N, P)) - (1 if request.param == "mixed" else 0)


def seed():
    return np.random.RandomState(0)


@pytest.mark.parametrize("update", [hals_or_exact, multiplicative])
@pytest.mark.parametrize("init", ["lp", "kmeans", "random"])
def test_objective_never_increases(X, update, init):
    solution = semi_nmf(wrap(X), K, seed(), init=init, update=update, monitor=Monitor(20, 0))
    assert np.diff(solution.history).max() <= 1e-12 * solution.history[0]
    assert (solution.factors["H"] >= 0).all()


def test_lp_start_is_optimum_of_nonnegative_data():
    X = np.random.default_rng(0).gamma(1.0, size=(N, P))
    H, Z = exact_codes(wrap(X), semi_nmf(wrap(X), K, seed()))
    tail = np.linalg.svd(X, compute_uv=False)[K:]
    assert np.linalg.norm(X - H @ Z) == pytest.approx(np.linalg.norm(tail), rel=1e-8)


def test_result_is_that_of_estimator(X):
    model = SemiNMF(K, init="lp", ridge=0.01, max_iter=300, tol=1e-4, random_state=0).fit(X)
    H, Z = in_units(wrap(X), semi_nmf(wrap(X), K, seed(), ridge=0.01, monitor=Monitor(300, 1e-4)))
    assert np.linalg.norm(X - H @ Z) == pytest.approx(model.reconstruction_err_, rel=1e-3)


def test_no_sweeps_return_start(X):
    solution = semi_nmf(wrap(X), K, seed(), monitor=Monitor(0))
    assert solution.history == []
    assert not solution.converged


def test_exact_codes_are_best_codes_of_unit_components(X):
    H, Z = exact_codes(wrap(X), semi_nmf(wrap(X), K, seed()))
    assert_allclose(np.linalg.norm(Z, axis=1), 1)
    assert_allclose(H @ Z, plain.nnls(X, Z.T) @ Z, atol=1e-7)


def test_without_sweeps_given_there_are_twenty(X):
    assert semi_nmf(wrap(X), K, seed(), init="random").n_iter <= 20


def test_penalty_is_that_of_wsf(X):
    y = np.arange(N) % 3
    data = wrap(X)
    penalties = [smooth_codes(Labels().build(X, y), 0.2)]
    solution = semi_nmf(data, K, seed(), update=thorough_hals, penalties=penalties, ridge=0.01, monitor=Monitor(15, 0))
    model = WSF(K, alpha=0.2, ridge=0.01, init="lp", max_iter=15, tol=0, random_state=seed()).fit(X, y)
    assert_allclose(np.array(solution.history) * data.unit(2), model.objective_history_, rtol=1e-9)


def test_units_keep_product(X):
    data = wrap(X)
    solution = semi_nmf(data, K, seed())
    H, Z = in_units(data, solution)
    assert_allclose(np.linalg.norm(Z, axis=1), 1)
    assert_allclose(H @ Z, solution.factors["H"] @ solution.factors["Z"].T * data.scale, atol=1e-10)
