from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize, nnls

from laminar.deep.nonlinear import ACTIVATIONS, Stack, code, fit_stack, pretrain

P = 12
every_activation = pytest.mark.parametrize("activation", ACTIVATIONS)
every_depth = pytest.mark.parametrize("layers", [(5,), (6, 4), (8, 6, 3)], ids=str)
every_method = pytest.mark.parametrize("method", ["nonnegative", "pinv"])


def exact_model(layers, activation, n=20, seed=0):
    """A stack whose layers can be undone, and samples it made."""
    rng = np.random.default_rng(seed)
    sizes = [P, *layers]
    # Positive hidden weights: square and relu are then one to one where they are used.
    weights = [rng.normal(size=(layers[0], P))]
    weights += [rng.uniform(size=(k, below)) / k for below, k in zip(sizes[1:], layers[1:], strict=False)]
    stack, H = Stack(weights, activation), rng.uniform(0.1, 1, size=(n, layers[-1]))
    return stack, H, stack.reconstruct(H)


@cache
def fitted(activation, layers=(8, 4), n=60):
    """A trained stack, what it was trained on, and new samples."""
    rng = np.random.default_rng(0)
    X = rng.gamma(0.7, size=(2 * n, 4)) @ rng.normal(size=(4, P)) + 0.3 * rng.normal(size=(2 * n, P))
    fit = fit_stack(X[:n], *pretrain(X[:n], layers, activation, random_state=0), max_iter=50, tol=0)
    return fit, X[:n], X[n:]


def errors(X, stack, H, layer=-1):
    return 0.5 * ((X - stack.reconstruct(H, layer)) ** 2).sum(1)


@every_activation
@every_depth
@every_method
@pytest.mark.parametrize("scale", [1e-3, 1e4])
def test_codes_are_recovered_where_the_model_is_exact(activation, layers, method, scale):
    # Tri-8: the printed formula has one inverse too many, and recovers nothing.
    stack, H, X = exact_model(layers, activation)
    scaled = Stack([scale * stack.weights[0], *stack.weights[1:]], activation)
    np.testing.assert_allclose(code(scale * X, scaled, method=method), H, atol=1e-6)
    codes = stack.forward(H)
    for layer, F in enumerate(codes):
        if activation != "stanh" or layer == len(layers) - 1 or (F >= 0).all():
            np.testing.assert_allclose(code(scale * X, scaled, layer, method), F, atol=1e-6 * np.abs(F).max())


@every_activation
def test_methods_agree_where_nothing_is_negative(activation):
    stack, _, X = exact_model((6, 4), activation)
    one, other = (code(X, stack, method=method) for method in ("pinv", "nonnegative"))
    assert (one >= 0).all()
    np.testing.assert_allclose(other, one, atol=1e-7)


def test_first_layer_is_non_negative_least_squares():
    fit, _, new = fitted("stanh")
    expected = np.array([nnls(fit.stack.weights[0].T, x)[0] for x in new[:20]])
    np.testing.assert_allclose(code(new[:20], fit.stack, layer=0), expected, atol=1e-9)


@pytest.mark.parametrize("activation", ["stanh", "square", "softplus"])  # a saturated sigmoid has minima at infinity
def test_codes_are_minima(activation):
    fit, _, new = fitted(activation)
    H = code(new[:10], fit.stack, max_iter=5000)
    assert (H >= 0).all()
    above = []
    for x, h in zip(new[:10], H, strict=True):
        best = minimize(lambda v, x=x: errors(x, fit.stack, v[None])[0], h, bounds=[(0, None)] * len(h), tol=1e-12)
        above.append(errors(x, fit.stack, h[None])[0] / best.fun - 1)
    # Softplus is flat far below zero: few samples are still on their way.
    assert (np.median(above) if activation == "softplus" else max(above)) <= 1e-5


@every_activation
def test_non_negative_codes_beat_clipped_ones(activation):
    fit, _, new = fitted(activation)
    clipped = np.maximum(code(new, fit.stack, method="pinv"), 0)
    ours, theirs = errors(new, fit.stack, code(new, fit.stack)), errors(new, fit.stack, clipped)
    assert (ours <= theirs * (1 + 1e-9)).mean() > 0.9
    assert ours.sum() < theirs.sum()


@every_activation
def test_training_samples_are_coded_as_well_as_in_training(activation):
    fit, X, _ = fitted(activation)
    trained = errors(X, fit.stack, fit.H)
    assert (errors(X, fit.stack, code(X, fit.stack, anchors=fit.H)) <= trained * (1 + 1e-9)).all()


@every_activation
@every_method
def test_samples_do_not_see_each_other(activation, method):
    fit, _, new = fitted(activation)
    batch = code(new[:12], fit.stack, method=method)
    alone = np.vstack([code(x[None], fit.stack, method=method) for x in new[:12]])
    off = np.abs(alone - batch).max(1) / batch.max()
    # Others have kinks, or are flat where they are saturated: a few samples may come to rest elsewhere.
    smooth = method == "pinv" or activation in ("identity", "square")
    flat = method == "nonnegative" and activation == "sigmoid"
    assert (off.max() if smooth else np.median(off)) < (0.05 if flat else 1e-5)


@every_activation
@every_method
def test_forms_of_data(activation, method):
    fit, _, new = fitted(activation)
    new = new[:20]
    expected = code(new, fit.stack, method=method)
    for form in (sp.csr_array, np.asfortranarray, lambda X: X.astype(np.float32)):
        H = code(form(new), fit.stack, method=method)
        assert H.dtype == form(new).dtype
        if (activation, method) != ("identity", "pinv"):  # linear layers leave Z_1 without a rank of its own
            # A sigmoid is flat where it is saturated: codes come to rest less precisely.
            off = 1e-2 if activation == "sigmoid" else 1e-3
            assert np.median(np.abs(H - expected).max(1)) < off * expected.max()


@every_activation
@every_method
def test_any_sample_has_a_finite_code(activation, method):
    fit, *_ = fitted(activation)
    wild = np.vstack([np.zeros((2, P)), np.full((1, P), 1e6), -np.ones((1, P)), np.eye(3, P)])
    H = code(wild, fit.stack, method=method)
    assert np.isfinite(H).all()
    assert method == "pinv" or (H >= 0).all()


def test_codes_ignore_size_of_batch(two_threads):
    fit, X, _ = fitted("square", n=600)
    np.testing.assert_allclose(code(X[:50], fit.stack), code(X, fit.stack)[:50], atol=1e-4)


def test_mistakes_are_named():
    fit, X, _ = fitted("relu")
    with pytest.raises(ValueError, match=r"method must be .* got 'mu'"):
        code(X, fit.stack, method="mu")
    with pytest.raises(ValueError, match=r"layer must be one of -2 .. 1, .* got 2"):
        code(X, fit.stack, layer=2)
    with pytest.raises(ValueError, match=r"codes must have shape \(n_samples, 4\)"):
        code(X, fit.stack, anchors=np.zeros((len(X), 3)))
