"""`SmoothedSemiNMF`: its two steps against dense algebra, its clusters, and the contract of a model."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

from laminar import SemiNMF, SmoothedSemiNMF
from laminar.graphs import Rank, as_graph
from laminar.metrics import clustering_accuracy
from laminar.testing import check_model

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
N, P, K = 60, 15, 4
rng = np.random.default_rng(0)
X = rng.normal(size=(N, P))
POSITIVE = rng.gamma(1.0, size=(N, 6)) @ rng.gamma(1.0, size=(6, P)) + 0.1 * rng.random((N, P))
# Groups of samples, of which there is one best rotation: elsewhere it depends on signs of singular vectors.
GROUPS = 5 * rng.gamma(1.0, size=(K, P))[np.arange(N) % K] + rng.random((N, P))


def unit(A):
    return A / np.linalg.norm(A, axis=1, keepdims=True)


def smoothed_scores(data, k, rank, graph, alpha):
    """Y by its definition, with dense matrices: principal scores of the smoothed directions of whitened samples."""
    U = unit(np.linalg.svd(data, full_matrices=False)[0][:, :rank])
    W = graph.build(U, None, None).tocsr().toarray()
    d = W.sum(1)
    N = W / np.sqrt(d) / np.sqrt(d)[:, None]
    S = np.linalg.solve((1 + alpha) * np.eye(len(U)) - alpha * N, U)
    scores = np.linalg.svd(S, full_matrices=False)
    return unit(scores[0] * scores[1])[:, :k]


@pytest.mark.parametrize("alpha", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("n_clusters", [None, 3])
def test_codes_are_a_rotation_of_smoothed_scores(alpha, n_clusters):
    """The best value of (2), and the codes that have it: inner products do not depend on the rotation."""
    model = SmoothedSemiNMF(K, alpha=alpha, n_clusters=n_clusters, tol=1e-9, max_iter=5000, random_state=0).fit(X)
    rank = K if n_clusters is None else max(K, 2 * n_clusters)
    Y = smoothed_scores(X, K, rank, Rank(n_clusters=n_clusters or K), alpha)
    # Codes in the units of X over the lengths of their components are the rows of (2).
    directions = model.layers_[0].representation @ model.clusters_.read.basis
    left, _, right = np.linalg.svd(Y.T @ directions)
    R = left @ right  # the best rotation for these codes
    value = ((Y @ R - directions) ** 2).sum() / 2
    assert model.objective_history_[-1] == pytest.approx(value, rel=1e-3)
    assert_allclose(np.maximum(Y @ R, 0), directions, atol=1e-2)


@pytest.mark.parametrize("graph", ["rank", "knn", "chain", as_graph("knn"), "matrix"], ids=str)
def test_objective_never_increases(graph):
    given = np.abs(np.corrcoef(X)) * (1 - np.eye(N)) if isinstance(graph, str) and graph == "matrix" else graph
    model = SmoothedSemiNMF(K, graph=given, random_state=0).fit(X)
    assert np.diff(model.objective_history_).max(initial=0) <= 1e-12
    assert_array_equal(model.history_iterations_, np.arange(1, model.n_iter_ + 1))
    assert (model.layers_[0].representation >= 0).all()


def test_graphs_differ():
    found = [SmoothedSemiNMF(K, graph=g, random_state=0).fit(X).components_ for g in ("rank", "knn", "chain")]
    for i, one in enumerate(found):
        assert all(np.abs(one - other).max() > 1e-3 for other in found[:i])


def test_sequences_end_the_chain():
    groups = np.repeat([0, 1], 30)
    W = np.diag(np.ones(59), 1) + np.diag(np.ones(59), -1)
    W[29, 30] = W[30, 29] = 0
    chain = SmoothedSemiNMF(K, graph="chain", random_state=0).fit(X, groups=groups)
    assert_allclose(chain.components_, SmoothedSemiNMF(K, graph=W, random_state=0).fit(X).components_, atol=1e-6)


def test_components_are_the_best_for_the_codes():
    model = SmoothedSemiNMF(K, random_state=0).fit(X)
    H = model.layers_[0].representation
    assert_allclose(model.components_, np.linalg.lstsq(H, X, rcond=None)[0], atol=1e-6)
    assert_allclose(np.linalg.norm(model.components_, axis=1), 1)
    assert model.reconstruction_err_ == pytest.approx(np.linalg.norm(X - H @ model.components_), rel=1e-9)
    assert model.reconstruction_err_ >= SemiNMF(K, random_state=0).fit(X).reconstruction_err_


def test_new_samples_are_coded_by_least_squares():
    model = SmoothedSemiNMF(K, random_state=0).fit(X)
    expected = [nnls(model.components_.T, x)[0] for x in X[:9]]
    assert_allclose(model.transform(X[:9]), expected, atol=1e-7)


def test_clusters_are_found():
    y = np.repeat(np.arange(4), 40)
    draw = np.random.default_rng(0)
    data = draw.normal(size=(4, 30))[y] + 0.9 * draw.normal(size=(160, 30))
    model = SmoothedSemiNMF(10, n_clusters=4, random_state=0)
    assert clustering_accuracy(y, model.fit_predict(data)) > 0.95
    assert clustering_accuracy(y, model.set_params(readout="whitened").fit_predict(data)) > 0.9


@pytest.mark.parametrize("readout", ["directions", "whitened", "raw", "isometric"])
def test_readouts_of_clusters(readout):
    model = SmoothedSemiNMF(K, readout=readout, n_clusters=3, random_state=0).fit(POSITIVE)
    H = model.layers_[0].representation
    E = model.clusters_.features(H)
    assert len(set(model.cluster())) == 3
    if readout == "raw":
        assert_array_equal(E, H)
    elif readout == "isometric":
        assert_allclose(E @ E.T, H @ model.components_ @ model.components_.T @ H.T, atol=1e-6 * (H**2).max())
    else:
        assert_allclose(np.linalg.norm(E, axis=1), 1)


def test_contract():
    check_model(SmoothedSemiNMF(K, random_state=0), GROUPS)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shapes_signs_and_floating_type(dtype):
    data = POSITIVE.astype(dtype)
    model = SmoothedSemiNMF(K, random_state=0).fit(data)
    (layer,) = model.layers_
    assert layer.weights is layer.components is model.components_
    assert (layer.components.shape, layer.representation.shape) == ((K, P), (N, K))
    assert layer.components.dtype == layer.representation.dtype == model.transform(data).dtype == dtype
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(data), model.predict(data))


@pytest.mark.parametrize("k", [1, 2, 20, 70])
def test_any_number_of_components(k):
    model = SmoothedSemiNMF(k, n_clusters=2, random_state=0).fit(X)
    assert model.components_.shape == (k, P)
    assert np.isfinite(model.layers_[0].representation).all()
    assert np.isfinite(model.transform(X)).all()


def test_sparse_data_are_the_array():
    data = np.where(np.median(GROUPS) < GROUPS, GROUPS, 0)
    dense, sparse = (SmoothedSemiNMF(K, random_state=0).fit(form(data)) for form in (np.asarray, sp.csr_array))
    assert sparse.reconstruction_err_ == pytest.approx(dense.reconstruction_err_, rel=1e-4)


def test_same_seed_same_model():
    one, other = (SmoothedSemiNMF(K, random_state=3).fit(POSITIVE) for _ in range(2))
    assert_array_equal(one.components_, other.components_)


def test_samples_far_from_all_others_have_finite_codes():
    model = SmoothedSemiNMF(K, random_state=0).fit(POSITIVE)
    far = np.r_[1e6 * X[:3], -1e6 * X[:3], 1e-9 * X[:3], np.zeros((1, P)), 1e6 * np.eye(P)[:2]]
    for method in ("nonnegative", "pinv"):
        assert np.isfinite(model.transform(far, method=method)).all()


def test_a_fit_that_was_cut_short_says_so():
    model = SmoothedSemiNMF(K, max_iter=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=3"):
        assert not model.fit(POSITIVE).converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.set_params(max_iter=500, tol=1e-3).fit(POSITIVE).converged_


def test_a_callback_stops_the_fit():
    heard = []
    model = SmoothedSemiNMF(K, random_state=0, callback=lambda state: heard.append(state) or state.iteration == 2)
    model.fit(POSITIVE)
    assert [state.iteration for state in heard] == [1, 2]
    assert_array_equal([state.objective for state in heard], model.objective_history_)
    assert model.n_iter_ == 2
    assert not model.converged_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "'n_components' parameter"),
        ({"graph": None}, "'graph' parameter"),
        ({"graph": "labels"}, "'graph' parameter"),
        ({"alpha": -1}, "'alpha' parameter"),
        ({"readout": "white"}, "'readout' parameter"),
    ],
)
def test_what_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        SmoothedSemiNMF(**parameters).fit(X)
