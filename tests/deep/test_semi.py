"""Layers: what fine-tuning is, what hidden layers keep, and every way to get there."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import nnls
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from laminar import WSF, Activation, DeepSemiNMF, SemiNMF
from laminar._engine.data.wrap import wrap
from laminar.deep.nonlinear import fit_stack, pretrain
from laminar.deep.pretraining import layer_sizes
from laminar.graphs import as_graph
from laminar.testing import check_model
from reference import deep as plain

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:X .* feature names:UserWarning"),
]

WAYS = {
    "plain": {},
    "graph": {"graph": "knn"},
    "printed graph": {"graph": "rank", "scale": "none", "pretraining": "wsf"},
    "coupled": {"objective": "coupled"},
    "coupled graph": {"objective": "coupled", "graph": "chain"},
    "published": {"rule": "published", "pretraining_max_iter": 20},
    "published graph": {"rule": "published", "graph": "knn", "pretraining_max_iter": 20},
    "square": {"activation": "square"},
    "non-negative": {"activation": "stanh", "hidden": "nonnegative"},
    "published activation": {"activation": "stanh", "rule": "published", "graph": "knn"},
    "sgd": {"solver": "sgd"},
    "adam in batches": {"solver": "adam", "batch_size": 20, "graph": "knn"},
    "batches": {"batch_size": 20, "max_iter": 10},
}
MONOTONE = [way for way in WAYS if way not in ("sgd", "adam in batches", "batches")]
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def mixed(n=60, p=15, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))


def positive(n=80, p=20, seed=0):
    rng = np.random.default_rng(seed)
    return rng.gamma(1.0, size=(n, 6)) @ rng.gamma(1.0, size=(6, p)) + 0.1 * rng.random((n, p))


def half_error(model, X):
    return ((X - model.layers_[-1].representation @ model.components_) ** 2).sum() / 2


def tail(X, k):
    return (np.linalg.svd(X, compute_uv=False)[k:] ** 2).sum() / 2


@parametrize_with_checks(
    [DeepSemiNMF(layers=(4, 3), activation="stanh", max_iter=3, random_state=0)],
    expected_failed_checks=lambda _: dict.fromkeys(
        ["check_transformer_data_not_an_array", "check_transformer_general"],
        "`fit_transform` returns the codes of the fit, which three iterations leave far from the best",
    ),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@every_way
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shapes_signs_and_floating_type(way, dtype):
    X = positive().astype(dtype)
    model = DeepSemiNMF((7, 4), random_state=0, **{"max_iter": 30, **way}).fit(X)
    for layer, k, below in zip(model.layers_, (7, 4), (20, 7), strict=True):
        assert layer.weights.shape == (k, below)
        assert layer.components.shape == (k, 20)
        assert layer.representation.shape == (80, k)
        assert layer.representation.dtype == layer.components.dtype == dtype
        assert np.isfinite(layer.representation).all()
    assert (model.layers_[-1].representation >= 0).all()
    assert model.transform(X).shape == (80, 4)
    assert model.transform(X[:5], layer=0).shape == (5, 7)
    assert model.inverse_transform(model.transform(X[:5])).shape == (5, 20)
    assert len(set(model.fit_predict(X))) == 4
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.transform(X[:5]), model.transform(X[:5]))


@every_way
def test_same_seed_same_model(way):
    X = positive()
    first, second = (DeepSemiNMF((7, 4), random_state=3, **{"max_iter": 20, **way}).fit(X) for _ in range(2))
    assert_array_equal(first.components_, second.components_)


@pytest.mark.parametrize("way", MONOTONE)
def test_the_objective_never_rises(way):
    for X in (mixed(), positive()):
        model = DeepSemiNMF((7, 4), random_state=0, **{"max_iter": 60, **WAYS[way]}).fit(X)
        assert np.diff(model.objective_history_).max(initial=0) <= 1e-9 * model.objective_history_[0]
        assert len(model.objective_history_) == len(model.history_iterations_)
        assert model.history_iterations_[-1] <= model.n_iter_
        assert (np.diff(model.history_iterations_) > 0).all()


@pytest.mark.parametrize("way", ["plain", "coupled", "published", "graph", "printed graph"])
def test_contract(way):
    check_model(DeepSemiNMF((7, 4), random_state=0, **{"max_iter": 20, **WAYS[way]}), positive())


@every_way
def test_samples_far_from_all_others_have_finite_codes(way):
    X = positive()
    model = DeepSemiNMF((7, 4), random_state=0, **{"max_iter": 20, **way}).fit(X)
    far = np.r_[1e6 * X[:3], -1e6 * X[:3], 1e-9 * X[:3], np.zeros((1, 20)), 1e6 * np.eye(20)[:2]]
    for layer in (0, 1):
        for method in ("nonnegative", "pinv"):
            assert np.isfinite(model.transform(far, layer=layer, method=method)).all()


# ---- the linear stack ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("X", [mixed(), positive()], ids=["mixed", "positive"])
def test_one_layer_is_semi_nmf(X):
    deep, semi = DeepSemiNMF(5, random_state=0).fit(X), SemiNMF(5, random_state=0).fit(X)
    assert deep.reconstruction_err_ == pytest.approx(semi.reconstruction_err_, rel=1e-6)
    assert_allclose(deep.objective_history_, semi.objective_history_, rtol=1e-8)


@pytest.mark.parametrize("layers", [(10, 4), (12, 8, 4), (14, 12, 10, 8, 4)])
def test_fine_tuning_is_semi_nmf_from_where_pre_training_ended(layers):
    X = mixed()
    start = DeepSemiNMF(layers, max_iter=0, random_state=0).fit(X)
    begun = start.layers_[-1].representation
    deep = DeepSemiNMF(layers, max_iter=30, tol=0, random_state=0).fit(X)
    semi = SemiNMF(4, init=(begun, start.components_), max_iter=30, tol=0).fit(X)
    # The start of the one is the codes after a read-out of the other: they fall into the same place.
    assert deep.objective_history_[-1] == pytest.approx(semi.objective_history_[-1], rel=2e-3)
    assert half_error(deep, X) == pytest.approx(deep.reconstruction_err_**2 / 2, rel=1e-6)


@pytest.mark.parametrize("layers", [(10, 4), (12, 8, 4)])
def test_non_negative_data_reach_the_singular_values(layers):
    X = positive()
    model = DeepSemiNMF(layers).fit(X)
    assert model.reconstruction_err_**2 / 2 == pytest.approx(tail(X, 4), rel=1e-6)
    # and so does every hidden layer, whose codes are a read-out of their own basis
    for layer, k in zip(model.layers_, layers, strict=True):
        error = ((X - layer.representation @ layer.components) ** 2).sum() / 2
        assert error == pytest.approx(tail(X, k), rel=1e-3)


def test_hidden_layers_keep_their_rank_where_the_published_rule_loses_it():
    X = mixed()
    ranks = {
        rule: np.linalg.matrix_rank(
            DeepSemiNMF((10, 4), rule=rule, max_iter=40, random_state=0).fit(X).layers_[0].weights, tol=1e-6
        )
        for rule in ("fast", "published")
    }
    assert ranks == {"fast": 10, "published": 4}


@pytest.mark.parametrize("layers", [(3, 6), (6, 2, 4), (100, 5), (30, 70), (6, 5, 4, 3, 2)])
@pytest.mark.parametrize("way", ["plain", "graph", "coupled"])
def test_layers_of_any_size(layers, way):
    X = mixed(n=40, p=12)
    model = DeepSemiNMF(layers, random_state=0, **{"max_iter": 40, **WAYS[way]}).fit(X)
    basis = model.layers_[0].weights
    for layer in model.layers_[1:]:
        basis = layer.weights @ basis
    assert_allclose(basis, model.components_, atol=1e-8)
    assert half_error(model, X) >= tail(X, min(layers)) * (1 - 1e-9)
    assert np.isfinite(model.transform(X)).all()


@pytest.mark.parametrize("bad", [(), (3, 0), (3, -1), 2.5, ("a",), ((1, 2), (3, 4))])
def test_bad_sizes(bad):
    with pytest.raises(ValueError, match="layers"):
        DeepSemiNMF(bad).fit(mixed())


def test_default_sizes_follow_the_data():
    """A half and a quarter of the smaller number, at most 625 and 40, those of Trigeorgis et al."""
    assert layer_sizes(None, 2000, 1500) == (625, 40)
    assert layer_sizes(None, 2856, 1024) == (512, 40)
    assert layer_sizes(None, 60, 15) == (7, 3)
    assert layer_sizes(None, 1, 9) == (1, 1)
    assert layer_sizes(np.int64(5), 9, 9) == layer_sizes([5], 9, 9) == (5,)
    model = DeepSemiNMF(max_iter=2, random_state=0).fit(mixed())
    assert [len(layer.weights) for layer in model.layers_] == [7, 3]


def test_sparse_data():
    X = positive()
    X[np.median(X) > X] = 0
    dense, sparse = (DeepSemiNMF((7, 4), random_state=0).fit(form(X)) for form in (np.asarray, sp.csr_array))
    assert sparse.reconstruction_err_ == pytest.approx(dense.reconstruction_err_, rel=1e-4)


# ---- transfer, streams, graphs ------------------------------------------------------------------------------------


def test_transfer_without_a_sweep_codes_on_the_other_layers():
    source = DeepSemiNMF((8, 4), random_state=0).fit(mixed(seed=1))
    X = mixed(n=20, seed=2)
    model = DeepSemiNMF((8, 4), max_iter=0).fit(X, init=source)
    A = np.vstack([source.components_.T, np.sqrt(source.layers_[-1].ridge) * np.eye(4)])
    expected = np.array([nnls(A, np.append(x, np.zeros(4)))[0] for x in X])
    assert_allclose(model.transform(X), expected, rtol=1e-5, atol=1e-7)
    assert_allclose(model.layers_[-1].representation, expected, rtol=1e-5, atol=1e-7)


def test_transfer_to_the_same_data_is_not_worse():
    X = mixed()
    source = DeepSemiNMF((8, 4), random_state=0).fit(X)
    model = DeepSemiNMF((8, 4)).fit(X, init=source)
    assert model.reconstruction_err_ <= source.reconstruction_err_ * (1 + 1e-9)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (lambda: DeepSemiNMF((7, 4), max_iter=1).fit(mixed()), "needs .* Give it the same layers"),
        (lambda: DeepSemiNMF((8, 4), max_iter=1).fit(mixed(p=9)), "15 features needs"),
        (lambda: "model", "init must be a fitted model"),
    ],
)
def test_transfer_of_what_does_not_fit(source, message):
    with pytest.raises(ValueError, match=message):
        DeepSemiNMF((8, 4)).fit(mixed(), init=source())


def test_a_stream_comes_close_to_the_whole():
    X = positive(n=2000)
    whole = SemiNMF(4).fit(X).reconstruction_err_
    model = DeepSemiNMF((8, 4), random_state=0)
    for _ in range(3):
        for start in range(0, 2000, 200):
            model.partial_fit(X[start : start + 200])
    error = np.linalg.norm(X - model.inverse_transform(model.transform(X)))
    assert error < 1.02 * whole
    assert model.n_iter_ == 30


@pytest.mark.parametrize("way", ["coupled", "published"])
def test_other_objectives_have_no_stream(way):
    model = DeepSemiNMF((8, 4), **WAYS[way])
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit"):
        model.partial_fit(mixed())


# ---- a graph on the top codes -------------------------------------------------------------------------------------


def links_of(X, graph):
    return as_graph(graph).build(X, None, None).tocsr().toarray()


@pytest.mark.parametrize("graph", ["knn", "chain", "rank", "matrix"])
def test_objective_with_graph(graph):
    """Eq. 2, entry by entry: the model of Zhao et al. with one view."""
    X = mixed()
    W = np.exp(-cdist(X, X)) * (1 - np.eye(60)) if graph == "matrix" else links_of(X, graph)
    given = W if graph == "matrix" else graph
    model = DeepSemiNMF((8, 4), graph=given, alpha=0.3, max_iter=20, tol=0, random_state=0).fit(X)
    codes, weights = ([getattr(one, part) for one in model.layers_] for part in ("representation", "weights"))
    value = plain.layers_objective(X, codes, weights, [None, W], [0, 0.3], [1])
    value += model.layers_[-1].ridge / 2 * (codes[-1] ** 2).sum()  # components have unit length
    assert model.objective_history_[-1] == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("scale", ["invariant", "none"])
def test_graph_of_one_layer_is_that_of_wsf(scale):
    X = mixed()
    W = links_of(X, "knn")
    parameters = {"graph": W, "alpha": 0.2, "scale": scale, "init": "lp", "max_iter": 30, "tol": 0, "random_state": 0}
    deep, flat = DeepSemiNMF(5, **parameters).fit(X), WSF(5, **parameters).fit(X)
    assert_allclose(deep.objective_history_, flat.objective_history_, rtol=1e-8)
    assert_allclose(deep.components_, flat.components_, atol=1e-6)


def test_stronger_graph_smoother_codes():
    X = mixed()
    graph = as_graph("knn").build(X, None, None)
    rough = []
    for alpha in (0, 0.1, 10):
        model = DeepSemiNMF((8, 4), graph="knn", alpha=alpha, max_iter=200, random_state=0).fit(X)
        H = model.layers_[-1].representation
        rough.append(graph.quad(H) / (H**2).sum())
    assert rough[0] > rough[1] > 3 * rough[2]
    plain_fit = DeepSemiNMF((8, 4), max_iter=200, random_state=0).fit(X)
    zero = DeepSemiNMF((8, 4), graph="knn", alpha=0, max_iter=200, random_state=0).fit(X)
    assert_array_equal(zero.components_, plain_fit.components_)


def test_chain_ends_with_its_sequence():
    X, groups = mixed(), np.repeat([0, 1], 30)
    W = np.diag(np.ones(59), 1) + np.diag(np.ones(59), -1)
    W[29, 30] = W[30, 29] = 0
    two = DeepSemiNMF((8, 4), graph="chain", max_iter=10, random_state=0).fit(X, groups=groups)
    given = DeepSemiNMF((8, 4), graph=W, max_iter=10, random_state=0).fit(X)
    assert_allclose(two.components_, given.components_, atol=1e-7)


# ---- what is refused ------------------------------------------------------------------------------------------------

REFUSED = [
    ({"objective": "coupled", "rule": "published"}, 'rule="published" fine-tunes the reconstruction'),
    ({"rule": "published", "batch_size": 20}, 'rule="published" uses all samples'),
    ({"rule": "published", "graph": "knn", "scale": "invariant"}, 'rule="published" has the penalty as printed'),
    ({"rule": "published", "solver": "mu"}, 'rule="published" has its own updates: use solver="auto", not "mu"'),
    ({"objective": "coupled", "activation": "relu"}, 'objective="coupled" has codes of every layer as variables'),
    ({"objective": "coupled", "solver": "adam"}, 'objective="coupled" has codes of every layer as variables'),
    ({"objective": "coupled", "batch_size": 20}, 'objective="coupled" has codes of every layer as variables'),
    ({"objective": "coupled", "graph": "knn", "scale": "none"}, 'has no minimiser with scale="none"'),
    ({"solver": "hals", "activation": "relu"}, 'solver="hals" is not for a model with an activation: use one of auto'),
    ({"solver": "lbfgs"}, 'solver="lbfgs" is not for a model without an activation: use one of auto, hals, mu, apg'),
    ({"activation": "relu", "solver": "lbfgs", "batch_size": 20}, 'batch_size=20 needs solver="adam" or "sgd"'),
    ({"batch_size": 20, "graph": "knn"}, 'batch_size with a graph needs solver="adam" or "sgd"'),
    ({"pretraining": "wsf"}, 'pretraining="wsf" has no penalty without a graph: use "semi-nmf"'),
    ({"coupling": 2.0}, "coupling=2.0 has no effect here: it weighs the layers of"),
    ({"hidden": "nonnegative"}, "hidden='nonnegative' has no effect here"),
    ({"eta": 0.5}, "eta=0.5 has no effect here: it is the exponent of the multiplicative update"),
    ({"alpha": 0.5}, "alpha=0.5 has no effect here: there is no graph"),
    ({"scale": "none"}, "scale='none' has no effect here: there is no graph"),
    ({"pretraining": None, "pretraining_max_iter": 5}, "pretraining_max_iter=5 has no effect here"),
    ({"activation": "tanh"}, "'activation' parameter of DeepSemiNMF"),
    ({"rule": "paper"}, "'rule' parameter of DeepSemiNMF"),
    ({"graph": "auto"}, "'graph' parameter of DeepSemiNMF"),
]


@pytest.mark.parametrize(("parameters", "message"), REFUSED, ids=[" ".join(p) for p, _ in REFUSED])
def test_combinations_without_meaning_or_effect(parameters, message):
    with pytest.raises(ValueError, match=message):
        DeepSemiNMF((5, 3), **parameters).fit(mixed())


@pytest.mark.parametrize("parameters", [{"init": "svd"}, {"pretraining": None}, {"pretraining_max_iter": 3}], ids=str)
def test_a_given_start_leaves_no_other(parameters):
    source = DeepSemiNMF((5, 3), max_iter=1, random_state=0).fit(mixed())
    (name,) = parameters
    with pytest.raises(ValueError, match=f"^{name}=.* has no effect here: .*fit\\(init=...\\)"):
        DeepSemiNMF((5, 3), **parameters).fit(mixed(), init=source)


@pytest.mark.parametrize("activation", ["stanh", "square", "relu", "softplus", "sigmoid"])
def test_codes_through_an_activation_are_as_good_as_those_of_the_fit(activation):
    X = mixed()
    model = DeepSemiNMF((6, 3), activation=activation, max_iter=40, random_state=0).fit(X)
    assert np.linalg.norm(X - model.inverse_transform(model.transform(X))) <= model.reconstruction_err_ * (1 + 1e-6)
    off = np.abs(model.transform(X[:4]) - model.transform(X)[:4]).max(1)
    # A sigmoid is flat where it is saturated: a sample may come to rest elsewhere.
    assert (np.median(off) if activation == "sigmoid" else off.max()) < 1e-4


# ---- activations ----------------------------------------------------------------------------------------------------


def cubic(A):
    return A + A**3


def cubic_slope(A):
    return 1 + 3 * A**2


def cubic_inverse(Y):
    root = np.sqrt(Y**2 / 4 + 1 / 27)
    return np.cbrt(Y / 2 + root) + np.cbrt(Y / 2 - root)


@pytest.mark.parametrize(
    "parameters", [{}, {"rule": "published"}, {"hidden": "nonnegative"}, {"solver": "sgd"}], ids=str
)
def test_own_activation(parameters):
    """Eq. 13 of the paper is for any g."""
    X = mixed()
    model = DeepSemiNMF((6, 3), activation=Activation(cubic, cubic_slope, cubic_inverse), max_iter=30, random_state=0)
    model.set_params(**parameters).fit(X)
    hidden, top = model.layers_
    implied = cubic(top.representation @ top.weights)
    if "hidden" in parameters:
        implied = np.maximum(implied, 0)
    assert_allclose(hidden.representation, implied, atol=1e-9)
    assert model.reconstruction_err_ == pytest.approx(np.linalg.norm(X - implied @ hidden.weights), rel=1e-9)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.transform(X[:5]), model.transform(X[:5]))


@pytest.mark.parametrize("rule", ["fast", "published"])
@pytest.mark.parametrize("activation", ["stanh", "relu", "softplus"])
def test_hidden_codes_are_nonnegative_where_asked(activation, rule):
    """Eq. 8 and 15 of the paper: H_i >= 0 for all i; of stanh alone many are not."""
    X = mixed()
    free, bounded = (
        DeepSemiNMF((8, 6, 3), activation=activation, hidden=hidden, rule=rule, max_iter=20, random_state=0).fit(X)
        for hidden in ("free", "nonnegative")
    )
    assert all((layer.representation >= 0).all() for layer in bounded.layers_)
    assert (min(layer.representation.min() for layer in free.layers_) < 0) == (activation == "stanh")
    assert bounded.score(X) > 0


def test_published_rule_with_activation_is_nesterov():
    """One accelerated step of each factor in turn, section 3.1: the stack's own solver, from the same start."""
    X = mixed()
    model = DeepSemiNMF((6, 3), activation="stanh", rule="published", max_iter=9, tol=0, random_state=0).fit(X)
    start = pretrain(X, (6, 3), "stanh", random_state=0)
    fit = fit_stack(X, *start, solver="nesterov", max_iter=9, tol=0)
    assert_allclose(model.objective_history_, fit.history, rtol=1e-9)
    assert_allclose(model.layers_[-1].representation, fit.H, atol=1e-9)


# ---- the end of a fit ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["graph", "published"])
def test_a_fit_that_was_cut_short_says_so(way):
    X, model = mixed(seed=1), DeepSemiNMF((8, 4), random_state=0, **WAYS[way])
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=3"):
        assert not model.set_params(max_iter=3).fit(X).converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not model.set_params(tol=0).fit(X).converged_
        assert model.set_params(max_iter=500, tol=1e-3).fit(X).converged_


def test_no_warning_where_a_fit_converges():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert DeepSemiNMF((8, 4), random_state=0).fit(positive(seed=1)).converged_


def test_multiplicative_layers_begin_without_zeros():
    """On non-negative data too, where the other solvers begin at the optimum: such a rule never leaves a zero."""
    X = np.random.default_rng(0).gamma(1.0, size=(30, 12))
    model = DeepSemiNMF((6, 3), solver="mu", random_state=0)
    model.pretraining_histories_, model._ridges = [], [0.0, 0.0]
    codes, _ = model._pretrain(wrap(X), (6, 3), [None, None], lambda *_, **__: False)
    assert min(H.min() for H in codes) > 0
