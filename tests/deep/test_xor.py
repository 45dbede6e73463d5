"""The example of Trigeorgis et al. (arXiv 6.1): two people, each seen in two poses, at the corners of a square.

Poses, two values, shape the first layer, and identities, two values, the second (methods.md 5.5). Judged on samples no
fit has seen, for codes of a fit are drawn together by their own labels whatever the model knows.
"""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from laminar import WSF, DeepWSF, SemiNMF
from laminar.datasets import make_xor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def separated(model, seed, labels):
    """Share of unseen samples on the right side of a line between the codes of the two people."""
    seen, unseen = make_xor(random_state=seed), make_xor(random_state=100 + seed)
    model.fit(seen.X, labels(seen))
    line = make_pipeline(StandardScaler(), LogisticRegression(C=1e3, max_iter=2000))
    return line.fit(model.transform(seen.X), seen.identity).score(model.transform(unseen.X), unseen.identity)


def poses_and_people(data):
    return np.c_[data.pose, data.identity]


def people(data):
    return data.identity


def test_labels_of_the_paper():
    """No line in the plane separates the people, one separates the poses."""
    data = make_xor(random_state=0)
    line = LogisticRegression(C=1e3)
    assert line.fit(data.X, data.pose).score(data.X, data.pose) > 0.97
    assert line.fit(data.X, data.identity).score(data.X, data.identity) < 0.7


def test_two_layers_separate_identities():
    """In nine of ten starts, from the pose on the first and the identity on the second layer."""
    parameters = {"activation": "relu", "alphas": 0.1, "attribute_layers": "in order", "max_iter": 400}
    shares = [separated(DeepWSF((8, 4), **parameters, random_state=seed), seed, poses_and_people) for seed in range(10)]
    assert np.sum(np.array(shares) >= 0.97) >= 9


@pytest.mark.parametrize(
    ("model", "labels"),
    [(SemiNMF(2), people), (WSF(2, alpha=0.1), people), (WSF(2, alpha=0.1), poses_and_people)],
    ids=["SemiNMF", "WSF", "WSF, both attributes"],
)
def test_one_layer_of_two_components_rarely_does(model, labels):
    shares = [separated(model.set_params(random_state=seed), seed, labels) for seed in range(5)]
    assert np.mean(np.array(shares) >= 0.97) <= 0.4


def test_one_layer_of_four_components_does():
    """Told nothing: non-negative codes of more components than dimensions bend, and the ridge bounds them."""
    shares = [separated(SemiNMF(4, random_state=seed), seed, people) for seed in range(5)]
    assert min(shares) >= 0.97
