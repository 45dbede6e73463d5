"""What every model owes its user: scikit-learn's contract, and a clear error or a finite result for any input."""

import inspect
import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import laminar
from laminar import (
    GNMF,
    NMF,
    WSF,
    AttributeLayers,
    ClassDrivenNMF,
    ConceptFactorization,
    ConstrainedNMF,
    DeepSemiNMF,
    DeepWSF,
    DiscriminantNMF,
    MultiLayerNMF,
    MultiNMF,
    MultipleClusterings,
    MultiViewDeepNMF,
    MultiViewSemiNMF,
    SemiNMF,
    SlowFeatureAnalysis,
    SlowFeatureNMF,
)
from laminar._base.coding import Coder
from laminar._base.penalized import Penalized
from laminar.attributes.bands import BANDS
from laminar.testing import check_model

# Every public estimator is a model, and its example the first parameter at 3. Others only where that is not what it
# takes, or not small.
SETTINGS = {
    GNMF: {"n_components": 3, "n_neighbors": 3},
    ClassDrivenNMF: {},  # one component a class
    MultiLayerNMF: {"layers": (3, 3)},
    DeepSemiNMF: {"layers": (4, 3), "max_iter": 20},
    DeepWSF: {"layers": (4, 3), "max_iter": 10},
    MultiNMF: {"n_components": 3, "view_sizes": (4, 2), "max_iter": 5, "max_inner_iter": 3},
    MultiViewDeepNMF: {"layers": (4, 3), "view_sizes": (4, 2), "max_iter": 20},
    MultiViewSemiNMF: {"n_components": 3, "view_sizes": (4, 2), "max_iter": 20},
    MultipleClusterings: {"n_layers": 3, "max_clusters": 3},
    AttributeLayers: {"n_components": 3, "bands": BANDS[:3], "readout": "raw"},
    SlowFeatureAnalysis: {},
}


def example(kind):
    """A small model of a public class."""
    first = next(iter(inspect.signature(kind).parameters))
    return kind(**SETTINGS.get(kind, {first: 3}), random_state=0)


PUBLIC = [getattr(laminar, name) for name in laminar.__all__]
MODELS = [example(kind) for kind in PUBLIC if isinstance(kind, type) and issubclass(kind, BaseEstimator)]
# Another term of the fit, and with it other updates.
KL = [clone(model).set_params(loss="kl") for model in MODELS if type(model) in (NMF, GNMF, ConstrainedNMF)]
CODERS = [model for model in [*MODELS, *KL] if isinstance(model, Coder)]  # the others have no clusters and no score
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:X .* feature names:UserWarning"),  # what some checks provoke
    pytest.mark.filterwarnings("ignore:gamma=0.5 is below 1:UserWarning"),  # as published
]


def name(value):
    """Of a test: a model on one line, or a word."""
    return " ".join(str(value).split())


every_coder = pytest.mark.parametrize("model", CODERS, ids=name)

# Shared parameters that a model reads in its own way: the cases below that set them are not for it, its own file has
# others. Nor are cases that set what it does not have.
NOT_SHARED = {
    ConceptFactorization: {"init"},  # starts from (H, A)
    MultiLayerNMF: {"init"},  # has a start for each layer
    MultiNMF: {"init"},  # and one for each view
    DeepSemiNMF: {"init", "max_iter"},  # has a name for the start of every layer, and may keep the start as it is
    DeepWSF: {"init", "max_iter"},
}
WIDTH = dict.fromkeys([MultiLayerNMF, DeepSemiNMF, DeepWSF, MultiViewDeepNMF], "layers")  # where it is not n_components
# Checks that set n_components=1 and pass three classes: to refuse that is what the model is for.
ONE_COMPONENT = [
    "check_dont_overwrite_parameters",
    "check_fit2d_1feature",
    "check_fit2d_predict1d",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
]
# Checks that compare fit_transform with transform.
CODES_OF_THE_FIT = dict.fromkeys(
    ["check_transformer_data_not_an_array", "check_transformer_general"],
    "fit_transform returns the codes of the fit, which depend on the penalty; transform codes samples by themselves",
)
# Checks that transform every sample by itself, or in another order.
IN_TIME = dict.fromkeys(
    ["check_methods_sample_order_invariance", "check_methods_subset_invariance"],
    "the samples that transform is given are a sequence",
)
EXPECTED_FAILURES = {
    ClassDrivenNMF: dict.fromkeys(ONE_COMPONENT, "more classes than n_components=1 allows"),
    MultiViewSemiNMF: dict.fromkeys(
        [*ONE_COMPONENT, "check_fit2d_1sample"], "one code holds no direction around a mean"
    ),
    SlowFeatureNMF: IN_TIME,
}


def expected_failures(model):
    alone = type(model) in (
        NMF,
        SemiNMF,
        DeepSemiNMF,
        ConceptFactorization,
        MultiLayerNMF,
        MultiNMF,
        MultipleClusterings,
        SlowFeatureAnalysis,
    )
    told = getattr(model, "_uses_labels", False)  # with labels they return the codes of transform
    codes = {} if alone or told else CODES_OF_THE_FIT
    return codes | EXPECTED_FAILURES.get(type(model), {})


# Published by scikit-learn, but not part of `check_estimator`; older versions lack some.
MORE_CHECKS = [
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_global_output_transform_pandas",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
    "check_dataframe_column_names_consistency",
    "check_param_validation",
    "check_inplace_ensure_writeable",
]

rng = np.random.default_rng(0)
X = rng.gamma(1.0, size=(12, 6))
Y = np.array([0, 0, 1, 1, -1, 2, 0, 1, 2, 2, -1, -1])  # for models that read it; the others ignore it
H0, Z0 = rng.random((12, 3)), rng.random((3, 6))


def with_entry(A, value):
    A = A.copy()
    A[1, 2] = value
    return A


def own(model, parameters):
    """Parameters by the names they have in this model, those it does not have left out."""
    names = {name: WIDTH.get(type(model), name) if name == "n_components" else name for name in parameters}
    return {names[name]: value for name, value in parameters.items() if names[name] in model.get_params()}


def fresh(model, data, parameters):
    """An unfitted copy; what is not six features wide is one view."""
    views = {} if data.shape[1:] == (6,) else {"view_sizes": None}
    return clone(model).set_params(**own(model, views | parameters))


def brief(model, max_iter):
    """The model with at most this many iterations."""
    return model.set_params(**own(model, {"max_iter": min(max_iter, model.get_params().get("max_iter", max_iter))}))


def has_signed_codes(model):
    constraint = getattr(model, "_constraints", {}).get("H")
    return isinstance(model, SlowFeatureAnalysis) or (constraint is not None and constraint.signed)


def shared(table, models):
    """Every model with every case of a table, data and parameters first, that it shares with the others."""
    return [
        pytest.param(model, case, id=f"{case}-{name(model)}")
        for case, (data, parameters, *_) in table.items()
        for model in models
        if len(own(model, parameters)) == len(parameters)
        and not NOT_SHARED.get(type(model), set()) & set(parameters)
        and (get_tags(model).input_tags.sparse or not sp.issparse(data))
        and not (case == "H negative" and has_signed_codes(model))
        and not (case == "True for one component" and isinstance(model, MultiViewSemiNMF))  # it needs two
    ]


# ------------------------------------------------------------------------------------- scikit-learn's contract


@parametrize_with_checks(
    [brief(fresh(model, X[:, :1], {}), 20) for model in MODELS],  # in one view: their data have other widths
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", MODELS, ids=name)
@pytest.mark.parametrize("name", MORE_CHECKS)
def test_more_scikit_learn_checks(model, name):
    if not hasattr(estimator_checks, name):
        pytest.skip(f"this scikit-learn has no {name}")
    if name.endswith("pandas"):
        pytest.importorskip("pandas")
    getattr(estimator_checks, name)(type(model).__name__, brief(fresh(model, X[:, :1], {}), 20))


@every_coder
def test_contract(model):
    check_model(model, X, Y)


@every_coder
def test_pipeline_and_grid_search(model):
    pipeline = make_pipeline(MaxAbsScaler(), clone(model))
    alone, scaled = clone(model), MaxAbsScaler().fit_transform(X)
    assert np.array_equal(pipeline.fit(X, Y).transform(X), alone.fit(scaled, Y).transform(scaled))
    assert np.array_equal(pipeline.predict(X), alone.predict(scaled))
    names = pipeline.get_feature_names_out()
    assert list(names) == [f"{type(model).__name__.lower()}{a}" for a in range(3)]
    width = WIDTH.get(type(model), "n_components")
    search = GridSearchCV(clone(model), {width: [3, 4, 6]}, cv=2).fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    # More components explain more, of new samples too: none is fitted to noise alone here.
    assert search.best_params_[width] == 6


@every_coder
def test_clone_and_pickle(model):
    fitted = clone(model).fit(X, Y)
    again, restored = clone(fitted).fit(X, Y), pickle.loads(pickle.dumps(fitted))
    for other in (again, restored):
        assert other.get_params() == model.get_params()
        assert np.array_equal(other.components_, fitted.components_)
        assert np.array_equal(other.transform(X), fitted.transform(X))
        assert np.array_equal(other.predict(X), fitted.predict(X))


@every_coder
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_floating_type_is_kept(model, dtype, form):
    model = clone(model)
    data = form(X.astype(dtype))
    assert model.fit_transform(data, Y).dtype == dtype
    assert model.components_.dtype == model.transform(data).dtype == dtype
    assert model.layers_[0].representation.dtype == dtype
    assert model.inverse_transform(model.transform(data)).dtype == dtype


# --------------------------------------------------------------------------------------------------- bad input

K = r"('n_components' parameter of \w+ must be an int in the range \[1|layers.* must be ).*[Gg]ot "
BAD = {
    "NaN": (with_entry(X, np.nan), {}, "contains NaN"),
    "infinity": (with_entry(X, np.inf), {}, "X contains infinity"),
    "sparse NaN": (sp.csr_array(with_entry(X, np.nan)), {}, "contains NaN"),
    "no sample": (X[:0], {}, r"0 sample\(s\).* minimum of [12]"),
    "no feature": (X[:, :0], {}, r"0 feature\(s\).* minimum of 1"),
    "one dimension": (X[0], {}, "(Expected 2D array|X is one-dimensional).*Reshape"),
    "three dimensions": (X[None], {}, "dim 3, while dim <= 2"),
    "strings": (np.full((12, 6), "x"), {}, "X holds text .*'x'.*: encode it as numbers"),
    "complex": (X + 1j, {}, "Complex data not supported"),
    "no components": (X, {"n_components": 0}, K + "0"),
    "fewer than none": (X, {"n_components": -1}, K + "-1"),
    "half a component": (X, {"n_components": 1.5}, K + "1.5"),
    "components in words": (X, {"n_components": "a"}, K + "'a'"),
    "H of another shape": (X, {"init": (H0[:5], Z0)}, r"init: H must have shape \(12, 3\), got \(5, 3\)"),
    "Z of another shape": (X, {"init": (H0, Z0.T)}, r"init: Z must have shape \(3, 6\), got \(6, 3\)"),
    "H negative": (X, {"init": (-H0, Z0)}, "init: H must be non-negative, its smallest entry is -"),
    "H with NaN": (X, {"init": (with_entry(H0, np.nan), Z0)}, "init: H contains NaN.*give finite"),
    "Z with infinity": (X, {"init": (H0, with_entry(Z0, np.inf))}, "init: Z contains NaN or inf"),
    "H complex": (X, {"init": (H0 * 1j, Z0)}, "init: H must hold real numbers.*convert it to float"),
    "H of objects": (X, {"init": (H0.astype(object), Z0)}, "init: H must hold real numbers"),
    "three factors": (X, {"init": (H0, Z0, Z0)}, r"init must hold two arrays \(H, Z\), got 3"),
    "no H": (X, {"init": (None, Z0)}, "init: H must be given"),
    "unknown init": (X, {"init": "best"}, "'init' parameter of .*'nndsvd'.*Got 'best'"),
    "init not fitted": (X, {"init": NMF()}, "init: this NMF is not fitted"),
    "init of another width": (X, {"init": NMF(2).fit(X)}, r"init: H must have shape \(12, 3\), got \(12, 2\)"),
    "init of other features": (X, {"init": NMF(3).fit(X[:, :4])}, "X has 6 features, but NMF is expecting 4"),
    "init without components": (X, {"init": KMeans(3).fit(X)}, "init: a fitted model must have components_.*KMeans"),
    "unknown solver": (X, {"solver": "cd"}, "'solver' parameter of .*'hals'.*Got 'cd'"),
    "unknown rule": (X, {"rule": "slow"}, "'rule' parameter of .*'published'.*Got 'slow'"),
    "eta 0": (X, {"eta": 0}, r"'eta' parameter of .* range \(0.0, 1.0\].*Got 0"),
    "eta 1.5": (X, {"eta": 1.5}, r"'eta' parameter of .* range \(0.0, 1.0\].*Got 1.5"),
    "no iteration": (X, {"max_iter": 0}, "'max_iter' parameter of .*Got 0"),
    "tol negative": (X, {"tol": -1}, "'tol' parameter of .*Got -1"),
    "no cluster": (X, {"n_clusters": 0}, "'n_clusters' parameter of .*Got 0"),
    "callback": (X, {"callback": 3}, "'callback' parameter of .* callable or None. Got 3"),
    "seed": (X, {"random_state": "a"}, "'random_state' parameter of .*Got 'a'"),
}


@pytest.mark.parametrize(("model", "case"), shared(BAD, MODELS))
def test_bad_input_is_refused(model, case):
    data, parameters, message = BAD[case]
    model = fresh(model, data, parameters)
    with pytest.raises((ValueError, TypeError), match="(?s)" + message):
        model.fit(data, Y)
    assert not hasattr(model, "components_")


@pytest.mark.parametrize("model", [m for m in MODELS if get_tags(m).input_tags.positive_only], ids=name)
def test_negative_data_are_refused_where_they_have_no_meaning(model):
    with pytest.raises(ValueError, match=r"Negative values .* smallest entry of (X|view 0) is -1\. Use .* or shift"):
        clone(model).fit(with_entry(X, -1), Y)


@pytest.mark.parametrize(
    ("parameters", "data", "message"),
    [
        ({}, with_entry(X, -1), "Negative values.*smallest entry of X is -1. Use SemiNMF.* or shift X"),
        ({}, sp.csr_array(with_entry(X, -1)), "Negative values.*smallest entry of X is -1"),
        ({"init": (H0, -Z0)}, X, "init: Z must be non-negative, its smallest entry is -"),
        ({"init": "svd"}, X, 'init="svd" gives components of any sign: use it with SemiNMF, or "nndsvd"'),
        ({"loss": "kl", "solver": "hals"}, X, 'solver="hals" needs a squared error: use .*or solver="mu"'),
        ({"loss": "kl", "solver": "apg"}, X, 'solver="apg" needs a squared error'),
        ({"loss": "l1"}, X, "'loss' parameter of NMF must be .*'kl'.*Got 'l1'"),
        ({}, 1e300 * X, "largest magnitude in X is .*e[+]30.: its square is out of range. Divide X"),
    ],
)
def test_what_nmf_alone_refuses(parameters, data, message):
    with pytest.raises(ValueError, match=message):
        NMF(3).set_params(**parameters).fit(data)


ODD = {
    "one sample": (X[:1], {}),
    "one feature": (X[:, :1], {}),
    "one number": (X[:1, :1], {}),
    "zeros": (np.zeros((12, 6)), {}),
    "sparse without an entry": (sp.csr_array((12, 6)), {}),
    "zero rows": (X * (np.arange(12) % 3 > 0)[:, None], {}),
    "zero columns": (X * (np.arange(6) % 3 > 0), {}),
    "zero rows, sparse": (sp.csr_array(X * (np.arange(12) % 3 > 0)[:, None]), {}),
    "a class of zeros": (X * (Y != 0)[:, None], {}),
    "constant": (np.ones((12, 6)), {}),
    "constant features": (np.hstack([X[:, :3], np.full((12, 3), 7.0)]), {}),
    "duplicate samples": (np.repeat(X[:2], 6, axis=0), {}),
    "duplicate features": (np.repeat(X[:, :2], 3, axis=1), {}),
    "True for one component": (X, {"n_components": True}),
    "more components than X has rank": (X, {"n_components": 20}),
    "explicit zeros": (sp.csr_array((np.arange(5.0) % 2, (np.arange(5), np.arange(5))), shape=(12, 6)), {}),
    "object": (X.astype(object), {}),
    "half precision": (X.astype(np.float16), {}),
    "integers": (np.arange(72).reshape(12, 6), {}),
    "booleans": (X > 1, {}),
    "an outlier": (with_entry(X, 1e12), {}),
    "rows of every size": (X * 10.0 ** np.linspace(-150, 149, 12)[:, None], {}),
    "tiny": (1e-300 * X, {}),
    "subnormal": (1e-320 * X, {}),
    "subnormal and sparse": (sp.csc_array(1e-320 * X), {}),
    "subnormal float32": ((1e-42 * X).astype(np.float32), {}),
    "huge float32": ((1e36 * X).astype(np.float32), {}),
    "start from zero": (X, {"init": (0 * H0, 0 * Z0)}),
    "start from lists": (X, {"init": [H0.tolist(), Z0.tolist()]}),
    "one iteration": (X, {"max_iter": 1}),
    "no tolerance": (X, {"tol": 0, "max_iter": 20}),
}


# Of a published rule, with the same start and the same checks: what its divisions and powers may not stand.
FOR_PUBLISHED = {
    "one sample",
    "one number",
    "zeros",
    "sparse without an entry",
    "zero rows",
    "zero columns",
    "a class of zeros",
    "constant",
    "duplicate samples",
    "more components than X has rank",
    "an outlier",
    "rows of every size",
    "tiny",
    "subnormal",
    "huge float32",
    "start from zero",
}

# What a few models have no answer to, and say so.
NO_PAIRS = {
    GNMF: "n_neighbors=3 must be .* below the number of samples, 1; lower n_neighbors",
    SlowFeatureNMF: "the longest sequence has 1 sample",
    SlowFeatureAnalysis: "a minimum of 2 is required",
    AttributeLayers: "a minimum of 2 is required",
}
NO_SIZE = dict.fromkeys(WIDTH, "layers must be one or more whole numbers above 0, .*got True")
NO_SIZE[ClassDrivenNMF] = "3 classes"
STILL = {SlowFeatureAnalysis: "X does not change over its 12 frames.*If .* tiny on purpose, multiply X"}
PRICED = [WSF, DeepWSF, SlowFeatureNMF, DiscriminantNMF, ClassDrivenNMF]
TOO_SMALL = dict.fromkeys(PRICED, "X is too small for a penalty on the codes alone")
REFUSED = {
    ("one sample", "fast"): NO_PAIRS,
    ("one sample", "published"): NO_PAIRS,
    ("one number", "fast"): NO_PAIRS,
    ("one number", "published"): NO_PAIRS,
    ("tiny", "published"): TOO_SMALL,
    ("True for one component", "fast"): NO_SIZE,
    **{(case, "fast"): STILL for case in ("zeros", "constant", "subnormal", "subnormal float32")},
}


@pytest.mark.filterwarnings(
    "ignore:All samples are (equal|zero) in views",
    "ignore:view . has .* of the weight",
    "ignore:n_components=.* is more than the rank of the centred frames",
)
@pytest.mark.parametrize(
    ("model", "case", "rule"),
    [
        pytest.param(*param.values, rule, id=f"{param.id}-{rule}")
        for param in shared(ODD, [*MODELS, *KL])
        for rule in ("fast", "published")
        if rule == "fast" or ("rule" in param.values[0].get_params() and param.values[1] in FOR_PUBLISHED)
    ],
)
def test_odd_input_gives_finite_codes(model, case, rule):
    data, parameters = ODD[case]
    y = Y[: data.shape[0]]
    model = brief(fresh(model, data, {"n_clusters": 1, "rule": rule} | parameters), 30)
    refusal = REFUSED.get((case, rule), {}).get(type(model))
    if refusal:
        with pytest.raises((ValueError, TypeError), match=refusal):
            model.fit(data, y)
        return
    H, codes = model.fit_transform(data, y), model.transform(data)
    score = model.score(data) if isinstance(model, Coder) else 1
    for A in (H, codes, score, *(A for A in vars(model).values() if isinstance(A, np.ndarray | float))):
        assert np.isfinite(A).all()
    assert score <= 1 + (1e-7 if H.dtype == np.float32 else 1e-12)
    if not has_signed_codes(model):
        assert min(H.min(), codes.min()) >= 0
    if isinstance(model, Coder):
        assert np.array_equal(model.cluster(data), np.zeros(H.shape[0]))


# Codes that are shared, asked to be alike, or smoothed do not fit exactly.
PLAIN = (NMF, SemiNMF, ConceptFactorization)
FITTED = [model for model in [*MODELS, *KL] if isinstance(model, PLAIN) and not isinstance(model, Penalized)]


@pytest.mark.parametrize("model", FITTED, ids=name)
def test_more_components_than_rank_fit_exactly(model):
    flat = clone(model).set_params(n_components=8, max_iter=3000).fit(X[:, :4])
    perfect = 0 if getattr(model, "loss", "") == "kl" else 1
    assert flat.score(X[:, :4]) == pytest.approx(perfect, abs=1e-3)


METHODS = ["transform", "predict", "score", "cluster", "inverse_transform"]
USES = [(model, method) for model in MODELS for method in METHODS if hasattr(model, method)]


@pytest.mark.parametrize("model", MODELS, ids=name)
def test_unfitted_model_is_refused(model):
    for method in METHODS:
        if hasattr(model, method):
            with pytest.raises(NotFittedError, match=r"not fitted yet. Call 'fit'"):
                getattr(clone(model), method)(X)


@pytest.mark.parametrize(("model", "method"), [use for use in USES if use[1] != "inverse_transform"], ids=name)
def test_other_features_are_refused(model, method):
    fitted = clone(model).fit(X, Y)
    with pytest.raises(ValueError, match=r"X has 5 features, but .* is expecting 6 features"):
        getattr(fitted, method)(X[:, :5])


@every_coder
def test_codes_of_another_width_cannot_be_mapped_back(model):
    fitted = clone(model).fit(X, Y)
    for H in (np.ones((4, 2)), np.ones(3), sp.csr_array(np.ones((4, 2)))):
        with pytest.raises(ValueError, match=r"H must have shape \(n_samples, 3\), got"):
            fitted.inverse_transform(H)
    for H, message in ((with_entry(H0, np.nan), "H contains NaN"), (np.full((4, 3), "x"), "H holds text .*: encode")):
        with pytest.raises(ValueError, match=message):
            fitted.inverse_transform(H)
    np.testing.assert_allclose(fitted.inverse_transform(sp.csr_array(H0)), fitted.inverse_transform(H0))


@every_coder
def test_no_such_layer_and_no_such_number_of_clusters(model):
    fitted = clone(model).fit(X, Y)
    for count in (0, -1, 1.5, "a"):
        with pytest.raises(ValueError, match=f"'n_clusters' parameter of cluster must be .*Got {count!r}"):
            fitted.cluster(X, count)
    for layer in ("a", 0.5, 7):
        with pytest.raises(ValueError, match=f"layer={layer!r} is (out of range: .* give a whole number|no attribute)"):
            Coder.inverse_transform(fitted, H0, layer=layer)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@every_coder
def test_codes_at_the_end_of_the_range_are_finite_or_refused(model):
    fitted, huge = clone(model).fit(X, Y), (X / X.max() * 3.4e38).astype(np.float32)
    for use in (fitted.transform, lambda data: clone(model).fit(data, Y).layers_[-1].representation):
        try:
            assert np.isfinite(use(huge)).all()
        except ValueError as error:
            if not re.search("out of range.* [Dd]ivide X", str(error)):
                raise


@every_coder
def test_more_clusters_than_samples(model):
    fitted = clone(model).set_params(n_clusters=13).fit(X, Y)
    with pytest.raises(ValueError, match=r"n_clusters=13 is more than the 12 samples .*ask for fewer"):
        fitted.cluster(X)
    assert len(set(fitted.cluster(X, 2))) == 2
