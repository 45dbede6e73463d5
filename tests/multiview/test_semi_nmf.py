import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from laminar import MultiViewSemiNMF
from laminar._base.clusters import above_noise
from laminar.datasets import make_views, partial_labels
from laminar.metrics import clustering_accuracy, normalized_mutual_information

DATA = make_views(120, n_classes=4, noise=1.0, n_noise_features=50, random_state=0)
VIEWS, Y = DATA.views, DATA.y
SIZES = [view.shape[1] for view in VIEWS]
rng = np.random.default_rng(0)
OBSERVED = rng.random((120, 4)) > 0.3
OBSERVED[~OBSERVED[:, :3].any(axis=1), 0] = True
HOLES = [np.where(OBSERVED[:, [v]], view, np.nan) for v, view in enumerate(VIEWS)]


def fit(views=VIEWS, y=None, observed=None, **parameters):
    return MultiViewSemiNMF(**({"n_clusters": 4, "random_state": 0} | parameters)).fit(views, y, observed=observed)


def codes(model):
    return model.layers_[-1].representation


def unit(view):
    return view / np.linalg.norm(view, axis=1, keepdims=True)


def stacked(views, weights):
    """The views times the roots of their weights, side by side."""
    centred = [unit(view) - unit(view).mean(axis=0) for view in views]
    scaled = [F * np.sqrt(len(F)) / np.linalg.norm(F) for F in centred]
    return np.hstack([np.sqrt(w) * F for w, F in zip(weights, scaled, strict=True)])


# ------------------------------------------------------------------------------------------- the figures of the model

# Weights, objective and clusters of the commit before the model had this name.
WEIGHTS = [0.32489623871845197, 0.3413682244986101, 0.3159124257725373, 0.017823111010400624]
RECORDED = {
    "complete": (WEIGHTS, 12.462918654047696),
    "holes": ([0.31231573088420256, 0.35427563406510904, 0.3034692902707323, 0.029939344779956304], 7.4150243408634235),
    "labels": (WEIGHTS, 29.580287356799396),
    "as they come": ([0.25] * 4, 1712.75123395029),
}
CLUSTERS = (
    "230213031113320330020022313132010102302022330300302331131201223111323200003123213101132301222211111320132323021010"
    "002102"
)


def test_figures_are_those_recorded():
    y = partial_labels(Y, 0.5, random_state=0)
    found = {
        "complete": fit(),
        "holes": fit(observed=OBSERVED),
        "labels": fit(y=y, n_components=6, alpha=0.5),
        "as they come": fit(normalize=False, weights="equal", n_components=6),
    }
    for case, (weights, objective) in RECORDED.items():
        np.testing.assert_allclose(found[case].weights_, weights, rtol=1e-6)
        assert found[case].objective_history_[-1] == pytest.approx(objective, rel=1e-6)
    assert "".join(map(str, found["complete"].labels_)) == CLUSTERS


@pytest.mark.parametrize("clustering", ["spectral", "kmeans"])
def test_raw_codes_are_clustered_as_they_are(clustering):
    whitened, raw = (fit(clustering=clustering, readout=readout) for readout in ("whitened", "raw"))
    np.testing.assert_array_equal(raw.clusters_.features(codes(raw)), codes(raw))
    np.testing.assert_allclose(np.linalg.norm(whitened.clusters_.features(codes(whitened)), axis=1), 1)
    np.testing.assert_array_equal(raw.predict(VIEWS), raw.labels_)


# ----------------------------------------------------------------------------------------------------- the weights


@pytest.mark.parametrize("weights", ["agreement", "equal", [3, 1, 0, 2]])
def test_weights_are_on_the_simplex(weights):
    model = fit(weights=weights, n_components=6)
    assert model.weights_.min() >= 0
    assert model.weights_.sum() == pytest.approx(1)
    assert [view.size > 0 for view in model.views_.values()] == [True] * 4


def test_noise_is_hardly_weighed_and_clusters_are_found():
    model = fit()
    assert model.weights_[3] < 0.02
    assert clustering_accuracy(Y, model.labels_) == 1


def test_order_of_views_does_not_matter():
    order = [2, 0, 3, 1]
    one, other = fit(n_components=6), fit([VIEWS[v] for v in order], n_components=6)
    np.testing.assert_allclose(other.weights_, one.weights_[order], rtol=1e-4)
    assert clustering_accuracy(one.labels_, other.labels_) == 1


# --------------------------------------------------------------------------------------------------------- the fit


def test_optimum_is_the_truncated_svd():
    model = fit(n_components=6)
    s = np.linalg.svd(stacked(VIEWS, model.weights_), compute_uv=False)
    assert model.objective_history_[-1] == pytest.approx((s[5:] ** 2).sum() / 2, rel=1e-6)
    assert model.score(VIEWS) == pytest.approx(1 - (s[5:] ** 2).sum() / (s**2).sum(), rel=1e-6)
    assert codes(model).min() >= 0
    assert codes(model).shape == (120, 6)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"weights": "equal"},
        {"normalize": False},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_objective_never_rises(parameters):
    for views in [VIEWS, HOLES]:
        history = fit(views, **({"n_components": 6} | parameters)).objective_history_
        assert (np.diff(history) <= 1e-9 * history[0]).all()


def test_identical_views_are_one():
    many, one = fit([VIEWS[0]] * 3, n_components=5), fit([VIEWS[0]], n_components=5)
    np.testing.assert_allclose(many.weights_, 1 / 3)
    np.testing.assert_allclose(many.embedding_ @ many.embedding_.T, one.embedding_ @ one.embedding_.T, atol=1e-6)
    assert clustering_accuracy(many.labels_, one.labels_) == 1


def test_inverse_transform_has_directions_of_the_samples():
    model = fit([VIEWS[0], VIEWS[1]], n_components=71)
    back = model.inverse_transform(model.transform(VIEWS[:2]))
    lengths = [model.views_[v].length for v in (0, 1)]
    np.testing.assert_allclose(back, np.hstack([lengths[v] * unit(VIEWS[v]) for v in (0, 1)]), atol=1e-8)


def test_labels_draw_classes_together():
    y = partial_labels(Y, 0.5, random_state=0)

    def scatter(model):
        E, known = codes(model), y >= 0
        within = sum(((E[y == c] - E[y == c].mean(axis=0)) ** 2).sum() for c in range(4))
        return within / ((E[known] - E[known].mean(axis=0)) ** 2).sum()

    assert scatter(fit(y=y, alpha=10.0)) < 0.8 * scatter(fit())
    np.testing.assert_array_equal(codes(fit(y=y, alpha=0.0)), codes(fit()))


def test_directions_of_noise_are_left_out():
    noise = np.random.default_rng(1).normal(size=(100, 80))
    squares = np.linalg.svd(noise + 4 * np.eye(100, 80)[:, :3] @ np.eye(3, 80) * 10, compute_uv=False) ** 2
    assert above_noise(squares[:30], squares.sum(), noise.shape, expected=3) == 3
    assert above_noise(squares[:30], squares.sum(), noise.shape, expected=40) == 30
    assert fit().embedding_.shape[1] < 10


# ------------------------------------------------------------------------------------------------- what is missing


def test_missing_views():
    model = fit(HOLES)
    H = model.transform(HOLES)
    assert np.isfinite(H).all()
    assert H.min() >= 0
    np.testing.assert_allclose(H, codes(model), atol=1e-6)
    assert clustering_accuracy(Y, model.labels_) > 0.95


def test_none_nan_and_mask_say_the_same():
    model = fit(HOLES)
    rows = [[row if has else None for row, has in zip(V, OBSERVED[:, v], strict=True)] for v, V in enumerate(VIEWS)]
    for other in (fit(VIEWS, observed=OBSERVED), fit(rows)):
        np.testing.assert_allclose(codes(other), codes(model), atol=1e-8)
    np.testing.assert_allclose(model.transform(VIEWS, observed=OBSERVED), model.transform(HOLES), atol=1e-10)


def test_new_samples_need_one_view():
    model = fit({name: view for name, view in zip("abcd", VIEWS, strict=True)})
    assert clustering_accuracy(Y, model.predict({"b": VIEWS[1]})) > 0.95
    H = model.transform([None, VIEWS[1], None, None])
    assert np.isfinite(H).all()
    assert H.min() >= 0
    np.testing.assert_array_equal(H, model.transform({"b": VIEWS[1]}))


# ------------------------------------------------------------------------------------------------------ the contract


def test_predict_agrees_with_the_fit():
    model = fit()
    np.testing.assert_array_equal(model.predict(VIEWS), model.labels_)
    np.testing.assert_array_equal(clone(model).fit_predict(VIEWS), model.labels_)
    for readout, width in {"raw": 31, "isometric": 31, "whitened": model.embedding_.shape[1]}.items():
        assert model.transform(VIEWS, readout=readout).shape == (120, width)


def test_one_array_in_a_pipeline():
    pipeline = make_pipeline(FunctionTransformer(), MultiViewSemiNMF(n_clusters=4, view_sizes=SIZES, random_state=0))
    H = pipeline.fit(np.hstack(VIEWS)).transform(np.hstack(VIEWS))
    np.testing.assert_allclose(H, fit().transform(VIEWS), atol=1e-10)
    assert clustering_accuracy(Y, pipeline.predict(np.hstack(VIEWS))) == 1


def test_deterministic_and_pickles():
    one, two = fit(HOLES), fit(HOLES)
    back = pickle.loads(pickle.dumps(one))
    for other in (two, back):
        np.testing.assert_array_equal(codes(other), codes(one))
        np.testing.assert_array_equal(other.predict(HOLES), one.labels_)


def test_sparse_and_float32():
    model = fit(VIEWS[:2])
    for form in (sp.csr_array, sp.csr_matrix):
        other = fit([form(view) for view in VIEWS[:2]])
        np.testing.assert_allclose(other.transform(VIEWS[:2]), model.transform(VIEWS[:2]), atol=1e-6)
    single = [view.astype(np.float32) for view in VIEWS]
    small = fit(single)
    assert clustering_accuracy(Y, small.labels_) == 1


@pytest.mark.parametrize(
    "parameters",
    [{}, {"normalize": False}, {"weights": "equal"}],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_float32_stays_float32(parameters):
    single = [view.astype(np.float32) for view in VIEWS]
    model = fit(single, **parameters)
    arrays = [model.components_, model.mean_, model.embedding_, codes(model)]
    for view in model.views_.values():
        arrays += [view.mean]
        arrays += [array for layer in view.layers for array in vars(layer).values() if isinstance(array, np.ndarray)]
    arrays += [model.transform(single, readout=name) for name in ("raw", "whitened", "isometric")]
    arrays += [model.inverse_transform(codes(model))]
    assert {array.dtype for array in arrays} == {np.dtype(np.float32)}


def test_the_callers_matrices_stay_as_they_are():
    whole = [sp.csr_array(view) for view in VIEWS[:2]]
    halves = [sp.csr_array((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2), X.shape) for X in whole]
    assert fit(halves).score(halves) == pytest.approx(fit(whole).score(whole))
    assert [X.nnz for X in halves] == [2 * X.nnz for X in whole]


def test_with_named_output():
    pytest.importorskip("pandas")
    plain, model = fit(HOLES), MultiViewSemiNMF(n_clusters=4, random_state=0).set_output(transform="pandas")
    np.testing.assert_array_equal(model.fit_predict(HOLES), plain.labels_)
    np.testing.assert_array_equal(model.predict(HOLES), plain.predict(HOLES))
    np.testing.assert_array_equal(model.cluster(HOLES, 3), plain.cluster(HOLES, 3))
    np.testing.assert_allclose(model.fit_transform(HOLES), plain.transform(HOLES), atol=1e-9)
    for readout in ("whitened", "isometric", "raw"):
        table = model.transform(VIEWS, observed=OBSERVED, readout=readout)
        assert list(table.columns) == [f"multiviewseminmf{a}" for a in range(table.shape[1])]
        np.testing.assert_array_equal(table, plain.transform(HOLES, readout=readout))
    np.testing.assert_array_equal(model.inverse_transform(table), plain.inverse_transform(table.to_numpy()))
    assert model.score(HOLES) == plain.score(HOLES)


@pytest.mark.parametrize(
    ("views", "parameters", "message"),
    [
        ([], {}, "no views"),
        ([VIEWS[0], VIEWS[1][:5]], {}, "same samples"),
        ([np.where(np.arange(120)[:, None] == 3, np.nan, view) for view in VIEWS], {}, "no view at all"),
        (VIEWS, {"alpha": -1.0}, "'alpha' parameter"),
        (VIEWS, {"weights": "auto"}, "'weights' parameter"),
        (VIEWS, {"clustering": "published"}, "'clustering' parameter"),
        (VIEWS, {"weights": [1, 2]}, "weights must be 4"),
        (VIEWS, {"weights": [1, 2, -1, 1]}, "weights must be 4"),
        (VIEWS, {"n_components": 1, "n_clusters": 3}, "n_components must be 2 or more.*got 1"),
        ([view / view.max() * 1e160 for view in VIEWS], {"normalize": False}, "square or its codes are out of range"),
        ([VIEWS[0], np.full((120, 2), np.inf)], {}, "infinity"),
    ],
)
def test_bad_input(views, parameters, message):
    with pytest.raises(ValueError, match=message):
        fit(views, **parameters)


def test_bad_new_views():
    with pytest.raises(NotFittedError):
        MultiViewSemiNMF().transform(VIEWS)
    model = fit()
    with pytest.raises(ValueError, match="2 views were given"):
        model.transform(VIEWS[:2])
    with pytest.raises(ValueError, match="40 features"):
        model.transform([VIEWS[1], *VIEWS[1:]])
    with pytest.raises(ValueError, match="any view"):
        model.transform([None] * 4)


def test_codes_out_of_range_are_refused():
    huge = [(view / view.max() * 3.4e38).astype(np.float32) for view in VIEWS]
    with pytest.raises(ValueError, match=r"magnitude in X is 3.4e\+38: .*codes are out of range. Divide X"):
        fit(normalize=False).transform(huge)
    assert np.isfinite(fit().transform(huge)).all()


def test_a_view_without_content_has_no_weight():
    with pytest.warns(UserWarning, match="All samples are equal in views"):
        model = fit([*VIEWS[:3], np.ones((120, 3))])
    assert model.weights_[3] == 0
    assert clustering_accuracy(Y, model.labels_) == 1


@pytest.mark.parametrize(("name", "floor"), [("yale_mv", 0.78), ("uci_digits_mv", 0.92)])
def test_real_views(real_data, name, floor):
    data = real_data(name)
    labels = fit(data.views, n_clusters=len(np.unique(data.y))).labels_
    assert normalized_mutual_information(data.y, labels) > floor
