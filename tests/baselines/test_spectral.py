import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons

from laminar._base.spectral import normalized, spectral_labels
from laminar._engine.linalg.small import unit_rows
from laminar.baselines import NgJordanWeiss, best_single_view, concat_features, concat_pca
from laminar.baselines.affinity import build_affinity, gaussian
from laminar.datasets import make_views
from laminar.graphs import KNN, Rank
from laminar.metrics import clustering_accuracy

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 5))
DISTANCE = np.linalg.norm(X[:, None] - X, axis=2)


def blobs(n_clusters, size, apart=1000.0):
    y = np.repeat(np.arange(n_clusters), size)
    order = rng.permutation(len(y))
    return (rng.normal(size=(len(y), 3)) + apart * y[:, None])[order], y[order]


def by_definition(W, k):
    """Unit rows of the leading eigenvectors, with dense matrices."""
    scale = W.sum(axis=1) ** -0.5
    return unit_rows(np.linalg.eigh(scale[:, None] * W * scale)[1][:, -k:])


def gram(E):
    """What is left of an embedding when its basis does not count."""
    return E @ E.T


# ---------------------------------------------------------------------------------------------------- affinities


def test_gaussian_is_as_wide_as_the_median_distance():
    sigma = np.median(DISTANCE[np.triu_indices(40, 1)])
    expected = np.exp(-(DISTANCE**2) / (2 * sigma**2)) * (1 - np.eye(40))
    assert np.allclose(gaussian(X), expected, rtol=1e-3)  # the median of squares is not quite the square of the median
    assert np.allclose(gaussian(1e200 * X), gaussian(X))


@pytest.mark.parametrize("same", [40, 35])
def test_gaussian_of_equal_samples_is_finite(same):
    points = X.copy()
    points[:same] = 1.0
    W = gaussian(points)
    assert np.isfinite(W).all()
    assert np.allclose(W[0, 1:same], 1)


def test_named_affinities_are_the_graphs():
    for given, graph in [
        (("knn", None), KNN(5)),
        (("knn", 3), KNN(3)),
        (("rank", None), Rank(n_clusters=2)),
        (("rank", 7), Rank(7)),
        ((KNN(4, weight="heat"), None), KNN(4, weight="heat")),
    ]:
        W = build_affinity(X, *given, n_clusters=2)
        W = W.toarray() if sp.issparse(W) else W  # a full one is kept as an array
        assert np.array_equal(W, graph.build(X).tocsr().toarray())


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_normalised_affinity_has_eigenvalues_within_one(form):
    W = rng.random((30, 30)) * (rng.random((30, 30)) < 0.3)
    W = W + W.T
    W[3] = W[:, 3] = 0
    N = normalized(form(W))
    values = np.linalg.eigvalsh(N @ np.eye(30))
    assert -1 - 1e-12 <= values.min() <= values.max() <= 1 + 1e-12
    assert values.max() == pytest.approx(1)
    assert not (N @ np.eye(30))[3].any()


# ---------------------------------------------------------------------------------------------------- clustering


@pytest.mark.parametrize("affinity", ["gaussian", "knn", "rank"])
def test_embedding_is_that_of_the_definition(affinity):
    model = NgJordanWeiss(3, affinity=affinity, random_state=0).fit(X)
    W = build_affinity(X, affinity, None, 3)
    W = W.toarray() if sp.issparse(W) else W
    assert np.allclose(gram(model.embedding_), gram(by_definition(W, 3)), atol=1e-8)
    assert np.allclose(np.linalg.norm(model.embedding_, axis=1), 1)


@pytest.mark.parametrize("affinity", ["knn", "rank"])
@pytest.mark.parametrize(("n_clusters", "size"), [(3, 30), (12, 60), (40, 12)])
def test_disconnected_components_are_recovered_exactly(affinity, n_clusters, size):
    points, y = blobs(n_clusters, size)
    model = NgJordanWeiss(n_clusters, affinity=affinity, n_neighbors=8, random_state=0).fit(points)
    assert clustering_accuracy(y, model.labels_) == 1
    assert np.allclose(model.eigenvalues_, 1)


def test_clusters_that_are_not_convex():
    points, y = make_moons(300, noise=0.05, random_state=0)
    labels = NgJordanWeiss(2, affinity="knn", n_neighbors=10, random_state=0).fit_predict(points)
    assert clustering_accuracy(y, labels) > 0.99


@pytest.mark.parametrize("affinity", ["gaussian", "knn", "rank"])
@pytest.mark.parametrize("size", [20, 120])  # direct and iterative eigensolver
def test_permuted_samples_give_permuted_labels(affinity, size):
    points, _ = blobs(4, size, apart=4.0)
    order = rng.permutation(len(points))
    one, other = (NgJordanWeiss(4, affinity=affinity, random_state=0).fit(P) for P in (points, points[order]))
    assert np.allclose(gram(one.embedding_[order]), gram(other.embedding_), atol=1e-4)
    assert clustering_accuracy(one.labels_[order], other.labels_) == 1


def test_precomputed_in_every_form():
    W = KNN(6).build(X).tocsr()
    expected = NgJordanWeiss(3, affinity="knn", n_neighbors=6, random_state=0).fit(X)
    for given in (W, W.toarray(), sp.coo_matrix(W), W + sp.eye_array(40), [W], {"only": W}):
        model = NgJordanWeiss(3, affinity="precomputed", random_state=0).fit(given)
        assert np.allclose(gram(model.embedding_), gram(expected.embedding_), atol=1e-10)
    model = NgJordanWeiss(3, affinity=KNN(6), random_state=0).fit(X)
    assert np.array_equal(model.labels_, expected.labels_)


@pytest.mark.parametrize("n", [20, 400])
def test_isolated_samples(n):
    points, y = blobs(2, n)
    W = KNN(5).build(points).tocsr().tolil()
    W[7] = W[:, 7] = 0
    model = NgJordanWeiss(2, affinity="precomputed", random_state=0).fit(W.tocsr())
    assert not model.embedding_[7].any()
    others = np.arange(2 * n) != 7
    assert clustering_accuracy(y[others], model.labels_[others]) == 1


@pytest.mark.parametrize("affinity", ["knn", "rank", KNN(3, "heat")])
@pytest.mark.parametrize("seed", [0, 7])
def test_spectral_labels_equal_estimator(affinity, seed):
    points, _ = blobs(3, 30)
    W = build_affinity(points, affinity, None, 3)
    expected = NgJordanWeiss(3, affinity=affinity, random_state=seed).fit_predict(points)
    assert np.array_equal(spectral_labels(W, 3, seed), expected)


def test_disconnected_graph_warns():
    points, _ = blobs(5, 20)
    message = "has 5 connected components, more than n_clusters=4.*Raise n_neighbors"
    with pytest.warns(UserWarning, match=message) as caught:
        NgJordanWeiss(4, affinity="knn", random_state=0).fit(points)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NgJordanWeiss(5, affinity="knn", random_state=0).fit(points)


def test_no_link_at_all():
    model = NgJordanWeiss(2, affinity="precomputed", random_state=0).fit(np.zeros((6, 6)))
    assert np.isfinite(model.embedding_).all()


def test_refusals():
    with pytest.raises(ValueError, match=r'affinity="gaussian" needs dense.*n_samples=5001 is more than 5000: use aff'):
        NgJordanWeiss(2).fit(np.zeros((5001, 1)))
    with pytest.raises(ValueError, match="NgJordanWeiss clusters one view and got 2: join them with concat_features"):
        NgJordanWeiss(2).fit([X, X])
    with pytest.raises(ValueError, match="n_neighbors=40 must be at least 1 and below"):
        NgJordanWeiss(2, affinity="knn", n_neighbors=40).fit(X)
    with pytest.raises(ValueError, match="a precomputed graph must be symmetric"):
        NgJordanWeiss(2, affinity="precomputed").fit(rng.random((9, 9)))


# -------------------------------------------------------------------------------------------- one view of several


def test_joined_views_weigh_the_same():
    views = [X[:, :3] + 2, 100 * X[:, 3:] + 300]
    joined = concat_features(views)
    assert joined.shape == X.shape
    assert np.allclose(joined.mean(axis=0), 0)
    assert np.allclose([(part**2).sum() / 40 for part in (joined[:, :3], joined[:, 3:])], 1)
    assert np.allclose(concat_features(np.hstack(views), [3, 2]), joined)
    assert np.allclose(concat_features([views[0], 7 * views[1]]), joined)


def test_a_constant_view_adds_nothing():
    joined = concat_features([X, np.ones((40, 2)), np.zeros((40, 1))])
    assert not joined[:, 5:].any()
    assert concat_features([X.astype(np.float32)] * 2).dtype == np.float32


def test_principal_components_hold_what_they_should():
    views = make_views(50, random_state=0).views
    joined = concat_features(views)
    scores = concat_pca(views, 0.9)
    assert 0.9 <= (scores**2).sum() / (joined**2).sum() < 0.95
    assert np.allclose(concat_pca(views, 49) @ concat_pca(views, 49).T, joined @ joined.T)


def test_best_single_view_takes_the_one_that_agrees_with_the_truth():
    data = make_views(80, n_features=(30, 40), noise=1.0, n_noise_features=10, random_state=0)
    named = dict(zip(["a", "b", "noise"], data.views, strict=True))
    model = NgJordanWeiss(4, random_state=0)
    best = best_single_view(named, data.y, model)
    assert best.scores[best.name] == max(best.scores.values()) > 2 * best.scores["noise"]
    assert np.array_equal(best.labels, NgJordanWeiss(4, random_state=0).fit_predict(named[best.name]))
    assert not hasattr(model, "labels_")
    by_accuracy = best_single_view(named, data.y, model, score=lambda y, c: -clustering_accuracy(y, c))
    assert by_accuracy.name == "noise"
