import numpy as np
import pytest
from scipy.optimize import nnls

from laminar.attributes.simplex_codes import SimplexCoder, simplex_directions

rng = np.random.default_rng(0)
MEANS = 4 * rng.normal(size=(6, 5))
T = MEANS[rng.integers(0, 6, 200)] + rng.normal(size=(200, 5))


def explained(T, H, Z):
    return 1 - ((T - H @ Z) ** 2).sum() / (T**2).sum()


@pytest.mark.parametrize("data", [T, T[:3], T * (np.arange(5) < 2), 0 * T, T[:, :1]])
def test_a_frame_is_a_regular_simplex(data):
    A, d = simplex_directions(data), data.shape[1]
    np.testing.assert_allclose(A.T @ A, np.eye(d), atol=1e-10)
    np.testing.assert_allclose(A.sum(0), 0, atol=1e-7)
    np.testing.assert_allclose(A @ A.T, np.eye(d + 1) - 1 / (d + 1), atol=1e-7)


def test_every_step_makes_more_positive():
    energy = [(np.maximum(T @ simplex_directions(T, max_steps=i, tol=0).T, 0) ** 2).sum() for i in range(20)]
    assert (np.diff(energy) >= -1e-9 * energy[0]).all()
    assert energy[-1] > 1.1 * energy[0]


def test_clusters_find_their_corners():
    planted = np.eye(6) - 1 / 6
    corners = np.repeat(planted @ np.linalg.svd(planted)[0][:, :5], 10, axis=0)
    turn = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    points = (corners + 0.02 * rng.normal(size=corners.shape)) @ turn
    nearest = np.maximum(points @ simplex_directions(points, max_steps=500, tol=0).T, 0).argmax(1)
    assert len(set(zip(nearest, np.repeat(np.arange(6), 10), strict=True))) == 6


def test_more_sweeps_explain_more_until_all_is():
    coders = [SimplexCoder(6, sweeps=s).fit(T) for s in (0, 1, 3, 300)]
    parts = [explained(T, coder.code(T), coder.weights) for coder in coders]
    assert (np.diff(parts) > 0).all()
    assert parts[0] > 0.8
    best = sum(nnls(coders[0].weights.T, t)[1] ** 2 for t in T)
    assert parts[-1] == pytest.approx(1 - best / (T**2).sum(), abs=1e-4)
    assert np.mean(coders[0].code(T) == 0) > np.mean(coders[2].code(T) == 0)


def test_samples_are_coded_by_themselves():
    coder = SimplexCoder(6).fit(T)
    np.testing.assert_allclose(np.vstack([coder.code(t[None]) for t in T[:20]]), coder.code(T)[:20], atol=1e-10)
    assert (coder.code(-1e6 * T) >= 0).all()


def test_codes_keep_the_precision_and_the_units():
    coder = SimplexCoder(6).fit(T.astype(np.float32))
    assert coder.code(T.astype(np.float32)).dtype == coder.weights.dtype == np.float32
    np.testing.assert_allclose(
        SimplexCoder(6).fit(1e3 * T).code(1e3 * T), 1e3 * SimplexCoder(6).fit(T).code(T), rtol=1e-6
    )


def test_features_of_nothing_have_codes_of_nothing():
    coder = SimplexCoder(6).fit(0 * T)
    assert not coder.code(0 * T).any()
    assert np.isfinite(coder.code(T)).all()


def test_one_code_holds_one_side():
    H = SimplexCoder(1).fit(T[:, :1]).code(T[:, :1])
    assert H.shape == (200, 1)
    assert 0 < np.mean(H > 0) < 1
