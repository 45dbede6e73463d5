import numpy as np
import pytest

from laminar._base.spectral import kmeans
from laminar._engine.linalg.small import unit_rows
from laminar.baselines import CoTrainedSpectral, MinDisagreement, NgJordanWeiss
from laminar.baselines.affinity import build_affinity, gaussian
from laminar.baselines.cotraining import _projected_embedding
from laminar.datasets import make_views
from laminar.metrics import clustering_accuracy

DATA = make_views(60, 3, (8, 12, 10), noise=1.0, random_state=0)
BOTH = pytest.mark.parametrize("method", [CoTrainedSpectral, MinDisagreement])
rng = np.random.default_rng(0)


def gram(E):
    return E @ E.T


# -------------------------------------------------------------------------------------------------- co-training


@pytest.mark.parametrize("kind", ["gaussian", "knn"])
def test_projected_affinity_is_embedded_as_if_it_were_formed(kind):
    W = build_affinity(DATA.views[0], kind, None, 3)
    B = np.linalg.qr(rng.normal(size=(60, 6)))[0]
    S = W @ B @ B.T
    S = (S + S.T) / 2
    degree = S.sum(axis=1)
    assert degree.min() < 0  # the hard case
    scale = np.maximum(degree, 0.01 * np.abs(degree).mean()) ** -0.5
    expected = np.linalg.eigh(scale[:, None] * S * scale)[1][:, -3:]
    assert np.allclose(gram(_projected_embedding(W, B, 3)), gram(expected), atol=1e-8)


def test_projection_on_everything_changes_nothing():
    W = gaussian(DATA.views[0])
    expected = NgJordanWeiss(3, random_state=0).fit(DATA.views[0]).embedding_
    assert np.allclose(gram(unit_rows(_projected_embedding(W, np.eye(60), 3))), gram(expected), atol=1e-8)


def test_a_good_view_teaches_a_bad_one():
    data = make_views(100, 4, (20,), noise=0.3, random_state=0)
    bad = data.views[0] + 2 * rng.normal(size=(100, 20))
    taught = CoTrainedSpectral(4, max_iter=1, random_state=0).fit([data.views[0], bad]).embedding_[:, 4:]
    alone = NgJordanWeiss(4, random_state=0).fit_predict(bad)
    together = kmeans(unit_rows(taught), 4, random_state=0).labels_
    assert clustering_accuracy(data.y, together) > clustering_accuracy(data.y, alone) + 0.15


# -------------------------------------------------------------------------------------------- minimum disagreement


@pytest.mark.parametrize("kind", ["gaussian", "knn"])
def test_two_views_are_the_singular_vectors_of_de_sa(kind):
    one, two = (build_affinity(X, kind, None, 3) for X in DATA.views[:2])
    A = (one @ two) @ np.eye(60)
    A = A / np.sqrt(A.sum(axis=1))[:, None] / np.sqrt(A.sum(axis=0))
    left, _, right = np.linalg.svd(A)
    expected = unit_rows(left[:, :3] + right[:3].T)
    model = MinDisagreement(3, affinity=kind, random_state=0).fit(DATA.views[:2])
    assert np.allclose(gram(model.embedding_), gram(expected), atol=1e-6)


def test_more_views_are_a_graph_of_as_many_sides():
    W = [gaussian(X) for X in DATA.views]
    big = np.block([[0 * A if v == w else A @ B for w, B in enumerate(W)] for v, A in enumerate(W)])
    scale = big.sum(axis=1) ** -0.5
    values, vectors = np.linalg.eigh(scale[:, None] * big * scale)
    assert -1 - 1e-12 < values[0] < values[-1] < 1 + 1e-12
    model = MinDisagreement(3, random_state=0).fit(DATA.views)
    expected = unit_rows(np.mean(np.split(vectors[:, -3:], 3), axis=0))
    assert np.allclose(gram(model.embedding_), gram(expected), atol=1e-6)


# --------------------------------------------------------------------------------------------------------- both


@BOTH
@pytest.mark.parametrize("n", [60, 330])  # direct and iterative eigensolver
def test_order_of_views_and_of_samples(method, n):
    views = make_views(n, 3, (8, 12, 10), noise=0.8, random_state=0).views
    order = rng.permutation(n)
    one = method(3, affinity="knn", n_neighbors=8, random_state=0).fit(views)
    other = method(3, affinity="knn", n_neighbors=8, random_state=0)
    assert np.allclose(gram(other.fit(views[::-1]).embedding_), gram(one.embedding_), atol=1e-5)
    assert clustering_accuracy(other.labels_, one.labels_) == 1
    assert np.allclose(gram(other.fit([v[order] for v in views]).embedding_), gram(one.embedding_[order]), atol=1e-5)
    assert clustering_accuracy(other.labels_, one.labels_[order]) == 1


@BOTH
def test_identical_views_are_as_good_as_one(method):
    data = make_views(90, 3, (12,), noise=0.8, random_state=2)
    one, several = method(3, random_state=0), method(3, random_state=0)
    assert clustering_accuracy(one.fit_predict(data.views), several.fit_predict(data.views * 2)) == 1
    assert clustering_accuracy(data.y, one.labels_) == 1


def test_one_view_alone():
    X = DATA.views[0]
    expected = NgJordanWeiss(3, random_state=0).fit(X)
    assert np.allclose(gram(CoTrainedSpectral(3, random_state=0).fit(X).embedding_), gram(expected.embedding_))
    W = gaussian(X)
    paired = MinDisagreement(3, random_state=0).fit(X)
    degree = (W @ W).sum(axis=1) ** -0.5
    vectors = np.linalg.eigh(degree[:, None] * (W @ W) * degree)[1][:, -3:]
    assert np.allclose(gram(paired.embedding_), gram(unit_rows(vectors)), atol=1e-6)


@BOTH
def test_common_components_are_recovered_exactly(method):
    y = np.repeat(np.arange(12), 30)
    views = [rng.normal(size=(360, 3)) + 1000 * rng.permutation(12)[y][:, None] for _ in range(3)]
    labels = method(12, affinity="knn", n_neighbors=8, random_state=0).fit_predict(views)
    assert clustering_accuracy(y, labels) == 1
