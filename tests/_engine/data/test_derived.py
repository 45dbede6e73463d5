import numpy as np
import pytest
import scipy.sparse as sp

from laminar._engine.data.derived import Normalized, Stacked, coordinates, isometric
from laminar._engine.data.wrap import wrap

rng = np.random.default_rng(0)
DENSE, COUNTS = rng.normal(size=(30, 7)), rng.poisson(1.0, size=(30, 5)).astype(float)
WEIGHTS = np.array([0.3, 2.0])
BESIDE = np.hstack([np.sqrt(w) * X for w, X in zip(WEIGHTS, (DENSE, COUNTS), strict=True)])


@pytest.fixture(params=[np.asarray, sp.csr_array, sp.csr_matrix], ids=["dense", "array", "matrix"])
def stacked(request):
    return Stacked([wrap(DENSE), wrap(request.param(COUNTS))], WEIGHTS)


def test_products_are_those_of_the_views_side_by_side(stacked):
    R, L = rng.normal(size=(12, 3)), rng.normal(size=(30, 3))
    np.testing.assert_allclose(stacked.scale * stacked.product(R), BESIDE @ R)
    np.testing.assert_allclose(stacked.scale * stacked.T.product(L), BESIDE.T @ L)
    assert stacked.shape == (30, 12)
    assert stacked.T.shape == (12, 30)


def test_norm_gram_and_distance(stacked):
    H, Z = rng.normal(size=(30, 2)), rng.normal(size=(12, 2))
    X = BESIDE / stacked.scale
    assert stacked.sqnorm == pytest.approx((X**2).sum())
    assert stacked.distance(H, Z) == pytest.approx(((X - H @ Z.T) ** 2).sum())
    np.testing.assert_allclose(stacked.gram(), X.T @ X)
    np.testing.assert_allclose(stacked.weighted([1.0, 0.0]).rows(slice(4, 9))[:, 7:], 0)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_normalized_rows(form):
    observed = np.arange(30) > 4
    view = Normalized(form(COUNTS), observed)
    length = np.linalg.norm(COUNTS, axis=1, keepdims=True)
    unit = np.divide(COUNTS, length, out=np.zeros_like(COUNTS), where=length > 0)
    wished = np.where(observed[:, None], unit - unit[observed].mean(axis=0), 0)
    wished *= np.sqrt(observed.sum()) / np.linalg.norm(wished)
    np.testing.assert_allclose(view.rows(slice(0, 30)), wished, atol=1e-12)
    np.testing.assert_allclose(view.T.product(DENSE), wished.T @ DENSE, atol=1e-12)
    np.testing.assert_allclose(view.product(DENSE[:5]), wished @ DENSE[:5], atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_float32_stays_float32(form):
    view = Normalized(form(COUNTS.astype(np.float32)), np.arange(30) > 4)
    R, L = np.ones((5, 2), np.float32), np.ones((30, 2), np.float32)
    part = slice(0, 3)
    arrays = [view.mean, view.rows(part), view.T.rows(part), view.times(R)(part), view.T.times(L)(part)]
    assert {array.dtype for array in arrays} == {np.dtype(np.float32)}


def test_isometry_keeps_inner_products():
    wide = Normalized(rng.random((8, 20)), np.ones(8, dtype=bool))
    small, X = isometric(wide), wide.rows(slice(0, 8))
    E = small.scale * small.rows(slice(0, 8))
    assert small.shape == (8, 7)  # centred: one direction less
    np.testing.assert_allclose(E @ E.T, X @ X.T, atol=1e-10)
    assert coordinates(np.zeros((3, 3))).shape == (3, 1)
