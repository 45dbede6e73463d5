"""Callbacks of a fit: the user's function, those of scikit-learn, and the progress of ``verbose=1``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from sklearn.base import BaseEstimator

from .progress import progress

try:  # scikit-learn 1.9 and newer
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:
        """Empty mixin for older scikit-learn, which has no callbacks."""

    def with_callbacks(method: Callable) -> Callable:
        """Return the method unchanged, for older scikit-learn, which has no callbacks."""
        return method


Hook = Callable[..., bool]  # (iteration, objective) -> whether to stop; further arguments are ignored


@contextmanager
def hooks(estimator: BaseEstimator, max_iter: int, X: Any, y: Any = None) -> Iterator[Hook]:
    """Yield one function of (iteration, objective) that calls all callbacks and returns whether one requests to stop.

    The seconds that callbacks are given are those since the start of the fit, which may consist of several loops. The
    estimator must be fitted when the block ends: scikit-learn's callbacks then receive it, with X and y.
    """
    start = time.perf_counter()
    receivers: list[Callable[[int, float, float], object]] = []
    if estimator.callback is not None:
        receivers.append(estimator.callback)
    sklearn_callbacks = _sklearn_callbacks(estimator, max_iter, X, y)
    if sklearn_callbacks is not None:
        receivers.append(sklearn_callbacks)
    with ExitStack() as displays:
        if estimator.verbose:
            display = progress(type(estimator).__name__, max_iter, may_stop_early=True)
            report = displays.enter_context(display)
            receivers.append(lambda i, objective, _: report(i, f"  objective {objective:.6g}"))
        # A list, not a generator: every receiver is called, also after one that requests to stop.
        yield lambda i, value, *_: any([bool(receive(i, value, time.perf_counter() - start)) for receive in receivers])
        if sklearn_callbacks is not None:
            sklearn_callbacks.close()


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

    def __call__(self, iteration: int, objective: float, seconds: float) -> bool:
        task = self.context.subcontext(task_name="iteration")
        arguments = {**self.data, "metadata": {"iteration": iteration, "objective": objective, "seconds": seconds}}
        task.call_on_fit_task_begin(estimator=self.estimator, **arguments)
        return task.call_on_fit_task_end(estimator=self.estimator, **arguments)

    def close(self) -> None:
        self.context.call_on_fit_task_end(estimator=self.estimator, reconstruction_attributes={}, **self.data)
