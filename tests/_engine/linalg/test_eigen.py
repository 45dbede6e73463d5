"""Leading eigenvectors: optimality, multiple eigenvalues, and nothing formed."""

import numpy as np
import pytest
import scipy.sparse as sp

from laminar._base.spectral import normalized
from laminar._engine.linalg.eigen import Operator, filtered_eigenvectors, leading_eigenvectors, plus_low_rank
from laminar.graphs import KNN

rng = np.random.default_rng(0)


def leading(A, k, seed=0):
    return leading_eigenvectors(A, k, np.random.RandomState(seed))


def random_symmetric(n):
    A = rng.normal(size=(n, n))
    return (A + A.T) / np.sqrt(8 * n)


def pieces(sizes, density=0.3):
    """The normalised affinity of a graph in pieces, as a sparse array."""
    blocks = []
    for size in sizes:
        W = np.triu(rng.random((size, size)) < density, 1) + np.eye(size, k=1)
        W = np.minimum(W + W.T, 1)
        scale = W.sum(axis=1) ** -0.5
        blocks.append(scale[:, None] * W * scale)
    return sp.csr_array(sp.block_diag(blocks))


def check(A, values, vectors):
    dense = A @ np.eye(A.shape[0])
    k = len(values)
    assert np.allclose(values, np.linalg.eigvalsh(dense)[::-1][:k], atol=1e-9)
    assert np.allclose(vectors.T @ vectors, np.eye(k), atol=1e-9)
    assert np.abs(dense @ vectors - vectors * values).max() < 1e-6


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda A: Operator(len(A), lambda x: A @ x)])
@pytest.mark.parametrize(("n", "k"), [(2, 1), (2, 2), (40, 3), (40, 40), (301, 1), (350, 7), (310, 90)])
def test_they_are_eigenvectors(n, k, form):
    A = form(random_symmetric(n))
    check(A, *leading(A, k))


@pytest.mark.parametrize("sizes", [[200] * 3, [30] * 12, [15, 20, 25, 300, 40], [400] * 2])
@pytest.mark.parametrize("more", [0, 3])
def test_no_copy_of_a_multiple_eigenvalue_is_missed(sizes, more):
    N = pieces(sizes)
    values, vectors = leading(N, len(sizes) + more)
    check(N, values, vectors)
    assert np.allclose(values[: len(sizes)], 1)


def test_every_eigenvalue_multiple():
    same = pieces([45])
    N = sp.csr_array(sp.block_diag([same] * 8))
    check(N, *leading(N, 20))


def test_few_distinct_eigenvalues():
    """The search space of a Lanczos method is exhausted at once."""
    block = (np.ones((70, 70)) - np.eye(70)) / 69
    N = sp.csr_array(sp.block_diag([block] * 5))
    first, again = leading(N, 6), leading(N, 6)
    check(N, *first)
    assert np.array_equal(first[1], again[1])


def test_flat_spectrum():
    A = np.diag(0.01 * np.linspace(0, 1, 400))
    A[0, 0] = 1
    check(A, *leading(A, 5))


def test_nothing_is_formed_where_that_is_large():
    n = 6000
    diagonal = np.concatenate([[1, 1, 0.9], rng.uniform(-1, 0.5, n - 3)])
    order = rng.permutation(n)
    values, vectors = leading(sp.diags_array(diagonal[order], format="csr"), 3)
    assert np.allclose(values, [1, 1, 0.9])
    assert np.allclose((vectors[diagonal[order] == 1] ** 2).sum(), 2)


def test_same_seed_same_vectors_and_signs_do_not_depend_on_it():
    A = random_symmetric(350)
    first, again, other = leading(A, 4)[1], leading(A, 4)[1], leading(A, 4, seed=1)[1]
    assert np.array_equal(first, again)
    assert np.allclose(first, other, atol=1e-5)
    assert (first[np.abs(first).argmax(axis=0), range(4)] > 0).all()


def test_low_rank_update_is_the_sum():
    A, B, weights, x = random_symmetric(9), rng.normal(size=(9, 3)), rng.normal(size=3), rng.normal(size=(9, 2))
    expected = A + B @ np.diag(weights) @ B.T
    assert np.allclose(plus_low_rank(A, B, weights) @ x, expected @ x)
    assert np.allclose(plus_low_rank(sp.csr_array(A), B, weights) @ x[:, 0], expected @ x[:, 0])
    assert np.allclose(plus_low_rank(A, B, 2.0) @ x, (A + 2 * B @ B.T) @ x)
    assert np.allclose(plus_low_rank(A, B[:, :0], 2.0) @ x, A @ x)


# With a Chebyshev filter


def test_filter_finds_every_copy_of_a_multiple_eigenvalue():
    A = pieces([60] * 9)
    values, vectors = filtered_eigenvectors(A, 12, np.random.RandomState(0))
    assert np.allclose(values[:9], 1, atol=1e-9)
    assert np.allclose(vectors.T @ vectors, np.eye(12), atol=1e-9)
    assert np.abs(A @ vectors[:, :9] - vectors[:, :9]).max() < 1e-6


def test_filtered_kernel_is_that_of_all_eigenvectors():
    points = np.random.default_rng(1).normal(size=(900, 3))
    A = normalized(KNN(5).build(points).tocsr())
    dense = np.linalg.eigh(A.toarray())
    (mu, V), expected = filtered_eigenvectors(A, 100, np.random.RandomState(0)), dense[0][::-1][:100]
    K, L = ((W / (1 + 10 * (1 - w))) @ W.T for w, W in ((mu, V), (expected, dense[1][:, ::-1][:, :100])))
    assert np.abs(mu - expected)[:50].max() < 1e-4
    assert np.linalg.norm(K - L) < 0.03 * np.linalg.norm(L)


def test_filter_of_few_samples_is_exact():
    A = pieces([40, 30])
    check(A, *filtered_eigenvectors(A, 20, np.random.RandomState(0)))
