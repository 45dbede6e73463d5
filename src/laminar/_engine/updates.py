"""How one factor moves: pure functions ``(F, term, constraint) -> new F``, each on blocks of rows over all threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack
from scipy.sparse.linalg import LinearOperator, cg

from .._utils import threads
from .constraints import Free, NonNegative
from .data.matrix import collect
from .linalg import elementwise as passes
from .linalg import kernels
from .penalties import Entropic
from .terms import KL, Quad

Update = Callable[[np.ndarray, Quad | KL, object], np.ndarray]
_NONNEGATIVE = NonNegative()
_FEW = 128  # components up to which exact codes, cubic in their number, are worth it within a fit


def _by_rows(block: Callable[[slice, np.ndarray], np.ndarray | None], F: np.ndarray, term) -> np.ndarray:
    """Copy F block by block and let ``block`` change the copy in place, or return what replaces it."""
    new = np.empty_like(F)

    def work(b: slice) -> None:
        new[b] = F[b]
        result = block(b, new[b])
        if result is not None:
            new[b] = result

    threads.each(work, term.blocks)
    return new


def hals(F: np.ndarray, term: Quad, constraint=None) -> np.ndarray:
    """Coordinate descent, as many sweeps as pay for the pass over X that made the term.

    Rows that pull at each other are seen from where F stands, so that they look around after every sweep instead.
    """
    sweeps = int(np.clip(1 + term.effort / (2 * F.shape[1]), 1, 20))
    term = term.at(F)
    if term.here is None or term.here.stiffness is None:
        return _descend(F, term, sweeps)
    term = term.remembered()
    F = _descend(F, term, 1)
    for _ in range(min(sweeps, 4) - 1):
        F = _descend(F, term.at(F), 1)
    return F


def _descend(F: np.ndarray, term: Quad, sweeps: int) -> np.ndarray:
    """Sweep every row of F by itself."""
    G = kernels.padded(term.gram)

    def block(b: slice, f: np.ndarray) -> None:
        B, *ridge = term.system(b)
        kernels.hals(f, B, G, sweeps, 0.15, *ridge)

    return _by_rows(block, F, term)


def hals_or_exact(F: np.ndarray, term: Quad, constraint=None) -> np.ndarray:
    """`hals`, or `exact` where components nearly depend on each other: there coordinate descent hardly moves."""
    exactly = term.pull is None and len(term.gram) <= _FEW and F.dtype == np.float64
    stuck = exactly and _condition(term.gram) > 1e4
    return (exact if stuck else hals)(F, term, constraint)


def _condition(G: np.ndarray) -> float:
    """Condition number of a Gram with components of unit length; dead ones do not count."""
    size = np.sqrt(np.diag(G).astype(np.float64))
    live = size > 0
    G = G[np.ix_(live, live)] / size[live] / size[live][:, None]
    w = np.linalg.eigvalsh(G) if live.any() else np.ones(1)
    return float(w[-1] / max(w[0], 1e-300))


def exact(F: np.ndarray, term: Quad, constraint=None) -> np.ndarray:
    """Non-negative least squares to the last digit: where plain least squares is not the answer already, coordinate
    descent finds the support and pivoting finishes.
    """
    pivot = _pivoting(term.gram)
    solve, singular = gram_solver(term.gram)
    eps = 8 * float(np.finfo(F.dtype).eps)

    def block(b: slice, f: np.ndarray) -> None:
        B, rest = term.linear(b), slice(None)
        if not singular:
            free = solve(B.T).T
            done = (free >= -eps * np.abs(free).max(1, keepdims=True)).all(1)
            f[done], rest = np.maximum(free[done], 0), np.flatnonzero(~done)
        h, B = np.ascontiguousarray(f[rest]), np.ascontiguousarray(B[rest])
        kernels.hals(h, B, term.gram, 30, 0.03)
        pivot(h, B)
        f[rest] = h

    return _by_rows(block, F, term)


def _pivoting(gram: np.ndarray) -> Callable[[np.ndarray, np.ndarray], None]:
    """`kernels.nnls` on this Gram; of many components, on whichever side of the problem is the smaller one."""
    G = np.ascontiguousarray(gram, dtype=np.float64)
    if len(G) <= 2 * _FEW:
        return lambda h, B: kernels.nnls(h, B, G)
    solve, singular = gram_solver(G)
    if singular:  # many that depend on each other would enter one by one, for seconds a row: left to descent
        return lambda h, B: kernels.hals(h, B, gram, 50, 0.01)
    K = solve(np.eye(len(G)))
    K = np.ascontiguousarray((K + K.T) / 2)
    return lambda h, B: _smaller_side(h, B, G, K, solve)


def _smaller_side(h: np.ndarray, B: np.ndarray, G: np.ndarray, K: np.ndarray, solve: Callable) -> None:
    """`kernels.nnls` with the inverse K of G at hand.

    The slope ``y = G h - b`` of the best h is not negative either, and zero where h is not: as ``h = K y + K b`` it
    solves the same problem with K and -K b. So the components at work are solved for or, if fewer, those at rest.
    """
    rest = np.ones(len(h), bool)
    dual = np.flatnonzero(2 * (h > 0).sum(1) > h.shape[1])
    if len(dual):
        b = B[dual].astype(np.float64)
        free = np.ascontiguousarray(solve(b.T).T)  # more digits than b @ K
        y = np.where(h[dual] > 0, 0, np.maximum(h[dual] @ G - b, np.finfo(np.float64).tiny))
        kernels.nnls(y, -free, K)
        new = np.where(y > 0, 0, np.maximum(free + y @ K, 0))
        slope = new @ G - b
        wrong = np.where(new > 0, np.abs(slope), -slope).max(1)
        done = wrong <= 1e-12 * np.abs(b).max(1)
        h[dual[done]], rest[dual[done]] = new[done], False
    if rest.any():
        part = np.ascontiguousarray(h[rest])
        kernels.nnls(part, np.ascontiguousarray(B[rest]), G)
        h[rest] = part


def multiplicative(F: np.ndarray, term: Quad | KL, constraint=_NONNEGATIVE, *, eta: float = 1.0) -> np.ndarray:
    """The papers' rule ``F * (minus / plus)^eta``; never raises the objective for 0 < eta <= 1.

    Of a divergence with a quadratic penalty it does not hold: see `root`.
    """
    term = term.at(F)

    def block(b: slice, f: np.ndarray) -> None:
        plus, minus = term.split(b, f)
        passes.multiply(f, np.atleast_2d(plus), minus, f.dtype.type(eta))

    return constraint.settle(_by_rows(block, F, term))


def root(F: np.ndarray, term: KL, constraint=_NONNEGATIVE) -> np.ndarray:
    """The multiplicative rule of a divergence with a quadratic penalty: ``u f^2 + b f - c = 0``, entry by entry.

    The divergence is bounded by ``total f - c log f``, the penalty by a ridge u; without one this is ``c / total``.
    """
    term = term.at(F)
    if term.here is None or term.here.stiffness is None:
        return multiplicative(F, term, constraint)

    def block(b: slice, f: np.ndarray) -> np.ndarray:
        u, c = term.here.ridge(b), f * term.ratio(b, f)
        linear = term.total - u * f + term.here.grad(b)
        tiny = np.finfo(f.dtype).tiny
        width = np.sqrt(linear * linear + 4 * u * c)
        # Of the two forms of the root each cancels where the other does not.
        return np.where(
            linear > 0, 2 * c / np.maximum(linear + width, tiny), (width - linear) / np.maximum(2 * u, tiny)
        )

    return constraint.settle(_by_rows(block, F, term))


def diffuse(F: np.ndarray, term: KL, constraint=_NONNEGATIVE, *, penalty: Entropic) -> np.ndarray:
    """Cai et al.'s rule for a divergence over a graph: what `multiplicative` would give, diffused over the edges.

    Of every component h solves ``(total + weight L) h = f * ratio``, which is not negative; no n x n matrix is formed.
    """
    operator, weight = penalty.operator, penalty.weight
    total = term.total.astype(np.float64)
    mass = collect(lambda b: F[b] * term.ratio(b, F[b]), term.blocks, F.shape, np.float64)

    def component(a: int) -> np.ndarray:
        diagonal = np.maximum(total[a] + weight * operator.degree, np.finfo(np.float64).tiny)
        system = LinearOperator(2 * diagonal.shape, lambda h: total[a] * h + weight * operator.laplacian(h))
        scaled = LinearOperator(2 * diagonal.shape, lambda h: h / diagonal)
        return cg(system, mass[:, a], F[:, a].astype(np.float64), rtol=1e-12, maxiter=1000, M=scaled)[0]

    codes = threads.each(component, range(F.shape[1]))
    return np.maximum(np.stack(codes, axis=1), 0).astype(F.dtype)


def accelerated_gradient(F: np.ndarray, term: Quad, constraint) -> np.ndarray:
    """Nesterov's optimal gradient (NeNMF), restarted when it turns uphill; each block of rows on its own."""
    G, term = term.gram, term.at(F)
    steepest = float(np.linalg.eigvalsh(G.astype(np.float64))[-1]) * (1 + 1e-6)
    if steepest <= 0:
        return F.copy()

    def block(b: slice, h: np.ndarray) -> np.ndarray:
        B, rows, columns = term.system(b)
        # A ridge of its own for every entry: the steps differ in length, and distances are measured accordingly.
        ridge = h.dtype.type(0) if rows is None else rows[:, None] * columns
        y, a, first, lipschitz = h, 1.0, None, h.dtype.type(steepest) + ridge
        for step in range(1000):
            new = constraint.project(y - (y @ G + ridge * y - B) / lipschitz)
            moved = float(np.linalg.norm((new - y) * lipschitz))  # the projected gradient at y
            first = moved if first is None else first
            if np.vdot((y - new) * lipschitz, new - h) > 0:
                a = 1.0
            a_next = (1 + np.sqrt(1 + 4 * a * a)) / 2
            y, h, a = new + h.dtype.type((a - 1) / a_next) * (new - h), new, a_next
            if step + 1 >= 10 and moved <= 1e-3 * first:
                break
        return h

    return _by_rows(block, F, term)


def least_squares(F: np.ndarray, term: Quad, constraint=None) -> np.ndarray:
    """The unconstrained minimiser, or where the Gram is singular the one nearest to F: never worse than F."""
    solve, singular = gram_solver(term.gram)
    if singular:
        return _by_rows(lambda b, f: f + solve((term.linear(b) - f @ term.gram).T).T, F, term)
    return _by_rows(lambda b, f: solve(term.linear(b).T).T, F, term)


def gram_solver(G: np.ndarray) -> tuple[Callable[[np.ndarray], np.ndarray], bool]:
    """Return ``B -> G^-1 B`` by Cholesky in double precision, or its pseudo-inverse and True if G is singular."""
    noise = len(G) * float(np.finfo(G.dtype).eps)
    size = np.sqrt(np.diag(G).astype(np.float64))
    scale = np.divide(1, size, out=np.zeros_like(size), where=size > 0)
    # With a unit diagonal, components of very different size are not taken for dependent ones.
    G = G * scale * scale[:, None]
    try:
        factor = cho_factor(G, lower=True, check_finite=False)
        reciprocal = lapack.dpocon(factor[0], np.abs(G).sum(0).max(), uplo="L")[0]
        if reciprocal > noise:
            return lambda B: scale[:, None] * cho_solve(factor, scale[:, None] * B, check_finite=False), False
    except np.linalg.LinAlgError:
        pass
    w, V = np.linalg.eigh(G)
    keep = w > max(1e-10, noise) * max(w[-1], 0.0)
    inverse = (V[:, keep] / w[keep]) @ V[:, keep].T * scale * scale[:, None]
    return lambda B: inverse @ B, True


def for_constraint(solver: Update, constraint) -> Update:
    """A free factor has a closed form whatever the solver."""
    return least_squares if isinstance(constraint, Free) else solver
