"""Layers with labels, in every form: the objective, what it reduces to, labels that say little, names, transfer."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans

from laminar import WSF, DeepSemiNMF, DeepWSF
from laminar.datasets import partial_labels
from laminar.deep.composition import compose
from laminar.graphs import Labels, as_graph
from laminar.metrics import normalized_mutual_information
from laminar.testing import check_model
from reference import deep as plain

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:X .* feature names:UserWarning"),
]

N, P = 48, 12
rng = np.random.default_rng(0)
POSE, WHO = rng.permutation(N) % 3, rng.permutation(N) % 4
X = rng.normal(size=(3, P))[POSE] + 0.5 * rng.normal(size=(4, P))[WHO] + 0.3 * rng.normal(size=(N, P))
POSITIVE = rng.gamma(1.0, size=(N, 5)) @ rng.gamma(1.0, size=(5, P)) + 0.1 * rng.random((N, P))
Y = np.c_[np.where(rng.random(N) < 0.5, POSE, -1), np.where(rng.random(N) < 0.5, WHO, -1)]
LINKS = [plain.same_class(Y[:, 0]), plain.same_class(Y[:, 1])]

MODES = {
    "product": {},
    "coupled": {"objective": "coupled"},
    "published": {"rule": "published", "pretraining_max_iter": 15},
    "printed": {"scale": "none"},
    "stanh": {"activation": "stanh"},
    "printed stanh": {"activation": "stanh", "scale": "none"},
    "non-negative stanh": {"activation": "stanh", "hidden": "nonnegative"},
    "published stanh": {"activation": "stanh", "rule": "published"},
}
every_mode = pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
linear_modes = pytest.mark.parametrize("mode", list(MODES.values())[:4], ids=list(MODES)[:4])


def fitted(mode, layers=(6, 3), data=X, y=Y, **parameters):
    given = {"layers": layers, "max_iter": 15, "random_state": 0, "attribute_layers": "in order", **mode, **parameters}
    return DeepWSF(**given).fit(data, y)


def is_finite(model, data=X):
    arrays = [model.objective_history_, model.transform(data)]
    arrays += [part for layer in model.layers_ for part in (layer.weights, layer.components, layer.representation)]
    return all(np.isfinite(A).all() for A in arrays) and np.isfinite(model.reconstruction_err_)


def objective(model, data, links, alphas, layers):
    """Eq. 1 of the class by its definition."""
    codes, weights = ([getattr(layer, part) for layer in model.layers_] for part in ("representation", "weights"))
    return plain.layers_objective(data.astype(float), codes, weights, links, alphas, layers)


@pytest.mark.parametrize("mode", list(MODES.values())[:3], ids=list(MODES)[:3])
def test_contract_with_labels(mode):
    model = DeepWSF((6, 3), max_iter=15, alphas=0.1, attribute_layers="in order", random_state=0, **mode)
    check_model(model, X, Y)


@every_mode
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floating_type_and_signs(mode, dtype):
    model = fitted(mode, data=X.astype(dtype))
    for layer in model.layers_:
        assert layer.representation.dtype == layer.components.dtype == layer.weights.dtype == dtype
        if "activation" not in mode or "hidden" in mode:
            assert (layer.representation >= 0).all()
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


# ---- the objective (1) --------------------------------------------------------------------------------------------

DATA = {"mixed": X, "positive": POSITIVE, "float32": X.astype(np.float32)}


@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
@pytest.mark.parametrize("alpha", [0.01, 1.0, 100.0])
def test_objective_is_that_of_its_definition(data, alpha):
    """Partial labels on both layers, each of which reconstructs X; over all iterations it never increases."""
    model = fitted({}, data=data, alphas=alpha, max_iter=40, tol=0)
    value = objective(model, data, LINKS, [alpha] * 2, [0, 1])
    single = data.dtype == np.float32
    assert model.objective_history_[-1] == pytest.approx(value, rel=1e-3 if single else 1e-9)
    size = (data.astype(float) ** 2).sum()
    assert np.diff(model.objective_history_).max(initial=0) <= (1e-5 if single else 1e-12) * size


@pytest.mark.parametrize("where", [[0, 2], [1, 2], [0, 1], [0, 0], [2, 2]], ids=str)
def test_objective_of_three_layers(where):
    """Layers with labels are in the objective, and the top one; the codes of others are the best for their basis."""
    model = fitted({}, (8, 6, 4), alphas=[0.3, 0.1], attribute_layers=where, max_iter=30, tol=0)
    links, alphas = [np.zeros((N, N))] * 3, [0.0] * 3
    for layer, W, alpha in zip(where, LINKS, [0.3, 0.1], strict=True):
        links[layer], alphas[layer] = links[layer] + alpha * W, 1.0
    fitted_layers = sorted({*where, 2})
    value = objective(model, X, links, alphas, fitted_layers)
    history = model.objective_history_
    if 2 in where:
        assert history[-1] == pytest.approx(value, rel=1e-9)
    else:  # the codes of a top layer without labels are made exact at the end
        assert history[-1] * (1 - 0.05) <= value <= history[-1] * (1 + 1e-9)
    assert np.diff(history).max() <= 1e-10 * history[0]
    for i in set(range(3)) - {*where}:
        layer = model.layers_[i]
        assert_allclose(layer.representation, model.transform(X, layer=i), atol=1e-6 * layer.representation.max())


def test_printed_penalty_has_no_lengths():
    """``scale="none"``: the penalty is that of the codes as they are, at the start those of pre-training."""
    start = fitted({"scale": "none"}, alphas=0.2, pretraining=None, init="svd", max_iter=0)
    model = DeepWSF(4, alphas=0.2, scale="none", init="lp", max_iter=30, tol=0, random_state=0).fit(X, Y[:, 1])
    flat = WSF(4, alpha=0.2, scale="none", init="lp", max_iter=30, tol=0, random_state=0).fit(X, Y[:, 1])
    assert_allclose(model.objective_history_, flat.objective_history_, rtol=1e-9)
    invariant = fitted({}, alphas=0.2, pretraining=None, init="svd", max_iter=0)
    assert start.objective_history_[0] != pytest.approx(invariant.objective_history_[0], rel=1e-3)


def test_units_of_the_data_do_not_matter():
    one, other = (fitted({}, data=c * X, alphas=0.3, tol=0) for c in (1, 1e3))
    assert_allclose(other.objective_history_, 1e6 * one.objective_history_, rtol=1e-6)
    assert_allclose(other.components_, one.components_, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_layers_differ(seed):
    """Every layer has the rank of its size, and codes of its own: none is a function of the top codes."""
    draw = np.random.default_rng(seed)
    y = np.c_[draw.integers(0, 3, 80), draw.integers(0, 5, 80)]
    data = draw.normal(size=(3, 20))[y[:, 0]] + draw.normal(size=(5, 20))[y[:, 1]] + draw.normal(size=(80, 20))
    model = DeepWSF((12, 8, 4), alphas=0.01, attribute_layers=[0, 2], random_state=0).fit(data, y)
    for layer, k in zip(model.layers_, (12, 8, 4), strict=True):
        for F in (layer.representation, layer.components, layer.weights):
            assert np.linalg.matrix_rank(F, tol=1e-3 * np.linalg.norm(F, 2)) == k
    first, top = (np.linalg.qr(model.layers_[i].representation)[0] for i in (0, 2))
    outside = first - top @ (top.T @ first)
    assert np.linalg.matrix_rank(outside, tol=1e-3) >= 8
    errors = [np.linalg.norm(data - layer.representation @ layer.components) for layer in model.layers_]
    assert errors[0] < 0.9 * errors[1] < 0.9**2 * errors[2]


def test_hidden_labels_shape_hidden_codes():
    def spread(model, layer, y):
        H = model.layers_[layer].representation * np.linalg.norm(model.layers_[layer].components, axis=1)
        return sum(((H[y == c] - H[y == c].mean(0)) ** 2).sum() for c in range(3)) / ((H - H.mean(0)) ** 2).sum()

    weak, strong = (fitted({}, y=POSE, attribute_layers=[0], alphas=a, max_iter=100) for a in (1e-3, 1.0))
    assert spread(strong, 0, POSE) < 0.3 * spread(weak, 0, POSE)
    assert np.linalg.matrix_rank(strong.layers_[0].components, tol=1e-6) == 6


# ---- what it reduces to -------------------------------------------------------------------------------------------


def test_one_layer_is_wsf():
    parameters = {"init": "lp", "max_iter": 40, "tol": 0, "random_state": 0}
    deep = DeepWSF(4, alphas=[0.3, 0.1], **parameters).fit(X, Y)
    flat = WSF(4, alpha=[0.3, 0.1], **parameters).fit(X, Y)
    assert_allclose(deep.objective_history_, flat.objective_history_, rtol=1e-10)
    assert_allclose(deep.layers_[0].representation, flat.layers_[0].representation, atol=1e-8)


@pytest.mark.parametrize("layers", [(8, 4), (9, 7, 4)], ids=str)
def test_labels_on_top_are_wsf_from_the_same_start(layers):
    parameters = {"max_iter": 30, "tol": 0, "random_state": 0}
    start = DeepWSF(layers, alphas=0.3, **{**parameters, "max_iter": 0}).fit(X, WHO)
    deep = DeepWSF(layers, alphas=0.3, **parameters).fit(X, WHO)
    top = start.layers_[-1]
    flat = WSF(4, alpha=0.3, init=(top.representation, top.components), **parameters).fit(X, WHO)
    assert_allclose(deep.objective_history_, flat.objective_history_, rtol=1e-8)
    assert_allclose(deep.components_, flat.components_, atol=1e-6)


@pytest.mark.parametrize("objective", ["reconstruction", "coupled"])
@pytest.mark.filterwarnings("ignore:y. .*label:UserWarning")  # labels without effect
def test_without_labels_it_is_deep_semi_nmf(objective):
    parameters = {"objective": objective, "max_iter": 30, "random_state": 0}
    alone = DeepSemiNMF((8, 4), **parameters).fit(X)
    for alphas, y in ((1.0, None), (1.0, np.full(N, -1)), (0, WHO), (1.0, np.arange(N))):
        model = DeepWSF((8, 4), alphas=alphas, **parameters).fit(X, y)
        assert_array_equal(model.components_, alone.components_)
        assert_array_equal(model.layers_[0].representation, alone.layers_[0].representation)
        assert_array_equal(model.objective_history_, alone.objective_history_)


@pytest.mark.parametrize("objective", ["reconstruction", "coupled"])
@pytest.mark.parametrize("pretraining", ["wsf", "semi-nmf"])
def test_graph_on_top_is_that_of_deep_semi_nmf(objective, pretraining):
    parameters = {"alpha": 0.4, "pretraining": pretraining, "objective": objective, "max_iter": 30, "random_state": 0}
    semi = DeepSemiNMF((8, 4), graph="knn", **parameters).fit(X)
    deep = DeepWSF((8, 4), graphs=[None, "knn"], **parameters).fit(X)
    assert_allclose(deep.objective_history_, semi.objective_history_, rtol=1e-9)
    assert_allclose(deep.components_, semi.components_, atol=1e-7)


def test_graphs_add_to_labels():
    model = DeepWSF((8, 4), alphas=0.3, attribute_layers=[0], graphs=[LINKS[1], "knn"], alpha=0.1, max_iter=20, tol=0)
    model.set_params(random_state=0).fit(X, WHO)
    knn = as_graph("knn").build(X, None, None).tocsr().toarray()
    value = objective(model, X, [0.3 * plain.same_class(WHO) + 0.1 * LINKS[1], 0.1 * knn], [1, 1], [0, 1])
    assert model.objective_history_[-1] == pytest.approx(value, rel=1e-9)


def test_objective_of_a_coupled_fit():
    """Eq. 2, with s_i = (Z_i * Z_i) s_{i-1}."""
    model = fitted(MODES["coupled"], alphas=0.2, coupling=0.7, max_iter=30, tol=0)
    value, s, below = 0.0, np.ones(P), X
    for i, layer in enumerate(model.layers_):
        H, Z = layer.representation, layer.weights
        value += (0.7 if i else 1) / 2 * (((below - H @ Z) ** 2) @ s).sum()
        s, below = (Z**2) @ s, H
        value += 0.1 * sum(c * (LINKS[i] * (h[:, None] - h) ** 2).sum() / 2 for c, h in zip(s, H.T, strict=True))
    assert model.objective_history_[-1] == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(("rule", "scale"), [("fast", "auto"), ("fast", "none"), ("published", "auto")])
def test_objective_of_a_network(rule, scale):
    """Eq. 3: hidden codes follow from the top ones; printed, the penalty is that of eq. 21."""
    model = fitted({"activation": "stanh", "rule": rule, "scale": scale}, alphas=0.05, max_iter=20, tol=0)
    first, (H, Z) = model.layers_[0].weights, (model.layers_[1].representation, model.layers_[1].weights)
    hidden = 1.7159 * np.tanh(2 / 3 * H @ Z)
    value = ((X - hidden @ first) ** 2).sum() / 2
    for F, W in zip((hidden, H), LINKS, strict=True):
        rough = np.array([(W * (f[:, None] - f) ** 2).sum() / 2 for f in F.T])
        invariant = (X**2).sum() * (rough / (F**2).sum(0)).mean()
        value += 0.05 / 2 * (invariant if (rule, scale) == ("fast", "auto") else rough.sum())
    if rule == "fast":
        value += 2.0**-22 / 2 * (hidden**2).sum() * (first**2).sum()
    assert model.objective_history_[-1] == pytest.approx(value, rel=1e-8)


@linear_modes
@pytest.mark.filterwarnings("ignore:y. .*label:UserWarning")  # labels without effect
def test_labels_of_no_weight_are_no_labels(mode):
    silent = fitted(mode, y=None)
    for y, alphas in ((Y, 0), (Y, [0.0, 0.0]), (np.full((N, 2), -1), 1.0), (np.full((N, 2), None), 1.0)):
        assert_array_equal(fitted(mode, y=y, alphas=alphas).components_, silent.components_)


@pytest.mark.parametrize("mode", ["product", "coupled", "stanh"])
def test_labels_draw_the_codes_of_a_class_together(mode):
    y = np.arange(N) % 4

    def spread(model):
        H = model.layers_[-1].representation
        H = H / np.linalg.norm(H, axis=0).clip(1e-12)
        return sum(H[y == c].var(0).sum() for c in range(4)) / H.var(0).sum()

    weak, strong = (
        DeepWSF((8, 4), **MODES[mode], alphas=a, max_iter=150, random_state=0).fit(POSITIVE, y) for a in (1e-6, 10.0)
    )
    assert spread(strong) < 0.7 * spread(weak)


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
@pytest.mark.filterwarnings("ignore:y. .*label:UserWarning")  # labels without effect
def test_an_attribute_of_few_labels_next_to_one_that_has_them(mode, labels):
    for y in (np.c_[labels, WHO], np.c_[WHO, labels]):
        model = fitted(mode, y=y, alphas=0.1, max_iter=5)
        assert is_finite(model)
        assert model.attribute_layers_ == {0: 0, 1: 1}


@linear_modes
@pytest.mark.parametrize("labels", ["none", "one", "one a class", "each its own"])
@pytest.mark.filterwarnings("ignore:y. .*label:UserWarning")  # labels without effect
def test_labels_that_link_nobody_change_nothing(mode, labels):
    silent = fitted(mode, y=np.c_[np.full(N, -1), WHO])
    assert_array_equal(fitted(mode, y=np.c_[FEW[labels], WHO]).components_, silent.components_)


# ---- which layer has which attribute ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def named():
    pd = pytest.importorskip("pandas")
    return pd.DataFrame({"pose": POSE, "who": WHO})


def test_one_attribute_is_on_top():
    assert DeepWSF((6, 3), max_iter=2).fit(X, WHO).attribute_layers_ == {0: 1}


def test_several_attributes_need_layers(named):
    with pytest.raises(
        ValueError, match=r"2 attributes, \['pose', 'who'\], .* 2 layers: say which .*attribute_layers="
    ):
        DeepWSF((6, 3)).fit(X, named)
    assert DeepWSF(3, max_iter=2).fit(X, Y).attribute_layers_ == {0: 0, 1: 0}  # of one layer there is no choice


def test_attributes_by_position():
    y = np.c_[POSE, partial_labels(WHO, 0.5, random_state=0)]
    for where, expected in (("in order", {0: 0, 1: 1}), ([1, 0], {0: 1, 1: 0}), ([-1, 0], {0: 1, 1: 0})):
        assert fitted({}, y=y, attribute_layers=where, max_iter=2).attribute_layers_ == expected


def test_attributes_by_name(named):
    model = fitted({}, y=named, attribute_layers={"who": 1, "pose": 0}, alphas={"who": 0.2, "pose": 0.1})
    plain_model = fitted({}, y=np.c_[POSE, WHO], attribute_layers=[0, 1], alphas=[0.1, 0.2])
    assert_array_equal(model.components_, plain_model.components_)
    assert model.attribute_layers_ == {"pose": 0, "who": 1}
    for name, layer in model.attribute_layers_.items():
        assert_array_equal(model.transform(X, layer=name), model.transform(X, layer=layer))
        assert_array_equal(model.cluster(layer=name), model.cluster(layer=layer))
        H = model.layers_[layer].representation
        assert_array_equal(model.inverse_transform(H, layer=name), H @ model.layers_[layer].components)
    with pytest.raises(ValueError, match=r"layer='light' is no attribute of the fit: give one of \['pose', 'who'\]"):
        model.transform(X, layer="light")


@pytest.mark.parametrize("parameter", ["alphas", "attribute_layers"])
def test_names_must_be_those_of_columns(named, parameter):
    for bad in ({"pose": 0}, {"pose": 0, "light": 1}, {0: 0, 1: 1}):
        with pytest.raises(ValueError, match=rf"{parameter} must have one entry for each attribute .*'pose', 'who'"):
            fitted({}, y=named, **{parameter: bad})


def test_columns_may_be_named_by_numbers():
    pd = pytest.importorskip("pandas")
    model = fitted({}, y=pd.DataFrame(Y, columns=[1, 2]))
    assert_array_equal(model.components_, fitted({}).components_)
    assert model.attribute_layers_ == {1: 0, 2: 1}


@pytest.mark.parametrize("mode", ["product", "published", "stanh"])
def test_mutual_information_does_not_depend_on_order(named, mode):
    parameters = {"attribute_layers": "mutual information", "max_iter": 10, **MODES[mode]}
    one, other = (fitted({}, y=named[columns], **parameters) for columns in (["pose", "who"], ["who", "pose"]))
    assert one.attribute_layers_ == other.attribute_layers_
    assert sorted(one.attribute_layers_.values()) == [0, 1]
    for name, scores in one.attribute_scores_.items():
        assert_array_equal(scores, other.attribute_scores_[name])
    assert_allclose(one.components_, other.components_, atol=1e-8)


def test_mutual_information_is_that_of_clusters_without_labels(named):
    """Footnote 3 of the paper: k-means of each layer of a fit without labels, as many clusters as classes."""
    model = fitted({}, y=named, attribute_layers="mutual information")
    alone = fitted({}, y=None, attribute_layers=None)
    for name, y in named.items():
        for i, score in enumerate(model.attribute_scores_[name]):
            found = alone.cluster(n_clusters=y.nunique(), layer=i)
            assert score == pytest.approx(normalized_mutual_information(y, found), abs=1e-9)
    gains = [sum(model.attribute_scores_[a][i] for a, i in (("pose", p), ("who", 1 - p))) for p in (0, 1)]
    assert model.attribute_layers_ == {"pose": int(gains[1] > gains[0]), "who": int(gains[0] > gains[1])}
    assert fitted({}).attribute_scores_ == {}


@pytest.mark.parametrize("labels", FEW.values(), ids=FEW)
@pytest.mark.filterwarnings("ignore:y. .*label:UserWarning")  # labels without effect
def test_layers_are_found_by_few_labels(labels):
    model = fitted({}, y=np.c_[labels, WHO], attribute_layers="mutual information")
    assert list(model.attribute_layers_) == [0, 1]
    assert is_finite(model)


@every_mode
def test_more_attributes_than_layers_share_the_last(mode):
    y = np.c_[Y, np.arange(N) % 2]
    model = fitted(mode, y=y)
    assert model.attribute_layers_ == {0: 0, 1: 1, 2: 1}
    assert is_finite(model)


# ---- what is refused ------------------------------------------------------------------------------------------------

REFUSED = [
    ({"attribute_layers": [0]}, "attribute_layers must name one of the 2 layers for each of the 2 attributes"),
    ({"attribute_layers": [0, 2]}, "attribute_layers must name one of the 2 layers"),
    ({"attribute_layers": "auto"}, "'attribute_layers' parameter of DeepWSF"),
    ({"alphas": [1.0]}, "give one number, or one for each"),
    ({"alphas": [1.0, -1.0]}, "not below 0"),
    ({"graphs": ["knn"]}, "graphs must hold one entry for each of the 2 layers; got 1"),
    ({"bandwidth": 1.0}, 'bandwidth=1.0 has no effect here: it is the width of weight="rbf"'),
    ({"alpha": 1.0}, "alpha=1.0 has no effect here: it weighs the graphs of the layers, and there are none"),
    ({"batch_size": 10}, 'batch_size needs an activation here, or solver="adam" or "sgd"'),
    ({"objective": "coupled", "activation": "relu"}, 'objective="coupled" has codes of every layer as variables'),
    ({"objective": "coupled", "scale": "none"}, 'objective="coupled" has no minimiser with scale="none"'),
    ({"objective": "coupled", "rule": "published"}, 'rule="published" fine-tunes the reconstruction'),
    ({"rule": "published", "scale": "invariant"}, 'rule="published" has the penalty as printed'),
    ({"rule": "published", "solver": "hals"}, 'rule="published" has its own updates'),
    ({"coupling": 0.5}, "coupling=0.5 has no effect here"),
    ({"hidden": "nonnegative"}, "hidden='nonnegative' has no effect here"),
    ({"eta": 0.5}, "eta=0.5 has no effect here"),
    ({"pretraining": None, "pretraining_max_iter": 5}, "pretraining_max_iter=5 has no effect here"),
    ({"solver": "lbfgs"}, 'solver="lbfgs" is not for a model without an activation: use one of auto, hals, mu, apg'),
    ({"activation": "relu", "solver": "hals"}, 'solver="hals" is not for a model with an activation'),
]


@pytest.mark.parametrize(("parameters", "message"), REFUSED, ids=[" ".join(p) for p, _ in REFUSED])
def test_what_has_no_meaning_or_no_effect(parameters, message):
    with pytest.raises(ValueError, match=message):
        fitted({}, **parameters)


SOLVERS = {  # of the parameters, the solvers that go with them
    "labels of several layers": ({}, Y, ("hals", "mu", "apg", "adam", "sgd")),
    "no labels": ({}, None, ("hals", "mu", "apg", "adam", "sgd")),
    "one layer": ({"layers": (4,)}, Y, ("hals", "mu", "apg", "adam", "sgd")),
    "coupled": ({"objective": "coupled"}, Y, ("hals", "mu", "apg")),
    "activation": ({"activation": "stanh"}, Y, ("lbfgs", "apg", "adam", "sgd")),
}


@pytest.mark.parametrize(("parameters", "y", "allowed"), SOLVERS.values(), ids=SOLVERS)
def test_solvers(parameters, y, allowed):
    for solver in ("hals", "mu", "apg", "lbfgs", "adam", "sgd"):
        if solver in allowed:
            assert is_finite(fitted(parameters, y=y, solver=solver, max_iter=3))
            continue
        with pytest.raises(ValueError, match=r"solver|coupled"):
            fitted(parameters, y=y, solver=solver, max_iter=3)


@pytest.mark.parametrize("solver", ["adam", "sgd"])
@pytest.mark.parametrize("scale", ["invariant", "none"])
@pytest.mark.parametrize("activation", [None, "stanh"])
def test_batches(solver, scale, activation):
    parameters = {"solver": solver, "scale": scale, "activation": activation, "alphas": 0.01, "tol": 0}
    model = fitted(parameters, batch_size=12, max_iter=40)
    start = fitted(parameters, batch_size=12, max_iter=1)
    assert is_finite(model)
    assert model.objective_history_[-1] < start.objective_history_[0]


# ---- sizes --------------------------------------------------------------------------------------------------------


@every_mode
@pytest.mark.parametrize("layers", [(3,), (3, 6), (70, 4), (6, 2, 4), (8, 6, 5, 4, 3)], ids=str)
def test_layers_of_any_size(mode, layers):
    model = fitted(mode, layers, alphas=0.1, max_iter=6)
    assert [layer.components.shape for layer in model.layers_] == [(k, P) for k in layers]
    assert is_finite(model)
    if "activation" not in mode:
        for layer, basis in zip(model.layers_, compose([one.weights for one in model.layers_]), strict=True):
            assert_allclose(layer.components, basis, atol=1e-10)


# ---- clusters and mappings ----------------------------------------------------------------------------------------


def test_raw_clusters_are_those_of_scikit_learn():
    """Trigeorgis et al. cluster the codes themselves."""
    model = fitted({}, readout="raw", n_clusters=4)
    for layer in (0, 1):
        H = model.layers_[layer].representation
        for n_init in (1, 20):
            expected = KMeans(4, n_init=n_init, random_state=0).fit(H).labels_
            assert_array_equal(model.cluster(layer=layer, n_init=n_init), expected)
    assert_array_equal(model.fit_predict(X, Y), model.cluster())
    standard = fitted({}, n_clusters=4)
    assert_array_equal(standard.cluster(readout="raw"), model.cluster())
    assert_array_equal(model.cluster(readout="auto"), standard.cluster())


def test_mappings_are_products_of_weights(named):
    """Section 3 of the paper: Z_3 maps identities to expressions, Z_3 Z_2 to poses."""
    model = fitted({}, (8, 6, 4), y=named, attribute_layers={"pose": 0, "who": 2})
    _, Z2, Z3 = (layer.weights for layer in model.layers_)
    assert_allclose(model.mapping("who", "pose"), Z3 @ Z2, atol=1e-12)
    assert_allclose(model.mapping(2, 1), Z3, atol=1e-12)
    assert_array_equal(model.mapping(1, 1), np.eye(6))
    H = model.layers_[2].representation
    assert_allclose(model.inverse_transform(H, to="pose"), H @ Z3 @ Z2, atol=1e-10)  # eq. 8
    assert_allclose(model.inverse_transform(H, layer="who", to=1), H @ Z3, atol=1e-10)
    assert_allclose(model.inverse_transform(H, to=2), H)
    assert_allclose(model.inverse_transform(H), H @ model.components_, atol=1e-10)
    with pytest.raises(ValueError, match="to=1 is above layer=0: a mapping goes"):
        model.mapping(0, 1)
    with pytest.raises(ValueError, match="to=2 is above layer=1: implied codes"):
        model.inverse_transform(model.layers_[1].representation, layer=1, to=2)
    with pytest.raises(ValueError, match="layer=3 is out of range"):
        model.mapping(3, 0)


def test_implied_codes_go_through_activations():
    model = fitted({"activation": "stanh"}, (8, 6, 4))
    H = model.layers_[2].representation
    for to in (0, 1, 2):
        assert_allclose(model.inverse_transform(H, to=to), model.layers_[to].representation, atol=1e-10)
    assert_allclose(model.mapping(2, 0), model.layers_[2].weights @ model.layers_[1].weights)


# ---- transfer and unseen samples ----------------------------------------------------------------------------------


@linear_modes
def test_transfer_from_labelled_data(mode):
    source = fitted(mode, alphas=[0, 0.01])
    start = DeepSemiNMF((6, 3), max_iter=0).fit(X, init=source)
    assert_allclose(start.layers_[-1].representation, source.transform(X), atol=1e-8)
    tuned = DeepSemiNMF((6, 3)).fit(X, init=source)
    assert tuned.reconstruction_err_ <= start.reconstruction_err_ * (1 + 1e-9)
    assert start.reconstruction_err_ <= source.reconstruction_err_ * (1 + 1e-9)


@pytest.mark.parametrize("mode", ["product", "coupled", "stanh"])
def test_a_start_from_itself_goes_on(mode):
    first = fitted(MODES[mode], alphas=0.1, max_iter=20)  # far from converged
    given = {"attribute_layers": [0, 1], "alphas": 0.1, "max_iter": 100, "tol": 1e-5}
    again = DeepWSF((6, 3), **MODES[mode], **given).fit(X, Y, init=first)
    assert again.objective_history_[-1] < 0.995 * first.objective_history_[-1]


def test_a_start_from_itself_keeps_the_codes_of_the_labels():
    """With an activation, where codes are found by iterations."""
    first = fitted(MODES["stanh"], alphas=0.1, max_iter=20)
    again = DeepWSF((6, 3), activation="stanh", attribute_layers=[0, 1], alphas=0.1, max_iter=1).fit(X, Y, init=first)
    assert again.objective_history_[0] <= first.objective_history_[-1] * 1.001


def test_without_a_sweep_the_codes_are_those_of_the_samples_given():
    """And not the other model's own, however well they agree with the labels."""
    source = fitted({}, alphas=10.0)
    other = X[::-1].copy()
    model = DeepWSF((6, 3), attribute_layers=[0, 1], alphas=10.0, max_iter=0).fit(other, Y, init=source)
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


@pytest.mark.parametrize("mode", ["product", "coupled"])
def test_the_order_of_samples_does_not_matter(mode):
    order = np.random.default_rng(2).permutation(N)
    one, other = (
        fitted(MODES[mode], init="svd", max_iter=5, tol=0, data=X[rows], y=Y[rows]) for rows in (np.arange(N), order)
    )
    assert other.reconstruction_err_ == pytest.approx(one.reconstruction_err_, rel=1e-3)


def test_label_graphs_may_have_the_printed_diagonal():
    """W_ii of eq. 16 adds to numerator and denominator of the multiplicative rule, and cancels in the Laplacian."""
    draw = np.random.default_rng(5)
    data, labels = draw.normal(size=(20, 6)), np.arange(20) % 3
    parameters = {"rule": "published", "max_iter": 2, "pretraining_max_iter": 2, "tol": 0, "random_state": 0}
    loops = Labels(self_loops=True)
    plain, printed = (DeepWSF((4, 3), weight=weight, **parameters).fit(data, labels) for weight in ("binary", loops))
    assert not np.allclose(plain.components_, printed.components_)
    H = printed.layers_[-1].representation
    graphs = [spec.build(data, labels) for spec in (Labels(), loops)]
    assert graphs[0].quad(H) == pytest.approx(graphs[1].quad(H))
