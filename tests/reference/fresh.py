"""Code in an interpreter of its own, for what depends on all that lives in a process: memory above all."""

import json
import os
import subprocess
import sys

PEAK = """
import gc, json, sys, tracemalloc, warnings
import numpy as np
warnings.simplefilter("ignore")

def peak(work):
    "Most bytes held at once by what ``work`` allocates."
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
"""


def run(code, *arguments):
    """What the code, which finds the arguments in ``sys.argv``, prints last, read as JSON."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
