import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

from laminar._engine.data.dense import Dense
from laminar._engine.data.wrap import wrap
from laminar._utils import threads
from laminar.nmf.nmf import NMF

N, P, K = 150, 37, 5


def strided(X):
    big = np.full((2 * N, 3 * P), np.nan, X.dtype)
    big[::2, ::3] = X
    return big[::2, ::3]


def misaligned(X):
    out = np.frombuffer(bytearray(X.nbytes + 1), X.dtype, offset=1).reshape(X.shape)
    out[:] = X
    assert not out.flags.aligned
    return out


def read_only(X):
    X = X.copy()
    X.setflags(write=False)
    return X


def unsorted(X):
    S = sp.csr_matrix(X)
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in zip(S.indptr[:-1], S.indptr[1:], strict=True)])
    return sp.csr_matrix((S.data[order], S.indices[order], S.indptr), S.shape)


def duplicates(X):
    S = sp.coo_matrix(X)
    twice = [np.concatenate([part, part]) for part in (S.row, S.col)]
    order = np.argsort(twice[0], kind="stable")
    data = np.concatenate([S.data / 4, S.data * 3 / 4])[order]
    indptr = np.searchsorted(twice[0][order], np.arange(N + 1))
    return sp.csr_matrix((data, twice[1][order], indptr), X.shape)


def wide_indices(X):
    S = sp.csr_matrix(X)
    S.indptr, S.indices = S.indptr.astype(np.int64), S.indices.astype(np.int64)
    return S


DENSE = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": strided,
    "strided F": lambda X: strided(X.reshape(N, P)).T.copy().T,
    "rows reversed": lambda X: X[::-1].copy()[::-1],
    "columns reversed": lambda X: X[:, ::-1].copy()[:, ::-1],
    "both reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "misaligned": misaligned,
    "misaligned F": lambda X: misaligned(X.T).T,
    "read-only": read_only,
}
SPARSE = {
    "csr": sp.csr_matrix,
    "csc": sp.csc_matrix,
    "csr_array": sp.csr_array,
    "unsorted": unsorted,
    "duplicates": duplicates,
    "int64 indices": wide_indices,
}
every_layout = pytest.mark.parametrize("layout", [*DENSE.values(), *SPARSE.values()], ids=[*DENSE, *SPARSE])
every_dense = pytest.mark.parametrize("layout", DENSE.values(), ids=DENSE)
every_float = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def sample(dtype=np.float64, mixed=False, scale=1.0):
    """A third of the entries are zero; so are one row and one column."""
    rng = np.random.default_rng(0)
    X = rng.gamma(1.0, size=(N, P)) * (rng.random((N, P)) > 0.3)
    X[3] = X[:, 5] = 0
    if mixed:
        X *= rng.choice([-1, 1], X.shape)
    return (X * scale).astype(dtype)


def factors(dtype=np.float64):
    rng = np.random.default_rng(1)
    return rng.uniform(0.1, 1, (N, K)).astype(dtype), rng.uniform(0.1, 1, (P, K)).astype(dtype)


def frozen(X):
    """The bytes of everything X holds."""
    parts = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
    return [part.tobytes() for part in parts]


def compare(data, X):
    """Everything `data` knows against plain formulas on X / max |X|, as seen from both sides."""
    tol = 2e-5 if X.dtype == np.float32 else 1e-11
    top = np.abs(X.astype(float)).max()
    U = X.astype(float) / top
    H, Z = factors(X.dtype)
    assert data.scale == pytest.approx(top, rel=1e-6)
    assert data.T.T.shape == data.shape == X.shape
    for view, V, F, M in ((data, U, H, Z), (data.T, U.T, Z, H)):
        assert view.shape == V.shape
        assert view.dtype == X.dtype
        assert view.sqnorm == pytest.approx((U**2).sum(), rel=tol)
        assert view.total == pytest.approx(U.sum(), rel=tol, abs=tol)
        part = slice(7, 29)
        for got, expected in (
            (view.times(M)(part), (V @ M)[part]),
            (view.product(M), V @ M),
        ):
            assert_allclose(got, expected, rtol=tol, atol=tol)
            assert got.dtype == X.dtype
        assert view.distance(F, M) == pytest.approx(((V - F.astype(float) @ M.T) ** 2).sum(), rel=tol)
        if isinstance(view, Dense):
            assert_allclose(view.gram(), V.T @ V, rtol=tol, atol=tol)
        if (X >= 0).all():
            F64, M64 = F.astype(float), M.astype(float)
            Y = F64 @ M64.T
            assert_allclose(view.ratio_times(M)(part, F[part]), ((V / Y) @ M64)[part], rtol=tol, atol=tol)
            logs = np.log(np.where(V > 0, V, 1) / Y)
            expected = (V * logs - V + Y).sum()
            assert view.divergence(F, M) == pytest.approx(expected, rel=tol)


@every_layout
@every_float
@pytest.mark.parametrize("mixed", [False, True])
def test_every_layout_gives_the_plain_formulas(layout, dtype, mixed):
    X = sample(dtype, mixed)
    A = layout(X)
    before = frozen(A)
    compare(wrap(A), X)
    assert frozen(A) == before


@every_layout
@pytest.mark.usefixtures("two_threads")
def test_on_two_threads(layout):
    X = sample()
    compare(wrap(layout(X)), X)


@every_layout
@pytest.mark.parametrize("scale", [1e30, 1e-30])
def test_far_from_one_in_single_precision(layout, scale):
    X = sample(np.float32, scale=scale)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        compare(wrap(layout(X)), X)


@every_layout
@pytest.mark.parametrize("scale", [1e30, 1e-30])
@pytest.mark.parametrize("size", [1e12, 1e-12])
def test_products_stay_in_range_whatever_the_factor(layout, scale, size):
    X = sample(np.float32, scale=scale)
    H, Z = (F * np.float32(size) for F in factors(np.float32))
    U = X.astype(float) / X.max()
    data = wrap(layout(X))
    for got, expected in ((data.product(Z), U @ Z), (data.T.product(H), U.T @ H)):
        assert_allclose(got, expected, rtol=2e-5, atol=2e-5 * size)


@every_layout
@pytest.mark.parametrize(("dtype", "power"), [(np.float32, 100), (np.float64, 100), (np.float64, 400)])
def test_powers_of_two_change_no_digit(layout, dtype, power):
    X = sample(dtype)
    H, Z = factors(dtype)
    near = wrap(layout(X))
    for size in (2.0**power, 2.0**-power):
        far = wrap(layout(X * dtype(size)))
        assert (far.scale, far.sqnorm, far.total) == (near.scale * size, near.sqnorm, near.total)
        for one, other, F, M in ((far, near, H, Z), (far.T, near.T, Z, H)):
            assert_array_equal(one.product(M), other.product(M))
            assert one.distance(F, M) == other.distance(F, M)
            if isinstance(one, Dense):
                assert_array_equal(one.gram(), other.gram())


def test_windows_that_overlap():
    rng = np.random.default_rng(0)
    X = np.lib.stride_tricks.sliding_window_view(rng.random(N + P - 1), P)
    for A in (X, X.T):
        compare_products(wrap(A), A.copy())


def test_odd_views_longer_and_wider_than_a_tile():
    rng = np.random.default_rng(0)
    for shape in ((5000, 90), (700, 1200)):
        big = rng.random((shape[0], 2 * shape[1]))
        for A in (big[:, ::2], big[:, ::2].T):
            compare_products(wrap(A), A.copy())


def compare_products(data, X):
    rng = np.random.default_rng(1)
    for view, U in ((data, X / X.max()), (data.T, X.T / X.max())):
        R = rng.random((U.shape[1], K))
        assert_allclose(view.product(R), U @ R, rtol=1e-12)


@every_float
def test_memory_maps(tmp_path, dtype):
    X = sample(dtype)
    np.save(tmp_path / "X.npy", X)
    on_disk = np.load(tmp_path / "X.npy", mmap_mode="r")
    compare(wrap(on_disk), X)
    assert np.shares_memory(wrap(on_disk).base, on_disk)


@every_dense
@every_float
def test_dense_data_are_never_copied(layout, dtype):
    A = layout(sample(dtype))
    data = wrap(A)
    assert np.shares_memory(data.base, A)
    assert np.shares_memory(data.T.base, A)


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_matrix])
def test_sparse_data_are_copied_only_to_have_both_sides(form):
    A = form(sample())
    data = wrap(A)
    own = data if form is sp.csr_matrix else data.T
    assert np.shares_memory(own.X.data, A.data)
    assert np.shares_memory(own.X.indices, A.indices)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_zeros(form):
    data = wrap(form(np.zeros((6, 4))))
    assert (data.scale, data.sqnorm, data.total) == (1, 0, 0)
    assert_array_equal(data.product(np.ones((4, 2))), 0)
    assert data.divergence(np.ones((6, 2)), np.ones((4, 2))) == pytest.approx(6 * 4 * 2)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix])
@every_float
def test_a_model_of_zero_where_data_are_not_is_floored(form, dtype):
    X, F, M = np.eye(3, dtype=dtype), np.zeros((3, 2), dtype), np.ones((3, 2), dtype)
    data = wrap(form(X))
    expected = (np.log(1e12) - 1) * 3
    for view in (data, data.T):
        assert view.divergence(F, M) == pytest.approx(expected, rel=1e-6)
        assert_allclose(view.ratio_times(M)(slice(0, 3), F), 1e12, rtol=1e-6)


@pytest.mark.parametrize("shape", [(1, 6), (6, 1), (1, 1)])
def test_single_rows_and_columns(shape):
    X = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    data = wrap(X)
    R = np.arange(2.0 * shape[1]).reshape(-1, 2)
    assert_allclose(data.product(R), X @ R / X.max())
    assert_allclose(data.gram(), X.T @ X / X.max() ** 2)


def test_blocks_cover_the_rows_once(two_threads):
    data = wrap(np.ones((1000, 3)))
    for view in (data, data.T):
        rows = np.concatenate([np.arange(view.shape[0])[b] for b in view.blocks(4)])
        assert_array_equal(rows, np.arange(view.shape[0]))
    assert threads.n_threads() == 2


@every_layout
@pytest.mark.parametrize("loss", ["frobenius", "kl"])
def test_a_fit_does_not_depend_on_the_layout(layout, loss):
    X = sample()
    A = layout(X)
    before = frozen(A)
    # The start must not tell: the singular vectors of sparse data are found another way.
    model = NMF(3, loss=loss, init="random", max_iter=20, tol=0, random_state=0)
    assert model.fit(A).reconstruction_err_ == pytest.approx(model.fit(X).reconstruction_err_, rel=1e-7)
    assert frozen(A) == before


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_matrix, sp.csc_matrix])
def test_nonnegative(form):
    X = np.random.default_rng(0).random((30, 8))
    X[X < 0.5] = 0
    assert wrap(form(X)).nonnegative
    X[7, 3] = -1e-9
    assert not wrap(form(X)).nonnegative
    assert not wrap(form(X)).T.nonnegative


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1.0, 1e-20, 1e20])
def test_few_long_rows_on_two_threads(dtype, scale):
    rng = np.random.default_rng(0)
    X, R = rng.normal(size=(9000, 7)).astype(dtype), rng.normal(size=(9000, 3)).astype(dtype)
    with threadpool_limits(2, user_api="blas"), threads.own_threads():
        product = wrap(X * dtype(scale)).T.product(R)
    assert product.dtype == dtype
    largest = np.abs(X).max()
    np.testing.assert_allclose(product, X.astype(float).T @ R / largest, atol=1e-4 if dtype == np.float32 else 1e-10)
