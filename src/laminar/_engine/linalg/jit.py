"""Decorators of the kernels, and the message that they are being compiled."""

from __future__ import annotations

import threading
import time
from typing import Any

from numba import njit
from numba.core import event

from ..._utils.progress import announce

# numpy's error model: a test for zero before every division would keep loops from being vectorised.
OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": True, "error_model": "numpy", "cache": True}
compiled = njit(**OPTIONS)
# For functions that kernels call. A call that LLVM does not inline runs another copy of the function when a kernel has
# just been compiled than when it comes from the cache, and with fastmath the copies round differently.
inlined = njit(**OPTIONS, inline="always")

MESSAGE = "compiling kernels for this machine, once"


class CompileNotice(event.Listener):
    """Listener of numba's event ``numba:compile`` that prints one line if kernels are compiled for long.

    A kernel from the cache causes no event. numba compiles on one thread at a time.

    Parameters
    ----------
    patience : float, default=1.0
        Seconds of compiling, over all kernels of Laminar in this process, after which the line is printed.
    """

    def __init__(self, patience: float = 1.0):
        self.patience = patience
        self.depth = 0  # of kernels that are compiled because another one calls them
        self.is_printed = False

    def on_start(self, event: event.Event) -> None:
        """Wait for the rest of the patience, beside the compiler, and print."""
        if not _is_ours(event):
            return
        self.depth += 1
        if self.depth == 1:
            self.began = time.perf_counter()
            self.timer = threading.Timer(max(self.patience, 0.0), self._print)
            self.timer.daemon = True
            self.timer.start()

    def on_end(self, event: event.Event) -> None:
        """Stop waiting."""
        if not _is_ours(event):
            return
        self.depth -= 1
        if self.depth == 0:
            self.timer.cancel()
            self.patience -= time.perf_counter() - self.began

    def _print(self) -> None:
        if not self.is_printed:
            self.is_printed = True
            announce("laminar", MESSAGE)


def _is_ours(event: event.Event) -> bool:
    return event.data["dispatcher"].py_func.__module__.startswith("laminar.")


event.register("numba:compile", CompileNotice())
