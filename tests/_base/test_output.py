"""``layer`` and ``readout`` say what `transform`, the clusters and the names of the columns are of, in every model."""

import inspect

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline

import laminar
from laminar import (
    NMF,
    WSF,
    AttributeLayers,
    ClassDrivenNMF,
    DeepSemiNMF,
    DeepWSF,
    MultiLayerNMF,
    MultiNMF,
    MultipleClusterings,
    MultiViewDeepNMF,
    MultiViewSemiNMF,
    SemiNMF,
    SlowFeatureAnalysis,
    SlowFeatureNMF,
    SmoothedSemiNMF,
    layer_attribute_table,
)
from laminar._base.coding import Coder
from laminar.testing import check_model

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:gamma=0.5 is below 1:UserWarning"
)

X = np.random.default_rng(0).gamma(1.0, size=(30, 6))
Y = np.repeat([0, 1, 2], 10)
FORMS = ("raw", "whitened", "isometric")
VIEWED = (MultiNMF, MultiViewDeepNMF, MultiViewSemiNMF)
DEEP = (DeepSemiNMF, DeepWSF, MultiLayerNMF, MultiViewDeepNMF)


def example(kind):
    """A small model of a public class, of one layer or of two."""
    parameters = {"n_components": 3, "layers": (4, 3), "view_sizes": (4, 2), "random_state": 0, "max_iter": 15}
    return kind(**{name: value for name, value in parameters.items() if name in inspect.signature(kind).parameters})


PUBLIC = [getattr(laminar, name) for name in laminar.__all__]
KINDS = [kind for kind in PUBLIC if isinstance(kind, type) and issubclass(kind, BaseEstimator)]
MODELS = [example(kind) for kind in KINDS if hasattr(kind, "transform")]
CODERS = [model for model in MODELS if isinstance(model, Coder)]
LAYERED = [model for model in MODELS if isinstance(model, (*DEEP, AttributeLayers))]


def name(value):
    return type(value).__name__ if isinstance(value, BaseEstimator) else str(value)


every_model = pytest.mark.parametrize("model", MODELS, ids=name)
every_coder = pytest.mark.parametrize("model", CODERS, ids=name)
layered = pytest.mark.parametrize("model", LAYERED, ids=name)


def fitted(model, **parameters):
    return clone(model).set_params(**parameters).fit(X, Y)


def parts(model):
    """All layers with their view, if they belong to one, from the input up."""
    if not isinstance(model, MultiViewDeepNMF):
        return [({"layer": i}, layer) for i, layer in enumerate(model.layers_)]
    hidden = [({"layer": 0, "view": v}, view.layers[0]) for v, view in model.views_.items()]
    return [*hidden, ({"layer": 1}, model.layers_[0])]


# ---- one form for all ----------------------------------------------------------------------------------------------


@every_model
def test_parameters(model):
    defaults = {name: p.default for name, p in inspect.signature(type(model)).parameters.items()}
    assert defaults["readout"] == "auto"
    assert defaults["layer"] == (0 if isinstance(model, AttributeLayers | MultipleClusterings) else -1)
    for method in (model.transform, model.fit_transform):
        asked = inspect.signature(method).parameters
        assert asked["layer"].default is asked["readout"].default is None


@every_model
@pytest.mark.parametrize("form", FORMS)
def test_constructed_form_is_that_of_the_call(model, form):
    plain, chosen = fitted(model), fitted(model, readout=form)
    expected = plain.transform(X, readout=form)
    assert_array_equal(chosen.transform(X), expected)
    assert_array_equal(chosen.transform(X, readout="auto"), plain.transform(X))
    assert chosen.get_feature_names_out().shape == (expected.shape[1],)
    assert_array_equal(plain.set_params(readout=form).transform(X), expected)  # no second fit
    auto = "isometric" if isinstance(model, AttributeLayers) else "raw"
    assert_array_equal(fitted(model).transform(X), fitted(model).transform(X, readout=auto))


@pytest.mark.parametrize("model", [m for m in CODERS if not isinstance(m, VIEWED)], ids=name)
def test_forms_by_their_definitions(model):
    """Whitened: cosines in the metric (H^T H)^-1. Isometric: the distances of H Z."""
    model = fitted(model)
    new, Z, H = model.transform(X), model.components_, model.layers_[-1].representation
    white, near = (model.transform(X, readout=form) for form in ("whitened", "isometric"))
    metric = np.linalg.pinv(H.T @ H, rcond=1e-10)
    for i in range(3):
        for j in range(3):
            lengths = np.sqrt((new[i] @ metric @ new[i]) * (new[j] @ metric @ new[j]))
            assert white[i] @ white[j] == pytest.approx(new[i] @ metric @ new[j] / lengths, abs=1e-6)
            assert np.linalg.norm(near[i] - near[j]) == pytest.approx(np.linalg.norm((new[i] - new[j]) @ Z), abs=1e-8)


@every_coder
@pytest.mark.parametrize("form", FORMS)
def test_fit_transform_has_the_codes_of_the_fit_in_that_form(model, form):
    model = clone(model).set_params(readout=form)
    found = model.fit_transform(X, Y)
    if getattr(model, "_uses_labels", False):  # whose codes of the fit know them
        assert_array_equal(found, model.transform(X))
    elif form == "raw":
        assert_array_equal(found, model.layers_[-1].representation)
        assert not np.shares_memory(found, model.layers_[-1].representation)
    elif isinstance(model, (MultiViewDeepNMF, MultiViewSemiNMF)) and form == "whitened":
        assert_array_equal(found, model.embedding_)
    asked = clone(model).set_params(readout="auto").fit_transform(X, Y, readout=form)
    assert_array_equal(asked, found)
    names = clone(model).set_output(transform="pandas").fit_transform(X, Y)
    assert list(names.columns) == list(model.get_feature_names_out())
    assert_array_equal(names, found)


@pytest.mark.parametrize("model", [m for m in CODERS if not isinstance(m, VIEWED)], ids=name)
@pytest.mark.parametrize("form", FORMS)
def test_clusters_are_those_of_the_form(model, form):
    """k-means of the codes of the fit, brought to the form; new samples join the nearest centre."""
    model = fitted(model, readout=form, n_clusters=3)
    training = model._joined_reader(model._places(), form)(model._fit_codes(model._places()))
    centres = KMeans(3, n_init=20, random_state=0).fit(training)
    assert_array_equal(model.cluster(), centres.labels_)
    assert_array_equal(model.cluster(X), centres.predict(model.transform(X)))
    if not isinstance(model, ClassDrivenNMF):  # which predicts classes
        assert_array_equal(clone(model).fit_predict(X, Y), centres.labels_)
        assert_array_equal(model.predict(X), centres.predict(model.transform(X)))


@every_coder
def test_automatic_clusters(model):
    own = {SmoothedSemiNMF: "directions", MultiNMF: "raw", MultiViewDeepNMF: "raw", MultiViewSemiNMF: "whitened"}
    own = own.get(type(model), 0.75)
    plain, chosen = fitted(model), fitted(model, readout=own)
    assert_array_equal(plain.cluster(n_clusters=3), chosen.cluster(n_clusters=3))
    assert_array_equal(plain.cluster(X, 3), chosen.cluster(X, 3, readout="auto"))
    if isinstance(model, VIEWED):
        assert_array_equal(plain.labels_, chosen.labels_)


def test_spectral_clusters_of_another_form_are_spectral():
    """``cluster(readout=)`` changes the form of the codes, not the way they are clustered."""
    model = fitted(example(MultiViewSemiNMF), n_clusters=3, clustering="spectral")
    assert_array_equal(model.cluster(readout="raw"), fitted(model, readout="raw").cluster())
    assert type(model._clusters_at(model._places(), "raw", 0)).__name__ == "GraphClusters"


def test_directions_are_the_rows_of_the_rotation():
    """Codes times a number a column, with rows of unit norm."""
    model = fitted(example(SmoothedSemiNMF), readout="directions")
    H, E = model.layers_[0].representation, clone(model).fit_transform(X)
    assert_allclose(np.linalg.norm(E, axis=1), 1)
    positive = (0.01 * H.max() < H).all(axis=1)
    ratios = E[positive] / H[positive]
    assert_allclose(ratios / ratios[:, :1], np.broadcast_to(ratios[0] / ratios[0, 0], ratios.shape))
    assert positive.sum() > 1
    found = KMeans(3, n_init=20, random_state=0).fit(E).labels_
    assert_array_equal(fitted(example(SmoothedSemiNMF)).cluster(n_clusters=3), found)
    few = KMeans(3, n_init=2, random_state=0).fit(E).labels_
    assert_array_equal(fitted(example(SmoothedSemiNMF)).cluster(n_clusters=3, n_init=2), few)
    with pytest.raises(ValueError, match="readout must be one of 'directions', 'raw'"):
        model.transform(X, readout="white")


def test_slow_features_are_white_already():
    model = SlowFeatureAnalysis(2).fit(X)
    features = model.transform(X)
    near, unit = (model.transform(X, readout=form) for form in ("isometric", "whitened"))
    assert_allclose(unit, features / np.linalg.norm(features, axis=1, keepdims=True))
    made = model.inverse_transform(features)
    assert_allclose(np.linalg.norm(near[3] - near[7]), np.linalg.norm(made[3] - made[7]))
    assert_array_equal(SlowFeatureAnalysis(2, readout="isometric").fit_transform(X), near)


@every_model
@pytest.mark.parametrize("readout", ["white", None, 3])
def test_unknown_readout_is_refused(model, readout):
    with pytest.raises(ValueError, match=r"'readout' parameter of .*'whitened'"):
        fitted(model, readout=readout)
    with pytest.raises(ValueError, match=r"readout must be one of .*'white'"):
        fitted(model).transform(X, readout="white")


# ---- layers --------------------------------------------------------------------------------------------------------


@layered
@pytest.mark.parametrize("form", FORMS)
def test_all_layers_side_by_side(model, form):
    model = fitted(model, readout=form)
    each = [model.transform(X, **place) for place, _ in parts(model)]
    assert len(each) > 1
    assert_array_equal(model.transform(X, layer="all"), np.hstack(each))
    assert_array_equal(fitted(model, layer="all").transform(X), np.hstack(each))
    codes = clone(model).fit_transform(X, Y, layer="all")
    assert_array_equal(clone(model).set_params(layer="all").fit_transform(X, Y), codes)
    if form == "raw" and not isinstance(model, DeepWSF):  # whose codes of the fit know the labels
        assert_array_equal(codes, np.hstack([layer.representation for _, layer in parts(model)]))


@layered
def test_a_layer_of_the_constructor_is_that_of_the_call(model):
    plain, chosen = fitted(model), fitted(model, layer=0)
    assert_array_equal(chosen.transform(X), plain.transform(X, layer=0))
    assert_array_equal(chosen.transform(X, layer=-1), plain.transform(X, layer=-1))
    assert_array_equal(plain.set_params(layer=0).transform(X), chosen.transform(X))
    assert_array_equal(
        clone(chosen).fit_transform(X, Y), clone(plain).set_params(layer=-1).fit_transform(X, Y, layer=0)
    )
    if isinstance(model, DEEP) and not isinstance(model, VIEWED):
        assert_allclose(clone(chosen).fit_transform(X, Y), chosen.layers_[0].representation, atol=1e-9)
        made = chosen.inverse_transform(chosen.transform(X))
        assert_allclose(made, chosen.transform(X) @ chosen.layers_[0].components)


@pytest.mark.parametrize("model", [m for m in LAYERED if isinstance(m, Coder)], ids=name)
@pytest.mark.parametrize("layer", [0, "all"])
def test_clusters_of_a_layer(model, layer):
    """Of several, of their columns side by side."""
    form = {"clustering": "kmeans"} if "clustering" in model.get_params() else {}
    model = fitted(model, layer=layer, n_clusters=3, readout="isometric", **form)
    training = model._joined_reader(model._places(), "isometric")(model._fit_codes(model._places()))
    centres = KMeans(3, n_init=20, random_state=0).fit(training)
    assert_array_equal(model.cluster(), centres.labels_)
    assert_array_equal(model.cluster(X), centres.predict(model.transform(X)))
    if not isinstance(model, ClassDrivenNMF):  # which predicts classes
        assert_array_equal(clone(model).fit_predict(X, Y), centres.labels_)
        assert_array_equal(model.predict(X), centres.predict(model.transform(X)))
    top = fitted(model, layer=-1)
    assert_array_equal(top.cluster(X, layer=layer), model.predict(X))
    assert_array_equal(model.cluster(X, layer=-1), top.predict(X))


def test_number_of_clusters_of_layers():
    model = DeepSemiNMF((4, 2), random_state=0).fit(X)
    assert [len(set(model.cluster(layer=layer))) for layer in (0, -1, "all")] == [4, 2, 2]


@layered
@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_names_of_columns(model, container):
    pytest.importorskip(container)
    model, prefix = fitted(model).set_output(transform=container), type(model).__name__.lower()
    main = model.transform(X)
    assert list(main.columns) == [f"{prefix}{a}" for a in range(3)] == list(model.get_feature_names_out())
    heads = {AttributeLayers: ["layer0", "rest"], MultiViewDeepNMF: ["view0_layer0", "view1_layer0", "layer1"]}
    heads, widths = (
        heads.get(type(model), ["layer0", "layer1"]),
        [layer.representation.shape[1] for _, layer in parts(model)],
    )
    expected = [f"{prefix}_{head}_{a}" for head, width in zip(heads, widths, strict=True) for a in range(width)]
    assert list(model.transform(X, layer="all").columns) == expected
    assert list(clone(model).fit_transform(X, Y, layer="all").columns) == expected
    model.set_params(layer="all")
    assert list(model.get_feature_names_out()) == list(model.transform(X).columns) == expected


def test_names_of_attributes_and_views():
    pandas = pytest.importorskip("pandas")
    labels = pandas.DataFrame({"pose": Y, "who": np.arange(30) % 2})
    model = AttributeLayers(3, layer="who").set_output(transform="pandas").fit(X, labels)
    assert list(model.transform(X).columns) == [f"attributelayers_who_{a}" for a in range(3)]
    assert list(model.transform(X, layer="pose").columns) == [f"attributelayers{a}" for a in range(3)]
    heads = [column.rpartition("_")[0] for column in model.transform(X, layer="all").columns]
    assert list(dict.fromkeys(heads)) == ["attributelayers_pose", "attributelayers_who", "attributelayers_rest"]
    deep = DeepWSF((4, 3), attribute_layers={"pose": 0, "who": 1}, layer="pose", random_state=0).fit(X, labels)
    assert_array_equal(deep.transform(X), deep.transform(X, layer=0))
    blind = clone(deep).set_params(attribute_layers="mutual information").fit(X, labels)
    assert_array_equal(blind.transform(X), blind.transform(X, layer=blind.attribute_layers_["pose"]))
    views = {"left": X[:, :4], "right": X[:, 4:]}
    seen = MultiViewDeepNMF((4, 3), random_state=0).set_output(transform="pandas").fit(views)
    assert list(seen.transform(views, layer=0, view="left").columns)[-1] == "multiviewdeepnmf_left_layer0_3"
    assert list(seen.transform(views, layer=0).columns)[-1] == "multiviewdeepnmf_right_layer0_3"
    assert_array_equal(
        clone(seen).fit_transform(views, layer=0, view="left"), seen.views_["left"].layers[0].representation
    )


def test_names_follow_the_rank_of_whitened_codes():
    """Codes beyond the rank of the data have no whitened column."""
    pytest.importorskip("pandas")
    multiples = np.outer(X[:, 0] + 1, X[0] + 1)  # codes of multiples of one sample are multiples of one code
    model = SemiNMF(3, readout="whitened", random_state=0).set_output(transform="pandas").fit(multiples)
    table = model.transform(multiples)
    assert list(table.columns) == list(model.get_feature_names_out())
    assert table.shape[1] == 1


@every_model
@pytest.mark.parametrize("layer", [9, -9, "nose"])
def test_no_such_layer_is_refused_when_it_is_fitted(model, layer):
    with pytest.raises(
        ValueError, match=rf"layer={layer!r} is (out of range: .* give a whole number|no attribute .*give)"
    ):
        fitted(model, layer=layer)
    with pytest.raises(ValueError, match=rf"layer={layer!r} is (out of range|no attribute)"):
        fitted(model).transform(X, layer=layer)


@every_model
@pytest.mark.parametrize("layer", [None, 0.5, [0]])
def test_layer_of_another_type_is_refused(model, layer):
    with pytest.raises(ValueError, match="'layer' parameter of"):
        fitted(model, layer=layer)


def test_stream_and_callbacks_know_the_layer():
    with pytest.raises(ValueError, match="layer=2 is out of range: the model has 2 layers"):
        DeepSemiNMF((4, 3), layer=2).partial_fit(X)
    seen = []
    model = MultiLayerNMF((4, 3), layer=1, max_iter=3, callback=lambda state: seen.append(state.model().transform(X)))
    model.fit(X)
    assert {H.shape[1] for H in seen} == {4, 3}


def test_codes_of_all_layers_have_no_one_reconstruction():
    model = DeepSemiNMF((4, 3), layer="all", random_state=0).fit(X)
    with pytest.raises(ValueError, match='layer="all" is no layer that codes belong to: give the position'):
        model.inverse_transform(model.transform(X))
    assert model.inverse_transform(model.transform(X, layer=0), layer=0).shape == X.shape


# ---- what else reads codes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [{"layer": 0}, {"layer": "all"}, {"readout": "isometric"}])
def test_scores_and_contracts_do_not_depend_on_the_output(parameters):
    plain, chosen = fitted(example(DeepSemiNMF)), fitted(example(DeepSemiNMF), **parameters)
    assert chosen.score(X) == plain.score(X)
    if "readout" not in parameters:
        pytest.importorskip("pandas")
        table = layer_attribute_table(chosen, X, {"y": Y})
        assert table.equals(layer_attribute_table(plain, X, {"y": Y}))
    driven = fitted(ClassDrivenNMF(random_state=0), readout="isometric")
    assert_array_equal(driven.predict(X), fitted(ClassDrivenNMF(random_state=0)).predict(X))
    check_model(NMF(2, readout="isometric"), X)


def test_a_start_is_read_as_raw_codes():
    given = NMF(3, random_state=0).fit(X)
    other = clone(given).set_params(readout="isometric").fit(X)
    starts = [given, other, FrozenEstimator(other)]
    first, *others = (NMF(3, init=start, max_iter=2, tol=0).fit(X).components_ for start in starts)
    for components in others:
        assert_array_equal(components, first)


# ---- pipelines, searches, metadata ---------------------------------------------------------------------------------


def test_search_over_read_outs_and_layers():
    pipeline = Pipeline(
        [("model", DeepSemiNMF((5, 3), max_iter=5, random_state=0)), ("classify", LogisticRegression())]
    )
    grid = {"model__readout": ["raw", "whitened", "isometric"], "model__layer": [0, -1, "all"]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X, Y)
    widths = {0: 5, -1: 3, "all": 8}
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = search.best_estimator_
    assert best["classify"].n_features_in_ == widths[search.best_params_["model__layer"]]
    train, test = next(StratifiedKFold(3).split(X, Y))
    for parameters, score in zip(search.cv_results_["params"], search.cv_results_["split0_test_score"], strict=True):
        alone = clone(pipeline).set_params(**parameters).fit(X[train], Y[train])
        assert alone.score(X[test], Y[test]) == score


def test_union_of_layers():
    model = DeepSemiNMF((4, 3), random_state=0)
    union = FeatureUnion([("low", clone(model).set_params(layer=0)), ("top", model)]).fit(X)
    assert_array_equal(union.transform(X), clone(model).fit(X).transform(X, layer="all"))
    assert len(set(union.get_feature_names_out())) == 7


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_read_out_is_routed_through_a_pipeline(routing):
    """`fit` fits the next step to codes in the same form that `transform` and `predict` give it."""
    model = SemiNMF(3, random_state=0).set_transform_request(readout=True)
    pipeline = make_pipeline(model, LogisticRegression()).fit(X, Y, readout="isometric")
    plain = make_pipeline(SemiNMF(3, readout="isometric", random_state=0), LogisticRegression()).fit(X, Y)
    assert_array_equal(pipeline[-1].coef_, plain[-1].coef_)
    assert_array_equal(pipeline.predict(X, readout="isometric"), plain.predict(X))
    codes = make_pipeline(clone(model)).fit(X).transform(X, readout="isometric")
    assert_array_equal(codes, plain[0].transform(X))
    assert_array_equal(make_pipeline(clone(model)).fit_transform(X, readout="isometric"), plain[0].fit_transform(X))


@every_model
def test_layer_and_read_out_are_routed(routing, model):
    model = clone(model).set_transform_request(layer=True, readout=True)
    asked = {"layer": "all", "readout": "whitened"}
    pipeline = make_pipeline(model, LogisticRegression()).fit(X, Y, **asked)
    assert pipeline[-1].n_features_in_ == pipeline[0].transform(X, **asked).shape[1]
    assert_array_equal(pipeline.predict(X, **asked), pipeline[-1].predict(pipeline[0].transform(X, **asked)))


def test_way_to_code_is_routed(routing):
    model = SemiNMF(3, random_state=0).set_transform_request(method=True)
    codes = make_pipeline(model).fit_transform(X - 1, method="pinv")
    assert_array_equal(codes, clone(model).fit(X - 1).transform(X - 1, method="pinv"))
    with pytest.raises(ValueError, match="method must be one of 'nonnegative', 'pinv'"):
        model.fit_transform(X, method="lstsq")


GROUPS = np.repeat([0, 1, 2, 3, 4, 5], 5)


@pytest.mark.parametrize("kind", [SlowFeatureNMF, SlowFeatureAnalysis, WSF, SmoothedSemiNMF])
def test_groups_are_routed_to_fit(routing, kind):
    chain = {"graph": "chain"} if kind in (WSF, SmoothedSemiNMF) else {}
    model = kind(3, random_state=0, **chain).set_fit_request(groups=True)
    if kind is SlowFeatureNMF:
        model.set_transform_request(groups=True)
    y = None if kind is WSF else Y
    pipeline = make_pipeline(model).fit(X, y, groups=GROUPS)
    alone = clone(model).fit(X, y, groups=GROUPS)
    assert_array_equal(pipeline[0].components_, alone.components_)
    assert not np.allclose(alone.components_, clone(model).fit(X, y).components_)


def test_search_with_groups_and_labels(routing):
    model = SlowFeatureNMF(2, random_state=0, max_iter=20)
    with pytest.raises(UnsetMetadataPassedError):
        GridSearchCV(model, {"alpha": [0.1, 1.0]}, cv=GroupKFold(3)).fit(X, Y, groups=GROUPS)
    model.set_fit_request(groups=True).set_score_request(groups=True)
    search = GridSearchCV(model, {"alpha": [0.1, 1.0]}, cv=GroupKFold(3), error_score="raise").fit(X, Y, groups=GROUPS)
    train, test = next(GroupKFold(3).split(X, groups=GROUPS))
    alone = clone(model).set_params(alpha=0.1).fit(X[train], groups=GROUPS[train])
    expected = alone.score(X[test], groups=GROUPS[test])
    assert search.cv_results_["split0_test_score"][0] == pytest.approx(expected, rel=1e-6)


def test_search_with_routing_over_a_labelled_model(routing):
    """Labels reach the model as y, the read-out as metadata."""
    model = WSF(3, random_state=0).set_transform_request(readout=True)
    pipeline = Pipeline([("model", model), ("classify", LogisticRegression())])
    grid = {"model__alpha": [0.1, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X, Y, readout="isometric")
    named = GridSearchCV(clone(pipeline).set_params(model__readout="isometric"), grid, cv=3, error_score="raise").fit(
        X, Y
    )
    assert_array_equal(search.cv_results_["mean_test_score"], named.cv_results_["mean_test_score"])
    assert_array_equal(search.best_estimator_[-1].coef_, named.best_estimator_[-1].coef_)
