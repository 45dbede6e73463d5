"""Callbacks of a fit: every iteration, the model as of that iteration, scikit-learn's callbacks, the paper's rule."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from laminar import (
    NMF,
    WSF,
    DeepSemiNMF,
    DeepWSF,
    MultiLayerNMF,
    MultiNMF,
    MultiViewDeepNMF,
    MultiViewSemiNMF,
    SemiNMF,
    SmoothedSemiNMF,
)
from laminar._utils import callbacks
from laminar.callbacks import FitState, ReconstructionStop
from reference import deep as plain

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
rng = np.random.default_rng(0)
X = rng.gamma(1.0, size=(40, 10))
LABELS = np.arange(40) % 3
MODELS = [
    NMF(3, init="random", random_state=0),
    NMF(3, init="random", loss="kl", random_state=0),
    SemiNMF(3, init="random", random_state=0),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=repr)


@every_model
def test_callback_called_every_iteration(model):
    states = []
    model = clone(model).set_params(callback=lambda state: states.append(state), max_iter=40, tol=0).fit(1e3 * X)
    assert all(isinstance(state, FitState) for state in states)
    assert [state.iteration for state in states] == list(range(1, 41))
    assert {(state.stage, state.layer) for state in states} == {("fit", None)}
    assert model.n_iter_ == 40
    objectives = [state.objective for state in states]
    assert list(dict.fromkeys(objectives)) == list(dict.fromkeys(model.objective_history_))
    seconds = [state.seconds for state in states]
    assert all(np.diff(seconds) >= 0)
    assert seconds[0] > 0


VIEWS = {"view_sizes": (6, 4), "random_state": 0}
DEEP = [
    DeepSemiNMF((5, 3), init="random", random_state=0),
    DeepSemiNMF((5, 3), graph="knn", random_state=0),
    DeepSemiNMF((3, 5), random_state=0),
    DeepSemiNMF((5, 3), objective="coupled", random_state=0),
    DeepSemiNMF((5, 3), rule="published", pretraining_max_iter=10, random_state=0),
    DeepSemiNMF((5, 3), batch_size=10, random_state=0),
    DeepSemiNMF((5, 3), solver="sgd", random_state=0),
    DeepSemiNMF((5, 3), activation="square", random_state=0),
    DeepSemiNMF((5, 3), activation="stanh", solver="apg", random_state=0),
    DeepSemiNMF((5, 3), activation="stanh", solver="adam", batch_size=10, random_state=0),
    DeepSemiNMF((5, 3), activation="stanh", rule="published", random_state=0),
    DeepWSF((5, 3), random_state=0),
    DeepWSF((5, 3), attribute_layers=[0], random_state=0),
    DeepWSF((5, 3), rule="published", pretraining_max_iter=10, random_state=0),
    MultiLayerNMF((5, 3), random_state=0),
    MultiLayerNMF((5, 3), rule="published", random_state=0),
    SmoothedSemiNMF(3, random_state=0),
]
TIMED = [
    *MODELS,
    *DEEP,
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
    model = clone(model).set_params(callback=lambda state: seconds.append(state.seconds), max_iter=12, tol=0)
    model.fit(X, LABELS)
    assert len(seconds) > 1
    assert seconds[0] > 0
    assert (np.diff(seconds) >= 0).all()


def test_time_before_the_first_iteration_counts(monkeypatch):
    """Pre-training and pseudo-inverses are part of the fit."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(callbacks.time, "perf_counter", lambda: clock.now)
    states = []
    model = SimpleNamespace(callback=lambda state: states.append(state), verbose=0)
    with callbacks.hooks(model, 5, X) as hook:
        clock.now += 3.0
        hook(1, 0.5, dict)
        hook(2, 0.25, dict, layer=1)
    assert [(state.iteration, state.objective, state.seconds) for state in states] == [(1, 0.5, 3.0), (2, 0.25, 3.0)]
    assert [(state.stage, state.layer) for state in states] == [("fit", None), ("pretraining", 1)]


@every_model
def test_a_callback_stops_the_fit(model):
    model = clone(model).set_params(callback=lambda state: state.iteration >= 10, tol=0).fit(X)
    assert 10 <= model.n_iter_ < 30
    assert not model.converged_
    assert np.isfinite(model.components_).all()


def test_an_error_in_a_callback_reaches_the_user():
    def fail(state):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        NMF(2, callback=fail).fit(X)


# ---- the model as of an iteration -----------------------------------------------------------------------------------


@pytest.mark.parametrize("t", [1, 4])
@pytest.mark.parametrize("model", [*MODELS, *DEEP], ids=repr)
def test_state_holds_the_model_of_a_fit_that_stops_there(model, t):
    seen = []

    def look(state):
        if state.stage == "fit" and state.iteration == t:
            seen.append((state.model(), state.codes(), state.components()))
            return True

    stopped = clone(model).set_params(callback=look, max_iter=30, tol=0).fit(X, LABELS)
    (then, codes, components) = seen[0]
    last = isinstance(model, MultiLayerNMF)  # the first layer stops here; the others are swept once
    assert type(then) is type(model)
    for one, other in zip(then.layers_, stopped.layers_, strict=not last):
        for part in ("components", "weights", "representation"):
            assert_allclose(getattr(one, part), getattr(other, part), atol=1e-9 * np.abs(getattr(other, part)).max())
    assert_array_equal(codes, then.layers_[-1].representation)
    assert_array_equal(components, then.components_)
    assert then.n_iter_ == t
    if not last:
        assert then.reconstruction_err_ == pytest.approx(stopped.reconstruction_err_, rel=1e-9)
        assert stopped.n_iter_ == t
        assert_allclose(then.transform(X), stopped.transform(X), atol=1e-6 * codes.max())


@pytest.mark.parametrize("model", [*MODELS, *DEEP], ids=repr)
def test_looking_changes_nothing(model):
    model = clone(model).set_params(max_iter=8, tol=0)
    alone = clone(model).fit(X, LABELS).components_
    assert_array_equal(
        model.set_params(callback=lambda state: state.model() and None).fit(X, LABELS).components_, alone
    )


def test_clusters_by_iteration():
    """004, Fig. 2: a clustering of the codes after every sweep."""
    found = []
    model = DeepSemiNMF((6, 4), rule="published", pretraining_max_iter=5, max_iter=6, n_clusters=3, random_state=0)
    model.set_params(callback=lambda state: state.stage == "fit" and found.append(state.model().cluster()) and False)
    model.fit(X)
    assert [labels.shape for labels in found] == [(40,)] * 6
    assert_array_equal(found[-1], model.cluster())


# ---- the iterations of a history ------------------------------------------------------------------------------------


def test_divergence_is_evaluated_every_tenth_iteration():
    model = NMF(3, loss="kl", max_iter=35, tol=0, random_state=0).fit(X)
    assert_array_equal(model.history_iterations_, [1, 10, 20, 30, 35])
    assert len(model.objective_history_) == 5


@pytest.mark.parametrize(
    "model",
    [
        NMF(3, loss="kl", rule="published", random_state=0),
        NMF(3, rule="published", random_state=0),
        SemiNMF(3, rule="published", random_state=0),
        WSF(3, rule="published", random_state=0),
        DeepSemiNMF((5, 3), rule="published", pretraining_max_iter=3, random_state=0),
        DeepWSF((5, 3), rule="published", pretraining_max_iter=3, random_state=0),
        DeepSemiNMF((5, 3), activation="stanh", rule="published", random_state=0),
        MultiLayerNMF((5, 3), rule="published", random_state=0),
        MultiLayerNMF((5, 3), loss="kl", rule="published", random_state=0),
    ],
    ids=repr,
)
def test_published_rules_evaluate_every_iteration(model):
    model = clone(model).set_params(max_iter=23, tol=0).fit(X, LABELS)
    assert_array_equal(model.history_iterations_, np.arange(1, 24))
    assert len(model.objective_history_) == 23


def test_rejected_iterations_are_not_in_the_history():
    model = SemiNMF(3, init="random", max_iter=60, tol=0, random_state=0).fit(X - 1)
    assert len(model.history_iterations_) == len(model.objective_history_) <= 60
    assert (np.diff(model.history_iterations_) >= 1).all()
    assert model.history_iterations_[0] == 1


# ---- the stopping rule of Trigeorgis et al. -------------------------------------------------------------------------


@pytest.mark.parametrize("kappa", [1e-2, 1e-3])
@pytest.mark.parametrize("scale", [0.05, 10.0])
def test_reconstruction_stop_is_the_papers(kappa, scale):
    """E is the error itself, not squared, without the penalty; kappa is relative above 1 and absolute below."""
    data = scale * (X - 1)
    draw = np.random.RandomState(0)
    (H,), (Z,) = plain.pretrain(data, [draw.uniform(size=(40, 3))], [np.zeros((40, 40))], [0.0], 4)
    links, alpha = [plain.same_class(LABELS)], 0.1 * scale**2
    errors = []
    for (codes,), (weights,) in plain.fine_tune(data, [H], [Z], links, [alpha], 200):
        errors.append(np.linalg.norm(data - codes @ weights))
    expected = plain.reconstruction_stop(errors, kappa)
    model = WSF(3, alpha=alpha, rule="published", scale="none", init=(H, None), max_iter=200, tol=0)
    model.set_params(callback=ReconstructionStop(kappa)).fit(data, LABELS)
    assert 1 < expected < 200
    assert model.n_iter_ == expected
    assert not model.converged_


def test_reconstruction_stop_ends_each_stage():
    """Pre-training of each layer and fine-tuning, each by its own errors."""
    heard = []

    class Recording(ReconstructionStop):
        def __call__(self, state):
            heard.append((state.layer, state.model().reconstruction_err_))
            return super().__call__(state)

    model = DeepSemiNMF((6, 3), rule="published", max_iter=300, tol=0, callback=Recording(1e-3), random_state=0)
    model.fit(X - 1)
    lengths = [len(history) for history in model.pretraining_histories_]
    for layer, length in [*enumerate(lengths), (None, model.n_iter_)]:
        errors = [error for at, error in heard if at == layer]
        assert length == plain.reconstruction_stop(errors, 1e-3) < 300


def test_reconstruction_stop_may_be_used_again():
    model = SemiNMF(3, rule="published", max_iter=300, tol=0, callback=ReconstructionStop(1e-3), random_state=0)
    assert model.fit(X - 1).n_iter_ == model.fit(X - 1).n_iter_ > 1


# ---- progress, and scikit-learn's callbacks -------------------------------------------------------------------------


@every_model
def test_verbose_prints_plain_lines_where_there_is_no_terminal(model, capfd):
    model = clone(model).set_params(verbose=1, max_iter=30, tol=0).fit(X)
    out, err = capfd.readouterr()
    name = type(model).__name__
    stages, lines = ([x for x in err.splitlines() if x.startswith(f"{name}:") == s] for s in (True, False))
    assert out == ""
    assert stages[0] == f"{name}: fit of {X.shape[0]} x {X.shape[1]}"
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

        def on_fit_task_end(self, estimator, context, *, fitted_estimator):
            self.calls.append((fitted_estimator.n_iter_, fitted_estimator.objective_history_[-1]))

        def teardown(self, *args, **kwargs):
            self.ended += 1

    recorder = Recorder()
    model = clone(model).set_params(max_iter=20, tol=0)
    model.set_callbacks(recorder)
    model.fit(X)
    *calls, end = recorder.calls
    assert [iteration for iteration, _ in calls] == list(range(1, 21))
    assert_allclose([value for i, value in calls if i in model.history_iterations_], model.objective_history_)
    assert end == (20, model.objective_history_[-1])
    assert recorder.ended == 1


@pytest.mark.parametrize("model", [*MODELS, *DEEP], ids=repr)
def test_scikit_learns_own_callbacks_work(model):
    """A row of scores for every iteration, of the model as of that iteration, and one for the fit."""
    callback = pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")
    monitor = callback.ScoringMonitor(scoring=lambda model, X, y: {"share": model.score(X)})
    model = clone(model).set_params(max_iter=5, tol=0)
    model.set_callbacks(monitor, callback.ProgressBar())
    model.fit(X, LABELS)
    rows = monitor.get_logs().data
    shares = [row["share"] for row in rows]
    layers = len(model.layers_) if isinstance(model, MultiLayerNMF) else 1
    assert len(shares) == 5 * layers + 1
    assert shares[-1] == pytest.approx(model.score(X), abs=1e-9)
    seen = []
    model.set_callbacks()
    looked = clone(model).set_params(
        callback=lambda state: state.stage == "fit" and seen.append(state.model().score(X)) and False
    )
    looked.fit(X, LABELS)
    assert_allclose(sorted(shares), sorted([*seen, model.score(X)]), atol=1e-9)
