import numpy as np
import pytest
from numpy.testing import assert_allclose

from laminar._engine.data.matrix import wrap
from laminar.deep.composition import canonical, compose, is_narrow, keep_close, least_change, regress
from laminar.deep.rotation import nonnegative_rotation
from laminar.graphs import KNN
from laminar.graphs.smoothing import smooth


def stack(sizes=(8, 5, 3), p=12, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(k, b)) for k, b in zip(sizes, (p, *sizes[:-1]), strict=True)]


def test_keep_close_is_the_rule_of_least_change_after_any_number_of_sweeps():
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


def test_least_change_reaches_the_best_basis():
    rng = np.random.default_rng(2)
    X, H = rng.normal(size=(40, 12)), rng.uniform(size=(40, 3))
    got = least_change(stack(), H.T @ H, H.T @ X)
    assert_allclose(compose(got)[-1], np.linalg.pinv(H) @ X, atol=1e-8)


@pytest.mark.parametrize(("sizes", "narrow"), [((8, 5, 3), False), ((3,), False), ((2, 3), True), ((5, 2, 4), True)])
def test_narrow(sizes, narrow):
    assert is_narrow(stack(sizes)) == narrow


def test_canonical_keeps_the_products():
    rng = np.random.default_rng(3)
    weights = stack()
    codes = [rng.uniform(size=(20, k)) for k in (8, 5, 3)]
    new_codes, new_weights, sizes = canonical(codes, weights)
    for H, B, G, C, size in zip(codes, compose(weights), new_codes, compose(new_weights), sizes, strict=True):
        assert_allclose(G @ C, H @ B, atol=1e-10)
        assert_allclose(np.linalg.norm(C, axis=1), 1)
        assert_allclose(size, np.linalg.norm(B, axis=1))


def test_regress():
    rng = np.random.default_rng(4)
    H, Y = rng.uniform(size=(50, 4)), rng.normal(size=(50, 7))
    expected = np.linalg.lstsq(H, Y, rcond=None)[0]
    assert_allclose(regress(H, Y), expected, atol=1e-10)
    data = wrap(Y)
    assert_allclose(regress(H, data) * data.scale, expected, atol=1e-10)


# ---- smoothing ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strength", [0.0, 1.0, 30.0])
def test_smoothing_is_the_dense_solution(strength):
    rng = np.random.default_rng(0)
    C = rng.normal(size=(60, 4))
    graph = KNN(4).build(C)
    W = graph.tocsr().toarray()
    d = W.sum(1)
    N = W / np.sqrt(d) / np.sqrt(d)[:, None]
    expected = np.linalg.solve((1 + strength) * np.eye(60) - strength * N, C)
    assert_allclose(smooth(graph, C, strength), expected, atol=1e-6)


def test_rotation_goes_down_and_keeps_distances():
    rng = np.random.default_rng(1)
    planted = rng.gamma(1.0, size=(100, 4)) * (rng.random((100, 4)) < 0.4)
    R = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    H, history, converged = nonnegative_rotation(planted @ R, np.random.RandomState(0), n_starts=4)
    assert (H >= 0).all()
    assert converged == (len(history) < 150)
    assert np.diff(history).max() <= 1e-10
    assert history[-1] < 0.05 * history[0]
