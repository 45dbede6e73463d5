"""Bands of training samples and of new ones: scores, standardised, smooth, detail, diffusion."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from laminar.attributes.bands import BANDS, Band
from laminar.attributes.filter_bank import BandStore, FilterBank, reusing_bands
from laminar.attributes.principal_scores import standardised_factors

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


def length(band):
    return np.sqrt(np.square(band - band.mean(0)).sum(1).mean())


def plain_scores(X, n_scores=6):
    """Principal scores in unit scale, up to signs."""
    centred = X - X.mean(0)
    _, _, V = np.linalg.svd(centred, full_matrices=False)
    return centred @ V[:n_scores].T / np.abs(centred).max()


def normalised(W, d):
    return W / np.sqrt(np.outer(d, d))


@pytest.mark.parametrize("position", [1, 2, 3])
def test_bands_are_the_dense_solution(position):
    bank, (F, *bands) = fitted()
    F = F / bank.sizes[0]
    assert_allclose(abs(F @ F.T), abs(plain_scores(X) @ plain_scores(X).T), atol=1e-9)
    band = LITTLE[position]
    N = normalised(*plain_graph(whitened(F, band.rank), band.n_neighbors))
    S = np.linalg.solve(np.eye(len(F)) + band.strength * (np.eye(len(F)) - N), F)
    expected = S if band.kind == "smooth" else F - S
    expected /= length(expected)
    assert_allclose(bands[position - 1], expected, atol=1e-6 * np.abs(expected).max())


def test_graph_of_distances_is_that_of_the_scores():
    _, (F, S) = fitted(bands=(Band(), Band("smooth", None, 3, 3.0, whitening=0.0)))
    N = normalised(*plain_graph(F, 3))
    expected = np.linalg.solve(4 * np.eye(60) - 3 * N, F)
    assert_allclose(S, expected / length(expected), atol=1e-6)


def test_standardised_band_has_the_distances_of_standardised_features():
    mixed = X * 10.0 ** np.arange(-6, 6)
    _, (_, G) = fitted(mixed, (Band(), Band("standardised")), 12)
    scaled = (X - X.mean(0)) / X.std(0)
    assert_allclose(G @ G.T, scaled @ scaled.T / length(scaled) ** 2, atol=1e-8)
    constant = np.c_[X, np.full(60, 3.0)]
    assert standardised_factors(constant)[-1] == 0
    assert_allclose(standardised_factors(sp.csr_array(constant)), standardised_factors(constant), rtol=1e-9)


def test_diffusion_is_the_kernel_of_label_spreading():
    band = Band("diffusion", None, 5, 10.0, whitening=0.5)
    bank, (F, U) = fitted(bands=(Band(), band), n_scores=60)
    codes = F / np.sqrt(np.linalg.norm(F / bank.sizes[0], axis=0))
    codes /= np.linalg.norm(codes, axis=1, keepdims=True)
    W, d = plain_graph(codes, 5)
    values, vectors = np.linalg.eigh(np.linalg.inv(np.eye(60) + 10 * (np.eye(60) - normalised(W, d))))
    kernel = (vectors[:, 1:] * values[1:]) @ vectors[:, 1:].T  # all but the least eigenvector
    assert_allclose(U @ U.T / bank.sizes[1] ** 2, kernel, atol=1e-8)
    # A new sample at the place of a training sample has the mean of its neighbours.
    edges = bank._graphs[band.graph].edges_to(F / bank.sizes[0])
    assert_allclose(bank.extend(X, [1])[1], 10 / 11 * edges @ U, atol=1e-7)


def test_new_samples_join_the_graph_by_their_nearest():
    bank, (F, *_) = fitted()
    F, band = F / bank.sizes[0], LITTLE[1]
    W, d = plain_graph(whitened(F, 4), 3)
    S = np.linalg.solve(np.eye(60) + 3 * (np.eye(60) - normalised(W, d)), F)
    f = (NEW - X.mean(0)) @ bank.scores.basis / bank.scores.scale
    spread = np.linalg.norm(F[:, :4], axis=0)
    train, new = whitened(F, 4), f[:, :4] / spread
    new /= np.linalg.norm(new, axis=1, keepdims=True)
    for i in range(len(NEW)):
        near = np.argsort(np.linalg.norm(train - new[i], axis=1))[: band.n_neighbors]
        s = (f[i] + 3 * (S[near] / np.sqrt(3 * d[near])[:, None]).sum(0)) / 4
        found = bank.extend(NEW[i : i + 1], [0, 1, 2])
        for b, expected in enumerate((f[i], s, f[i] - s)):
            assert_allclose(found[b][0], bank.sizes[b] * expected, atol=1e-6 * np.abs(found[b]).max())


def test_all_bands_have_one_size_and_scores_come_back():
    bank, bands = fitted(bands=BANDS)
    assert_allclose([length(band) for band in bands], 1)
    for b in (0, 1):
        assert_allclose(bank.extend(X, [b])[b], bands[b], atol=1e-9)


def test_scale_and_order_do_not_matter():
    order = rng.permutation(len(X))
    bank, bands = fitted()
    for twin, rows in ((1e-200 * X, slice(None)), (1e100 * X, slice(None)), (X[order], order)):
        other, found = fitted(twin)
        for band, again in zip(bands, found, strict=True):
            np.testing.assert_allclose(np.abs(again), np.abs(band[rows]), atol=1e-6)
    assert other.length == pytest.approx(bank.length)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix])
def test_sparse_is_dense(form):
    specs = (*LITTLE, Band("standardised"), Band("diffusion", 4))
    kept = X * (rng.random(X.shape) < 0.4)
    dense, bands = fitted(kept, specs, 12)
    sparse, found = fitted(form(kept), specs, 12)
    for b, band in enumerate(bands):
        assert_allclose(found[b] @ found[b].T, band @ band.T, atol=1e-5)
    new = NEW * (rng.random(NEW.shape) < 0.4)
    for position in (1, 4, 5):
        a, b = (bank.extend(part, [position])[position] for bank, part in ((dense, new), (sparse, form(new))))
        assert_allclose(a @ a.T, b @ b.T, atol=1e-4 * np.abs(a @ a.T).max())


def test_float32_stays():
    bank, bands = fitted(X.astype(np.float32), BANDS)
    assert {band.dtype for band in bands} == {np.dtype(np.float32)}
    new = bank.extend(NEW.astype(np.float32), range(len(BANDS)))
    assert {band.dtype for band in new.values()} == {np.dtype(np.float32)}


@pytest.mark.parametrize(
    "data",
    [X[:2], X[:3], np.ones((5, 4)), np.zeros((5, 4)), np.repeat(X[:2], 4, axis=0), X[:, :1], X * (np.arange(12) == 3)],
    ids=["two samples", "three samples", "constant", "zeros", "duplicates", "one feature", "one feature varies"],
)
def test_few_or_degenerate_samples_give_finite_bands(data):
    bank, bands = fitted(data, BANDS, 200)
    far = 1e6 * rng.normal(size=(3, data.shape[1]))
    for band in [*bands, *bank.extend(data, range(len(BANDS))).values(), *bank.extend(far, range(len(BANDS))).values()]:
        assert np.isfinite(band).all()
    assert bands[0].shape[1] <= max(1, len(data) - 1)


def test_what_is_not_needed_is_forgotten():
    bank, _ = fitted()
    before = bank.extend(NEW, [0, 3])
    bank.keep([0, 3])
    assert len(bank._filtered) == len(bank._graphs) == 1
    for b, band in bank.extend(NEW, [0, 3]).items():
        assert np.array_equal(band, before[b])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"kind": "rough"},
            "kind must be one of 'scores', 'standardised', 'smooth', 'detail', 'diffusion'; got 'rough'",
        ),
        ({"rank": 0}, "rank must be a finite number above 0; got 0"),
        ({"n_neighbors": -1}, "n_neighbors must be a finite number above 0"),
        ({"strength": np.inf}, "strength must be a finite number above 0"),
        ({"prior": 0}, "prior must be a finite number above 0"),
        ({"whitening": 2.0}, "whitening must be a number from 0 to 1; got 2.0"),
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


# Bands of one fit for the next


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_stored_bands_are_those_of_a_fit(make):
    alone, bands = fitted(make(X))
    with reusing_bands(BandStore()):
        for _ in range(2):
            generator = np.random.RandomState(0)
            again = FilterBank(LITTLE, 6)
            found = again.fit(make(X), generator)
            again.keep([0])  # what a model forgets stays in the store
    for a, b in zip(found, bands, strict=True):
        assert_allclose(a, b)
    assert_allclose(again.extend(NEW, [0])[0], alone.extend(NEW, [0])[0])
    after = np.random.RandomState(0)
    FilterBank(LITTLE, 6).fit(make(X), after)
    assert generator.random() == after.random()  # what follows in the fit is as without a store


@pytest.mark.parametrize("change", [{"X": NEW}, {"X": X + 1}, {"bands": LITTLE[:2]}, {"n_scores": 5}])
def test_stored_bands_are_not_those_of_others(change):
    with reusing_bands(BandStore()):
        fitted()
        _, found = fitted(**change)
    _, alone = fitted(**change)
    for a, b in zip(found, alone, strict=True):
        assert_allclose(a, b)
