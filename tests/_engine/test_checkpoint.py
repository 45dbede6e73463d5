"""Checkpoints: a fit that is stopped and resumed is the unbroken one, and no file is ever lost or misread."""

import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from laminar import NMF, SemiNMF, checkpoint, config_context
from laminar._persistence import checkpoint_file, safetensors_file
from laminar._persistence.errors import ModelFileError
from reference import recorded_fits
from reference.recorded_fits import FITS, POSITIVE, REPEATED, fitted, numbers


class Stopped(Exception):
    """Raised by a callback."""


def stop_at(count):
    """Return a callback that raises at its n-th call."""
    calls = []

    def callback(state):
        calls.append(state.iteration)
        if len(calls) == count:
            raise Stopped

    return callback


def counter():
    """Return a callback that counts its calls, and the list of iterations it fills."""
    calls = []
    return lambda state: calls.append(state.iteration), calls


def assert_same(found, expected):
    for a, b in zip(numbers(found), numbers(expected), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.ckpt"


@pytest.fixture
def stopped(path):
    """Leave the checkpoint of a fit that was stopped in an iteration."""

    def stop(name="NMF", at=12, seconds=0.0, **parameters):
        with pytest.raises(Stopped), checkpoint(path, seconds=seconds, resume=True):
            fitted(name, callback=stop_at(at), **parameters)

    return stop


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


# Resumed fits


@pytest.mark.parametrize("name", FITS)
def test_resumed_fit_is_the_unbroken_one(path, stopped, name):
    callback, calls = counter()
    expected = fitted(name, callback=callback)
    for at in (len(calls) // 4, len(calls) // 3):
        stopped(name, at)
    again, rest = counter()
    with checkpoint(path, seconds=0, resume=True) as resumed:
        found = fitted(name, callback=again)
    assert resumed
    assert len(rest) < 0.6 * len(calls)
    assert_same(found, expected)


@pytest.mark.parametrize("name", REPEATED)
def test_repeated_loop_is_the_unbroken_one(path, stopped, name):
    callback, calls = counter()
    expected = fitted(name, callback=callback)
    stopped(name, max(1, len(calls) - 3))
    with checkpoint(path, seconds=0, resume=True):
        assert_same(fitted(name), expected)


@pytest.mark.parametrize("generator", [None, "instance"])
def test_random_numbers_are_those_of_the_first_start(path, stopped, generator):
    def random_state(seed):
        np.random.seed(seed)  # noqa: NPY002 -- the generator of random_state=None
        return None if generator is None else np.random.RandomState(seed)

    expected = fitted("multiplicative", init="random", random_state=random_state(1))
    stopped("multiplicative", init="random", random_state=random_state(1))
    with checkpoint(path, resume=True):
        found = fitted("multiplicative", init="random", random_state=random_state(2))
    assert_same(found, expected)


def test_fits_of_one_block_are_one_run(path):
    def steps(first, second):
        settings = {"tol": 0, "max_iter": 30, "random_state": 0}
        return make_pipeline(NMF(6, callback=first, **settings), SemiNMF(3, callback=second, **settings))

    expected = steps(None, None).fit(POSITIVE)[-1]
    with pytest.raises(Stopped), checkpoint(path, seconds=0):
        steps(None, stop_at(20)).fit(POSITIVE)
    (first, in_first), (second, in_second) = counter(), counter()
    with checkpoint(path, seconds=0, resume=True):
        found = steps(first, second).fit(POSITIVE)[-1]
    assert in_first == []
    assert in_second == list(range(20, 31))
    assert_same(found, expected)


def test_callback_may_code_samples(path, stopped):
    """What a callback computes is no part of the run: here the codes of a divergence, a loop of their own."""
    expected = fitted("KL")
    stopped("KL")
    with checkpoint(path, seconds=0, resume=True):
        assert_same(fitted("KL", callback=lambda state: state.model().transform(POSITIVE[:3]) is None), expected)


def kill_and_resume(name, path, delay, expected):
    """Kill a process that fits, some seconds after its first checkpoint, and resume the fit here."""
    command = [sys.executable, recorded_fits.__file__, name, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begins\n"
        while not path.exists() and process.poll() is None:
            time.sleep(0.001)
        time.sleep(delay)
        process.kill()
    with checkpoint(path, seconds=60, resume=True) as resumed:
        assert_same(fitted(name, max_iter=300), expected)
    assert list(path.parent.iterdir()) == []
    return resumed


@pytest.mark.parametrize(("name", "delay"), [("NMF", 0.03), ("coupled", 0.1), ("MultiViewSemiNMF", 0.2)])
def test_killed_fit_is_resumed(path, name, delay):
    kill_and_resume(name, path, delay, fitted(name, max_iter=300))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["NMF", "KL", "SemiNMF", "WSF", "DeepSemiNMF", "coupled", "MultiViewSemiNMF"])
def test_fit_killed_at_any_moment_is_resumed(path, name):
    delays, expected = np.random.default_rng(len(name)).uniform(0, 0.5, 20), fitted(name, max_iter=300)
    assert sum(kill_and_resume(name, path, delay, expected) for delay in delays) > 10


# Files


def test_finished_fit_leaves_no_file(path):
    with checkpoint(path, seconds=0):
        fitted("NMF")
    assert contents(path.parent) == {}


def test_two_checkpoints_are_kept(path, stopped):
    stopped()
    assert sorted(contents(path.parent)) == ["run.ckpt", "run.ckpt.old"]
    last, before = (
        checkpoint_file.CheckpointFile(file).read()["loops"][-1] for file in (path, path.parent / "run.ckpt.old")
    )
    assert last["counters"]["n_iter"] - before["counters"]["n_iter"] == 1


def test_sweeps_are_counted(path, stopped):
    with pytest.raises(Stopped), checkpoint(path, sweeps=5):
        fitted("NMF", callback=stop_at(18))
    assert checkpoint_file.CheckpointFile(path).read()["loops"][-1]["counters"]["n_iter"] == 15


def test_short_fit_writes_nothing(path, stopped):
    stopped(seconds=3600)
    assert contents(path.parent) == {}


def test_file_is_not_overwritten_without_resume(path, stopped):
    stopped()
    before = contents(path.parent)
    with pytest.raises(FileExistsError, match="is there already: resume it"), checkpoint(path):
        fitted("NMF")
    assert contents(path.parent) == before


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (lambda: fitted("SemiNMF"), "is of NMF, and this is a fit of SemiNMF"),
        (lambda: fitted("NMF", max_iter=31), "is of NMF with other values of max_iter"),
        (lambda: fitted("NMF", init="random", random_state=1), "with other values of init, random_state"),
        (lambda: NMF(4, tol=0, max_iter=30, random_state=0).fit(POSITIVE + 1e-9), "is of NMF with other data"),
        (lambda: NMF(4, tol=0, max_iter=30, random_state=0).fit(POSITIVE[:-1]), "is of NMF with other data"),
    ],
)
def test_another_fit_is_refused(path, stopped, other, reason):
    stopped()
    before = contents(path.parent)
    with pytest.raises(ValueError, match=reason), checkpoint(path, seconds=0, resume=True):
        other()
    assert contents(path.parent) == before


def test_other_labels_are_refused(path, stopped):
    stopped("WSF")
    _, arguments, _, X, y = FITS["WSF"]
    from laminar import WSF

    with pytest.raises(ValueError, match="with other labels"), checkpoint(path, resume=True):
        WSF(*arguments, tol=0, max_iter=30, random_state=0).fit(X, y[::-1])


def test_another_start_is_refused(path, stopped, monkeypatch):
    stopped(init="random")
    from laminar._engine import starts

    monkeypatch.setitem(starts.STARTS, "random", lambda *a: [1.01 * F for F in starts.random(*a)])
    with pytest.raises(ValueError, match="whose iterations start elsewhere"), checkpoint(path, resume=True):
        fitted("NMF", init="random")


def test_truncated_file_gives_the_one_before(path, stopped):
    stopped()
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.warns(UserWarning, match=r"truncated.*run.ckpt.old, is used"), checkpoint(path, resume=True):
        found = fitted("NMF")
    assert_same(found, fitted("NMF"))


def damaged(data):
    place = len(data) - 40
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: data[: len(data) // 2], "truncated"),
        (lambda data: b"", "empty"),
        (damaged, "checksum"),
        (lambda data: b"notes of mine, not a checkpoint", "is not a checkpoint of Laminar"),
    ],
    ids=["truncated", "empty", "damaged", "foreign"],
)
def test_unreadable_files_are_refused_and_kept(path, stopped, change, reason):
    stopped()
    for file in path.parent.iterdir():
        file.write_bytes(change(file.read_bytes()))
    before = contents(path.parent)
    with pytest.raises(ModelFileError, match=reason), checkpoint(path, seconds=0, resume=True):
        fitted("NMF")
    assert contents(path.parent) == before


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda run: run.pop("loops"), "holds no run"),
        (lambda run: run["loops"][0].pop("counters"), "holds no run"),
        (lambda run: run["fits"][0].pop("data"), "holds no run"),
        (lambda run: run["loops"][0]["state"]["point"].update(H=np.zeros((3, 4))), "other shapes than their start"),
    ],
)
def test_well_formed_file_of_another_content_is_refused(path, stopped, change, reason):
    stopped()
    file = checkpoint_file.CheckpointFile(path)
    run = file.read()
    change(run)
    file.write(run)
    with pytest.raises(ModelFileError, match=reason), checkpoint(path, resume=True):
        fitted("NMF")


def test_model_file_is_refused(path):
    from laminar._persistence.model_file import save_model

    save_model(fitted("NMF"), path)
    before = contents(path.parent)
    with pytest.raises(ModelFileError, match="is not a checkpoint of Laminar"), checkpoint(path, resume=True):
        fitted("NMF")
    assert contents(path.parent) == before


def test_another_version_is_refused(path, stopped, monkeypatch):
    stopped()
    monkeypatch.setattr(checkpoint_file, "__version__", "99")
    with pytest.raises(ModelFileError, match="and this is 99"), checkpoint(path, resume=True):
        fitted("NMF")


def test_partial_files_of_killed_processes_are_removed(path, stopped):
    stopped()
    partial = checkpoint_file.CheckpointFile(path).partial
    partial.mkdir()
    (partial / ".tmpAbc").write_bytes(b"half")
    (path.parent / ".tmpAbc").write_bytes(b"of another program")
    with checkpoint(path, resume=True):
        fitted("NMF")
    assert list(contents(path.parent)) == [".tmpAbc"]


def test_full_disk_stops_nothing(path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(safetensors_file, "write", full)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with checkpoint(path, seconds=0):
            model = fitted("NMF")
    assert_same(model, fitted("NMF"))
    (warning,) = found
    assert "could not be written, and the fit goes on without" in str(warning.message)


def test_disk_that_fills_up_keeps_the_last_checkpoint(path, stopped, monkeypatch):
    stopped()
    before = contents(path.parent)
    monkeypatch.setattr(safetensors_file, "write", lambda *a: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.warns(UserWarning, match="No space left"):
        stopped(at=5)
    assert contents(path.parent) == before


@pytest.mark.parametrize(
    ("arguments", "error", "reason"),
    [
        ({"seconds": -1}, ValueError, "seconds must be 0 or more"),
        ({"sweeps": 0}, ValueError, "sweeps must be a whole number above 0"),
    ],
)
def test_wrong_arguments_are_refused(path, arguments, error, reason):
    with pytest.raises(error, match=reason), checkpoint(path, **arguments):
        pass


def test_folders_are_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"), checkpoint(tmp_path):
        pass
    with pytest.raises(FileNotFoundError, match="create"), checkpoint(tmp_path / "none" / "run.ckpt"):
        pass


# Data on disk


@pytest.mark.parametrize("cls", [NMF, SemiNMF])
def test_fit_of_data_on_disk_is_resumed(path, tmp_path, cls):
    np.save(tmp_path / "X.npy", np.random.default_rng(0).gamma(1.0, size=(400, 12)))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = {"n_components": 5, "tol": 0, "max_iter": 25, "init": "random", "random_state": 0}
    with config_context(max_memory=20_000):  # less than X: read by blocks, and codes in temporary files
        whole = cls(**model).fit(X)
        with pytest.raises(Stopped), checkpoint(path, seconds=0):
            cls(**model, callback=stop_at(12)).fit(X)
        callback, calls = counter()
        with checkpoint(path, resume=True) as resumed:
            again = cls(**model, callback=callback).fit(X)
    assert resumed
    assert calls[0] > 5
    assert_same(again, whole)
