import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from laminar.nmf import embedding
from laminar.nmf.embedding import Embedding

rng = np.random.default_rng(0)
X, NEW = rng.normal(size=(40, 6)), rng.normal(size=(7, 6))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("kernel", "parameters"),
    [("linear", {}), ("rbf", {"gamma": 0.5}), ("poly", {"degree": 2, "gamma": 1.0, "coef0": 1.0}), ("cosine", {})],
)
def test_inner_products_are_the_kernels(form, kernel, parameters):
    embed = Embedding(kernel, parameters)
    E = embed.fit(form(X))
    K = embedding.pairwise_kernels(X, metric=kernel, **parameters)
    np.testing.assert_allclose(E @ E.T, K, atol=1e-9 * K.max())
    np.testing.assert_allclose(embed.transform(form(X)), E, atol=1e-6)
    new = embedding.pairwise_kernels(NEW, X, metric=kernel, **parameters)
    np.testing.assert_allclose(embed.transform(form(NEW)) @ E.T, new, atol=1e-6 * K.max())


def test_as_many_coordinates_as_dimensions():
    assert Embedding("linear", {}).fit(X).shape == (40, 6)
    assert Embedding("linear", {}).fit(np.repeat(X[:3], 5, axis=0)).shape == (15, 3)
    assert Embedding("poly", {"degree": 2, "gamma": None, "coef0": 1}).fit(X).shape == (40, 28)
    assert Embedding("linear", {}).fit(np.zeros((5, 2))).tolist() == [[0.0]] * 5


def test_a_function_and_a_matrix():
    gamma = 0.5
    K, E = rbf_kernel(X, gamma=gamma), Embedding("rbf", {"gamma": gamma}).fit(X)

    def rbf(x, y):
        return np.exp(-gamma * ((x - y) ** 2).sum())

    np.testing.assert_allclose(Embedding(rbf, {"gamma": 9}).fit(X), E, atol=1e-12)
    given = Embedding("precomputed", {})
    np.testing.assert_allclose(given.fit(K), E, atol=1e-12)
    np.testing.assert_allclose(given.transform(rbf_kernel(NEW, X, gamma=gamma)) @ E.T, rbf_kernel(NEW, X, gamma), 1e-7)
    np.testing.assert_allclose(given.transform(sp.csr_array(K)), E, atol=1e-9)


def test_single_precision_is_kept_and_not_taken_for_dimensions():
    E = Embedding("linear", {}).fit(X.astype(np.float32))
    assert E.dtype == np.float32
    assert E.shape == (40, 6)
    given = Embedding("precomputed", {})
    E = given.fit(linear_kernel(X).astype(np.float32))
    assert E.shape == (40, 6)
    assert given.transform(linear_kernel(X).astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.eye(3)[:2], r"a square X; got \(2, 3\)"),
        (np.diag([1.0, np.inf]), "gave NaN or infinity: scale X"),
        (np.array([[1.0, 0.5], [0.1, 1.0]]), r"not symmetric: use \(K [+] K.T\) / 2"),
        (np.array([[0.0, 1.0], [1.0, 0.0]]), "some of its eigenvalues are negative. Choose another"),
        (np.diag([1.0, 1.0, -0.01]), "some of its eigenvalues are negative"),
        (-np.eye(2), "some of its eigenvalues are negative"),
    ],
)
def test_what_is_not_an_inner_product_is_refused(K, message):
    with pytest.raises(ValueError, match=message):
        Embedding("precomputed", {}).fit(K)


def test_too_many_samples(monkeypatch):
    monkeypatch.setattr(Embedding, "max_samples", 30)
    with pytest.raises(ValueError, match=r"kernel='rbf' takes .* at most 30 samples; X has 40. Use kernel=None"):
        Embedding("rbf", {}).fit(X)


def test_sparse_entries_given_twice_are_their_sum():
    X = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0], [2.0, 0.0, 1.0]])
    twice = sp.csr_array(
        (np.r_[0.5, 0.5, 2, 1, 3, 2, 1], np.array([0, 0, 1, 1, 2, 0, 2]), np.array([0, 3, 5, 7])), shape=(3, 3)
    )
    one, other = (Embedding("rbf", {"gamma": 0.5}).fit(A) for A in (X, twice))
    np.testing.assert_allclose(other @ other.T, one @ one.T)
    assert twice.nnz == 7
