"""Layers with labels, in every mode: what they reduce to, labels that say little, sizes of all kinds, transfer."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from laminar import WSF, DeepSemiNMF, DeepWSF
from laminar.graphs import Labels
from laminar.testing import check_model

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:X .* feature names:UserWarning"),
]

N, P = 48, 12
rng = np.random.default_rng(0)
POSE, WHO = rng.permutation(N) % 3, rng.permutation(N) % 4
X = rng.normal(size=(3, P))[POSE] + 0.5 * rng.normal(size=(4, P))[WHO] + 0.3 * rng.normal(size=(N, P))
Y = np.c_[np.where(rng.random(N) < 0.5, POSE, -1), np.where(rng.random(N) < 0.5, WHO, -1)]

MODES = {
    "network": {"mode": "network"},
    "coupled": {"mode": "coupled"},
    "paper": {"mode": "paper"},
    "stanh": {"activation": "stanh"},
}
every_mode = pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
linear_modes = pytest.mark.parametrize("mode", list(MODES.values())[:3], ids=list(MODES)[:3])


def fitted(mode, layers=(6, 3), data=X, y=Y, **parameters):
    return DeepWSF(**{"layers": layers, "max_iter": 15, "random_state": 0, **mode, **parameters}).fit(data, y)


def is_finite(model, data=X):
    arrays = [model.objective_history_, model.transform(data)]
    arrays += [part for layer in model.layers_ for part in (layer.weights, layer.components, layer.representation)]
    return all(np.isfinite(A).all() for A in arrays) and np.isfinite(model.reconstruction_err_)


@linear_modes
def test_contract_with_labels(mode):
    check_model(DeepWSF((6, 3), max_iter=15, alphas=0.1, random_state=0, **mode), X, Y)


@every_mode
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floating_type_and_signs(mode, dtype):
    model = fitted(mode, data=X.astype(dtype))
    for layer in model.layers_:
        assert layer.representation.dtype == layer.components.dtype == layer.weights.dtype == dtype
    assert (model.layers_[-1].representation >= 0).all()
    assert model.transform(X.astype(dtype)).dtype == dtype


@every_mode
def test_same_seed_same_model(mode):
    one, other = fitted(mode), fitted(mode)
    assert_array_equal(one.components_, other.components_)
    assert_array_equal(one.objective_history_, other.objective_history_)


@every_mode
def test_the_objective_never_rises(mode):
    for alphas in (0.01, [3.0, 0.2]):
        history = fitted(mode, alphas=alphas, max_iter=60).objective_history_
        assert np.diff(history).max(initial=0) <= 1e-9 * history[0]


# ---- what it reduces to -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["network", "coupled"])
def test_one_layer_is_wsf(mode):
    """The same objective, and from the codes of the one nothing is left to gain for the other."""
    alpha, graph = 0.05, Labels().build(X, WHO)
    deep = DeepWSF(4, alphas=alpha, mode=mode, max_iter=300, tol=0, random_state=0).fit(X, WHO)
    H, Z = deep.layers_[0].representation, deep.components_
    value = ((X - H @ Z) ** 2).sum() / 2 + alpha / 2 * graph.quad(H)
    assert deep.objective_history_[-1] == pytest.approx(value, rel=1e-6)
    wsf = WSF(4, alpha=alpha, init=(H, Z), max_iter=100, tol=0).fit(X, WHO)
    assert wsf.objective_history_[-1] == pytest.approx(value, rel=1e-2)
    best = WSF(4, alpha=alpha, random_state=0).fit(X, WHO).objective_history_[-1]
    assert value == pytest.approx(best, rel=0.05)


@pytest.mark.parametrize("layers", [(6, 3), (4, 5)], ids=str)
def test_the_objective_of_a_network(layers):
    """Hidden codes follow from the top ones, and each layer pays for the roughness of its units at any scale."""
    model = DeepWSF(layers, alphas=0.05, max_iter=20, tol=0, random_state=0).fit(X, Y[:, : len(layers)])
    H = model.layers_[-1].representation
    value = ((X - H @ model.components_) ** 2).sum() / 2
    for j in range(len(layers))[::-1]:
        rough = Labels(attribute=j).build(X, Y).quad_columns(H) / (H**2).sum(0)
        value += 0.05 / 2 * (X**2).sum() * rough.mean()
        H = H @ model.layers_[j].weights
    # The fit minimises with a little ridge on the first weights, which the history counts.
    assert model.objective_history_[-1] == pytest.approx(value, rel=0.01)


@linear_modes
def test_labels_of_no_weight_are_no_labels(mode):
    silent = fitted(mode, y=None)
    for y, alphas in ((Y, 0), (Y, [0.0, 0.0]), (np.full((N, 2), -1), 1.0), (np.full((N, 2), None), 1.0)):
        assert_array_equal(fitted(mode, y=y, alphas=alphas).components_, silent.components_)


# ---- labels that say little ---------------------------------------------------------------------------------------

FEW = {
    "none": np.full(N, -1),
    "one": np.r_[0, np.full(N - 1, -1)],
    "one a class": np.r_[np.arange(4), np.full(N - 4, -1)],
    "each its own": np.arange(N),
    "one class": np.zeros(N, int),
    "one class, some unknown": np.where(np.arange(N) < 9, 0, -1),
}


@every_mode
@pytest.mark.parametrize("labels", FEW.values(), ids=FEW)
def test_an_attribute_of_few_labels_next_to_one_that_has_them(mode, labels):
    for y in (np.c_[labels, WHO], np.c_[WHO, labels]):
        model = fitted(mode, y=y, alphas=0.1)
        assert is_finite(model)
        assert model.attribute_layers_ == {0: 0, 1: 1}


@linear_modes
@pytest.mark.parametrize("labels", ["none", "one", "one a class", "each its own"])
def test_labels_that_link_nobody_change_nothing(mode, labels):
    silent = fitted(mode, y=np.c_[np.full(N, -1), WHO])
    assert_array_equal(fitted(mode, y=np.c_[FEW[labels], WHO]).components_, silent.components_)


@pytest.mark.parametrize("labels", FEW.values(), ids=FEW)
def test_layers_are_found_by_few_labels(labels):
    model = fitted({}, y=np.c_[labels, WHO], attribute_layers="auto")
    assert list(model.attribute_layers_) == [0, 1]
    assert is_finite(model)


def test_columns_may_be_named_by_numbers():
    pd = pytest.importorskip("pandas")
    model = fitted({}, y=pd.DataFrame(Y, columns=[1, 2]))
    assert_array_equal(model.components_, fitted({}).components_)
    assert model.attribute_layers_ == {1: 0, 2: 1}


# ---- solvers ------------------------------------------------------------------------------------------------------

BY_SWEEPS, BY_GRADIENTS = ("hals", "mu"), ("lbfgs", "adam")  # "apg" is both
KINDS_OF_FIT = {  # and the solvers they refuse
    "labels of several layers": ({}, Y, BY_SWEEPS),
    "labels whose layers are found": ({"attribute_layers": "auto"}, Y, BY_SWEEPS),
    "no labels": ({}, None, BY_GRADIENTS),
    "labels of no weight": ({"alphas": 0}, Y, BY_GRADIENTS),
    "labels that are all unknown": ({}, np.full(N, -1), BY_GRADIENTS),
    "one layer": ({"layers": (4,)}, Y, BY_GRADIENTS),
    "coupled": ({"mode": "coupled"}, Y, BY_GRADIENTS),
    "activation": ({"activation": "stanh"}, None, BY_SWEEPS),
}


@pytest.mark.parametrize(("parameters", "y", "refused"), KINDS_OF_FIT.values(), ids=KINDS_OF_FIT)
def test_a_solver_that_has_no_say_is_refused(parameters, y, refused):
    for solver in (*BY_SWEEPS, "apg", *BY_GRADIENTS):
        if solver not in refused:
            assert is_finite(fitted(parameters, y=y, solver=solver, max_iter=3))
            continue
        others = '"lbfgs", "apg" or "adam"' if refused is BY_SWEEPS else '"hals", "mu" or "apg"'
        with pytest.raises(ValueError, match=f'^solver="{solver}" is not for .*: use {others}'):
            fitted(parameters, y=y, solver=solver, max_iter=3)


# ---- sizes --------------------------------------------------------------------------------------------------------


@every_mode
@pytest.mark.parametrize("layers", [(3,), (3, 6), (70, 4), (6, 2, 4), (8, 6, 5, 4, 3)], ids=str)
def test_layers_of_any_size(mode, layers):
    model = fitted(mode, layers, alphas=0.1)
    assert [layer.components.shape for layer in model.layers_] == [(k, P) for k in layers]
    assert is_finite(model)


@every_mode
def test_more_attributes_than_layers_share_the_last(mode):
    y = np.c_[Y, rng.permutation(N) % 2]
    model = fitted(mode, y=y)
    assert model.attribute_layers_ == {0: 0, 1: 1, 2: 1}
    assert is_finite(model)


# ---- transfer and unseen samples ----------------------------------------------------------------------------------


@linear_modes
def test_transfer_from_labelled_data(mode):
    source = fitted(mode, alphas=[0, 0.01])
    start = DeepSemiNMF((6, 3), graph=None, max_iter=0).fit(X, init=source)
    assert_allclose(start.layers_[-1].representation, source.transform(X), atol=1e-8)
    tuned = DeepSemiNMF((6, 3), graph=None).fit(X, init=source)
    assert tuned.reconstruction_err_ <= start.reconstruction_err_ * (1 + 1e-9)
    assert start.reconstruction_err_ <= source.reconstruction_err_ * (1 + 1e-9)


@pytest.mark.parametrize("mode", ["network", "coupled", "stanh"])
def test_a_start_from_itself_goes_on(mode):
    first = fitted(MODES[mode], alphas=0.1, max_iter=20)  # far from converged
    again = DeepWSF((6, 3), **MODES[mode], alphas=0.1, max_iter=100, random_state=0).fit(X, Y, init=first)
    assert again.objective_history_[-1] < 0.99 * first.objective_history_[-1]


@pytest.mark.parametrize("mode", ["network", "stanh"])
def test_a_start_from_itself_keeps_the_codes_of_the_labels(mode):
    first = fitted(MODES[mode], alphas=0.1, max_iter=20)
    again = DeepWSF((6, 3), **MODES[mode], alphas=0.1, max_iter=1, random_state=0).fit(X, Y, init=first)
    assert again.objective_history_[0] <= first.objective_history_[-1] * 1.001


def test_without_a_sweep_the_codes_are_those_of_the_samples_given():
    """And not the other model's own, however well they agree with the labels."""
    source = fitted({}, alphas=10.0)
    other = X[::-1].copy()
    model = DeepWSF((6, 3), alphas=10.0, max_iter=0).fit(other, Y, init=source)
    assert_allclose(model.layers_[-1].representation, source.transform(other), rtol=1e-3, atol=1e-3)


@linear_modes
@pytest.mark.parametrize("layer", [0, 1])
def test_both_ways_to_code_agree_where_nothing_is_negative(mode, layer):
    model = fitted(mode, (5, 3))
    H = np.random.default_rng(1).uniform(0.1, 1, size=(20, len(model.layers_[layer].components)))
    made = model.inverse_transform(H, layer=layer)
    exact = np.linalg.matrix_rank(model.layers_[layer].components, tol=1e-6) == H.shape[1]
    for method in ("nonnegative", "pinv"):
        codes = model.transform(made, layer=layer, method=method)
        assert_allclose(model.inverse_transform(codes, layer=layer), made, atol=1e-7)
        if exact:  # the published rule leaves a hidden layer the rank of the top
            assert_allclose(codes, H, atol=1e-5)


@every_mode
def test_samples_far_from_all_others_have_finite_codes(mode):
    model = fitted(mode)
    far = np.r_[1e6 * X[:3], -1e6 * X[:3], 1e-9 * X[:3], np.zeros((1, P)), 1e6 * np.eye(P)[:2]]
    for layer in (0, 1):
        for method in ("nonnegative", "pinv"):
            assert np.isfinite(model.transform(far, layer=layer, method=method)).all()
    assert (model.transform(far) >= 0).all()


@linear_modes
def test_codes_of_a_linear_stack_have_the_units_of_the_samples(mode):
    model = fitted(mode)
    for layer in (0, 1):
        assert_allclose(model.transform(1e6 * X, layer=layer), 1e6 * model.transform(X, layer=layer), rtol=1e-6, atol=1)


@linear_modes
def test_samples_are_coded_by_themselves(mode):
    model = fitted(mode)
    alone = np.concatenate([model.transform(x[None]) for x in X[:6]])
    assert_allclose(alone, model.transform(X)[:6], atol=1e-8)
    assert_allclose(model.transform(sp.csr_array(X)), model.transform(X), atol=1e-8)


@pytest.mark.parametrize("mode", ["network", "coupled"])
def test_the_order_of_samples_does_not_matter(mode):
    order = np.random.default_rng(2).permutation(N)
    one, other = (
        DeepWSF((6, 3), mode=mode, init="svd", max_iter=5, tol=0, random_state=0).fit(X[rows], Y[rows])
        for rows in (np.arange(N), order)
    )
    assert other.reconstruction_err_ == pytest.approx(one.reconstruction_err_, rel=1e-3)
