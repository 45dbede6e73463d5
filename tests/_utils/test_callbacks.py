import re
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from laminar import NMF, DeepSemiNMF, DeepWSF, MultiLayerNMF, MultiNMF, MultiViewDeepNMF, MultiViewSemiNMF, SemiNMF
from laminar._utils import callbacks

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
X = np.random.default_rng(0).gamma(1.0, size=(40, 10))
MODELS = [
    NMF(3, init="random", random_state=0),
    NMF(3, init="random", loss="kl", random_state=0),
    SemiNMF(3, init="random", random_state=0),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=repr)


@every_model
def test_callback_called_every_iteration(model):
    calls = []
    model = (
        clone(model).set_params(callback=lambda *arguments: calls.append(arguments), max_iter=40, tol=0).fit(1e3 * X)
    )
    iterations, objectives, seconds = zip(*calls, strict=True)
    assert list(iterations) == list(range(1, 41))
    assert model.n_iter_ == 40
    assert list(dict.fromkeys(objectives)) == list(dict.fromkeys(model.objective_history_))
    assert all(np.diff(seconds) >= 0)
    assert seconds[0] > 0


VIEWS = {"view_sizes": (6, 4), "random_state": 0}
TIMED = [
    *MODELS,
    DeepSemiNMF((5, 3), random_state=0),
    DeepSemiNMF((5, 3), graph=None, init="random", random_state=0),
    DeepSemiNMF((5, 3), objective="coupled", random_state=0),
    DeepSemiNMF((5, 3), rule="published", random_state=0),
    DeepSemiNMF((5, 3), batch_size=10, random_state=0),
    DeepSemiNMF((5, 3), activation="square", random_state=0),
    DeepWSF((5, 3), random_state=0),
    DeepWSF((5, 3), mode="paper", random_state=0),
    MultiLayerNMF((5, 3), random_state=0),
    MultiLayerNMF((5, 3), rule="published", random_state=0),
    MultiNMF(3, **VIEWS),
    MultiViewSemiNMF(4, weights="equal", **VIEWS),
    MultiViewDeepNMF(4, weights="equal", **VIEWS),
    MultiViewDeepNMF((5, 4), **VIEWS),
    MultiViewDeepNMF((5, 4), rule="published", gamma=2.0, **VIEWS),
]


@pytest.mark.filterwarnings("ignore:view .* of the weight")
@pytest.mark.parametrize("model", TIMED, ids=repr)
def test_seconds_count_from_the_start_of_the_fit(model):
    seconds = []
    clone(model).set_params(callback=lambda *arguments: seconds.append(arguments[2]), max_iter=12, tol=0).fit(
        X, np.arange(40) % 3
    )
    assert len(seconds) > 1
    assert seconds[0] > 0
    assert (np.diff(seconds) >= 0).all()


def test_time_before_the_first_iteration_counts(monkeypatch):
    """Pre-training and pseudo-inverses are part of the fit."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(callbacks.time, "perf_counter", lambda: clock.now)
    calls = []
    model = SimpleNamespace(callback=lambda *arguments: calls.append(arguments), verbose=0)
    with callbacks.hooks(model, 5, X) as hook:
        clock.now += 3.0
        hook(1, 0.5, 0.0)
        hook(2, 0.25)
    assert calls == [(1, 0.5, 3.0), (2, 0.25, 3.0)]


@every_model
def test_a_callback_stops_the_fit(model):
    model = clone(model).set_params(callback=lambda i, objective, seconds: i >= 10, tol=0).fit(X)
    assert 10 <= model.n_iter_ < 30
    assert not model.converged_
    assert np.isfinite(model.components_).all()


def test_an_error_in_a_callback_reaches_the_user():
    def fail(*arguments):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        NMF(2, callback=fail).fit(X)


@every_model
def test_verbose_prints_plain_lines_where_there_is_no_terminal(model, capfd):
    model = clone(model).set_params(verbose=1, max_iter=30, tol=0).fit(X)
    out, err = capfd.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert len(lines) >= 2
    for line in lines:
        assert re.fullmatch(rf"{type(model).__name__} \d+/30  objective [\d.e+-]+  \d+\.\d s", line)
    assert float(lines[-1].split()[3]) == pytest.approx(model.objective_history_[-1], rel=1e-5)


def test_no_output_by_default(capfd):
    SemiNMF(2).fit(X)
    assert capfd.readouterr() == ("", "")


@every_model
def test_scikit_learn_callbacks(model):
    pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")

    class Recorder:
        def __init__(self):
            self.calls, self.ended = [], 0

        def setup(self, *args, **kwargs):
            pass

        def on_fit_task_begin(self, *args, **kwargs):
            pass

        def on_fit_task_end(self, *args, metadata=None, **kwargs):
            if metadata:
                self.calls.append((metadata["iteration"], metadata["objective"]))

        def teardown(self, *args, **kwargs):
            self.ended += 1

    recorder = Recorder()
    model = clone(model).set_params(max_iter=20, tol=0)
    model.set_callbacks(recorder)
    model.fit(X)
    assert recorder.calls
    assert set(model.objective_history_) <= {objective for _, objective in recorder.calls}


@every_model
def test_scikit_learns_own_callbacks_work(model):
    callback = pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")
    monitor = callback.ScoringMonitor(scoring=lambda model, X, y: {"share": model.score(X)})
    model = clone(model).set_params(max_iter=5, tol=0)
    model.set_callbacks(monitor, callback.ProgressBar())
    model.fit(X, np.arange(len(X)) % 3)
    (row,) = monitor.get_logs().data
    assert row["share"] == pytest.approx(model.score(X))
