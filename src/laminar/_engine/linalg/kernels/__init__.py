"""Compiled loops on plain arrays. Others are in `elementwise` and in `temporal`; the rest of Laminar is numpy.

Every kernel is serial and releases the GIL; `threads.each` runs it on blocks of rows. `tests/reference` holds the plain
numpy twin of each. Rows are samples (or features: see `terms`), and all arrays are C-ordered.

A first fit waits for its kernels to be compiled (`python -m benchmarks.first_fit`): a kernel has one signature for each
precision, functions that it calls are inlined once where possible, and arrays are assigned entry by entry.
"""

from .hals import hals, padded, tied_hals
from .nnls import nnls
from .sparse import kl_times, kl_value, sparse_times
from .summed import summed_hals

__all__ = ["hals", "kl_times", "kl_value", "nnls", "padded", "sparse_times", "summed_hals", "tied_hals"]
