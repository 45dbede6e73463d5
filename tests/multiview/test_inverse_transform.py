"""`inverse_transform` of models with shared codes: every view in its own units."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls
from sklearn.base import clone

from laminar import MultiViewDeepNMF, MultiViewSemiNMF

rng = np.random.default_rng(0)
N, SIZES, K = 60, (9, 7), 3
H0 = rng.dirichlet(np.full(K, 0.4), size=N)
UNITS = [40.0, 0.02]
VIEWS = [
    unit * H0 @ rng.random((K, p)) + 0.01 * unit * rng.random((N, p)) for unit, p in zip(UNITS, SIZES, strict=True)
]
MODELS = [
    MultiViewDeepNMF((6, 4), max_iter=300, random_state=0),
    MultiViewDeepNMF((6, 4), rule="published", gamma=2, random_state=0),
    MultiViewSemiNMF(4, random_state=0),
    MultiViewSemiNMF(4, normalize=False, random_state=0),
    MultiViewDeepNMF((6, 4), normalize=False, random_state=0),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=repr)
normalising = pytest.mark.parametrize("model", MODELS[:3], ids=repr)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def codes(model):
    return model.layers_[-1].representation


def split(X):
    return np.split(X, np.cumsum(SIZES)[:-1], axis=1)


def unit_rows(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def relative(X, Y):
    return np.linalg.norm(X - Y) / np.linalg.norm(X)


# Units


@normalising
def test_length_is_least_squares(model):
    fitted = clone(model).fit(VIEWS)
    for v, (X, back) in enumerate(zip(VIEWS, split(fitted.inverse_transform(codes(fitted))), strict=True)):
        view = fitted.views_[v]
        R = np.array([view.mean + h @ view.layers[-1].components for h in codes(fitted)])  # samples of unit length
        s = sum(x @ r for x, r in zip(X, R, strict=True)) / sum(r @ r for r in R)
        np.testing.assert_allclose(view.length, s, rtol=1e-9)
        np.testing.assert_allclose(back, s * R, rtol=1e-9, atol=1e-12 * s)
        assert abs(np.vdot(X - back, back)) < 1e-8 * np.vdot(X, X)


@normalising
def test_samples_of_equal_length_come_back(model):
    """Then the relative error is that of the samples of unit length, whose half square the model minimises."""
    views = [unit * unit_rows(X) for unit, X in zip(UNITS, VIEWS, strict=True)]
    fitted = clone(model).fit(views)
    for v, (X, back) in enumerate(zip(views, split(fitted.inverse_transform(codes(fitted))), strict=True)):
        view = fitted.views_[v]
        of_units = relative(unit_rows(X), view.mean + codes(fitted) @ view.layers[-1].components)
        assert relative(X, back) <= of_units * (1 + 1e-9)
        assert relative(X, back) >= 0.9 * of_units


@every_model
def test_training_views_come_back(model):
    fitted = clone(model).fit(VIEWS)
    assert max(map(relative, VIEWS, split(fitted.inverse_transform(fitted.transform(VIEWS))))) < 0.25


@every_model
def test_mean_is_beaten(model):
    fitted = clone(model).fit(VIEWS)
    for X, back in zip(VIEWS, split(fitted.inverse_transform(codes(fitted))), strict=True):
        assert relative(X, back) < 0.6 * relative(X, X.mean(axis=0) * np.ones((N, 1)))


# Scale


@normalising
@pytest.mark.parametrize("factors", [(2.0**660, 2.0**-660), (2.0**-660, 1.0), (3.0, 1e-7)], ids=str)  # about 1e199
def test_views_have_units_of_their_own(model, factors):
    fitted = clone(model).fit(VIEWS)
    scaled = clone(model).fit([factor * X for factor, X in zip(factors, VIEWS, strict=True)])
    pairs = zip(
        split(fitted.inverse_transform(codes(fitted))), split(scaled.inverse_transform(codes(scaled))), strict=True
    )
    for factor, (X, Y) in zip(factors, pairs, strict=True):
        assert np.isfinite(Y).all()
        np.testing.assert_allclose(Y / factor, X, rtol=1e-4, atol=1e-5 * np.abs(X).max())


@normalising
def test_single_precision_is_kept(model):
    fitted = clone(model).fit([X.astype(np.float32) for X in VIEWS])
    assert fitted.inverse_transform(codes(fitted)).dtype == np.float32


@normalising
def test_sparse_views_are_dense_ones(model):
    dense = clone(model).fit(VIEWS)
    lengths = [view.length for view in clone(model).fit([sp.csr_array(X) for X in VIEWS]).views_.values()]
    np.testing.assert_allclose(lengths, [view.length for view in dense.views_.values()], rtol=1e-3)


# Missing views


@every_model
def test_missing_view_is_imputed(model):
    train, new = [X[:45] for X in VIEWS], [X[45:] for X in VIEWS]
    fitted = clone(model).fit(train)
    imputed = split(fitted.inverse_transform(fitted.transform([new[0], None])))[1]
    mean = train[1].mean(axis=0) * np.ones((15, 1))
    assert relative(new[1], imputed) < 0.7 * relative(new[1], mean)


def test_missing_rows_do_not_count():
    observed = np.ones((N, 2), dtype=bool)
    observed[:20, 1] = False
    fitted = MultiViewSemiNMF(4, random_state=0).fit(VIEWS, observed=observed)
    view, H = fitted.views_[1], codes(fitted)[20:]
    R = view.mean + H @ view.layers[-1].components
    np.testing.assert_allclose(view.length, np.vdot(VIEWS[1][20:], R) / np.vdot(R, R), rtol=1e-9)
    imputed = split(fitted.inverse_transform(codes(fitted)))[1][:20]
    mean = VIEWS[1][20:].mean(axis=0) * np.ones((20, 1))
    assert relative(VIEWS[1][:20], imputed) < 0.7 * relative(VIEWS[1][:20], mean)


@pytest.mark.parametrize("normalize", [True, False])
def test_codes_of_lacking_samples_are_near_mean_code(normalize):
    """One non-negative least-squares problem a sample, with the ridge around the mean code."""
    fitted = MultiViewDeepNMF((6, 4), normalize=normalize, random_state=0).fit(VIEWS)
    view, m = fitted.views_[0], codes(fitted).mean(axis=0)
    Psi, w = view.layers[-1].components, view.weight
    ridge = 0.1 / len(Psi) * w * np.sum(Psi**2)
    for i, h in enumerate(fitted.transform([VIEWS[0][:5], None])):
        x = VIEWS[0][i] / (np.linalg.norm(VIEWS[0][i]) if normalize else 1)
        A = np.vstack([np.sqrt(w) * Psi.T, np.sqrt(ridge) * np.eye(len(Psi))])
        expected, _ = nnls(A, np.concatenate([np.sqrt(w) * x, np.sqrt(ridge) * m]))
        np.testing.assert_allclose(h, expected, atol=1e-8 * np.abs(m).max())


def test_missing_view_has_right_length():
    """Codes of the few features known, drawn to zero instead of the mean code, would reconstruct too little."""
    signed = (H0 - H0.mean(axis=0)) @ rng.normal(size=(K, 12)) + 0.1 * rng.normal(size=(N, 12))
    fitted = MultiViewDeepNMF((9, 9), graph=None, random_state=0).fit([VIEWS[0], signed])
    imputed = fitted.inverse_transform(fitted.transform([None, signed]))[:, :9]
    assert 0.85 < np.linalg.norm(imputed) / np.linalg.norm(VIEWS[0]) < 1.15
