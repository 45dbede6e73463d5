"""Laplacian eigenmaps: the generalised eigenvalue problem, constraints, graphs that are not connected."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.linalg import eigh
from sklearn.manifold import spectral_embedding

from laminar.graphs import KNN, Chain, Labels, laplacian_eigenmaps

rng = np.random.default_rng(0)


def ring(n):
    angle = 2 * np.pi * np.arange(n) / n
    return np.c_[np.cos(angle), np.sin(angle)] * np.linspace(1, 1.2, n)[:, None]


@pytest.mark.parametrize("graph", [KNN(4), KNN(6, weight="heat"), Chain() + 0.5 * KNN(3)], ids=repr)
@pytest.mark.parametrize("n_samples", [40, 320])  # decomposed at once, and by Lanczos iterations
def test_solutions_of_the_generalised_eigenvalue_problem(graph, n_samples):
    """Belkin and Niyogi, sec. 3: L f = lambda D f, the constant left out, F^T D F = I."""
    X = ring(n_samples)
    W = graph.build(X).tocsr().toarray()
    D = np.diag(W.sum(axis=1))
    expected = eigh(D - W, D, eigvals_only=True)[1:4]
    F = laplacian_eigenmaps(graph, X, 3)
    assert_allclose(F.T @ D @ F, np.eye(3), atol=1e-6)
    assert_allclose(F.T @ D @ np.ones(n_samples), 0, atol=1e-6)
    assert_allclose(np.diag(F.T @ (D - W) @ F), expected, atol=1e-6)
    assert_allclose((D - W) @ F, D @ F * expected, atol=1e-5)


def test_no_embedding_is_smoother():
    X = ring(30)
    W = KNN(4).build(X).tocsr().toarray()
    d = W.sum(axis=1)
    F = laplacian_eigenmaps(KNN(4), X, 2)

    def cost(F):
        return sum(W[i, j] * np.sum((F[i] - F[j]) ** 2) for i in range(30) for j in range(30)) / 2

    for _ in range(20):
        G = F + 0.05 * rng.normal(size=F.shape)
        G -= d @ G / d.sum()
        G = G @ np.linalg.inv(np.linalg.cholesky(G.T @ (d[:, None] * G))).T  # G^T D G = I
        assert cost(G) > cost(F)


def test_equals_scikit_learn_up_to_scale():
    X = rng.normal(size=(60, 3))
    F = laplacian_eigenmaps(KNN(8), X, 2)
    other = spectral_embedding(KNN(8).build(X).tocsr().toarray(), n_components=2, random_state=0)
    for ours, theirs in zip(F.T, other.T, strict=True):
        assert abs(ours @ theirs) == pytest.approx(np.linalg.norm(ours) * np.linalg.norm(theirs), rel=1e-4)


def test_components_of_a_graph_come_first():
    X = np.r_[rng.normal(size=(12, 2)), 100 + rng.normal(size=(15, 2))]
    F = laplacian_eigenmaps(KNN(3), X, 1).ravel()
    assert np.ptp(F[:12]) < 1e-9
    assert np.ptp(F[12:]) < 1e-9
    assert F[0] * F[-1] < 0


def test_weights_given_and_isolated_samples():
    W = sp.csr_array(([1.0, 1.0, 2.0, 2.0], ([0, 1, 1, 2], [1, 0, 2, 1])), shape=(4, 4))
    F = laplacian_eigenmaps(W, np.zeros((4, 1)), 1)
    assert F[3] == 0
    assert_allclose(F, laplacian_eigenmaps(W.toarray(), np.zeros((4, 1)), 1))


@pytest.mark.parametrize(
    ("graph", "n_components", "sentence"),
    [
        (KNN(2), 0, "n_components=0 must be at least 1"),
        (KNN(2), 9, "below the number of samples, 9"),
        ("knn", 2, "must be a graph of laminar.graphs, as KNN"),
        (np.zeros((9, 9)), 2, "the graph has no edges"),
        (Labels(), 2, "a graph of labels needs y"),
    ],
)
def test_what_cannot_be_embedded_is_said(graph, n_components, sentence):
    with pytest.raises(ValueError, match=sentence):
        laplacian_eigenmaps(graph, ring(9), n_components)
