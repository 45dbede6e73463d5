"""Number of layers against accuracy: configurations, cells and verdict."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from laminar import DeepSemiNMF
from laminar.experiments import ITEMS, Run
from laminar.experiments.data import images
from laminar.experiments.trigeorgis import depth
from laminar.metrics import clustering_accuracy


@pytest.fixture(scope="module", autouse=True)
def rendered():
    """Rendered faces in place of all data."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAMINAR_DATA", "")
        images.cache_clear()
        yield
    images.cache_clear()


def test_sizes_decrease_to_last_layer():
    drawn = [depth.sizes_of(seed, 1023) for seed in range(200)]
    for sizes in drawn:
        assert list(sizes) == sorted(sizes, reverse=True)
        assert sizes[-1] == 40
        assert sizes[0] <= 1023
    assert [sum(len(sizes) == layers for sizes in drawn) for layers in (2, 3, 4)] == [67, 67, 66]
    assert 300 < np.mean([size for sizes in drawn for size in sizes[:-1]]) < 450


def test_accuracy_is_that_of_fit():
    data = depth.some_people("pie_pose27", True)
    y = data.attributes["identity"]
    assert set(y % 2) == {0}
    found = depth.accuracy_of("pie_pose27", True, DeepSemiNMF((12, 6)), 3, 5)
    model = DeepSemiNMF((12, 6), random_state=3).fit(data.unit)
    labels = model.cluster(readout="raw", n_clusters=len(set(y)), n_init=5)
    assert_allclose(found["raw"], clustering_accuracy(y, labels))
    assert_allclose(found["error"], np.linalg.norm(data.unit - model.fit_transform(data.unit) @ model.components_))


@pytest.mark.parametrize(("gain", "word"), [(0.2, "better"), (-0.2, "worse"), (0.0, "no clear difference")])
def test_verdict_follows_accuracies(gain, word):
    noise = np.random.default_rng(0).normal(0, 0.02, 90)
    layers = np.repeat([2, 3, 4], 30)
    accuracy = 0.5 + gain * (layers - 3) + noise
    found = pd.DataFrame({"rule": "published", "layers": layers, "raw": accuracy, "auto": accuracy})
    said = depth.verdict_of(pd.concat([found, found.assign(rule="laminar")]))
    assert said.count(word) == 2


def test_item_in_small():
    result = ITEMS["trigeorgis-depth"].make(Run(quick=True))
    assert "in place of" in result.title
    assert len(result.figure().axes) == 2
    assert (result.cells.groupby("rule")["layers"].nunique() == 3).all()
