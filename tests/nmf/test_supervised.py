"""What the models that read labels share: every form of partial labels, wrong ones, and the contract with labels."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from laminar import ClassDrivenNMF, ConstrainedNMF, DiscriminantNMF
from laminar.testing import check_model

MODELS = [
    ClassDrivenNMF(4, random_state=0, max_iter=30),
    ClassDrivenNMF(components_per_class=2, random_state=0, max_iter=30),
    ClassDrivenNMF(4, loss="kl", random_state=0, max_iter=60),
    ConstrainedNMF(4, random_state=0, max_iter=30),
    ConstrainedNMF(4, loss="kl", random_state=0, max_iter=60),
    DiscriminantNMF(4, random_state=0, max_iter=30),
    DiscriminantNMF(4, between=0.3, random_state=0, max_iter=30),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=repr)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

rng = np.random.default_rng(0)
N, P, C = 40, 10, 3
WHO = rng.integers(0, C, N)
Y = np.where(rng.random(N) < 0.5, WHO, -1)
X = rng.gamma(0.7, size=(N, 5)) @ rng.gamma(0.7, size=(5, P)) + 2 * rng.gamma(1.0, size=(C, P))[WHO]

NAMES = np.array(["ann", "ben", "eve"])  # in the order of the numbers
NAMED = [NAMES[c] if c >= 0 else None for c in Y]
FORMS = {
    "a column": Y[:, None],
    "list": Y.tolist(),
    "NaN": np.where(Y < 0, np.nan, Y),
    "None": [None if c < 0 else int(c) for c in Y],
    "strings and None": NAMED,
    "empty strings": np.array([name or "" for name in NAMED]),
    "masked": np.ma.masked_array(WHO, Y < 0),
    "large numbers": np.where(Y < 0, -1, Y * 1000 - 500),
}


@every_model
@pytest.mark.parametrize("y", FORMS.values(), ids=FORMS)
def test_every_form_of_labels(model, y):
    expected, other = clone(model).fit(X, Y), clone(model).fit(X, y)
    assert np.array_equal(other.components_, expected.components_)
    assert np.array_equal(other.layers_[0].representation, expected.layers_[0].representation)


@every_model
def test_labels_of_pandas(model):
    pd = pytest.importorskip("pandas")
    expected = clone(model).fit(X, Y).components_
    numbers = pd.Series(Y).astype("Int64").replace(-1, pd.NA)
    words = pd.Series(NAMED, dtype="string", name="who", index=np.arange(N)[::-1])
    for y in (numbers, words, words.to_frame(), words.astype("category")):
        assert np.array_equal(clone(model).fit(X, y).components_, expected)


@every_model
def test_labels_do_something(model):
    blank = clone(model).set_params(n_components=model.n_components or 6)
    told, untold = clone(blank).fit(X, Y), clone(blank).fit(X)
    assert not np.allclose(told.components_, untold.components_)


@every_model
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (Y[:-1], "y has 39 rows but X has 40 samples; give one label per sample"),
        (np.append(Y, 0), "y has 41 rows but X has 40 samples"),
        (Y[None], "y has 1 rows but X has 40 samples.*Transpose it: rows are samples"),
        (np.zeros((N, 2, 2)), "y must have shape .* got 3 dimensions"),
        (np.stack([Y, Y], axis=1), "y has 2 attributes, and a sample can have one class only here: pass one column"),
        (np.zeros((N, 0)), "y has 0 attributes.*pass one column"),
        (0, "y must have shape .* got 0 dimensions"),
        (["a", 1] * (N // 2), "y mixes labels of types int, str; make them all strings or all numbers"),
        (np.array(["a", "-1"] * (N // 2)), "holds '-1' or 'nan', most likely unknown labels.*None where"),
    ],
)
def test_wrong_labels_are_refused(model, y, message):
    model = clone(model)
    with pytest.raises((ValueError, TypeError), match="(?s)" + message):
        model.fit(X, y)
    assert not hasattr(model, "components_")


@every_model
def test_contract(model):
    check_model(clone(model), X, Y)


@every_model
@pytest.mark.parametrize("method", ["fit_transform", "fit_predict"])
def test_other_ways_to_fit(model, method):
    fitted = clone(model).fit(X, Y)
    out = getattr(clone(model), method)(X, Y)
    if method == "fit_transform":
        np.testing.assert_allclose(out, fitted.transform(X), atol=1e-12)
    elif isinstance(model, ClassDrivenNMF):  # classes, not clusters
        agree = np.mean(out[Y >= 0] == Y[Y >= 0])
        assert agree > 0.9
    else:
        k = len(fitted.components_)
        assert np.array_equal(out, fitted.clusters_.predict(fitted.layers_[0].representation, k))


SMALL, CLASSES = X[:12, :6], [0, 1, 0, 1, 2, -1, -1, 2, 0, 1, 1, -1]
ODD = {
    "zeros": 0 * SMALL,
    "sparse without an entry": sp.csr_array((12, 6)),
    "a class of zeros": SMALL * (np.array(CLASSES) != 0)[:, None],
    "zero columns, sparse": sp.csc_array(SMALL * (np.arange(6) % 3 > 0)),
    "one feature": SMALL[:, :1],
    "constant": np.ones((12, 6)),
    "duplicates": np.repeat(SMALL[:2], 6, axis=0),
    "integers": np.arange(72).reshape(12, 6),
    "an outlier": SMALL + 1e12 * (np.arange(72) == 8).reshape(12, 6),
    "rows of every size": SMALL * 10.0 ** np.linspace(-150, 148, 12)[:, None],
    "tiny": 1e-20 * SMALL,
    "subnormal float32": (1e-42 * SMALL).astype(np.float32),
    "huge float32": (1e36 * SMALL).astype(np.float32),
}


# The others are in the table of tests/test_common.py.
@pytest.mark.parametrize("model", [MODELS[i] for i in (1, 2, 6)], ids=repr)
@pytest.mark.parametrize("rule", ["fast", "published"])
@pytest.mark.parametrize("data", ODD.values(), ids=ODD)
def test_odd_input_gives_a_finite_answer(model, rule, data):
    model = clone(model).set_params(rule=rule, max_iter=20, n_clusters=1)
    if rule == "published" and hasattr(model, "between"):
        model.set_params(between=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        H = model.fit(data, CLASSES).transform(data)
    for A in (H, model.components_, model.layers_[0].representation, model.objective_history_):
        assert np.isfinite(A).all()
    assert np.isfinite(model.reconstruction_err_)
    assert min(H.min(), model.layers_[0].representation.min()) >= 0


@pytest.mark.parametrize("model", [ClassDrivenNMF(), DiscriminantNMF(3)], ids=repr)
def test_a_penalty_with_units_has_a_limit(model):
    assert np.isfinite(clone(model).fit(1e-300 * SMALL, CLASSES).components_).all()
    with pytest.raises(ValueError, match="X is too small"):
        model.set_params(scale="none").fit(1e-300 * SMALL, CLASSES)
