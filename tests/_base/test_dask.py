"""Fits on the workers of a real cluster of processes: the results of memory, whatever happens to the workers."""

import os
import signal
import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import laminar
from laminar import (
    NMF,
    WSF,
    ClassDrivenNMF,
    DeepSemiNMF,
    DeepWSF,
    MultiViewDeepNMF,
    MultiViewSemiNMF,
    SemiNMF,
    SlowFeatureNMF,
)
from laminar._utils.workers import files, pool, store

da = pytest.importorskip("dask.array", reason='dask is not installed: pip install "laminar-nmf[dask]"')
distributed = pytest.importorskip("distributed", reason='dask is not installed: pip install "laminar-nmf[dask]"')

pytestmark = pytest.mark.filterwarnings("default", "ignore::sklearn.exceptions.ConvergenceWarning")

rng = np.random.default_rng(0)
N, P = 1100, 12
CHUNKS = (200, -1)  # no multiple of a tile, and a last block of another size
H = rng.gamma(0.5, size=(N, 4))
X = H @ rng.random((4, P)) + 0.1 * rng.random((N, P))
CENTRED = X - X.mean(0)
Y = np.where(rng.random(N) < 0.3, H.argmax(1), -1)
GROUPS = np.repeat([0, 1, 2], [300, 500, 300])
VIEWS = [X[:, :7], X[:, 7:]]
FEW = {"random_state": 0, "max_iter": 12}

MODELS = {  # model, data, further arguments of fit
    "nmf": (NMF(4, **FEW), X, {}),
    "nmf random": (NMF(4, init="random", **FEW), X, {}),
    "nmf nndsvdar": (NMF(4, init="nndsvdar", solver="mu", **FEW), X, {}),
    "nmf kl": (NMF(4, loss="kl", **FEW), X, {}),
    "nmf published": (NMF(4, rule="published", **FEW), X, {}),
    "semi-nmf": (SemiNMF(4, **FEW), X, {}),
    "semi-nmf svd": (SemiNMF(4, init="svd", **FEW), X, {}),
    "semi-nmf mixed": (SemiNMF(4, **FEW), CENTRED, {}),
    "semi-nmf offset": (SemiNMF(3, fit_offset=True, **FEW), CENTRED, {}),
    "wsf": (WSF(4, **FEW), CENTRED, {"y": Y}),
    "wsf attributes": (WSF(4, **FEW), X, {"y": np.c_[Y, Y % 2]}),
    "wsf chain": (WSF(4, graph="chain", **FEW), X, {"groups": GROUPS}),
    "class-driven": (ClassDrivenNMF(**FEW), X, {"y": Y}),
    "slow": (SlowFeatureNMF(4, **FEW), X, {}),
    "slow sequences": (SlowFeatureNMF(4, **FEW), X, {"groups": GROUPS}),
    "deep": (DeepSemiNMF((6, 3), **FEW), X, {}),
    "deep mixed": (DeepSemiNMF((6, 3), **FEW), CENTRED, {}),
    "deep coupled": (DeepSemiNMF((6, 3), objective="coupled", **FEW), X, {}),
    "deep-wsf": (DeepWSF((6, 3), **FEW), CENTRED, {"y": Y}),
}


@pytest.fixture(scope="module")
def client():
    """A client of two workers, each a process with one thread."""
    with _cluster(2) as cluster, distributed.Client(cluster) as found:
        yield found


def _cluster(n_workers):
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", memory_limit=0, silence_logs=50
    )


def _dask(array, chunks=CHUNKS):
    return da.from_array(array, chunks=chunks if array.ndim == 2 else chunks[0])


def _fits(name):
    model, data, arguments = MODELS[name]
    there = {key: _dask(value) for key, value in arguments.items()}
    return clone(model).fit(data, **arguments), clone(model).fit(_dask(data), **there), data


def _close(got, expected, rtol=1e-6):
    """Agreement relative to the largest magnitude."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert_allclose(got, expected, rtol=0, atol=rtol * np.abs(expected).max())


# The same as in memory


@pytest.mark.parametrize("name", MODELS)
def test_fit_is_that_of_memory(client, name):
    here, there, _ = _fits(name)
    assert here.n_iter_ == there.n_iter_
    _close(there.components_, here.components_)
    _close(there.objective_history_, here.objective_history_)
    for mine, theirs in zip(here.layers_, there.layers_, strict=True):
        assert isinstance(theirs.representation, da.Array)
        assert theirs.representation.shape == (N, len(theirs.weights))
        _close(theirs.representation, mine.representation)


@pytest.mark.parametrize("name", ["nmf", "semi-nmf offset", "wsf", "class-driven", "slow", "deep mixed"])
def test_methods_return_dask_arrays(client, name):
    here, there, data = _fits(name)
    new = data[: N // 2]
    codes = there.transform(_dask(new))
    assert isinstance(codes, da.Array)
    _close(codes, here.transform(new), 1e-5 if name == "slow" else 1e-6)
    for readout in ("whitened", "isometric", 0.0):
        _close(there.transform(_dask(new), readout=readout), here.transform(new, readout=readout), 1e-5)
    assert_array_equal(there.predict(_dask(new)), here.predict(new))
    assert isinstance(there.cluster(n_clusters=3), da.Array)
    assert_array_equal(there.cluster(n_clusters=3), here.cluster(n_clusters=3))
    _close(there.inverse_transform(codes), here.inverse_transform(here.transform(new)), 1e-5)
    assert there.score(_dask(new)) == pytest.approx(here.score(new), abs=1e-6)
    _close(there.transform(new), here.transform(new))  # of an array in memory, an array


def test_codes_of_a_divergence_are_those_of_memory(client):
    """They are iterated on the workers, hundreds of steps: once is enough."""
    here, there, data = _fits("nmf kl")
    codes = there.transform(_dask(data[: N // 2]))
    assert isinstance(codes, da.Array)
    _close(codes, here.transform(data[: N // 2]))


@pytest.mark.parametrize("name", ["nmf", "wsf"])
def test_fit_transform_and_fit_predict(client, name):
    model, data, arguments = MODELS[name]
    _close(clone(model).fit_transform(_dask(data), **arguments), clone(model).fit_transform(data, **arguments))
    found = clone(model).fit_predict(_dask(data), **arguments)
    assert_array_equal(found, clone(model).fit_predict(data, **arguments))


@pytest.mark.parametrize("model", [MultiViewDeepNMF((6, 4), graph=None), MultiViewSemiNMF(5)], ids=["deep", "semi"])
def test_views_are_those_of_memory(client, model):
    model = model.set_params(n_clusters=3, **FEW)
    here, there = clone(model).fit(VIEWS), clone(model).fit([_dask(view) for view in VIEWS])
    _close(there.components_, here.components_)
    _close(there.embedding_, here.embedding_)
    assert_array_equal(there.labels_, here.labels_)
    _close(there.transform([_dask(VIEWS[0]), None]), here.transform([VIEWS[0], None]))
    side_by_side = clone(model).set_params(view_sizes=(7, 5)).fit(_dask(X))
    _close(side_by_side.components_, here.components_)


def test_missing_views_are_those_of_memory(client):
    views = [view.copy() for view in VIEWS]
    views[0][::5], views[1][1::7] = np.nan, np.nan
    views[1][::5] = VIEWS[1][::5]
    model = MultiViewSemiNMF(5, n_clusters=3, **FEW)
    here, there = clone(model).fit(views, Y), clone(model).fit([_dask(view) for view in views], _dask(Y))
    _close(there.components_, here.components_)
    _close(there.layers_[0].representation, here.layers_[0].representation)
    complete = MultiViewDeepNMF((6, 4), graph=None, n_clusters=3, **FEW).fit([_dask(view) for view in VIEWS])
    in_memory = MultiViewDeepNMF((6, 4), graph=None, n_clusters=3, **FEW).fit(VIEWS)
    _close(complete.transform([_dask(view) for view in views]), in_memory.transform(views))


def test_data_frames(client):
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(P)])
    here, there = NMF(4, **FEW).fit(frame), NMF(4, **FEW).fit(dd.from_pandas(frame, npartitions=4))
    assert_array_equal(there.feature_names_in_, here.feature_names_in_)
    _close(there.components_, here.components_)
    _close(there.transform(dd.from_pandas(frame, npartitions=3)), here.transform(frame))


def test_float32_stays_float32(client):
    model = NMF(4, **FEW).fit(_dask(X.astype(np.float32)))
    assert model.components_.dtype == model.layers_[0].representation.dtype == np.float32
    assert model.transform(_dask(X.astype(np.float32))).dtype == np.float32


def test_columns_in_several_blocks(client):
    whole = NMF(4, **FEW).fit(_dask(X))
    assert_array_equal(NMF(4, **FEW).fit(_dask(X, (200, 5))).components_, whole.components_)


def test_persisted_blocks_are_used_where_they_are(client):
    persisted = _dask(X, (192, -1)).persist()
    distributed.wait(persisted)
    assert_array_equal(NMF(4, **FEW).fit(persisted).components_, NMF(4, **FEW).fit(_dask(X, (192, -1))).components_)


def test_local_cluster_where_there_is_no_client():
    """Without a client one in this process is started, in a process of its own here."""
    script = (
        "import dask.array as da, numpy as np, laminar\n"
        "X = np.random.default_rng(0).random((400, 6))\n"
        "here = laminar.NMF(3, random_state=0).fit(X)\n"
        "there = laminar.NMF(3, random_state=0).fit(da.from_array(X, chunks=(192, -1)))\n"
        "assert np.allclose(here.components_, there.components_, atol=1e-9)\n"
        "assert there.transform(da.from_array(X)).compute().shape == (400, 3)\n"
    )
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_large_arrays_are_not_taken_for_files(client):
    """A dask array of more than half of max_memory is computed on the workers, and not read block by block here."""
    expected = NMF(4, **FEW).fit(_dask(X))
    with laminar.config_context(max_memory="10kB"):
        found = NMF(4, **FEW).fit(_dask(X))
    assert isinstance(found.layers_[0].representation, da.Array)
    assert_array_equal(found.components_, expected.components_)


# What cannot be done there


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (WSF(3, graph="knn"), "compares samples in different blocks"),
        (WSF(3, weight="rbf"), "compares samples in different blocks"),
        (MultiViewDeepNMF((4, 3)), "compares samples in different blocks"),
        (DeepSemiNMF((4, 2), activation="softplus"), "needs all samples in one place"),
        (DeepSemiNMF((4, 2), batch_size=50), "needs all samples in one place"),
        (DeepSemiNMF((4, 2), rule="published"), "needs all samples in one place"),
        (laminar.GNMF(3), "needs all samples in one place"),
        (laminar.AttributeLayers(), "needs all samples in one place"),
        (laminar.MultiNMF(3), "needs all samples in one place"),
    ],
)
def test_models_that_need_all_samples_refuse(client, model, message):
    labelled = isinstance(model, WSF | laminar.AttributeLayers)
    with pytest.raises(TypeError, match=message):
        model.fit(_dask(X), *([Y] if labelled and getattr(model, "graph", "labels") == "labels" else []))


def test_graph_inside_of_blocks(client):
    """A given graph is used where few of its edges link samples of different blocks."""
    sp = pytest.importorskip("scipy.sparse")
    near = sp.diags_array([np.ones(N - 2)] * 2, offsets=(2, -2)).tocsr()
    model = WSF(4, graph=near, **FEW)
    _close(clone(model).fit(_dask(X)).components_, clone(model).fit(X).components_)
    far = sp.diags_array([np.ones(N - 500)] * 2, offsets=(500, -500)).tocsr()
    with pytest.raises(TypeError, match="samples in other blocks"):
        clone(model).set_params(graph=far).fit(_dask(X))


def test_bad_input_is_refused_in_sentences(client):
    bad = X.copy()
    bad[700, 3] = np.nan
    with pytest.raises(ValueError, match="contains NaN or infinity"):
        NMF(3).fit(_dask(bad))
    with pytest.raises(ValueError, match="Negative values"):
        NMF(3).fit(_dask(CENTRED))
    with pytest.raises(ValueError, match="two dimensions"):
        NMF(3).fit(_dask(X[:, 0]))
    with pytest.raises(ValueError, match="expecting 12 features"):
        NMF(3, **FEW).fit(X).transform(_dask(X[:, :5]))
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        NMF(3).fit(_dask(X)[da.from_array(X[:, 0], chunks=200) > 0.5])


# Workers come and go


def _killing_at(iterations, cluster):
    """A callback that kills a worker during the iteration after each of these."""

    def callback(state):
        if state.iteration in iterations:
            pids = [nanny.pid for nanny in cluster.workers.values()]
            threading.Timer(0.005, os.kill, (min(filter(None, pids)), signal.SIGKILL)).start()

    return callback


@pytest.fixture
def frequent_checkpoints(monkeypatch):
    """Copies of the blocks after every 20 steps, so that some are used."""
    monkeypatch.setattr(pool, "STEPS", 20)


@pytest.mark.parametrize("n_workers", [1, 2])
@pytest.mark.parametrize("name", ["nmf", "wsf"])
def test_lost_worker_changes_nothing(n_workers, name, client, frequent_checkpoints):
    model, data, arguments = MODELS[name]
    model = clone(model).set_params(max_iter=20, tol=0)
    expected = clone(model).fit(_dask(data), **arguments)
    codes = expected.layers_[0].representation.compute()
    with _cluster(n_workers) as cluster, distributed.Client(cluster, set_as_default=False) as own, own.as_current():
        found = clone(model).set_params(callback=_killing_at((3, 11), cluster)).fit(_dask(data), **arguments)
        assert_array_equal(found.components_, expected.components_)
        assert_array_equal(found.layers_[0].representation, codes)


def test_worker_lost_while_blocks_are_copied(client, frequent_checkpoints, monkeypatch):
    model, data, _ = MODELS["nmf"]
    model = clone(model).set_params(max_iter=20, tol=0)
    expected = clone(model).fit(_dask(data))
    copied, submit = [], pool.Workers._submit
    with _cluster(2) as cluster, distributed.Client(cluster, set_as_default=False) as own, own.as_current():

        def submitted(self, address, function, *arguments, **keywords):
            future = submit(self, address, function, *arguments, **keywords)
            if function is store.keep_copy:
                copied.append(future)
                if len(copied) == 9:  # the second time: half of the blocks have a new copy, half an old one
                    distributed.wait(copied)
                    worker = next(w for w in cluster.workers.values() if w.worker_address != address)
                    os.kill(worker.pid, signal.SIGKILL)
            return future

        monkeypatch.setattr(pool.Workers, "_submit", submitted)
        found = model.fit(_dask(data))
        assert len(copied) > 12
    assert_array_equal(found.components_, expected.components_)


def test_number_of_workers_changes_nothing(client):
    expected = SemiNMF(4, **FEW).fit(_dask(CENTRED))
    with _cluster(3) as cluster, distributed.Client(cluster, set_as_default=False) as own, own.as_current():
        assert_array_equal(SemiNMF(4, **FEW).fit(_dask(CENTRED)).components_, expected.components_)


def test_steps_kept_for_lost_workers_are_bounded(client, frequent_checkpoints):
    """No graph grows with the iterations: what is kept are the steps since the last copy of the blocks."""
    kept = []
    run = pool.Workers._run

    def counted(self, *arguments):
        kept.append(len(self._log))
        return run(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool.Workers, "_run", counted)
        NMF(4, random_state=0, max_iter=30, tol=0).fit(_dask(X))
    assert len(kept) > 100
    assert max(kept) <= 20


def test_driver_receives_sums_alone(client):
    """A sweep brings sums of sizes k x p and k x k to this process, whatever the number of samples."""
    received = []
    run = pool.Workers._run

    def counted(self, step, *arguments):
        found = run(self, step, *arguments)
        received.append(sum(np.size(part) for parts in found.values() for part in np.atleast_1d(parts).ravel()[:1]))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool.Workers, "_run", counted)
        NMF(4, random_state=0, max_iter=30, tol=0, init="random").fit(_dask(X))
    assert max(received) < N  # no array with a row a sample


def test_blocks_beyond_memory_are_in_files(client):
    """Where X would take too much of a worker's memory its blocks are read from files of that worker."""
    expected = NMF(4, **FEW).fit(_dask(X))
    limited = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
    with limited as cluster, distributed.Client(cluster, set_as_default=False) as own, own.as_current():
        own.run(setattr, store, "IN_MEMORY", 0.0)
        found = NMF(4, **FEW).fit(_dask(X))
        assert_array_equal(found.components_, expected.components_)


# Files


@pytest.mark.parametrize("kind", ["npy", "zarr", "HDF5", "memory"])
def test_files_are_read_by_the_workers(client, kind, tmp_path):
    """What `laminar fit --scheduler` does: blocks of a file are read where they are needed."""
    array = X
    if kind == "npy":
        np.save(tmp_path / "X.npy", X)
        array = np.load(tmp_path / "X.npy", mmap_mode="r")
    elif kind == "zarr":
        array = pytest.importorskip("zarr").create_array(tmp_path / "X.zarr", data=X, chunks=(200, P))
    elif kind == "HDF5":
        file = pytest.importorskip("h5py").File(tmp_path / "X.h5", "w")
        file["X"] = X
        file.close()
        array = pytest.importorskip("h5py").File(tmp_path / "X.h5")["X"]
    there = files.to_dask(array)
    assert_array_equal(there, X)
    assert_array_equal(NMF(4, **FEW).fit(there).components_, NMF(4, **FEW).fit(_dask(X, there.chunks)).components_)


# Never starting over


class StopHereError(Exception):
    pass


@pytest.mark.parametrize("model", [NMF(4), DeepSemiNMF((6, 3))], ids=["nmf", "deep"])
def test_checkpoints(model, client, tmp_path):
    model = model.set_params(random_state=0, max_iter=20, tol=0)
    expected = clone(model).fit(_dask(X))

    def stop(state):
        if state.stage == "fit" and state.iteration == 7:
            raise StopHereError

    with pytest.raises(StopHereError), laminar.checkpoint(tmp_path / "run.ckpt", sweeps=1):
        clone(model).set_params(callback=stop).fit(_dask(X))
    with laminar.checkpoint(tmp_path / "run.ckpt", resume=True):
        found = clone(model).fit(_dask(X))
    assert_array_equal(found.components_, expected.components_)
    assert_array_equal(found.layers_[-1].representation, expected.layers_[-1].representation)


def test_model_files(client, tmp_path):
    model = SemiNMF(4, **FEW).fit(_dask(X))
    model.save(tmp_path / "codes.laminar")
    model.save(tmp_path / "none.laminar", training_codes=False)
    codes = laminar.load(tmp_path / "codes.laminar").layers_[0].representation
    assert_array_equal(codes, model.layers_[0].representation)
    for name in ("codes", "none"):
        assert_array_equal(laminar.load(tmp_path / f"{name}.laminar").predict(X), model.predict(_dask(X)))


def test_unconverged_fit_warns(client):
    with pytest.warns(ConvergenceWarning):
        NMF(4, max_iter=2, random_state=0).fit(_dask(X))
