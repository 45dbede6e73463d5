import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from laminar import NMF
from laminar.nmf.nenmf import optimal_gradient
from reference import models as plain

N, P, K = 30, 12, 3
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

rng = np.random.default_rng(0)
X = rng.gamma(0.7, size=(N, K + 2)) @ rng.gamma(0.7, size=(K + 2, P)) + 0.1 * rng.random((N, P))
H0, Z0 = rng.uniform(0.1, 1, (N, K)), rng.uniform(0.1, 1, (K, P))


def fit(X=X, **parameters):
    return NMF(K, **({"rule": "published", "solver": "apg", "random_state": 0} | parameters)).fit(X)


@pytest.mark.parametrize("units", [1.0, 1e-2, 30.0])
def test_nenmf_is_the_authors_loop(units):
    loop = plain.nenmf_to_the_letter(units * X, H0, Z0, 1e-5, 12)
    for n_iter, (H, Z, _) in enumerate(loop, start=1):
        model = fit(units * X, init=(H0, Z0), max_iter=n_iter)
        size = np.linalg.norm(Z, axis=1)
        assert_allclose(model.layers_[0].representation, H * size, atol=1e-8 * (H * size).max())
        assert_allclose(model.components_, Z / size[:, None], atol=1e-8)
    assert model.objective_history_[-1] == pytest.approx(plain.objective(units * X, H, Z), rel=1e-8)


@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-3])
def test_stops_by_the_projected_gradient(tol):
    *_, (H, Z, done) = path = list(plain.nenmf_to_the_letter(X, H0, Z0, tol, 200))
    model = fit(init=(H0, Z0), tol=tol)
    assert done
    assert model.converged_
    assert model.n_iter_ == len(path) >= 10
    assert model.reconstruction_err_ == pytest.approx(np.linalg.norm(X - H @ Z), rel=1e-6)


def test_reaches_a_stationary_point():
    model = fit(tol=1e-6, max_iter=3000)
    assert model.converged_
    assert plain.kkt(X, model.layers_[0].representation, model.components_) < 1e-5
    history = model.objective_history_
    assert np.diff(history).max() <= 1e-9 * history[0]


def test_never_above_multiplicative_updates():
    for n_iter in (1, 3, 10, 40):
        ours, theirs = (fit(solver=solver, init=(H0, Z0), max_iter=n_iter) for solver in ("apg", "mu"))
        assert ours.reconstruction_err_ <= theirs.reconstruction_err_


@pytest.mark.parametrize("change", [sp.csr_array, np.float32], ids=["sparse", "float32"])
def test_every_form_of_data(change):
    one, other = fit(init=(H0, Z0), max_iter=5), fit(change(X), init=(H0, Z0), max_iter=5)
    assert_allclose(other.components_, one.components_, atol=1e-3 if change is np.float32 else 1e-9)
    assert other.components_.dtype == (np.float32 if change is np.float32 else np.float64)


def test_no_components_no_steps():
    F, n_steps = optimal_gradient(H0, np.zeros_like(H0), np.zeros((K, K)), 1e-3)
    assert np.array_equal(F, H0)
    assert n_steps == 0
    assert fit(np.zeros((N, P))).reconstruction_err_ == 0


def test_callback_stops_the_loop():
    calls = []
    model = fit(callback=lambda state: calls.append((state.iteration, state.objective)) or state.iteration == 3)
    assert [i for i, _ in calls] == [1, 2, 3]
    assert_allclose([value for _, value in calls], model.objective_history_)
    assert not model.converged_


def test_unconverged_fit_warns():
    with pytest.warns(UserWarning, match="NMF stopped at max_iter=2 before it converged"):
        fit(max_iter=2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"eta": 0.5}, 'eta=0.5 has no effect with solver="apg"'),
        ({"init": "svd"}, 'init="svd" gives components of any sign'),
        ({"loss": "kl"}, 'rule="published" is multiplicative'),
    ],
)
def test_bad_input_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        fit(**parameters)
