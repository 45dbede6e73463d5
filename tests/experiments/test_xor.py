"""XOR of Trigeorgis et al. in small, and its scores against naive ones."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from laminar import SemiNMF
from laminar.datasets import make_xor
from laminar.experiments import ITEMS, Run
from laminar.experiments.trigeorgis.xor import DRAWN, FIRST_SEED, _verdict, codes, line_accuracy, two_columns


@pytest.fixture(scope="module")
def result():
    return ITEMS["trigeorgis-xor"].make(Run(quick=True))


def test_item_in_small(result):
    ((_, table),) = result.tables
    assert {"published", "laminar", "recommended", "baseline"} == {rule for _, rule, _ in table.index}
    assert not [column for column in result.cells if column.startswith("drawn")]
    assert len(result.figure().axes) == 2 + 3 * len(DRAWN)


def test_no_line_separates_the_samples(result):
    by_method = result.cells.groupby("method")["identity, top, new"].mean()
    assert by_method["line"] < 0.65
    assert by_method["5 neighbours"] > 0.97


def test_scores_are_those_of_a_line_between_codes():
    found = codes(SemiNMF(4), "none", 1)
    seen, new = make_xor(random_state=FIRST_SEED + 1), make_xor(random_state=2 * FIRST_SEED + 1)
    model = SemiNMF(4, random_state=1).fit(seen.X)
    accuracy = line_accuracy(model.transform(seen.X), seen.identity, model.transform(new.X), new.identity)
    assert_allclose(found["identity, top, new"], accuracy)
    assert not [name for name in found if name.startswith("drawn")]


def test_line_accuracy_counts_new_samples():
    H = np.array([[0.0, 1], [1, 5], [2, 1], [3, 5]])
    assert line_accuracy(H, np.array([0, 0, 1, 1]), np.array([[0, 3], [3, 3], [2.9, 3]]), np.array([0, 1, 0])) == 2 / 3


def test_principal_plane_keeps_the_variance():
    H = np.random.default_rng(0).normal(size=(30, 2)) @ np.random.default_rng(1).normal(size=(2, 5))
    assert_allclose(two_columns(H).var(axis=0).sum(), H.var(axis=0).sum())


@pytest.mark.parametrize(("tanh", "linear", "held"), [(1.0, 0.5, "holds:"), (0.5, 1.0, "not seen:")])
def test_verdict_follows_the_cells(result, tanh, linear, held):
    cells = pd.DataFrame(result.cells)
    names = cells["method"].str
    cells["identity, top, new"] = np.where(
        names.startswith("tanh"), tanh, np.where(names.startswith("linear"), linear, 0)
    )
    assert _verdict(cells).startswith(held)
