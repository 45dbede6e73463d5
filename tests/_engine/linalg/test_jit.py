"""What a first fit compiles, and the line that says so."""

import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from laminar._engine.linalg import elementwise
from laminar._engine.linalg.jit import MESSAGE, CompileNotice


def compile_for(notice, seconds, function=elementwise.multiply):
    """Events of a compilation that takes this long."""
    event = SimpleNamespace(data={"dispatcher": function})
    notice.on_start(event)
    time.sleep(seconds)
    notice.on_end(event)


def test_notice_of_a_long_compilation_while_it_runs(capsys):
    notice, event = CompileNotice(patience=0.05), SimpleNamespace(data={"dispatcher": elementwise.multiply})
    notice.on_start(event)
    notice.timer.join(10)
    assert capsys.readouterr().err == f"laminar: {MESSAGE}\n"
    notice.on_end(event)
    compile_for(notice, 0.1)
    notice.timer.join(10)
    assert capsys.readouterr().err == ""


def test_notice_adds_up_short_compilations(capsys):
    notice = CompileNotice(patience=0.1)
    for _ in range(3):
        compile_for(notice, 0.06)
        notice.timer.join(10)
    assert capsys.readouterr().err == f"laminar: {MESSAGE}\n"


def test_no_notice_of_a_short_compilation(capsys):
    notice = CompileNotice(patience=60)
    compile_for(notice, 0)
    notice.timer.join(10)
    assert not notice.timer.is_alive()
    assert capsys.readouterr().err == ""


def test_no_notice_of_functions_of_others(capsys):
    notice = CompileNotice(patience=0)
    compile_for(notice, 0.02, SimpleNamespace(py_func=time.sleep))
    assert not hasattr(notice, "timer")
    assert capsys.readouterr().err == ""


FIRST_FIT = """
import numpy as np
from numba.core import event
from laminar import NMF

class Names(event.Listener):
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        print(function.__module__, function.__name__)
    def on_end(self, event):
        pass

event.register("numba:compile", Names())
NMF(3, max_iter=200, tol=1e-3, random_state=0).fit(np.random.default_rng(0).random((30, 8)))
"""


@pytest.mark.slow
def test_first_fit_compiles_little_and_says_so_once(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    fresh, warm = (
        subprocess.run([sys.executable, "-c", FIRST_FIT], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    )
    assert fresh.stderr == f"laminar: {MESSAGE}\n"
    assert warm.stderr == warm.stdout == ""
    functions = fresh.stdout.splitlines()
    kernels = [line.split()[1] for line in functions if line.startswith("laminar.")]
    assert sorted(kernels) == ["block_pivoting", "descend"]  # each with one signature
    assert "unicode" not in fresh.stdout  # that of an error message takes longer than the kernels
