"""`joint_codes`: codes of all views near their consensus, against a general optimiser."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from laminar.multiview.joint_codes import joint_codes

N, K, SIZES = 6, 3, (9, 7, 5)
LAMBDAS = {"equal": [0.3, 0.3, 0.3], "unequal": [0.1, 1.0, 0.4], "one zero": [0.0, 1.0, 0.4], "zero": [0.0] * 3}

rng = np.random.default_rng(0)
VIEWS = [rng.gamma(1.0, size=(N, p)) for p in SIZES]
BASES = [rng.dirichlet(np.ones(p), K).T for p in SIZES]
LINEAR = [X @ Z for X, Z in zip(VIEWS, BASES, strict=True)]
ALL = np.ones((N, 3), bool)
SOME = np.array([[1, 1, 1], [1, 0, 1], [0, 1, 0], [1, 0, 1], [1, 1, 0], [0, 0, 1]], bool)


@pytest.fixture(params=LAMBDAS)
def alpha(request):
    """How strongly each view is drawn to the consensus."""
    return np.array(LAMBDAS[request.param])


def objective(i, present, H, alpha):
    """Of sample i, its consensus being the weighted mean of the codes H of the views it has."""
    weights = alpha[present] / alpha[present].sum() if alpha[present].any() else np.full(len(present), 1 / len(present))
    mean = weights @ H
    fits = sum(((VIEWS[v][i] - BASES[v] @ h) ** 2).sum() for v, h in zip(present, H, strict=True))
    return fits + sum(alpha[v] * ((h - mean) ** 2).sum() for v, h in zip(present, H, strict=True))


@pytest.mark.parametrize("observed", [ALL, SOME], ids=["all", "some"])
def test_codes_are_minimiser(alpha, observed):
    codes, _mean = joint_codes(LINEAR, BASES, observed, alpha)
    for i in range(N):
        present = np.flatnonzero(observed[i])
        H = np.array([codes[v][i] for v in present])
        best = minimize(
            lambda h: objective(i, present, h.reshape(-1, K), alpha),  # noqa: B023
            np.full(H.size, 0.3),
            bounds=[(0, None)] * H.size,
            tol=1e-14,
        )
        assert objective(i, present, H, alpha) <= best.fun * (1 + 1e-8)


def test_consensus_is_weighted_mean(alpha):
    codes, mean = joint_codes(LINEAR, BASES, ALL, alpha)
    weights = alpha / alpha.sum() if alpha.any() else np.full(3, 1 / 3)
    assert_allclose(mean, sum(weight * H for weight, H in zip(weights, codes, strict=True)))


def test_missing_views_have_zero_codes(alpha):
    codes, _ = joint_codes(LINEAR, BASES, SOME, alpha)
    for v, H in enumerate(codes):
        assert (H[~SOME[:, v]] == 0).all()


def test_samples_are_coded_alone(alpha):
    together, _ = joint_codes(LINEAR, BASES, SOME, alpha)
    alone, _ = joint_codes([B[3:4] for B in LINEAR], BASES, SOME[3:4], alpha)
    for v in range(3):
        assert_allclose(alone[v], together[v][3:4], atol=1e-9)


def test_no_attraction_codes_views_alone():
    codes, _ = joint_codes(LINEAR, BASES, ALL, np.zeros(3))
    for v in range(3):
        (alone,), _ = joint_codes([LINEAR[v]], [BASES[v]], ALL[:, :1], np.zeros(1))
        assert_allclose(codes[v], alone, atol=1e-9)


def test_strong_attraction_gives_equal_codes():
    codes, mean = joint_codes(LINEAR, BASES, ALL, np.full(3, 1e8))
    for H in codes:
        assert_allclose(H, mean, atol=1e-5)
