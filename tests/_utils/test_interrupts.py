"""Ctrl-C in a fit: an estimator as of the iteration, a warning or KeyboardInterrupt, and a checkpoint to go on from."""

import signal
import sys
import threading
import warnings

import numpy as np
import pytest

from laminar import NMF, checkpoint
from laminar.callbacks import InterruptedFitWarning
from reference.recorded_fits import FITS, POSITIVE, REPEATED, fitted, numbers


@pytest.fixture(autouse=True)
def _python_handles_interrupts():
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals arrive in the main thread")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


@pytest.fixture
def interactive(monkeypatch):
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)


def ctrl_c(at=5, times=1):
    """Return a callback that presses Ctrl-C at its n-th call."""
    calls = []

    def callback(state):
        calls.append(state.iteration)
        if len(calls) == at:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)

    return callback


@pytest.mark.parametrize("name", [*FITS, *REPEATED])
def test_every_model_is_usable_after_an_interrupt(interactive, name):
    with pytest.warns(InterruptedFitWarning, match=r"was interrupted in iteration \d+: it is fitted as of then"):
        model = fitted(name, callback=ctrl_c())
    assert not model.converged_
    assert 1 <= model.n_iter_ <= 20  # of MultiLayerNMF and MultiViewDeepNMF, whose iterations are counted otherwise
    assert all(np.isfinite(found).all() for found in numbers(model))


def test_interrupted_fit_is_that_of_fewer_iterations(interactive):
    with pytest.warns(InterruptedFitWarning):
        found = fitted("NMF", callback=ctrl_c(at=5))
    for a, b in zip(numbers(found), numbers(fitted("NMF", max_iter=5)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_program_gets_a_keyboard_interrupt_and_a_fitted_model(monkeypatch):
    monkeypatch.delattr(sys, "ps1", raising=False)
    model = NMF(4, tol=0, max_iter=30, random_state=0, callback=ctrl_c(at=5))
    with pytest.raises(KeyboardInterrupt, match="interrupted in iteration 5"):
        model.fit(POSITIVE)
    assert model.n_iter_ == 5
    assert not model.converged_
    assert model.transform(POSITIVE).shape == (60, 4)


def test_second_interrupt_stops_at_once(interactive):
    model = NMF(4, callback=ctrl_c(times=2))
    with pytest.raises(KeyboardInterrupt):
        model.fit(POSITIVE)
    assert not hasattr(model, "components_")


def test_interrupt_outside_of_iterations_is_raised(interactive, monkeypatch):
    from laminar._engine import starts

    monkeypatch.setitem(starts.STARTS, "random", lambda *arguments: signal.raise_signal(signal.SIGINT))
    model = NMF(4, init="random")
    with pytest.raises(KeyboardInterrupt):
        model.fit(POSITIVE)
    assert not hasattr(model, "components_")


@pytest.mark.parametrize("name", FITS)
def test_interrupted_fit_is_resumed(interactive, tmp_path, name):
    path = tmp_path / "run.ckpt"
    with pytest.warns(InterruptedFitWarning, match="goes on from .*run.ckpt"), checkpoint(path):
        fitted(name, callback=ctrl_c(at=10))
    assert path.exists()
    with checkpoint(path, resume=True) as resumed:
        found = fitted(name)
    assert resumed
    for a, b in zip(numbers(found), numbers(fitted(name)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_interrupt_between_recorded_fits_ends_the_run(interactive, tmp_path):
    """A fit after the interrupted one is not recorded: it would follow from another model."""
    path = tmp_path / "run.ckpt"
    with checkpoint(path):
        with pytest.warns(InterruptedFitWarning):
            first = fitted("NMF", callback=ctrl_c(at=10))
        fitted("SemiNMF")
    assert first.n_iter_ == 10
    with checkpoint(path, resume=True):
        found = fitted("NMF")
    for a, b in zip(numbers(found), numbers(fitted("NMF")), strict=True):
        np.testing.assert_array_equal(a, b)


def test_handler_of_the_program_stays():
    pressed = []
    signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    assert fitted("NMF", callback=ctrl_c()).n_iter_ == 30
    signal.signal(signal.SIGINT, signal.default_int_handler)
    assert pressed == [signal.SIGINT]


def test_fit_in_another_thread_goes_on():
    found = []
    thread = threading.Thread(target=lambda: found.append(fitted("NMF")))
    with warnings.catch_warnings():
        thread.start()
        thread.join()
    assert found[0].n_iter_ == 30
