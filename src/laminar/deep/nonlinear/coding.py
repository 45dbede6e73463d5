"""Codes of new samples, the weights fixed (docs/methods.md 6)."""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr
from sklearn.metrics import pairwise_distances_argmin

from ..._engine.constraints import NonNegative
from ..._engine.data.matrix import Matrix
from ..._engine.data.wrap import wrap
from ..._engine.linalg.small import safe_divide
from ..._engine.regression import best_factor
from ..._utils import threads
from ..._utils.typing import Data
from .gradients import as_data, to_unit
from .stack import ROWS, Stack, run_rows


def code(
    X: Data | Matrix,
    stack: Stack,
    layer: int = -1,
    method: str = "nonnegative",
    *,
    anchors: np.ndarray | None = None,
    max_iter: int = 500,
) -> np.ndarray:
    """Compute the codes of samples, the weights fixed, each sample independently of the others.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples.
    stack : Stack
        The weights.
    layer : int, default=-1
        Layer of the codes, counted from the input.
    method : {"nonnegative", "pinv"}, default="nonnegative"
        "nonnegative" minimises the squared error over non-negative codes by projected gradients, starting from the
        pseudo-inverse with non-negative least squares for its last layer. "pinv" is ``H_1 = X pinv(Z_1)``,
        ``H_i = g^-1(H_{i-1}) pinv(Z_i)``: fast, of any sign, exact for samples that the stack reconstructs.
    anchors : ndarray of shape (n_anchors, n_units) or None, default=None
        Codes, e.g. those of the training samples. Of these, the one with the reconstruction nearest to a sample is a
        second start for it, so that the error of a training sample is at most that of training.
    max_iter : int, default=500
        Most iterations of a sample.

    Returns
    -------
    H : ndarray of shape (n_samples, n_units)
        Codes.

    Notes
    -----
    The code of a sample does not depend on the batch, but for rounding. The non-negative method iterates in double
    precision until the predicted decrease is below 1e-12 of the error; codes then agree to about 1e-5 of the largest.
    The minimum is local: with smooth activations no other was found on faces, but "relu" has kinks, near which a sample
    may converge to different codes. "softplus" and "sigmoid" are flat where they saturate, and ``max_iter`` may be
    reached before convergence.

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
        return _minimise(Y, stack, H, anchors, max_iter)


def _inverse(data: Matrix, stack: Stack) -> np.ndarray:
    """Compute the top codes by pseudo-inverses; the paper's formula has one inverse activation too many."""
    eps = float(np.finfo(data.dtype).eps)
    first, *others = (
        np.linalg.pinv(Z.astype(np.float64), rcond=max(Z.shape) * eps).astype(data.dtype) for Z in stack.weights
    )
    H = data.product(first)
    for inverse in others:
        H = stack.g.inverse(H) @ inverse
    return H


def _nonnegative(data: Matrix, Z: np.ndarray) -> np.ndarray:
    return best_factor(data, np.ascontiguousarray(Z.T), NonNegative())


def _compressed(data: Matrix, stack: Stack) -> tuple[np.ndarray, Stack]:
    """Project samples and Z_1 on the row space of Z_1: errors change by a constant, and k_1 columns are left."""
    first, *hidden = (Z.astype(np.float64) for Z in stack.weights)
    Q, R = qr(first.T, mode="economic", check_finite=False)
    return data.product(Q.astype(data.dtype)), Stack([R.T, *hidden], stack.activation)


def _minimise(Y: np.ndarray, stack: Stack, H: np.ndarray, others: np.ndarray | None, max_iter: int) -> np.ndarray:
    """Minimise the squared error of every sample from the better of two starts, H or others."""

    def work(b: slice) -> None:
        h, y = H[b].astype(np.float64), Y[b].astype(np.float64)
        if others is not None:
            other = np.maximum(others[b], 0)
            better = _errors(stack, other, y)[0] < _errors(stack, h, y)[0]
            h[better] = other[better]
        H[b] = _spectral_projected_gradient(stack, h, y, max_iter)

    threads.each(work, threads.blocks(len(H), ROWS))
    return H


def _errors(stack: Stack, h: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute half the squared error of every sample, and its gradient by h."""
    codes, slopes = run_rows(stack, h)
    D = codes[0] @ stack.weights[0] - y
    errors = np.einsum("ij,ij->i", D, D) / 2
    for i, Z in enumerate(stack.weights):
        D = D @ Z.T
        if i < len(slopes):
            D *= slopes[i]
    return errors, D


def _spectral_projected_gradient(
    stack: Stack, H: np.ndarray, y: np.ndarray, max_iter: int, *, memory: int = 10
) -> np.ndarray:
    """Minimise by projected gradients with Barzilai-Borwein steps; every row has its own step sizes and its own end.

        d = max(0, h - t g) - h,   h <- h + s d,   t = <dh, dh> / <dh, dg>

    The line search over s is non-monotone: the error may increase, but not above the largest of the last ``memory``
    (Birgin, Martinez and Raydan, Nonmonotone spectral projected gradient methods, SIAM J. Optim. 10, 2000). A row is
    done when ``-<g, d>`` is at most 1e-12 of its error. The best iterate of each row is returned.
    """
    h, best, active = H, H.copy(), np.arange(len(H))
    floor = 1e-30 * np.einsum("ij,ij->i", y, y)  # rounding error of a squared error
    error, gradient = _errors(stack, h, y)
    lowest, last = error.copy(), np.repeat(error[:, None], memory, axis=1)
    size = np.linalg.norm(h, axis=1)
    step_size = 0.1 * safe_divide(np.where(size > 0, size, 1), np.linalg.norm(gradient, axis=1))
    for i in range(max_iter):
        direction = np.maximum(h - step_size[:, None] * gradient, 0) - h
        slope = np.einsum("ij,ij->i", gradient, direction)
        keep = -slope > 1e-12 * error + floor[active]
        if not keep.all():
            active, h, y, error, gradient, direction, slope, step_size, last = (
                F[keep] for F in (active, h, y, error, gradient, direction, slope, step_size, last)
            )
        if not len(active):
            break
        new, error, new_gradient = _line_search(stack, h, y, last.max(1), direction, slope)
        last[:, i % memory] = error
        dh, dg = new - h, new_gradient - gradient
        curvature = np.einsum("ij,ij->i", dh, dg)
        # dh = 0 where the line search found no decrease: the step size is then 0, and the row done.
        step_size = np.where(
            curvature > 0, safe_divide(np.einsum("ij,ij->i", dh, dh), curvature), 2 * step_size * dh.any(1)
        )
        h, gradient = new, new_gradient
        better = error < lowest[active]
        best[active[better]], lowest[active[better]] = h[better], error[better]
    return best


def _line_search(
    stack: Stack, h: np.ndarray, y: np.ndarray, reference: np.ndarray, direction: np.ndarray, slope: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Backtrack from s = 1 by quarters until ``error(h + s d) <= reference + 1e-4 s slope`` (Armijo), in each row."""
    new, s = h + direction, 1.0
    error, gradient = _errors(stack, new, y)
    rejected = np.arange(len(h))
    while len(rejected := rejected[~(error[rejected] <= reference[rejected] + 1e-4 * s * slope[rejected])]):
        s = s / 4 if s > 1e-9 else 0.0
        new[rejected] = h[rejected] + h.dtype.type(s) * direction[rejected]
        error[rejected], gradient[rejected] = _errors(stack, new[rejected], y[rejected])
        if not s:
            break
    return new, error, gradient
