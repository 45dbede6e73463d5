"""Classes by layer, as Fig. 1 of Zhao et al. draws them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from laminar import MultiViewDeepNMF
from laminar.experiments import ITEMS, Run, data
from laminar.experiments.page import section
from laminar.experiments.zhao import layers


@pytest.fixture(autouse=True, scope="module")
def synthetic():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAMINAR_DATA", "")
        data.views.cache_clear()
        yield
    data.views.cache_clear()


def test_scatter_ratio_is_that_of_sums():
    rng = np.random.default_rng(0)
    H, y = rng.normal(size=(30, 4)), rng.integers(0, 3, 30) * 2
    within = between = 0.0
    for a in (0, 2, 4):
        mean = H[y == a].mean(axis=0)
        within += sum(((h - mean) ** 2).sum() for h in H[y == a])
        between += (y == a).sum() * ((mean - H.mean(axis=0)) ** 2).sum()
    assert_allclose(layers.scatter_ratio(H, y), within / between)


@pytest.mark.filterwarnings("ignore")
def test_codes_have_sizes_of_layers():
    X, _, _ = data.views("yale_mv", True)
    model = MultiViewDeepNMF((7, 5), n_clusters=4, max_iter=3)
    shapes = {layer: H.shape for layer, H in layers.codes_by_layer(X, model, 0).items()}
    assert shapes == {"views": (60, 120), "layer 1": (60, 3 * 7), "layer 2": (60, 5)}


@pytest.mark.filterwarnings("ignore")
def test_item_in_small(tmp_path):
    result = ITEMS["zhao-layers"].make(Run(quick=True))
    assert "in place of" in result.title
    assert result.verdict in section(ITEMS["zhao-layers"], result, tmp_path)
    assert len(result.figure().axes) == 6
