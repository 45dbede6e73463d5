"""`progress` and `track`: lines without a terminal, a bar with one."""

import sys
from types import SimpleNamespace

import numba
import pytest

from laminar._utils import progress as module
from laminar._utils.progress import progress, shown_on, stage, stages, track


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(module.time, "perf_counter", lambda: clock.now)
    return clock


def use_terminal(monkeypatch):  # not a fixture: pytest replaces sys.stderr between setup and call
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)


def run(clock, *, n_steps=30, **keywords):
    with progress("Task", 50, **keywords) as report:
        for i in range(1, n_steps + 1):
            report(i, "  objective 1")
            clock.now += 0.1


# Lines


@pytest.mark.parametrize("may_stop_early", [False, True])
def test_lines_once_a_second(clock, capsys, may_stop_early):
    run(clock, may_stop_early=may_stop_early)
    printed = [int(line.split()[1].split("/")[0]) for line in capsys.readouterr().err.splitlines()]
    assert (printed[0] == 1) == may_stop_early
    assert printed[-1] == 30
    assert 3 <= len(printed) <= 5


def test_line_text(clock, capsys):
    run(clock, n_steps=11, unit="images", may_stop_early=True)
    assert capsys.readouterr().err.splitlines() == [
        "Task 1/50 images  objective 1  0.0 s",
        "Task 11/50 images  objective 1  1.0 s",
    ]


def test_last_line_after_error(clock, capsys):
    def fail():
        with progress("Task", 3) as report:
            report(1)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert capsys.readouterr().err == "Task 1/3  0.0 s\n"


# Bars


@pytest.mark.parametrize(
    ("may_stop_early", "seconds", "is_shown"), [(True, 0.1, False), (True, 2, True), (False, 0, True)]
)
def test_bar_on_terminal(clock, monkeypatch, capsys, may_stop_early, seconds, is_shown):
    use_terminal(monkeypatch)
    with progress("Task", 10, may_stop_early=may_stop_early) as report:
        clock.now += seconds
        report(3, "  objective 0.5")
    assert ("Task" in capsys.readouterr().err) == is_shown


# Displays


def test_display_receives_tasks_and_stages(capsys):
    received = []

    class Display:
        def stage(self, text):
            received.append(text)

        def task(self, name, total, unit, may_stop_early):
            received.append((name, total, unit, may_stop_early))
            return SimpleNamespace(report=lambda done, detail="": received.append(done), close=lambda: None)

    with shown_on(Display()), stages("Model"):
        stage("graph")
        assert list(track("ab", "Letters", unit="letters")) == ["a", "b"]
    assert received == ["Model: graph", ("Letters", 2, " letters", False), 1, 2]
    assert capsys.readouterr().err == ""


# Iteration


@pytest.mark.parametrize(("verbose", "expected"), [(0, ""), (1, "Search 3/3 fits  0.0 s\n")])
def test_track_yields_all_items(clock, capsys, verbose, expected):
    assert list(track([1, 2, 3], "Search", unit="fits", verbose=verbose)) == [1, 2, 3]
    assert capsys.readouterr().err == expected


# Stages


def test_stage_prints_at_once(capsys):
    with stages("Model"):
        stage("graph of 5 samples")
        assert capsys.readouterr().err == "Model: graph of 5 samples\n"


def test_stage_silent_elsewhere(capsys):
    stage("outside")
    with stages("Model", verbose=0):
        stage("not verbose")
    with stages("Model"):
        pass
    stage("after")
    assert capsys.readouterr() == ("", "")


def test_stage_of_inner_silent_model_has_outer_name(capsys):
    with stages("Outer"), stages("Inner", verbose=0):
        stage("graph")
    assert capsys.readouterr().err == "Outer: graph\n"


def test_stages_name_what_numba_compiles(capsys):
    inner = numba.njit(lambda x: x + 1)

    @numba.njit
    def outer(x):
        return inner(x)

    with stages("Model"):
        outer(1)
        outer(2)
    assert capsys.readouterr().err == "Model: compiling outer\n"
    outer(1.0)
    assert capsys.readouterr().err == ""
