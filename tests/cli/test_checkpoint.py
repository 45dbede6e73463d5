"""`laminar fit --checkpoint`: an interrupted fit goes on with --resume, and gives the model of an unbroken one."""

import os
import subprocess
import sys

import numpy as np
import pandas
import pytest

import laminar as package

FIT = ("fit", "table.csv", "--model", "nmf", "-k", "3", "--set", "tol=0", "--set", "max_iter=40", "--force")
INTERRUPTED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in jobs that run in the background
from laminar._engine.monitor import Monitor
report = Monitor.report

def pressed(self, *arguments):
    if self.n_iter == 15:
        signal.raise_signal(signal.SIGINT)
    report(self, *arguments)

Monitor.report = pressed
sys.argv[0] = "laminar"
from laminar.cli import main
main()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint")
    X = np.random.default_rng(0).random((30, 8))
    pandas.DataFrame(X, columns=list("abcdefgh")).to_csv(folder / "table.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def interrupted(folder):
    """What a fit prints in which Ctrl-C is pressed in iteration 15."""
    command = [sys.executable, "-c", INTERRUPTED, *FIT, "-o", "m.laminar", "--checkpoint", "run.ckpt"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return done.stderr


def test_interrupted_fit_goes_on(interrupted, folder, laminar):
    assert interrupted.splitlines()[-1] == "Error: stopped; the same call with --resume goes on from run.ckpt."
    assert not (folder / "m.laminar").exists()

    refused = laminar(*FIT, "-o", "m.laminar", "--checkpoint", "run.ckpt", cwd=folder, code=2)
    assert "is there already: resume it (resume=True, or --resume)" in refused.stderr

    done = laminar(*FIT, "-o", "m.laminar", "--checkpoint", "run.ckpt", "--resume", cwd=folder)
    assert "Goes on from run.ckpt." in done.stderr
    laminar(*FIT, "-o", "unbroken.laminar", "-q", cwd=folder)
    found, expected = (package.load(folder / name) for name in ("m.laminar", "unbroken.laminar"))
    assert found.n_iter_ == 40
    np.testing.assert_array_equal(found.components_, expected.components_)
    assert not (folder / "run.ckpt").exists()


def test_resume_needs_a_checkpoint(folder, laminar):
    done = laminar(*FIT, "--resume", cwd=folder, code=2)
    assert done.stderr.splitlines()[-1].startswith("Error: --resume needs --checkpoint")
