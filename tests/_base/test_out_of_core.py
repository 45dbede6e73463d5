"""Models on arrays on disk that do not fit into memory: results by blocks, validation, refusals, peak memory."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import laminar
from laminar import NMF, WSF, ClassDrivenNMF, DeepSemiNMF, SemiNMF, SlowFeatureNMF

N, P = 400, 12
MEMORY = "32kB"  # X has 38 kB: blocks of 20 rows
FEW = {"max_iter": 8, "tol": 0, "random_state": 0}
rng = np.random.default_rng(0)
X = rng.gamma(1.0, size=(N, 4)) @ rng.gamma(0.3, size=(4, P)) + 0.5 * rng.random((N, P))
CENTRED = X - X.mean(0)
Y = rng.integers(-1, 3, N)

MODELS = {  # model, data, labels
    "nmf": (NMF(4, **FEW), X, None),
    "nmf random": (NMF(4, init="random", **FEW), X, None),
    "nmf mu": (NMF(4, solver="mu", **FEW), X, None),
    "nmf kl": (NMF(4, loss="kl", **FEW), X, None),
    "nmf published": (NMF(4, rule="published", **FEW), X, None),
    "semi-nmf": (SemiNMF(4, **FEW), X, None),
    "semi-nmf mixed": (SemiNMF(4, **FEW), CENTRED, None),
    "semi-nmf offset": (SemiNMF(3, fit_offset=True, **FEW), CENTRED, None),
    "wsf": (WSF(4, **FEW), X, Y),
    "wsf chain": (WSF(4, graph="chain", **FEW), X, None),
    "class-driven": (ClassDrivenNMF(**FEW), X, Y),
    "class-driven kl": (ClassDrivenNMF(loss="kl", **FEW), X, Y),
    "slow": (SlowFeatureNMF(4, **FEW), X, None),
    "deep": (DeepSemiNMF((6, 3), **FEW), X, None),
    "deep mixed": (DeepSemiNMF((6, 3), **FEW), CENTRED, None),
    "deep-wsf": (laminar.DeepWSF((6, 3), **FEW), CENTRED, Y),
}
REFUSING = {
    "gnmf": laminar.GNMF(3),
    "concept": laminar.ConceptFactorization(3),
    "attributes": laminar.AttributeLayers(),
    "sfa": laminar.SlowFeatureAnalysis(),
    "views": laminar.MultiViewSemiNMF(n_clusters=2, view_sizes=(6, 6)),
    "network": DeepSemiNMF((4, 2), activation="softplus"),
    "batches": DeepSemiNMF((4, 2), batch_size=50),
    "published layers": DeepSemiNMF((4, 2), rule="published"),
}
NEEDING_ALL = {
    "neighbours": WSF(3, graph="knn"),
    "bandwidth": WSF(3, weight="rbf"),
}


def npy(path, array):
    np.save(path / "X.npy", array)
    return np.load(path / "X.npy", mmap_mode="r")


def hdf5(path, array):
    h5py = pytest.importorskip("h5py", reason="HDF5 files need h5py")
    file = h5py.File(path / "X.h5", "w")
    return file.create_dataset("X", data=array, chunks=(10, array.shape[1]))


def zarr(path, array):
    module = pytest.importorskip("zarr", reason=".zarr files need zarr")
    stored = module.open(str(path / "X.zarr"), mode="w", shape=array.shape, chunks=(16, 5), dtype=array.dtype)
    stored[:] = array
    return stored


FORMATS = {"npy": npy, "hdf5": hdf5, "zarr": zarr}


@pytest.fixture
def small_memory():
    with laminar.config_context(max_memory=MEMORY):
        yield


def fitted(model, data, y):
    return clone(model).fit(data, y)


# The same results


def assert_same(found, expected, **tolerance):
    assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max(), rtol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_fits_equal_those_in_memory(name, tmp_path):
    model, data, y = MODELS[name]
    stored = hdf5(tmp_path, data)
    expected = fitted(model, data, y)
    codes, score = expected.transform(data), expected.score(data)
    with laminar.config_context(max_memory=MEMORY):
        found = fitted(model, stored, y)
        assert_same(found.components_, expected.components_)
        assert_same(found.layers_[-1].representation, expected.layers_[-1].representation)
        assert_same(found.reconstruction_err_, expected.reconstruction_err_)
        assert_same(found.objective_history_[-1], expected.objective_history_[-1])
        assert_same(found.transform(stored), codes)
        assert_same(found.score(stored), score)
        assert_array_equal(found.n_features_in_, P)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int16"])
def test_formats_give_equal_fits(kind, dtype, tmp_path):
    data = (10 * X).astype(dtype)
    expected = NMF(3, **FEW).fit(data)
    stored = FORMATS[kind](tmp_path, data)
    with laminar.config_context(max_memory=MEMORY if dtype == "float64" else "16kB"):
        found = NMF(3, **FEW).fit(stored)
        codes = found.transform(stored)
    assert codes.dtype == found.components_.dtype == expected.components_.dtype
    tolerance = 1e-6 if dtype != "float32" else 1e-3
    assert_allclose(found.components_, expected.components_, atol=tolerance * expected.components_.max())


def test_codes_on_disk_are_kept_by_the_model(small_memory, tmp_path):
    model = NMF(4, **FEW).fit(npy(tmp_path, X))
    H = model.layers_[-1].representation
    assert H.base is not None
    assert type(H) is np.ndarray
    assert H.shape == (N, 4)
    assert_array_equal(model.cluster(), model.fit_predict(npy(tmp_path, X)))


def test_fit_transform_returns_the_codes_of_the_fit(small_memory, tmp_path):
    stored = npy(tmp_path, X)
    model = NMF(4, **FEW)
    H = model.fit_transform(stored)
    assert_array_equal(H, model.layers_[-1].representation)
    assert not np.shares_memory(H, model.layers_[-1].representation)


def test_predictions_equal_those_in_memory(tmp_path):
    stored, expected = hdf5(tmp_path, X), NMF(4, **FEW).fit(X).predict(X)
    with laminar.config_context(max_memory=MEMORY):
        assert_array_equal(NMF(4, **FEW).fit(stored).predict(stored), expected)


def test_small_arrays_on_disk_are_loaded(tmp_path):
    assert_array_equal(NMF(3, **FEW).fit(hdf5(tmp_path, X)).components_, NMF(3, **FEW).fit(X).components_)


# Validation


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_entries_that_are_not_finite_are_refused_alike(kind, value, small_memory, tmp_path):
    bad = X.copy()
    bad[N // 2, 3] = value
    with pytest.raises(ValueError, match="X contains") as in_memory:
        SemiNMF(2).fit(bad)
    with pytest.raises(ValueError, match="X contains") as on_disk:
        SemiNMF(2).fit(FORMATS[kind](tmp_path, bad))
    assert str(on_disk.value) == str(in_memory.value)


def test_negative_entries_are_refused_alike(small_memory, tmp_path):
    with pytest.raises(ValueError, match="the smallest entry of X is") as in_memory:
        NMF(2).fit(CENTRED)
    with pytest.raises(ValueError, match="the smallest entry of X is") as on_disk:
        NMF(2).fit(npy(tmp_path, CENTRED))
    assert str(on_disk.value) == str(in_memory.value)


def test_other_numbers_of_features_are_refused_alike(small_memory, tmp_path):
    model = NMF(2, **FEW).fit(X)
    with pytest.raises(ValueError, match="is expecting 12 features"):
        model.transform(npy(tmp_path, np.hstack([X, X])))


# Models that need all of X


@pytest.mark.parametrize("name", REFUSING)
def test_models_without_blocks_refuse(name, small_memory, tmp_path):
    with pytest.raises(ValueError, match=r"needs all of it at once: load it with X\[:\]"):
        REFUSING[name].fit(hdf5(tmp_path, X), Y)


@pytest.mark.parametrize("name", NEEDING_ALL)
def test_parameters_that_need_all_of_X_are_refused(name, small_memory, tmp_path):
    y = Y if name == "bandwidth" else None
    with pytest.raises(ValueError, match=r"this needs all of it at once"):
        NEEDING_ALL[name].fit(npy(tmp_path, X), y)


# Memory

SCRIPT = """
import json, sys, warnings
import numpy as np
import laminar

def memory(name="RssAnon"):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name)) / 1000

warnings.simplefilter("ignore")
folder = sys.argv[1]
X = np.load(folder + "/X.npy", mmap_mode="r")
peaks = []
note = lambda state: peaks.append(memory())
small = laminar.NMF(8, max_iter=3, tol=0, random_state=0).fit(np.array(X[:20000]))  # compiles kernels
base, resident = memory(), memory("VmRSS")
with laminar.config_context(max_memory="16MB", temp_folder=folder):
    model = laminar.NMF(8, max_iter=3, tol=0, random_state=0, callback=note).fit(X)
    H = model.transform(X)
found = {"peak": max(peaks) - base, "high": memory("VmHWM") - resident, "shape": H.shape}
print(json.dumps(found))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is read from /proc")
def test_peak_memory_is_bounded(tmp_path):
    rows, block = 100_000, 20_000
    file = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, (rows, 256))  # 102 MB
    for start in range(0, rows, block):
        file[start : start + block] = np.random.default_rng(start).random((block, 256), dtype=np.float32)
    del file
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"},
    )
    found = json.loads(run.stdout)
    assert found["shape"] == [rows, 8]
    assert found["peak"] < 50, found
    assert found["high"] < 100, found  # with pages of temporary files: the codes of the start alone have 13 MB
