"""The example of Trigeorgis et al.: two people, each seen in two poses, at the corners of a square (methods.md 5.5).

A code as large as the number of people cannot be read by a straight line if one layer makes it. Two layers can bend:
poses, which are clouds, shape the first, and identities the second. Judged on samples no fit has seen, for codes of a
fit are drawn together by their own labels whatever the model knows.
"""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from laminar import WSF, DeepWSF, SemiNMF
from laminar.datasets import make_xor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SEEDS = pytest.mark.parametrize("seed", range(3))


def separated(model, seed, labels):
    """Share of unseen samples on the right side of a line between the codes of the two people."""
    seen, unseen = make_xor(random_state=seed), make_xor(random_state=100 + seed)
    model.fit(seen.X, labels(seen))
    line = make_pipeline(StandardScaler(), LogisticRegression(C=1e3, max_iter=2000))
    return line.fit(model.transform(seen.X), seen.y).score(model.transform(unseen.X), unseen.y)


def poses_and_people(data):
    return np.c_[data.corner, data.y]


def people(data):
    return data.y


@pytest.mark.parametrize("seed", range(3))
def test_two_layers_separate_identities(seed):
    """With the lowest objective of four starts; some starts end where one layer does.

    Pre-trained without labels: from WSF, which draws the four clouds together before there is a second layer, the
    shares are 0.83, 0.90 and 0.95.
    """
    parameters = {"alphas": 0.1, "attribute_layers": "in order", "pretraining": "semi-nmf", "activation": "stanh"}
    models = [DeepWSF((8, 2), **parameters, max_iter=150, random_state=r) for r in range(4)]
    shares = {separated(model, seed, poses_and_people): model.objective_history_[-1] for model in models}
    assert min(shares, key=shares.get) >= 0.97


@SEEDS
@pytest.mark.parametrize(
    ("model", "labels"),
    [
        (SemiNMF(2, random_state=0), people),
        (WSF(2, alpha=0.1, random_state=0), people),
        (WSF(2, alpha=0.1, random_state=0), poses_and_people),
        (DeepWSF(2, alphas=0.1, activation="stanh", max_iter=100, random_state=0), people),
    ],
    ids=["SemiNMF", "WSF", "WSF, both attributes", "stanh"],
)
def test_one_layer_does_not(model, labels, seed):
    assert separated(model, seed, labels) <= 0.8
