"""Callbacks of a fit: the user's function, those of scikit-learn, and the progress of ``verbose=1``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from . import runs
from .interrupts import end_interrupted, interruptible
from .progress import progress, stage, stages

try:  # scikit-learn 1.9 and newer
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:
        """Empty mixin for older scikit-learn, which has no callbacks."""

    def with_callbacks(method: Callable) -> Callable:
        """Return the method unchanged, for older scikit-learn, which has no callbacks."""
        return method


as_returned: ContextVar[Callable[[Any], Any]] = ContextVar("laminar_returned", default=lambda model: model)
"""From a model inside of a fit to one as `fit` returns it: with tensors, where X is one."""

Hook = Callable[..., bool]  # (iteration, objective, fitted) -> whether to stop


@dataclass(frozen=True)
class FitState:
    """An iteration of a fit, as a callback sees it.

    Parameters
    ----------
    iteration : int
        Number of iterations of this stage.
    objective : float
        Value of the objective, in the units of X.
    seconds : float
        Since the start of the fit.
    fitted : callable
        Returns the estimator as of this iteration.
    stage : {"fit", "pretraining"}, default="fit"
        What is iterated.
    layer : int or None, default=None
        Position of the layer that is pre-trained.

    Examples
    --------
    >>> from laminar import NMF
    >>> X = np.random.default_rng(0).random((20, 6))
    >>> errors = []
    >>> model = NMF(2, callback=lambda state: errors.append(state.model().reconstruction_err_)).fit(X)
    >>> len(errors) == model.n_iter_
    True
    """

    iteration: int
    objective: float
    seconds: float
    fitted: Callable[[], Any] = field(repr=False)
    stage: str = "fit"
    layer: int | None = None

    def model(self) -> Any:
        """Return the estimator as it would be if the fit stopped here; in pre-training, that layer by itself.

        It is computed on every call, and only during the call of the callback.

        Returns
        -------
        model : estimator
            With all fitted attributes.
        """
        return as_returned.get()(self.fitted())

    def codes(self) -> np.ndarray:
        """Return the codes of the training samples, of the top layer.

        Returns
        -------
        H : ndarray of shape (n_samples, n_components)
            Codes.
        """
        return self.model().layers_[-1].representation

    def components(self) -> np.ndarray:
        """Return the components of the top layer.

        Returns
        -------
        Z : ndarray of shape (n_components, n_features)
            Components.
        """
        return self.model().components_


@contextmanager
def hooks(estimator: BaseEstimator, max_iter: int, X: Any, y: Any = None) -> Iterator[Hook]:
    """Yield one function of (iteration, objective, fitted) that calls all callbacks and returns whether to stop.

    ``fitted`` returns the estimator as of this iteration. The seconds that callbacks are given are those since the
    start of the fit, which may consist of several loops. The estimator must be fitted when the block ends:
    scikit-learn's callbacks then receive it, with X and y. Ctrl-C stops the loops as a callback does. Iterations of
    pre-training reach the user's callback alone; with ``verbose=1`` the first of each layer is printed, and then one a
    second.
    """
    start = time.perf_counter()
    receivers: list[Callable[[FitState], object]] = []
    sklearn_callbacks = _sklearn_callbacks(estimator, max_iter, X, y)
    if sklearn_callbacks is not None:
        receivers.append(sklearn_callbacks)
    pretraining = _Pretraining()
    with ExitStack() as displays:
        interrupt = displays.enter_context(interruptible())
        run = runs.current()
        if run is not None:
            run.begin_fit(estimator, X, y)
        displays.enter_context(stages(type(estimator).__name__, estimator.verbose))
        stage(f"fit of {_size(X)}")
        if estimator.verbose:
            display = progress(type(estimator).__name__, max_iter, may_stop_early=True)
            report = displays.enter_context(display)
            receivers.append(lambda state: report(state.iteration, f"  objective {state.objective:.6g}"))

        def hook(iteration: int, objective: float, fitted: Callable[[], Any], layer: int | None = None) -> bool:
            stage = "fit" if layer is None else "pretraining"
            state = FitState(iteration, float(objective), time.perf_counter() - start, fitted, stage, layer)
            to = [estimator.callback] if estimator.callback is not None else []
            if layer is not None:
                pretraining(state)
            with nullcontext() if run is None else runs.recording(None):
                # A list, not a generator: every receiver is called, also after one that requests to stop.
                stops = any([bool(receive(state)) for receive in (to + receivers if layer is None else to)])
            if run is not None:
                run.write_if_due()
            return stops

        yield hook
        if interrupt.is_requested:
            estimator.converged_ = False
        if sklearn_callbacks is not None:
            sklearn_callbacks.close()
    if interrupt.is_requested:
        _end_interrupted(estimator, run)


def _end_interrupted(estimator: Any, run: runs.Run | None) -> None:
    begun = 'To go on from there next time, fit inside laminar.checkpoint("run.ckpt", resume=True).'
    cure = begun if run is None else run.cure()
    end_interrupted(
        f"{type(estimator).__name__} was interrupted in iteration {estimator.n_iter_}: it is fitted as of then, and "
        f"converged_ is False. {cure}",
        stacklevel=6 + getattr(estimator, "_takes_tensors", False),  # the caller of fit, seen through wrappers
    )


def _size(X: Any) -> str:
    """Return the shape of X for a line of progress, or the number of views."""
    if isinstance(X, Mapping | list | tuple):
        return f"{len(X)} views"
    return " x ".join(map(str, getattr(X, "shape", ("data",))))


class _Pretraining:
    """Stages of pre-training: the first iteration of each layer, and then one a second."""

    def __init__(self):
        self.layer: int | None = None
        self.next_line = 0.0

    def __call__(self, state: FitState) -> None:
        now = time.perf_counter()
        if state.layer != self.layer or now >= self.next_line:
            self.layer, self.next_line = state.layer, now + 1
            stage(
                f"pre-training of layer {state.layer}, iteration {state.iteration}  objective {state.objective:.6g}  "
                f"{state.seconds:.1f} s"
            )


def _sklearn_callbacks(estimator: BaseEstimator, max_iter: int, X: Any, y: Any) -> _SklearnCallbacks | None:
    """Return a function that calls the callbacks set with ``set_callbacks``, or None where there are none."""
    if not hasattr(estimator, "_init_callback_context"):
        return None
    context = estimator._init_callback_context(max_subtasks=max_iter)
    return _SklearnCallbacks(estimator, context, X, y) if getattr(estimator, "_skl_callbacks", None) else None


class _SklearnCallbacks:
    """scikit-learn's callbacks: the fit is a task, and each iteration a subtask of it."""

    def __init__(self, estimator: BaseEstimator, context: Any, X: Any, y: Any):
        self.estimator, self.context, self.data = estimator, context, {"X": X, "y": y}
        context.call_on_fit_task_begin(estimator=estimator, **self.data)

    def __call__(self, state: FitState) -> bool:
        task = self.context.subcontext(task_name="iteration")
        # No metadata: scikit-learn passes them to scorers. The fitted estimator has the objective and the iteration.
        task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return task.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=lambda: fitted_attributes(state.model()), **self.data
        )

    def close(self) -> None:
        self.context.call_on_fit_task_end(estimator=self.estimator, reconstruction_attributes={}, **self.data)


def fitted_attributes(estimator: BaseEstimator) -> dict[str, Any]:
    """Return the attributes that `fit` set."""
    return {name: value for name, value in vars(estimator).items() if name not in estimator.get_params(deep=False)}
