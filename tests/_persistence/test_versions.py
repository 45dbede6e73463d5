"""Pickles of estimators: the version that wrote them, and a warning where another one reads them."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

import laminar
from laminar import NMF, baselines, features
from laminar._persistence import estimator as versions

PUBLIC = [getattr(module, name) for module in (laminar, baselines, features) for name in module.__all__]
ESTIMATORS = [kind for kind in PUBLIC if isinstance(kind, type) and issubclass(kind, BaseEstimator)]
X = np.abs(np.random.default_rng(0).normal(size=(12, 5)))


def made(kind):
    return kind((8, 8)) if kind in (features.Crop, features.Resize) else kind()


def rewritten(model, **changes):
    """The pickle of a model whose state another version wrote."""
    state = {**model.__getstate__(), **changes}
    return pickle.dumps((type(model), {name: value for name, value in state.items() if value is not None}))


def read(pickled):
    kind, state = pickle.loads(pickled)
    model = kind.__new__(kind)
    model.__setstate__(state)
    return model


def test_estimators_are_found():
    assert len(ESTIMATORS) > 25


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_pickle_has_version(kind):
    model = made(kind)
    assert model.__getstate__()["_laminar_version"] == laminar.__version__
    copy = pickle.loads(pickle.dumps(model))  # warnings are errors
    assert vars(copy).keys() == vars(model).keys()


@pytest.mark.parametrize(
    ("written", "by"), [("0.0.1", "Laminar 0.0.1 and"), (None, "an earlier version of Laminar and")]
)
def test_other_version_warns(written, by):
    model = NMF(2, random_state=0).fit(X)
    with pytest.warns(
        InconsistentVersionWarning, match=f"This NMF was pickled by {by} is read by .*: it may"
    ) as caught:
        old = read(rewritten(model, _laminar_version=written))
    assert [Path(warning.filename).name for warning in caught] == [Path(__file__).name]
    np.testing.assert_array_equal(old.transform(X), model.transform(X))
    assert "_laminar_version" not in vars(old)


def test_state_of_caller_is_kept():
    state = NMF().__getstate__()
    NMF().__setstate__(state)
    assert "_laminar_version" in state


def test_new_version_reads_pickle(monkeypatch):
    pickled = pickle.dumps(NMF(3))
    monkeypatch.setattr(versions, "__version__", "9.9")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = pickle.loads(pickled)
    assert [str(warning.message).split(":")[0] for warning in caught] == [
        f"This NMF was pickled by Laminar {laminar.__version__} and is read by 9.9"
    ]
    assert model.n_components == 3
