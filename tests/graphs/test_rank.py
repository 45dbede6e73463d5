import numpy as np
import pytest
import scipy.sparse as sp

from laminar.graphs import KNN, Rank, as_graph

N = 60
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 4))


def weights(graph, X=X):
    return graph.build(X).tocsr().toarray()


def by_definition(X, k):
    distance = np.linalg.norm(X[:, None] - X, axis=2)
    A = np.zeros((len(X), len(X)))
    for i in range(len(X)):
        others = [j for j in np.argsort(distance[i], kind="stable") if j != i]
        for rank, j in enumerate(others[:k], start=1):
            A[i, j] = 1 / rank
    return (A + A.T) / 2


@pytest.mark.parametrize("k", [1, 5, N - 1])
def test_weights_are_those_of_the_definition(k):
    W = Rank(k).build(X)
    assert np.allclose(W.tocsr().toarray(), by_definition(X, k), atol=1e-15)
    assert np.allclose(W.degree, by_definition(X, k).sum(axis=1))


@pytest.mark.parametrize(
    ("n_samples", "n_clusters", "k"),
    [(60, 5, 6), (60, 6, 5), (60, 20, 5), (1100, 5, 50), (165, 15, 6), (60, None, 10), (4, 1, 3), (4, None, 3)],
)
def test_number_of_neighbours_by_default(n_samples, n_clusters, k):
    points = np.random.default_rng(1).normal(size=(n_samples, 3))
    expected = weights(Rank(k), points)
    assert np.array_equal(weights(Rank(n_clusters=n_clusters), points), expected)
    assert np.array_equal(weights(Rank(k, n_clusters=n_clusters), points), expected)


def test_symmetric_sparse_and_without_self_loops():
    operator = Rank(5).build(X)
    W = operator.tocsr()
    assert sp.issparse(W)
    assert W.nnz <= 2 * 5 * N
    assert abs(W - W.T).max() == 0
    assert not W.diagonal().any()
    assert np.allclose(operator.laplacian(np.ones(N)), 0, atol=1e-14)
    assert np.linalg.eigvalsh(np.diag(operator.degree) - W.toarray()).min() > -1e-12


def test_only_the_order_of_distances_counts():
    assert np.array_equal(weights(Rank(4), X), weights(Rank(4), 1e200 * X))
    assert np.array_equal(weights(Rank(4), X), weights(Rank(4), 7 - 0.1 * X))


def test_permuted_samples_give_the_permuted_graph():
    order = rng.permutation(N)
    assert np.allclose(weights(Rank(6), X[order]), weights(Rank(6))[np.ix_(order, order)], atol=1e-15)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, lambda X: X.astype(np.float32), np.asfortranarray])
def test_forms_of_the_data(form):
    assert np.allclose(weights(Rank(6), form(X)), weights(Rank(6)), atol=1e-15)


@pytest.mark.parametrize("n_features", [2, 30])  # a tree searches the first, matrix products the second
def test_equally_near_neighbours_are_ranked_in_order(n_features):
    W = weights(Rank(3), np.full((60, n_features), 0.1))
    assert np.allclose(W[0, :5], [0, (1 + 1) / 2, (1 / 2 + 1) / 2, (1 / 3 + 1) / 2, 1 / 2])
    assert np.array_equal(W, weights(Rank(3), np.full((60, n_features), 0.1)))


def test_named_added_and_multiplied():
    assert as_graph("rank") == Rank()
    both = (2 * Rank(3) + KNN(2)).build(X).tocsr().toarray()
    assert np.allclose(both, 2 * weights(Rank(3)) + weights(KNN(2)))


@pytest.mark.parametrize("graph", [Rank(N), Rank(0), Rank(-1)])
def test_number_of_neighbours_that_cannot_be(graph):
    with pytest.raises(ValueError, match=f"n_neighbors=.* must be at least 1 and below the number of samples, {N}"):
        graph.build(X)


def test_bad_parameters_and_data():
    with pytest.raises(ValueError, match="n_clusters must be at least 1; got 0"):
        Rank(n_clusters=0)
    with pytest.raises(ValueError, match="2 samples or more; X has 1"):
        Rank().build(X[:1])
    with pytest.raises(ValueError, match="contains NaN"):
        Rank().build(np.full((5, 2), np.nan))


def test_sparse_data_with_duplicate_entries_are_not_touched():
    X = sp.csr_array((np.array([1.0, 2.0, 3.0, 1.0]), np.array([1, 0, 0, 1]), np.array([0, 2, 3, 4])), shape=(3, 2))
    X.indices[:2] = [1, 1]
    before = X.indices.copy(), X.data.copy()
    Rank(1).build(X)
    np.testing.assert_array_equal(X.indices, before[0])
    np.testing.assert_array_equal(X.data, before[1])
