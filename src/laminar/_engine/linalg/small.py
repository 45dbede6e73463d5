"""Small dense problems: safe division, signs, norms of rows, whitening, roots, ridges and inverses of Gram matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack, qr

from ..._utils import tall, threads
from ..._utils.device.array import DeviceArray


def safe_divide(a: np.ndarray | float, b: np.ndarray, *, floor: float = 0.0, fill: float = 0.0) -> np.ndarray:
    """Return ``a / b`` where ``b > floor``, and ``fill`` elsewhere, in the precision of a, or of b for a number a.

    Examples
    --------
    >>> import numpy as np
    >>> safe_divide(1, np.array([4.0, 0.0])), safe_divide(np.eye(2), np.array([2.0, -1.0]), fill=np.inf)
    (array([0.25, 0.  ]), array([[0.5, inf],
           [0. , inf]]))
    """
    dtype = a.dtype if isinstance(a, np.ndarray | DeviceArray) else b.dtype
    shape = np.broadcast_shapes(np.shape(a), b.shape)
    place = tall.workers_of(a) or tall.workers_of(b)
    out = np.full(shape, fill, dtype) if place is None else tall.fill(place.empty(shape[1:], dtype), lambda _: fill)
    return np.divide(a, b, out=out, where=b > floor)


def triangle(F: np.ndarray) -> np.ndarray:
    """Return the triangular factor R of ``F = Q R``, Q with orthonormal columns.

    Examples
    --------
    >>> import numpy as np
    >>> np.abs(triangle(np.array([[3.0], [4.0]]))[:1]).round(12)
    array([[5.]])
    """
    if isinstance(F, DeviceArray):
        return F.host(F.device.xp.linalg.qr(F.data)[1])
    return qr(F, mode="r", check_finite=False)[0]


def column_signs(F: np.ndarray) -> np.ndarray:
    """Return the signs (k,), 1 or -1, that make the entry of largest magnitude of each column of F (n, k) positive.

    Examples
    --------
    >>> import numpy as np
    >>> column_signs(np.array([[1.0, 2.0, 0.0], [-3.0, 1.0, 0.0]]))
    array([-1.,  1.,  1.])
    """
    columns, largest = np.arange(F.shape[1]), np.zeros(F.shape[1], F.dtype)

    def found(b: slice) -> np.ndarray:
        return F[b][np.abs(F[b]).argmax(axis=0), columns]

    for part in threads.each(found, tall.cut(F, 1 << 16)):
        largest = np.where(np.abs(part) > np.abs(largest), part, largest)
    signs = np.sign(largest)
    signs[signs == 0] = 1
    return signs


def whitener(H: Any) -> np.ndarray:
    """Return W (k, rank) such that the columns of ``H @ W`` are orthonormal.

    For any invertible S the whitened codes of ``H`` and ``H @ S`` differ only by a rotation: distances and angles
    between samples depend on the *span* of H alone, not on its basis. Eigenvalues of ``H^T H`` below 1e-12 of the
    largest count as zero.

    Examples
    --------
    >>> import numpy as np
    >>> H = np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]])
    >>> E = H @ whitener(H)
    >>> np.allclose(E.T @ E, np.eye(2))
    True
    """
    largest = np.abs(H).max(initial=0.0)
    if largest < 1e-300:  # zero, or its inverse overflows: rank 0
        return np.zeros((H.shape[1], 0))
    # A power of two keeps the Gram in range; it cancels in the result.
    scale = np.ldexp(1.0, int(np.frexp(largest)[1]))

    def square(b: slice) -> np.ndarray:
        unit = H[b].astype(np.float64) / scale
        return unit.T @ unit

    w, Q = np.linalg.eigh(threads.total(square, tall.cut(H, 1 << 16)))
    keep = w > 1e-12 * w[-1]
    return Q[:, keep] / np.sqrt(w[keep]) / scale


def unit_rows(E: np.ndarray) -> np.ndarray:
    """Scale every row to length one; zero rows stay zero.

    Examples
    --------
    >>> import numpy as np
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    return safe_divide(E, np.linalg.norm(E, axis=1, keepdims=True))


def isometry(Z: np.ndarray) -> np.ndarray:
    """Return ``R = (Z Z^T)^(1/2)``, for which ``||(h - g) R|| = ||(h - g) Z||``: codes times R keep distances in X.

    Examples
    --------
    >>> import numpy as np
    >>> H, Z = np.array([[1.0, 0.0], [2.0, 1.0]]), np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 2.0]])
    >>> E = H @ isometry(Z)
    >>> bool(np.isclose(np.linalg.norm(E[0] - E[1]), np.linalg.norm(H[0] @ Z - H[1] @ Z)))
    True
    """
    w, Q = np.linalg.eigh(Z.astype(np.float64) @ Z.T)
    return (Q * np.sqrt(np.maximum(w, 0))) @ Q.T


def ridged(G: np.ndarray, ridge: float | np.ndarray) -> np.ndarray:
    """Return a Gram matrix with its diagonal times ``1 + ridge``."""
    if not np.any(ridge):
        return G
    G = G.copy()
    G[np.diag_indices_from(G)] *= (1 + np.asarray(ridge)).astype(G.dtype)
    return G


def gram_solver(G: np.ndarray) -> tuple[Callable[[np.ndarray], np.ndarray], bool]:
    """Return ``B -> G^-1 B`` by Cholesky in double precision, or its pseudo-inverse and True if G is singular."""
    rounding = len(G) * float(np.finfo(G.dtype).eps)
    size = np.sqrt(np.diag(G).astype(np.float64))
    scale = safe_divide(1, size)
    # With a unit diagonal, components of very different size are not mistaken for dependent ones.
    G = G * scale * scale[:, None]
    try:
        factor = cho_factor(G, lower=True, check_finite=False)
        reciprocal = lapack.dpocon(factor[0], np.abs(G).sum(0).max(), uplo="L")[0]
        if reciprocal > rounding:
            return lambda B: scale[:, None] * cho_solve(factor, scale[:, None] * B, check_finite=False), False
    except np.linalg.LinAlgError:
        pass
    w, V = np.linalg.eigh(G)
    keep = w > max(1e-10, rounding) * max(w[-1], 0.0)
    inverse = (V[:, keep] / w[keep]) @ V[:, keep].T * scale * scale[:, None]
    return lambda B: inverse @ B, True
