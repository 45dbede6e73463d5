import numpy as np
import pytest
import scipy.sparse as sp

from laminar._base.spectral import normalized
from laminar._engine.linalg.small import unit_rows
from laminar.baselines import CoRegularizedSpectral, NgJordanWeiss
from laminar.baselines.affinity import build_affinity
from laminar.datasets import make_views
from laminar.metrics import clustering_accuracy

DATA = make_views(60, 3, (8, 12, 10), noise=1.5, random_state=0)
VARIANTS = pytest.mark.parametrize("variant", ["pairwise", "centroid"])


def fit(views, k=3, **parameters):
    return CoRegularizedSpectral(k, random_state=0, **parameters).fit(views)


def top(A, k=3):
    return np.linalg.eigh(A)[1][:, -k:]


def by_definition(views, variant, alpha, sweeps, k=3):
    """The published iteration with dense matrices: projections and the objective, sweep by sweep."""
    N = [np.asarray(normalized(build_affinity(X, "gaussian", None, k))) for X in views]
    P = [U @ U.T for U in (top(A, k) for A in N)]
    history = []
    for sweep in range(sweeps + 1):
        for v in range(len(N) if sweep else 0):
            centre = top(sum(P), k)
            peers = centre @ centre.T if variant == "centroid" else sum(P) - P[v]
            U = top(N[v] + alpha * peers, k)
            P[v] = U @ U.T
        centre = top(sum(P), k)
        pairs = (
            sum(np.trace(Q @ centre @ centre.T) for Q in P)
            if variant == "centroid"
            else sum(np.trace(P[v] @ P[w]) for v in range(len(P)) for w in range(v))
        )
        history.append(sum(np.trace(A @ Q) for A, Q in zip(N, P, strict=True)) + alpha * pairs)
    return (sum(P) if variant == "pairwise" else centre @ centre.T), np.array(history)


@VARIANTS
@pytest.mark.parametrize("alpha", [0.025, 0.5])
def test_iterations_and_objective_are_the_published_ones(variant, alpha):
    model = fit(DATA.views, variant=variant, alpha=alpha, max_iter=3, tol=0)
    kernel, history = by_definition(DATA.views, variant, alpha, model.n_iter_)
    assert np.allclose(model.objective_history_, history, rtol=1e-9)
    scale = np.sqrt(np.diag(kernel))
    assert np.allclose(model.embedding_ @ model.embedding_.T, kernel / scale / scale[:, None], atol=1e-6)


@VARIANTS
@pytest.mark.parametrize("affinity", ["gaussian", "knn", "rank"])
@pytest.mark.parametrize("n", [60, 330])  # direct and iterative eigensolver
def test_the_objective_never_falls(variant, affinity, n):
    views = make_views(n, 3, (8, 12, 10), noise=3.0, random_state=1).views
    for alpha in (0.025, 1.0):
        history = fit(views, variant=variant, affinity=affinity, alpha=alpha, max_iter=8, tol=0).objective_history_
        assert np.diff(history).min() > -1e-9 * history[-1]
        assert history[-1] > history[0]


@VARIANTS
def test_without_regularisation_every_view_is_by_itself(variant):
    model = fit(DATA.views, alpha=0, variant=variant)
    assert np.ptp(model.objective_history_) < 1e-12
    alone = fit(DATA.views[:1], alpha=0.7, variant=variant)
    expected = NgJordanWeiss(3, random_state=0).fit(DATA.views[0])
    assert np.allclose(alone.embedding_ @ alone.embedding_.T, expected.embedding_ @ expected.embedding_.T)
    assert np.array_equal(alone.labels_, expected.labels_)


@VARIANTS
@pytest.mark.parametrize("n", [60, 330])
def test_identical_views_are_one_view(variant, n):
    view = make_views(n, 3, (12,), noise=1.0, random_state=2).views[0]
    several, one = fit([view] * 3, variant=variant), NgJordanWeiss(3, random_state=0).fit(view)
    assert np.allclose(several.embedding_ @ several.embedding_.T, one.embedding_ @ one.embedding_.T, atol=1e-6)
    assert clustering_accuracy(several.labels_, one.labels_) == 1


@VARIANTS
def test_order_of_views_and_of_samples(variant):
    views = make_views(60, 3, (8, 12, 10), noise=0.8, random_state=0).views
    order = np.random.default_rng(0).permutation(60)
    one = fit(views, variant=variant)
    for other, labels in [
        (fit(views[::-1], variant=variant), one.labels_),
        (fit([view[order] for view in views], variant=variant), one.labels_[order]),
    ]:
        assert clustering_accuracy(other.labels_, labels) == 1
        assert other.objective_history_[-1] == pytest.approx(one.objective_history_[-1], rel=1e-3)


@VARIANTS
def test_common_components_are_recovered_exactly(variant):
    """All views in the same pieces: the leading eigenvalue of every step has as many copies."""
    y = np.repeat(np.arange(12), 30)
    rng = np.random.default_rng(3)
    views = [rng.normal(size=(360, 3)) + 1000 * rng.permutation(12)[y][:, None] for _ in range(3)]
    model = fit(views, 12, affinity="knn", variant=variant)
    assert clustering_accuracy(y, model.labels_) == 1
    assert 3 * 12 < model.objective_history_[0] < model.objective_history_[-1] < 3 * 12 + 0.025 * 3 * 12


def test_views_together_know_more_than_the_best_alone():
    data = make_views(200, 5, (10, 10, 10), noise=2.5, random_state=0)
    alone = [clustering_accuracy(data.y, NgJordanWeiss(5, random_state=0).fit_predict(X)) for X in data.views]
    together = clustering_accuracy(data.y, fit(data.views, 5).labels_)
    assert together > max(alone) + 0.02


def test_precomputed_dense_and_sparse():
    W = [build_affinity(X, "knn", 6, 3) for X in DATA.views]
    expected = fit(DATA.views, affinity="knn", n_neighbors=6)
    for form in (sp.csr_array, lambda A: A.toarray()):
        model = fit([form(A) for A in W], affinity="precomputed")
        assert np.allclose(model.objective_history_, expected.objective_history_)
        assert np.array_equal(model.labels_, expected.labels_)


def test_stops_by_itself():
    model = fit(DATA.views, max_iter=100, tol=1e-4)
    assert 1 <= model.n_iter_ < 20
    assert len(model.objective_history_) == model.n_iter_ + 1
    assert np.allclose(unit_rows(model.embedding_), model.embedding_)
