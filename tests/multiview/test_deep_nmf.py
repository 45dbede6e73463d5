"""DMF-MVC: its objective, its weights, its layers, and what it refuses."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from laminar import MultiViewDeepNMF, MultiViewSemiNMF
from laminar.datasets import make_views
from laminar.graphs import KNN, Chain
from laminar.metrics import clustering_accuracy, normalized_mutual_information

DATA = make_views(90, n_classes=3, noise=0.7, random_state=0)
VIEWS, Y = DATA.views, DATA.y
rng = np.random.default_rng(0)
NOISE = rng.normal(size=(90, 2))  # six codes fit it without error
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fit(views=VIEWS, **parameters):
    return MultiViewDeepNMF(**{"layers": (12, 6), "n_clusters": 3, "random_state": 0} | parameters).fit(views)


def codes(model):
    return model.layers_[-1].representation


def unit(view):
    return view / np.linalg.norm(view, axis=1, keepdims=True)


def laplacian(graph, X):
    W = graph.build(X).tocsr().toarray()
    return np.diag(W.sum(axis=1)) - W


def residuals(model, views, graphs, alpha, *, invariant=True):
    """||F_v - H Psi_v||^2 + alpha sum_a s_va h_a^T L_v h_a of every view, with dense matrices."""
    H, found = codes(model), []
    for (view, X), graph in zip(zip(model.views_.values(), views, strict=True), graphs, strict=True):
        Psi, L = view.layers[-1].components, laplacian(graph, unit(X))
        scales = (Psi**2).sum(axis=1) if invariant else np.ones(len(Psi))
        found.append(((unit(X) - H @ Psi) ** 2).sum() + alpha * scales @ np.einsum("ia,ij,ja->a", H, L, H))
    return np.array(found)


# --------------------------------------------------------------------------------------------------- the objective


@pytest.mark.parametrize("gamma", [2.0, 4.0])
def test_objective_is_equation_3_with_a_floor(gamma):
    model = fit(alpha=0.3, gamma=gamma, tol=1e-6, max_iter=500)
    R = residuals(model, VIEWS, [KNN(5)] * 3, 0.3) + 0.2 * 90
    assert model.objective_history_[-1] == pytest.approx(model.weights_**gamma @ R / 2, rel=1e-6)
    expected = R ** (1 / (1 - gamma))  # eq. 15
    assert_allclose(model.weights_, expected / expected.sum(), rtol=1e-5)


def test_objective_of_views_with_more_features_than_samples():
    wide = [rng.normal(size=(20, 50)), rng.normal(size=(20, 30))]
    for kind, centre in ((MultiViewDeepNMF, False), (MultiViewSemiNMF, True)):
        model = kind(5, weights="equal", random_state=0, **({} if centre else {"alpha": 0.0})).fit(wide)
        value = 0.0
        for view, X in zip(model.views_.values(), wide, strict=True):
            F = (unit(X) - view.mean) * view.size
            value += ((F - codes(model) @ view.layers[-1].components * view.size) ** 2).sum() / 4
        assert model.objective_history_[-1] == pytest.approx(value, rel=1e-4)


def test_objective_of_fixed_weights():
    model = fit(weights=[2, 1, 1], alpha=0.3)
    R = residuals(model, VIEWS, [KNN(5)] * 3, 0.3)
    assert_allclose(model.weights_, [0.5, 0.25, 0.25])
    assert model.objective_history_[-1] == pytest.approx([0.5, 0.25, 0.25] @ R / 2, rel=1e-6)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"alpha": 1.0, "gamma": 1.5},
        {"scale": "none", "alpha": 0.1},
        {"graph": None},
        {"weights": "equal", "normalize": False},
        {"rule": "published", "gamma": 3.0},
    ],
    ids=str,
)
def test_objective_never_increases(parameters):
    history = fit(max_iter=60, tol=0, pretraining_max_iter=5, **parameters).objective_history_
    assert (np.diff(history) <= 1e-9 * history[0]).all()
    assert history[-1] < history[0]


def test_codes_are_at_a_minimum():
    """No codes near those of the fit, with components of their own, have a lower objective."""
    model = fit(alpha=0.3, weights="equal", tol=1e-8, max_iter=500)
    H, L = codes(model), [laplacian(KNN(5), unit(X)) for X in VIEWS]

    def objective(H):
        value = 0.0
        for X, Lv in zip(VIEWS, L, strict=True):
            q = 0.3 * np.einsum("ia,ij,ja->a", H, Lv, H)
            Psi = np.linalg.solve(H.T @ H + np.diag(q), H.T @ unit(X))
            value += (((unit(X) - H @ Psi) ** 2).sum() + q @ (Psi**2).sum(axis=1)) / 6
        return value

    assert objective(H) == pytest.approx(model.objective_history_[-1], rel=1e-6)
    for _ in range(20):
        near = np.maximum(H + 1e-4 * H.max() * rng.normal(size=H.shape), 0)
        assert objective(near) >= objective(H) * (1 - 1e-7)


def test_alpha_makes_codes_smooth():
    def roughness(model):
        H = codes(model)
        return KNN(5).build(unit(VIEWS[0])).quad(H) / (H**2).sum()

    assert roughness(fit(alpha=10.0)) < 0.5 * roughness(fit(graph=None))


# ----------------------------------------------------------------------------------------------------- the weights


@pytest.mark.parametrize("views", [[VIEWS[0], NOISE], [*VIEWS, NOISE]], ids=len)
@pytest.mark.parametrize("gamma", [2.0, 3.0])
def test_an_easy_view_of_noise_does_not_take_over(views, gamma):
    model = fit(views, gamma=gamma)
    F = unit(NOISE)
    assert ((F - codes(model) @ model.views_[len(views) - 1].layers[-1].components) ** 2).sum() < 0.05 * len(F)
    assert model.weights_.max() < 0.9
    assert model.weights_.max() <= 6 * model.weights_.min()


def test_warns_where_a_view_takes_over():
    with pytest.warns(UserWarning, match=r"view 1 has .* of the weight: a larger gamma.*MultiViewSemiNMF"):
        fit([VIEWS[0], NOISE], gamma=1.05)


def test_weights_do_not_depend_on_units_or_order():
    plain = fit(normalize=False)
    scaled = fit([1000 * VIEWS[0], VIEWS[1], VIEWS[2] / 50], normalize=False)
    assert_allclose(scaled.weights_, plain.weights_, rtol=1e-3)
    order = [2, 0, 1]
    assert_allclose(fit([VIEWS[v] for v in order]).weights_, fit().weights_[order], rtol=0.05)


def test_identical_views_have_equal_weights():
    assert_allclose(fit([VIEWS[0]] * 3).weights_, 1 / 3)


def test_a_view_of_zeros_has_no_weight():
    with pytest.warns(UserWarning, match=r"All samples are zero in views \[3\]"):
        model = fit([*VIEWS, np.zeros((90, 4))])
    assert model.weights_[3] == 0
    assert np.isfinite(codes(model)).all()


# ------------------------------------------------------------------------------------------------------ the graphs


def test_graphs_differ_by_view():
    specs = [KNN(3), Chain(), KNN(5)]
    model = fit(graph=specs, alpha=0.3, weights="equal")
    R = residuals(model, VIEWS, specs, 0.3)
    assert model.objective_history_[-1] == pytest.approx(R.mean() / 2, rel=1e-6)
    named = fit(
        dict(zip("abc", VIEWS, strict=True)), graph=dict(zip("cab", [specs[2], *specs[:2]], strict=True)), alpha=0.3
    )
    assert_array_equal(codes(named), codes(fit(graph=specs, alpha=0.3)))


def test_a_matrix_is_the_graph_of_every_view():
    W = Chain().build(VIEWS[0]).tocsr()
    for given in (W, W.toarray()):
        assert_allclose(codes(fit(graph=given)), codes(fit(graph="chain")))


def test_neighbours_of_views_and_of_codes():
    model = fit(n_neighbors=7)
    assert_array_equal(codes(model), codes(fit(graph=KNN(7))))
    assert model.clusters_.graph == KNN(7)
    assert fit().clusters_.graph == KNN(5)


# ------------------------------------------------------------------------------------------------------ the layers


@pytest.mark.parametrize("rule", ["fast", "published"])
@pytest.mark.filterwarnings("ignore:gamma=0.5")
def test_layers_compose(rule):
    model = fit(layers=(20, 12, 6), rule=rule, max_iter=5)
    for view, X in zip(model.views_.values(), VIEWS, strict=True):
        one, two, three = view.layers
        assert_allclose(two.weights @ one.weights, two.components, atol=1e-8)
        assert_allclose(three.weights @ two.components, three.components, atol=1e-8)
        assert [layer.representation.shape[1] for layer in view.layers] == [20, 12, 6]
        assert min(layer.representation.min() for layer in view.layers) >= 0
        assert one.components.shape == (20, X.shape[1])


def test_hidden_layers_do_not_change_the_optimum():
    deep, flat = (fit(layers=layers, graph=None, weights="equal", tol=1e-8, max_iter=2000) for layers in ((20, 6), 6))
    assert deep.objective_history_[-1] == pytest.approx(flat.objective_history_[-1], rel=0.02)


@pytest.mark.parametrize(
    ("shape", "n_clusters", "sizes"),
    [((30, 300), 3, (30, 15)), ((60, 4), None, (4, 2)), ((60, 4), 3, (4, 3)), ((12, 2), 5, (2, 2))],
)
def test_default_sizes_follow_the_data(shape, n_clusters, sizes):
    model = MultiViewDeepNMF(n_clusters=n_clusters, max_iter=2, random_state=0).fit(rng.normal(size=shape))
    assert tuple(layer.representation.shape[1] for layer in model.views_[0].layers) == sizes


def test_default_sizes_are_those_of_the_paper():
    views = [rng.normal(size=(120, 130)), rng.normal(size=(120, 5))]
    model = MultiViewDeepNMF(max_iter=1, pretraining_max_iter=0, random_state=0).fit(views)
    assert [layer.representation.shape[1] for layer in model.views_[1].layers] == [100, 50]


@pytest.mark.parametrize(("layer", "view"), [(0, 1), (-1, 2), (1, 0)])
def test_codes_of_one_view_are_nonnegative_least_squares(layer, view):
    model, new = fit(), [X[:7] + 0.1 for X in VIEWS]
    H, basis = model.transform(new, layer=layer, view=view), model.views_[view].layers[layer].components
    left = [nnls(basis.T, row)[1] for row in unit(new[view])]
    assert_allclose(np.linalg.norm(unit(new[view]) - H @ basis, axis=1), left, rtol=1e-6)
    assert H.min() >= 0
    alone = model.transform([new[v] if v == view else None for v in range(3)], layer=layer, view=view)
    assert_array_equal(alone, H)


def test_hidden_codes_of_training_samples():
    model = fit()
    for v, view in model.views_.items():
        assert_allclose(model.transform(VIEWS, layer=0, view=v), view.layers[0].representation, atol=1e-6)
        whitened = model.transform(VIEWS, layer=0, view=v, readout="whitened")
        assert_allclose(np.linalg.norm(whitened, axis=1), 1)


def test_fit_transform_gives_codes_of_the_fit():
    model = MultiViewDeepNMF((12, 6), alpha=1.0, random_state=0)
    H = model.fit_transform(VIEWS)
    assert_array_equal(H, codes(model))
    assert np.abs(model.transform(VIEWS) - H).max() > 1e-3  # without the penalty
    plain = MultiViewDeepNMF((12, 6), graph=None, random_state=0)
    assert_allclose(plain.fit_transform(VIEWS), plain.transform(VIEWS), atol=1e-6)


def test_pretraining():
    model = fit(dict(zip("abc", VIEWS, strict=True)), layers=(12, 8, 6), pretraining_max_iter=4)
    assert list(model.pretraining_histories_) == ["a", "b", "c"]
    for histories in model.pretraining_histories_.values():
        assert len(histories) == 2  # the third layer is shared
        assert all(1 <= len(history) <= 4 for history in histories)
        assert all((np.diff(history) <= 1e-9 * history[0]).all() for history in histories)
    signed = [rng.normal(size=(90, 30)), rng.normal(size=(90, 20))]  # of non-negative views the start is the optimum
    started, trained = (fit(signed, pretraining_max_iter=n) for n in (0, 50))
    assert not len(started.pretraining_histories_[0][0])
    assert len(trained.pretraining_histories_[0][0]) > 4


# ---------------------------------------------------------------------------------------------------- the contract


def test_clusters_are_found():
    model = fit()
    assert clustering_accuracy(Y, model.labels_) == 1
    assert_array_equal(clone(model).fit_predict(VIEWS), model.labels_)
    assert clustering_accuracy(Y, model.predict([None, VIEWS[1], VIEWS[2]])) > 0.9


@pytest.mark.parametrize("parameters", [{}, {"scale": "none"}, {"rule": "published", "max_iter": 3}], ids=str)
@pytest.mark.filterwarnings("ignore:gamma=0.5")
def test_float32_stays_float32(parameters):
    single = [view.astype(np.float32) for view in VIEWS]
    model = fit(single, **parameters)
    arrays = [model.components_, model.mean_, model.embedding_, codes(model), model.inverse_transform(codes(model))]
    arrays += [
        array
        for view in model.views_.values()
        for layer in view.layers
        for array in vars(layer).values()
        if isinstance(array, np.ndarray)
    ]
    arrays += [model.transform(single, readout=name) for name in ("raw", "whitened", "isometric")]
    arrays += [model.transform(single, layer=0, view=1, readout=name) for name in ("raw", "whitened", "isometric")]
    assert {array.dtype for array in arrays} == {np.dtype(np.float32)}


def test_sparse_views_and_pickles():
    model = fit()
    assert_allclose(codes(fit([sp.csr_array(view) for view in VIEWS])), codes(model), atol=1e-6)
    back = pickle.loads(pickle.dumps(model))
    assert_array_equal(back.predict(VIEWS), model.labels_)
    assert_array_equal(codes(fit()), codes(model))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"gamma": 1.0}, "gamma=1"),
        ({"gamma": 0.5}, 'must be above 1; got 0.5. rule="published" takes'),
        ({"gamma": 2.0, "weights": "equal"}, 'exponent of weights="auto"'),
        ({"alpha": 0.1, "graph": None}, "alpha=0.1 has no effect without a graph"),
        ({"alpha": -1.0}, "'alpha' parameter"),
        ({"weights": [1, 2]}, "weights must be 3"),
        ({"weights": "agreement"}, "'weights' parameter"),
        ({"weights": "equal", "rule": "published"}, "finds its weights by eq. 15"),
        ({"scale": "invariant", "rule": "published"}, 'use scale="none"'),
        ({"consensus": "printed"}, 'use it with rule="published"'),
        ({"layers": (5, 10)}, "smaller than the last"),
        ({"graph": [KNN(5), KNN(5)]}, "a list of 3, one a view; got 2"),
        ({"graph": {0: "knn", 1: "knn", 5: "knn"}}, r"keys \[0, 1, 5\], but the views are \[0, 1, 2\]"),
        ({"graph": ["knn", None, "knn"]}, "graph=None is for all views"),
    ],
    ids=str,
)
def test_parameters_without_meaning_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        fit(**parameters)


def test_missing_views_are_for_the_other_class():
    holes = [np.where(np.arange(90)[:, None] == 3, np.nan, VIEWS[0]), *VIEWS[1:]]
    with pytest.raises(ValueError, match=r"1 samples lack a view.*use MultiViewSemiNMF"):
        fit(holes)
    assert MultiViewSemiNMF(n_clusters=3).fit(holes).labels_.shape == (90,)


def test_layers_that_are_not_there_are_refused():
    model = fit()
    with pytest.raises(ValueError, match="layer=2 is out of range: the model has 2 layers"):
        model.transform(VIEWS, layer=2, view=0)
    with pytest.raises(ValueError, match="view=7 was not there in fit"):
        model.transform(VIEWS, layer=0, view=7)
    with pytest.raises(ValueError, match="90 samples lack view 0"):
        model.transform([None, *VIEWS[1:]], layer=0, view=0)
    with pytest.raises(NotFittedError):
        MultiViewDeepNMF().transform(VIEWS, layer=0, view=0)


@pytest.mark.parametrize(("name", "floor"), [("yale_mv", 0.68), ("orl_mv", 0.88)])
def test_real_views(real_data, name, floor):
    data = real_data(name)
    labels = MultiViewDeepNMF(n_clusters=len(np.unique(data.y)), random_state=0).fit_predict(data.views)
    assert normalized_mutual_information(data.y, labels) > floor


@pytest.mark.parametrize("rule", ["fast", "published"])
def test_pretraining_is_chosen_and_heard(rule):
    heard, parameters = [], {"rule": rule, "gamma": 2.0, "max_iter": 2, "tol": 0, "random_state": 0}
    signed = [view - view.mean() for view in VIEWS]
    MultiViewDeepNMF((8, 5), pretraining_max_iter=4, callback=heard.append, normalize=False, **parameters).fit(signed)
    stages = [(state.stage, state.layer) for state in heard]
    assert {("pretraining", 0), ("fit", None)} <= set(stages)
    layers = [state for state in heard if state.stage == "pretraining" and state.layer == 0]
    for state in layers:
        assert state.objective == pytest.approx(state.model().reconstruction_err_ ** 2 / 2, rel=1e-6)
    with_it, without = (
        MultiViewDeepNMF((8, 5), pretraining=how, normalize=False, **parameters).fit(signed)
        for how in ("semi-nmf", None)
    )
    assert [len(history) for history in without.pretraining_histories_[0]][:1] == [0]
    assert not np.allclose(with_it.layers_[-1].representation, without.layers_[-1].representation)
    with pytest.raises(ValueError, match="pretraining_max_iter=3 has no effect"):
        MultiViewDeepNMF((8, 5), pretraining=None, pretraining_max_iter=3).fit(VIEWS)
