import numpy as np
import pytest

from laminar import Dataset
from laminar.datasets import make_attributes


@pytest.fixture
def data():
    """Sixty samples of an attribute with three values, in three clusters."""
    found = make_attributes(60, levels=(3, 4), scales=(1.0, 1.0), random_state=0)
    return Dataset(found.X, np.array([f"s{i:02d}" for i in range(60)]))
