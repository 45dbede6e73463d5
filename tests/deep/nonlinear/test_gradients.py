import pickle
from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp

from laminar.deep.nonlinear import (
    ACTIVATIONS,
    Activation,
    Rectified,
    ScaleFreePenalty,
    Stack,
    TracePenalty,
    as_activation,
    loss_and_gradients,
)
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
    g, codes = as_activation(activation).value, [H]
    for Z in weights[:0:-1]:
        codes.insert(0, g(codes[0] @ Z))
    loss = 0.5 * ((X - codes[0] @ weights[0]) ** 2).sum()
    for F, penalty in zip(codes, penalties or [None] * len(codes), strict=True):
        if isinstance(penalty, TracePenalty):  # eq. 21, over pairs of samples
            W = penalty.operator.tocsr().toarray()
            loss += penalty.weight / 2 * sum((W * (f[:, None] - f) ** 2).sum() / 2 for f in F.T)
        elif penalty is not None:
            k = F.shape[1]
            F = F[:, F.any(0)]  # a silent unit is not rough
            rough = penalty.operator.quad_columns(F) / (F**2).sum(0)
            loss += penalty.weight / 2 * (X**2).sum() / k * rough.sum()
    return loss


def cubic(A):
    return A + A**3 / 3


def cubic_slope(A):
    return 1 + A**2


def cubic_inverse(Y):
    """Cardano's formula."""
    root = np.sqrt(1 + 9 * Y**2 / 4)
    return np.cbrt(3 * Y / 2 + root) + np.cbrt(3 * Y / 2 - root)


OWN = Activation(cubic, cubic_slope, cubic_inverse)
GIVEN = {
    "own": OWN,
    "rectified own": Rectified.of(OWN),
    **{f"rectified {name}": Rectified.of(name) for name in ("stanh", "relu", "softplus", "identity")},
    **ACTIVATIONS,
}


def check_all_gradients(X, stack, H, pulls):
    """Value and gradients, by codes and by the weights of every layer, against the plain objective."""
    loss, by_codes, by_weights = loss_and_gradients(X, stack, H, pulls)
    g = stack.activation
    assert loss == pytest.approx(plain_loss(X, stack.weights, g, H, pulls), rel=1e-12)
    check_gradient(lambda F: plain_loss(X, stack.weights, g, F, pulls), H, by_codes)
    for i, gradient in enumerate(by_weights):

        def value(Z, i=i):
            return plain_loss(X, [*stack.weights[:i], Z, *stack.weights[i + 1 :]], g, H, pulls)

        check_gradient(value, stack.weights[i], gradient)


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
    check_all_gradients(X, stack, H, penalties(layers) if penalized else None)


@pytest.mark.parametrize("activation", GIVEN.values(), ids=GIVEN)
@pytest.mark.parametrize("kind", [TracePenalty, ScaleFreePenalty])
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_gradients_of_a_penalty_on_each_layer(activation, kind, layer):
    """Away from kinks: random codes are at none of them."""
    X, stack, H = problem((6, 5, 3), activation)
    pulls = [None] * 3
    pulls[layer] = kind(0.4, Labels().build(X, LABELS))
    check_all_gradients(X, stack, H, pulls)


@pytest.mark.parametrize("scale", [1e-3, 50.0])
def test_printed_penalty_is_in_units_of_the_data(scale):
    X, stack, H = problem((5, 3), "stanh", scale=scale)
    check_all_gradients(
        X, stack, H, [TracePenalty(0.4, Chain().build(X)), TracePenalty(0.1, Labels().build(X, LABELS))]
    )


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


# ------------------------------------------------------------------------------------------ penalties of batches


def test_printed_penalty_of_batches_has_the_mean_of_all():
    """Over all orders of five samples, in batches of three and two; and of 30, as far as chance goes."""
    data, H = as_data(np.zeros((5, 2)) + 0.5), np.random.default_rng(0).uniform(size=(5, 3))
    penalty, values, gradients = TracePenalty(0.7, Labels().build(H, [0, 0, 1, 0, 1])), [], []
    for order in permutations(range(5)):
        parts = [np.array(order[:3]), np.array(order[3:])]
        found = [penalty.take(rows, 5)(H[rows], data) for rows in parts]
        values.append(sum(value for value, _ in found))
        gradients.append(np.concatenate([gradient for _, gradient in found])[np.argsort(order)])
    value, gradient = penalty(H, data)
    assert np.mean(values) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(np.mean(gradients, axis=0), gradient, rtol=1e-12)

    X, _, H = problem((4,), "identity")
    data, penalty, draw = as_data(X), TracePenalty(0.7, Labels().build(X, LABELS)), np.random.default_rng(0)
    parts = [np.split(draw.permutation(N), 3) for _ in range(200)]
    sums = [sum(penalty.take(rows, N)(H[rows], data)[0] for rows in each) for each in parts]
    assert np.mean(sums) == pytest.approx(penalty(H, data)[0], abs=4 * np.std(sums) / np.sqrt(len(sums)))


def test_penalty_of_all_samples_as_a_batch_is_the_penalty():
    X, _, H = problem((4,), "identity")
    order = np.random.default_rng(0).permutation(N)
    for kind in (TracePenalty, ScaleFreePenalty):
        penalty = kind(0.7, Labels().build(X, LABELS))
        assert penalty.take(order, N)(H[order], as_data(X))[0] == pytest.approx(penalty(H, as_data(X))[0])


def test_scale_free_penalty_of_batches_is_about_that_of_all():
    X, _, H = problem((4,), "identity")
    data, penalty = as_data(X), ScaleFreePenalty(0.7, Labels().build(X, LABELS))
    draw = np.random.default_rng(0)
    sums = [
        sum(penalty.take(rows, N)(H[rows], data)[0] for rows in np.split(draw.permutation(N), 3)) for _ in range(100)
    ]
    # A quotient of batch sums has a bias of the order of one over the size of a batch.
    assert np.mean(sums) == pytest.approx(penalty(H, data)[0], rel=0.15)


def test_graph_of_a_batch_has_its_edges():
    F, rows = np.random.default_rng(0).random((6, 4)), np.array([7, 3, 29, 4, 0, 8])
    for operator in (Labels().build(np.zeros((N, 1)), LABELS), Chain().build(np.zeros((N, 1)))):
        between = operator.tocsr().toarray()[np.ix_(rows, rows)]
        np.testing.assert_allclose(operator.take(rows).dot(F), between @ F)
        np.testing.assert_allclose(operator.take(rows).degree, between.sum(1))


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


@pytest.mark.parametrize("name", ["stanh", "identity", "own"])
def test_rectified_activations(name):
    """max(0, g), as eq. 15 asks of the codes of all layers; where it is positive, inverse and slope are those of g."""
    g = OWN if name == "own" else ACTIVATIONS[name]
    rectified, A = Rectified.of(g if name == "own" else name), np.linspace(-3, 3, 51) + 0.01
    np.testing.assert_allclose(rectified.value(A), np.maximum(g.value(A), 0))
    np.testing.assert_allclose(rectified.slope(A), np.where(g.value(A) > 0, g.slope(A), 0))
    np.testing.assert_allclose(rectified.inverse(rectified.value(A))[A > 0], A[A > 0], atol=1e-9)
    np.testing.assert_allclose(rectified.inverse(-A[A > 0]), g.inverse(np.zeros(26)), atol=1e-12)


def test_own_activation_is_an_activation():
    A = np.linspace(-3, 3, 51)
    np.testing.assert_allclose((OWN.value(A + 1e-6) - OWN.value(A - 1e-6)) / 2e-6, OWN.slope(A), atol=1e-7)
    np.testing.assert_allclose(OWN.inverse(OWN.value(A)), A, atol=1e-9)
    assert as_activation(OWN) is OWN
    assert as_activation("relu") is ACTIVATIONS["relu"]


# -------------------------------------------------------------------------------------------------------- stacks


@every_activation
def test_stacks_can_be_pickled(activation):
    _, stack, H = problem((5, 3), activation)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(stack)).reconstruct(H), stack.reconstruct(H))


@pytest.mark.parametrize("activation", GIVEN.values(), ids=GIVEN)
def test_stacks_with_given_activations_can_be_pickled(activation):
    _, stack, H = problem((5, 3), activation)
    again = pickle.loads(pickle.dumps(stack))
    assert again.activation == activation
    np.testing.assert_array_equal(again.reconstruct(H), stack.reconstruct(H))


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
