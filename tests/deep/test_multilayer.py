import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

from laminar import NMF, MultiLayerNMF
from laminar._engine.data.wrap import wrap
from laminar._engine.problem import Problem
from laminar.deep.multilayer import smoothed_fit
from laminar.testing import check_model, check_term
from reference import models as plain

N, P, LAYERS = 50, 14, (6, 3)
WAYS = [{}, {"solver": "mu"}, {"solver": "apg"}, {"rule": "published"}, {"loss": "kl"}]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(way.values()) or "fast")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

rng = np.random.default_rng(0)
X = rng.gamma(0.7, size=(N, 8)) @ rng.gamma(0.7, size=(8, P)) + 0.1 * rng.random((N, P))


def start(k, p):
    return rng.uniform(0.1, 1, (N, k)), rng.uniform(0.1, 1, (k, p))


STARTS = [start(6, P), start(3, 6)]


def fit(X, layers=LAYERS, **parameters):
    return MultiLayerNMF(layers, **({"random_state": 0, "tol": 1e-7, "max_iter": 1000} | parameters)).fit(X)


# ----------------------------------------------------------------------------------------------------- the problem


@pytest.mark.parametrize("theta", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("loss", ["frobenius", "kl"])
def test_every_factor_sees_same_objective(theta, loss):
    H, Z = STARTS[0]
    S = (1 - theta) * np.eye(6) + theta / 6
    data, factors = wrap(X), {"H": H, "Z": np.ascontiguousarray(Z.T)}
    for name, F in factors.items():
        objective = Problem({}, [smoothed_fit(data, loss, theta)]).objective(name, factors)
        expected = plain.objective(X / data.scale, H, S @ Z, loss)
        assert objective.evaluate(F).value == pytest.approx(expected, rel=1e-10)
        check_term(objective, F)


@pytest.mark.parametrize("theta", [0.0, 0.5, 0.9])
def test_published_rule_is_the_papers(theta):
    for n_iter in (1, 2, 7):
        model, V = fit(X, theta=theta, rule="published", init=STARTS, max_iter=n_iter, tol=0), X
        for layer, (H, Z) in zip(model.layers_, STARTS, strict=True):
            *_, (H, W) = plain.non_smooth_nmf(V, H, Z, theta, n_iter)
            size = np.linalg.norm(W, axis=1)
            V = H * size  # the codes that go on
            np.testing.assert_allclose(layer.representation, V, rtol=1e-8)
            np.testing.assert_allclose(layer.weights, W / size[:, None], rtol=1e-8)


# ------------------------------------------------------------------------------------------------------ collapse laws


@every_way
def test_one_layer_without_smoothing_is_nmf(way):
    parameters = {"random_state": 0, "max_iter": 60, **way}
    stack, nmf = MultiLayerNMF((4,), theta=0, **parameters).fit(X), NMF(4, **parameters).fit(X)
    assert np.array_equal(stack.components_, nmf.components_)
    assert np.array_equal(stack.layers_[0].representation, nmf.layers_[0].representation)
    assert np.array_equal(stack.objective_history_, nmf.objective_history_)
    assert np.array_equal(stack.transform(X), nmf.transform(X))
    assert stack.reconstruction_err_ == pytest.approx(nmf.reconstruction_err_, rel=1e-9)
    assert stack.score(X) == pytest.approx(nmf.score(X), rel=1e-9)


def test_two_layers_without_smoothing_are_nmf_of_nmf():
    stack = fit(X, theta=0)
    first = NMF(6, random_state=0, tol=1e-7, max_iter=1000).fit(X)
    second = NMF(3, random_state=0, tol=1e-7, max_iter=1000).fit(first.layers_[0].representation)
    np.testing.assert_allclose(stack.layers_[1].representation, second.layers_[0].representation, atol=1e-9)
    np.testing.assert_allclose(stack.components_, second.components_ @ first.components_, atol=1e-9)


# ------------------------------------------------------------------------------------------------------------ the fit


@every_way
@pytest.mark.parametrize("theta", [0.0, 0.5])
def test_objectives_never_rise_and_are_what_they_say(theta, way):
    model, V = fit(X, theta=theta, max_iter=100, **way), X
    loss = way.get("loss", "frobenius")
    assert len(model.objective_histories_) == 2
    for layer, history in zip(model.layers_, model.objective_histories_, strict=True):
        assert (np.diff(history) <= 1e-10 * history[0]).all()
        value = plain.objective(V, layer.representation, layer.weights, loss)
        assert value <= history[-1] * (1 + 1e-8)
        V = layer.representation
    assert model.objective_history_ is model.objective_histories_[-1]
    assert max(map(len, model.objective_histories_)) <= model.n_iter_ <= 100
    error = plain.objective(X, V, model.components_, loss)
    assert model.reconstruction_err_ == pytest.approx(error if loss == "kl" else np.sqrt(2 * error), rel=1e-8)
    if loss == "frobenius":
        assert model.reconstruction_err_ >= plain.svd_tail(X, LAYERS[-1]) * (1 - 1e-10)


@every_way
def test_layers_fit_each_other(way):
    model = fit(X, layers=(7, 5, 2), max_iter=50, **way)
    widths = [P, 7, 5, 2]
    below = np.eye(P)
    for layer, k, inputs in zip(model.layers_, widths[1:], widths, strict=False):
        assert layer.weights.shape == (k, inputs)
        assert layer.components.shape == (k, P)
        assert layer.representation.shape == (N, k)
        assert min(layer.weights.min(), layer.components.min(), layer.representation.min()) >= 0
        size = layer.weights.sum(1) if way.get("loss") == "kl" else np.linalg.norm(layer.weights, axis=1)
        np.testing.assert_allclose(size, 1)
        below = layer.weights @ below
        np.testing.assert_allclose(layer.components, below, atol=1e-12)
    assert np.array_equal(model.components_, model.layers_[-1].components)


@pytest.mark.parametrize("loss", ["frobenius", "kl"])
def test_smoothing_makes_codes_sparse(loss):
    zeros = [
        (fit(X, layers=(6,), theta=theta, loss=loss).layers_[0].representation < 1e-3).mean() for theta in (0, 0.4, 0.8)
    ]
    assert zeros[0] + 0.05 < zeros[1] < zeros[2] - 0.05


# ------------------------------------------------------------------------------------------ what must not matter


@every_way
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, np.asfortranarray])
def test_sparse_is_dense(way, form):
    dense, sparse = (fit(A, max_iter=15, tol=0, **way) for A in (X, form(X)))
    np.testing.assert_allclose(sparse.components_, dense.components_, atol=1e-6)
    np.testing.assert_allclose(sparse.transform(form(X)), dense.transform(X), atol=1e-4)


@pytest.mark.parametrize("way", [{}, {"rule": "published"}], ids=["fast", "published"])
@pytest.mark.parametrize("c", [1e-30, 1e30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_units_do_not_matter(way, c, dtype):
    one, other = (fit((s * X).astype(dtype), max_iter=15, tol=0, **way) for s in (1, c))
    tol = 5e-3 if dtype == np.float32 else 1e-7
    np.testing.assert_allclose(other.components_, one.components_, atol=tol)
    assert other.components_.dtype == other.layers_[0].representation.dtype == dtype
    H, expected = (model.layers_[-1].representation.astype(float) for model in (other, one))
    np.testing.assert_allclose(H / c, expected, atol=tol * expected.max())


def test_promises_of_every_model():
    check_model(MultiLayerNMF((4, 2)), X)


# ---------------------------------------------------------------------------------------------------- new samples


def test_codes_go_up_layer_by_layer():
    model = fit(X)
    new = np.random.default_rng(5).gamma(0.7, size=(20, P))
    V = new
    for i, layer in enumerate(model.layers_):
        V = np.array([nnls(layer.weights.T, v)[0] for v in V])
        np.testing.assert_allclose(model.transform(new, layer=i), V, atol=1e-9)
        np.testing.assert_allclose(model.transform(X, layer=i), layer.representation, atol=1e-8)
    np.testing.assert_allclose(model.transform(new), V, atol=1e-9)
    np.testing.assert_allclose(model.transform(new, layer=-2), model.transform(new, layer=0))
    np.testing.assert_allclose(model.inverse_transform(V), V @ model.components_)
    left = ((new - V @ model.components_) ** 2).sum() / (new**2).sum()
    assert model.score(new) == pytest.approx(1 - left, rel=1e-9)


def test_a_layer_at_once():
    model = fit(X)
    for i, layer in enumerate(model.layers_):
        H = X @ np.linalg.pinv(layer.components)
        np.testing.assert_allclose(model.transform(X, layer=i, method="pinv"), H, atol=1e-8)
        np.testing.assert_allclose(model.inverse_transform(H, layer=i), H @ layer.components)
    for layer in (2, -3):
        with pytest.raises(ValueError, match=f"layer={layer} is out of range: the model has 2 layers"):
            model.transform(X, layer=layer)


def test_clusters_are_those_of_the_top():
    labels = np.repeat([0, 1, 2], 20)
    blobs = 5 * np.random.default_rng(7).random((3, P))[labels] + np.random.default_rng(8).random((60, P))
    model = MultiLayerNMF((8, 3), random_state=0).fit(blobs)
    assert len(set(zip(labels, model.predict(blobs), strict=True))) == 3
    assert np.array_equal(model.fit_predict(blobs), model.predict(blobs))
    assert list(model.get_feature_names_out()) == ["multilayernmf0", "multilayernmf1", "multilayernmf2"]


# --------------------------------------------------------------------------------------------- callbacks, warnings


def test_iterations_of_all_layers_are_told_in_a_row():
    told = []
    model = fit(X, rule="published", max_iter=7, tol=0, callback=told.append)
    iterations, objectives, seconds = zip(*((s.iteration, s.objective, s.seconds) for s in told), strict=True)
    assert iterations == tuple(range(1, 15))
    np.testing.assert_allclose(objectives, np.concatenate(model.objective_histories_))
    assert (np.diff(seconds) > 0).all()


def test_a_stop_stops_all_layers():
    model = fit(X, layers=(6, 4, 3), tol=0, callback=lambda state: state.iteration == 5)  # once, not ever after
    assert [len(history) for history in model.objective_histories_] == [5, 1, 1]
    assert not model.converged_


def test_one_warning_for_all_layers():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        fit(X, max_iter=3)
    assert len(caught) == 1
    assert "MultiLayerNMF stopped at max_iter=3 before it converged" in str(caught[0].message)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fit(X, tol=1e-3).converged_


# ------------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("data", "parameters", "message"),
    [
        (X, {"layers": ()}, r"layers must be one or more whole numbers above 0, as \(100, 20\); got \(\)"),
        (X, {"layers": (4, 0)}, "layers must be one or more .*got"),
        (X, {"layers": (4, 2.5)}, "layers must be one or more .*got"),
        (X, {"layers": ("a",)}, "layers must be one or more .*got"),
        (X, {"theta": 1.0}, r"'theta' parameter of MultiLayerNMF must be .*range \[0.0, 1.0\)"),
        (X, {"init": STARTS[:1]}, "init must hold a start for each of the 2 layers, got 1"),
        (X, {"init": [STARTS[0], STARTS[0]]}, r"init: Z must have shape \(3, 6\), got \(6, 14\)|init: H must have"),
        (X, {"init": STARTS[0]}, r"init: layer 0 must start from a pair of arrays \(H, Z\) or from .*; got ndarray"),
        (X, {"init": ["auto", "best"]}, "init: layer 1 must start from .*nndsvd.*; got 'best'"),
        (X, {"init": [STARTS[0], (-STARTS[1][0], STARTS[1][1])]}, "init: H must be non-negative"),
        (X, {"solver": "cd"}, "'solver' parameter of MultiLayerNMF"),
        (X, {"init": "svd"}, 'init="svd" gives components of any sign'),
        (X, {"init": ["auto", "lp"]}, 'init="lp" gives components of any sign'),
        (X - 1, {}, "Negative values in data passed to MultiLayerNMF"),
        (X, {"loss": "kl", "solver": "hals"}, 'solver="hals" needs a squared error'),
    ],
)
def test_what_is_refused(data, parameters, message):
    with pytest.raises(ValueError, match=message):
        fit(data, **parameters)


def test_numpy_integers_and_a_start_by_name():
    model = fit(X, layers=np.array([6, 3]), init=[STARTS[0], "nndsvd"], max_iter=5)
    assert [len(layer.components) for layer in model.layers_] == [6, 3]
