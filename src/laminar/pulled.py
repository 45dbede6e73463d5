"""A non-negative factorisation whose codes are pulled towards a target: one view of MultiNMF (methods.md 8.2).

``||X - H Z||^2 + lam ||H Q - T||^2``, where Q holds the sums of the components. Neither part changes when a component
is scaled and its codes are scaled back; between fits components are kept at sum one, where Q is the identity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from scipy.linalg import block_diag

from . import threads, updates
from .constraints import NonNegative
from .data import Matrix
from .init import best_components
from .solve import solve
from .terms import Pull, Quad, gram_of


@dataclass
class View:
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
        return self.data.total or 1.0

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
        rules = {"Z": partial(rule.components, lam=lam), "H": rule.codes}
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

    @property
    def noise(self) -> float:
        """Differences of the objective smaller than this are rounding."""
        return 8 * float(np.finfo(self.data.dtype).eps) * self.data.sqnorm

    def term(self, name: str, F: Mapping[str, np.ndarray]) -> Quad:
        """The objective as one factor sees it."""
        see = self._components_term if name == "Z" else self._codes_term
        return see(F["H"], F["Z"])

    def _components_term(self, H: np.ndarray, Z: np.ndarray) -> Quad:
        """The sums q cost ``lam / 2 sum_a (e_a q_a^2 - 2 c_a q_a)`` beyond the fit, e being the squared lengths of the
        codes and c their products with the target.
        """
        fit = Quad.fit(self.data.T, H).materialized(Z.shape, Z.dtype)
        e, c = np.diag(fit.gram), np.einsum("ij,ij->j", H, self.target)
        lam = Z.dtype.type(self.lam)

        def pull(Z: np.ndarray) -> Pull:
            up, down = lam * Z.sum(0) * e, lam * c
            return Pull(lambda b: up, lambda b: down, None, None, np.ones_like(e))

        def extra(Z: np.ndarray) -> float:
            q = Z.sum(0, dtype=np.float64)
            return float(lam) / 2 * float(e @ q**2 - 2 * c @ q)

        return replace(fit, floor=-np.inf, pull=pull, extra=extra)

    def _codes_term(self, H: np.ndarray, Z: np.ndarray) -> Quad:
        """A fit with a ridge around the target, in the scale of the components' sums."""
        fit = Quad.fit(self.data, Z).materialized(H.shape, H.dtype)
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
    components : callable
        ``(Z, term, constraint, lam=) -> Z``.
    codes : callable
        ``(H, term, constraint) -> H``.
    leaps : bool
        Whether steps are extrapolated.
    floor : float
        Smallest entry of a start against the mean: a multiplicative rule never leaves zero.
    """

    components: Callable[..., np.ndarray]
    codes: Callable[..., np.ndarray]
    leaps: bool
    floor: float


def descend(Z: np.ndarray, term: Quad, constraint=None, *, lam: float, sweeps: int = 2) -> np.ndarray:
    """Coordinate descent over whole components: each is the best one while the others rest.

    Given its sum q a component is ``max(0, b - lam q)``, where b is its least-squares solution before the pull of the
    sums; q is the root of a convex function, which Newton's method finds in a few steps.
    """
    rows = slice(0, len(Z))
    B, G = term.linear(rows).T, term.gram
    c, rest = term.at(Z).here.down(rows), np.ascontiguousarray(Z.T)
    for _ in range(sweeps):
        for a in np.flatnonzero(np.diag(G) > np.finfo(G.dtype).tiny):
            free = rest[a] + (B[a] - G[a] @ rest + c[a]) / G[a, a]
            rest[a] = _with_sum(free, Z.dtype.type(lam), rest[a].sum())
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


def multiply(Z: np.ndarray, term: Quad, constraint, *, lam: float) -> np.ndarray:
    """Liu et al.'s rule for the components; the term knows the weight."""
    return updates.multiplicative(Z, term, constraint)


RULES = {
    "fast": Rule(descend, updates.hals, leaps=True, floor=0.0),
    "published": Rule(multiply, updates.multiplicative, leaps=False, floor=1e-3),
}


def shares(lam: np.ndarray) -> np.ndarray:
    """What each view counts for in the consensus; all the same where nothing is pulled.

    Examples
    --------
    >>> shares(np.array([1.0, 3.0])), shares(np.zeros(2))
    (array([0.25, 0.75]), array([0.5, 0.5]))
    """
    return lam / lam.sum() if lam.any() else np.full(len(lam), 1 / len(lam))


def consensus(views: list[View], lam: np.ndarray) -> np.ndarray:
    """The weighted mean of the codes of all views, each in the scale of a view with sum one."""
    pairs = zip(views, shares(lam), strict=True)
    return sum(view.H * view.H.dtype.type(share / view.total) for view, share in pairs)


def objective(views: list[View], lam: np.ndarray, mean: np.ndarray) -> float:
    """Half of ``sum_v ||X_v - H_v Z_v||^2 + lam_v ||H_v - mean||^2``, every X_v with sum one."""
    parts = []
    for view, weight in zip(views, lam, strict=True):
        total = view.total
        fit = Pulled(view.data, view.H, 0.0).term("H", {"H": view.H, "Z": view.Z}).value(view.H)
        gap = view.H.astype(np.float64) / total - mean
        parts.append(fit / total**2 + float(weight) / 2 * float(np.vdot(gap, gap)))
    return float(sum(parts))


def chain(views: list[View], rule: Rule, *, rounds: int = 3, max_iter: int, tol: float) -> None:
    """Liu et al.'s start: plain factorisations, each from the codes of the view before, several times round."""
    before = views[0]
    for _ in range(rounds):
        for view in views:
            view.H = before.H * view.H.dtype.type(view.total / before.total)
            view.start_components(rule.floor)
            view.fit(rule, np.zeros_like(view.H), 0.0, max_iter=max_iter, tol=tol)
            before = view


def joint_codes(
    linear: list[np.ndarray], bases: list[np.ndarray], observed: np.ndarray, lam: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray]:
    """The best codes of each view for given components, zero where it is missing, and their consensus.

    The consensus is a mean of codes and drops out: one problem for the codes of all views side by side. Samples that
    have the same views share one Gram.

    Parameters
    ----------
    linear, bases : list of ndarray of shape (n_samples, k), (n_features, k)
        Of each view the products with its components, and the transposed components; both with sum one.
    observed : ndarray of bool of shape (n_samples, n_views)
        Which sample has which view.
    lam : ndarray of shape (n_views,)
        How strongly codes are drawn to the consensus.

    Examples
    --------
    >>> linear, bases = [np.array([[1.0]]), np.array([[3.0]])], [np.eye(1), np.eye(1)]
    >>> codes, mean = joint_codes(linear, bases, np.array([[True, True]]), np.array([1e6, 1e6]))
    >>> mean.round(3), codes[0].round(3)  # drawn together so strongly, both are the mean
    (array([[2.]]), array([[2.]]))
    """
    k, dtype = linear[0].shape[1], linear[0].dtype
    codes, mean = [np.zeros_like(B) for B in linear], np.zeros_like(linear[0])
    for pattern in np.unique(observed, axis=0):
        rows, present = np.flatnonzero((observed == pattern).all(axis=1)), np.flatnonzero(pattern)
        gram = _joint_gram([bases[v] for v in present], lam[present]).astype(dtype)
        B = np.hstack([linear[v][rows] for v in present])
        H = updates.exact(np.zeros_like(B), Quad(B.__getitem__, gram, threads.blocks(len(rows), 256), 0.0, 1.0))
        for i, (v, share) in enumerate(zip(present, shares(lam[present]), strict=True)):
            codes[v][rows] = H[:, i * k : (i + 1) * k]
            mean[rows] += dtype.type(share) * codes[v][rows]
    return codes, mean


def _joint_gram(bases: list[np.ndarray], lam: np.ndarray) -> np.ndarray:
    """Curvature of the objective in the codes of all views side by side, the consensus being their mean."""
    coupling = np.diag(lam) - np.outer(lam, shares(lam))
    return block_diag(*(gram_of(Z.astype(np.float64)) for Z in bases)) + np.kron(coupling, np.eye(bases[0].shape[1]))
