"""Seconds of a first fit, with kernels to compile, and of the next process: ``python -m benchmarks.first_fit``.

``python -m benchmarks.first_fit BEFORE/src src`` compares two versions, alternately.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

FITS = {
    "NMF": "NMF(10, random_state=0).fit(X)",
    "NMF, kl": "NMF(10, loss='kl', random_state=0).fit(X)",
    "SemiNMF": "SemiNMF(10, random_state=0).fit(X - X.mean(0))",
    "WSF": "WSF(10, random_state=0).fit(X, y)",
    "DeepSemiNMF": "DeepSemiNMF((20, 10), random_state=0).fit(X)",
}
MEASURE = """
import time, warnings
import numpy as np
from laminar import DeepSemiNMF, NMF, SemiNMF, WSF
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, y = rng.random((300, 50)), rng.integers(0, 3, 300)
began, cpu = time.perf_counter(), time.process_time()
{}
print(time.perf_counter() - began, time.process_time() - cpu)
"""


def seconds(fit: str, cache: str, source: str | None) -> tuple[float, float]:
    """Return wall clock and CPU seconds of a fit in a new process with this cache of numba."""
    path = {} if source is None else {"PYTHONPATH": source}
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "NUMBA_CACHE_DIR": cache, **path}
    command = [sys.executable, "-c", MEASURE.format(fit)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    wall, cpu = run.stdout.split()
    return float(wall), float(cpu)


def rounds(fit: str, sources: list[str | None], repeats: int = 3) -> list[list[tuple[float, ...]]]:
    """Return wall clock and CPU seconds of the first and of the second process, by source and round."""
    found: list[list[tuple[float, ...]]] = [[] for _ in sources]
    for _ in range(repeats):
        for times, source in zip(found, sources, strict=True):
            with tempfile.TemporaryDirectory() as cache:
                times.append((*seconds(fit, cache, source), *seconds(fit, cache, source)))
    return found


if __name__ == "__main__":
    sources = [os.path.abspath(source) for source in sys.argv[1:]] or [None]
    for name, fit in FITS.items():
        for source, times in zip(sources, rounds(fit, sources), strict=True):
            first, cpu, second, _ = (statistics.median(column) for column in zip(*times, strict=True))
            print(f"{name}: first {first:.2f} s (CPU {cpu:.2f}), then {second:.2f} s", source or "", flush=True)
