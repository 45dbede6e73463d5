"""CPU time of imports against that of `sklearn.decomposition`: ``python -m benchmarks.import_time``."""

from __future__ import annotations

import statistics
import subprocess
import sys

STATEMENTS = ["import sklearn.decomposition", "import laminar", "from laminar import NMF", "from laminar import *"]
MEASURE = "import resource\n{}\nused = resource.getrusage(resource.RUSAGE_SELF)\nprint(used.ru_utime + used.ru_stime)"


def seconds(statement: str) -> float:
    """Return the CPU time of a new process that runs the statement."""
    run = subprocess.run([sys.executable, "-c", MEASURE.format(statement)], capture_output=True, text=True, check=True)
    return float(run.stdout)


if __name__ == "__main__":
    runs = [[seconds(statement) for statement in STATEMENTS] for _ in range(7)]
    medians = [statistics.median(column) for column in zip(*runs, strict=True)]
    for statement, median in zip(STATEMENTS, medians, strict=True):
        print(f"{statement}: {median:.2f} s, ratio {median / medians[0]:.2f}")
