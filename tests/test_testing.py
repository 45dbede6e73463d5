"""The contracts themselves: they pass what is sound and name what is not."""

import numpy as np
import pytest

from laminar import NMF, SemiNMF
from laminar._engine import updates
from laminar._engine.constraints import Free, NonNegative, UnitSum
from laminar._engine.data.wrap import wrap
from laminar._engine.objective import Objective
from laminar._engine.terms import KL, GraphPenalty, Majoriser, Ridge, SquaredFit
from laminar.graphs import Chain
from laminar.testing import check_model, check_term, check_update

generator = np.random.default_rng(0)
X = generator.gamma(1.0, size=(30, 12))
X /= X.max()
F, M = generator.uniform(0.2, 1, (30, 3)), generator.uniform(0.2, 1, (12, 3))
FIT = SquaredFit.of(wrap(X), M)
SMOOTH = GraphPenalty(Chain().build(X), 0.3, np.ones(3))


def broken(kind, promise):
    return pytest.param(kind, promise, id=kind.__name__)


# Terms


class WrongValue(KL):
    def value(self, F):
        return 1.001 * super().value(F)


class NegativeParts(KL):
    def split_gradient(self, F):
        split = super().split_gradient(F)
        return lambda b: tuple(part - 5 for part in split(b))


class TwoGradients(KL):
    def split_gradient(self, F):
        split = super().split_gradient(F)
        return lambda b: (1.01 * split(b)[0], split(b)[1])


class MissesRows(KL):
    groups = [[slice(0, 29)]]


class RepeatsRows(KL):
    groups = [[slice(0, 20), slice(10, 30)]]


class ChangesFactor(KL):
    def value(self, F):
        F *= 1 + 1e-9
        return super().value(F)


class TooLow(SquaredFit):
    """A bound with half the curvature of the term, and the right gradient at F."""

    exact = False

    def majoriser(self, F):
        return Majoriser(lambda b: self.B(b) - F[b] @ self.G / 2, self.G / 2)


class NotExact(KL):
    exact = True


@pytest.mark.parametrize(
    ("term", "promise"),
    [
        broken(WrongValue, "finite differences"),
        broken(NegativeParts, "non-negative"),
        broken(TwoGradients, "differ by the gradient"),
        broken(MissesRows, "cover the rows"),
        broken(RepeatsRows, "cover the rows"),
        broken(ChangesFactor, "unchanged"),
        broken(TooLow, "nowhere below its term"),
        broken(NotExact, "majoriser of an exact term is the term"),
    ],
)
def test_broken_term_is_named(term, promise):
    with pytest.raises(AssertionError, match=promise):
        check_term(term.of(wrap(X), M), F.copy())


class Steep(GraphPenalty):
    """A penalty whose bound lacks half of its curvature."""

    def majoriser(self, F):
        found = super().majoriser(F)
        r = found.row_curvature / 4
        lost = (found.row_curvature - r)[:, None] * found.column_weights * F
        return Majoriser(lambda b: found.B(b) - lost[b], None, r, found.column_weights)


def test_broken_addend_of_objective_is_named():
    steep = Steep(Chain().build(X), 100.0, np.ones(3))
    with pytest.raises(AssertionError, match="nowhere below"):
        check_term(steep, F.copy())
    with pytest.raises(AssertionError, match="nowhere below"):
        check_term(Objective([FIT, steep]), F.copy())


@pytest.mark.parametrize("term", [FIT, KL.of(wrap(X), M), SMOOTH, Ridge(np.ones(3)), Objective([FIT, SMOOTH])])
def test_sound_term_passes(term):
    check_term(term, F)


# Updates


def in_place(F, objective, constraint):
    F[:] = updates.hals(F, objective, constraint)
    return F.copy()


def same_array(F, objective, constraint):
    return F


def ignores_constraint(F, objective, constraint):
    return updates.least_squares(F, objective, constraint)


def ascends(F, objective, constraint):
    return updates.hals(F, objective, constraint) * 1.5


def does_nothing(F, objective, constraint):
    return F.copy()


def moves_at_optimum(F, objective, constraint):
    new = updates.exact(F, objective, constraint)
    return new * (1 + 1e-3) if np.allclose(new, F) else new


def changes_dtype(F, objective, constraint):
    return updates.hals(F, objective, constraint).astype(np.float32)


def not_finite(F, objective, constraint):
    return updates.hals(F, objective, constraint) + np.inf


def slightly_negative(F, objective, constraint):
    new = updates.hals(F, objective, constraint)
    new[0, 0] = -1e-300
    return new


@pytest.mark.parametrize(
    ("update", "promise"),
    [
        broken(in_place, "input unchanged"),
        broken(same_array, "new array"),
        broken(ignores_constraint, "respects the constraint"),
        broken(slightly_negative, "respects the constraint"),
        broken(ascends, "never increases"),
        broken(does_nothing, "where it can be decreased"),
        broken(moves_at_optimum, "stationary|never increases"),
        broken(changes_dtype, "dtype"),
        broken(not_finite, "finite"),
    ],
)
def test_broken_update_is_named(update, promise):
    with pytest.raises(AssertionError, match=promise):
        check_update(update, F.copy(), FIT)


def test_update_that_moves_at_optimum_is_named():
    with pytest.raises(AssertionError, match="stationary"):
        check_update(moves_at_optimum, F.copy(), FIT, sweeps=1)


def test_sound_update_passes():
    check_update(updates.hals, F, FIT, NonNegative())
    check_update(updates.least_squares, F, FIT, Free())
    check_update(updates.multiplicative, F, KL.of(wrap(X), M))
    check_update(updates.entrywise, M / M.sum(0), KL.of(wrap(X).T, F), UnitSum())


def test_sound_update_of_negative_objective_passes():
    """Under a penalty that rewards, or where constants are left out."""
    B = X @ M
    check_update(updates.hals, F, SquaredFit(B.__getitem__, M.T @ M, [[slice(0, 30)]], 0.0, 12))


# Models


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
