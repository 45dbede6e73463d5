from zlib import crc32

import numpy as np
import pytest
import sklearn.cluster  # noqa: F401  loads OpenMP, for the limit below
from threadpoolctl import threadpool_limits

from laminar import datasets
from laminar._utils import threads

# Workers that share the cores of a machine would wait for each other's OpenMP threads: k-means of twelve samples then
# takes 0.3 s instead of 10 ms.
threadpool_limits(1, user_api="openmp")


@pytest.fixture(autouse=True)
def reseed(request):
    """Seed the generator ``rng`` of a test file by the name of the test: its data do not depend on other tests."""
    rng = getattr(getattr(request.node, "module", None), "rng", None)
    if isinstance(rng, np.random.Generator):
        rng.bit_generator.state = np.random.default_rng(crc32(request.node.name.encode())).bit_generator.state


@pytest.fixture
def two_threads():
    """Run the test as a fit on two threads does, whatever the machine has."""
    with threadpool_limits(2, user_api="blas"), threads.own_threads() as width:
        assert width == 2
        yield


@pytest.fixture
def real_data():
    """A loader of real data sets that skips the test where they are not kept."""

    def load(name):
        if name not in datasets.available():
            pytest.skip(f"the data set {name!r} is not in the folder LAMINAR_DATA names")
        return datasets.load(name)

    return load
