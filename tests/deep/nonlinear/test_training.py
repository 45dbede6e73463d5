import numpy as np
import pytest
import scipy.sparse as sp

from laminar import SemiNMF
from laminar.deep.nonlinear import (
    ACTIVATIONS,
    ScaleFreePenalty,
    Stack,
    TracePenalty,
    fit_stack,
    loss_and_gradients,
    pretrain,
    stream_step,
)
from laminar.deep.nonlinear.gradients import ReducedObjective, as_data
from laminar.graphs import Chain, Labels

N, P, LAYERS = 80, 12, (6, 3)
NONLINEAR = [name for name in ACTIVATIONS if name != "identity"]
rng = np.random.default_rng(0)
X = rng.gamma(0.7, size=(N, 4)) @ rng.normal(size=(4, P)) + 0.3 * rng.normal(size=(N, P))
# Made by a stack of the kind that is fitted.
CURVED = np.square(rng.uniform(size=(N, 3)) @ rng.normal(size=(3, 6))) @ rng.normal(size=(6, P))
every_activation = pytest.mark.parametrize("activation", NONLINEAR)
every_solver = pytest.mark.parametrize("solver", ["lbfgs", "apg", "nesterov", "adam", "sgd"])
by_vector = pytest.mark.parametrize("solver", ["lbfgs", "apg"])
monotone = pytest.mark.parametrize("solver", ["lbfgs", "apg", "nesterov"])


def start(activation, layers=LAYERS, data=X, **parameters):
    return pretrain(data, layers, activation, random_state=0, **parameters)


def value(fit, data=X, penalties=None):
    return loss_and_gradients(data, fit.stack, fit.H, penalties)[0]


# ------------------------------------------------------------------------------------------------- pre-training


@every_activation
@pytest.mark.parametrize("layers", [(4,), (6, 3), (8, 6, 4)], ids=str)
def test_pretraining_gives_a_live_start(activation, layers):
    stack, H = start(activation, layers)
    assert stack.sizes == layers
    np.testing.assert_allclose(H.max(0), 1)
    assert (H >= 0).all()
    for slope in (stack.g.slope(F @ Z) for F, Z in zip(stack.forward(H)[1:], stack.weights[1:], strict=True)):
        assert (np.abs(slope).max(0) > 1e-3).all()  # no unit is dead


def test_first_layer_is_semi_nmf():
    stack, H = start("relu", (4,), max_iter=500)
    model = SemiNMF(4, init="random", tol=1e-5, random_state=np.random.RandomState(0)).fit(X)
    np.testing.assert_allclose(
        stack.reconstruct(H), model.inverse_transform(model.layers_[0].representation), atol=1e-8
    )


def test_pretraining_recovers_what_the_activation_was_given():
    # Wide enough to be exact: every layer then gives back the one below.
    stack, H = pretrain(np.abs(X), (P + 1, P + 2), "square", init="lp", max_iter=500, random_state=0)
    np.testing.assert_allclose(stack.reconstruct(H), np.abs(X), atol=1e-3 * np.abs(X).max())


def test_units_of_the_data_do_not_matter():
    (one, H), (other, scaled) = (pretrain(c * X, LAYERS, "stanh", random_state=0) for c in (1, 1e-5))
    np.testing.assert_allclose(scaled, H, atol=1e-6)
    for solver in ("lbfgs", "apg", "nesterov", "adam", "sgd"):
        fits = [fit_stack(c * X, s, H, solver=solver, max_iter=8, tol=0) for c, s in ((1, one), (1e-5, other))]
        np.testing.assert_allclose(np.multiply(fits[1].history, 1e10), fits[0].history, rtol=1e-4)


# ----------------------------------------------------------------------------------------------------- training


@every_activation
def test_nesterov_descends(activation):
    """000, section 3.1: one accelerated step of each factor; without a ridge, so the history is eq. 14 itself."""
    stack, H = start(activation)
    fit = fit_stack(X, stack, H, solver="nesterov", max_iter=60, tol=0)
    assert fit.n_iter == len(fit.history) == 60
    assert fit.iterations == list(range(1, 61))
    assert (np.diff([loss_and_gradients(X, stack, H)[0], *fit.history]) <= 0).all()
    assert fit.history[-1] < 0.9 * loss_and_gradients(X, stack, H)[0]
    assert value(fit) == pytest.approx(fit.history[-1], rel=1e-10)
    assert (fit.H >= 0).all()


@every_activation
@by_vector
def test_history_never_rises(activation, solver):
    stack, H = start(activation)
    fit = fit_stack(X, stack, H, solver=solver, max_iter=60, tol=0)
    assert fit.n_iter == len(fit.history) == 60
    assert (np.diff(fit.history) <= 0).all()
    assert fit.history[-1] < 0.8 * loss_and_gradients(X, stack, H)[0]
    # What is returned is what was measured, less the ridge.
    assert value(fit) <= fit.history[-1] * (1 + 1e-10)
    assert value(fit) == pytest.approx(fit.history[-1], rel=0.05)
    assert (fit.H >= 0).all()


@pytest.mark.parametrize("activation", ["stanh", "square"])  # relu rests in kinks, saturated ones run to infinity
def test_little_is_left_to_gain_at_the_end(activation):
    few = X[:30, :6]
    stack, H = start(activation, (4, 2), few)
    fit = fit_stack(few, stack, H, max_iter=3000, tol=1e-6)
    assert fit.converged
    assert fit.n_iter < 3000

    def steepest(stack, H):
        """Largest slope along an entry times its size: free of all scales."""
        _, by_codes, by_weights = ReducedObjective(as_data(few), activation, [None, None])(H, stack.weights[1:])
        slopes = np.minimum(H, by_codes * H.max()) * by_codes, by_weights[0] * stack.weights[1]
        return max(np.abs(F).max() for F in slopes)

    assert steepest(fit.stack, fit.H) < 1e-2 * steepest(stack, H)


@pytest.mark.parametrize("solver", ["lbfgs", "apg", "nesterov", "adam"])
def test_one_layer_is_semi_nmf(solver):
    stack, H = start("relu", (4,), max_iter=1)
    best = SemiNMF(4, init=(H, None), tol=1e-10, max_iter=3000).fit(X).reconstruction_err_ ** 2 / 2
    fit = fit_stack(X, stack, H, solver=solver, max_iter=2000, tol=1e-7)
    assert value(fit) == pytest.approx(best, rel=2e-2 if solver == "adam" else 1e-3)


def test_identity_is_no_better_than_the_svd_and_reaches_it():
    positive = np.abs(X)
    tail = (np.linalg.svd(positive, compute_uv=False)[3:] ** 2).sum() / 2
    fit = fit_stack(positive, *start("identity", data=positive), max_iter=2000, tol=1e-9)
    assert tail * (1 - 1e-10) <= value(fit, positive) <= tail * 1.01


def test_curved_data_are_fitted_below_svd():
    """From the best of three starts."""
    tail = (np.linalg.svd(CURVED, compute_uv=False)[3:] ** 2).sum() / 2
    starts = [pretrain(CURVED, LAYERS, "square", random_state=seed) for seed in range(3)]
    assert min(value(fit_stack(CURVED, *begin, max_iter=300, tol=0), CURVED) for begin in starts) < 0.1 * tail


@every_solver
def test_the_start_stays_as_it_is(solver):
    stack, H = start("relu")
    kept = [F.copy() for F in (X, H, *stack.weights)]
    fit_stack(X, stack, H, solver=solver, max_iter=3)
    for F, before in zip((X, H, *stack.weights), kept, strict=True):
        np.testing.assert_array_equal(F, before)


@every_solver
@pytest.mark.parametrize("form", [sp.csr_array, np.asfortranarray], ids=["sparse", "fortran"])
def test_forms_of_data(solver, form):
    thin = np.where(np.abs(X) > 1, X, 0)
    stack, H = start("stanh", data=thin)
    one, other = (fit_stack(F, stack, H, solver=solver, max_iter=5, tol=0) for F in (thin, form(thin)))
    np.testing.assert_allclose(other.history, one.history, rtol=1e-9)


@every_activation
@every_solver
def test_single_precision(activation, solver):
    single = X.astype(np.float32)
    stack, H = start(activation, data=single)
    assert H.dtype == np.float32
    # A few iterations: from then on rounding decides which kink of relu a line search meets first.
    fit = fit_stack(single, stack, H, solver=solver, max_iter=4, tol=0)
    assert {F.dtype for F in (fit.H, *fit.stack.weights)} == {np.dtype(np.float32)}
    double = fit_stack(X, stack, H, solver=solver, max_iter=4, tol=0)
    assert fit.history[-1] == pytest.approx(double.history[-1], rel=0.05)


def test_threads_do_not_matter(two_threads):
    stack, H = start("square", data=np.tile(CURVED, (8, 1)))
    fit = fit_stack(np.tile(CURVED, (8, 1)), stack, H, max_iter=5, tol=0)
    assert (np.diff(fit.history) <= 0).all()
    assert value(fit, np.tile(CURVED, (8, 1))) == pytest.approx(fit.history[-1], rel=0.02)


@every_solver
def test_dead_data(solver):
    for data in (np.zeros((10, 4)), np.ones((10, 4))):
        fit = fit_stack(data, *pretrain(data, (3, 2), "softplus", random_state=0), solver=solver, max_iter=10)
        assert np.isfinite(fit.H).all()
        assert np.isfinite(fit.history).all()


@every_solver
def test_callback_stops_and_hears_the_objective(solver):
    heard = []

    def stop(iteration, objective, snapshot):
        heard.append((iteration, objective, snapshot()["fit"]))
        return iteration == 4

    fit = fit_stack(1e3 * X, *start("square", data=1e3 * X), solver=solver, max_iter=50, tol=0, callback=stop)
    assert [i for i, *_ in heard] == fit.iterations == [1, 2, 3, 4]
    np.testing.assert_allclose([objective for _, objective, _ in heard], fit.history)
    assert (fit.n_iter, fit.converged) == (4, False)
    last = heard[-1][2]
    np.testing.assert_allclose(last.H, fit.H, rtol=1e-12)
    for Z, expected in zip(last.stack.weights, fit.stack.weights, strict=True):
        np.testing.assert_allclose(Z, expected, rtol=1e-12)


def test_no_iterations_keep_the_codes_and_give_the_best_first_weights():
    stack, H = start("square")
    fit = fit_stack(X, stack, H, max_iter=0)
    np.testing.assert_allclose(fit.H, H)
    assert value(fit) <= loss_and_gradients(X, stack, H)[0]
    assert (fit.n_iter, len(fit.history)) == (0, 0)


# ---------------------------------------------------------------------------------------------------- penalties


@every_solver
def test_no_weight_is_no_penalty(solver):
    stack, H = start("stanh")
    graph = Chain().build(X)
    plain = fit_stack(X, stack, H, solver=solver, max_iter=10, tol=0)
    pulls = [ScaleFreePenalty(0.0, graph), None]
    fit = fit_stack(X, stack, H, solver=solver, max_iter=10, tol=0, penalties=pulls)
    np.testing.assert_allclose(fit.history, plain.history, rtol=1e-12)


@monotone
@pytest.mark.parametrize("layer", [0, 1])
def test_penalties_smooth_the_layer_they_are_on(solver, layer):
    graph, (stack, H) = Chain().build(X), start("relu")
    rough = []
    for weight in (0, 1e-2, 1):
        pulls = [None, None]
        pulls[layer] = ScaleFreePenalty(weight, graph)
        fit = fit_stack(X, stack, H, solver=solver, max_iter=60, penalties=pulls)
        assert (np.diff(fit.history) <= 0).all()
        assert value(fit, penalties=pulls) <= fit.history[-1] * (1 + 1e-10)
        F = fit.stack.forward(fit.H)[layer]
        F = F[:, F.any(0)]
        rough.append((graph.quad_columns(F) / (F**2).sum(0)).mean())
    assert rough[0] > rough[1] > 1.2 * rough[2]


# --------------------------------------------------------------------------------------------------- stochastic


def test_adam_is_adam():
    stack, H = start("square")
    codes, weights, rate = H.copy(), [Z.copy() for Z in stack.weights], 1e-2
    moments = [[0.0, 0.0] for _ in range(3)]
    scale = np.abs(X).max()
    for t in range(1, 5):
        _, by_codes, by_weights = loss_and_gradients(X, Stack(weights, "square"), codes)
        # The first weights are in the units of X, and so are their steps.
        for i, (F, G, unit) in enumerate(zip([codes, *weights], [by_codes, *by_weights], [1, scale, 1], strict=True)):
            G = G * unit / scale**2
            m, v = moments[i] = [0.9 * moments[i][0] + 0.1 * G, 0.999 * moments[i][1] + 0.001 * G**2]
            F -= unit * rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        np.maximum(codes, 0, out=codes)
    for batch_size in (None, N):  # a batch of all samples is all samples, in another order
        fit = fit_stack(X, stack, H, solver="adam", batch_size=batch_size, max_iter=4, tol=0, learning_rate=rate)
        np.testing.assert_allclose(fit.H, codes, atol=1e-9)
        for Z, expected in zip(fit.stack.weights, weights, strict=True):
            np.testing.assert_allclose(Z, expected, atol=1e-9)


def test_sgd_is_gradient_descent():
    """Eq. 15 with one batch: a projected gradient step, halved until the objective decreases by half of its promise."""
    stack, H = start("square")
    scale = np.abs(X).max()
    codes, weights, size = H.copy(), [Z.copy() for Z in stack.weights], 1.0
    units = [scale, 1]  # the first weights are in the units of X, and so are their steps
    for _ in range(3):
        now, by_codes, by_weights = loss_and_gradients(X, Stack(weights, "square"), codes)
        while True:
            new = np.maximum(codes - size * by_codes / scale**2, 0)
            trial = [Z - size * u**2 * G / scale**2 for Z, G, u in zip(weights, by_weights, units, strict=True)]
            promised = (by_codes * (codes - new)).sum()
            promised += sum((G * (Z - T)).sum() for G, Z, T in zip(by_weights, weights, trial, strict=True))
            if loss_and_gradients(X, Stack(trial, "square"), new)[0] <= now - 0.5 * promised:
                break
            size /= 2
        codes, weights = new, trial
    fit = fit_stack(X, stack, H, solver="sgd", max_iter=3, tol=0)
    np.testing.assert_allclose(fit.H, codes, atol=1e-9)
    for Z, expected in zip(fit.stack.weights, weights, strict=True):
        np.testing.assert_allclose(Z, expected, atol=1e-9)


@pytest.mark.parametrize("batch_size", [None, 20])
@pytest.mark.parametrize("kind", [None, ScaleFreePenalty, TracePenalty])
def test_sgd_decreases(batch_size, kind):
    stack, H = start("stanh")
    pulls = None if kind is None else [kind(0.05, Chain().build(X)), None]
    fit = fit_stack(
        X, stack, H, solver="sgd", batch_size=batch_size, penalties=pulls, max_iter=60, tol=0, random_state=0
    )
    assert value(fit, penalties=pulls) < 0.95 * loss_and_gradients(X, stack, H, pulls)[0]
    if batch_size is None:
        assert (np.diff(fit.history) <= 0).all()


def test_penalty_acts_in_batches():
    """Of the edges between its samples: codes get smoother than without a penalty."""
    graph, (stack, H) = Labels().build(X, np.arange(N) % 4), start("stanh")
    rough = []
    for weight in (0.0, 1.0):
        pulls = [None, ScaleFreePenalty(weight, graph)]
        fit = fit_stack(
            X, stack, H, solver="adam", batch_size=20, penalties=pulls, max_iter=60, learning_rate=1e-2, random_state=0
        )
        rough.append((graph.quad_columns(fit.H) / (fit.H**2).sum(0)).mean())
    assert rough[1] < 0.8 * rough[0]


def test_a_sample_moves_once_an_epoch():
    stack, H = start("relu")
    fit = fit_stack(X, stack, H, solver="adam", batch_size=20, max_iter=1, learning_rate=1e-3, random_state=0)
    moved = np.abs(fit.H - H)
    assert moved.max() <= 1e-3 * (1 + 1e-6)  # the first step of Adam is the learning rate, in each entry
    assert (moved.max(1) > 0).all()


@pytest.mark.parametrize("activation", ["square", "relu", "stanh"])
def test_batches_lower_the_loss_over_epochs(activation):
    stack, H = start(activation)
    fit = fit_stack(X, stack, H, solver="adam", batch_size=32, max_iter=60, learning_rate=3e-3, random_state=0, tol=0)
    by_tens = np.reshape(fit.history, (6, 10)).mean(1)
    assert (np.diff(by_tens) < 0).all()
    ends = [
        fit_stack(X, stack, H, solver="adam", batch_size=32, max_iter=60, learning_rate=3e-3, random_state=s, tol=0)
        for s in range(3)
    ]
    values = [value(end) for end in ends]
    assert max(values) < 1.1 * min(values)  # the order hardly matters


def test_stream():
    g = np.random.default_rng(3)
    Z1, Z2 = g.normal(size=(6, P)), g.normal(size=(3, 6))
    batches = [np.square(g.uniform(size=(64, 3)) @ Z2) @ Z1 for _ in range(80)]
    state, _ = pretrain(batches[0], LAYERS, "square", random_state=0)
    losses = []
    for batch in batches:
        state = stream_step(batch, state, learning_rate=1e-2)
        losses.append(state.loss)
    assert state.n_steps == 80
    assert np.mean(losses[-5:]) < 0.8 * np.mean(losses[:5])


# ----------------------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"solver": "hals"}, 'solver must be "lbfgs", "apg", "nesterov", "adam" or "sgd"; got \'hals\''),
        ({"batch_size": 32}, 'batch_size=32 needs solver="adam" or "sgd": "lbfgs" takes all samples'),
        ({"batch_size": 32, "solver": "nesterov"}, '"nesterov" takes all samples at once'),
        ({"batch_size": 0, "solver": "sgd"}, "batch_size must be at least 1"),
        ({"penalties": [None]}, "one entry a layer, 2"),
    ],
)
def test_wrong_parameters(parameters, says):
    with pytest.raises(ValueError, match=says):
        fit_stack(X, *start("relu"), **parameters)


def test_wrong_shapes_and_signs():
    stack, H = start("relu")
    with pytest.raises(ValueError, match=r"X has shape \(80, 11\), but .* \(80, 12\)"):
        fit_stack(X[:, 1:], stack, H)
    with pytest.raises(ValueError, match="non-negative; the smallest entry is -10"):
        fit_stack(X, stack, -10 * H)
    with pytest.raises(ValueError, match="activation must be one of"):
        pretrain(X, LAYERS, "tanh")


# ---------------------------------------------------------------------------------------------------- real data


@pytest.mark.slow
@pytest.mark.parametrize("activation", ["square", "relu"])
def test_faces(real_data, activation):
    from laminar._base.clusters import Clusters
    from laminar.metrics import clustering_accuracy

    faces = real_data("pie_pose27")
    data = faces.X / np.linalg.norm(faces.X, axis=1, keepdims=True)
    fit = fit_stack(data, *pretrain(data, (400, 40), activation, random_state=0), max_iter=100)
    assert clustering_accuracy(faces.identity, Clusters(fit.H, 0).predict(fit.H, 68)) > 0.85
