"""``verbose=1``: every model says what it does before it does it."""

import numpy as np
import pytest
from sklearn.base import clone

from _base.test_common import MODELS
from laminar import GNMF, NMF, AttributeLayers, DeepSemiNMF, MultiNMF, MultiViewDeepNMF, SemiNMF
from laminar._utils import threads

rng = np.random.default_rng(0)
X = rng.random((40, 6))
LABELS = np.arange(40) % 3
SPEAKING = [model for model in MODELS if "verbose" in model.get_params()]
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:gamma=0.5 is below 1:UserWarning"),
]


@pytest.mark.parametrize("model", SPEAKING, ids=lambda model: type(model).__name__)
def test_line_before_first_work(model, capsys, monkeypatch):
    written, each = [], threads.each

    def working(*args):
        written.append(capsys.readouterr().err)
        return each(*args)

    monkeypatch.setattr(threads, "each", working)
    clone(model).set_params(verbose=1).fit(X, LABELS)
    assert written[0].startswith(f"{type(model).__name__}: fit of 40 x 6\n")


STAGES = {  # model, what its lines contain
    "neighbours": (GNMF(3, n_neighbors=3, random_state=0), ["initial factors, init=", "nearest neighbours of 40"]),
    "start": (SemiNMF(3, random_state=0), ["initial factors, init="]),
    "pre-training": (
        DeepSemiNMF((4, 3), max_iter=5, pretraining="semi-nmf", init="random"),
        ["pre-training of layer 0", "pre-training of layer 1"],
    ),
    "nested layers": (DeepSemiNMF((4, 3), max_iter=5), ["pre-training of 2 layers, 4 singular vectors of 40 x 6"]),
    "views": (
        MultiNMF(3, view_sizes=(4, 2), max_iter=2, max_inner_iter=2),
        ["initial factors, round 1 of 3, view 1 of 2", "round 3 of 3, view 2 of 2"],
    ),
    "deep views": (MultiViewDeepNMF((4, 3), view_sizes=(4, 2), max_iter=5), ["nearest neighbours", "pre-training"]),
    "attributes": (
        AttributeLayers(3),
        ["singular value decomposition of 40 x 6", "band smooth(80, 5, 3)", "weights of 10 bands", "layer 2 of 2"],
    ),
}


@pytest.mark.parametrize("case", STAGES)
def test_stage_names(case, capsys):
    model, expected = STAGES[case]
    clone(model).set_params(verbose=1).fit(X, LABELS)
    printed = capsys.readouterr().err
    assert [text for text in expected if text not in printed] == []


@pytest.mark.parametrize(
    ("verbose", "expected"),
    [(1, "NMF: spectral clustering of 40 samples, 3 clusters\nNMF: nearest neighbours of 40 samples\n"), (0, "")],
)
def test_predict_says_clustering(verbose, expected, capsys):
    model = NMF(3, random_state=0).fit(X)
    capsys.readouterr()
    model.set_params(verbose=verbose).predict(X)
    assert capsys.readouterr().err == expected


def test_spectral_clusters_said(capsys):
    model = MultiViewDeepNMF((4, 3), view_sizes=(4, 2), max_iter=5, n_clusters=3, verbose=1).fit(X)
    capsys.readouterr()
    assert len(model.labels_) == 40
    assert "spectral clustering of 40 samples, 3 clusters" in capsys.readouterr().err
