"""``rule``, ``init``, ``scale`` and ``readout`` are four questions: a combination works, or is refused with a sentence.

And what has no effect is refused when the model is fitted, not ignored.
"""

import inspect
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone

from laminar import (
    GNMF,
    NMF,
    WSF,
    ClassDrivenNMF,
    ConceptFactorization,
    ConstrainedNMF,
    DeepSemiNMF,
    DeepWSF,
    DiscriminantNMF,
    MultiLayerNMF,
    MultiViewDeepNMF,
    SemiNMF,
    SlowFeatureNMF,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:gamma:UserWarning")
X = np.random.default_rng(0).gamma(1.0, size=(24, 8))
Y = np.where(np.arange(24) < 14, np.arange(24) % 2, -1)
ANSWERS = {
    "rule": ("fast", "published"),
    "init": ("auto", "random", "svd", "kmeans", "nndsvda"),
    "scale": ("auto", "invariant", "none"),
    "readout": ("raw", "whitened", "isometric"),
}
LABELLED = (WSF, ClassDrivenNMF, ConstrainedNMF, DeepWSF, DiscriminantNMF)
MODELS = [
    *(kind(2, max_iter=4) for kind in (NMF, SemiNMF, GNMF, WSF, SlowFeatureNMF, ConceptFactorization)),
    *(kind(2, max_iter=4) for kind in (ConstrainedNMF, DiscriminantNMF, ClassDrivenNMF)),
    *(kind((3, 2), max_iter=4) for kind in (DeepSemiNMF, DeepWSF, MultiLayerNMF, MultiViewDeepNMF)),
    DeepSemiNMF((3, 2), graph="knn", pretraining_max_iter=4, max_iter=4),
    DeepSemiNMF((3, 2), activation="relu", pretraining_max_iter=4, max_iter=4),
    DeepWSF((3, 2), activation="relu", pretraining_max_iter=4, max_iter=4),
]


def refused(model, y):
    """Fit, or return why not."""
    try:
        model.fit(X, y)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_every_combination_works_or_is_refused(model):
    asked = [name for name in ANSWERS if name in inspect.signature(type(model)).parameters]
    worked = {name: set() for name in asked}
    for answers in product(*(ANSWERS[name] for name in asked)):
        chosen = clone(model).set_params(random_state=0, **dict(zip(asked, answers, strict=True)))
        refusal = refused(chosen, Y if isinstance(model, LABELLED) else None)
        if refusal:  # a sentence: it says which parameter, and what to do
            assert any(name in refusal for name in asked), refusal
            assert len(refusal) > 30
            continue
        assert np.isfinite(chosen.layers_[-1].representation).all()
        assert len(chosen.cluster(n_clusters=2, n_init=1)) == len(X)
        for name, answer in zip(asked, answers, strict=True):
            worked[name].add(answer)
    assert worked["rule"] == set(ANSWERS["rule"])
    assert all(worked.values())


@pytest.mark.parametrize("kind", [NMF, SemiNMF, GNMF, WSF, DeepSemiNMF])
def test_own_rule_from_the_papers_start_and_the_reverse(kind):
    """Rule and start are apart: each changes the result by itself."""
    size = (3, 2) if kind is DeepSemiNMF else 2
    y = Y if kind is WSF else None
    fits = {
        (rule, init): kind(size, rule=rule, init=init, max_iter=3, tol=0, random_state=0).fit(X, y).objective_history_
        for rule, init in product(("fast", "published"), ("random", "kmeans"))
    }
    assert len({round(history[0], 9) for history in fits.values()}) == 4


def test_a_fitted_model_is_not_checked_again():
    model = NMF(2, max_iter=4).fit(X)
    expected = model.transform(X)
    np.testing.assert_array_equal(model.set_params(init="svd").transform(X), expected)


NO_EFFECT = [
    (DeepSemiNMF((3, 2), coupling=2.0), "coupling=2.0 has no effect"),
    (DeepSemiNMF((3, 2), alpha=2.0), "alpha=2.0 has no effect"),
    (DeepSemiNMF((3, 2), scale="none"), "scale='none' has no effect"),
    (DeepSemiNMF((3, 2), hidden="nonnegative"), "hidden='nonnegative' has no effect"),
    (DeepSemiNMF((3, 2), eta=0.5), "eta=0.5 has no effect"),
    (DeepSemiNMF((3, 2), activation="relu", rule="published", eta=0.5), "eta=0.5 has no effect"),
    (DeepSemiNMF((3, 2), pretraining=None, pretraining_max_iter=3), "pretraining_max_iter=3 has no effect"),
    (DeepSemiNMF((3, 2), pretraining="wsf"), "no penalty without a graph"),
    (DeepSemiNMF((3, 2), rule="published", solver="mu"), "has its own updates"),
    (DeepWSF((3, 2), bandwidth=2.0), "bandwidth=2.0 has no effect"),
    (DeepWSF((3, 2), alpha=2.0), "alpha=2.0 has no effect"),
    (GNMF(2, graph="chain", n_neighbors=3), "n_neighbors"),
    (WSF(2, graph="knn", weight="rbf"), "weight"),
    (ConceptFactorization(2, degree=5), "degree"),
    (NMF(2, eta=0.5), "eta=0.5 has no effect"),
    (MultiViewDeepNMF((3, 2), weights="equal", gamma=3.0), "gamma=3.0"),
    (MultiViewDeepNMF((3, 2), graph=None, alpha=1.0), "alpha=1.0 has no effect"),
]


@pytest.mark.parametrize(("model", "sentence"), NO_EFFECT, ids=lambda value: repr(value)[:70])
def test_what_has_no_effect_is_refused(model, sentence):
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, Y if isinstance(model, LABELLED) else None)


@pytest.mark.parametrize("model", [GNMF(2, graph="chain"), WSF(2, graph="chain")], ids=repr)
def test_labels_without_effect_are_refused(model):
    with pytest.raises(ValueError, match="label"):
        model.fit(X, Y)
