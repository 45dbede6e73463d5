"""Small dense problems: whitening, lengths, square roots of Grams."""

from __future__ import annotations

import numpy as np


def whitener(H: np.ndarray) -> np.ndarray:
    """Return W (k, rank) such that the columns of ``H @ W`` are orthonormal.

    For any invertible S the whitened codes of ``H`` and ``H @ S`` differ only by a rotation: distances and angles
    between samples are those of the *span* of H, whatever basis a solver landed on.

    Examples
    --------
    >>> import numpy as np
    >>> H = np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]])
    >>> E = H @ whitener(H)
    >>> np.allclose(E.T @ E, np.eye(2))
    True
    """
    largest = np.abs(H).max(initial=0.0)
    if largest < 1e-300:  # zero, or without an inverse: spans nothing
        return np.zeros((H.shape[1], 0))
    # A power of two keeps the Gram in range; it cancels in the result.
    scale = np.ldexp(1.0, int(np.frexp(largest)[1]))
    unit = H.astype(np.float64) / scale
    w, Q = np.linalg.eigh(unit.T @ unit)
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
    norms = np.linalg.norm(E, axis=1, keepdims=True)
    return np.divide(E, norms, out=np.zeros_like(E), where=norms > 0)


def isometry(Z: np.ndarray) -> np.ndarray:
    """Return ``(Z Z^T)^(1/2)``: codes times it are as far from each other as what they stand for.

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
