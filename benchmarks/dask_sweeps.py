"""Sweeps on dask: what a step costs beside the computations, and two workers against two threads.

`python -m benchmarks.dask_sweeps` prints three tables, `--part` one of them:

overhead   seconds a sweep on tiny data in 8 blocks, two workers that are processes
speed      200 000 x 256 float64, k = 32, 8 blocks: two workers of one thread each against two threads in memory
tree       sums of k x p from 16 simulated workers: all to this process, or by pairs among the workers
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings

import numpy as np

from laminar import NMF, WSF, SemiNMF


def _print_table(head: list[str], rows: list[list[str]]) -> None:
    for cells in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(cells) + " |")


def _cluster(n_workers: int, **keywords):
    from distributed import LocalCluster

    return LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50, **keywords)


def _seconds_a_sweep(model, X, few: int, many: int, *arguments) -> float:
    """Difference of two fits of different lengths, over the difference of their sweeps: without start and end."""
    times = []
    for sweeps in (few, many):
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.set_params(max_iter=sweeps, tol=0).fit(X, *arguments)
        times.append(time.perf_counter() - begin)
    return (times[1] - times[0]) / (many - few)


def overhead(repeat: int) -> None:
    """Print the seconds of a sweep over 1600 x 20 numbers in 8 blocks."""
    import dask.array as da
    from distributed import Client

    rng = np.random.default_rng(0)
    X, y = rng.random((1536, 20)), rng.integers(-1, 3, 1536)
    models = {
        "NMF": (NMF(5, random_state=0), ()),
        "NMF, KL": (NMF(5, loss="kl", random_state=0), ()),
        "SemiNMF": (SemiNMF(5, init="random", random_state=0), ()),
        "WSF": (WSF(5, random_state=0), (y,)),
    }
    rows = []
    with _cluster(2) as cluster, Client(cluster):
        D = da.from_array(X, chunks=(192, -1))
        for name, (model, arguments) in models.items():
            there = [_seconds_a_sweep(model, D, 10, 40, *arguments) for _ in range(repeat)]
            here = [_seconds_a_sweep(model, X, 10, 40, *arguments) for _ in range(repeat)]
            rows.append([name, f"{statistics.median(here):.4f}", f"{statistics.median(there):.4f}"])
    _print_table(["1536 x 20, 8 blocks", "memory, s a sweep", "dask, s a sweep"], rows)


def speed(repeat: int) -> None:
    """Print the seconds of a sweep over 200 000 x 256 numbers, in turns."""
    import dask.array as da
    from distributed import Client

    X = np.random.default_rng(0).random((199_680, 256))
    rows = []
    with _cluster(2) as cluster, Client(cluster) as client:
        D = client.persist(da.from_array(X, chunks=(24_960, -1)))
        for name, model in {"NMF": NMF(32, init="random"), "SemiNMF": SemiNMF(32, init="random")}.items():
            model.set_params(random_state=0)
            pairs = [(_seconds_a_sweep(model, X, 4, 16), _seconds_a_sweep(model, D, 4, 16)) for _ in range(repeat)]
            here, there = (statistics.median(column) for column in zip(*pairs, strict=True))
            ratio = statistics.median(h / t for h, t in pairs)
            rows.append([name, f"{here:.3f}", f"{there:.3f}", f"{ratio:.2f}"])
    _print_table(["199 680 x 256, k = 32", "two threads, s a sweep", "two workers, s a sweep", "speed of memory"], rows)


def tree(repeat: int) -> None:
    """Print the seconds to add 16 matrices of k x p that are on as many workers, simulated by threads here."""
    from distributed import Client

    rows = []
    with _cluster(16, processes=False) as cluster, Client(cluster) as client:
        addresses = sorted(client.nthreads())
        for k, p in ((32, 256), (100, 20_000), (200, 50_000)):
            parts = [
                client.submit(np.full, (k, p), float(i), workers=[address], pure=False)
                for i, address in enumerate(addresses)
            ]
            client.gather([client.submit(np.shape, part) for part in parts])
            flat, by_pairs = [], []
            for _ in range(repeat):
                begin = time.perf_counter()
                sum(client.gather(parts, direct=False))
                flat.append(time.perf_counter() - begin)
                begin, level = time.perf_counter(), parts
                while len(level) > 1:
                    level = [
                        client.submit(np.add, a, b, pure=False) for a, b in zip(level[::2], level[1::2], strict=True)
                    ]
                level[0].result()
                by_pairs.append(time.perf_counter() - begin)
            size = k * p * 8 / 1e6
            rows.append([f"{k} x {p} ({size:.3g} MB)", *(f"{statistics.median(t):.4f}" for t in (flat, by_pairs))])
    _print_table(["sum over 16 workers", "all to this process, s", "by pairs, s"], rows)


def main() -> None:
    """Run the parts."""
    parts = {"overhead": overhead, "speed": speed, "tree": tree}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=parts, action="append")
    parser.add_argument("--repeat", type=int, default=5)
    chosen = parser.parse_args()
    for name in chosen.part or parts:
        parts[name](chosen.repeat)
        print()


if __name__ == "__main__":
    main()
