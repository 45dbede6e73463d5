"""The published algorithms against plain loops written from their equations, from the same random codes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from laminar import WSF, DeepSemiNMF, DeepWSF, SemiNMF
from laminar._engine.monitor import Monitor
from laminar.deep import published
from laminar.deep.composition import compose
from laminar.graphs import Labels
from reference import deep as plain

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
N, P, SWEEPS = 40, 14, 12
rng = np.random.default_rng(0)
MIXED = rng.normal(size=(N, P))
POSITIVE = 50 * rng.gamma(1.0, size=(N, 5)) @ rng.gamma(1.0, size=(5, P))
POSE, WHO = np.arange(N) % 3 - 1, rng.integers(-1, 4, N)
LAYERS = [(5,), (9, 4), (10, 7, 3), (3, 6)]
every_stack = pytest.mark.parametrize("layers", LAYERS, ids=str)
every_sign = pytest.mark.parametrize("X", [MIXED, POSITIVE], ids=["mixed", "positive"])


def no_links(layers):
    return [np.zeros((N, N))] * len(layers), [0.0] * len(layers)


def starts(layers):
    """The codes a model with ``random_state=0`` begins with."""
    draw = np.random.RandomState(0)
    return [draw.uniform(size=(N, k)) for k in layers]


def run(X, layers, links, alphas):
    """Everything the loops say: the last codes and weights, and the objective after each sweep of fine-tuning."""
    H, Z = plain.pretrain(X, starts(layers), links, alphas, SWEEPS)
    sweeps = list(plain.fine_tune(X, H, Z, links, alphas, SWEEPS))
    return *sweeps[-1], [plain.top_objective(X, *sweep, links, alphas) for sweep in sweeps]


def algorithm(X, codes, weights, graphs, sweeps):
    """Codes, weights and history of the published algorithm."""
    monitor = Monitor(sweeps, 0)
    return *published.algorithm(X, codes, weights, graphs, monitor), monitor.history


def check(model, X, H, Z, history):
    """The model's layers are those of the loops, but for the length of basis vectors, which the model makes one."""
    assert_allclose(model.objective_history_, history, rtol=1e-9)
    for i, layer in enumerate(model.layers_):
        basis = plain.product(Z[: i + 1][::-1], len(Z[i]))
        size = np.linalg.norm(basis, axis=1)
        assert_allclose(layer.components, basis / size[:, None], atol=1e-7)
        assert_allclose(layer.representation, H[i] * size, atol=1e-7 * np.abs(H[i] * size).max())
        assert_allclose(plain.product([one.weights for one in model.layers_[i::-1]], len(Z[i])), layer.components)


@every_stack
@every_sign
def test_algorithm_1(X, layers):
    model = DeepSemiNMF(layers, rule="published", max_iter=SWEEPS, random_state=0).fit(X)
    check(model, X, *run(X, layers, *no_links(layers)))
    assert model.n_iter_ == SWEEPS


@every_stack
@every_sign
@pytest.mark.parametrize("alpha", [1e-3, 2.0])
def test_algorithm_2(X, layers, alpha):
    where = [0, len(layers) - 1]
    links, alphas = no_links(layers)
    for y, layer in zip((POSE, WHO), where, strict=True):
        links[layer], alphas[layer] = links[layer] + plain.same_class(y), alpha
    model = DeepWSF(layers, alphas=alpha, attribute_layers=where, mode="paper", max_iter=SWEEPS, random_state=0).fit(
        X, np.c_[POSE, WHO]
    )
    check(model, X, *run(X, layers, links, alphas))
    assert np.diff(model.objective_history_).max() <= 1e-9 * model.objective_history_[0]


@pytest.mark.parametrize("graphs", [False, True])
def test_every_sweep_is_that_of_the_loops(graphs):
    layers, alphas = (9, 6, 4), [0.5 * graphs] * 3
    links = [plain.same_class(WHO)] * 3
    H, Z = plain.pretrain(MIXED, starts(layers), links, alphas, 3)
    operators = [(0.5, Labels().build(MIXED, WHO)) if graphs else None] * 3
    for sweep, expected in enumerate(plain.fine_tune(MIXED, H, Z, links, alphas, 5), start=1):
        *got, history = algorithm(MIXED, H, Z, operators, sweep)
        for ours, theirs in zip(got, expected, strict=True):
            for one, other in zip(ours, theirs, strict=True):
                assert_allclose(one, other, atol=1e-8 * np.abs(other).max())
        assert history[-1] == pytest.approx(plain.top_objective(MIXED, *expected, links, alphas), rel=1e-10)


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
    nothing = [None] * len(layers)
    codes, weights = published.greedy(X, layers, nothing, np.random.RandomState(1), max_iter=5)
    semi = SemiNMF(4, rule="published", init=(codes[-1], None), max_iter=10, tol=0).fit(X)
    codes, weights, history = algorithm(X, codes, weights, nothing, 10)
    assert_allclose(semi.objective_history_, history, rtol=1e-9)
    expected = codes[-1] * np.linalg.norm(compose(weights)[-1], axis=1)
    assert_allclose(semi.layers_[0].representation, expected, atol=1e-7 * expected.max())


def test_one_layer_of_algorithm_2_is_published_wsf():
    """Pre-training and fine-tuning of one layer are one run of twice the length."""
    (start,), graph = starts((4,)), (0.7, Labels().build(MIXED, WHO))
    wsf = WSF(4, alpha=0.7, rule="published", scale="none", init=(start, None), max_iter=2 * SWEEPS, tol=0)
    H = wsf.fit(MIXED, WHO).layers_[0].representation
    codes, weights = published.layer(MIXED, start, graph, max_iter=SWEEPS)
    (deep,), (basis,), _ = algorithm(MIXED, [codes], [weights], [graph], SWEEPS)
    deep = deep * np.linalg.norm(basis, axis=1)
    assert_allclose(H, deep, atol=1e-7 * deep.max())


def test_labels_without_weight_leave_algorithm_1():
    plain_fit = DeepSemiNMF((9, 4), rule="published", max_iter=SWEEPS, random_state=0).fit(MIXED)
    for alpha, y in ((0, WHO), (1.0, np.full(N, -1)), (1.0, None)):
        model = DeepWSF((9, 4), alphas=alpha, mode="paper", max_iter=SWEEPS, random_state=0).fit(MIXED, y)
        assert_array_equal(model.components_, plain_fit.components_)
        assert_array_equal(model.objective_history_, plain_fit.objective_history_)


def test_hidden_layers_lose_their_rank():
    """methods.md 5.1: one sweep leaves the weights of a hidden layer the rank of the top one."""
    codes, weights = published.greedy(MIXED, (9, 4), [None] * 2, np.random.RandomState(0), max_iter=5)
    swept = algorithm(MIXED, codes, weights, [None] * 2, 1)[1]
    assert [np.linalg.matrix_rank(Z[0], tol=1e-8) for Z in (weights, swept)] == [9, 4]
