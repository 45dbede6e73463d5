"""A non-negative factorisation whose codes are pulled towards a target: one view of MultiNMF (methods.md 8.2).

``||X - H Z||^2 + lam ||H Q - T||^2``, where Q holds the sums of the components. Neither part changes when a component
is scaled and its codes are scaled back; between fits components are kept at sum one, where Q is the identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from .._engine import updates
from .._engine.constraints import NonNegative
from .._engine.data.matrix import Matrix
from .._engine.solve import solve
from .._engine.starts import best_components
from .._engine.terms import Pull, Quad


@dataclass
class ViewFactors:
    """One view and its factors.

    Attributes
    ----------
    data : Matrix
        Non-negative.
    H, Z : ndarray of shape (n_samples, k), (n_features, k)
        Codes, in the unit scale of the data, and transposed components.
    """

    data: Matrix
    H: np.ndarray
    Z: np.ndarray

    @property
    def total(self) -> float:
        """Sum of the data in unit scale, 1 if they are zero: codes over it are those of a view with sum one."""
        return self.data.total if self.data.total >= 0.5 else 1.0  # of data too small to divide by, next to nothing

    def start_components(self, floor: float) -> None:
        """Take the best components for the codes, none of their entries much smaller than their mean."""
        Z = np.maximum(best_components(self.data, self.H, NonNegative()), 0)
        self.Z = np.maximum(Z, self.Z.dtype.type(floor * (Z.mean() or 1.0)))
        self.normalize()

    def normalize(self) -> None:
        """Bring components to sum one and codes to what keeps the product; what is dead becomes even, without codes."""
        q = self.Z.sum(0, dtype=np.float64)
        live = q > np.finfo(self.Z.dtype).tiny
        self.H = self.H * np.where(live, q, 0).astype(self.H.dtype)
        share = np.divide(1, q, out=np.zeros_like(q), where=live).astype(self.Z.dtype)
        self.Z = np.where(live, self.Z * share, self.Z.dtype.type(1 / len(self.Z)))

    def fit(self, rule: Rule, target: np.ndarray, lam: float, *, max_iter: int, tol: float) -> None:
        """Move both factors until a turn lowers the objective by less than ``tol`` of it."""
        rules = {"Z": rule.components, "H": rule.codes}
        problem, start = Pulled(self.data, target, lam), {"Z": self.Z, "H": self.H}
        best = solve(problem, start, rules, max_iter=max_iter, tol=tol, extrapolate=rule.leaps).best
        self.Z, self.H = best["Z"], best["H"]
        self.normalize()


@dataclass(frozen=True)
class Pulled:
    """Half the objective of a view, for `solve`."""

    data: Matrix
    target: np.ndarray
    lam: float
    constraints: Mapping[str, NonNegative] = field(default_factory=lambda: {"Z": NonNegative(), "H": NonNegative()})

    order = ("Z", "H")

    def term(self, name: str, F: Mapping[str, np.ndarray]) -> Quad:
        """The objective as one factor sees it."""
        see = self._components_term if name == "Z" else self._codes_term
        return see(F["H"], F["Z"])

    def _components_term(self, H: np.ndarray, Z: np.ndarray) -> Quad:
        """The sums q cost ``lam / 2 sum_a (e_a q_a^2 - 2 c_a q_a)`` beyond the fit, e being the squared lengths of the
        codes and c their products with the target.
        """
        fit = Quad.fit(self.data.T, H).materialized()
        e, c = np.diag(fit.gram), np.einsum("ij,ij->j", H, self.target)
        columns = np.full_like(e, self.lam)

        def pull(Z: np.ndarray) -> Pull:
            up = Z.sum(0) * e
            return Pull(lambda b: up, lambda b: c, None, None, columns)

        def extra(Z: np.ndarray) -> float:
            q = Z.sum(0, dtype=np.float64)
            return self.lam / 2 * float(e @ q**2 - 2 * c @ q)

        return replace(fit, floor=-np.inf, pull=pull, extra=extra)

    def _codes_term(self, H: np.ndarray, Z: np.ndarray) -> Quad:
        """A fit with a ridge around the target, in the scale of the components' sums."""
        fit = Quad.fit(self.data, Z).materialized()
        target, q = self.target, Z.sum(0)
        weight = H.dtype.type(self.lam) * q
        return replace(
            fit,
            linear=lambda b: fit.linear(b) + target[b] * weight,
            gram=fit.gram + np.diag(weight * q),
            constant=fit.constant + self.lam * float(np.vdot(target, target)),
        )


@dataclass(frozen=True)
class Rule:
    """How components and codes move.

    Attributes
    ----------
    components, codes : callable
        ``(F, term, constraint) -> F``.
    leaps : bool
        Whether steps are extrapolated.
    floor : float
        Smallest entry of a start against the mean: a multiplicative rule never leaves zero.
    """

    components: updates.Update
    codes: updates.Update
    leaps: bool
    floor: float


def descend(Z: np.ndarray, term: Quad, constraint=None, *, sweeps: int = 2) -> np.ndarray:
    """Coordinate descent over whole components: each is the best one while the others rest.

    Given its sum q a component is ``max(0, b - lam q)``, where b is its least-squares solution before the pull of the
    sums; q is the root of a convex function, which Newton's method finds in a few steps.
    """
    rows = slice(0, len(Z))
    B, G, here = term.linear(rows).T, term.gram, term.at(Z).here
    lam, c = here.columns[0], here.columns * here.down(rows)  # one weight for all components
    rest = np.ascontiguousarray(Z.T)
    for _ in range(sweeps):
        for a in np.flatnonzero(np.diag(G) > np.finfo(G.dtype).tiny):
            free = rest[a] + (B[a] - G[a] @ rest + c[a]) / G[a, a]
            rest[a] = _with_sum(free, lam, rest[a].sum())
    return np.ascontiguousarray(rest.T)


def _with_sum(free: np.ndarray, lam: float, q: float) -> np.ndarray:
    """``z = max(0, free - lam sum(z))``."""
    for _ in range(30):
        z = np.maximum(free - lam * q, 0)
        off = z.sum() - q
        if abs(off) <= 8 * np.finfo(z.dtype).eps * max(abs(q), np.finfo(z.dtype).tiny):
            break
        q = q + off / (1 + lam * np.count_nonzero(z))
    return z


RULES = {
    "fast": Rule(descend, updates.hals, leaps=True, floor=0.0),
    "published": Rule(updates.multiplicative, updates.multiplicative, leaps=False, floor=1e-3),
}


def shares(lam: np.ndarray) -> np.ndarray:
    """What each view counts for in the consensus; all the same where nothing is pulled.

    Examples
    --------
    >>> shares(np.array([1.0, 3.0])), shares(np.zeros(2))
    (array([0.25, 0.75]), array([0.5, 0.5]))
    """
    return lam / lam.sum() if lam.any() else np.full(len(lam), 1 / len(lam))


def consensus(views: list[ViewFactors], lam: np.ndarray) -> np.ndarray:
    """The weighted mean of the codes of all views, each in the scale of a view with sum one."""
    pairs = zip(views, shares(lam), strict=True)
    return sum(view.H * view.H.dtype.type(share / view.total) for view, share in pairs)


def objective(views: list[ViewFactors], lam: np.ndarray, mean: np.ndarray) -> float:
    """Half of ``sum_v ||X_v - H_v Z_v||^2 + lam_v ||H_v - mean||^2``, every X_v with sum one."""
    parts = []
    for view, weight in zip(views, lam, strict=True):
        total = view.total
        fit = Pulled(view.data, view.H, 0.0).term("H", {"H": view.H, "Z": view.Z}).value(view.H)
        gap = view.H.astype(np.float64) / total - mean
        parts.append(fit / total**2 + float(weight) / 2 * float(np.vdot(gap, gap)))
    return float(sum(parts))


def chain(views: list[ViewFactors], rule: Rule, *, rounds: int = 3, max_iter: int, tol: float) -> None:
    """Liu et al.'s start: plain factorisations, each from the codes of the view before, several times round."""
    before = views[0]
    for _ in range(rounds):
        for view in views:
            view.H = before.H * view.H.dtype.type(view.total / before.total)
            view.start_components(rule.floor)
            view.fit(rule, np.zeros_like(view.H), 0.0, max_iter=max_iter, tol=tol)
            before = view
