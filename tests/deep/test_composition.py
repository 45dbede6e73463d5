"""Linear layers: composition, least squares over their weights, canonical scale."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import lstsq

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
    got = least_change(stack(), {2: H.T @ H}, {2: H.T @ X})
    assert_allclose(compose(got)[-1], np.linalg.pinv(H) @ X, atol=1e-8)


def several(fitted, sizes=(5, 4, 3), p=6, ridge=0.4, seed=2):
    """Weights, and Gram matrices and products of the codes of the fitted layers, with a ridge."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, p))
    codes = {i: rng.uniform(size=(30, sizes[i])) for i in fitted}
    ridges = {i: ridge * rng.uniform(size=sizes[i]) for i in fitted}
    grams = {i: H.T @ H + np.diag(ridges[i]) for i, H in codes.items()}
    return X, codes, ridges, stack(sizes, p), grams, {i: H.T @ X for i, H in codes.items()}


def value_of(X, codes, ridges, weights):
    """The objective of docs: half the squared errors, and half the ridges on the lengths of basis vectors."""
    bases = compose(weights)
    fits = sum(((X - H @ bases[i]) ** 2).sum() for i, H in codes.items())
    return (fits + sum(r @ (bases[i] ** 2).sum(1) for i, r in ridges.items())) / 2


@pytest.mark.parametrize("fitted", [(2,), (0, 2), (0, 1, 2), (1, 2)], ids=str)
@pytest.mark.parametrize("sizes", [(5, 4, 3), (3, 4, 5), (8, 2, 4)], ids=str)
def test_least_change_is_nearest_minimiser(fitted, sizes):
    """One weight after the other, by least squares over its entries, each in units of its curvature."""
    X, codes, ridges, weights, grams, products = several(fitted, sizes)
    expected, p = [Z.copy() for Z in weights], X.shape[1]
    for i in range(3):
        P = compose(expected[:i])[-1] if i else np.eye(p)
        rows, targets = [], []
        for j in (j for j in fitted if j >= i):
            T = np.eye(len(expected[i]))
            for Z in expected[i + 1 : j + 1]:
                T = Z @ T
            # Rows of codes, and of the roots of the ridges, whose target is zero; vec(A Z P) = (A kron P^T) vec(Z).
            A, Y = np.r_[codes[j], np.diag(np.sqrt(ridges[j]))] @ T, np.r_[X, np.zeros((len(ridges[j]), p))]
            rows.append(np.kron(A, P.T))
            targets.append((Y - A @ expected[i] @ P).ravel())
        M = np.concatenate(rows)
        curvature = np.linalg.norm(M, axis=0)
        # lstsq has the solution of least norm: the least change.
        move = lstsq(M / curvature, np.concatenate(targets), cond=1e-9)[0] / curvature
        expected[i] = expected[i] + move.reshape(expected[i].shape)
    got = least_change(weights, grams, products)
    for new, plain in zip(got, expected, strict=True):
        assert_allclose(new, plain, atol=1e-7)
    assert value_of(X, codes, ridges, got) < value_of(X, codes, ridges, weights)


def test_least_change_leaves_layers_above_the_fitted_ones():
    X, codes, ridges, weights, grams, products = several((1,))
    got = least_change(weights, grams, products)
    assert_array_equal(got[2], weights[2])
    assert value_of(X, codes, ridges, got) < value_of(X, codes, ridges, weights)


def test_least_change_keeps_rank_of_hidden_layers():
    *_, weights, grams, products = several((2,), (8, 5, 3), 12)
    got = least_change(weights, grams, products)
    assert [np.linalg.matrix_rank(Z) for Z in got] == [8, 5, 3]
    for Z, before in zip(got[1:], weights[1:], strict=True):  # Z_1 alone reaches the best basis
        assert_allclose(Z, before, atol=1e-9)


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

    def codes(data, i):
        seen.append(data)
        return np.random.default_rng(i).uniform(size=(data.shape[0], (5, 3)[i]))

    H, Z = pretrain(wrap(X), 2, codes)
    below = seen[1].product(np.eye(seen[1].shape[1])) * seen[1].scale
    assert_allclose(below @ below.T, H[0] @ Z[0] @ Z[0].T @ H[0].T, atol=1e-9)
    assert_allclose(Z[1], np.linalg.lstsq(H[1], H[0], rcond=None)[0], atol=1e-9)
