"""Seconds a sweep of NMF and SemiNMF on data on disk, against reading the file twice: the table of docs/scaling.md.

    python -m benchmarks.out_of_core                                  # 1 000 000 x 256, max_memory of 256 MB
    python -m benchmarks.out_of_core --rows 4000000 --memory 1GB --formats npy
    python -m benchmarks.out_of_core --cached                         # the file stays in the page cache

Files are written to a temporary folder by another process, and removed. A sweep is the median of six, by the times of
the callback; "two reads" are two passes over the same blocks, read ahead by the same thread. After every block the file
is dropped from the page cache (``posix_fadvise``), in the fit and in the reading, so that both wait for the disk; with
``--cached`` nothing is dropped. "In memory" is a sweep on the same array in memory, for files up to 2 GB.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import zarr

import laminar
from laminar._utils.stored import Stored

FORMATS = ("npy", "zarr", "zarr uncompressed", "HDF5")
K, BLOCK = 32, 20_000
ANONYMOUS: list[float] = []  # memory of the process itself after each sweep, in MB


def blocks(n: int, p: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Non-negative data of rank 40 with noise, in float32."""
    rng = np.random.default_rng(0)
    parts = rng.gamma(0.3, size=(40, p)).astype(np.float32)
    for start in range(0, n, BLOCK):
        rows = min(BLOCK, n - start)
        noise = rng.random((rows, p), dtype=np.float32)
        yield slice(start, start + rows), rng.gamma(0.5, size=(rows, 40)).astype(np.float32) @ parts + noise


def write(kind: str, folder: Path, shape: tuple[int, int]) -> None:
    """Write the data, to the disk itself."""
    array: Any
    if kind == "npy":
        array = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float32, shape)
    elif kind == "HDF5":
        array = h5py.File(folder / "X.h5", "w").create_dataset("X", shape, np.float32, chunks=(1000, shape[1]))
    else:
        compression = {"compressors": None} if "uncompressed" in kind else {}
        chunks = BLOCK // 4, shape[1]
        array = zarr.create_array(folder / "X.zarr", shape=shape, chunks=chunks, dtype=np.float32, **compression)
    for rows, part in blocks(*shape):
        array[rows] = part
    if kind == "HDF5":
        array.file.close()
    del array
    os.sync()


def open_array(kind: str, folder: Path) -> Any:
    """Open the data for reading."""
    if kind == "npy":
        return np.load(folder / "X.npy", mmap_mode="r")
    if kind == "HDF5":
        return h5py.File(folder / "X.h5", "r")["X"]
    return zarr.open_array(folder / "X.zarr", mode="r")


class Uncached(Stored):
    """Rows of files that are dropped from the page cache after every block."""

    def __init__(self, source: Any, folder: Path):
        super().__init__(source)
        self.files = [os.open(path, os.O_RDONLY) for path in folder.rglob("*") if path.is_file()]
        self.drop()

    def drop(self) -> None:
        """Drop all files."""
        for file in self.files:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)

    def read(self, rows: slice) -> np.ndarray:
        """Return rows as an array, and drop them from the cache."""
        found = super().read(rows)
        self.drop()
        return found

    def __del__(self):
        for file in self.files:
            os.close(file)


def two_reads(stored: Stored) -> float:
    """Seconds of two passes over the blocks."""
    start = time.perf_counter()
    for _ in range(2):
        for i in range(len(stored.blocks)):
            stored.block(i)
    return time.perf_counter() - start


def seconds_a_sweep(model: Any, X: Any) -> float:
    """Median of six sweeps."""
    times: list[float] = []

    def note(state: Any) -> None:
        times.append(time.perf_counter())
        ANONYMOUS.append(memory("RssAnon"))

    model.set_params(max_iter=7, callback=note).fit(X)
    return float(np.median(np.diff(times)))


def row(kind: str, shape: tuple[int, int], parent: str | None, cached: bool) -> str:
    """Return a row of the table."""
    with tempfile.TemporaryDirectory(dir=parent) as name:
        folder = Path(name)
        # Another process: pages of its maps are not memory of this one.
        writer = multiprocessing.get_context("fork").Process(target=write, args=(kind, folder, shape))
        writer.start()
        writer.join()
        X = open_array(kind, folder)
        stored = Stored(X) if cached else Uncached(X, folder)
        reading = min(two_reads(stored) for _ in range(3))
        cells = [f"{reading:.2f}"]
        for make in (laminar.NMF, laminar.SemiNMF):
            model = make(K, tol=0, init="random", random_state=0)
            found = seconds_a_sweep(model, stored)
            cells += [f"{found:.2f}", f"{found / reading:.2f}"]
        return f"| {kind} | {' | '.join(cells)} |"


def in_memory(shape: tuple[int, int]) -> str:
    """Return the row of an array in memory."""
    X = np.concatenate([part for _, part in blocks(*shape)])
    models = [make(K, tol=0, init="random", random_state=0) for make in (laminar.NMF, laminar.SemiNMF)]
    return "| in memory | | " + " | | ".join(f"{seconds_a_sweep(model, X):.2f}" for model in models) + " | |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=256)
    parser.add_argument("--memory", default="256MB")
    parser.add_argument("--formats", nargs="+", default=FORMATS, choices=FORMATS)
    parser.add_argument("--folder", default=None, help="of the files; default: the temporary folder of the system")
    parser.add_argument("--cached", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    laminar.set_config(max_memory=given.memory, temp_folder=given.folder)
    shape = given.rows, given.columns
    cache = "cached by the system" if given.cached else "dropped from the page cache after every block"
    print(f"float32 {given.rows} x {given.columns}, k = {K}, max_memory={given.memory}, file {cache}\n")
    print("| file | two reads, s | NMF, s a sweep | of two reads | SemiNMF, s a sweep | of two reads |")
    print("|---|---|---|---|---|---|")
    for kind in given.formats:
        print(row(kind, shape, given.folder, given.cached), flush=True)
    print(
        f"\nmemory of the process after a sweep: at most {max(ANONYMOUS):.0f} MB of its own; at any time, with pages of"
    )
    print(f"temporary files, which the system may write out: {memory('VmHWM'):.0f} MB\n")
    if 4 * given.rows * given.columns <= 2e9:
        print(in_memory(shape))


def memory(name: str) -> float:
    """Return an entry of /proc/self/status, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1000


if __name__ == "__main__":
    main()
