"""``rule="published"`` is Algorithm 1 of Zhao et al., against loops written from its equations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from laminar import MultiViewDeepNMF
from laminar._base.clusters import Readout
from laminar._base.graph_clusters import GraphClusters
from laminar._engine.monitor import Monitor
from laminar.datasets import make_views
from laminar.deep import published
from laminar.graphs import KNN
from laminar.multiview.layers import Pretraining
from laminar.multiview.published import Stack, algorithm
from laminar.multiview.weights import residual_weights

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:(gamma|consensus)=.*:UserWarning"),
    pytest.mark.filterwarnings("ignore:view . has .* of the weight:UserWarning"),
]
VIEWS = make_views(40, n_classes=3, n_features=(10, 8), noise=0.5, random_state=0).views
K1, K2 = 6, 4


def pos(M):
    return (np.abs(M) + M) / 2  # eq. 6


def neg(M):
    return (np.abs(M) - M) / 2


def semi_nmf(X, H, n_iter):
    """Semi-NMF of X ~ H Z as Ding et al. have it: Z by a pseudo-inverse, then eq. 5."""
    for _ in range(n_iter):
        Z = np.linalg.pinv(H) @ X
        B, G = X @ Z.T, Z @ Z.T
        H = H * np.sqrt((pos(B) + H @ neg(G)) / (neg(B) + H @ pos(G)))
    return H, np.linalg.pinv(H) @ X


def zhao(views, *, gamma, beta, n_pretraining, n_iter, printed=False, normalize=True):
    """Algorithm 1 with two layers, from random codes, all matrices dense; samples are rows."""
    rng, V = np.random.RandomState(0), len(views)
    X = [view / np.linalg.norm(view, axis=1, keepdims=True) if normalize else view for view in views]
    A = [KNN(5).build(x).tocsr().toarray() for x in X]
    D = [np.diag(a.sum(axis=1)) for a in A]
    H1, Z1, Z2, tops = [], [], [], []
    for x in X:
        h, z = semi_nmf(x, rng.uniform(size=(len(x), K1)), n_pretraining)
        top, z_top = semi_nmf(h, rng.uniform(size=(len(x), K2)), n_pretraining)
        H1.append(h), Z1.append(z), Z2.append(z_top), tops.append(top)
    left = [np.linalg.norm(X[v] - tops[v] @ Z2[v] @ Z1[v]) / np.linalg.norm(X[v]) for v in range(V)]
    H, a, history = tops[int(np.argmin(left))], np.full(V, 1 / V), []
    for _ in range(n_iter):
        for v in range(V):
            Z1[v] = np.linalg.pinv(H @ Z2[v]) @ X[v]  # eq. 4
            B, G = X[v] @ Z1[v].T, Z1[v] @ Z1[v].T
            H1[v] = H1[v] * np.sqrt((pos(B) + H1[v] @ neg(G)) / (neg(B) + H1[v] @ pos(G)))  # eq. 5, split of the Gram
            Z2[v] = np.linalg.pinv(H) @ X[v] @ np.linalg.pinv(Z1[v])  # eq. 4
            if printed:
                Psi = Z2[v] @ Z1[v]
                B, GH = X[v] @ Psi.T, H @ Psi @ Psi.T
                H = H * np.sqrt(
                    (pos(B) + neg(GH) + beta * (pos(A[v] @ H) + neg(D[v] @ H)))
                    / (neg(B) + pos(GH) + beta * (neg(A[v] @ H) + pos(D[v] @ H)))
                )  # eq. 7
        if not printed:
            up, down = np.zeros_like(H), np.zeros_like(H)
            for v in range(V):
                Psi = Z2[v] @ Z1[v]
                B, G = X[v] @ Psi.T, Psi @ Psi.T
                up += a[v] ** gamma * (pos(B) + H @ neg(G) + beta * A[v] @ H)
                down += a[v] ** gamma * (neg(B) + H @ pos(G) + beta * D[v] @ H)
            H = H * np.sqrt(up / down)
        R = [np.sum((X[v] - H @ Z2[v] @ Z1[v]) ** 2) + beta * np.trace(H.T @ (D[v] - A[v]) @ H) for v in range(V)]
        history.append(sum(a**gamma * R) / 2)  # half of eq. 3
        a = np.array([(gamma * r) ** (1 / (1 - gamma)) for r in R])  # eq. 15
        a = a / a.sum()
    return H, a, history


def fit(views=VIEWS, **parameters):
    return MultiViewDeepNMF((K1, K2), rule="published", random_state=0, n_clusters=3, tol=0, **parameters).fit(views)


@pytest.mark.parametrize("consensus", ["summed", "printed"])
@pytest.mark.parametrize("parameters", [{}, {"gamma": 2.0, "alpha": 0.5}], ids=["settings of the paper", "others"])
def test_iterates_are_those_of_the_paper(consensus, parameters):
    model = fit(consensus=consensus, max_iter=6, pretraining_max_iter=5, **parameters)
    gamma, beta = parameters.get("gamma", 0.5), parameters.get("alpha", 0.01)
    H, a, history = zhao(VIEWS, gamma=gamma, beta=beta, n_pretraining=5, n_iter=6, printed=consensus == "printed")
    assert_allclose(model.objective_history_, history, rtol=1e-6)
    assert_allclose(model.weights_, a, rtol=1e-6)
    assert_allclose(model.layers_[-1].representation, H, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("normalize", [True, False])
def test_views_with_more_features_than_samples(normalize):
    """They are replaced by coordinates with their inner products; the penalty is that of the codes in X ~ H Z."""
    wide = make_views(15, n_classes=3, n_features=(40, 8), noise=0.5, random_state=0).views
    model = fit(wide, max_iter=4, pretraining_max_iter=3, alpha=0.5, normalize=normalize)
    H, _, history = zhao(wide, gamma=0.5, beta=0.5, n_pretraining=3, n_iter=4, normalize=normalize)
    assert_allclose(model.objective_history_, history, rtol=1e-6)
    assert_allclose(model.layers_[-1].representation, H, rtol=1e-4, atol=1e-8)
    for view, X in zip(model.views_.values(), wide, strict=True):
        unit = X / np.linalg.norm(X, axis=1, keepdims=True) if normalize else X
        assert view.layers[0].components.shape == (K1, X.shape[1])
        # The weights are those of the last sweep, the best ones for the codes before it.
        assert np.linalg.norm(unit - H @ view.layers[-1].components) < 1.1 * np.linalg.norm(
            unit - H @ np.linalg.pinv(H) @ unit
        )


def test_defaults_are_the_settings_of_the_paper():
    """Gamma 0.5, beta 0.01, five neighbours, 150 iterations, spectral clusters of the five neighbours of the codes."""
    model = MultiViewDeepNMF(rule="published", n_clusters=3, random_state=0).fit(VIEWS)
    explicit = MultiViewDeepNMF(
        (10, 5), rule="published", gamma=0.5, alpha=0.01, graph=KNN(5), max_iter=150, pretraining_max_iter=150,
        scale="none", readout="raw", clustering="spectral", n_neighbors=5, n_clusters=3, random_state=0,
    ).fit(VIEWS)  # fmt: skip
    assert_allclose(model.layers_[-1].representation, explicit.layers_[-1].representation)
    assert model.n_iter_ == 150
    assert type(model.clusters_) is GraphClusters
    assert model.clusters_.read == Readout() or model.clusters_.read.basis is None
    assert model.clusters_.graph == KNN(5)
    assert {len(history) for histories in model.pretraining_histories_.values() for history in histories} == {150}


def test_start_does_not_depend_on_the_number_of_iterations():
    short, long = fit(max_iter=3, gamma=2.0), fit(max_iter=7, gamma=2.0)
    assert_allclose(long.objective_history_[:3], short.objective_history_, rtol=1e-12)


def test_pretraining_histories_are_of_every_layer():
    model = fit(max_iter=1, pretraining_max_iter=8)
    for histories in model.pretraining_histories_.values():
        assert [len(history) for history in histories] == [8, 8]
        assert all((np.diff(history) <= 1e-9 * history[0]).all() for history in histories)


def test_summed_step_descends_where_the_printed_one_rises():
    summed, printed = (fit(consensus=name, gamma=2.0, max_iter=60) for name in ("summed", "printed"))
    assert (np.diff(summed.objective_history_) <= 1e-9).all()
    assert np.diff(printed.objective_history_).max() > 1e-6


def test_large_gamma_leaves_the_codes_their_size():
    """The powers a_v^gamma are near 1e-200 here: only their ratios matter for the consensus."""
    small, large = (fit(gamma=gamma, max_iter=30).layers_[-1].representation for gamma in (20.0, 700.0))
    assert np.linalg.norm(large) > 0.5 * np.linalg.norm(small)


@pytest.mark.filterwarnings("default:(gamma|consensus)=.*:UserWarning")
def test_warnings():
    model = MultiViewDeepNMF((K1, K2), rule="published", max_iter=2, random_state=0)
    with pytest.warns(UserWarning, match="gamma=0.5 is below 1.*maximiser"):
        clone(model).fit(VIEWS)
    with pytest.warns(UserWarning, match='consensus="printed" is eq. 7'):
        clone(model).set_params(consensus="printed", gamma=2.0).fit(VIEWS)


def test_one_view_is_deep_semi_nmf():
    X, graphs = VIEWS[0], [None, None]
    draw = np.random.RandomState(0)
    codes, weights = published.greedy(
        X, (K1, K2), graphs, lambda below, k: draw.uniform(size=(len(below), k)), lambda i, below: Monitor(5, 0)
    )
    alone, several = Monitor(10, 0), Monitor(10, 0)
    stack = Stack.pretrained(X, (K1, K2), np.random.RandomState(0), Pretraining(5, lambda *_, **__: False))
    for mine, theirs in zip([*stack.codes, *stack.weights], [*codes, *weights], strict=True):
        assert_allclose(mine, theirs, rtol=1e-10)
    published.algorithm(X, codes, weights, graphs, alone)
    algorithm([stack], stack.codes[-1], [None], several, gamma=2.0, alpha=0.0)
    assert_allclose(several.history, alone.history, rtol=1e-8)


@pytest.mark.parametrize(("tol", "converged"), [(0.9, True), (0.0, False)])
def test_convergence_is_by_tol(tol, converged):
    model = MultiViewDeepNMF((K1, K2), rule="published", gamma=2.0, max_iter=5, tol=tol, random_state=0).fit(VIEWS)
    assert model.converged_ == converged


def test_residual_weights_minimise():
    R, gamma = np.array([1.0, 2.0, 4.0]), 1.7
    best = residual_weights(R, gamma)
    others = np.random.default_rng(0).dirichlet(np.ones(3), size=2000)
    assert (best**gamma @ R <= others**gamma @ R).all()
    np.testing.assert_array_equal(residual_weights(np.array([0.0, 1.0]), gamma), [1, 0])
