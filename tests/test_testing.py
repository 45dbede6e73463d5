"""The contracts themselves: they pass what is sound and name what is not."""

from dataclasses import replace

import numpy as np
import pytest

from laminar import NMF, SemiNMF
from laminar._engine import updates
from laminar._engine.constraints import Free, NonNegative
from laminar._engine.data.wrap import wrap
from laminar._engine.terms import KL, Quad
from laminar.testing import check_model, check_term, check_update

rng = np.random.default_rng(0)
X = rng.gamma(1.0, size=(30, 12))
F, M = rng.uniform(0.2, 1, (30, 3)), rng.uniform(0.2, 1, (12, 3))
U = X / X.max()
QUAD = Quad.fit(wrap(X), M)


def broken(kind, promise):
    return pytest.param(kind, promise, id=kind.__name__)


# ---- terms -------------------------------------------------------------------------------------------------------


class WrongGradient(KL):
    def split(self, b, f):
        plus, minus = super().split(b, f)
        return plus * 1.001, minus


class NegativeParts(KL):
    def split(self, b, f):
        plus, minus = super().split(b, f)
        return plus - 5, minus - 5


class TwoGradients(KL):
    def grad(self, b, f):
        return 1.01 * super().grad(b, f)


class MissesRows(KL):
    @property
    def blocks(self):
        return [slice(0, self.data.shape[0] - 1)]


class NoResidual(KL):
    def residual(self, F, constraint):
        return float("nan")


class ChangesTheFactor(KL):
    def residual(self, F, constraint):
        F *= 0.99
        return super().residual(F, constraint)


@pytest.mark.parametrize(
    ("term", "promise"),
    [
        broken(WrongGradient, "finite differences"),
        broken(NegativeParts, "non-negative"),
        broken(TwoGradients, "differ by the gradient"),
        broken(MissesRows, "cover the rows"),
        broken(NoResidual, "residual"),
        broken(ChangesTheFactor, "unchanged"),
    ],
)
def test_broken_terms_are_named(term, promise):
    with pytest.raises(AssertionError, match=promise):
        check_term(term(wrap(X), M), F.copy())


def test_a_broken_quad_is_named():
    with pytest.raises(AssertionError, match="finite differences"):
        check_term(replace(QUAD, constant=QUAD.constant, linear=lambda b: _Drifting.of(b)), F.copy())


class _Drifting:
    """A linear part that is another one each time it is asked for: no function at all."""

    count = 0

    @classmethod
    def of(cls, b):
        cls.count += 1
        return (U[b] @ M) * (1 + 1e-3 * (cls.count // 3))


# ---- updates -----------------------------------------------------------------------------------------------------


def in_place(F, term, constraint):
    F[:] = updates.hals(F, term, constraint)
    return F.copy()


def the_same_array(F, term, constraint):
    return F


def ignores_the_constraint(F, term, constraint):
    return updates.least_squares(F, term)


def goes_up(F, term, constraint):
    return updates.hals(F, term, constraint) * 1.5


def does_nothing(F, term, constraint):
    return F.copy()


def restless(F, term, constraint):
    new = updates.exact(F, term)
    return new * (1 + 1e-3) if np.allclose(new, F) else new


def changes_dtype(F, term, constraint):
    return updates.hals(F, term, constraint).astype(np.float32)


def not_finite(F, term, constraint):
    return updates.hals(F, term, constraint) * np.inf


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("update", "promise"),
    [
        broken(in_place, "input unchanged"),
        broken(the_same_array, "new array"),
        broken(ignores_the_constraint, "respects the constraint"),
        broken(goes_up, "never raises"),
        broken(does_nothing, "something to gain"),
        broken(restless, "rests|never raises"),
        broken(changes_dtype, "dtype"),
        broken(not_finite, "finite"),
    ],
)
def test_broken_updates_are_named(update, promise):
    with pytest.raises(AssertionError, match=promise):
        check_update(update, F.copy(), QUAD)


def test_a_restless_update_is_named_even_when_a_single_sweep_is_enough():
    with pytest.raises(AssertionError, match="rests"):
        check_update(restless, F.copy(), QUAD, sweeps=1)


def test_sound_updates_pass_whatever_the_constraint():
    check_update(updates.hals, F, QUAD, NonNegative())
    check_update(updates.least_squares, F, QUAD, Free())
    check_update(updates.multiplicative, F, KL(wrap(X), M))


# ---- models ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        NMF(3),
        NMF(3, loss="kl", max_iter=300),
        NMF(3, solver="mu"),
        NMF(3, solver="apg"),
        NMF(3, rule="published", max_iter=50),
        NMF(1),
        NMF(15, max_iter=50),
        SemiNMF(3),
        SemiNMF(3, init="kmeans", solver="mu"),
        SemiNMF(3, rule="published", max_iter=50),
        SemiNMF(15),
    ],
    ids=repr,
)
def test_models_keep_the_contract(model):
    check_model(model, X)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("model", [NMF(3), SemiNMF(3), NMF(3, loss="kl", max_iter=50)], ids=repr)
def test_models_keep_the_contract_on_two_threads(model):
    check_model(model, np.random.default_rng(1).gamma(1.0, size=(300, 12)))


class AnyCodes(NMF):
    _constraints = {"H": Free(), "Z": NonNegative()}


def test_codes_are_asked_for_what_the_model_asks_of_them():
    check_model(AnyCodes(3), X)


def test_mixed_signs():
    check_model(SemiNMF(3), X - 1)


class Overwrites(NMF):
    def fit(self, X, y=None):
        super().fit(X, y)
        X *= 2
        return self


class Forgets(NMF):
    def fit(self, X, y=None):
        self.random_state = None
        return super().fit(X, y)


class Rises(NMF):
    def fit(self, X, y=None):
        super().fit(X, y)
        self.objective_history_ = self.objective_history_[::-1]
        return self


class CodesBadly(NMF):
    def transform(self, X):
        return super().transform(X) * 1.1


class BelowZero(NMF):
    def transform(self, X):
        return super().transform(X) - 1e-9


class Upcasts(NMF):
    def transform(self, X):
        return super().transform(X).astype(np.float64)


class NotFinite(NMF):
    def fit(self, X, y=None):
        super().fit(X, y)
        self.extra_ = np.array([np.nan])
        return self


class ChangesParameters(NMF):
    def fit(self, X, y=None):
        super().fit(X, y)
        self.tol = 0.5
        return self


class KnowsTheOrder(NMF):
    def fit(self, X, y=None):
        return super().fit(X if not isinstance(X, np.ndarray) or X.flags.c_contiguous else X + 1, y)


class NeedsDense(NMF):
    def fit(self, X, y=None):
        return super().fit(X if isinstance(X, np.ndarray) else X * 0, y)


@pytest.mark.parametrize(
    ("model", "promise"),
    [
        broken(Overwrites, "fit leaves X unchanged"),
        broken(Forgets, "same seed"),
        broken(Rises, "never rises"),
        broken(CodesBadly, "not worse than fit"),
        broken(BelowZero, "codes respect the constraint"),
        broken(Upcasts, "float32 stays float32"),
        broken(NotFinite, "extra_ is finite"),
        broken(ChangesParameters, "parameters unchanged"),
        broken(KnowsTheOrder, "Fortran order"),
        broken(NeedsDense, "sparse data"),
    ],
)
def test_broken_models_are_named(model, promise):
    with pytest.raises(AssertionError, match=promise):
        check_model(model(3, init="random"), X.copy())


class Labelled(NMF):
    seen: list = []

    def fit(self, X, y=None):
        self.seen.append(y)
        return super().fit(X)


def test_labels_are_passed_through():
    y = [0, 1, 2] * 10
    check_model(Labelled(3), X, y)
    assert Labelled.seen
    assert all(labels is y for labels in Labelled.seen)
