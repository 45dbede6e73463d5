"""`smooth`: points drawn to their neighbours, against a dense solution."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from laminar.graphs import KNN
from laminar.graphs.smoothing import smooth


@pytest.mark.parametrize("strength", [0.0, 1.0, 30.0])
def test_smoothing_equals_dense_solution(strength):
    C = np.random.default_rng(0).normal(size=(60, 4))
    graph = KNN(4).build(C)
    W = graph.tocsr().toarray()
    d = W.sum(1)
    N = W / np.sqrt(d) / np.sqrt(d)[:, None]
    expected = np.linalg.solve((1 + strength) * np.eye(60) - strength * N, C)
    assert_allclose(smooth(graph, C, strength), expected, atol=1e-6)
