"""Linear layers: composition, least squares over their weights, canonical scale."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from laminar._engine.data.wrap import wrap
from laminar.deep.composition import (
    canonical,
    compose,
    is_narrow,
    keep_close,
    least_change,
    pretrain,
    regress,
    unit_basis,
)


def stack(sizes=(8, 5, 3), p=12, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(k, b)) for k, b in zip(sizes, (p, *sizes[:-1]), strict=True)]


def test_keep_close_is_many_sweeps_of_least_change():
    """Sweep by sweep as the mathematics writes it, with top codes that move: the result is one step at the end."""
    rng = np.random.default_rng(1)
    weights, X = stack(), rng.normal(size=(40, 12))
    swept = [Z.copy() for Z in weights]
    for _ in range(4):
        H = rng.uniform(size=(40, 3))
        for i in range(3):
            T = np.eye(3) if i == 2 else compose(swept[i + 1 :])[-1]
            P = np.eye(12) if i == 0 else compose(swept[:i])[-1]
            gap = X - H @ T @ swept[i] @ P
            swept[i] = swept[i] + np.linalg.pinv(H @ T) @ gap @ np.linalg.pinv(P)
    got = keep_close(weights, np.linalg.pinv(H) @ X)
    for new, expected in zip(got, swept, strict=True):
        assert_allclose(new, expected, atol=1e-8)
    assert_allclose(compose(got)[-1], np.linalg.pinv(H) @ X, atol=1e-8)
    assert np.linalg.matrix_rank(got[0]) == 8


def test_least_change_reaches_best_basis():
    rng = np.random.default_rng(2)
    X, H = rng.normal(size=(40, 12)), rng.uniform(size=(40, 3))
    got = least_change(stack(), H.T @ H, H.T @ X)
    assert_allclose(compose(got)[-1], np.linalg.pinv(H) @ X, atol=1e-8)


@pytest.mark.parametrize(("sizes", "narrow"), [((8, 5, 3), False), ((3,), False), ((2, 3), True), ((5, 2, 4), True)])
def test_narrow_means_hidden_rank_below_top(sizes, narrow):
    assert is_narrow(stack(sizes)) == narrow


def test_canonical_scale_keeps_products():
    rng = np.random.default_rng(3)
    weights = stack()
    codes = [rng.uniform(size=(20, k)) for k in (8, 5, 3)]
    new_codes, new_weights, sizes = canonical(codes, weights)
    for H, B, G, C, size in zip(codes, compose(weights), new_codes, compose(new_weights), sizes, strict=True):
        assert_allclose(G @ C, H @ B, atol=1e-10)
        assert_allclose(np.linalg.norm(C, axis=1), 1)
        assert_allclose(size, np.linalg.norm(B, axis=1))


def test_regression_equals_numpy():
    rng = np.random.default_rng(4)
    H, Y = rng.uniform(size=(50, 4)), rng.normal(size=(50, 7))
    expected = np.linalg.lstsq(H, Y, rcond=None)[0]
    assert_allclose(regress(H, Y), expected, atol=1e-10)
    data = wrap(Y)
    assert_allclose(regress(H, data) * data.scale, expected, atol=1e-10)


def test_unit_basis_keeps_zero_components():
    weights = stack()
    weights[1][2] = 0
    units, sizes = unit_basis(weights)
    assert_allclose(compose(units)[1][2], 0)
    assert sizes[1][2] == 0
    assert all(np.isfinite(Z).all() for Z in units)


def test_pretraining_factorises_codes_in_distances_of_data():
    """Whatever basis the codes below are known in: the layer above is fitted to the same distances."""
    X, seen = np.random.default_rng(5).normal(size=(30, 6)), []

    def codes(data, k):
        seen.append(data)
        return np.random.default_rng(k).uniform(size=(data.shape[0], k))

    H, Z = pretrain(wrap(X), (5, 3), codes)
    below = seen[1].product(np.eye(seen[1].shape[1])) * seen[1].scale
    assert_allclose(below @ below.T, H[0] @ Z[0] @ Z[0].T @ H[0].T, atol=1e-9)
    assert_allclose(Z[1], np.linalg.lstsq(H[1], H[0], rcond=None)[0], atol=1e-9)
