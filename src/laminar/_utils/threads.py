"""One pool of threads: of BLAS or of laminar, never both.

A threaded BLAS next to threads of our own is up to ten times slower than either alone. While a model is being
fitted BLAS is therefore limited to one thread and the samples (or features) are cut into blocks that Python threads
work on: matrix products and compiled kernels both release the GIL. For products of tall matrices with few columns this
is also faster than BLAS's own threading.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from itertools import pairwise
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

# Outside `own_threads` everything runs in the calling thread and BLAS keeps its own threads.
_width: ContextVar[int] = ContextVar("laminar_threads", default=1)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=max(1, (os.cpu_count() or 1) - 1), thread_name_prefix="laminar")


_taking_over = Lock()

if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    # A forked child inherits the pool object but not its threads: it would wait for ever.
    os.register_at_fork(after_in_child=_pool.cache_clear)
    os.register_at_fork(
        before=_taking_over.acquire, after_in_parent=_taking_over.release, after_in_child=_taking_over.release
    )


@contextmanager
def own_threads(width: int | None = None) -> Iterator[int]:
    """Take over the threads BLAS may use now (so that joblib's and the user's limits are respected), or so many."""
    if _width.get() > 1:  # nested: already ours
        yield _width.get()
        return
    with _taking_over:
        blas = _controller().select(user_api="blas")
        found = max((lib["num_threads"] for lib in blas.info()), default=1)
        # One thread already: perhaps by a fit in another thread, which restores the limit itself.
        limit = blas.limit(limits=1) if found > 1 else nullcontext()
    width = found if width is None else width
    with limit:
        token = _width.set(max(1, width))
        try:
            yield width
        finally:
            _width.reset(token)


def n_threads() -> int:
    """Return how many threads `each` uses here."""
    return _width.get()


class Elsewhere(ABC):
    """Slices of rows that other processes hold: functions of a slice are sent there."""

    workers: Any
    """Who holds them."""

    @property
    def n_rows(self) -> int:
        """Number of all rows there."""
        return self.workers.n_rows

    @abstractmethod
    def each(self, work: Callable) -> list:
        """Run ``work(b)`` for every slice, where its rows are; results in the order of the rows."""

    @abstractmethod
    def total(self, work: Callable) -> Any:
        """Return the sum of the results, added up in a fixed order."""


Items = Sequence | Elsewhere


def each(work: Callable, items: Items) -> list:
    """Run ``work(item)`` for every item, on all threads or where the items are; results in the order of the items."""
    if isinstance(items, Elsewhere):
        return items.each(work)
    results: list = [None] * len(items)
    todo = iter(range(len(items)))  # next() on a range iterator is atomic

    def worker() -> None:
        for i in todo:
            results[i] = work(items[i])

    helpers = min(_width.get(), len(items)) - 1
    futures = [_pool().submit(worker) for _ in range(helpers)]
    worker()
    for future in futures:
        future.result()
    return results


def total(work: Callable, items: Items) -> Any:
    """Return the sum of ``work(item)`` over the items, added up in their order."""
    return items.total(work) if isinstance(items, Elsewhere) else sum(each(work, items))


TILE = 192  # rows, of which compiled updates take some at a time: see `tiles`


def tiles(n: int, size: int) -> list[slice]:
    """Cut ``range(n)`` as `blocks` does, at multiples of `TILE` where slices have as many.

    The number of inner iterations of an update is that of a tile of rows: which rows make a tile, and so the result,
    does not depend on how the rows are cut for threads, files or workers.
    """
    edges = {min(round(b.start / TILE) * TILE, n) if size >= TILE else b.start for b in blocks(n, size)}
    return [slice(a, b) for a, b in pairwise(sorted(edges | {n})) if b > a]


def total_of_shares(work: Callable, items: Items) -> Any:
    """Return the same sum with one buffer for a share of neighbouring items, not one for each: of large results."""
    if isinstance(items, Elsewhere):
        return items.total(work)
    return sum(each(lambda share: sum(work(item) for item in share), shares(items)))


def blocks(n: int, size: int) -> list[slice]:
    """Cut ``range(n)`` into equal slices of at most ``size``: by n alone, so that sums over them always round alike.

    Two slices, or a multiple of four, so that the threads of most machines share them evenly.
    """
    count = -(-n // max(1, size))
    if n >= 128 and 4 * n > size:  # below that a thread costs more than it saves
        count = 2 if count == 1 else -(-count // 4) * 4
    edges = [round(i * n / count) for i in range(count + 1)] if n else []
    return [slice(a, b) for a, b in pairwise(edges) if b > a]


def shares(items: Sequence) -> list[Sequence]:
    """Split items into two or four shares of neighbours: a sum then needs one buffer a share, not one an item."""
    size = -(-len(items) // (4 if len(items) >= 8 else 2)) or 1
    return [items[i : i + size] for i in range(0, len(items), size)]
