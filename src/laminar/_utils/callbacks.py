"""What hears of every iteration: the progress line of ``verbose=1``, the user's hook, scikit-learn's callbacks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

try:  # scikit-learn 1.9 and newer
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:
        """Older scikit-learn has no callbacks: nothing to support."""

    def with_callbacks(method):
        """Older scikit-learn has no callbacks: the method as it is."""
        return method


Hook = Callable[..., bool]  # (iteration, objective) -> whether to stop; what is given besides is not looked at


@contextmanager
def hooks(estimator, max_iter: int, X, y=None) -> Iterator[Hook]:
    """Yield one function of (iteration, objective) that tells everybody and says whether to stop.

    When the block ends the estimator must be fitted: scikit-learn's callbacks are shown it, with X and y. The
    seconds it tells are those since the start of the fit, whatever it is given: a fit may consist of many loops.
    """
    began = time.perf_counter()
    told: list[Callable[[int, float, float], object]] = []
    if estimator.callback is not None:
        told.append(estimator.callback)
    bridge = _sklearn_bridge(estimator, max_iter, X, y)
    if bridge is not None:
        told.append(bridge)
    progress = _progress(type(estimator).__name__, max_iter) if estimator.verbose else None
    if progress is not None:
        told.append(progress)
    try:
        yield lambda i, value, *_: any([bool(tell(i, value, time.perf_counter() - began)) for tell in told])
        if bridge is not None:
            bridge.close()
    finally:
        if progress is not None:
            progress.close()


def _sklearn_bridge(estimator, max_iter: int, X, y):
    """What forwards to the callbacks set with ``set_callbacks``; None where there are none."""
    if not hasattr(estimator, "_init_callback_context"):
        return None
    context = estimator._init_callback_context(max_subtasks=max_iter)
    return _Bridge(estimator, context, X, y) if getattr(estimator, "_skl_callbacks", None) else None


class _Bridge:
    """scikit-learn's callbacks: the fit is a task, and each iteration a task of it."""

    def __init__(self, estimator, context, X, y):
        self.estimator, self.context, self.data = estimator, context, {"X": X, "y": y}
        context.call_on_fit_task_begin(estimator=estimator, **self.data)

    def __call__(self, iteration: int, objective: float, seconds: float) -> bool:
        task = self.context.subcontext(task_name="iteration")
        news = {**self.data, "metadata": {"iteration": iteration, "objective": objective, "seconds": seconds}}
        task.call_on_fit_task_begin(estimator=self.estimator, **news)
        return task.call_on_fit_task_end(estimator=self.estimator, **news)

    def close(self) -> None:
        self.context.call_on_fit_task_end(estimator=self.estimator, reconstruction_attributes={}, **self.data)


def _progress(name: str, max_iter: int):
    """A bar on a terminal that has rich, plain lines elsewhere."""
    if sys.stderr.isatty():
        try:
            return _Bar(name, max_iter)
        except ImportError:
            pass
    return _Lines(name, max_iter)


class _Bar:
    """A rich progress bar on standard error; shown only once a fit has lasted a moment."""

    def __init__(self, name: str, max_iter: int):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total}  objective {task.fields[objective]:.6g}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
        )
        self.task = self.bar.add_task(name, total=max_iter, objective=float("nan"))
        self.running = False

    def __call__(self, iteration: int, objective: float, seconds: float) -> None:
        if not self.running and seconds > 0.5:
            self.bar.start()
            self.running = True
        self.bar.update(self.task, completed=iteration, objective=objective)

    def close(self) -> None:
        if self.running:
            self.bar.stop()


class _Lines:
    """A line on standard error for the first iteration, then at most one a second, and the last."""

    def __init__(self, name: str, max_iter: int):
        self.name, self.max_iter = name, max_iter
        self.last_time = -1.0
        self.waiting: str | None = None

    def __call__(self, iteration: int, objective: float, seconds: float) -> None:
        self.waiting = f"{self.name} {iteration}/{self.max_iter}  objective {objective:.6g}  {seconds:.1f} s"
        now = time.perf_counter()
        if now - self.last_time >= 1:
            self.last_time = now
            self._print()

    def _print(self) -> None:
        if self.waiting:
            print(self.waiting, file=sys.stderr, flush=True)
            self.waiting = None

    def close(self) -> None:
        self._print()
