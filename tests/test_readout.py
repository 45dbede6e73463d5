import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from laminar.readout import Clusters, unit_rows, whitener

rng = np.random.default_rng(0)
LABELS = np.repeat([0, 1, 2], 30)
H = 0.2 * rng.random((90, 5)) + rng.gamma(5.0, size=(3, 5))[LABELS] * rng.uniform(0.5, 2, (90, 1))


def same_partition(a, b):
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


@pytest.mark.parametrize("scale", [1e-200, 1e-20, 1, 1e20, 1e200])
def test_whitened_codes_are_orthonormal_in_any_unit(scale):
    E = (scale * H) @ whitener(scale * H)
    assert_allclose(E.T @ E, np.eye(5), atol=1e-8)


def test_whitened_codes_know_the_span_alone():
    S = rng.normal(size=(5, 5))
    one, other = H @ whitener(H), H @ S @ whitener(H @ S)
    assert_allclose(one @ one.T, other @ other.T, atol=1e-8)


def test_dependent_codes_lose_their_null_space():
    doubled = np.hstack([H, H[:, :2]])
    W = whitener(doubled)
    assert W.shape == (7, 5)
    assert_allclose((doubled @ W).T @ (doubled @ W), np.eye(5), atol=1e-6)
    assert whitener(np.zeros((4, 3))).shape == (3, 0)


def test_float32_codes_are_whitened_in_double_precision():
    W = whitener(H.astype(np.float32))
    assert W.dtype == np.float64
    assert_allclose(np.abs(W), np.abs(whitener(H)), rtol=1e-2, atol=1e-4)


def test_unit_rows():
    E = rng.normal(size=(6, 3))
    E[2] = 0
    out = unit_rows(E)
    assert_allclose(np.linalg.norm(out, axis=1), [1, 1, 0, 1, 1, 1])
    assert_allclose(out[0] * np.linalg.norm(E[0]), E[0])


def test_clusters_are_found_whatever_the_length_of_a_sample():
    assert same_partition(Clusters(H, 0).predict(H, 3), LABELS)
    lengths = rng.uniform(1, 100, (90, 1))
    assert_array_equal(Clusters(H, 0).predict(lengths * H, 3), Clusters(H, 0).predict(H, 3))


@pytest.mark.parametrize("seed", range(5))
def test_a_change_of_basis_changes_no_cluster(seed):
    """Codes are known up to H S: a solver may land on any S, a clustering must not depend on it."""
    S = np.random.default_rng(seed).normal(size=(5, 5))
    one = Clusters(H, 0).predict(H, 3)
    assert same_partition(Clusters(H @ S, 0).predict(H @ S, 3), one)
    assert same_partition(Clusters(H * 10.0 ** np.arange(-5, 0), 0).predict(H * 10.0 ** np.arange(-5, 0), 3), one)


def test_clusters_are_fitted_once_and_remembered():
    clusters = Clusters(H, random_state=None)
    first = clusters.predict(H, 4)
    clusters.predict(H, 2)
    assert_array_equal(clusters.predict(H, 4), first)
    assert_array_equal(clusters.predict(H[::-1], 4), first[::-1])


def test_zero_codes_are_one_cluster():
    zero = np.zeros((6, 3))
    assert_array_equal(Clusters(zero, 0).predict(zero, 1), np.zeros(6))
    assert Clusters(H, 0).predict(np.zeros((2, 5)), 3).shape == (2,)


def test_more_clusters_than_samples():
    with pytest.raises(ValueError, match=r"n_clusters=4 is more than the 3 samples .* ask for fewer"):
        Clusters(H[:3], 0).predict(H[:3], 4)
