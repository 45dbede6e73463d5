import pytest
from threadpoolctl import threadpool_limits

from laminar import datasets
from laminar._utils import threads


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
