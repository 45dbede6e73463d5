"""Codes of samples a stack has not seen (methods.md 6)."""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr
from sklearn.metrics import pairwise_distances_argmin

from ..._engine import updates
from ..._engine.data.matrix import Matrix, wrap
from ..._engine.linalg.small import safe_divide
from ..._engine.terms import Quad
from ..._utils import threads
from .gradients import as_data, to_unit
from .stack import ROWS, Stack, run_rows

_MEMORY = 10  # errors a step is compared with


def code(
    X,
    stack: Stack,
    layer: int = -1,
    method: str = "nonnegative",
    *,
    anchors: np.ndarray | None = None,
    max_iter: int = 500,
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
    anchors : ndarray of shape (n_anchors, n_units) or None, default=None
        Codes, as those of the training samples: of each sample the one that stands for the nearest is a start too.
        A training sample is then never coded worse than in training.
    max_iter : int, default=500
        Largest number of steps a sample takes.

    Returns
    -------
    H : ndarray of shape (n_samples, n_units)
        Codes.

    Notes
    -----
    Samples do not see each other: in a batch of any size a sample has the code it has alone, but for rounding. The
    non-negative method carries on in double precision until a step promises less than 1e-12 of the error, so that
    codes agree to about 1e-5 of the largest. It finds a minimum, not always the lowest: with smooth activations no
    other was met on faces, but "relu" has kinks to come to rest in, and a sample near one may come to rest elsewhere.
    "softplus" and "sigmoid" are flat where they are saturated, and ``max_iter`` may end the way first.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.deep.nonlinear import Stack, code
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
        Y, stack = _compressed(data, stack)
        if anchors is not None:
            nearest = pairwise_distances_argmin(Y, stack.reconstruct(anchors).astype(Y.dtype))
            anchors = np.asarray(anchors)[nearest]
        return _lower(Y, stack, H, anchors, max_iter)


def _inverse(data: Matrix, stack: Stack) -> np.ndarray:
    """The top codes by pseudo-inverses, of any sign. The paper's formula inverts the activation once too often."""
    eps = float(np.finfo(data.dtype).eps)
    first, *rest = (
        np.linalg.pinv(Z.astype(np.float64), rcond=max(Z.shape) * eps).astype(data.dtype) for Z in stack.weights
    )
    H = data.product(first)
    for back in rest:
        H = stack.g.inverse(H) @ back
    return H


def _nonnegative(data: Matrix, Z: np.ndarray) -> np.ndarray:
    """Non-negative least squares."""
    blank = np.zeros((data.shape[0], len(Z)), data.dtype)
    return updates.exact(blank, Quad.fit(data, np.ascontiguousarray(Z.T)))


def _compressed(data: Matrix, stack: Stack) -> tuple[np.ndarray, Stack]:
    """Samples in the span of Z_1, where alone they differ in fit, and the stack there: nothing as wide as X is left."""
    first, *hidden = (Z.astype(np.float64) for Z in stack.weights)
    Q, R = qr(first.T, mode="economic", check_finite=False)
    return data.product(Q.astype(data.dtype)), Stack([R.T, *hidden], stack.activation)


def _lower(Y: np.ndarray, stack: Stack, H: np.ndarray, others: np.ndarray | None, max_iter: int) -> np.ndarray:
    """Lower the squared error of every sample from the better of its starts: H, or others."""

    def work(b: slice) -> None:
        h, y = H[b].astype(np.float64), Y[b].astype(np.float64)
        if others is not None:
            other = np.maximum(others[b], 0)
            better = _errors(stack, other, y)[0] < _errors(stack, h, y)[0]
            h[better] = other[better]
        H[b] = _spectral(stack, h, y, max_iter)

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


def _spectral(stack: Stack, H: np.ndarray, y: np.ndarray, max_iter: int) -> np.ndarray:
    """Projected gradient with Barzilai and Borwein's steps; every row has its own steps and its own end.

    A step may raise the error, if not above the last few (Birgin, Martinez and Raydan): these steps need the freedom.
    """
    h, best, live = H, H.copy(), np.arange(len(H))
    floor = 1e-30 * np.einsum("ij,ij->i", y, y)  # of what the squares of rounding can tell
    error, gradient = _errors(stack, h, y)
    lowest, last = error.copy(), np.repeat(error[:, None], _MEMORY, axis=1)
    size = np.linalg.norm(h, axis=1)
    pace = 0.1 * safe_divide(np.where(size > 0, size, 1), np.linalg.norm(gradient, axis=1))
    for i in range(max_iter):
        move = np.maximum(h - pace[:, None] * gradient, 0) - h
        promise = np.einsum("ij,ij->i", gradient, move)
        keep = -promise > 1e-12 * error + floor[live]
        if not keep.all():
            live, h, y, error, gradient, move, promise, pace, last = (
                F[keep] for F in (live, h, y, error, gradient, move, promise, pace, last)
            )
        if not len(live):
            break
        new, error, new_gradient = _search(stack, h, y, last.max(1), move, promise)
        last[:, i % _MEMORY] = error
        step, turn = new - h, new_gradient - gradient
        bend = np.einsum("ij,ij->i", step, turn)
        # A row that no step lowers any more gets none.
        pace = np.where(bend > 0, safe_divide(np.einsum("ij,ij->i", step, step), bend), 2 * pace * step.any(1))
        h, gradient = new, new_gradient
        better = error < lowest[live]
        best[live[better]], lowest[live[better]] = h[better], error[better]
    return best


def _search(
    stack: Stack, h: np.ndarray, y: np.ndarray, error: np.ndarray, move: np.ndarray, promise: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Go along the move, each row as far as keeps a part of what its slope promises below the given error."""
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
