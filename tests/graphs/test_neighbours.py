"""`nearest`: exact and approximate search."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from laminar.graphs import neighbours as module
from laminar.graphs.neighbours import nearest


def manifold(n=1500, p=20, rank=5, shift=0.0):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, p)) + 0.1 * rng.normal(size=(n, p)) + shift


def recall(found, expected):
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found, expected, strict=True)])


def brute_force(X, k):
    D = ((X[:, None] - X[None]) ** 2).sum(2)
    np.fill_diagonal(D, np.inf)
    return np.argsort(D, axis=1, kind="stable")[:, :k]


@pytest.fixture
def candidates(monkeypatch):
    """Replaces the approximate search; the sizes it was called with."""
    calls = []

    def search(X, width):
        calls.append((X.shape, width))
        X = X.toarray() if sp.issparse(X) else X
        return np.hstack([np.arange(len(X))[:, None], brute_force(X, width - 1)])

    monkeypatch.setattr(module, "approximate_candidates", search)
    return calls


@pytest.mark.parametrize(("n", "p", "is_approximate"), [(100, 20, False), (101, 20, True), (101, 8, False)])
def test_search_by_size(candidates, n, p, is_approximate):
    X = manifold(n, p)
    found = nearest(X, 4, max_exact=100)[1]
    assert candidates == ([((n, p), 19)] if is_approximate else [])
    assert_array_equal(found, brute_force(X, 4))


def test_missing_candidates_searched_exactly(candidates, monkeypatch):
    X = manifold(120)
    full = module.approximate_candidates

    def lacking(X, width):
        found = full(X, width)
        found[7, 3:] = 7
        return found

    monkeypatch.setattr(module, "approximate_candidates", lacking)
    squares, found = nearest(X, 4, max_exact=100)
    assert_array_equal(found, brute_force(X, 4))
    assert np.isfinite(squares).all()


# The real search compiles for half a minute.


@pytest.mark.slow
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_approximate_recall(form):
    pytest.importorskip("pynndescent", reason="pynndescent is not installed")
    X = form(manifold(shift=0 if form is sp.csr_array else 1e4))
    (squares, exact), (near, found) = nearest(X, 10), nearest(X, 10, max_exact=100)
    assert recall(found, exact) > 0.98
    assert_allclose(near[found == exact], squares[found == exact])
    assert_array_equal(nearest(X, 10, max_exact=100)[1], found)


@pytest.mark.slow
def test_approximate_search_of_duplicates():
    pytest.importorskip("pynndescent", reason="pynndescent is not installed")
    squares, found = nearest(np.repeat(manifold(3), 100, axis=0), 5, max_exact=100)
    assert (squares == 0).all()
    assert (found != np.arange(300)[:, None]).all()
