import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from laminar.deep.nonlinear import ACTIVATIONS, ScaleFreePenalty, Stack, loss_and_gradients
from laminar.deep.nonlinear.gradients import ReducedObjective, as_data, as_penalties
from laminar.graphs import Chain, Labels

N, P = 30, 7
every_activation = pytest.mark.parametrize("activation", ACTIVATIONS)
every_depth = pytest.mark.parametrize("layers", [(4,), (5, 3), (6, 5, 3, 4)], ids=str)
LABELS = np.arange(N) % 3


def problem(layers, activation, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    sizes = [P, *layers]
    weights = [rng.normal(size=(k, below)) / np.sqrt(k) for below, k in zip(sizes, layers, strict=False)]
    X = scale * rng.normal(size=(N, P))
    return X, Stack([scale * weights[0], *weights[1:]], activation), rng.uniform(0.1, 1, size=(N, layers[-1]))


def penalties(layers):
    graphs = [Chain().build(np.zeros((N, 1))), Labels().build(np.zeros((N, 1)), LABELS)]
    found = [ScaleFreePenalty(0.3, graphs[0]), ScaleFreePenalty(0.2, graphs[1]), None, ScaleFreePenalty(0.1, graphs[1])]
    return found[: len(layers)][::-1]


def plain_loss(X, weights, activation, H, penalties=None):
    """The objective as the equations say it."""
    g, codes = ACTIVATIONS[activation].value, [H]
    for Z in weights[:0:-1]:
        codes.insert(0, g(codes[0] @ Z))
    loss = 0.5 * ((X - codes[0] @ weights[0]) ** 2).sum()
    for F, penalty in zip(codes, penalties or [None] * len(codes), strict=True):
        if penalty is not None:
            k = F.shape[1]
            F = F[:, F.any(0)]  # a silent unit is not rough
            rough = penalty.operator.quad_columns(F) / (F**2).sum(0)
            loss += penalty.weight / 2 * (X**2).sum() / k * rough.sum()
    return loss


def check_gradient(value, F, gradient):
    """Compare a gradient with central differences in random directions, to 1e-6 of its size."""
    rng = np.random.default_rng(1)
    for _ in range(4):
        d = rng.normal(size=F.shape)
        step = 1e-6 * np.abs(F).max()
        slope = (value(F + step * d) - value(F - step * d)) / (2 * step)
        assert slope == pytest.approx(np.vdot(gradient, d), abs=1e-6 * np.linalg.norm(gradient) * np.linalg.norm(d))


@every_activation
@every_depth
@pytest.mark.parametrize("penalized", [False, True], ids=["plain", "penalties"])
@pytest.mark.parametrize("scale", [1.0, 50.0])
def test_gradients(activation, layers, penalized, scale):
    X, stack, H = problem(layers, activation, scale=scale)
    pulls = penalties(layers) if penalized else None
    loss, by_codes, by_weights = loss_and_gradients(X, stack, H, pulls)
    assert loss == pytest.approx(plain_loss(X, stack.weights, activation, H, pulls), rel=1e-12)
    check_gradient(lambda F: plain_loss(X, stack.weights, activation, F, pulls), H, by_codes)
    for i, gradient in enumerate(by_weights):

        def value(Z, i=i):
            return plain_loss(X, [*stack.weights[:i], Z, *stack.weights[i + 1 :]], activation, H, pulls)

        check_gradient(value, stack.weights[i], gradient)


def test_the_penalty_is_propagated_and_not_as_printed():
    # Tri-7: the paper hands down the gradient without the penalty; the difference must show.
    X, stack, H = problem((5, 3), "stanh")
    pulls = [ScaleFreePenalty(0.5, Chain().build(X)), None]
    plain, penalized = loss_and_gradients(X, stack, H), loss_and_gradients(X, stack, H, pulls)
    assert np.linalg.norm(penalized[2][1] - plain[2][1]) > 1e-2 * np.linalg.norm(plain[2][1])
    np.testing.assert_array_equal(penalized[2][0], plain[2][0])


@every_depth
def test_identity_is_the_linear_stack(layers):
    X, stack, H = problem(layers, "identity")
    loss, by_codes, _ = loss_and_gradients(X, stack, H)
    basis = np.linalg.multi_dot(stack.weights[::-1]) if len(layers) > 1 else stack.weights[0]
    E = H @ basis - X
    assert loss == pytest.approx(0.5 * (E**2).sum(), rel=1e-12)
    np.testing.assert_allclose(by_codes, E @ basis.T, atol=1e-10)
    np.testing.assert_allclose(stack.components(H), basis * np.sqrt((H**2).mean(0))[:, None], atol=1e-12)


@every_activation
def test_no_weight_is_no_penalty(activation):
    X, stack, H = problem((5, 3), activation)
    graph = Chain().build(X)
    nothing = loss_and_gradients(X, stack, H)
    loss, by_codes, by_weights = loss_and_gradients(X, stack, H, [ScaleFreePenalty(0.0, graph), None])
    assert loss == nothing[0]
    for a, b in zip([by_codes, *by_weights], [nothing[1], *nothing[2]], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("form", [np.asfortranarray, sp.csr_array, sp.csc_matrix, as_data], ids=lambda f: f.__name__)
def test_forms_of_data(form, two_threads):
    X, stack, H = problem((5, 3), "square")
    X[np.abs(X) < 0.5] = 0
    one, other = (loss_and_gradients(F, stack, H) for F in (X, form(X)))
    assert other[0] == pytest.approx(one[0])
    for a, b in zip([one[1], *one[2]], [other[1], *other[2]], strict=True):
        np.testing.assert_allclose(b, a, atol=1e-10)


def test_batches_add_up():
    X, stack, H = problem((5, 3), "softplus")
    whole, parts = loss_and_gradients(X, stack, H), np.array_split(np.random.default_rng(2).permutation(N), 4)
    found = [loss_and_gradients(X[b], stack, H[b]) for b in parts]
    assert sum(loss for loss, *_ in found) == pytest.approx(whole[0])
    for i in range(2):
        np.testing.assert_allclose(sum(grads[i] for *_, grads in found), whole[2][i], atol=1e-10)
    np.testing.assert_allclose(np.vstack([F for _, F, _ in found]), whole[1][np.concatenate(parts)], atol=1e-10)


# ----------------------------------------------------------------------------------------- the best first weights


@every_activation
@every_depth
def test_reduced_gradient(activation, layers):
    X, stack, H = problem(layers, activation)
    reduced = ReducedObjective(as_data(X), activation, as_penalties(penalties(layers), stack))
    _, by_codes, by_weights = reduced(H, stack.weights[1:])
    check_gradient(lambda F: reduced(F, stack.weights[1:])[0], H, by_codes)
    for i, gradient in enumerate(by_weights):

        def value(Z, i=i):
            return reduced(H, [*stack.weights[1 : i + 1], Z, *stack.weights[i + 2 :]])[0]

        check_gradient(value, stack.weights[i + 1], gradient)


def test_reduced_value_is_the_least_over_first_weights():
    X, stack, H = problem((5, 3), "stanh")
    data = as_data(X)
    reduced = ReducedObjective(data, "stanh", [None, None], ridge=1e-14)
    H1 = stack.forward(H)[0]
    best = np.linalg.lstsq(H1, X, rcond=None)[0]
    assert reduced(H, stack.weights[1:])[0] * data.scale**2 == pytest.approx(0.5 * ((X - H1 @ best) ** 2).sum())
    np.testing.assert_allclose(reduced.first_weights(H1) * data.scale, best, atol=1e-8)


def test_scale_free_penalty_is_free_of_scale():
    X, _, H = problem((3,), "identity")
    penalty = ScaleFreePenalty(0.7, Chain().build(X))
    value, gradient = penalty(H, as_data(X))
    scaled = H * [0.01, 1.0, 300.0]
    assert penalty(scaled, as_data(X))[0] == pytest.approx(value)
    assert np.abs((gradient * H).sum(0)).max() < 1e-12 * np.abs(gradient * H).sum()  # nothing is gained by shrinking
    silent = np.hstack([H[:, :2], np.zeros((N, 1))])
    assert not penalty(silent, as_data(X))[1][:, 2].any()


# -------------------------------------------------------------------------------------------------- activations


@every_activation
def test_inverses_are_inverse(activation):
    g = ACTIVATIONS[activation]
    A = np.linspace(0.01 if activation in ("square", "relu") else -3, 3, 50)
    np.testing.assert_allclose(g.inverse(g.value(A)), A, atol=1e-9)
    wild = np.array([-1e6, -2.0, 0.0, 1.0, 2.0, 1e6])
    assert np.isfinite(g.inverse(wild)).all()
    for dtype in (np.float32, np.float64):
        found = [f(wild.astype(dtype)) for f in (g.value, g.slope, g.inverse)]
        assert all(F.dtype == dtype and np.isfinite(F).all() for F in found[1:])


@every_activation
def test_slopes_are_slopes(activation):
    g, A = ACTIVATIONS[activation], np.linspace(-3, 3, 51) + 0.01
    np.testing.assert_allclose((g.value(A + 1e-6) - g.value(A - 1e-6)) / 2e-6, g.slope(A), atol=1e-8)


def test_stanh_is_the_papers():
    g = ACTIVATIONS["stanh"]
    np.testing.assert_allclose(g.value(np.array([0.7])), 1.7159 * np.tanh(2 * 0.7 / 3))
    np.testing.assert_allclose(g.value(np.array([-1.0, 1.0])), [-1, 1], atol=1e-4)


# -------------------------------------------------------------------------------------------------------- stacks


@every_activation
def test_stacks_can_be_pickled(activation):
    _, stack, H = problem((5, 3), activation)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(stack)).reconstruct(H), stack.reconstruct(H))


def test_what_a_unit_draws():
    stack = Stack([np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]]), np.array([[1.0, -1.0], [0.0, 3.0]])], "sigmoid")
    H = np.array([[2.0, 0.0], [0.0, 1.0]])
    size = np.sqrt((H**2).mean(0))
    for a in range(2):
        alone = np.zeros((1, 2))
        alone[0, a] = size[a]
        change = stack.reconstruct(alone) - stack.reconstruct(np.zeros((1, 2)))
        np.testing.assert_allclose(stack.components(H)[a], change[0])
    np.testing.assert_allclose(stack.components(H, layer=0), stack.weights[0] * size[:, None])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Stack([np.zeros((3, 5))], "tanh"), "activation must be one of .*got 'tanh'"),
        (
            lambda: Stack([np.zeros((3, 5)), np.zeros((2, 4))], "relu"),
            r"layer 2 .* layer 1 has units, 3; got .*\(2, 4\)",
        ),
        (lambda: Stack([], "relu"), "one matrix or more"),
        (lambda: Stack([np.zeros((3, 5))], "relu").forward(np.zeros((4, 2))), r"shape \(n_samples, 3\), got \(4, 2\)"),
        (lambda: Stack([np.zeros((3, 5))], "relu").reconstruct(np.zeros((4, 3)), layer=1), "-1 .. 0.*got 1"),
        (
            lambda: loss_and_gradients(
                np.zeros((4, 5)), Stack([np.zeros((3, 5))], "relu"), np.zeros((4, 3)), [None] * 2
            ),
            "one entry a layer, 1 .*got 2",
        ),
    ],
)
def test_mistakes_are_named(make, says):
    with pytest.raises(ValueError, match=says):
        make()
