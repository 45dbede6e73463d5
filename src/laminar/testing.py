"""Contracts of terms, updates and models, as functions that check a new one.

Each raises an AssertionError that names the broken promise, and returns nothing.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Sequence
from inspect import signature
from typing import cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from ._engine.constraints import NonNegative
from ._engine.objective import Objective
from ._engine.terms import by_group
from ._engine.updates import entrywise, exact, hals
from .multiview.base import SharedCoder

__all__ = ["check_model", "check_term", "check_update"]


def check_term(term, F, constraint=None, *, random_state=0) -> None:
    """Check that the value, the gradient and the majoriser of a term are those of one function.

    The gradient agrees with finite differences of the value; its two parts are non-negative and differ by it; the
    majoriser touches the term at F and is nowhere below it, and equals it if the term is ``exact``; F is unchanged. A
    term that reads X (see `laminar._engine.terms.Fit`) covers the rows once and has a finite KKT residual.

    Parameters
    ----------
    term : Term
        The term, or an `Objective`, the sum of several.
    F : ndarray of shape (n_rows, n_components), float64
        Where to check it; non-negative, for the parts of the gradient have no meaning elsewhere.
    constraint : Constraint or None, default=None
        The constraint of the residual; None means non-negative.
    random_state : int, default=0
        Seed of the directions of the differences.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar._engine.data.wrap import wrap
    >>> from laminar._engine.terms import SquaredFit
    >>> rng = np.random.default_rng(0)
    >>> check_term(SquaredFit.of(wrap(rng.normal(size=(8, 5))), rng.normal(size=(5, 3))), rng.uniform(size=(8, 3)))
    """
    before, rng = F.copy(), np.random.default_rng(random_state)
    value = _value_of(term)
    groups = getattr(term, "groups", [[slice(0, len(F))]])
    rows = np.concatenate([np.arange(len(F))[b] for blocks in groups for b in blocks])
    _agree(np.sort(rows), np.arange(len(F)), 0, "the blocks of a term cover the rows once")

    majoriser = term.majoriser(F)
    gradient = _gather(F, groups, lambda b, G: majoriser.gradient(b, F[b], G), majoriser.G)
    split = term.split_gradient(F)
    plus, minus = (_gather(F, groups, lambda b, _, i=i: split(b)[i]) for i in (0, 1))
    _require((plus >= 0).all() and (minus >= 0).all(), "both parts of the gradient are non-negative")
    _agree(plus - minus, gradient, 1e-9, "the two parts of the gradient differ by the gradient", np.abs(plus).max())

    for _ in range(5):
        direction = rng.normal(size=F.shape) * (F > 0)  # an entry at zero may not go down
        step = 1e-5 * np.abs(F).max()
        slope = (value(F + step * direction) - value(F - step * direction)) / (2 * step)
        # Of two numbers that cancel, the error is relative to their size.
        size = float(np.abs((plus + minus) * direction).sum()) + 1e-300
        off = abs(float(np.vdot(gradient, direction)) - slope) / size
        _require(off <= 1e-6, f"the gradient agrees with finite differences (it is off by {off:.1e})")
        _check_majoriser(term, majoriser, F, np.abs(F + rng.normal(size=F.shape) * np.abs(F).max() / 3))

    if hasattr(term, "rounding_error") or isinstance(term, Objective):
        objective = term if isinstance(term, Objective) else Objective([term])
        residual = objective.residual(F, constraint or NonNegative())
        _require(np.isfinite(residual) and residual >= 0, "the KKT residual is a finite number, not below zero")
    _agree(F, before, 0, "a term leaves the factor unchanged")


def check_update(update, F, objective, constraint=None, *, sweeps=20) -> None:
    """Check that an update descends, respects the constraint, and is stationary at stationary points.

    Parameters
    ----------
    update : callable
        ``(F, objective, constraint) -> new F``.
    F : ndarray of shape (n_rows, n_components)
        Where to start, inside the constraint and away from the optimum; multiplicative updates need it positive.
    objective : Objective, or a term that reads X
        What the update decreases.
    constraint : Constraint or None, default=None
        None means non-negative.
    sweeps : int, default=20
        How many times the update is applied.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar._engine import updates
    >>> from laminar._engine.data.wrap import wrap
    >>> from laminar._engine.terms import SquaredFit
    >>> rng = np.random.default_rng(0)
    >>> fit = SquaredFit.of(wrap(rng.uniform(size=(8, 5))), rng.uniform(size=(5, 3)))
    >>> check_update(updates.hals, rng.uniform(size=(8, 3)), fit)
    """
    constraint = constraint or NonNegative()
    objective = objective if isinstance(objective, Objective) else Objective([objective])
    rounding = 50 * float(np.finfo(F.dtype).eps) * abs(objective.fit.size)
    values = [objective.evaluate(F).value]
    for _ in range(sweeps):
        before = F.copy()
        new = update(F, objective, constraint)
        _agree(F, before, 0, "an update leaves its input unchanged")
        _require(not np.shares_memory(new, F), "an update returns a new array")
        _require(new.shape == F.shape and new.dtype == F.dtype, "an update keeps shape and dtype")
        _require(np.isfinite(new).all(), "an update gives finite numbers")
        # To the last digit: the sums that `UnitSum` divides by are rounded, zero is not.
        off = np.abs(constraint.project(new.copy()) - new) > 4 * np.finfo(F.dtype).eps * np.abs(new)
        _require(not off.any(), "an update respects the constraint")
        values.append(objective.evaluate(new).value)
        _require(
            values[-1] <= values[-2] + rounding,
            f"an update never increases the objective ({values[-2]} to {values[-1]})",
        )
        F = new
    _require(values[1] < values[0] - rounding, "an update decreases the objective where it can be decreased")

    optimum = _optimum(F, objective, constraint)
    again = update(optimum, objective, constraint)
    decrease = objective.evaluate(optimum).value - objective.evaluate(again).value
    _require(
        abs(decrease) <= rounding + 1e-10 * abs(values[-1]),
        f"an update is stationary at a stationary point (the objective changed by {decrease})",
    )
    tol = 1e-4 if F.dtype == np.float64 else 1e-2
    moved = np.abs(again - optimum).max() / np.abs(optimum).max()
    _require(moved <= tol, f"an update is stationary at a stationary point (the factor changed by {moved:.1e})")


def check_model(estimator, X, y=None) -> None:
    """Check a model on data: precision, layout, sparsity, repeatability, descent, coding, copies.

    Parameters
    ----------
    estimator : estimator
        An unfitted model with few iterations to go or quick data; it is cloned, never fitted itself.
    X : ndarray of shape (n_samples, n_features)
        Float64 data the model has a meaning for.
    y : array-like or None, default=None
        Labels, passed to ``fit`` as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import NMF
    >>> check_model(NMF(n_components=2), np.random.default_rng(0).uniform(size=(20, 8)))
    """
    X = np.array(X, dtype=np.float64, order="C")
    model = _fitted(estimator, X, y)
    _check_copies(estimator, model, X)
    _check_fit(model, X, y)

    # Rounding grows from sweep to sweep, so inputs that differ by rounding are compared after a few.
    short = clone(estimator)
    short.set_params(**{name: v for name, v in {"max_iter": 10, "tol": 0}.items() if name in short.get_params()})
    base = _explained(_fitted(short, X, y), X)
    twins = [("Fortran order gives what C order gives", np.asfortranarray(X), 1e-6)]
    if get_tags(estimator).input_tags.sparse:
        twins += [("sparse data give what dense data give", form(X), 1e-4) for form in (sp.csr_matrix, sp.csc_matrix)]
    twins.append(("float32 gives what float64 gives, roughly", X.astype(np.float32), 1e-2))
    for promise, twin, tol in twins:
        off = abs(_explained(_fitted(short, twin, y), X) - base)
        _require(off <= tol, f"{promise} (the loss is off by {off:.1e} of that of zero)")

    single = _fitted(estimator, X.astype(np.float32), y)
    kept = {"components_": single.components_.dtype, "transform": single.transform(X.astype(np.float32)).dtype}
    _require(set(kept.values()) == {np.dtype(np.float32)}, f"float32 stays float32 ({kept})")
    _check_history(single, X.astype(np.float32))


def _check_fit(model, X, y) -> None:
    """Check a fitted model alone, and against a second fit."""
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            _require(np.isfinite(value).all(), f"{name} is finite")
    _check_history(model, X)
    codes, before = model.layers_[-1].representation, X.copy()
    takes = signature(model.transform).parameters
    again = model.transform(X, **{name: v for name, v in {"layer": -1, "readout": "raw"}.items() if name in takes})
    _agree(X, before, 0, "transform leaves X unchanged")
    _require(np.isfinite(again).all(), "codes are finite")
    _agree(model._constraints["H"].project(again.copy()), again, 0, "codes respect the constraint of the model on H")
    loss = {H is again: _loss(model, X, H) for H in (codes, again)}
    slack = 1e-6 * loss[False] + 1e-12 * _loss(model, X, np.zeros_like(codes))
    # Where transform takes sequences, its codes have the penalty of the fit and are not the closest.
    if "groups" not in takes:
        _require(loss[True] <= loss[False] + slack, f"transform is not worse than fit ({loss[True]} to {loss[False]})")
    twin = _fitted(model, X, y)
    _agree(twin.components_, model.components_, 0, "the same seed gives the same components")
    _agree(twin.objective_history_, model.objective_history_, 0, "the same seed gives the same history")


def _check_copies(estimator, model, X) -> None:
    """Check that copies by pickle and clone agree with the model."""
    _agree(pickle.loads(pickle.dumps(model)).transform(X), model.transform(X), 0, "a pickled model is the same model")
    fresh = clone(model)
    given, kept = ({k: repr(v) for k, v in m.get_params().items() if k != "random_state"} for m in (estimator, fresh))
    _require(given == kept, "fit leaves the parameters unchanged")
    try:
        check_is_fitted(fresh)
    except NotFittedError:
        return
    raise AssertionError("Broken promise: a clone is not fitted.")


def _check_history(model, X) -> None:
    """Check that the objective never increases, beyond rounding."""
    history = np.asarray(model.objective_history_, dtype=np.float64)
    _require(history.size > 0 and np.isfinite(history).all(), "the objective is recorded, and finite")
    rounding = 50 * float(np.finfo(X.dtype).eps) * (float(np.abs(X).sum()) + float((X.astype(np.float64) ** 2).sum()))
    rise = float(np.diff(history).max(initial=0.0))
    _require(rise <= rounding, f"the objective never rises (it rose by {rise:.3g} from one sweep to the next)")


def _fitted(estimator, X, y):
    """Fit a seeded clone, and check that X is unchanged."""
    model = clone(estimator)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    before = X.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    parts = zip(*([M.data, M.indices, M.indptr] if sp.issparse(M) else [M] for M in (X, before)), strict=True)
    _require(all(np.array_equal(a, b) for a, b in parts), "fit leaves X unchanged")
    return model


def _explained(model, X) -> float:
    """Return the loss of the training codes, relative to that of zero codes."""
    codes = model.layers_[-1].representation
    return _loss(model, X, codes) / _loss(model, X, np.zeros_like(codes))


def _loss(model, X, H) -> float:
    """Return the squared error or divergence of X from the reconstruction."""
    if isinstance(model, SharedCoder) and model.normalize:
        return _loss_of_unit_samples(model, X, H)
    Y = model.inverse_transform(np.asarray(H, dtype=np.float64))
    if getattr(model, "loss", "frobenius") == "kl":
        Y = np.maximum(Y, 1e-12 * X.max())
        return float((X * np.log(np.where(X > 0, X, 1) / Y) - X + Y).sum())
    return float(((X - Y) ** 2).sum())


def _loss_of_unit_samples(model: SharedCoder, X: np.ndarray, H: np.ndarray) -> float:
    """Return the weighted squared error of samples of unit norm, whose codes H are."""
    total, parts = 0.0, np.split(X, np.cumsum(model.view_sizes_)[:-1], axis=1)
    for view, part in zip(model.views_.values(), parts, strict=True):
        norms = np.linalg.norm(part, axis=1, keepdims=True)
        gap = part / np.where(norms > 0, norms, 1) - view.mean - H @ view.layers[-1].components
        total += view.weight * view.size**2 * float((gap**2).sum())
    return total


def _value_of(term):
    """Return the value of a term or of an objective."""
    return (lambda F: term.evaluate(F).value) if isinstance(term, Objective) else term.value


def _gather(F, groups, rows, G=None) -> np.ndarray:
    """Evaluate a function of blocks of rows and of their Gram matrix into one array."""
    out = np.empty(F.shape)
    for gram, blocks in by_group(G, groups):
        for b in cast(Sequence, blocks):
            out[b] = rows(b, gram)
    return out


def _check_majoriser(term, majoriser, F, other) -> None:
    """Check that at another point the term is not above its majoriser, and equal to it if ``exact``."""
    groups, value = getattr(term, "groups", [[slice(0, len(F))]]), _value_of(term)

    def bound(E: np.ndarray) -> float:
        total = 0.0
        for G, blocks in by_group(majoriser.G, groups):
            for b in cast(Sequence, blocks):
                e = E[b]
                total += 0.0 if G is None else float(np.vdot(e @ G, e)) / 2
                total -= 0.0 if majoriser.B is None else float((majoriser.B(b) * e).sum())
                if majoriser.row_curvature is not None:
                    total += float((majoriser.row_curvature[b, None] * majoriser.column_weights * e * e).sum()) / 2
                if majoriser.ratio is not None:
                    tiny = np.finfo(np.float64).tiny
                    total -= float((F[b] * majoriser.ratio(b) * np.log(np.maximum(e, tiny))).sum())
        return total

    above = bound(other) - bound(F) - (value(other) - value(F))
    rounding = 1e-9 * (abs(value(other)) + abs(value(F)) + abs(bound(other)) + abs(bound(F)) + 1e-300)
    _require(above >= -rounding, f"a majoriser is nowhere below its term (it is by {-above:.3g})")
    if term.exact:
        _require(above <= rounding, f"the majoriser of an exact term is the term (it is above by {above:.3g})")


def _optimum(F, objective, constraint) -> np.ndarray:
    """Return a stationary point."""
    if objective.exact:
        return constraint.update(exact)(F, objective, constraint)
    update = constraint.update(entrywise if objective.majoriser(F).ratio is not None else hals)
    for _ in range(5000):
        F, before = update(F, objective, constraint), F
        if np.abs(F - before).max() <= 4 * np.finfo(F.dtype).eps * np.abs(F).max():
            break
    return F


def _require(kept, promise: str) -> None:
    if not kept:
        raise AssertionError(f"Broken promise: {promise}.")


def _agree(got, expected, tol: float, promise: str, size: float | None = None) -> None:
    """Require two arrays to agree to a part ``tol`` of the size, by default the largest entry."""
    got, expected = np.asarray(got), np.asarray(expected)
    _require(got.shape == expected.shape, f"{promise}; shapes are {got.shape} and {expected.shape}")
    worst = float(np.abs(got - expected).max(initial=0.0))
    size = np.abs(expected).max(initial=0.0) if size is None else size
    _require(worst <= tol * size, f"{promise}; they differ by {worst:.3g}")
