"""`Rule` and `Published`: which update a model makes, by loss, solver and exponent."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from sklearn.utils._param_validation import InvalidParameterError

from laminar import GNMF, NMF, WSF, SemiNMF
from laminar._base.rules import SOLVERS, Published, Rule
from laminar._engine.updates import accelerated_gradient, entrywise, exact, hals, multiplicative

CASES = {  # rule, loss, solver, eta: update, exponent
    "auto": (Rule(), "frobenius", "auto", None, hals, None),
    "hals": (Rule(), "frobenius", "hals", None, hals, None),
    "mu": (Rule(), "frobenius", "mu", None, multiplicative, None),
    "apg": (Rule(), "frobenius", "apg", None, accelerated_gradient, None),
    "kl": (Rule(), "kl", "auto", None, entrywise, None),
    "own solver": (Rule(solvers={"auto": exact}), "frobenius", "auto", None, exact, None),
    "not its own": (Rule(solvers={"auto": exact}), "frobenius", "hals", None, hals, None),
    "exponent": (Rule(), "frobenius", "mu", 0.5, multiplicative, 0.5),
    "published": (Published(), "frobenius", "auto", None, multiplicative, 1.0),
    "published kl": (Published(), "kl", "auto", None, multiplicative, 1.0),
    "published half": (Published(eta=0.5), "frobenius", "auto", None, multiplicative, 0.5),
    "published, other": (Published(eta=0.5), "frobenius", "auto", 0.25, multiplicative, 0.25),
}


@pytest.mark.parametrize("case", CASES)
def test_update_is_that_of_solver(case):
    rule, loss, solver, eta, update, exponent = CASES[case]
    got = rule.update(loss, solver, eta)
    if exponent is None:
        assert got is update
    else:
        assert isinstance(got, partial)
        assert (got.func, got.keywords) == (update, {"eta": exponent})


@pytest.mark.parametrize("case", CASES)
def test_multiplying_updates_are_known(case):
    """They never leave an exact zero."""
    rule, loss, solver, eta, update, _ = CASES[case]
    assert rule.multiplies(loss, solver, eta) == (update in (multiplicative, entrywise))


def test_published_rule_is_not_accelerated():
    rule = Published()
    assert not any([rule.extrapolate, rule.exact_codes, rule.invariant, rule.subsample])


@pytest.mark.parametrize("loss", SOLVERS)
def test_every_loss_has_auto(loss):
    assert "auto" in SOLVERS[loss]


# Models


@pytest.mark.parametrize("model", [NMF, SemiNMF, GNMF, WSF])
@pytest.mark.parametrize("eta", [0, -0.5, 1.0001, 2])
def test_exponents_outside_lemma_are_refused(model, eta):
    with pytest.raises(InvalidParameterError, match="eta"):
        model(2, solver="mu", eta=eta).fit(np.ones((4, 3)))


@pytest.mark.parametrize("model", [NMF, SemiNMF, GNMF, WSF])
def test_exponent_without_effect_is_refused(model):
    with pytest.raises(ValueError, match=r'eta=0\.5 has no effect with solver="auto"'):
        model(2, eta=0.5).fit(np.ones((4, 3)))


@pytest.mark.parametrize(
    ("model", "solver"),
    [(NMF, "hals"), *product([SemiNMF, GNMF, WSF], ["hals", "apg"])],  # NMF by "apg" is NeNMF
)
def test_solver_of_published_rule_is_refused(model, solver):
    with pytest.raises(ValueError, match='rule="published" is multiplicative'):
        model(2, rule="published", solver=solver).fit(np.ones((4, 3)))
