"""Fits in float32 of data with little noise against those in float64."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from laminar import NMF, SemiNMF

FLOOR = 1e-5  # about 80 machine epsilons: rounding of two factors, relative to the norm of X


def low_rank(model, noise, seed, n=300, p=50, k=5):
    rng = np.random.default_rng(seed)
    H = rng.random((n, k)) * (rng.random((n, k)) < 0.6)
    X = H @ (rng.random((k, p)) if model is NMF else rng.normal(size=(k, p)))
    E = rng.normal(size=X.shape)
    X += noise * np.linalg.norm(X) / np.linalg.norm(E) * E
    return np.maximum(X, 0) if model is NMF else X


def errors(model, X):
    """Relative errors in float64 and in float32, and whether the latter says that it converged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        double, single = (model(5, random_state=0).fit(X.astype(dtype)) for dtype in (np.float64, np.float32))
    size = np.linalg.norm(X)
    return double.reconstruction_err_ / size, single.reconstruction_err_ / size, single.converged_


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("noise", [1e-3, 1e-4])
def test_nmf_of_little_noise_reaches_float64(noise, seed):
    double, single, _ = errors(NMF, low_rank(NMF, noise, seed))
    assert single <= 1.01 * double


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", [3e-2, 1e-2, 1e-4, 1e-5, 1e-6])
@pytest.mark.parametrize("model", [NMF, SemiNMF])
def test_converged_means_as_low_as_float64(model, noise, seed):
    double, single, converged = errors(model, low_rank(model, noise, seed))
    assert not converged or single <= np.hypot(1.01 * double, FLOOR)
