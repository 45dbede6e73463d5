"""The published algorithms against plain loops written from their equations, from the same codes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import nnls

from laminar import WSF, DeepSemiNMF, DeepWSF, SemiNMF
from laminar._engine.monitor import Monitor
from laminar.deep import published
from laminar.deep.composition import compose
from laminar.graphs import Labels, as_graph
from reference import deep as plain

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
N, P, SWEEPS = 40, 14, 12
rng = np.random.default_rng(0)
MIXED = rng.normal(size=(N, P))
POSITIVE = 50 * rng.gamma(1.0, size=(N, 5)) @ rng.gamma(1.0, size=(5, P))
PARTS = rng.normal(size=(4, P))[np.arange(N) % 4] * rng.uniform(0.5, 2, (N, 1)) + 0.3 * rng.normal(size=(N, P))
POSE, WHO = np.arange(N) % 3 - 1, rng.integers(-1, 4, N)
LAYERS = [(5,), (9, 4), (10, 7, 3), (3, 6)]
every_stack = pytest.mark.parametrize("layers", LAYERS, ids=str)
every_sign = pytest.mark.parametrize("X", [MIXED, POSITIVE], ids=["mixed", "positive"])
BRIEF = {"rule": "published", "max_iter": SWEEPS, "pretraining_max_iter": SWEEPS, "random_state": 0}


def no_links(layers, n=N):
    return [np.zeros((n, n))] * len(layers), [0.0] * len(layers)


def starts(layers):
    """The codes a model with ``random_state=0`` begins with."""
    draw = np.random.RandomState(0)
    return [draw.uniform(size=(N, k)) for k in layers]


def run(X, layers, links, alphas):
    """Last codes and weights of the loops, and the objective after each sweep of fine-tuning."""
    H, Z = plain.pretrain(X, starts(layers), links, alphas, SWEEPS)
    sweeps = list(plain.fine_tune(X, H, Z, links, alphas, SWEEPS))
    return *sweeps[-1], [plain.top_objective(X, *sweep, links, alphas) for sweep in sweeps]


def algorithm(X, codes, weights, graphs, sweeps):
    """Codes, weights and history of the published algorithm."""
    monitor = Monitor(sweeps, 0)
    return *published.algorithm(X, codes, weights, graphs, monitor), monitor.history


def greedy(X, layers, max_iter=5, seed=0):
    """Codes and weights of the published pre-training without labels."""
    draw = np.random.RandomState(seed)
    start = lambda below, k: draw.uniform(size=(len(below), k))  # noqa: E731
    return published.greedy(X, layers, [None] * len(layers), start, lambda *_: Monitor(max_iter, 0))


def difference(ours, theirs):
    """Largest relative difference of two lists of matrices."""
    return max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(ours, theirs, strict=True))


def check(model, H, Z, history):
    """The model's layers are those of the loops, but for the length of basis vectors, which the model makes one."""
    assert_allclose(model.objective_history_, history, rtol=1e-9)
    for i, layer in enumerate(model.layers_):
        basis = plain.product(Z[: i + 1][::-1], len(Z[i]))
        size = np.linalg.norm(basis, axis=1)
        assert_allclose(layer.components, basis / size[:, None], atol=1e-7)
        assert_allclose(layer.representation, H[i] * size, atol=1e-7 * np.abs(H[i] * size).max())
        assert_allclose(plain.product([one.weights for one in model.layers_[i::-1]], len(Z[i])), layer.components)


# ---- the models -----------------------------------------------------------------------------------------------------


@every_stack
@every_sign
def test_algorithm_1(X, layers):
    model = DeepSemiNMF(layers, **BRIEF).fit(X)
    check(model, *run(X, layers, *no_links(layers)))
    assert model.n_iter_ == SWEEPS


@every_stack
@every_sign
@pytest.mark.parametrize("alpha", [1e-3, 2.0])
def test_algorithm_2(X, layers, alpha):
    where = [0, len(layers) - 1]
    links, alphas = no_links(layers)
    for y, layer in zip((POSE, WHO), where, strict=True):
        links[layer], alphas[layer] = links[layer] + plain.same_class(y), alpha
    model = DeepWSF(layers, alphas=alpha, attribute_layers=where, **BRIEF).fit(X, np.c_[POSE, WHO])
    check(model, *run(X, layers, links, alphas))
    assert np.diff(model.objective_history_).max() <= 1e-9 * model.objective_history_[0]


def test_exponent_of_updates():
    """Eq. 12 has the exponent eta; the authors' code 1/2."""
    half, given, one = (DeepSemiNMF((6, 3), eta=eta, **BRIEF).fit(MIXED) for eta in (None, 0.5, 1.0))
    assert_array_equal(half.components_, given.components_)
    assert np.abs(half.components_ - one.components_).max() > 1e-3


@pytest.mark.filterwarnings("ignore:y. .*label:UserWarning")  # labels without effect
def test_labels_without_weight_leave_algorithm_1():
    plain_fit = DeepSemiNMF((9, 4), **BRIEF).fit(MIXED)
    for alpha, y in ((0, WHO), (1.0, np.full(N, -1)), (1.0, None)):
        model = DeepWSF((9, 4), alphas=alpha, **BRIEF).fit(MIXED, y)
        assert_array_equal(model.components_, plain_fit.components_)
        assert_array_equal(model.objective_history_, plain_fit.objective_history_)


def test_graph_of_algorithm_1_is_that_of_algorithm_2():
    """Zhao et al. with one view: a graph on the top codes."""
    graph = Labels().build(MIXED, WHO).tocsr()
    semi = DeepSemiNMF((9, 4), graph=graph, alpha=0.5, pretraining="wsf", **BRIEF).fit(MIXED)
    deep = DeepWSF((9, 4), graphs=[None, graph], alpha=0.5, **BRIEF).fit(MIXED)
    labelled = DeepWSF((9, 4), alphas=0.5, **BRIEF).fit(MIXED, WHO)
    assert_array_equal(semi.components_, deep.components_)
    assert_allclose(labelled.components_, deep.components_, atol=1e-9)


# ---- sweep by sweep -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("graphs", [False, True])
@pytest.mark.parametrize("sweeps", [1, 5, 50])
def test_sweeps_are_those_of_loops(graphs, sweeps):
    layers, alphas = (9, 6, 4), [0.5 * graphs] * 3
    links = [plain.same_class(WHO)] * 3
    H, Z = plain.pretrain(MIXED, starts(layers), links, alphas, 3)
    operators = [(0.5, Labels().build(MIXED, WHO)) if graphs else None] * 3
    (*_, (codes, weights)) = plain.fine_tune(MIXED, H, Z, links, alphas, sweeps)
    *got, history = algorithm(MIXED, H, Z, operators, sweeps)
    assert difference(got[0], codes) < 1e-12
    assert difference(compose(got[1]), compose(weights)) < 1e-12
    assert history[-1] == pytest.approx(plain.top_objective(MIXED, codes, weights, links, alphas), rel=1e-12)


def mixed_sign_run(seed, noise=0.0):
    """Deep WSF of 9, 6 and 4 components, 50 sweeps: what the loops and the model find."""
    layers, links = (9, 6, 4), []
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(40, 15))
    for k in (3, 4, 5):
        links.append(plain.same_class(draw.integers(-1, k, 40)))
    X = X * (1 + noise * draw.choice([-1, 1], size=X.shape))
    operators = [(0.1, graph_of(W)) for W in links]
    H, Z = plain.pretrain(X, [draw.uniform(size=(40, k)) for k in layers], links, [0.1] * 3, 20)
    (*_, expected) = plain.fine_tune(X, H, Z, links, [0.1] * 3, 50)
    return algorithm(X, H, Z, operators, 50), expected


def graph_of(W):
    return as_graph(W).build(np.zeros((len(W), 1)), None, None)


@pytest.mark.parametrize("seed", range(12))
def test_rounding_errors_of_singular_values_are_not_inverted(seed):
    """The product of top codes and upper weights has the rank of the top layer: the rest of its spectrum is noise."""
    (codes, weights, history), (H, Z) = mixed_sign_run(seed)
    assert difference(codes, H) < 1e-6
    assert difference(compose(weights), compose(Z)) < 1e-6
    assert np.diff(history).max() <= 1e-9 * history[0]


@pytest.mark.parametrize("seed", range(4))
def test_last_digit_of_data_does_not_change_hidden_bases(seed):
    one, other = (compose(mixed_sign_run(seed, noise)[0][1]) for noise in (0.0, 2e-16))
    assert difference(other, one) < 1e-8


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_codes_and_labels_of_hidden_layers_do_nothing_in_fine_tuning(alpha):
    """methods.md 5.1 and 5.4: hidden codes enter nothing but themselves."""
    layers, links = (9, 6, 4), [plain.same_class(POSE)] * 2 + [np.zeros((N, N))]
    H, Z = plain.pretrain(MIXED, starts(layers), *no_links(layers), 3)
    (*_, (without, weights)) = plain.fine_tune(MIXED, H, Z, links, [0.0] * 3, 8, hidden=False)
    graph = (alpha, Labels().build(MIXED, POSE)) if alpha else None
    codes, got, _ = algorithm(MIXED, H, Z, [graph, graph, None], 8)
    assert_allclose(codes[-1], without[-1], atol=1e-9)
    for one, other in zip(got, weights, strict=True):
        assert_allclose(one, other, atol=1e-8 * np.abs(other).max())


@pytest.mark.parametrize("layers", [(9, 4), (10, 7, 4), (4,)], ids=str)
@every_sign
def test_fine_tuning_is_semi_nmf_of_the_top_codes(X, layers):
    """The equivalence theorem of methods.md 5.1, sweep by sweep."""
    codes, weights = greedy(X, layers, seed=1)
    semi = SemiNMF(4, rule="published", init=(codes[-1], None), max_iter=10, tol=0).fit(X)
    codes, weights, history = algorithm(X, codes, weights, [None] * len(layers), 10)
    assert_allclose(semi.objective_history_, history, rtol=1e-9)
    expected = codes[-1] * np.linalg.norm(compose(weights)[-1], axis=1)
    assert_allclose(semi.layers_[0].representation, expected, atol=1e-7 * expected.max())


def test_one_layer_of_algorithm_2_is_published_wsf():
    """Pre-training and fine-tuning of one layer are one run of twice the length."""
    (start,), graph = starts((4,)), (0.7, Labels().build(MIXED, WHO))
    wsf = WSF(4, alpha=0.7, rule="published", scale="none", init=(start, None), max_iter=2 * SWEEPS, tol=0)
    H = wsf.fit(MIXED, WHO).layers_[0].representation
    codes, weights = published.layer(MIXED, start, graph, Monitor(SWEEPS, 0))
    (deep,), (basis,), _ = algorithm(MIXED, [codes], [weights], [graph], SWEEPS)
    deep = deep * np.linalg.norm(basis, axis=1)
    assert_allclose(H, deep, atol=1e-7 * deep.max())


def test_hidden_layers_lose_their_rank():
    """methods.md 5.1: one sweep leaves the weights of a hidden layer the rank of the top one."""
    codes, weights = greedy(MIXED, (9, 4))
    swept = algorithm(MIXED, codes, weights, [None] * 2, 1)[1]
    assert [np.linalg.matrix_rank(Z[0], tol=1e-8) for Z in (weights, swept)] == [9, 4]


# ---- starts ---------------------------------------------------------------------------------------------------------


def test_starts_change_the_result():
    """000, section 6.1: SVD-based starts of Semi-NMF, Deep Semi-NMF and WSF."""
    for model, y in ((DeepSemiNMF((6, 3), **BRIEF), None), (DeepWSF((6, 3), **BRIEF), WHO)):
        found = [model.set_params(init=init).fit(MIXED, y).components_ for init in ("random", "svd", "lp", "kmeans")]
        for i, one in enumerate(found):
            assert np.isfinite(one).all()
            assert all(np.abs(one - other).max() > 1e-6 for other in found[:i])


@pytest.mark.parametrize("kind", [DeepSemiNMF, DeepWSF])
def test_transfer_codes_are_exact_without_a_sweep(kind):
    source = DeepWSF((5, 3), alphas=0.1, random_state=0).fit(PARTS, WHO)
    model = kind((5, 3), rule="published", max_iter=0).fit(PARTS[:9], init=source)
    for got, given in zip(model.layers_, source.layers_, strict=True):
        expected = [nnls(given.components.T, x)[0] for x in PARTS[:9]]
        assert_allclose(got.representation, expected, atol=1e-6)
        assert_allclose(got.components, given.components, atol=1e-12)


@pytest.mark.parametrize("sweeps", [1, 3, 20])
@pytest.mark.parametrize("X", [PARTS, POSITIVE], ids=["mixed", "positive"])
def test_transfer_descends_from_its_start(X, sweeps):
    source = DeepSemiNMF((5, 3), random_state=0).fit(X[:20])
    start = DeepSemiNMF((5, 3), rule="published", max_iter=0).fit(X, init=source)
    model = DeepSemiNMF((5, 3), rule="published", max_iter=sweeps, tol=0).fit(X, init=source)
    history = np.r_[start.objective_history_[-1], model.objective_history_]
    assert len(history) == sweeps + 1
    assert np.diff(history).max() <= 1e-9 * history[0]


def test_transfer_to_the_same_data_stays():
    """But for the zeros of the codes, which are raised a little: a multiplicative update never leaves them."""
    source = DeepSemiNMF((5, 3), tol=1e-8, max_iter=2000, random_state=0).fit(PARTS)
    model = DeepSemiNMF((5, 3), rule="published", max_iter=30, tol=0).fit(PARTS, init=source)
    assert model.objective_history_[-1] <= 1.001 * source.objective_history_[-1]


def test_transfer_is_that_of_loops():
    """000, section 6.4: weights of labelled data, codes by NNLS, then Algorithm 1."""
    source = DeepWSF((5, 3), alphas=0.01, random_state=0).fit(PARTS[:20], WHO[:20])
    Z = [layer.weights for layer in source.layers_]
    H = [np.array([nnls(B.T, x)[0] for x in PARTS]) for B in compose(Z)]
    H = [np.maximum(F, 1e-3 * F.mean()) for F in H]  # zeros are raised, for the updates are multiplicative
    (*_, (codes, weights)) = plain.fine_tune(PARTS, H, Z, *no_links((5, 3)), 5)
    model = DeepSemiNMF((5, 3), rule="published", max_iter=5).fit(PARTS, init=source)
    basis = compose(weights)[-1]
    size = np.linalg.norm(basis, axis=1)
    assert_allclose(model.components_, basis / size[:, None], atol=1e-7)
    assert_allclose(model.layers_[-1].representation, codes[-1] * size, atol=1e-6)
