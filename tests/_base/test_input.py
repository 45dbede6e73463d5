"""X in every form it comes in: the same answer, X untouched, and no copy of it."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from laminar import GNMF, NMF, WSF, SemiNMF, SlowFeatureNMF
from reference import fresh

MODELS = [
    NMF(4, init="random", random_state=0),
    NMF(4, init="random", loss="kl", random_state=0),
    SemiNMF(4, init="random", random_state=0),
    GNMF(4, init="random", random_state=0),
    GNMF(4, init="random", loss="kl", random_state=0),
    WSF(4, init="random", random_state=0),
    SlowFeatureNMF(4, init="random", random_state=0),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=repr)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

rng = np.random.default_rng(0)
X = rng.integers(0, 50, size=(60, 16)).astype(float)
Y = np.arange(60) % 4 - 1  # for models that read it; the others ignore it


def read_only(X, folder):
    X = X.copy()
    X.flags.writeable = False
    return X


def mapped(X, folder):
    file = np.memmap(folder / "X", dtype=X.dtype, mode="w+", shape=X.shape)
    file[:] = X
    file.flush()
    return np.memmap(folder / "X", dtype=X.dtype, mode="r", shape=X.shape)


def strided(X, folder):
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def backwards(X, folder):
    return X[::-1, ::-1].copy()[::-1, ::-1]


def misaligned(X, folder):
    raw = np.zeros(X.nbytes + 1, np.uint8)
    view = raw[1:].view(X.dtype).reshape(X.shape)
    view[:] = X
    assert not view.flags.aligned
    return view


def big_endian(X, folder):
    return X.astype(">f8")


def unsorted_sparse(X, folder):
    A = sp.csr_array(X)
    for i in range(A.shape[0]):
        row = slice(A.indptr[i], A.indptr[i + 1])
        A.indices[row], A.data[row] = A.indices[row][::-1].copy(), A.data[row][::-1].copy()
    A.has_sorted_indices = A.has_canonical_format = False
    return A


def split_entries(X, folder):
    """A sparse matrix that holds every entry as two halves."""
    i, j = np.nonzero(X)
    A = sp.csr_array(([], ([], [])), shape=X.shape)
    halves = np.repeat(X[i, j] / 2, 2)
    A.data, A.indices = halves, np.repeat(j, 2).astype(np.int32)
    A.indptr = np.concatenate([[0], np.cumsum(2 * np.bincount(i, minlength=len(X)))]).astype(np.int32)
    A.has_canonical_format = False
    return A


FORMS = {
    "read-only": read_only,
    "memory map": mapped,
    "strided": strided,
    "backwards": backwards,
    "misaligned": misaligned,
    "big endian": big_endian,
    "unsorted sparse": unsorted_sparse,
    "split entries": split_entries,
    "Fortran order": lambda X, folder: np.asfortranarray(X),
    "list": lambda X, folder: X.tolist(),
    "int": lambda X, folder: X.astype(int),
    "uint8": lambda X, folder: X.astype(np.uint8),
    "object": lambda X, folder: X.astype(object),
}


def entries(A):
    return [part.copy() for part in (A.data, A.indices, A.indptr)] if sp.issparse(A) else [np.array(A)]


@pytest.mark.parametrize("model", MODELS[:4], ids=repr)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form_gives_same_factors(model, form, tmp_path):
    model = clone(model).set_params(max_iter=50)
    data = form(X, tmp_path)
    before = entries(data)
    expected = clone(model).fit(sp.csr_array(X) if sp.issparse(data) else X, Y)
    model = clone(model).fit(data, Y)
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-8)
    np.testing.assert_allclose(model.transform(data), expected.transform(X), atol=1e-6)
    assert model.score(data) == pytest.approx(expected.score(X), abs=1e-9)
    assert all(np.array_equal(a, b) for a, b in zip(entries(data), before, strict=True))


@every_model
def test_booleans_are_zeros_and_ones(model):
    one, other = clone(model).fit(X > 25, Y), clone(model).fit((X > 25).astype(float), Y)
    assert np.array_equal(one.components_, other.components_)


@every_model
def test_a_start_is_not_changed(model):
    H, Z = rng.random((60, 4)), rng.random((4, 16))
    before = H.copy(), Z.copy()
    clone(model).set_params(init=(H, Z), max_iter=3).fit(X, Y)
    assert np.array_equal(H, before[0])
    assert np.array_equal(Z, before[1])


@every_model
def test_seeds(model):
    same = [clone(model).fit(X, Y).components_ for _ in range(2)]
    assert np.array_equal(*same)
    other = clone(model).set_params(random_state=1, max_iter=2).fit(X, Y).components_
    assert not np.allclose(other, clone(model).set_params(max_iter=2).fit(X, Y).components_, atol=1e-3)
    state = [clone(model).set_params(random_state=np.random.RandomState(0)).fit(X, Y).components_ for _ in range(2)]
    assert np.array_equal(*state)


# ------------------------------------------------------------------------------------------------------- memory


FACTORS = """
from laminar import GNMF, NMF, WSF, SemiNMF

n = 60_000
X, y = np.random.default_rng(1).random((n, 30)), np.arange(n) % 30
used = {}
for model in [NMF(), NMF(loss="kl", rule="published"), SemiNMF(), WSF(), GNMF(graph="chain", loss="kl")]:
    name, told = repr(model), (y,) if isinstance(model, WSF) else ()
    model.set_params(n_components=20, init="random", max_iter=6, tol=0)
    model.fit(X[:100], *(labels[:100] for labels in told))  # compile
    fit = peak(lambda: model.fit(X, *told))
    codes = peak(lambda: model.transform(X)) if model.rule == "fast" and model.loss == "frobenius" else 0
    used[name] = fit, codes
print(json.dumps(used))
"""
BUFFERS = 8e6  # bytes of blocks the threads work in; they do not grow with the data


def test_memory_is_few_copies_of_codes():
    """As tall as the codes are themselves, two more, and what pulls at them."""
    size = 60_000 * 20 * 8
    for model, (fit, codes) in fresh.run(fresh.PEAK + FACTORS).items():
        copies = 3.1 if model.startswith(("NMF", "Semi")) else 5
        assert size < fit < copies * size + BUFFERS, model
        assert codes < 2 * size + BUFFERS, model


COPIES = """
from itertools import product
from laminar import GNMF, NMF, SemiNMF

y, used = np.arange(1500) % 3, []
for model, order, dtype in product(
    # Of GNMF with labels: a search for neighbours does copy rows, a bounded number at a time.
    [NMF(3), NMF(3, loss="kl"), SemiNMF(3), GNMF(3, graph="labels")],
    "CF",
    [np.float32, np.float64],
):
    X = np.random.default_rng(2).random((1500, 2000), dtype).astype(dtype, order=order)
    model.set_params(init="random", max_iter=2, tol=0).fit(X[:50], y[:50])
    for work in (lambda: model.fit(X, y), lambda: model.score(X[:1000])):
        used.append((f"{model} {order} {dtype.__name__}", peak(work) / X.nbytes))
print(json.dumps(used))
"""


def test_x_is_never_copied():
    for case, share in fresh.run(fresh.PEAK + COPIES):
        assert share < 0.5, case


TILES = """
from laminar import NMF, SemiNMF

def misaligned(X):
    raw = np.zeros(X.nbytes + 1, np.uint8)
    view = raw[1:].view(X.dtype).reshape(X.shape)
    view[:] = X
    return view

layouts = {
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "strided F": lambda X: np.asfortranarray(np.repeat(X, 2, axis=0))[::2],
    "rows backwards": lambda X: X[::-1],
    "columns backwards": lambda X: X[:, ::-1],
    "misaligned": misaligned,
    "windows": lambda X: np.lib.stride_tricks.sliding_window_view(X.ravel()[: sum(X.shape) - 1], X.shape[1]),
}
used = []
for model, shape in [(NMF(5, init="random"), (20_000, 150)), (SemiNMF(5), (150, 20_000))]:
    for name, layout in layouts.items():
        X = layout(np.random.default_rng(2).random(shape))
        model.set_params(max_iter=2, tol=0).fit(X[:50])
        for work in (lambda: model.fit(X), lambda: model.transform(X)):
            used.append((f"{model} {name} {shape}", peak(work) / X.nbytes))
print(json.dumps(used))
"""


def test_views_are_copied_in_tiles():
    """Those that BLAS cannot read."""
    for case, share in fresh.run(fresh.PEAK + TILES):
        assert share < 0.4, case


# -------------------------------------------------------------------------------------------------------- scale

SOLVERS = [
    NMF(5, solver="hals"),
    NMF(5, solver="mu"),
    NMF(5, solver="apg"),
    NMF(5, loss="kl"),
    SemiNMF(5),
    SemiNMF(5, init="svd"),
]


@pytest.mark.parametrize("model", SOLVERS, ids=repr)
@pytest.mark.parametrize(
    ("form", "dtype"), [(np.asarray, np.float32), (np.asfortranarray, np.float64), (sp.csr_array, np.float64)]
)
def test_powers_of_two_change_no_digit(model, form, dtype):
    rng = np.random.default_rng(0)
    X = rng.gamma(1.0, size=(80, 5)) @ rng.gamma(1.0, size=(5, 30)) + 0.1 * rng.random((80, 30))
    X = form(X.astype(dtype))
    plain = clone(model).set_params(random_state=0, max_iter=15).fit(X)
    for size in (dtype(2.0**100), dtype(2.0**-100)):
        far = clone(plain).fit(X * size)
        assert np.array_equal(far.components_, plain.components_)
        # Codes of a divergence come close to zero, where numbers that small are subnormal.
        codes, expected = far.transform(X * size), plain.transform(X) * size
        np.testing.assert_allclose(codes, expected, rtol=0, atol=np.finfo(dtype).tiny)
