"""``warm_start=True``: a further fit starts from the factors of the last one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from laminar import (
    GNMF,
    NMF,
    WSF,
    ClassDrivenNMF,
    ConstrainedNMF,
    DeepSemiNMF,
    DeepWSF,
    DiscriminantNMF,
    SemiNMF,
    SlowFeatureNMF,
)

rng = np.random.default_rng(0)
X = rng.gamma(0.5, size=(90, 4)) @ rng.random((4, 12)) + 0.1 * rng.random((90, 12))
Y = np.arange(90) % 3

MODELS = {
    "nmf": NMF(4),
    "nmf kl": NMF(4, loss="kl"),
    "semi-nmf": SemiNMF(4),
    "semi-nmf offset": SemiNMF(3, fit_offset=True),
    "wsf": WSF(4),
    "gnmf": GNMF(4),
    "discriminant": DiscriminantNMF(4),
    "class-driven": ClassDrivenNMF(),
    "constrained": ConstrainedNMF(4),
    "slow": SlowFeatureNMF(4),
    "deep": DeepSemiNMF((6, 3)),
    "deep-wsf": DeepWSF((6, 3)),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_further_fits_do_not_begin_again(name):
    """Many short fits end where one long fit does, or lower; each begins where the last one ended."""
    model = clone(MODELS[name]).set_params(random_state=0, tol=0)
    y = None if name.startswith(("nmf", "semi", "slow", "gnmf", "deep-")) or name == "deep" else Y
    y = Y if name == "deep-wsf" else y
    values = []
    model.set_params(warm_start=True, max_iter=5)
    for _ in range(6):
        values.append(model.fit(X, y).objective_history_[-1])
    cold = clone(model).set_params(warm_start=False).fit(X, y).objective_history_[-1]
    assert values[0] == pytest.approx(cold)
    assert (np.diff(values) <= 1e-3 * np.abs(values[0])).all()
    assert values[-1] <= cold * (1 + 1e-9)


def test_first_fit_is_that_of_init():
    assert_allclose(
        NMF(3, random_state=0, warm_start=True).fit(X).components_, NMF(3, random_state=0).fit(X).components_
    )


def test_other_samples_start_from_the_components():
    model = NMF(3, random_state=0, warm_start=True).fit(X)
    model.set_params(max_iter=1, tol=0).fit(X[:40])
    fresh = NMF(3, random_state=0, max_iter=1, tol=0).fit(X[:40])
    assert model.layers_[0].representation.shape == (40, 3)
    assert model.objective_history_[-1] < fresh.objective_history_[-1]


def test_other_features_are_refused():
    model = NMF(3, random_state=0, warm_start=True).fit(X)
    with pytest.raises(ValueError, match="the last fit was of 12 features"):
        model.fit(X[:, :5])


def test_interrupted_fit_goes_on():
    """What a callback stopped, a further fit continues."""
    model = NMF(4, random_state=0, tol=0, max_iter=10, warm_start=True, callback=lambda state: state.iteration == 3)
    stopped = model.fit(X).objective_history_[-1]
    assert model.set_params(callback=None).fit(X).objective_history_[0] <= stopped * (1 + 1e-6)
    assert not hasattr(model, "_last") or model._last is None
