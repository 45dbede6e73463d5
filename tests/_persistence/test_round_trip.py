"""Every estimator through save and load: the same parameters, and every result of the same bits."""

import inspect
import pickle
import warnings
from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

import laminar
from _persistence.compare import same
from _persistence.examples import CASES, H0, NEW, X, described, estimators, fitted, made, stream
from laminar import baselines, features
from laminar._persistence.estimators import ESTIMATORS
from laminar._persistence.kinds import class_name
from laminar._persistence.model_file import load, read_model, save_model
from laminar.deep.nonlinear.activations import ACTIVATIONS, Activation, Rectified

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:X has feature names:UserWarning"),
]
EXTRA = {"SiftBagOfWords": "cv2", "LocalBinaryPatterns": "skimage", "GaborMagnitudes": "skimage"}
EVERY = list(CASES)


def needs(name):
    if name in EXTRA:
        pytest.importorskip(EXTRA[name])


def results(model, new):
    """What the methods of a fitted model return for new samples, by name."""
    found = {}
    if hasattr(model, "get_feature_names_out"):
        found["names"] = model.get_feature_names_out()
    if new is None:
        return found
    if hasattr(model, "target_"):  # of aligned landmarks
        return found | {"transform": model.transform(new, model.target_[None].repeat(len(new), axis=0))}
    found["transform"] = model.transform(new)
    if hasattr(model, "layers_"):
        for readout in ("raw", "whitened", "isometric"):
            # Of lower layers of views, samples need all views.
            layer = {} if isinstance(new, dict) else {"layer": 0}
            found[readout] = model.transform(new, readout=readout, **layer)
    for method in ("predict", "predict_proba", "score"):
        if hasattr(model, method) and not _has_no_classes(model, method):
            found[method] = getattr(model, method)(new)
    if hasattr(model, "inverse_transform") and getattr(model, "kernel", None) is None:
        codes = np.abs(np.random.default_rng(1).normal(size=(3, len(model.components_))))
        found["inverse"] = model.inverse_transform(codes, **({"layer": -1} if "layer" in _keywords(model) else {}))
    return found


def _keywords(model):
    return inspect.signature(model.inverse_transform).parameters


def _has_no_classes(model, method):
    return method.startswith("predict") and hasattr(model, "attributes_") and not model.attributes_


def saved(model, tmp_path, **options):
    model.save(tmp_path / "model.laminar", **options)
    return load(tmp_path / "model.laminar")


# ----------------------------------------------------------------------------------------- every estimator


@cache
def expected(name):
    """The results of a case, and the model with what was computed on first use."""
    model = fitted(name)
    return results(model, CASES[name][2]), model


def differing(found, name):
    before = expected(name)[0]
    return [key for key in before if not same(found[key], before[key])]


@pytest.mark.parametrize("name", EVERY)
def test_results_are_bit_identical(name, tmp_path):
    needs(name)
    model = fitted(name)
    again = saved(model, tmp_path)
    assert same(again.get_params(deep=False), model.get_params(deep=False))
    assert differing(results(again, CASES[name][2]), name) == []


@pytest.mark.parametrize("name", EVERY)
def test_state_is_complete(name, tmp_path):
    needs(name)
    model = expected(name)[1]
    again = saved(model, tmp_path)
    assert vars(again).keys() == vars(model).keys()
    public = [key for key in vars(model) if key.endswith("_") and key != "clusters_"]
    assert [key for key in public if not same(getattr(again, key), getattr(model, key))] == []
    if hasattr(model, "clusters_"):
        assert vars(again.clusters_).keys() == vars(model.clusters_).keys()
        assert again.clusters_._fitted.keys() == model.clusters_._fitted.keys()


@pytest.mark.parametrize("name", [name for name in EVERY if CASES[name][2] is not None])
def test_results_without_training_codes(name, tmp_path):
    needs(name)
    again = saved(fitted(name), tmp_path, training_codes=False)
    assert differing(results(again, CASES[name][2]), name) == []
    assert not read_model(tmp_path / "model.laminar").has_training_codes


def test_model_without_codes_is_saved_again(tmp_path):
    again = saved(saved(fitted("NMF"), tmp_path, training_codes=False), tmp_path)
    assert differing(results(again, NEW), "NMF") == []
    assert not read_model(tmp_path / "model.laminar").has_training_codes


def test_every_estimator_is_in_the_table():
    kinds = [kind for module in (laminar, baselines, features) for kind in estimators(module).values()]
    assert {class_name(kind) for kind in kinds} == set(ESTIMATORS)


def test_memory_order_is_kept(tmp_path):
    model = fitted("SlowFeatureAnalysis")
    again = saved(model, tmp_path)
    for name in ("components_", "patterns_", "mean_"):
        before, after = getattr(model, name), getattr(again, name)
        assert after.flags.f_contiguous == before.flags.f_contiguous
        assert after.flags.writeable
        assert after.flags.aligned


def test_shared_arrays_are_stored_once(tmp_path):
    model = fitted("NMF")
    again = saved(model, tmp_path)
    assert again.components_ is again.layers_[0].weights is again.layers_[0].components
    assert again.clusters_.H is again.layers_[0].representation


def test_loaded_model_is_fitted_again(tmp_path):
    again = saved(fitted("NMF"), tmp_path, training_codes=False)
    assert same(again.fit(X).transform(NEW), fitted("NMF").transform(NEW))
    assert again.layers_[0].whitening is None
    assert len(again.cluster()) == len(X)


def test_stream_goes_on(tmp_path):
    for activation in (None, "stanh"):
        model = stream(activation=activation)
        again = saved(model, tmp_path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            both = [each.partial_fit(X[4:20]) for each in (model, again)]
        assert same(both[0].components_, both[1].components_)


def test_loaded_model_can_be_pickled(tmp_path):
    again = saved(fitted("AttributeLayers"), tmp_path)
    assert same(pickle.loads(pickle.dumps(again)).transform(NEW), again.transform(NEW))


# ------------------------------------------------------------------------------------- without training codes


def arrays(value, n_samples, path, seen):
    """Paths of the arrays of a model that have a row for each training sample."""
    if isinstance(value, np.ndarray) or sp.issparse(value):
        return [path] if value.shape[:1] == (n_samples,) else []
    if id(value) in seen or isinstance(value, str | int | float | bool | type(None)):
        return []
    seen.add(id(value))
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list | tuple):
        items = enumerate(value)
    else:
        items = vars(value).items() if hasattr(value, "__dict__") else ()
    return [found for key, item in items for found in arrays(item, n_samples, f"{path}.{key}", seen)]


# What a method of new samples needs of the training samples, by the beginning of its path.
NEEDED = {
    "AttributeLayers": ("._bank",),
    "ClusterEnsemble": ("._spaces", "._memberships"),
    "MultipleClusterings": ("._stages", "._voters"),
    "LabelSpreading": ("._graph", "._spread"),
    "ConceptFactorization": ("._embedding",),
    "MultiViewSemiNMF": (".clusters_._fitted",),
    "MultiViewDeepNMF": (".clusters_._fitted",),
    "DeepSemiNMF": (".layers_",),  # with an activation
    "DeepWSF": (".layers_",),
}


@pytest.mark.parametrize("name", EVERY)
def test_no_training_codes_are_left(name, tmp_path):
    needs(name)
    n_samples = 5 if name in estimators(features) else len(X)
    model = fitted(name)
    again = saved(model, tmp_path, training_codes=False)
    file = read_model(tmp_path / "model.laminar")
    state = {key: value for key, value in vars(again).items() if key not in again.get_params(deep=False)}
    left = arrays(state, n_samples, "", set())
    needed = NEEDED.get(type(model).__name__, ())
    if getattr(model, "_stack", 0) is None:
        needed = ()
    assert [path for path in left if not path.startswith(needed or "?")] == []
    assert bool(left) <= bool(file.training_samples)


@pytest.mark.parametrize("name", ["NMF", "MultiViewSemiNMF names", "DeepSemiNMF all"])
def test_what_needs_codes_is_refused(name, tmp_path):
    again = saved(fitted(name), tmp_path, training_codes=False)
    with pytest.raises(ValueError, match=r"saved without training codes.*save it with training_codes=True"):
        again.cluster(CASES[name][2], n_clusters=2)
    with pytest.raises(ValueError, match="saved without training codes"):
        again.cluster()


def test_other_codes_of_the_fit_are_refused(tmp_path):
    layers = saved(fitted("AttributeLayers"), tmp_path, training_codes=False)
    with pytest.raises(ValueError, match="saved without training codes, and training_codes cannot"):
        layers.training_codes()
    deep = saved(made("DeepSemiNMF", graph=None, max_iter=3).fit(X), tmp_path, training_codes=False)
    with pytest.raises(ValueError, match="saved without training codes, and partial_fit cannot"):
        deep.partial_fit(X)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("NMF", ()),
        ("NMF init arrays", ("init",)),
        ("GNMF precomputed", ("graph",)),
        ("AttributeLayers raw", ("principal scores of the nodes of its graphs (_bank)",)),
        ("MultiViewDeepNMF", ()),
        ("ConceptFactorization rbf", ("samples that span the others (_embedding)",)),
        ("DeepSemiNMF stanh", ("layers_[0].representation", "layers_[1].representation")),
    ],
)
def test_what_is_kept_is_listed(name, kept, tmp_path):
    saved(fitted(name), tmp_path, training_codes=False)
    assert read_model(tmp_path / "model.laminar").training_samples == kept


def test_codes_of_an_initial_model_are_left_out(tmp_path):
    again = saved(fitted("NMF init model"), tmp_path, training_codes=False)
    assert again.init.layers_[0].representation.shape == (0, 3)


def test_parameters_may_have_changed_since_fit(tmp_path):
    model = fitted("DeepSemiNMF").set_params(layer=0, n_clusters=2)
    again = saved(model, tmp_path, training_codes=False)
    assert same(again.predict(NEW), model.predict(NEW))


# ------------------------------------------------------------------------------------------ what is no state


def test_unfitted_model_is_refused(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="This NMF instance is not fitted"):
        made("NMF").save(tmp_path / "model.laminar")
    assert list(tmp_path.iterdir()) == []


def test_callback_is_left_out_with_a_warning(tmp_path):
    model = made("NMF", callback=lambda state: False).fit(X)
    with pytest.warns(UserWarning, match="the callback of NMF is a function and is not saved") as caught:
        model.save(tmp_path / "model.laminar")
    assert caught[0].filename == __file__
    assert load(tmp_path / "model.laminar").callback is None
    assert model.callback is not None


def test_callback_of_an_initial_model_is_left_out(tmp_path):
    start = made("NMF", callback=lambda state: False).fit(X)
    model = made("NMF", init=start).fit(X)
    with pytest.warns(UserWarning, match="is not saved"):
        model.save(tmp_path / "model.laminar")
    assert load(tmp_path / "model.laminar").init.callback is None
    assert start.callback is not None


def kernel(a, b):
    return a @ b


def subclass():
    return type("Mine", (laminar.NMF,), {"__init__": laminar.NMF.__init__})(3)


def with_note(model):
    model.note = "mine"
    return model


REFUSED = {
    "function": (
        lambda: made("ConceptFactorization", kernel=kernel),
        TypeError,
        "parameter kernel=<function .* no code",
    ),
    "activation": (
        lambda: made("DeepSemiNMF", graph=None, activation=Activation(np.square, np.ones_like, np.sqrt)),
        TypeError,
        "functions of your own cannot be saved.*use one of identity",
    ),
    "subclass": (subclass, TypeError, "is a .*Mine, which a model file cannot hold: save one of Laminar's own"),
    "init": (
        lambda: made("NMF", init=__import__("sklearn").decomposition.NMF(3, max_iter=500).fit(X)),
        TypeError,
        r"parameters\.init is a sklearn.*NMF, which a model file cannot hold",
    ),
    "attribute": (lambda: with_note(made("NMF")), TypeError, "NMF has the attribute 'note'.*: delete it before saving"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_stored_is_named(case, tmp_path):
    make, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        make().fit(X).save(tmp_path / "model.laminar")
    assert list(tmp_path.iterdir()) == []


def test_weights_with_nan_are_not_written(tmp_path):
    model = fitted("NMF")
    model.components_ = np.full_like(model.components_, np.nan)
    with pytest.raises(ValueError, match="components_ of NMF is not a matrix of finite numbers"):
        model.save(tmp_path / "model.laminar")


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_stored_by_name(name):
    for activation in (ACTIVATIONS[name], Rectified.of(name)):
        assert type(activation)._from_file(**activation._to_file()) == activation


# -------------------------------------------------------------------------------------- data and run records


def test_description_of_data_is_kept(tmp_path):
    data, path = described(), tmp_path / "model.laminar"
    save_model(fitted("NMF"), path, data=data, run={"seconds": 1.5, "command": ["laminar", "fit"], "seed": None})
    file = read_model(path)
    assert file.data.X is None
    names = [field.name for field in fields(data) if field.name != "X"]
    assert [name for name in names if not same(getattr(file.data, name), getattr(data, name))] == []
    assert file.run == {"seconds": 1.5, "command": ["laminar", "fit"], "seed": None}
    assert (file.version, file.format_version, file.has_training_codes) == (laminar.__version__, 1, True)
    assert file.training_samples == ("layers_[0].representation", "data")


def readers():
    from laminar.io import arrays, images, omics, tables, texts, video, views

    words = texts.TextReader(column="text", vocabulary=("red", "roses"), idf=np.array([1.5, 1.2]))
    return {
        "images": images.ImageReader(size=(8, 6), colour=True, labels_from="folders"),
        "video": video.VideoReader(size=8, every=2),
        "texts": words,
        "tables": tables.TableReader(id_column="id", label_columns=("pose", "light"), one_hot=True),
        "arrays": arrays.ArrayReader(name="X", divisors={"X": 255.0}),
        "omics": omics.AnnDataReader(),
        "views": views.ViewsReader({"words": words, "pixels": images.ImageReader()}),
    }


@pytest.mark.parametrize("kind", ["images", "video", "texts", "tables", "arrays", "omics", "views"])
def test_reader_is_kept(kind, tmp_path):
    reader = readers()[kind]
    save_model(fitted("NMF"), tmp_path / "model.laminar", data=replace(described(), reader=reader))
    assert same(read_model(tmp_path / "model.laminar").data.reader, reader)


def test_names_of_samples_are_left_out(tmp_path):
    fitted("NMF").save(tmp_path / "model.laminar", data=described(), training_codes=False)
    file = read_model(tmp_path / "model.laminar")
    assert file.data.n_samples == 0
    assert file.data.labels is file.data.groups is file.data.sources is None
    assert file.data.image_shape == (2, 3)
    assert b"sample 3" not in (tmp_path / "model.laminar").read_bytes()
    assert file.training_samples == ()


def test_many_names_are_stored(tmp_path):
    from laminar.io.dataset import Dataset

    ids = np.array([f'"{i}" é' for i in range(1000)])
    fitted("NMF").save(tmp_path / "model.laminar", data=Dataset(None, ids))
    assert same(read_model(tmp_path / "model.laminar").data.ids, ids)


def test_codes_given_as_start_stay(tmp_path):
    assert same(saved(fitted("NMF init arrays"), tmp_path).init[0], H0)
