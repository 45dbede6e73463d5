"""A fit of data larger than memory on dask, with a worker killed on the way: the figures of docs/scaling.md.

    python -m benchmarks.large_run                        # 8.2 GB: 8 000 640 x 256 float32, two workers of 9 GB
    python -m benchmarks.large_run --rows 20000256 --components 8        # 20.5 GB

The data, gamma distributed codes times components plus noise, are written to a zarr file in a temporary folder, by
blocks, by the workers. Each model is fitted twice with a fixed number of sweeps: undisturbed, and with a worker killed
(SIGKILL) during the fourth sweep. Both results are compared bit by bit.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import threading
import time
import warnings
from typing import Any

import numpy as np

from laminar import NMF, SemiNMF

P, SWEEPS = 256, 8
CHUNK = 192 * 434  # rows: 85 MB


def _block(seed: int, components: np.ndarray, n: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    codes = rng.standard_gamma(0.3, size=(n, len(components)), dtype=np.float32)
    return codes @ components + 0.5 * rng.random((n, components.shape[1]), dtype=np.float32)


def _write(path: str, n: int, components: np.ndarray) -> Any:
    """Write the data block by block, and return them as a dask array."""
    import dask.array as da
    from dask import delayed

    sizes = [min(CHUNK, n - start) for start in range(0, n, CHUNK)]
    parts = [
        da.from_delayed(delayed(_block)(i, components, size), (size, P), np.float32) for i, size in enumerate(sizes)
    ]
    da.concatenate(parts).to_zarr(path, overwrite=True)
    return da.from_zarr(path)


def _fit(model: Any, X: Any, cluster: Any, *, kill: bool) -> tuple[Any, list[float], float]:
    """Fit, and return the model, the seconds of each sweep and those of the whole."""
    times: list[float] = []

    def callback(state) -> None:
        times.append(time.perf_counter())
        if kill and state.iteration == 3:
            pid = next(filter(None, (nanny.pid for nanny in cluster.workers.values())))
            threading.Timer(0.5, os.kill, (pid, signal.SIGKILL)).start()

    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_params(callback=callback).fit(X)
    return model, np.diff(times).tolist(), time.perf_counter() - begin


def main() -> None:
    """Write, fit, kill, compare."""
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=8_000_640)
    parser.add_argument("--components", type=int, default=16, help="k: a worker holds (n / 2) (10 k) numbers besides X")
    parser.add_argument("--memory", default="9GB", help="of each of two workers")
    parser.add_argument("--folder", default=None, help="of the zarr file; default: a temporary one")
    chosen = parser.parse_args()
    components = np.random.default_rng(0).gamma(0.3, size=(chosen.components, P)).astype(np.float32)
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit=chosen.memory,
            local_directory=folder,
            dashboard_address=":0",
            silence_logs=50,
        )
        with cluster, Client(cluster):
            begin = time.perf_counter()
            X = _write(f"{folder}/X.zarr", chosen.rows, components)
            size = chosen.rows * P * 4 / 1e9
            print(
                f"{chosen.rows} x {P} float32, {size:.1f} GB in {X.npartitions} blocks, written in "
                f"{time.perf_counter() - begin:.0f} s; k = {chosen.components}; two workers of {chosen.memory}",
                flush=True,
            )
            settings = {"init": "random", "random_state": 0, "max_iter": SWEEPS, "tol": 0}
            for model in (NMF(chosen.components, **settings), SemiNMF(chosen.components, **settings)):
                name, results = type(model).__name__, []
                for kill in (False, True):
                    fitted, sweeps, whole = _fit(model, X, cluster, kill=kill)
                    results.append(fitted.components_.copy())
                    how = "a worker killed" if kill else "undisturbed"
                    print(
                        f"{name}, {how}: {whole:.0f} s in all, {np.median(sweeps):.1f} s a sweep, the longest "
                        f"{max(sweeps):.1f} s; ||X - H Z|| {fitted.reconstruction_err_:.1f}",
                        flush=True,
                    )
                print(f"{name}: components bit-identical: {np.array_equal(*results)}", flush=True)


if __name__ == "__main__":
    main()
