"""Layers: what fine-tuning is, what hidden layers keep, and every way to get there."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from laminar import DeepSemiNMF, DeepWSF, SemiNMF
from laminar._engine.data.wrap import wrap
from laminar.datasets import partial_labels
from laminar.metrics import clustering_accuracy
from laminar.testing import check_model

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:X .* feature names:UserWarning"),
]

WAYS = {
    "plain": {"graph": None},
    "graph": {},
    "coupled": {"objective": "coupled"},
    "published": {"rule": "published"},
    "square": {"activation": "square"},
    "batches": {"batch_size": 20, "max_iter": 10},
}
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
    [
        DeepSemiNMF(layers=(4, 3), activation="stanh", max_iter=3, random_state=0),
    ]
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


@pytest.mark.parametrize("way", ["plain", "coupled", "published", "square", "graph"])
def test_the_objective_never_rises(way):
    for X in (mixed(), positive()):
        model = DeepSemiNMF((7, 4), random_state=0, **{"max_iter": 60, **WAYS[way]}).fit(X)
        assert np.diff(model.objective_history_).max(initial=0) <= 1e-9 * model.objective_history_[0]


@pytest.mark.parametrize("way", ["plain", "coupled", "published", "graph"])
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
    deep, semi = DeepSemiNMF(5, graph=None, random_state=0).fit(X), SemiNMF(5, random_state=0).fit(X)
    assert deep.reconstruction_err_ == pytest.approx(semi.reconstruction_err_, rel=1e-6)
    assert_allclose(deep.objective_history_, semi.objective_history_, rtol=1e-8)


@pytest.mark.parametrize("layers", [(10, 4), (12, 8, 4), (14, 12, 10, 8, 4)])
def test_fine_tuning_is_semi_nmf_from_where_pre_training_ended(layers):
    X = mixed()
    start = DeepSemiNMF(layers, graph=None, max_iter=0, random_state=0).fit(X)
    begun = start.layers_[-1].representation
    deep = DeepSemiNMF(layers, graph=None, max_iter=30, tol=0, random_state=0).fit(X)
    semi = SemiNMF(4, init=(begun, start.components_), max_iter=30, tol=0).fit(X)
    # The start of the one is the codes after a read-out of the other: they fall into the same place.
    assert deep.objective_history_[-1] == pytest.approx(semi.objective_history_[-1], rel=2e-3)
    assert half_error(deep, X) == pytest.approx(deep.reconstruction_err_**2 / 2, rel=1e-6)


@pytest.mark.parametrize("layers", [(10, 4), (12, 8, 4)])
def test_non_negative_data_reach_the_singular_values(layers):
    X = positive()
    model = DeepSemiNMF(layers, graph=None).fit(X)
    assert model.reconstruction_err_**2 / 2 == pytest.approx(tail(X, 4), rel=1e-6)
    # and so does every hidden layer, whose codes are a read-out of their own basis
    for layer, k in zip(model.layers_, layers, strict=True):
        error = ((X - layer.representation @ layer.components) ** 2).sum() / 2
        assert error == pytest.approx(tail(X, k), rel=1e-3)


def test_hidden_layers_keep_their_rank_where_the_published_rule_loses_it():
    X = mixed()
    ranks = {
        rule: np.linalg.matrix_rank(
            DeepSemiNMF((10, 4), graph=None, rule=rule, max_iter=40, random_state=0).fit(X).layers_[0].weights, tol=1e-6
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


def test_sparse_data():
    X = positive()
    X[np.median(X) > X] = 0
    dense, sparse = (
        DeepSemiNMF((7, 4), graph=None, random_state=0).fit(form(X)) for form in (np.asarray, sp.csr_array)
    )
    assert sparse.reconstruction_err_ == pytest.approx(dense.reconstruction_err_, rel=1e-4)


# ---- transfer, streams, graphs ------------------------------------------------------------------------------------


def test_transfer_without_a_sweep_codes_on_the_other_layers():
    source = DeepSemiNMF((8, 4), graph=None, random_state=0).fit(mixed(seed=1))
    X = mixed(n=20, seed=2)
    model = DeepSemiNMF((8, 4), graph=None, max_iter=0).fit(X, init=source)
    expected = np.array([nnls(source.components_.T, x)[0] for x in X])
    assert_allclose(model.transform(X), expected, rtol=1e-5, atol=1e-7)
    assert_allclose(model.layers_[-1].representation, expected, rtol=1e-5, atol=1e-7)


def test_transfer_to_the_same_data_is_not_worse():
    X = mixed()
    source = DeepSemiNMF((8, 4), graph=None, random_state=0).fit(X)
    model = DeepSemiNMF((8, 4), graph=None).fit(X, init=source)
    assert model.reconstruction_err_ <= source.reconstruction_err_ * (1 + 1e-9)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (lambda: DeepSemiNMF((7, 4), graph=None, max_iter=1).fit(mixed()), "needs .* Give it the same layers"),
        (lambda: DeepSemiNMF((8, 4), graph=None, max_iter=1).fit(mixed(p=9)), "15 features needs"),
        (lambda: "model", "init must be a fitted model"),
    ],
)
def test_transfer_of_what_does_not_fit(source, message):
    with pytest.raises(ValueError, match=message):
        DeepSemiNMF((8, 4), graph=None).fit(mixed(), init=source())


def test_a_stream_comes_close_to_the_whole():
    X = positive(n=2000)
    whole = SemiNMF(4).fit(X).reconstruction_err_
    model = DeepSemiNMF((8, 4), graph=None, random_state=0)
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


def test_a_graph_finds_clusters():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 40)
    X = rng.normal(size=(4, 30))[y] + 0.9 * rng.normal(size=(160, 30))
    found = DeepSemiNMF((10, 4), n_clusters=4, random_state=0).fit_predict(X)
    assert clustering_accuracy(y, found) > 0.95


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"solver": "hals", "activation": "relu"}, '"hals" is not for activation'),
        ({"solver": "adam"}, '"adam" is not for activation=None'),
        ({"objective": "coupled", "rule": "published"}, "published"),
        ({"objective": "coupled", "activation": "relu"}, "activation"),
        ({"objective": "coupled", "graph": "knn"}, "graph"),
    ],
)
def test_combinations_that_have_no_meaning(parameters, message):
    with pytest.raises(ValueError, match=message):
        DeepSemiNMF((5, 3), **parameters).fit(mixed())


@pytest.mark.parametrize("activation", ["stanh", "square", "relu", "softplus", "sigmoid"])
def test_codes_through_an_activation_are_as_good_as_those_of_the_fit(activation):
    X = mixed()
    model = DeepSemiNMF((6, 3), activation=activation, max_iter=40, random_state=0).fit(X)
    assert np.linalg.norm(X - model.inverse_transform(model.transform(X))) <= model.reconstruction_err_ * (1 + 1e-6)
    off = np.abs(model.transform(X[:4]) - model.transform(X)[:4]).max(1)
    # A sigmoid is flat where it is saturated: a sample may come to rest elsewhere.
    assert (np.median(off) if activation == "sigmoid" else off.max()) < 1e-4


# ---- weak labels --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("y", [None, np.full((60, 2), -1)])
@pytest.mark.parametrize("mode", ["network", "coupled"])
def test_without_labels_it_is_deep_semi_nmf(y, mode):
    X = mixed()
    objective = "coupled" if mode == "coupled" else "reconstruction"
    plain = DeepSemiNMF((8, 4), graph=None, objective=objective, max_iter=30, random_state=0).fit(X)
    model = DeepWSF((8, 4), mode=mode, max_iter=30, random_state=0).fit(X, y)
    assert_array_equal(model.components_, plain.components_)
    zero = DeepWSF((8, 4), mode=mode, max_iter=30, alphas=0, random_state=0).fit(X, np.arange(60) % 3)
    assert_array_equal(zero.components_, plain.components_)


@pytest.mark.parametrize("mode", ["network", "coupled"])
def test_labels_draw_the_codes_of_a_class_together(mode):
    X, y = positive(), np.arange(80) % 4

    def spread(model):
        H = model.layers_[-1].representation
        H = H / np.linalg.norm(H, axis=0).clip(1e-12)
        return sum(H[y == c].var(0).sum() for c in range(4)) / H.var(0).sum()

    weak, strong = (
        DeepWSF((8, 4), mode=mode, attribute_layers=[1], alphas=a, max_iter=150, random_state=0).fit(X, y)
        for a in (1e-6, 10.0)
    )
    assert spread(strong) < 0.7 * spread(weak)


def test_attributes_find_their_layers():
    X = positive()
    y = np.c_[np.arange(80) % 3, partial_labels(np.arange(80) % 5, 0.5, random_state=0)]
    model = DeepWSF((8, 4), max_iter=10, random_state=0).fit(X, y)
    assert model.attribute_layers_ == {0: 0, 1: 1}
    model = DeepWSF((8, 4), attribute_layers=[1, 0], max_iter=10, random_state=0).fit(X, y)
    assert model.attribute_layers_ == {0: 1, 1: 0}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"attribute_layers": [0]}, "attribute_layers must name one of the 2 layers"),
        ({"attribute_layers": [0, 2]}, "attribute_layers"),
        ({"alphas": [1.0]}, "give one number, or one for each"),
        ({"alphas": [1.0, -1.0]}, "not below 0"),
        ({"mode": "coupled", "activation": "relu"}, 'needs mode="network"'),
    ],
)
def test_labels_that_do_not_fit(parameters, message):
    y = np.c_[np.arange(60) % 3, np.arange(60) % 2]
    with pytest.raises(ValueError, match=message):
        DeepWSF((5, 3), **parameters).fit(mixed(), y)


def test_a_callback_stops_a_fit_with_a_graph():
    heard = []
    model = DeepSemiNMF((8, 4), max_iter=4, random_state=0, callback=lambda *news: heard.append(news) or news[0] == 2)
    model.fit(positive())
    assert [i for i, *_ in heard] == [1, 2]
    assert_array_equal([value for _, value, _ in heard], model.objective_history_)
    assert model.n_iter_ == 2
    assert not model.converged_


@pytest.mark.parametrize("way", ["graph", "published"])
def test_a_fit_that_was_cut_short_says_so(way):
    X, model = positive(seed=1), DeepSemiNMF((8, 4), random_state=0, **WAYS[way])
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
    codes, _ = DeepSemiNMF((6, 3), solver="mu", graph=None, random_state=0)._pretrain(wrap(X), (6, 3))
    assert min(H.min() for H in codes) > 0
