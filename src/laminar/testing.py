"""Contracts: what every term, update and model promises, as functions a new one is run through.

Each raises an AssertionError that says which promise was broken, and returns nothing.
"""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from ._engine.constraints import Free, NonNegative
from ._engine.terms import KL
from ._engine.updates import exact, hals, least_squares, root

__all__ = ["check_model", "check_term", "check_update"]


def check_term(term, F, constraint=None, *, random_state=0) -> None:
    """Check that a term is one smooth function, whichever way it is asked.

    Its gradient agrees with differences of its value, the two parts of its gradient are non-negative and differ by
    it, its blocks cover the rows once, its residual is finite, and F stays as it is.

    Parameters
    ----------
    term : Quad, KL, or anything with their methods
        The term.
    F : ndarray of shape (n_rows, n_components), float64
        Where to look; non-negative, for the parts of the gradient have no meaning elsewhere.
    constraint : constraint of F or None, default=None
        What the residual is measured under; None means non-negative.
    random_state : int, default=0
        Seed of the directions the differences are taken in.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar._engine.data.matrix import wrap
    >>> from laminar._engine.terms import Quad
    >>> rng = np.random.default_rng(0)
    >>> check_term(Quad.fit(wrap(rng.normal(size=(8, 5))), rng.normal(size=(5, 3))), rng.uniform(size=(8, 3)))
    """
    before = F.copy()
    rows = np.concatenate([np.arange(len(F))[b] for b in term.blocks])
    _agree(rows, np.arange(len(F)), 0, "the blocks of a term cover the rows once, in order")

    here = term.at(F)
    plus, minus = _parts(here, F)
    _require((plus >= 0).all() and (minus >= 0).all(), "both parts of the gradient are non-negative")
    gradient = plus - minus
    whole = np.concatenate([here.grad(b, F[b]) for b in term.blocks])
    _agree(whole, gradient, 1e-9, "the two parts of the gradient differ by the gradient")

    rng = np.random.default_rng(random_state)
    for _ in range(5):
        direction = rng.normal(size=F.shape) * (F > 0)  # an entry at zero may not go down
        step = 1e-5 * np.abs(F).max()
        slope = (term.value(F + step * direction) - term.value(F - step * direction)) / (2 * step)
        # Of two numbers that cancel, the error is relative to their size.
        size = float(np.abs((plus + minus) * direction).sum()) + 1e-300
        off = abs(float(np.vdot(gradient, direction)) - slope) / size
        _require(off <= 1e-6, f"the gradient agrees with finite differences (it is off by {off:.1e})")

    residual = term.residual(F, constraint or NonNegative())
    _require(np.isfinite(residual) and residual >= 0, "the KKT residual is a finite number, not below zero")
    _agree(F, before, 0, "a term leaves the factor unchanged")


def check_update(update, F, term, constraint=None, *, sweeps=20) -> None:
    """Check that an update goes down, stays where the constraint allows, and rests where nothing is left to gain.

    Parameters
    ----------
    update : callable
        ``(F, term, constraint) -> new F``.
    F : ndarray of shape (n_rows, n_components)
        Where to start, inside the constraint and away from the optimum; multiplicative rules need it positive.
    term : Quad or KL
        What the update lowers.
    constraint : constraint of F or None, default=None
        None means non-negative.
    sweeps : int, default=20
        How many times the update is applied.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar._engine import updates
    >>> from laminar._engine.data.matrix import wrap
    >>> from laminar._engine.terms import Quad
    >>> rng = np.random.default_rng(0)
    >>> term = Quad.fit(wrap(rng.uniform(size=(8, 5))), rng.uniform(size=(5, 3)))
    >>> check_update(updates.hals, rng.uniform(size=(8, 3)), term)
    """
    constraint = constraint or NonNegative()
    noise = 50 * float(np.finfo(F.dtype).eps) * (term.data.total if isinstance(term, KL) else term.constant)
    values = [term.value(F)]
    for _ in range(sweeps):
        before = F.copy()
        new = update(F, term, constraint)
        _agree(F, before, 0, "an update leaves its input unchanged")
        _require(not np.shares_memory(new, F), "an update returns a new array")
        _require(new.shape == F.shape and new.dtype == F.dtype, "an update keeps shape and dtype")
        _require(np.isfinite(new).all(), "an update gives finite numbers")
        _agree(constraint.project(new.copy()), new, 0, "an update respects the constraint")
        values.append(term.value(new))
        _require(
            values[-1] <= values[-2] + noise, f"an update never raises the objective ({values[-2]} to {values[-1]})"
        )
        F = new
    _require(values[1] < values[0] - noise, "an update lowers the objective where there is something to gain")

    rest = _optimum(F, term, constraint)
    again = update(rest, term, constraint)
    gained = term.value(rest) - term.value(again)
    _require(
        abs(gained) <= noise + 1e-10 * values[-1],
        f"an update rests at a stationary point (the objective moved by {gained})",
    )
    tol = 1e-4 if F.dtype == np.float64 else 1e-2
    moved = np.abs(again - rest).max() / np.abs(rest).max()
    _require(moved <= tol, f"an update rests at a stationary point (the factor moved by {moved:.1e} of its size)")


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
    """What one fitted model promises by itself, and next to a twin."""
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            _require(np.isfinite(value).all(), f"{name} is finite")
    _check_history(model, X)
    codes, before = model.layers_[-1].representation, X.copy()
    again = model.transform(X)
    _agree(X, before, 0, "transform leaves X unchanged")
    _require(np.isfinite(again).all(), "codes are finite")
    _agree(model._constraints["H"].project(again.copy()), again, 0, "codes respect the constraint of the model on H")
    loss = {H is again: _loss(model, X, H) for H in (codes, again)}
    slack = 1e-6 * loss[False] + 1e-12 * _loss(model, X, np.zeros_like(codes))
    _require(loss[True] <= loss[False] + slack, f"transform is not worse than fit ({loss[True]} to {loss[False]})")
    twin = _fitted(model, X, y)
    _agree(twin.components_, model.components_, 0, "the same seed gives the same components")
    _agree(twin.objective_history_, model.objective_history_, 0, "the same seed gives the same history")


def _check_copies(estimator, model, X) -> None:
    """A copy of a model is that model: pickle, clone."""
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
    """The objective never rises, beyond rounding."""
    history = np.asarray(model.objective_history_, dtype=np.float64)
    _require(history.size > 0 and np.isfinite(history).all(), "the objective is recorded, and finite")
    rounding = 50 * float(np.finfo(X.dtype).eps) * (float(np.abs(X).sum()) + float((X.astype(np.float64) ** 2).sum()))
    rise = float(np.diff(history).max(initial=0.0))
    _require(rise <= rounding, f"the objective never rises (it rose by {rise:.3g} from one sweep to the next)")


def _fitted(estimator, X, y):
    """A seeded clone, fitted; X must come out as it went in."""
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
    """What is compared between fits: the loss of the training codes, as a part of that of zero."""
    codes = model.layers_[-1].representation
    return _loss(model, X, codes) / _loss(model, X, np.zeros_like(codes))


def _loss(model, X, H) -> float:
    """Squared error or divergence of X from what codes stand for."""
    Y = model.inverse_transform(np.asarray(H, dtype=np.float64))
    if getattr(model, "loss", "frobenius") == "kl":
        Y = np.maximum(Y, 1e-12 * X.max())
        return float((X * np.log(np.where(X > 0, X, 1) / Y) - X + Y).sum())
    return float(((X - Y) ** 2).sum())


def _parts(term, F) -> tuple[np.ndarray, np.ndarray]:
    """Both parts of the gradient at F, all rows."""
    parts = [np.broadcast_arrays(*term.split(b, F[b])) for b in term.blocks]
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def _optimum(F, term, constraint) -> np.ndarray:
    """Where nothing is left to gain."""
    if isinstance(term, KL) or term.pull is not None:
        rule = root if isinstance(term, KL) else hals
        for _ in range(5000):
            F = rule(F, term)
        return F
    return (least_squares if isinstance(constraint, Free) else exact)(F, term)


def _require(kept, promise: str) -> None:
    if not kept:
        raise AssertionError(f"Broken promise: {promise}.")


def _agree(got, expected, tol: float, promise: str) -> None:
    """Require two arrays to agree to a part ``tol`` of the largest entry."""
    got, expected = np.asarray(got), np.asarray(expected)
    _require(got.shape == expected.shape, f"{promise}; shapes are {got.shape} and {expected.shape}")
    worst = float(np.abs(got - expected).max(initial=0.0))
    _require(worst <= tol * np.abs(expected).max(initial=0.0), f"{promise}; they differ by {worst:.3g}")
