import numpy as np
import pytest

from laminar._engine.linalg.small import unit_rows
from laminar.baselines import DiMSC, SmoothRepresentation
from laminar.datasets import make_views
from laminar.graphs import KNN
from laminar.metrics import clustering_accuracy

DATA = make_views(40, 3, (8, 60, 12), noise=1.0, random_state=0)
rng = np.random.default_rng(0)
GRAPHS = pytest.mark.parametrize("graph", ["knn", "dot", "rank", KNN(6)])
J = np.eye(40) - 1 / 40


def laplacian(X, graph):
    linked = {"knn": KNN(4)}.get(graph, graph)
    W = np.maximum(X @ X.T, 0) if graph == "dot" else linked.build(X).tocsr().toarray()
    return np.diag(W.sum(axis=1)) - W


def objective(X, C, S):
    return ((X.T - X.T @ C) ** 2).sum() + np.trace(C @ S @ C.T)


@GRAPHS
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3])
def test_representations_solve_the_sylvester_equation(graph, alpha):
    model = SmoothRepresentation(3, alpha=alpha, graph=graph, random_state=0).fit(DATA.views)
    for X, C in zip(DATA.views, model.representations_, strict=True):
        X = unit_rows(X)
        K, S = X @ X.T, alpha * model._laplacian(X)
        assert np.abs(K @ C + C @ S - K).max() < 1e-8


def test_the_laplacian_is_that_of_the_graph():
    X = unit_rows(DATA.views[0])
    for graph in ("knn", "dot", KNN(6)):
        assert np.allclose(SmoothRepresentation(3, graph=graph)._laplacian(X), laplacian(X, graph))


@GRAPHS
def test_a_representation_is_the_minimiser(graph):
    X = unit_rows(DATA.views[0])
    model = SmoothRepresentation(3, alpha=0.5, graph=graph, random_state=0).fit(X)
    S, (C,) = 0.5 * model._laplacian(X), model.representations_
    best = objective(X, C, S)
    for _ in range(5):
        assert objective(X, C + 1e-3 * rng.normal(size=C.shape), S) > best


def test_without_smoothness_a_sample_is_itself():
    wide = SmoothRepresentation(3, alpha=0, random_state=0).fit(DATA.views[1])
    assert np.allclose(wide.representations_[0], np.eye(40), atol=1e-8)
    X = unit_rows(DATA.views[0])
    narrow = SmoothRepresentation(3, alpha=0, random_state=0).fit(X)
    assert np.allclose(narrow.representations_[0], X @ np.linalg.pinv(X), atol=1e-8)


def test_samples_of_different_subspaces_do_not_help_each_other():
    bases = [rng.normal(size=(2, 30)) for _ in range(3)]
    y = np.repeat(range(3), 25)
    X = np.vstack([rng.normal(size=(25, 2)) @ basis for basis in bases])
    labels = SmoothRepresentation(3, alpha=1e-4, random_state=0).fit_predict(X)
    assert clustering_accuracy(y, labels) == 1


@pytest.mark.parametrize("method", [SmoothRepresentation, DiMSC])
def test_scale_of_a_view_does_not_count(method):
    one, other = (method(3, random_state=0).fit(views) for views in (DATA.views, [7 * X for X in DATA.views]))
    for A, B in zip(one.representations_, other.representations_, strict=True):
        assert np.allclose(A, B, atol=1e-10)


# -------------------------------------------------------------------------------------------------------- DiMSC


@GRAPHS
@pytest.mark.parametrize("diversity", [0.1, 10.0, 1000.0])
def test_the_objective_never_rises(graph, diversity):
    model = DiMSC(3, alpha=0.01, alpha_diversity=diversity, graph=graph, tol=0, random_state=0).fit(DATA.views)
    history = model.objective_history_
    assert np.diff(history).max() <= 1e-10 * history[0]
    assert history[-1] < history[0]


def test_the_objective_counts_each_pair_of_views_once():
    model = DiMSC(3, alpha=0.1, alpha_diversity=5.0, max_iter=3, random_state=0).fit(DATA.views)
    views, C = [unit_rows(X) for X in DATA.views], model.representations_
    alone = sum(objective(X, c, 0.1 * laplacian(X, "dot")) for X, c in zip(views, C, strict=True))
    kernels = [c.T @ c for c in C]
    pairs = sum(np.trace(kernels[v] @ J @ kernels[w] @ J) for v in range(3) for w in range(v))
    assert model.objective_history_[-1] == pytest.approx(alone + 5.0 * pairs)


def test_every_step_solves_its_sylvester_equation():
    model = DiMSC(3, alpha=0.1, alpha_diversity=5.0, max_iter=1, random_state=0).fit(DATA.views)
    X, C = unit_rows(DATA.views[2]), model.representations_  # the last to move
    K = X @ X.T
    S = 0.1 * laplacian(X, "dot") + 5.0 * sum(J @ c.T @ c @ J for c in C[:2])
    assert np.abs(K @ C[2] + C[2] @ S - K).max() < 1e-8


@pytest.mark.parametrize("graph", ["knn", "dot"])
def test_without_diversity_it_is_smooth_representation(graph):
    plain = SmoothRepresentation(3, graph=graph, random_state=0).fit(DATA.views)
    model = DiMSC(3, graph=graph, alpha_diversity=0, random_state=0).fit(DATA.views)
    for A, B in zip(model.representations_, plain.representations_, strict=True):
        assert np.allclose(A, B, atol=1e-12)
    assert np.array_equal(model.labels_, plain.labels_)
    one = DiMSC(3, graph=graph, alpha_diversity=50.0, random_state=0).fit(DATA.views[0])
    assert np.allclose(one.representations_[0], plain.representations_[0], atol=1e-12)


def test_diversity_makes_views_differ():
    def shared(model):
        kernels = [J @ c.T @ c @ J for c in model.fit(DATA.views).representations_]
        return sum(np.vdot(kernels[v], kernels[w]) for v in range(3) for w in range(v))

    plain, diverse = (DiMSC(3, alpha=0.01, alpha_diversity=d, random_state=0) for d in (0, 10.0))
    assert shared(diverse) < 0.5 * shared(plain)


# --------------------------------------------------------------------------------------------------------- both


@pytest.mark.parametrize("method", [SmoothRepresentation, DiMSC])
def test_order_of_views_and_of_samples(method):
    data = make_views(60, 3, (8, 12, 10), noise=0.8, random_state=0)
    order = rng.permutation(60)
    one = method(3, random_state=0).fit(data.views)
    for other, labels in [
        (method(3, random_state=0).fit(data.views[::-1]), one.labels_),
        (method(3, random_state=0).fit([view[order] for view in data.views]), one.labels_[order]),
    ]:
        assert clustering_accuracy(other.labels_, labels) == 1
    assert clustering_accuracy(data.y, one.labels_) == 1


def test_identical_views_are_one_view():
    one, several = (
        SmoothRepresentation(3, random_state=0).fit(views) for views in (DATA.views[:1], DATA.views[:1] * 3)
    )
    assert np.allclose(one.embedding_ @ one.embedding_.T, several.embedding_ @ several.embedding_.T)
    assert np.array_equal(one.labels_, several.labels_)


@pytest.mark.parametrize("method", [SmoothRepresentation, DiMSC])
def test_too_many_samples_are_refused_before_anything_is_made(method):
    with pytest.raises(
        ValueError, match=f"{method.__name__} needs dense .*n_samples=5001 is more than 5000: cluster a"
    ):
        method(2).fit(np.zeros((5001, 1)))
