"""Models on tensors: results are tensors on the same device, and those of numpy."""

import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

import laminar
from laminar import GNMF, NMF, WSF, ClassDrivenNMF, DeepSemiNMF, DeepWSF, SemiNMF, SlowFeatureNMF
from laminar._utils.device.array import DeviceArray
from laminar._utils.device.namespaces import Device
from tensors import DEVICES, MEMORY, WITHOUT_TORCH, tensor, to_numpy, treat_memory_as_device

N, P = 210, 24  # more than one tile of rows
RNG = np.random.default_rng(0)
CODES = RNG.random((N, 5)) * (RNG.random((N, 5)) < 0.6)
POSITIVE = CODES @ RNG.random((5, P)) + 0.1 * RNG.random((N, P))
MIXED = CODES @ RNG.normal(size=(5, P)) + 0.1 * RNG.normal(size=(N, P))
MIXED -= MIXED.mean(0)
LABELS = RNG.integers(-1, 3, N)

MODELS = {
    "NMF": (NMF(4), POSITIVE, None),
    "NMF KL": (NMF(4, loss="kl"), POSITIVE, None),
    "NMF mu": (NMF(4, solver="mu"), POSITIVE, None),
    "NMF published": (NMF(4, rule="published"), POSITIVE, None),
    "SemiNMF": (SemiNMF(4), MIXED, None),
    "SemiNMF closed form": (SemiNMF(4), POSITIVE, None),
    "SemiNMF offset": (SemiNMF(4, fit_offset=True), MIXED, None),
    "SemiNMF published": (SemiNMF(4, rule="published"), MIXED, None),
    "WSF": (WSF(4), MIXED, LABELS),
    "WSF published": (WSF(4, rule="published"), MIXED, LABELS),
    "ClassDrivenNMF": (ClassDrivenNMF(n_components=4), POSITIVE, LABELS),
    "ClassDrivenNMF KL": (ClassDrivenNMF(n_components=4, loss="kl"), POSITIVE, LABELS),
    "DeepSemiNMF": (DeepSemiNMF((6, 3)), MIXED, None),
    "DeepSemiNMF closed form": (DeepSemiNMF((6, 3)), POSITIVE, None),
}
# In single precision rounding decides when a fit stops: so many iterations are made.
SETTINGS = {np.float32: {"max_iter": 8, "tol": 0.0}, np.float64: {"max_iter": 30}}
# Published rules have no ridge: in single precision new codes on components that nearly cancel each other are rounding.
CASES = [(name, dtype) for name in MODELS for dtype in SETTINGS if dtype == np.float64 or "published" not in name]
# Codes of the fit are tens of times X, and their rounding is multiplied in the reconstruction.
LARGE_CODES = {"SemiNMF offset", "ClassDrivenNMF", "NMF KL"}


@pytest.fixture(params=["strict device", pytest.param("torch memory", marks=WITHOUT_TORCH)])
def kind(request):
    return request.param


def fitted(name, dtype, kind):
    """Return a model of numpy and one of tensors, and the data of both."""
    model, X, y = MODELS[name]
    model = clone(model).set_params(random_state=0, **SETTINGS[dtype])
    X = X.astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y), clone(model).fit(tensor(X, kind), y), X


def distance(A, B):
    return np.linalg.norm(A - B) / np.linalg.norm(A)


@pytest.mark.parametrize(("name", "dtype"), CASES)
@pytest.mark.parametrize("kind", DEVICES)
def test_results_on_a_device_are_those_of_numpy(name, dtype, kind, monkeypatch):
    treat_memory_as_device(kind, monkeypatch)
    ours, theirs, X = fitted(name, dtype, kind)
    new = X[:20] * dtype(0.5)
    T, rounding = tensor(new, kind), 1e-5 if dtype == np.float32 else 1e-8
    tol, size = (10 * rounding if name in LARGE_CODES else rounding), float(np.linalg.norm(X))
    codes, components = to_numpy(theirs.layers_[-1].representation), to_numpy(theirs.components_)
    assert codes.dtype == components.dtype == dtype
    assert theirs.n_iter_ == ours.n_iter_
    assert theirs.reconstruction_err_ == pytest.approx(ours.reconstruction_err_, abs=rounding * size)
    assert distance(ours.layers_[-1].representation @ ours.components_, codes @ components) < tol
    again = theirs.inverse_transform(theirs.transform(T))
    assert distance(ours.inverse_transform(ours.transform(new)), to_numpy(again)) < tol
    if name.endswith("KL"):  # a thousand iterations for each of these
        return
    assert theirs.score(T) == pytest.approx(ours.score(new), abs=rounding)
    assert adjusted_rand_score(to_numpy(theirs.predict(T)), ours.predict(new)) > 0.9


@pytest.mark.parametrize("name", ["NMF", "SemiNMF offset", "ClassDrivenNMF", "DeepSemiNMF"])
@pytest.mark.parametrize("kind", MEMORY)
def test_results_in_memory_are_exactly_those_of_numpy(name, kind):
    ours, theirs, X = fitted(name, np.float32, kind)
    T = tensor(X, kind)
    assert np.array_equal(to_numpy(theirs.layers_[-1].representation), ours.layers_[-1].representation)
    assert np.array_equal(to_numpy(theirs.components_), ours.components_)
    assert np.array_equal(to_numpy(theirs.transform(T)), ours.transform(X))
    assert np.array_equal(to_numpy(theirs.predict(T)), ours.predict(X))


def test_all_arrays_are_on_the_device_of_the_data(kind):
    _, model, X = fitted("SemiNMF offset", np.float64, kind)
    device = Device.of(tensor(X, kind))
    layer = model.layers_[0]
    arrays = [model.components_, model.offset_, model.objective_history_, layer.weights, layer.representation]
    assert [Device.of(array) for array in arrays] == [device] * len(arrays)
    assert layer.components is model.components_


def test_codes_of_numpy_on_a_model_of_tensors_are_of_numpy(kind):
    ours, theirs, X = fitted("SemiNMF", np.float64, kind)
    assert np.allclose(theirs.transform(X), ours.transform(X))
    assert np.array_equal(theirs.predict(X), ours.predict(X))
    assert np.allclose(to_numpy(ours.transform(tensor(X, kind))), ours.transform(X))


@pytest.mark.parametrize("form", ["raw", "whitened", "isometric"])
def test_forms_of_codes(form, kind):
    ours, theirs, X = fitted("DeepSemiNMF", np.float64, kind)
    T = tensor(X, kind)
    expected = ours.transform(X, layer="all", readout=form)
    assert np.allclose(to_numpy(theirs.transform(T, layer="all", readout=form)), expected, atol=1e-8)


def test_codes_of_any_sign(kind):
    ours, theirs, X = fitted("SemiNMF", np.float64, kind)
    codes = to_numpy(theirs.transform(tensor(X, kind), method="pinv"))
    assert np.allclose(codes, ours.transform(X, method="pinv"))


def test_fit_transform_and_fit_predict_return_tensors(kind):
    T = tensor(MIXED, kind)
    model = SemiNMF(4, random_state=0)
    assert np.allclose(to_numpy(clone(model).fit_transform(T)), clone(model).fit_transform(MIXED), atol=1e-8)
    assert np.array_equal(to_numpy(clone(model).fit_predict(T)), clone(model).fit_predict(MIXED))
    assert np.array_equal(to_numpy(clone(model).fit(T).cluster()), clone(model).fit(MIXED).cluster())


@pytest.mark.parametrize("init", ["random", "kmeans", "nndsvd", "nndsvdar", "svd", "lp"])
def test_starts(init, kind):
    signed = init in ("svd", "lp")
    model, X = (SemiNMF(4, init=init) if signed else NMF(4, init=init)), POSITIVE
    model = model.set_params(random_state=0, max_iter=5, tol=0.0)
    ours, theirs = clone(model).fit(X), clone(model).fit(tensor(X, kind))
    assert theirs.reconstruction_err_ == pytest.approx(ours.reconstruction_err_, rel=1e-9)


def test_start_from_given_factors(kind):
    H, Z = RNG.random((N, 4)), RNG.random((4, P))
    settings = {"max_iter": 5, "tol": 0.0}
    ours = NMF(4, init=(H, Z), **settings).fit(POSITIVE)
    theirs = NMF(4, init=(tensor(H, kind), tensor(Z, kind)), **settings).fit(tensor(POSITIVE, kind))
    assert theirs.reconstruction_err_ == pytest.approx(ours.reconstruction_err_, rel=1e-9)
    other = NMF(4, init=theirs, **settings).fit(tensor(POSITIVE, kind))
    assert other.reconstruction_err_ == pytest.approx(NMF(4, init=ours, **settings).fit(POSITIVE).reconstruction_err_)


def test_components_that_depend_on_each_other(kind):
    H = np.repeat(RNG.random((N, 2)), 2, axis=1)
    Z = np.repeat(RNG.random((2, P)), 2, axis=0)
    ours = NMF(4, init=(H, Z), max_iter=1, tol=0.0).fit(H @ Z)
    theirs = NMF(4, init=(H, Z), max_iter=1, tol=0.0).fit(tensor(H @ Z, kind))
    assert theirs.score(tensor(H @ Z, kind)) == pytest.approx(ours.score(H @ Z))


def test_more_features_than_samples(kind):
    X = RNG.normal(size=(15, 40))
    for model in (SemiNMF(3, random_state=0), SemiNMF(3, fit_offset=True, random_state=0)):
        error = clone(model).fit(X).reconstruction_err_
        assert clone(model).fit(tensor(X, kind)).reconstruction_err_ == pytest.approx(error, rel=1e-8)


def test_tall_data_start_on_a_subsample(kind):
    X = RNG.random((9000, 4)) @ RNG.normal(size=(4, 6))
    model = SemiNMF(3, random_state=0, max_iter=3, tol=0.0)
    error = clone(model).fit(X).reconstruction_err_
    assert clone(model).fit(tensor(X, kind)).reconstruction_err_ == pytest.approx(error, rel=1e-8)


def test_labels_are_tensors_or_names(kind):
    names = np.array(["a", "b", "c"])[LABELS]
    model = ClassDrivenNMF(n_components=3, max_iter=5, tol=0.0)
    T = tensor(POSITIVE, kind)
    numbers = clone(model).fit(T, tensor(LABELS, kind)).predict(T)
    assert np.array_equal(to_numpy(numbers), clone(model).fit(POSITIVE, LABELS).predict(POSITIVE))
    assert (
        clone(model).fit(T, names).predict(T).tolist() == clone(model).fit(POSITIVE, names).predict(POSITIVE).tolist()
    )


# ---- around a fit ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("training_codes", [True, False])
def test_model_file(training_codes, kind, tmp_path):
    _, model, X = fitted("SemiNMF", np.float32, kind)
    model.save(tmp_path / "model.laminar", training_codes=training_codes)
    loaded = laminar.load(tmp_path / "model.laminar")
    assert isinstance(loaded.components_, np.ndarray)
    assert np.array_equal(loaded.transform(X), model.transform(X))
    assert np.array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize("library", ["strict memory", pytest.param("torch memory", marks=WITHOUT_TORCH)])
def test_pickles_and_clones(library):
    _, model, _ = fitted("NMF", np.float64, library)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(to_numpy(again.components_), to_numpy(model.components_))
    assert not hasattr(clone(model), "components_")


def test_second_fit_replaces_tensors(kind):
    _, model, X = fitted("SemiNMF", np.float32, kind)
    assert isinstance(model.fit(X).components_, np.ndarray)
    assert isinstance(model.layers_[0].representation, np.ndarray)


def test_failed_fit_leaves_the_model_as_it_was(kind):
    _, model, X = fitted("SemiNMF", np.float64, kind)
    before = model.components_
    with pytest.raises(ValueError, match="NaN"):
        model.fit(tensor(np.where(X > 1, np.nan, X), kind))
    assert model.components_ is before


def test_callbacks_see_tensors(kind):
    found = []
    model = NMF(3, max_iter=2, tol=0.0, callback=lambda state: found.append(state.model().components_))
    model.fit(tensor(POSITIVE, kind))
    assert {Device.of(Z) for Z in found} == {Device.of(model.components_)}


def test_tables(kind):
    model = NMF(3, max_iter=3, tol=0.0).set_output(transform="pandas")
    assert isinstance(model.fit(tensor(POSITIVE, kind)).transform(tensor(POSITIVE, kind)), pd.DataFrame)


def test_pipeline(kind):
    T = tensor(POSITIVE, kind)
    codes = make_pipeline(FunctionTransformer(), NMF(3, max_iter=3, tol=0.0)).fit_transform(T)
    assert to_numpy(codes).shape == (N, 3)


def test_data_are_not_copied_or_changed():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X = torch.tensor(POSITIVE)
    before = X.clone()
    NMF(3, max_iter=2, tol=0.0).fit(X)
    assert torch.equal(X, before)


# ---- bad input, and models without support ---------------------------------------------------------------------------


@pytest.mark.parametrize("X", [np.full((5, 3), np.nan), np.zeros((0, 3)), np.zeros(4)], ids=["NaN", "empty", "1d"])
def test_bad_data(X, kind):
    with pytest.raises(ValueError, match=r"NaN|sample|dimension|1D"):
        NMF(2).fit(tensor(X, kind))


def test_other_number_of_features(kind):
    _, model, X = fitted("NMF", np.float64, kind)
    with pytest.raises(ValueError, match="23 features"):
        model.transform(tensor(X[:, :-1], kind))


def test_negative_data(kind):
    with pytest.raises(ValueError, match="Negative values in data"):
        NMF(2).fit(tensor(MIXED, kind))


def test_whole_numbers(kind):
    model = NMF(2, max_iter=3, tol=0.0).fit(tensor(np.arange(12).reshape(4, 3), kind))
    assert to_numpy(model.components_).dtype == np.float64


WITHOUT = [GNMF(3), SlowFeatureNMF(3), DeepWSF((4, 2)), WSF(3, graph="knn"), DeepSemiNMF((4, 2), activation="stanh")]


@pytest.mark.parametrize("model", WITHOUT, ids=lambda model: type(model).__name__)
def test_models_without_support(model, kind):
    model = clone(model).set_params(max_iter=2, random_state=0)
    assert not get_tags(model).array_api_support
    if kind.endswith("device"):
        with pytest.raises(TypeError, match="is fitted in memory"):
            model.fit(tensor(POSITIVE, kind))
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert isinstance(model.fit(tensor(POSITIVE, kind)).components_, np.ndarray)


@pytest.mark.parametrize("name", MODELS)
def test_tag(name):
    assert get_tags(MODELS[name][0]).array_api_support


def test_no_checkpoint_of_a_fit_on_a_device(kind, tmp_path):
    if kind.endswith("memory"):
        pytest.skip("in memory there are checkpoints")
    with pytest.raises(TypeError, match="has no checkpoints"), laminar.checkpoint(tmp_path / "run"):
        NMF(2).fit(tensor(POSITIVE, kind))


def test_no_tall_array_comes_back_in_an_iteration(kind, monkeypatch):
    if kind.endswith("memory"):
        pytest.skip("in memory all arrays are numpy's")
    sizes = []
    original = DeviceArray.host
    monkeypatch.setattr(DeviceArray, "host", lambda self, data: sizes.append(data.shape) or original(self, data))
    NMF(3, max_iter=3, tol=0.0).fit(tensor(POSITIVE, kind))
    assert sizes
    assert all(N not in shape for shape in sizes)


CHECKS = """
import warnings; warnings.simplefilter("ignore")
from sklearn.utils.estimator_checks import _yield_array_api_checks
from laminar import *
from unittest import SkipTest
settings = {"max_iter": 10, "tol": 0.0, "random_state": 0}
for model in (NMF(3, **settings), SemiNMF(3, **settings), WSF(3, **settings), ClassDrivenNMF(**settings)):
    n = 0
    for check in _yield_array_api_checks(model):
        try:
            check(type(model).__name__, model)
            n += 1
        except SkipTest:
            pass
    print(type(model).__name__, n)
"""


def test_checks_of_scikit_learn():
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    if not hasattr(checks, "_yield_array_api_checks"):
        pytest.skip("this version of scikit-learn has no such checks")
    # scipy reads the variable when it is imported: in a process of its own.
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    run = subprocess.run([sys.executable, "-c", CHECKS], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    assert all(int(line.split()[1]) > 1 for line in run.stdout.splitlines())
