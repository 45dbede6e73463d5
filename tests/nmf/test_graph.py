"""Codes on a graph: the laws by which GNMF, WSF and SlowFeatureNMF collapse to known models, and what they refuse."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from laminar import GNMF, NMF, WSF, SemiNMF, SlowFeatureNMF
from laminar.datasets import make_attributes, make_temporal, partial_labels
from laminar.graphs import KNN, Chain, Labels, Precomputed, Rank
from laminar.temporal import boundary_errors, detect_phases, slowest_feature
from reference import models as plain

N, P, K = 48, 12, 3
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

rng = np.random.default_rng(0)
X = rng.gamma(0.7, size=(N, K + 2)) @ rng.gamma(0.7, size=(K + 2, P)) + 0.1 * rng.random((N, P))
MIXED = X - X.mean(0)
H0, Z0 = rng.uniform(0.1, 1, (N, K)), rng.uniform(0.1, 1, (K, P))
Y = np.where(rng.random(N) < 0.6, rng.integers(0, 3, N), -1)
SECOND = np.where(rng.random(N) < 0.6, rng.integers(0, 4, N), -1)
FILMS = np.repeat([0, 1, 2], N // 3)

MODELS = {
    "GNMF": GNMF(K, n_neighbors=3, alpha=1.0),
    "GNMF kl": GNMF(K, n_neighbors=3, alpha=1.0, loss="kl"),
    "sGNMF": GNMF(K, n_neighbors=3, alpha=1.0),
    "WSF": WSF(K, alpha=0.1),
    "SlowFeatureNMF": SlowFeatureNMF(K, alpha=0.3),
}
every_model = pytest.mark.parametrize("name", MODELS)
squared = pytest.mark.parametrize("name", [name for name in MODELS if name != "GNMF kl"])
SOLVERS = [{"solver": "hals"}, {"solver": "apg"}, {"solver": "mu"}, {"solver": "mu", "eta": 0.5}]
every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda way: "-".join(map(str, way.values())))


def fit(model, X=X, y=None, groups=None, **parameters):
    model = clone(model).set_params(**({"random_state": 0, "max_iter": 25, "tol": 0} | parameters))
    return model.fit(X, y) if groups is None else model.fit(X, y, groups)


def told(name):
    """What a model of the table is told beyond X."""
    return {"y": Y} if name in ("sGNMF", "WSF") else {"groups": FILMS} if name == "SlowFeatureNMF" else {}


def data_of(name):
    return MIXED if name == "WSF" else X


def codes(model):
    return model.layers_[0].representation


def same(one, other, tol=0.0):
    """Whether two fits are the same, digit for digit unless a tolerance is given."""
    if tol == 0:
        assert np.array_equal(codes(one), codes(other))
        assert np.array_equal(one.components_, other.components_)
        assert np.array_equal(one.objective_history_, other.objective_history_)
    else:
        np.testing.assert_allclose(codes(one), codes(other), atol=tol * np.abs(codes(other)).max())
        np.testing.assert_allclose(one.components_, other.components_, atol=tol)


def label_graph(*labels):
    """Dense edges between samples of one known class, attributes added."""
    linked = [(y[:, None] == y) & (y >= 0) & ~np.eye(len(y), dtype=bool) for y in labels]
    return sum(W.astype(float) for W in linked)


# ---------------------------------------------------------------------------------------- without what is asked for


@pytest.mark.parametrize("rule", ["fast", "published"])
@pytest.mark.parametrize("scale", ["invariant", "none"])
@pytest.mark.parametrize("name", ["GNMF", "GNMF kl", "SlowFeatureNMF"])
def test_no_weight_is_nmf(name, scale, rule):
    loss = getattr(MODELS[name], "loss", "frobenius")
    same(fit(MODELS[name], alpha=0, scale=scale, rule=rule), fit(NMF(K, loss=loss), rule=rule))


@every_solver
def test_no_weight_is_nmf_by_every_solver(solver):
    for model in (GNMF(K, alpha=0), SlowFeatureNMF(K, alpha=0)):
        same(fit(model, **solver), fit(NMF(K), **solver))
    same(fit(WSF(K, alpha=0.0), MIXED, Y, **solver), fit(SemiNMF(K), MIXED, **solver))


@pytest.mark.parametrize("rule", ["fast", "published"])
@pytest.mark.parametrize("alpha", [0, [0.0, 0.0]])
def test_no_weight_is_semi_nmf(alpha, rule):
    y = Y if np.ndim(alpha) == 0 else np.stack([Y, SECOND], axis=1)
    same(fit(WSF(K, alpha=alpha, init="random"), MIXED, y, rule=rule), fit(SemiNMF(K, init="random"), MIXED, rule=rule))


UNKNOWN = {
    "no y": None,
    "-1": np.full(N, -1),
    "NaN": np.full(N, np.nan),
    "None": [None] * N,
    "one of each": np.arange(N),
    "attributes": np.full((N, 2), -1),
}


@pytest.mark.parametrize("y", UNKNOWN.values(), ids=UNKNOWN)
@pytest.mark.parametrize("weight", ["binary", "rbf"])
@pytest.mark.filterwarnings("ignore:y. .*label:UserWarning")  # labels without effect
def test_no_two_labels_alike_is_semi_nmf(y, weight):
    same(fit(WSF(K, weight=weight), MIXED, y), fit(SemiNMF(K), MIXED))


@pytest.mark.filterwarnings("ignore:y. .*label:UserWarning")  # labels without effect
def test_an_attribute_without_labels_does_not_count():
    for blank in (np.full(N, -1), np.arange(N)):
        for columns in ([Y, blank], [blank, Y]):
            same(fit(WSF(K, alpha=0.1), MIXED, np.stack(columns, axis=1)), fit(WSF(K, alpha=0.1), MIXED, Y))
    y = np.stack([Y, SECOND], axis=1)
    same(fit(WSF(K, alpha=[0.1, 0]), MIXED, y), fit(WSF(K, alpha=0.1), MIXED, Y))


@pytest.mark.parametrize("loss", ["frobenius", "kl"])
@pytest.mark.parametrize("rule", ["fast", "published"])
@pytest.mark.filterwarnings("ignore:y. .*label:UserWarning")  # labels without effect
def test_neighbours_and_labels(loss, rule):
    """Semi-supervised GNMF is GNMF without labels, and with all of them GNMF on their graph."""
    model = GNMF(K, n_neighbors=3, loss=loss, rule=rule)
    same(fit(model, y=np.full(N, -1)), fit(model), tol=1e-9)
    everyone = rng.integers(0, 3, N)
    same(fit(model, y=everyone), fit(model, graph="labels", n_neighbors=5, y=everyone), tol=1e-9)


def test_some_labels_overrule_the_neighbours():
    W = KNN(3).build(X).tocsr().toarray()
    known = (Y[:, None] >= 0) & (Y >= 0)
    W = np.where(known, label_graph(Y), W)
    same(fit(MODELS["sGNMF"], y=Y, solver="mu"), fit(GNMF(K, graph=W, alpha=1.0), solver="mu"), tol=1e-9)


@pytest.mark.parametrize("weight", ["binary", "heat", "cosine"])
@pytest.mark.parametrize("name", ["GNMF", "WSF"])
@pytest.mark.filterwarnings("ignore:y. .*label:UserWarning")  # labels without effect
def test_labels_overrule_neighbours_of_any_weight(name, weight):
    """sGNMF: weight 1 within a known class, 0 between two, those of the neighbours elsewhere; in a sum too."""
    data = data_of(name)
    W = KNN(4, weight=weight).build(data).tocsr().toarray()
    W = np.where((Y[:, None] >= 0) & (Y >= 0), label_graph(Y), W)
    model = {"GNMF": GNMF, "WSF": WSF}[name](K, alpha=0.5, solver="mu", init=(H0, None))
    near = KNN(4, weight=weight)
    same(fit(model, data, Y, graph=near), fit(model, data, graph=W), tol=1e-8)
    W += 0.5 * Chain().build(data).tocsr().toarray()
    same(fit(model, data, Y, graph=near + 0.5 * Chain()), fit(model, data, graph=W), tol=1e-8)
    same(fit(model, data, np.full(N, -1), graph=near), fit(model, data, graph=near))
    # A graph that already uses labels is taken as it is.
    W = label_graph(Y) + KNN(4, weight=weight).build(data).tocsr().toarray()
    same(fit(model, data, Y, graph=Labels() + near), fit(model, data, graph=W), tol=1e-8)


@pytest.mark.parametrize("model", [GNMF(K), WSF(K)], ids=["GNMF", "WSF"])
def test_every_name_of_a_graph(model):
    for name, graph in {"chain": Chain(), "rank": Rank()}.items():
        same(fit(model, graph=name), fit(model, graph=graph))
    same(fit(model, graph="labels", y=Y), fit(model, graph=Labels(), y=Y))
    same(fit(model, graph="knn", y=Y), fit(model, graph=KNN(5), y=Y))


# -------------------------------------------------------------------------------------------- one model is another


@every_solver
@pytest.mark.parametrize("groups", [None, FILMS])
def test_slow_features_are_a_chain_with_twice_the_weight(groups, solver):
    slow = fit(SlowFeatureNMF(K, alpha=0.3), groups=groups, **solver)
    same(slow, fit(GNMF(K, graph="chain", alpha=0.6), groups=groups, **solver))
    same(slow, fit(GNMF(K, graph=Chain(), alpha=0.6), groups=groups, **solver))


def test_the_published_rules_are_the_same_from_components_of_unit_length():
    unit = Z0 / np.linalg.norm(Z0, axis=1, keepdims=True)
    slow, chain = SlowFeatureNMF(K, alpha=0.3), GNMF(K, graph="chain", alpha=0.6)
    same(fit(slow, rule="published", init=(H0, unit)), fit(chain, rule="published", init=(H0, unit)), tol=1e-9)


@pytest.mark.parametrize("way", [{"solver": "hals"}, {"solver": "mu"}, {"rule": "published"}], ids=str)
def test_attributes_add_up(way):
    y, init = np.stack([Y, Y], axis=1), (H0, None)
    one = fit(WSF(K, alpha=0.3, init=init), MIXED, Y, **way)
    for alpha in ([0.1, 0.2], 0.15):
        same(fit(WSF(K, alpha=alpha, init=init), MIXED, y, **way), one, tol=1e-8)
    if way != {"solver": "hals"}:  # which knows more of a graph of labels than of any graph, and takes larger steps
        pair = fit(WSF(K, alpha=[0.1, 0.2], init=init), MIXED, np.stack([Y, SECOND], axis=1), **way)
        W = 0.1 * label_graph(Y) + 0.2 * label_graph(SECOND)
        same(fit(WSF(K, alpha=1, graph=W, init=init), MIXED, **way), pair, tol=1e-8)


@pytest.mark.parametrize("name", ["GNMF", "WSF"])
def test_a_graph_in_every_form(name):
    W = KNN(3).build(data_of(name)).tocsr()
    model, data = {"GNMF": GNMF(K, alpha=1.0, graph=W), "WSF": WSF(K, alpha=0.1, graph=W)}[name], data_of(name)
    expected = fit(model, data)
    for graph in (sp.csc_matrix(W), sp.coo_array(W), W.toarray(), KNN(3)):
        same(fit(model, data, graph=graph), expected, tol=1e-9)
    same(fit(model, data, graph=W + sp.eye_array(N)), expected, tol=1e-9)  # loops cancel
    assert fit(model, data, graph=3 * W).objective_history_[-1] > expected.objective_history_[-1]


def test_sums_of_graphs():
    both = KNN(3).build(X).tocsr() + 0.5 * Chain().build(X, groups=FILMS).tocsr()
    one = fit(GNMF(K, graph=KNN(3) + 0.5 * Chain()), groups=FILMS)
    same(one, fit(GNMF(K, graph=both)), tol=1e-7)
    both = label_graph(Y) + 0.5 * Chain().build(X, groups=FILMS).tocsr().toarray()
    one = fit(WSF(K, alpha=0.1, graph=Labels() + 0.5 * Chain()), MIXED, Y, FILMS, solver="mu", init=(H0, None))
    same(one, fit(WSF(K, alpha=0.1, graph=both), MIXED, solver="mu", init=(H0, None)), tol=1e-7)


# ------------------------------------------------------------------------------------------------ the papers' rules


def check_published(model, iterates, X=X, y=None, groups=None, tol=1e-8):
    for n_iter, (H, Z) in enumerate(iterates, start=1):
        fitted = fit(model, X, y, groups, rule="published", max_iter=n_iter)
        size = (Z if getattr(model, "loss", "") == "kl" else Z**2).sum(1)
        size = size if getattr(model, "loss", "") == "kl" else np.sqrt(size)
        np.testing.assert_allclose(codes(fitted), H * size, rtol=tol)
        np.testing.assert_allclose(fitted.components_, Z / size[:, None], atol=tol)
    return fitted, (H, Z)


@pytest.mark.parametrize("units", [1.0, 1e-4, 300.0])
@pytest.mark.parametrize("alpha", [0.1, 100.0])
def test_published_gnmf(alpha, units):
    W = KNN(3).build(X).tocsr()
    model = GNMF(K, graph=W, alpha=alpha, init=(H0, Z0))
    fitted, (H, Z) = check_published(model, plain.gnmf(units * X, H0, Z0, W.toarray(), alpha, 8), units * X)
    penalty = alpha * np.trace(H.T @ plain.laplacian(W.toarray()) @ H) / 2
    assert fitted.objective_history_[-1] == pytest.approx(plain.objective(units * X, H, Z) + penalty)


@pytest.mark.parametrize("units", [1.0, 1e-4, 300.0])
@pytest.mark.parametrize("alpha", [0.1, 100.0])
def test_published_gnmf_of_a_divergence(alpha, units):
    W = KNN(3).build(X).tocsr().toarray()
    model = GNMF(K, n_neighbors=3, loss="kl", alpha=alpha, init=(H0, Z0))
    fitted, (H, Z) = check_published(model, plain.gnmf_kl(units * X, H0, Z0, W, alpha, 10), units * X, tol=1e-7)
    pairs = H[:, None] * np.log(H[:, None] / H) + H * np.log(H / H[:, None])
    penalty = alpha / 2 * (W[:, :, None] * pairs).sum()
    assert fitted.objective_history_[-1] == pytest.approx(plain.objective(units * X, H, Z, "kl") + penalty)


def test_published_gnmf_of_a_divergence_needs_no_edges_at_all():
    """A graph of labels is never formed."""
    model = GNMF(K, graph="labels", loss="kl", alpha=1.0, init=(H0, Z0))
    check_published(model, plain.gnmf_kl(X, H0, Z0, label_graph(Y), 1.0, 5), y=Y)


def test_published_gnmf_of_a_divergence_comes_to_rest():
    small = GNMF(K, n_neighbors=3, loss="kl", rule="published")
    model = fit(small, X[:16], max_iter=1000, tol=1e-3)
    assert model.converged_
    later = fit(small, X[:16], max_iter=model.n_iter_ + 10)
    np.testing.assert_allclose(codes(later), codes(model), atol=0.03 * codes(model).max())


@pytest.mark.parametrize("units", [1.0, 1e-4, 300.0])
@pytest.mark.parametrize("alpha", [0.01, 10.0])
def test_published_wsf(alpha, units):
    data = units * MIXED
    model = WSF(K, alpha=alpha, init=(H0, None))
    check_published(model, plain.wsf(data, H0, label_graph(Y), alpha, 8), data, Y)


def test_published_wsf_of_several_attributes():
    W = 0.1 * label_graph(Y) + 2 * label_graph(SECOND)
    model = WSF(K, alpha=(0.1, 2), init=(H0, None))
    check_published(model, plain.wsf(MIXED, H0, W, 1.0, 8), MIXED, np.stack([Y, SECOND], axis=1))


@pytest.mark.parametrize("units", [1.0, 1e-4, 300.0])
@pytest.mark.parametrize("alpha", [0.1, 100.0])
def test_published_slow_features(alpha, units):
    model = SlowFeatureNMF(K, alpha=alpha, init=(H0, Z0))
    check_published(model, plain.slow_feature_nmf(units * X, H0, Z0, alpha, 8), units * X)


# ----------------------------------------------------------------------------------------------------- the objective


def check_descent(model, data=X):
    history = model.objective_history_
    # What is rounding is relative to the data, of which the objective is a small part.
    size = data.sum() if getattr(model, "loss", "") == "kl" else (data**2).sum()
    assert np.isfinite(history).all()
    assert np.diff(history).max(initial=0) <= 20 * np.finfo(model.components_.dtype).eps * size


@squared
@every_solver
@pytest.mark.parametrize(("alpha", "dtype"), [(1e-3, np.float64), (1.0, np.float32), (1e3, np.float64)])
def test_the_objective_never_rises(name, solver, alpha, dtype):
    data = data_of(name).astype(dtype)
    check_descent(fit(MODELS[name], data, alpha=alpha, max_iter=60, **solver, **told(name)), data)


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("parameters", [{}, {"graph": "labels"}, {"graph": "chain"}], ids=str)
def test_the_divergence_never_rises(parameters, alpha, dtype):
    labels = None if parameters.get("graph") == "chain" else Y
    model = fit(GNMF(K, loss="kl"), X.astype(dtype), y=labels, alpha=alpha, max_iter=200, **parameters)
    check_descent(model)
    np.testing.assert_allclose(model.components_.sum(1), 1, rtol=1e-5)


@squared
@pytest.mark.parametrize("way", [{"scale": "none"}, {"rule": "published"}], ids=str)
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3])
def test_the_published_objective_never_rises(name, way, alpha):
    check_descent(fit(MODELS[name], data_of(name), alpha=alpha, max_iter=60, **way, **told(name)), data_of(name))


@every_model
def test_the_objective_is_what_it_says(name):
    model = fit(MODELS[name], data_of(name), max_iter=100, **told(name))
    loss = getattr(model, "loss", "frobenius")
    W = {
        "GNMF": lambda: KNN(3).build(X).tocsr().toarray(),
        "GNMF kl": lambda: KNN(3).build(X).tocsr().toarray() * N / X.sum(),
        "sGNMF": lambda: np.where((Y[:, None] >= 0) & (Y >= 0), label_graph(Y), KNN(3).build(X).tocsr().toarray()),
        "WSF": lambda: 0.1 * label_graph(Y),
        "SlowFeatureNMF": lambda: 0.6 * Chain().build(X, groups=FILMS).tocsr().toarray(),
    }[name]()
    H, Z = codes(model), model.components_
    penalty = np.trace(H.T @ plain.laplacian(W) @ H) / 2 + model.layers_[0].ridge / 2 * (H**2).sum()
    fitted = plain.objective(data_of(name), H, Z, loss)
    assert model.objective_history_[-1] == pytest.approx(fitted + penalty, rel=1e-9)
    error = model.reconstruction_err_ if loss == "kl" else model.reconstruction_err_**2 / 2
    assert error == pytest.approx(fitted, rel=1e-9)


@every_model
def test_more_weight_is_smoother_and_fits_less(name):
    fits = [fit(MODELS[name], data_of(name), alpha=a, max_iter=100, **told(name)) for a in (0, 0.01, 0.1, 1.0)]
    errors = [model.reconstruction_err_ for model in fits]
    assert errors == sorted(errors)
    assert errors[-1] > 1.02 * errors[0]


# --------------------------------------------------------------------------------------- as much weight as there is


def spread_within(H, groups):
    """Largest distance of a code from the mean of its group, relative to the codes."""
    return max(np.abs(H[groups == g] - H[groups == g].mean(0)).max() for g in np.unique(groups)) / H.max()


def test_large_weights_make_the_codes_of_a_class_equal():
    model = fit(WSF(K, alpha=1e5), MIXED, Y, max_iter=100)
    H = codes(model)
    assert spread_within(H[Y >= 0], Y[Y >= 0]) < 1e-4
    assert spread_within(H[Y < 0], Y[Y < 0]) > 0.1  # samples of unknown class are free
    assert len(np.unique(H[Y >= 0].round(3), axis=0)) > 1


@pytest.mark.parametrize("loss", ["frobenius", "kl"])
def test_large_weights_make_the_codes_of_a_component_equal(loss):
    part = np.arange(N) % 2
    ring = sp.coo_array((np.ones(N), (np.arange(N), (np.arange(N) + 2) % N)), shape=(N, N))  # two rings
    model = fit(GNMF(K, graph=(ring + ring.T).tocsr(), alpha=1e4, loss=loss), max_iter=600)
    assert spread_within(codes(model), part) < 0.01
    assert spread_within(codes(fit(NMF(K, loss=loss), max_iter=100)), part) > 0.3


def test_large_weights_make_the_codes_of_a_sequence_equal():
    H = codes(fit(SlowFeatureNMF(K, alpha=1e4), groups=FILMS, max_iter=600))
    assert spread_within(H, FILMS) < 0.01
    assert spread_within(H, np.zeros(N)) > 0.05


# ------------------------------------------------------------------------------------------ what must not matter


@every_model
@pytest.mark.parametrize("c", [1e-30, 1e30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_units_do_not_matter(name, c, dtype):
    model, data = clone(MODELS[name]).set_params(init=(H0, None)), data_of(name)
    one, other = (fit(model, (s * data).astype(dtype), max_iter=10, **told(name)) for s in (1, c))
    tol = 5e-3 if dtype == np.float32 else 1e-7
    np.testing.assert_allclose(other.components_, one.components_, atol=tol)
    np.testing.assert_allclose(codes(other).astype(float) / c, codes(one), atol=tol * codes(one).max())


@every_model
def test_the_scale_of_the_start_does_not_matter(name):
    S = np.array([1e-3, 1.0, 40.0])
    model, data = MODELS[name], data_of(name)
    one, other = (fit(model, data, init=init, **told(name)) for init in ((H0, Z0), (H0 * S, Z0 / S[:, None])))
    same(other, one, tol=1e-6)


def test_the_published_penalty_does_not_see_the_fit_but_the_scale():
    small = fit(SlowFeatureNMF(K, scale="none", init=(H0 / 100, 100 * Z0)), max_iter=5)
    large = fit(SlowFeatureNMF(K, scale="none", init=(H0, Z0)), max_iter=5)
    assert small.reconstruction_err_ < large.reconstruction_err_


@every_model
@pytest.mark.parametrize("rule", ["fast", "published"])
def test_order_does_not_matter(name, rule):
    rows = np.random.default_rng(4).permutation(N)
    if name == "SlowFeatureNMF":
        rows = np.concatenate([np.arange(32, 48), np.arange(16), np.arange(16, 32)])  # whole sequences
    model, data = clone(MODELS[name]).set_params(rule=rule, max_iter=10), data_of(name)
    one = fit(model, data, init=(H0, Z0), **told(name))
    moved = {key: value[rows] for key, value in told(name).items()}
    other = fit(model, data[rows], init=(H0[rows], Z0), **moved)
    np.testing.assert_allclose(codes(other), codes(one)[rows], atol=1e-7 * codes(one).max())
    np.testing.assert_allclose(other.components_, one.components_, atol=1e-7)


@every_solver
def test_time_has_no_direction(solver):
    model = SlowFeatureNMF(K, **solver)
    one = fit(model, groups=FILMS, init=(H0, Z0))
    other = fit(model, X[::-1], groups=FILMS[::-1], init=(H0[::-1], Z0))
    np.testing.assert_allclose(codes(other)[::-1], codes(one), atol=1e-8 * codes(one).max())
    np.testing.assert_allclose(other.components_, one.components_, atol=1e-8)


def test_sequences_may_be_interleaved_and_of_any_name():
    model = fit(SlowFeatureNMF(K, init=(H0, Z0)), groups=FILMS)
    same(fit(SlowFeatureNMF(K, init=(H0, Z0)), groups=[f"film {g}" for g in FILMS]), model)
    rows = np.argsort(np.arange(N) % 16, kind="stable")  # frame by frame, one of each sequence
    other = fit(SlowFeatureNMF(K, init=(H0[rows], Z0)), X[rows], groups=FILMS[rows])
    np.testing.assert_allclose(codes(other), codes(model)[rows], atol=1e-8 * codes(model).max())


def test_a_sequence_of_one_sample_is_linked_to_none():
    alone = FILMS.copy()
    alone[-1] = 9
    W = Chain().build(X, groups=FILMS).tocsr().toarray()
    W[-1], W[:, -1] = 0, 0
    same(fit(SlowFeatureNMF(K, alpha=0.5), groups=alone), fit(GNMF(K, graph=W, alpha=1.0)), tol=1e-9)


@every_model
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix])
def test_sparse_is_dense(name, form):
    # The number of steps a pass over X is worth depends on how many entries it has; those of this rule do not.
    data = data_of(name) * (np.random.default_rng(6).random((N, P)) < 0.5)
    model = clone(MODELS[name]).set_params(solver="mu", init=(H0, Z0), max_iter=15)
    dense, sparse = (fit(model, A, max_iter=15, **told(name)) for A in (data, form(data)))
    np.testing.assert_allclose(sparse.objective_history_, dense.objective_history_, rtol=1e-8)
    np.testing.assert_allclose(sparse.transform(form(data)), dense.transform(data), atol=1e-7)


def label_weights(data, weight, sigma):
    """W of Trigeorgis et al., eq. 16, 17 or 18, entry by entry, the diagonal too; negative products are 0."""
    W = np.zeros((N, N))
    for i, j in np.ndindex(N, N):
        if Y[i] >= 0 and Y[i] == Y[j]:
            distance = ((data[i] - data[j]) ** 2).sum()
            if weight == "rbf":
                W[i, j] = np.exp(-distance / (2 * sigma**2))
            else:
                W[i, j] = 1 if weight == "binary" else max(data[i] @ data[j], 0)
    return W


@pytest.mark.parametrize("data", [X, MIXED], ids=["non-negative", "mixed"])
@pytest.mark.parametrize("weight", ["binary", "rbf", "dot"])
def test_every_weight_of_labels(weight, data):
    sigma = 1.5 if weight == "rbf" else None
    model = fit(WSF(K, weight=weight, bandwidth=sigma, alpha=0.1, init=(H0, None)), data, Y)
    check_descent(model, data)
    L = plain.laplacian(label_weights(data, weight, sigma))
    value = plain.objective(data, codes(model), model.components_) + model.ridge_ / 2 * (codes(model) ** 2).sum()
    assert model.objective_history_[-1] == pytest.approx(value + 0.05 * np.trace(codes(model).T @ L @ codes(model)))


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("weight", ["binary", "rbf", "dot"])
def test_published_wsf_with_every_weight(weight, self_loops):
    """With W_ii as eq. 16 to 18 are printed, and without, as in the authors' code."""
    sigma = 1.5 if weight == "rbf" else None
    W = label_weights(MIXED, weight, sigma)
    model = WSF(K, graph=Labels(weight, bandwidth=sigma, self_loops=self_loops), alpha=0.3, init=(H0, None))
    W = W if self_loops else W - np.diag(np.diag(W))
    check_published(model, plain.wsf(MIXED, H0, W, 0.3, 8), MIXED, Y)


# --------------------------------------------------------------------------------------------- every form of labels

NAMES = np.array(["left", "front", "right", None], dtype=object)[Y]  # -1 finds None
FORMS = {
    "strings": NAMES.tolist(),
    "objects": NAMES,
    "NaN": np.where(Y < 0, np.nan, Y),
    "None": [None if c < 0 else int(c) for c in Y],
    "empty strings": ["" if name is None else name for name in NAMES],
    "masked": np.ma.masked_array(np.abs(Y), Y < 0),
    "a column": Y[:, None],
}


@pytest.mark.parametrize("name", ["WSF", "sGNMF"])
@pytest.mark.parametrize("y", FORMS.values(), ids=FORMS)
def test_every_form_of_labels(name, y):
    same(fit(MODELS[name], data_of(name), y), fit(MODELS[name], data_of(name), Y), tol=1e-8)


def test_labels_of_pandas():
    pd = pytest.importorskip("pandas")
    expected = fit(WSF(K, alpha=0.1), MIXED, np.stack([Y, SECOND], axis=1))
    frame = pd.DataFrame({"pose": pd.array(NAMES, dtype="string"), "who": pd.array(SECOND, dtype="Int64")})
    frame.loc[SECOND < 0, "who"] = pd.NA
    same(fit(WSF(K, alpha=0.1), MIXED, frame), expected, tol=1e-8)
    frame.columns = [1, 2]  # names that are positions of other columns
    same(fit(WSF(K, alpha=0.1), MIXED, frame), expected, tol=1e-8)
    same(fit(WSF(K, alpha=0.1), MIXED, frame[1]), fit(WSF(K, alpha=0.1), MIXED, Y), tol=1e-8)
    same(fit(WSF(K, alpha=0.1), pd.DataFrame(MIXED), frame[[1]]), fit(WSF(K, alpha=0.1), MIXED, Y), tol=1e-8)


# ------------------------------------------------------------------------------------------------- the fitted model


@pytest.mark.parametrize("name", [name for name in MODELS if name != "SlowFeatureNMF"])  # test_slow.py
def test_new_samples_are_coded_by_the_components_alone(name):
    data = data_of(name)
    model = fit(MODELS[name], data, **told(name))
    new = np.random.default_rng(7).permuted(data, axis=1)[:9]
    H = model.transform(new)
    np.testing.assert_allclose(np.vstack([model.transform(x[None]) for x in new]), H, atol=1e-3 * H.max())
    np.testing.assert_allclose(model.transform(data[:5]), model.transform(data)[:5], atol=1e-3 * H.max())
    # The codes of the fit answer to the penalty as well.
    assert model.score(data) > 0 or model.loss == "kl"
    assert not np.allclose(codes(model), model.transform(data), atol=0.01 * codes(model).max())


@every_model
def test_fit_transform_and_fit_predict(name):
    data, given = data_of(name), told(name)
    model = fit(MODELS[name], data, **given)
    twin = clone(model)
    expected = model.transform(data) if "y" in given else codes(model)
    assert np.array_equal(twin.fit_transform(data, **given), expected)
    labels = clone(model).fit_predict(data, **given)
    assert np.array_equal(labels, model.clusters_.predict(codes(model), K))
    assert labels.shape == (N,)
    assert set(labels) == set(range(K))


@every_model
def test_copies(name):
    model = fit(MODELS[name], data_of(name), **told(name))
    restored = pickle.loads(pickle.dumps(model))
    same(restored, model)
    assert np.array_equal(restored.transform(data_of(name)), model.transform(data_of(name)))
    unfitted = pickle.loads(pickle.dumps(GNMF(graph=KNN(3) + 0.5 * Chain())))
    assert repr(unfitted) == repr(GNMF(graph=KNN(3) + 0.5 * Chain()))
    same(fit(clone(model), data_of(name), **told(name)), model)


def test_inputs_are_not_changed():
    W, y = KNN(3).build(X).tocsr() + sp.eye_array(N), NAMES.copy()
    before = W.copy()
    fit(GNMF(K, graph=W))
    fit(GNMF(K), y=y)
    fit(WSF(K, alpha=(weights := [0.1])), MIXED, y)
    assert (before != W).nnz == 0
    assert weights == [0.1]
    assert (y == NAMES).all()


# --------------------------------------------------------------------------------------------- what was planted


def readable(model, data, y, attribute):
    """Share of the hidden labels that a linear classifier, trained on the known ones, reads off the codes."""
    H, hidden = codes(model) / codes(model).std(0), y < 0
    return LinearSVC(random_state=0).fit(H[~hidden], y[~hidden]).score(H[hidden], data.y[hidden, attribute])


@pytest.mark.parametrize("attribute", [0, 1])
def test_a_tenth_of_the_labels_makes_an_attribute_readable(attribute):
    """With every setting the default. The codes of Semi-NMF, from the best of its starts for this, show it as well."""
    for seed in range(2):
        data = make_attributes(random_state=seed)
        y = partial_labels(data.y[:, attribute], 0.1, random_state=seed)
        starts = [fit(SemiNMF(init=init), data.X, max_iter=100) for init in ("auto", "random", "kmeans", "svd")]
        ours = readable(fit(WSF(), data.X, y, max_iter=100), data, y, attribute)
        assert ours > 0.9
        assert ours >= max(readable(model, data, y, attribute) for model in starts) - 0.03


def test_slow_features_find_the_phases_of_a_film():
    """With more components than there are parts, as one who does not know their number will take, NMF divides the slow
    part among several.
    """

    def largest_error(model):
        _, signal = slowest_feature(model)
        return np.abs(boundary_errors(detect_phases(signal, n_episodes=1), film.phase)).max()

    errors = []
    for seed in range(20, 26):  # the default weight was chosen on other films
        film = make_temporal(random_state=seed)
        errors.append([largest_error(fit(model, film.X, max_iter=500)) for model in (SlowFeatureNMF(10), NMF(10))])
    slow, nmf = np.array(errors).T
    assert slow.max() <= 2
    assert (nmf > 2).any()


# ----------------------------------------------------------------------------------------------------- bad input

EDGES = label_graph(Y)
SKEW = EDGES.copy()
SKEW[0, 1] += 1
EDGE_SUM = Precomputed(EDGES) + Chain()
BAD = {
    "labels of another length": (WSF(K), {"y": Y[:10]}, "y has 10 rows but X has 48 samples; give one label per"),
    "labels on their side": (WSF(K), {"y": np.stack([Y, Y])}, "y has 2 rows .*Transpose it: rows are samples"),
    "labels of three dimensions": (WSF(K), {"y": Y.reshape(N, 1, 1)}, "y must have shape .*got 3 dimensions"),
    "labels of two types": (WSF(K), {"y": ["a", 1] * 24}, "y mixes labels of types int, str"),
    "two attributes for GNMF": (GNMF(K), {"y": np.stack([Y, Y], 1)}, "y has 2 attributes, .* pass one column of y"),
    "labels for the neighbours": (GNMF(K), {"y": Y[:10]}, "y has 10 rows but X has 48 samples"),
    "no labels": (GNMF(K, graph="labels"), {}, "a graph of labels needs y; pass y to fit"),
    "no labels in a sum": (WSF(K, graph=Labels() + Chain()), {}, "a graph of labels needs y"),
    "negative edges": (GNMF(K, graph=-EDGES), {}, "finite weights >= 0.*clip them"),
    "negative edges, sparse": (WSF(K, graph=sp.csr_array(-EDGES)), {}, "finite weights >= 0.*clip them"),
    "NaN edges": (GNMF(K, graph=np.full((N, N), np.nan)), {}, "finite weights >= 0"),
    "one-way edges": (GNMF(K, graph=SKEW), {}, r"must be symmetric; W.maximum\(W.T\)"),
    "graph not square": (GNMF(K, graph=sp.csr_array(EDGES[:, :9])), {}, r"shape \(48, 48\); got \(48, 9\)"),
    "graph of other samples": (WSF(K, graph=EDGES[:9, :9]), {}, r"over 48 samples.*got \(9, 9\).*the same samples"),
    "unknown graph": (GNMF(K, graph="nearest"), {}, "'graph' parameter of GNMF must be .*'knn'.*Got 'nearest'"),
    "no graph": (GNMF(K, graph=None), {}, "'graph' parameter of GNMF must be .*Got None"),
    "too many neighbours": (GNMF(K, n_neighbors=48), {}, "n_neighbors=48 must be .*below the number of samples, 48"),
    "no neighbours": (GNMF(K, n_neighbors=0), {}, "'n_neighbors' parameter of GNMF .*Got 0"),
    "weight below zero": (GNMF(K, alpha=-1), {}, "'alpha' parameter of GNMF .*Got -1"),
    "weight NaN": (SlowFeatureNMF(K, alpha=np.nan), {}, "'alpha' parameter of SlowFeatureNMF .*Got nan"),
    "infinite weight": (GNMF(K, alpha=np.inf), {}, "'alpha' parameter of GNMF .*Got inf"),
    "a weight below zero": (WSF(K, alpha=[-1.0]), {"y": Y}, r"alpha must be finite and not below 0; got \[-1.0\]"),
    "a weight NaN": (WSF(K, alpha=[np.nan]), {"y": Y}, "alpha must be finite and not below 0"),
    "an infinite weight": (WSF(K, alpha=np.inf), {"y": Y}, "'alpha' parameter of WSF|alpha must be finite"),
    "weights in words": (WSF(K, alpha=["much"]), {"y": Y}, "alpha must be finite and not below 0; got"),
    "a weight too many": (WSF(K, alpha=[1, 2]), {"y": Y}, "alpha has 2 weights but y has 1 attributes; give one"),
    "a weight too few": (WSF(K, alpha=[1]), {"y": np.stack([Y, Y], 1)}, "alpha has 1 weights but y has 2 attributes"),
    "weights for a graph": (WSF(K, alpha=[1, 2], graph="chain"), {}, "alpha has 2 weights"),
    "weights of weights": (WSF(K, alpha=[[1.0]]), {"y": Y}, "alpha has 1 weights|alpha must be"),
    "unknown weight": (WSF(K, weight="heat"), {"y": Y}, "'weight' parameter of WSF .*'rbf'.*Got 'heat'"),
    "labels for a chain": (GNMF(K, graph="chain"), {"y": Y}, "labels y have no effect: the graph, Chain, does not use"),
    "labels for ranks": (WSF(K, graph="rank"), {"y": Y}, "the graph, Rank, does not .*Labels.* or leave y out"),
    "labels for edges": (WSF(K, graph=EDGES), {"y": Y}, "labels y have no effect: the graph, Precomputed, does not"),
    "labels for a sum": (GNMF(K, graph=EDGE_SUM), {"y": Y}, r"the graph, Precomputed \+ Chain, does not use them"),
    "neighbours of a chain": (GNMF(K, graph="chain", n_neighbors=3), {}, r"n_neighbors=3 has no effect.*KNN"),
    "neighbours of edges": (GNMF(K, graph=EDGES, n_neighbors=3), {}, "n_neighbors=3 has no effect here"),
    "weight of a chain": (WSF(K, graph="chain", weight="dot"), {}, "weight='dot' has no effect.*Labels"),
    "weight of labels": (WSF(K, graph=Labels(), weight="rbf"), {"y": Y}, "weight='rbf' has no effect here"),
    "width of a number": (WSF(K, bandwidth=1.0), {"y": Y}, "bandwidth=1.0 has no effect here"),
    "no width": (WSF(K, weight="rbf", bandwidth=0.0), {"y": Y}, "'bandwidth' parameter of WSF .*Got 0.0"),
    "unknown scale": (GNMF(K, scale="renorm"), {}, "'scale' parameter of GNMF .*Got 'renorm'"),
    "groups of another length": (SlowFeatureNMF(K), {"groups": FILMS[:9]}, r"each of the 48 samples; got shape \(9,\)"),
    "groups of two columns": (SlowFeatureNMF(K), {"groups": np.zeros((N, 2))}, r"got shape \(48, 2\)"),
    "groups for a sum": (
        WSF(K, graph=Labels() + 0.5 * Chain()),
        {"y": Y, "groups": FILMS[:9]},
        r"each of the 48 samples; got shape \(9,\)",
    ),
    "groups unknown": (SlowFeatureNMF(K), {"groups": Y}, r"groups is unknown \(-1, NaN or None\) for"),
    "groups for a chain": (GNMF(K, graph="chain"), {"groups": FILMS[:9]}, "groups must name the sequence of each"),
    "sequences of one": (SlowFeatureNMF(K), {"groups": np.arange(N)}, "longest sequence has 1 sample.* or use NMF"),
}


@pytest.mark.parametrize(("model", "given", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_refused(model, given, message):
    model = clone(model)
    with pytest.raises((ValueError, TypeError), match="(?s)" + message):
        model.fit(MIXED if isinstance(model, WSF) else X, **given)
    assert not hasattr(model, "components_")


@pytest.mark.parametrize("model", [WSF(K), SlowFeatureNMF(K), GNMF(K, scale="none")], ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_data_too_small_for_the_published_penalty(model, dtype):
    tiny = (np.finfo(dtype).tiny * 1e3 * X).astype(dtype)
    model = clone(model).set_params(scale="none")
    with pytest.raises(ValueError, match=r"X is too small .*largest magnitude is .*Multiply X by a constant"):
        model.fit(tiny, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert np.isfinite(fit(model, tiny, Y, scale="invariant").components_).all()
