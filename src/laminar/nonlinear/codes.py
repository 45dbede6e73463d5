"""Codes of samples a stack has not seen (methods.md 6)."""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr

from .. import threads, updates
from ..data import Matrix, wrap
from ..terms import Quad
from .gradients import as_data, to_unit
from .stack import ROWS, Stack, run_rows


def code(
    X, stack: Stack, layer: int = -1, method: str = "nonnegative", H0: np.ndarray | None = None, *, max_iter: int = 500
) -> np.ndarray:
    """Codes of samples on given weights, each sample on its own.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples.
    stack : Stack
        The weights.
    layer : int, default=-1
        Which layer's codes, counted from the input.
    method : {"nonnegative", "pinv"}, default="nonnegative"
        "nonnegative" lowers the squared error over non-negative codes, by projected gradients from the
        pseudo-inverse with its last layer non-negative. "pinv" is ``H_1 = X pinv(Z_1)``,
        ``H_i = g^-1(H_{i-1}) pinv(Z_i)``: quick, of any sign, exact where the model is.
    H0 : ndarray of shape (n_samples, n_units) or None, default=None
        Codes to start from where they fit better.
    max_iter : int, default=500
        Largest number of steps a sample takes.

    Returns
    -------
    H : ndarray of shape (n_samples, n_units)
        Codes.

    Notes
    -----
    Samples do not see each other: in a batch of any size a sample has the code it has alone, but for rounding, which
    the non-negative method may amplify to its own tolerance (the error of a sample is settled to 1e-8 of itself in
    double, 1e-5 in single precision).

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.nonlinear import Stack, code
    >>> rng = np.random.default_rng(0)
    >>> stack = Stack([rng.normal(size=(6, 9)), rng.normal(size=(3, 6))], "stanh")
    >>> H = rng.uniform(size=(5, 3))
    >>> X = stack.reconstruct(H)
    >>> np.allclose(code(X, stack), H), np.allclose(code(X, stack, method="pinv"), H)
    (True, True)
    """
    if method not in ("nonnegative", "pinv"):
        raise ValueError(f'method must be "nonnegative" or "pinv"; got {method!r}.')
    with threads.own_threads():
        data = as_data(X)
        stack = to_unit(stack.below(layer), data)
        if method == "pinv":
            return _inverse(data, stack)
        if len(stack.weights) == 1:
            return _nonnegative(data, stack.weights[0])
        target = wrap(stack.g.inverse(_inverse(data, stack.below(-2))))
        H = _nonnegative(target, stack.weights[-1]) * data.dtype.type(target.scale)
        return _lower(*_compressed(data, stack), H, H0, max_iter)


def _inverse(data: Matrix, stack: Stack) -> np.ndarray:
    """The top codes by pseudo-inverses, of any sign. The paper's formula inverts the activation once too often."""
    H = data.product(np.linalg.pinv(stack.weights[0]))
    for Z in stack.weights[1:]:
        H = stack.g.inverse(H) @ np.linalg.pinv(Z)
    return H


def _nonnegative(data: Matrix, Z: np.ndarray) -> np.ndarray:
    """Non-negative least squares."""
    blank = np.zeros((data.shape[0], len(Z)), data.dtype)
    return updates.exact(blank, Quad.fit(data, np.ascontiguousarray(Z.T)))


def _compressed(data: Matrix, stack: Stack) -> tuple[np.ndarray, Stack]:
    """Samples in the span of Z_1, where alone they differ in fit, and the stack there: nothing as wide as X is left."""
    Q, R = qr(stack.weights[0].T, mode="economic", check_finite=False)
    return data.product(Q), Stack([np.ascontiguousarray(R.T), *stack.weights[1:]], stack.activation)


def _lower(Y: np.ndarray, stack: Stack, H: np.ndarray, H0: np.ndarray | None, max_iter: int) -> np.ndarray:
    """Lower the squared error of every sample from the better of its starts."""
    if H0 is not None:
        H0 = np.maximum(stack._check(H0), 0).astype(H.dtype, copy=False)

    def work(b: slice) -> None:
        h, y = H[b], Y[b]
        if H0 is not None:
            better = _errors(stack, H0[b], y)[0] < _errors(stack, h, y)[0]
            h[better] = H0[b][better]
        _spectral(stack, h, y, max_iter)

    threads.each(work, threads.blocks(len(H), ROWS))
    return H


def _errors(stack: Stack, h: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Half the squared error of every sample, and its gradient."""
    codes, slopes = run_rows(stack, h)
    D = codes[0] @ stack.weights[0] - y
    errors = np.einsum("ij,ij->i", D, D) / 2
    for i, Z in enumerate(stack.weights):
        D = D @ Z.T
        if i < len(slopes):
            D *= slopes[i]
    return errors, D


def _spectral(stack: Stack, H: np.ndarray, Y: np.ndarray, max_iter: int) -> None:
    """Projected gradient with Barzilai and Borwein's steps, in place; every row has its own steps and its own end."""
    eps = float(np.finfo(H.dtype).eps)
    tol, floor = eps**0.5, (10 * eps) ** 2 * np.einsum("ij,ij->i", Y, Y)
    live = np.arange(len(H))
    h, y = H, Y
    error, gradient = _errors(stack, h, y)
    size = np.linalg.norm(h, axis=1)
    pace = 0.1 * _ratio(np.where(size > 0, size, 1), np.linalg.norm(gradient, axis=1))
    for _ in range(max_iter):
        move = np.maximum(h - pace[:, None] * gradient, 0) - h
        promise = np.einsum("ij,ij->i", gradient, move)
        keep = -promise > tol * error + floor[live]
        if not keep.all():
            H[live] = h
            if not keep.any():
                return
            live, h, y, error, gradient, move, promise, pace = (
                F[keep] for F in (live, h, y, error, gradient, move, promise, pace)
            )
        new, new_error, new_gradient = _search(stack, h, y, error, move, promise)
        step, turn = new - h, new_gradient - gradient
        bend = np.einsum("ij,ij->i", step, turn)
        # A row that no step lowers any more gets none.
        pace = np.where(bend > 0, _ratio(np.einsum("ij,ij->i", step, step), bend), 2 * pace * step.any(1))
        h, error, gradient = new, new_error, new_gradient
    H[live] = h


def _search(
    stack: Stack, h: np.ndarray, y: np.ndarray, error: np.ndarray, move: np.ndarray, promise: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Go along the move, each row as far as keeps a part of what its slope promises."""
    new, share = h + move, 1.0
    new_error, gradient = _errors(stack, new, y)
    bad = np.arange(len(h))
    while len(bad := bad[~(new_error[bad] <= error[bad] + 1e-4 * share * promise[bad])]):
        share = share / 4 if share > 1e-9 else 0.0
        new[bad] = h[bad] + h.dtype.type(share) * move[bad]
        new_error[bad], gradient[bad] = _errors(stack, new[bad], y[bad])
        if not share:
            break
    return new, new_error, gradient


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``a / b``, zero where b is."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
