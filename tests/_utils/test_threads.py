"""Threads: the order of results, errors, forks, limits of BLAS, and results that do not depend on them."""

import contextvars
import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from threadpoolctl import ThreadpoolController, threadpool_limits

from laminar import NMF, DeepSemiNMF, SemiNMF
from laminar._utils import threads


def blas_threads():
    """Threads of the BLAS of numpy and of scipy; OpenCV brings one more, which no fit uses."""
    libraries = ThreadpoolController().select(user_api="blas").info()
    return {lib["num_threads"] for lib in libraries if "opencv" not in lib["filepath"]}


@pytest.mark.usefixtures("two_threads")
def test_each_keeps_the_order_and_uses_every_thread():
    barrier = threading.Barrier(2, timeout=10)  # passes only if two items are under way at once

    def work(i):
        if i < 2:
            barrier.wait()
        return i * i, threading.get_ident()

    results = threads.each(work, range(50))
    assert [square for square, _ in results] == [i * i for i in range(50)]
    assert len({thread for _, thread in results[:2]}) == 2


def test_each_stays_in_the_calling_thread_outside_a_fit():
    assert threads.n_threads() == 1
    assert set(threads.each(lambda _: threading.get_ident(), range(5))) == {threading.get_ident()}
    assert threads.each(abs, []) == []


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("bad", [0, 1, 7, 19])
def test_each_passes_errors_on(bad):
    def work(i):
        if i == bad:
            raise KeyError(i)

    for _ in range(5):  # on whichever thread it happens
        with pytest.raises(KeyError, match=str(bad)):
            threads.each(work, range(20))
    assert threads.each(abs, [-1, -2, -3]) == [1, 2, 3]


@pytest.mark.usefixtures("two_threads")
def test_each_in_each():
    table = threads.each(lambda i: threads.each(lambda j: (i, j), range(6)), range(8))
    assert table == [[(i, j) for j in range(6)] for i in range(8)]


def _in_child(queue):
    with threadpool_limits(2, user_api="blas"), threads.own_threads() as width:
        queue.put((width, threads.each(abs, [-1, -2, -3, -4])))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_each_after_a_fork(two_threads):
    threads.each(abs, range(4))  # the pool has threads, which the child does not inherit
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue,), daemon=True)
    child.start()
    try:
        assert queue.get(timeout=20) == (2, [1, 2, 3, 4])
    finally:
        child.kill()
        child.join()


@pytest.mark.parametrize("n", [0, 1, 2, 127, 128, 129, 1000, 4097])
@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_blocks_cover_range_evenly(n, size):
    blocks = threads.blocks(n, size)
    assert_array_equal(np.concatenate([np.arange(n)[b] for b in blocks] or [[]]), np.arange(n))
    lengths = [b.stop - b.start for b in blocks]
    assert all(0 < length <= size for length in lengths)
    assert n == 0 or max(lengths) - min(lengths) <= 1
    if size > 1 and n >= 128 and 4 * n > size:
        assert len(blocks) == 2 or len(blocks) % 4 == 0


def test_blocks_ignore_number_of_threads(two_threads):
    inside = threads.blocks(1000, 300)
    with threadpool_limits(1, user_api="blas"):
        assert inside == contextvars.Context().run(threads.blocks, 1000, 300)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8, 9, 100])
def test_shares_keep_order(n):
    shares = threads.shares(range(n))
    assert [i for share in shares for i in share] == list(range(n))
    assert len(shares) <= 4
    assert all(len(share) > 0 for share in shares)


@pytest.mark.parametrize("limit", [1, 2])
def test_blas_threads_come_back(limit):
    with threadpool_limits(limit, user_api="blas"):
        with threads.own_threads() as width, threads.own_threads() as nested:
            assert width == nested == limit == threads.n_threads()
            assert blas_threads() == {1}
        assert blas_threads() == {limit}
        assert threads.n_threads() == 1
        with pytest.raises(ZeroDivisionError), threads.own_threads():
            raise ZeroDivisionError
        assert blas_threads() == {limit}
        assert threads.n_threads() == 1


def test_blas_threads_come_back_when_fits_overlap():
    """The first to come is the first to go, while the second still runs."""
    second_in, first_out = threading.Event(), threading.Event()

    def second():
        with threads.own_threads():
            second_in.set()
            assert first_out.wait(10)

    with threadpool_limits(2, user_api="blas"):
        other = threading.Thread(target=second)
        with threads.own_threads():
            other.start()
            assert second_in.wait(10)
        first_out.set()
        other.join()
        assert blas_threads() == {2}


# More rows than one block has, so that there are sums over blocks.
FITS = [
    NMF(3, max_iter=20, random_state=0),
    SemiNMF(3, max_iter=20, random_state=0),
    NMF(3, loss="kl", max_iter=10, random_state=0),
    DeepSemiNMF((5, 3), max_iter=10, random_state=0),
    DeepSemiNMF((5, 3), activation="stanh", max_iter=3, random_state=0),
]


@pytest.mark.parametrize("model", FITS, ids=repr)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fits_ignore_threads(model):
    """Alone on one thread, alone on two, and two fits at once: the same to the last bit."""
    Xs = [np.random.default_rng(seed).gamma(1.0, size=(700, 12)) for seed in range(2)]
    with threadpool_limits(1, user_api="blas"):
        alone = [clone(model).fit(X) for X in Xs]
    with threadpool_limits(2, user_api="blas"):
        alone_on_two = [clone(model).fit(X) for X in Xs]
        with ThreadPoolExecutor(2) as pool:
            at_once = list(pool.map(lambda X: clone(model).fit(X), Xs))
        assert blas_threads() == {2}
    for expected, *others in zip(alone, alone_on_two, at_once, strict=True):
        for other in others:
            assert_array_equal(other.components_, expected.components_)
            assert_array_equal(other.objective_history_, expected.objective_history_)
