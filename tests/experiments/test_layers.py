"""Fig. 2 of Trigeorgis et al. in small, and its scores against naive ones."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import normalized_mutual_info_score

from laminar import SemiNMF
from laminar.experiments import ITEMS, Run
from laminar.experiments.trigeorgis.layers import (
    N_INIT,
    PAPER,
    RENDERED,
    drawn_samples,
    explained,
    faces,
    layers_against_attributes,
    leading,
)


@pytest.fixture
def no_data(monkeypatch):
    monkeypatch.setenv("LAMINAR_DATA", "")


def test_item_in_small(no_data):
    result = ITEMS["trigeorgis-fig2"].make(Run(quick=True))
    assert "in place of CMU Multi-PIE" in result.title
    assert set(result.cells["rule"]) == {"published", "laminar", "recommended", "baseline"}
    assert not [column for column in result.cells if column.startswith("drawn")]
    nmi = result.tables[0][1]
    assert set(PAPER) < set(nmi.columns)
    figure = result.figure()
    panels = 5 * (3 + sum(rule == "recommended" for rule, _ in nmi.index))  # a layer: clusters and four attributes
    assert len(figure.axes) == panels + 1


def test_scores_are_those_of_the_clusters(no_data):
    found = layers_against_attributes(RENDERED, True, SemiNMF(4), "raw", 3, is_drawn=True)
    data, attributes = faces(RENDERED, True)
    fitted = SemiNMF(4, random_state=3).fit(data.unit)
    for name, y in attributes.items():
        clusters = fitted.set_params(readout="raw").cluster(n_clusters=len(np.unique(y)), n_init=N_INIT)
        nmi = normalized_mutual_info_score(y, clusters, average_method="geometric")
        assert_allclose(found[f"{name}, layer 1, nmi"], nmi, atol=1e-9)
        assert found[f"{name}, layer 1, probe"] <= 1
    drawn = [found[f"drawn 1 cluster {i}"] for i in range(len(drawn_samples(len(data.X))))]
    assert len(np.unique(drawn)) == len(np.unique(attributes[PAPER[0]]))


def test_drawn_samples_have_all_classes(no_data):
    _, attributes = faces(RENDERED, False)
    rows = drawn_samples(len(attributes["light"]))
    assert len(np.unique(rows)) == len(rows)
    for y in attributes.values():
        assert len(np.unique(y[rows])) == len(np.unique(y))


def test_share_of_variance_is_that_of_class_means(no_data):
    data, attributes = faces(RENDERED, True)
    X, y = data.unit, attributes["light"]
    fitted = np.array([X[y == label].mean(axis=0) for label in y])
    share = 1 - ((X - fitted) ** 2).sum() / ((X - X.mean(axis=0)) ** 2).sum()
    assert_allclose(explained(RENDERED, True, "light")["share"], share)


def test_leading_attributes():
    table = pd.DataFrame({"pose": [0.3, 0.0, 0.2], "light": [0.1, 0.05, 0.0], "identity": [0.2, 0.0, 0.4]})
    assert leading(table) == ["pose", "identity"]
    assert leading(table, least=0.35) == ["identity"]
