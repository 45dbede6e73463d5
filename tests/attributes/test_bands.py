import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from laminar.attributes.bands import BANDS, Band, FilterBank

LITTLE = (Band(), Band("smooth", 4, 3, 3.0), Band("detail", 4, 3, 3.0), Band("detail", 3, 5, 10.0))

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 8)) @ rng.normal(size=(8, 12)) + 5.0
NEW = rng.normal(size=(7, 8)) @ rng.normal(size=(8, 12)) + 5.0


def fitted(X=X, bands=LITTLE, n_scores=6):
    bank = FilterBank(bands, n_scores)
    return bank, bank.fit(X, np.random.RandomState(0))


def plain_graph(codes, q):
    """Union of nearest neighbours and degrees, by all distances."""
    distances = np.linalg.norm(codes[:, None] - codes, axis=2)
    np.fill_diagonal(distances, np.inf)
    W = np.zeros_like(distances)
    np.put_along_axis(W, np.argsort(distances, axis=1)[:, :q], 1.0, axis=1)
    W = np.maximum(W, W.T)
    return W, W.sum(1)


def whitened(F, rank):
    codes = F[:, :rank] / np.linalg.norm(F[:, :rank], axis=0)
    return codes / np.linalg.norm(codes, axis=1, keepdims=True)


@pytest.mark.parametrize("position", [1, 2, 3])
def test_bands_are_the_dense_solution(position):
    _, (F, *bands) = fitted()
    _, _, V = np.linalg.svd(X - X.mean(0), full_matrices=False)
    scores = (X - X.mean(0)) @ V[:6].T
    np.testing.assert_allclose(abs(F @ F.T), abs(scores @ scores.T) / np.abs(X - X.mean(0)).max() ** 2, atol=1e-9)

    band = LITTLE[position]
    W, d = plain_graph(whitened(F, band.rank), band.n_neighbors)
    N = W / np.sqrt(np.outer(d, d))
    S = np.linalg.solve(np.eye(len(F)) + band.strength * (np.eye(len(F)) - N), F)
    expected = S if band.kind == "smooth" else F - S
    expected *= np.linalg.norm(F) / np.linalg.norm(expected)
    np.testing.assert_allclose(bands[position - 1], expected, atol=1e-6 * np.abs(expected).max())


def test_new_samples_join_the_graph_by_their_nearest():
    bank, (F, *_) = fitted()
    band = LITTLE[1]
    W, d = plain_graph(whitened(F, 4), 3)
    S = np.linalg.solve(np.eye(60) + 3 * (np.eye(60) - W / np.sqrt(np.outer(d, d))), F)
    f = (NEW - X.mean(0)) @ bank.basis / bank.scale
    spread = np.linalg.norm(F[:, :4], axis=0)
    train, new = whitened(F, 4), f[:, :4] / spread
    new /= np.linalg.norm(new, axis=1, keepdims=True)
    for i in range(len(NEW)):
        near = np.argsort(np.linalg.norm(train - new[i], axis=1))[: band.n_neighbors]
        s = (f[i] + 3 * (S[near] / np.sqrt(3 * d[near])[:, None]).sum(0)) / 4
        found = bank.extend(NEW[i : i + 1], [0, 1, 2])
        np.testing.assert_allclose(found[0][0], f[i], atol=1e-10)
        np.testing.assert_allclose(found[1][0], bank.sizes[1] * s, atol=1e-6 * np.abs(s).max())
        np.testing.assert_allclose(found[2][0], bank.sizes[2] * (f[i] - s), atol=1e-6 * np.abs(f).max())


def test_all_bands_have_one_size_and_scores_come_back():
    bank, bands = fitted(bands=BANDS)
    np.testing.assert_allclose([np.linalg.norm(band) for band in bands], np.linalg.norm(bands[0]), rtol=1e-10)
    np.testing.assert_allclose(bank.extend(X, [0])[0], bands[0], atol=1e-10)


def test_scale_and_order_do_not_matter():
    order = rng.permutation(len(X))
    bank, bands = fitted()
    for twin, rows in ((1e-200 * X, slice(None)), (1e100 * X, slice(None)), (X[order], order)):
        other, found = fitted(twin)
        for band, again in zip(bands, found, strict=True):
            np.testing.assert_allclose(np.abs(again), np.abs(band[rows]), atol=1e-6)
    assert other.scale == pytest.approx(bank.scale)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix])
def test_sparse_is_dense(form):
    kept = X * (rng.random(X.shape) < 0.4)
    dense, bands = fitted(kept)
    sparse, found = fitted(form(kept))
    for b, band in enumerate(bands):
        np.testing.assert_allclose(found[b] @ found[b].T * sparse.scale**2, band @ band.T * dense.scale**2, atol=1e-4)
    new = NEW * (rng.random(NEW.shape) < 0.4)
    a, b = (bank.extend(part, [1])[1] * bank.scale for bank, part in ((dense, new), (sparse, form(new))))
    np.testing.assert_allclose(a @ a.T, b @ b.T, atol=1e-4 * np.abs(a @ a.T).max())


def test_float32_stays():
    bank, bands = fitted(X.astype(np.float32))
    assert {band.dtype for band in bands} == {np.dtype(np.float32)}
    assert bank.extend(NEW.astype(np.float32), [1])[1].dtype == np.float32


@pytest.mark.parametrize(
    "data",
    [X[:2], X[:3], np.ones((5, 4)), np.zeros((5, 4)), np.repeat(X[:2], 4, axis=0), X[:, :1], X * (np.arange(12) == 3)],
    ids=["two samples", "three samples", "constant", "zeros", "duplicates", "one feature", "one feature varies"],
)
def test_few_or_degenerate_samples_give_finite_bands(data):
    bank, bands = fitted(data, BANDS, 200)
    far = 1e6 * rng.normal(size=(3, data.shape[1]))
    for band in [*bands, *bank.extend(data, range(8)).values(), *bank.extend(far, range(8)).values()]:
        assert np.isfinite(band).all()
    assert bands[0].shape[1] <= max(1, len(data) - 1)


def test_what_is_not_needed_is_forgotten():
    bank, _ = fitted()
    before = bank.extend(NEW, [0, 3])
    bank.keep([0, 3])
    assert len(bank._smooth) == len(bank._graphs) == 1
    for b, band in bank.extend(NEW, [0, 3]).items():
        assert np.array_equal(band, before[b])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kind": "rough"}, "kind must be one of 'scores', 'smooth', 'detail'; got 'rough'"),
        ({"rank": 0}, "rank must be a finite number above 0; got 0"),
        ({"n_neighbors": -1}, "n_neighbors must be a finite number above 0"),
        ({"strength": np.inf}, "strength must be a finite number above 0"),
    ],
)
def test_bad_bands(parameters, message):
    with pytest.raises(ValueError, match=message):
        Band(**parameters)


# Many samples


def test_few_nodes_keep_bands_of_all_samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, 8))[rng.integers(4, size=300)] + 0.3 * rng.normal(size=(300, 8))
    specs = [Band(), Band("smooth", 6), Band("detail", 6)]
    full, part = (FilterBank(specs, 6, max_nodes=m) for m in (300, 150))
    whole, bands = (bank.fit(X, np.random.RandomState(0)) for bank in (full, part))
    assert [len(graph.graph.degree) for graph in part._graphs.values()] == [150]
    assert_allclose(bands[0], whole[0])
    # The detail of a sample that is no node has less of its own smooth part in it.
    for a, b, least in zip(bands[1:], whole[1:], (0.95, 0.75), strict=True):
        assert a.shape == b.shape
        assert np.corrcoef(a.ravel(), b.ravel())[0, 1] > least


def test_samples_beyond_nodes_are_as_new():
    X = np.random.default_rng(0).normal(size=(90, 8))
    bank = FilterBank([Band(), Band("smooth", 6), Band("detail", 6)], 6, max_nodes=60)
    bands = bank.fit(X, np.random.RandomState(0))
    extended = bank.extend(X, range(3))
    same = [np.isclose(bands[b], extended[b]).all(1) for b in (1, 2)]
    assert same[0].sum() == same[1].sum() == 30
