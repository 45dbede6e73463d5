import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from laminar._engine.data.svd import rough_svd, truncated_svd
from laminar._engine.data.wrap import wrap

FORMS = {"C": np.asarray, "F": np.asfortranarray, "csr": sp.csr_matrix, "csc": sp.csc_matrix}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def sample(n, p, rank=12, noise=1e-3, seed=0):
    """A spectrum with gaps, and signs: singular values 2^-i, then noise."""
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.normal(size=(size, min(rank, n, p))))[0] for size in (n, p))
    X = (U * 0.5 ** np.arange(U.shape[1])) @ V.T + noise / np.sqrt(n * p) * rng.normal(size=(n, p))
    return X / np.abs(X).max()


def rng():
    return np.random.RandomState(0)


def check(X, k, result, tol):
    """Values, subspaces and the sign rule against numpy."""
    U, s, V = result
    expected_U, expected_s, expected_Vt = (part.astype(float) for part in np.linalg.svd(X.astype(float), False))
    k = min(k, *X.shape)
    assert U.shape == (len(X), k)
    assert V.shape == (X.shape[1], k)
    assert {U.dtype, s.dtype, V.dtype} == {np.dtype(float)}
    assert_allclose(s, expected_s[:k], rtol=tol, atol=tol * expected_s[0])
    assert_allclose(U.T @ U, np.eye(k), atol=1e-8 if X.dtype == float else 1e-4)
    assert_allclose(V.T @ V, np.eye(k), atol=1e-8 if X.dtype == float else 1e-4)
    assert_allclose(U * s @ V.T, expected_U[:, :k] * expected_s[:k] @ expected_Vt[:k], atol=tol)
    assert (U[np.abs(U).argmax(0), np.arange(k)] > 0).all()


@every_form
@pytest.mark.parametrize("shape", [(80, 30), (30, 80), (50, 50), (1, 9), (9, 1)], ids=str)
@pytest.mark.parametrize("k", [1, 5, 100])
def test_against_numpy(form, shape, k):
    X = sample(*shape)
    check(X, k, truncated_svd(wrap(form(X)), k, rng()), 1e-8)


@every_form
@pytest.mark.parametrize("shape", [(300, 40), (40, 300)], ids=str)
def test_single_precision(form, shape):
    X = sample(*shape).astype(np.float32)
    check(X, 5, truncated_svd(wrap(form(X)), 5, rng()), 1e-4)


@pytest.mark.parametrize("shape", [(1600, 1550), (1550, 1600)], ids=str)
def test_more_columns_than_a_gram_is_made_for(shape):
    n, p = shape
    r = np.random.default_rng(0)
    U, V = (np.linalg.qr(r.normal(size=(size, 8)))[0] for size in (n, p))
    s = 0.7 ** np.arange(8)
    data = wrap(U * s @ V.T)
    got_U, got_s, got_V = truncated_svd(data, 5, rng())
    assert_allclose(got_s * data.scale, s[:5], rtol=1e-8)
    assert_allclose(np.abs((got_U * U[:, :5]).sum(0)), 1, atol=1e-8)
    assert_allclose(np.abs((got_V * V[:, :5]).sum(0)), 1, atol=1e-8)


@pytest.mark.usefixtures("two_threads")
@every_form
def test_on_two_threads(form):
    X = sample(700, 40)
    check(X, 5, truncated_svd(wrap(form(X)), 5, rng()), 1e-8)


@every_form
def test_deterministic_whatever_the_seed_leaves_open(form):
    data = wrap(form(sample(90, 40)))
    first, again = truncated_svd(data, 5, rng()), truncated_svd(data, 5, rng())
    other = truncated_svd(data, 5, np.random.RandomState(1))
    for a, b, c in zip(first, again, other, strict=True):
        assert_array_equal(a, b)
        assert_allclose(a, c, atol=1e-6)


@every_form
def test_the_callers_random_numbers_do_not_depend_on_the_route(form):
    used = rng()
    truncated_svd(wrap(form(sample(90, 40))), 5, used)
    assert used.uniform() == rng().uniform()


def test_values_far_below_the_first_survive_the_gram():
    """A Gram squares the condition number; the step after it takes that back."""
    X = sample(200, 20, rank=20, noise=0)
    X = X @ X.T @ X  # singular values 8^-i
    X /= np.abs(X).max()
    s = truncated_svd(wrap(X), 8, rng())[1]
    assert_allclose(s, np.linalg.svd(X)[1][:8], rtol=1e-6)


@every_form
@pytest.mark.parametrize("rank", [0, 2])
def test_fewer_singular_values_than_asked_for(form, rank):
    r = np.random.default_rng(0)
    X = r.normal(size=(30, rank)) @ r.normal(size=(rank, 12))
    U, s, V = truncated_svd(wrap(form(X)), 5, rng())
    assert all(np.isfinite(part).all() for part in (U, s, V))
    assert_allclose(s[rank:], 0, atol=1e-10)
    top = np.abs(X).max() or 1.0
    assert_allclose(U * s @ V.T, X / top, atol=1e-10)


@every_form
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(300, 80), (80, 300)], ids=str)
def test_rough_vectors_are_nearly_the_best(form, shape, dtype):
    X = sample(*shape, noise=0.1).astype(dtype)
    U, s, V = rough_svd(wrap(form(X)), 20, rng())
    assert {U.dtype, s.dtype, V.dtype} == {np.dtype(dtype)}
    tol = 1e-8 if dtype == np.float64 else 1e-3
    assert_allclose(U.T @ U, np.eye(20), atol=tol)
    assert_allclose(V.T @ V, np.eye(20), atol=tol)
    best = np.linalg.svd(X.astype(float), compute_uv=False)
    assert_allclose(s[:5], best[:5] / np.abs(X).max(), rtol=0.06)
    left = np.linalg.norm(X / np.abs(X).max() - (U * s) @ V.T)
    assert left <= 1.5 * np.linalg.norm(best[20:]) / np.abs(X).max()


def test_rough_vectors_of_too_few_dimensions():
    X = np.outer(np.arange(1.0, 9), np.ones(3))
    U, s, V = rough_svd(wrap(X), 10, rng())
    assert U.shape == (8, 3)
    assert np.isfinite(U).all()
    assert np.isfinite(V).all()
    assert_allclose((U * s) @ V.T, X / 8, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_the_first_rough_vector_of_non_negative_data_is_positive(seed):
    X = np.random.default_rng(0).random((60, 40)) + 0.5
    assert (rough_svd(wrap(X), 4, np.random.RandomState(seed))[0][:, 0] > 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_one_sample_far_larger_than_the_others_in_single_precision(seed):
    """Squares of singular values 1e4 apart do not fit into one Gram of single precision."""
    X = np.random.default_rng(seed).gamma(1.0, size=(200, 60)).astype(np.float32)
    X[3] *= 1e4
    U, s, V = truncated_svd(wrap(X), 6, rng())
    left = np.linalg.norm(X.astype(float) - (U * s) @ V.T * X.max())
    assert left == pytest.approx(np.linalg.norm(np.linalg.svd(X.astype(float), compute_uv=False)[6:]), rel=1e-5)
