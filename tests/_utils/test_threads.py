import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from threadpoolctl import ThreadpoolController, threadpool_limits

from laminar import NMF, SemiNMF
from laminar._utils import threads


def blas_threads():
    return {lib["num_threads"] for lib in ThreadpoolController().select(user_api="blas").info()}


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


@pytest.mark.parametrize("n", [0, 1, 2, 63, 127, 128, 129, 1000, 4097])
@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
@pytest.mark.parametrize("width", [1, 2])
def test_blocks_cover_the_range_exactly(n, size, width):
    with threadpool_limits(width, user_api="blas"), threads.own_threads():
        blocks = threads.blocks(n, size)
        assert_array_equal(np.concatenate([np.arange(n)[b] for b in blocks] or [[]]), np.arange(n))
        lengths = [b.stop - b.start for b in blocks]
        assert all(0 < length <= size for length in lengths)
        assert n == 0 or max(lengths) - min(lengths) <= 1
        if size > 1 and n >= 64 * width and 4 * n > size:
            assert len(blocks) % width == 0


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


@pytest.mark.parametrize("model", [NMF(3, random_state=0), SemiNMF(3, random_state=0), NMF(3, loss="kl", max_iter=20)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fits_at_once_and_on_two_threads_give_what_one_alone_gives(model):
    Xs = [np.random.default_rng(seed).gamma(1.0, size=(300, 20)) for seed in range(4)]
    with threadpool_limits(1, user_api="blas"):
        alone = [model.fit(X).reconstruction_err_ for X in Xs]
    with threadpool_limits(2, user_api="blas"):
        alone_on_two = [model.fit(X).reconstruction_err_ for X in Xs]
        with ThreadPoolExecutor(2) as pool:
            at_once = list(pool.map(lambda X: clone(model).fit(X).reconstruction_err_, Xs))
        assert blas_threads() == {2}
    assert_allclose(alone_on_two, alone, rtol=1e-6)
    assert_allclose(at_once, alone, rtol=1e-6)
